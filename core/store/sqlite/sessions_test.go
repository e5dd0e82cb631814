package sqlite

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// startSessionOf starts a session whose id and hash are both the given hash.
func startSessionOf(t *testing.T, s *Store, principal, hash string) core.Session {
	t.Helper()
	session, err := s.StartSession(t.Context(), core.Session{
		ID: hash, Hash: hash, PrincipalID: principal, Kind: core.SessionBrowser, Label: "Firefox",
	}, core.SessionLife)
	require.NoError(t, err)
	return session
}

func TestSessionsRoundTrip(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	now := core.MillisOf(clock.now())
	want := core.Session{
		ID: "s1", Hash: "s1", PrincipalID: "bob", Kind: core.SessionBrowser, Label: "Firefox",
		CreatedAt: now, ExpiresAt: now + core.SessionLife,
	}
	require.Empty(t, cmp.Diff(want, startSessionOf(t, s, "bob", "s1")))

	session, p, err := s.SessionByHash(t.Context(), "s1")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, session))
	require.Empty(t, cmp.Diff(person(t, s, "bob"), p))

	_, err = s.StartSession(t.Context(), core.Session{ID: "other", Hash: "s1", PrincipalID: "ada", Kind: core.SessionCLI}, core.SessionLife)
	require.ErrorIs(t, err, core.ErrIDTaken)
	_, err = s.StartSession(t.Context(), core.Session{ID: "x", Hash: "x", PrincipalID: "nobody", Kind: core.SessionCLI}, core.SessionLife)
	require.ErrorIs(t, err, core.ErrNotFound)
}

func TestASessionExpiresByTheStoresClock(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	startSessionOf(t, s, "bob", "s1")
	clock.advance(core.SessionLife*time.Millisecond - time.Millisecond)
	_, _, err := s.SessionByHash(t.Context(), "s1")
	require.NoError(t, err)
	clock.advance(time.Millisecond) // Exactly the deadline: it has been reached (R28).
	_, _, err = s.SessionByHash(t.Context(), "s1")
	require.ErrorIs(t, err, core.ErrNotFound)

	// A clock that is set back revives nothing (conformance 26).
	clock.advance(-time.Hour)
	_, _, err = s.SessionByHash(t.Context(), "s1")
	require.ErrorIs(t, err, core.ErrNotFound)
}

func TestEndSession(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	startSessionOf(t, s, "bob", "s1")
	clock.advance(time.Second)
	startSessionOf(t, s, "bob", "s2")
	ended := core.MillisOf(clock.now())
	require.NoError(t, s.EndSession(t.Context(), "s1"))
	clock.advance(time.Second)
	require.NoError(t, s.EndSession(t.Context(), "s1"), "a repeated end is the same success")
	require.ErrorIs(t, s.EndSession(t.Context(), "nothing"), core.ErrNotFound)

	_, _, err := s.SessionByHash(t.Context(), "s1")
	require.ErrorIs(t, err, core.ErrNotFound)

	list, err := s.SessionsOf(t.Context(), "bob")
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "s2", list[0].ID, "newest first")
	require.Equal(t, ended, list[1].EndedAt)
}

func TestNobodyDisabledStartsASession(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	// Signing in against disabling: whatever the order, no session lives afterwards.
	failures := race(9, func(i int) error {
		if i == 4 {
			_, err := s.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: "bob", Disabled: new(true)})
			return err
		}
		hash := string(rune('a' + i))
		_, err := s.StartSession(t.Context(), core.Session{ID: hash, Hash: hash, PrincipalID: "bob", Kind: core.SessionCLI}, core.SessionLife)
		return err
	})
	require.NoError(t, failures[4])
	list, err := s.SessionsOf(t.Context(), "bob")
	require.NoError(t, err)
	for _, session := range list {
		require.NotZero(t, session.EndedAt)
	}
	_, err = s.StartSession(t.Context(), core.Session{ID: "z", Hash: "z", PrincipalID: "bob", Kind: core.SessionCLI}, core.SessionLife)
	require.ErrorIs(t, err, core.ErrNotFound)
}
