package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func issueCodeOf(t *testing.T, s *Store, p core.CodePurpose, principal, hash string) core.Code {
	t.Helper()
	c, err := s.IssueCode(t.Context(), core.Code{Hash: hash, Purpose: p, PrincipalID: principal}, core.CodeLife)
	require.NoError(t, err)
	return c
}

func cliSession(hash string) core.Session {
	return core.Session{ID: hash, Hash: hash, Kind: core.SessionCLI}
}

func TestAPairingCodeSignsInOnce(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	now := core.MillisOf(clock.now())
	c := issueCodeOf(t, s, core.CodePair, "bob", "code")
	require.Equal(t, now+core.CodeLife, c.ExpiresAt)

	peeked, err := s.PeekCode(t.Context(), "code", core.CodePair)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(c, peeked))

	p, session, err := s.RedeemPair(t.Context(), "code", cliSession("s1"), core.SessionLife)
	require.NoError(t, err)
	require.Equal(t, "bob", p.ID)
	require.Equal(t, "bob", session.PrincipalID)
	require.Equal(t, now+core.SessionLife, session.ExpiresAt)
	_, _, err = s.SessionByHash(t.Context(), "s1")
	require.NoError(t, err)

	_, _, err = s.RedeemPair(t.Context(), "code", cliSession("s2"), core.SessionLife)
	require.ErrorIs(t, err, core.ErrCodeInvalid)
	_, err = s.PeekCode(t.Context(), "code", core.CodePair)
	require.ErrorIs(t, err, core.ErrCodeInvalid)
}

func TestACodeIsGoodOnlyAsIssued(t *testing.T) {
	t.Parallel()
	redeem := map[string]func(s *Store, t *testing.T) error{
		"pair": func(s *Store, t *testing.T) error {
			_, _, err := s.RedeemPair(t.Context(), "code", cliSession("s"), core.SessionLife)
			return err
		},
		"link": func(s *Store, t *testing.T) error {
			_, err := s.RedeemLink(t.Context(), "code", telegramOf("", "123"))
			return err
		},
		"bootstrap": func(s *Store, t *testing.T) error {
			first := core.Principal{ID: "first", Name: "F", Role: core.RoleAdmin}
			_, _, err := s.RedeemBootstrap(t.Context(), "code", first, cliSession("s"), core.SessionLife)
			return err
		},
	}
	tests := []struct {
		name    string
		purpose core.CodePurpose
		spoil   func(s *Store, clock *testClock, t *testing.T)
		good    string // The redemption that works; "" for none.
	}{
		{"pair", core.CodePair, nil, "pair"},
		{"link", core.CodeLink, nil, "link"},
		{"a millisecond before the deadline", core.CodePair, func(_ *Store, clock *testClock, _ *testing.T) {
			clock.advance(core.CodeLife*time.Millisecond - time.Millisecond)
		}, "pair"},
		{"at the deadline", core.CodePair, func(_ *Store, clock *testClock, _ *testing.T) {
			clock.advance(core.CodeLife * time.Millisecond)
		}, ""},
		{"burned", core.CodeLink, func(s *Store, _ *testClock, t *testing.T) {
			require.NoError(t, s.BurnCode(t.Context(), "code"))
		}, ""},
		{"of a disabled person", core.CodeLink, func(s *Store, _ *testClock, t *testing.T) {
			_, err := s.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: "bob", Disabled: new(true)})
			require.NoError(t, err)
		}, ""},
	}
	for _, test := range tests {
		for name, use := range redeem {
			t.Run(test.name+" for "+name, func(t *testing.T) {
				t.Parallel()
				s, clock := peopleStore(t)
				issueCodeOf(t, s, test.purpose, "bob", "code")
				if test.spoil != nil {
					test.spoil(s, clock, t)
				}
				if name == test.good {
					require.NoError(t, use(s, t))
					return
				}
				require.ErrorIs(t, use(s, t), core.ErrCodeInvalid)
			})
		}
	}
}

func TestOneOfManyRedeemersWins(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	issueCodeOf(t, s, core.CodePair, "bob", "code")
	failures := race(16, func(i int) error {
		_, _, err := s.RedeemPair(t.Context(), "code", cliSession(fmt.Sprint("s", i)), core.SessionLife)
		return err
	})
	require.Equal(t, 1, wins(failures))
	for _, err := range failures {
		if err != nil {
			require.ErrorIs(t, err, core.ErrCodeInvalid)
		}
	}
	list, err := s.SessionsOf(t.Context(), "bob")
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestRedeemLink(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	require.NoError(t, s.LinkIdentity(t.Context(), telegramOf("ada", "1")))
	issueCodeOf(t, s, core.CodeLink, "bob", "code")

	_, err := s.RedeemLink(t.Context(), "code", telegramOf("", "1"))
	require.ErrorIs(t, err, core.ErrIdentityTaken)

	// Nothing of it was recorded: the code is still good for the right account, and
	// the person is the code's whatever the identity says.
	p, err := s.RedeemLink(t.Context(), "code", telegramOf("ada", "2"))
	require.NoError(t, err)
	require.Equal(t, "bob", p.ID)
	require.Empty(t, cmp.Diff(person(t, s, "bob"), p))
	p, err = s.PrincipalByIdentity(t.Context(), "telegram", "2")
	require.NoError(t, err)
	require.Equal(t, "bob", p.ID)
}

// bootstrapStore is a running store without people, and its first admin to be.
func bootstrapStore(t *testing.T) (*Store, *testClock, core.Principal) {
	t.Helper()
	clock := newTestClock()
	return runStore(t, testConfig(t, clock)), clock, core.Principal{ID: "first", Name: "First", Role: core.RoleAdmin}
}

func issueBootstrap(t *testing.T, s *Store, hash string) {
	t.Helper()
	_, err := s.IssueCode(t.Context(), core.Code{Hash: hash, Purpose: core.CodeBootstrap}, core.BootstrapLife)
	require.NoError(t, err)
}

func bootstrapOpen(t *testing.T, s *Store) bool {
	t.Helper()
	open, err := s.BootstrapOpen(t.Context())
	require.NoError(t, err)
	return open
}

func TestBootstrapMakesTheFirstAdmin(t *testing.T) {
	t.Parallel()
	s, clock, first := bootstrapStore(t)
	require.False(t, bootstrapOpen(t, s))
	issueBootstrap(t, s, "old")
	issueBootstrap(t, s, "new")
	require.True(t, bootstrapOpen(t, s))

	_, _, err := s.RedeemBootstrap(t.Context(), "old", first, cliSession("s"), core.SessionLife)
	require.ErrorIs(t, err, core.ErrCodeInvalid, "a new code replaces the one before it")
	p, session, err := s.RedeemBootstrap(t.Context(), "new", first, cliSession("s"), core.SessionLife)
	require.NoError(t, err)
	require.Equal(t, core.RoleAdmin, p.Role)
	require.Equal(t, core.MillisOf(clock.now())+core.SessionLife, session.ExpiresAt)
	_, found, err := s.SessionByHash(t.Context(), "s")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(p, found))

	require.False(t, bootstrapOpen(t, s))
	_, err = s.IssueCode(t.Context(), core.Code{Hash: "later", Purpose: core.CodeBootstrap}, core.BootstrapLife)
	require.ErrorIs(t, err, core.ErrForbidden)
}

func TestTwoBootstrapRedeemersMakeOneAdmin(t *testing.T) {
	t.Parallel()
	s, _, _ := bootstrapStore(t)
	issueBootstrap(t, s, "code")
	failures := race(8, func(i int) error {
		id := fmt.Sprint("admin", i)
		_, _, err := s.RedeemBootstrap(t.Context(), "code", core.Principal{ID: id, Name: id, Role: core.RoleAdmin}, cliSession(id), core.SessionLife)
		return err
	})
	require.Equal(t, 1, wins(failures))
	list, err := s.ListPrincipals(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestAFailedBootstrapLeavesTheCodeGood(t *testing.T) {
	t.Parallel()
	s, _, first := bootstrapStore(t)
	addPerson(t, s, "first", core.RoleViewer)
	issueBootstrap(t, s, "code")
	_, _, err := s.RedeemBootstrap(t.Context(), "code", first, cliSession("s"), core.SessionLife)
	require.ErrorIs(t, err, core.ErrIDTaken)
	require.True(t, bootstrapOpen(t, s))
	first.ID = "second"
	_, _, err = s.RedeemBootstrap(t.Context(), "code", first, cliSession("s"), core.SessionLife)
	require.NoError(t, err)
}

func TestAnAdminEndsTheBootstrapOffer(t *testing.T) {
	t.Parallel()
	s, clock, first := bootstrapStore(t)
	issueBootstrap(t, s, "code")
	clock.advance(core.BootstrapLife * time.Millisecond)
	require.False(t, bootstrapOpen(t, s), "the code's deadline is reached")
	issueBootstrap(t, s, "again")
	require.True(t, bootstrapOpen(t, s))
	addPerson(t, s, "ada", core.RoleAdmin)
	require.False(t, bootstrapOpen(t, s))
	_, _, err := s.RedeemBootstrap(t.Context(), "again", first, cliSession("s"), core.SessionLife)
	require.ErrorIs(t, err, core.ErrCodeInvalid)
}

func TestIssueCodeRefuses(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	issueCodeOf(t, s, core.CodePair, "bob", "used")
	_, err := s.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: "bob", Disabled: new(true)})
	require.NoError(t, err)
	for name, test := range map[string]struct {
		code core.Code
		err  error
	}{
		"nobody":            {core.Code{Hash: "h", Purpose: core.CodePair, PrincipalID: "nobody"}, core.ErrNotFound},
		"a disabled person": {core.Code{Hash: "h", Purpose: core.CodeLink, PrincipalID: "bob"}, core.ErrNotFound},
		"a used hash":       {core.Code{Hash: "used", Purpose: core.CodePair, PrincipalID: "ada"}, core.ErrIDTaken},
	} {
		_, err := s.IssueCode(t.Context(), test.code, core.CodeLife)
		require.ErrorIs(t, err, test.err, name)
	}
}

// guess presents n codes that were never issued, in the three ways there are.
func guess(t *testing.T, s *Store, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		hash := fmt.Sprint("guess", i)
		var err error
		switch i % 3 {
		case 0:
			_, err = s.PeekCode(t.Context(), hash, core.CodeLink)
		case 1:
			_, _, err = s.RedeemPair(t.Context(), hash, cliSession(hash), core.SessionLife)
		default:
			_, err = s.RedeemLink(t.Context(), hash, telegramOf("", "123"))
		}
		require.ErrorIs(t, err, core.ErrCodeInvalid)
	}
}

func TestWrongCodesAreLimitedOverTheDeployment(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	guess(t, s, 0, core.MaxCodeFailures-1)
	issueCodeOf(t, s, core.CodePair, "bob", "good")
	_, err := s.PeekCode(t.Context(), "good", core.CodePair)
	require.NoError(t, err, "one failure is left")
	guess(t, s, 100, 1)

	_, err = s.PeekCode(t.Context(), "good", core.CodePair)
	require.ErrorIs(t, err, core.ErrCodeInvalid)
	_, _, err = s.RedeemPair(t.Context(), "good", cliSession("s"), core.SessionLife)
	require.ErrorIs(t, err, core.ErrCodeInvalid)

	// Refused attempts do not lengthen the window, which began with the first failure.
	clock.advance(core.CodeLife*time.Millisecond - time.Millisecond)
	guess(t, s, 200, 3)
	issueCodeOf(t, s, core.CodePair, "bob", "later")
	_, err = s.PeekCode(t.Context(), "later", core.CodePair)
	require.ErrorIs(t, err, core.ErrCodeInvalid)
	clock.advance(time.Millisecond)
	_, _, err = s.RedeemPair(t.Context(), "later", cliSession("s"), core.SessionLife)
	require.NoError(t, err)

	// A new window counts from nothing.
	guess(t, s, 300, core.MaxCodeFailures-1)
	issueCodeOf(t, s, core.CodePair, "bob", "last")
	_, err = s.PeekCode(t.Context(), "last", core.CodePair)
	require.NoError(t, err)
}

func TestTheCountOfWrongCodesSurvivesARestart(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newTestClock())
	cfg.Path = filepath.Join(t.TempDir(), "sayso.db")
	t.Run("first process", func(t *testing.T) {
		s := runStore(t, cfg)
		addPerson(t, s, "bob", core.RoleReviewer)
		issueCodeOf(t, s, core.CodePair, "bob", "good")
		guess(t, s, 0, core.MaxCodeFailures)
	})
	s := runStore(t, cfg)
	_, err := s.PeekCode(t.Context(), "good", core.CodePair)
	require.ErrorIs(t, err, core.ErrCodeInvalid)
}

func TestGuessesAtOnceAreAllCounted(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	issueCodeOf(t, s, core.CodePair, "bob", "good")
	failures := race(core.MaxCodeFailures, func(i int) error {
		_, err := s.PeekCode(t.Context(), fmt.Sprint("guess", i), core.CodePair)
		return err
	})
	require.Zero(t, wins(failures))
	_, err := s.PeekCode(t.Context(), "good", core.CodePair)
	require.ErrorIs(t, err, core.ErrCodeInvalid)
}

func TestAnOldCodeIsNoGuess(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	issueCodeOf(t, s, core.CodePair, "bob", "old")
	issueCodeOf(t, s, core.CodePair, "bob", "good")
	require.NoError(t, s.BurnCode(t.Context(), "old"))
	require.NoError(t, s.BurnCode(t.Context(), "never issued"))
	for range 2 * core.MaxCodeFailures {
		_, err := s.PeekCode(t.Context(), "old", core.CodePair)
		require.ErrorIs(t, err, core.ErrCodeInvalid)
	}
	_, err := s.PeekCode(t.Context(), "good", core.CodePair)
	require.NoError(t, err)
}

func TestDisablingEndsWhatARedeemerWasAboutToStart(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	for i := range 8 {
		issueCodeOf(t, s, core.CodePair, "bob", fmt.Sprint("code", i))
	}
	failures := race(9, func(i int) error {
		if i == 8 {
			_, err := s.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: "bob", Disabled: new(true)})
			return err
		}
		_, _, err := s.RedeemPair(t.Context(), fmt.Sprint("code", i), cliSession(fmt.Sprint("s", i)), core.SessionLife)
		return err
	})
	require.NoError(t, failures[8])
	for i, err := range failures[:8] {
		if err != nil {
			require.ErrorIs(t, err, core.ErrCodeInvalid)
		}
		_, _, err = s.SessionByHash(t.Context(), fmt.Sprint("s", i))
		require.ErrorIs(t, err, core.ErrNotFound, "whatever the order, nothing is left signed in")
	}
}
