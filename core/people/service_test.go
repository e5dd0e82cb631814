package people_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/people"
)

// bench is a service on an empty store, with what it logged.
type bench struct {
	*people.Service
	store *memory
	log   *bytes.Buffer
}

var operator = core.Caller{Operator: true}

func setup(t *testing.T) bench {
	t.Helper()
	store, log := newMemory(), &lockedBuffer{}
	return bench{store: store, log: &log.Buffer, Service: people.New(people.Deps{
		Principals: store, Identities: store, Sessions: store, Tokens: store, Codes: store, Burner: store,
		Text: plainText{}, Log: slog.New(slog.NewJSONHandler(log, nil)),
	})}
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// add adds somebody and returns them as a caller.
func (b bench) add(t *testing.T, id string, role core.Role) core.Caller {
	t.Helper()
	p, err := b.AddPerson(t.Context(), operator, people.NewPerson{ID: id, Name: "Name of " + id, Role: role})
	require.NoError(t, err)
	return core.Caller{Person: &p, Surface: core.SurfacePage}
}

func machine(scopes ...core.Scope) core.Caller {
	return core.Caller{Token: &core.Token{ID: "t1", Runtime: "local", Scopes: scopes}}
}

// terminal is the person on the command line.
func terminal(c core.Caller) core.Caller {
	c.Surface = core.SurfaceCLI
	return c
}

var device = people.Device{Kind: core.SessionBrowser, Label: "Firefox"}

func TestWhoMayAdminister(t *testing.T) {
	t.Parallel()
	calls := map[string]struct {
		tightens bool // Open to a machine with the admin scope (K40).
		own      bool // Open to the person themselves.
		do       func(b bench, t *testing.T, by core.Caller) error
	}{
		"add": {false, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.AddPerson(t.Context(), by, people.NewPerson{Name: "N", Role: core.RoleViewer})
			return err
		}},
		"rename": {false, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.ChangePerson(t.Context(), by, core.ChangePrincipal{ID: "bob", Name: new("B")})
			return err
		}},
		"role": {false, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.ChangePerson(t.Context(), by, core.ChangePrincipal{ID: "bob", Role: new(core.RoleViewer)})
			return err
		}},
		"disable": {true, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.ChangePerson(t.Context(), by, core.ChangePrincipal{ID: "bob", Disabled: new(true)})
			return err
		}},
		"enable": {false, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.ChangePerson(t.Context(), by, core.ChangePrincipal{ID: "bob", Disabled: new(false)})
			return err
		}},
		"disable and promote": {false, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.ChangePerson(t.Context(), by, core.ChangePrincipal{ID: "bob", Disabled: new(true), Role: new(core.RoleAdmin)})
			return err
		}},
		"list people": {true, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.ListPeople(t.Context(), by)
			return err
		}},
		"link": {false, false, func(b bench, t *testing.T, by core.Caller) error {
			return b.LinkIdentity(t.Context(), by, core.Identity{Realm: "telegram", ExternalID: "5", PrincipalID: "bob"})
		}},
		"unlink": {true, true, func(b bench, t *testing.T, by core.Caller) error {
			return b.UnlinkIdentity(t.Context(), by, "telegram", "1")
		}},
		"list identities": {true, true, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.IdentitiesOf(t.Context(), by, "bob")
			return err
		}},
		"set owners": {false, false, func(b bench, t *testing.T, by core.Caller) error {
			return b.SetOwners(t.Context(), by, "local", "deployer", []string{"bob"})
		}},
		"list owners": {true, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.Owners(t.Context(), by, "local", "deployer")
			return err
		}},
		"issue token": {false, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.IssueToken(t.Context(), by, people.NewToken{Runtime: "ci", Scopes: []core.Scope{core.ScopeRead}})
			return err
		}},
		"revoke token": {true, false, func(b bench, t *testing.T, by core.Caller) error {
			return b.RevokeToken(t.Context(), by, "t1")
		}},
		"list tokens": {true, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.ListTokens(t.Context(), by)
			return err
		}},
		"list sessions": {true, true, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.SessionsOf(t.Context(), by, "bob")
			return err
		}},
		"end session": {true, true, func(b bench, t *testing.T, by core.Caller) error {
			return b.EndSession(t.Context(), by, "bob", "s1")
		}},
		"pair": {false, true, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.StartPair(t.Context(), by, "bob", people.FormLink)
			return err
		}},
		"link code": {false, true, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.StartLink(t.Context(), by, "bob", people.FormTyped)
			return err
		}},
		"apply": {false, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.Apply(t.Context(), by, people.Roster{})
			return err
		}},
		"plan": {false, false, func(b bench, t *testing.T, by core.Caller) error {
			_, err := b.PlanRoster(t.Context(), by, people.Roster{})
			return err
		}},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			admin := b.add(t, "ada", core.RoleAdmin)
			formerly := b.add(t, "eve", core.RoleAdmin)
			bob := b.add(t, "bob", core.RoleReviewer)
			other := b.add(t, "carl", core.RoleReviewer)
			viewer := b.add(t, "vic", core.RoleViewer)
			disabled := b.add(t, "dan", core.RoleAdmin)
			restore := func() {
				b.store.identities[[2]string{"telegram", "1"}] = core.Identity{Realm: "telegram", ExternalID: "1", PrincipalID: "bob"}
				b.store.sessions["s1"] = core.Session{ID: "s1", PrincipalID: "bob", ExpiresAt: b.store.now + 1}
				b.store.tokens["t1"] = core.Token{ID: "t1"}
				b.store.people["bob"] = *bob.Person
			}
			// Callers as an edge knew them a moment ago.
			_, err := b.ChangePerson(t.Context(), operator, core.ChangePrincipal{ID: "eve", Role: new(core.RoleReviewer)})
			require.NoError(t, err)
			_, err = b.ChangePerson(t.Context(), operator, core.ChangePrincipal{ID: "dan", Disabled: new(true)})
			require.NoError(t, err)

			unless := func(open bool) error {
				if open {
					return nil
				}
				return core.ErrForbidden
			}
			for _, test := range []struct {
				name string
				by   core.Caller
				want error
			}{
				{"an admin", admin, nil},
				{"the operator", operator, nil},
				{"an admin of a moment ago", formerly, core.ErrForbidden},
				{"a disabled admin", disabled, core.ErrUnauthenticated},
				{"the person", bob, unless(call.own)},
				{"another reviewer", other, core.ErrForbidden},
				{"a viewer", viewer, core.ErrForbidden},
				{"a machine that administers", machine(core.ScopeAdmin), unless(call.tightens)},
				{"a machine that asks", machine(core.ScopeRead, core.ScopeRequest), core.ErrForbidden},
				{"nobody", core.Caller{}, core.ErrUnauthenticated},
				{"an admin's terminal", terminal(admin), unless(call.tightens)},
				{"the person's terminal", terminal(bob), unless(call.own && call.tightens)},
			} {
				restore()
				require.ErrorIs(t, call.do(b, t, test.by), test.want, test.name)
			}
			require.NotContains(t, b.log.String(), "Name of")
		})
	}
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.add(t, "ada", core.RoleAdmin)
	b.add(t, "bob", core.RoleReviewer)
	token, err := b.IssueToken(t.Context(), admin, people.NewToken{
		Runtime: "ci", Scopes: []core.Scope{core.ScopeRequest, core.ScopeRead, core.ScopeRequest}, ActsFor: "bob", Label: "CI", Life: time.Hour,
	})
	require.NoError(t, err)
	require.Equal(t, []core.Scope{core.ScopeRead, core.ScopeRequest}, token.Scopes)

	caller, err := b.Authenticate(t.Context(), token.Bearer.Reveal())
	require.NoError(t, err)
	require.Nil(t, caller.Person)
	require.Empty(t, cmp.Diff(token.Token, *caller.Token))
	require.Empty(t, caller.Token.Hash)

	for _, kind := range []core.SessionKind{core.SessionBrowser, core.SessionCLI} {
		code, err := b.StartPair(t.Context(), admin, "bob", people.FormLink)
		require.NoError(t, err)
		in, err := b.RedeemPair(t.Context(), code.Code.Reveal(), people.Device{Kind: kind, Label: "x"})
		require.NoError(t, err)
		require.Empty(t, in.Session.Hash)
		caller, err = b.Authenticate(t.Context(), in.Bearer.Reveal())
		require.NoError(t, err)
		want := core.Caller{Person: new(b.store.people["bob"]), Session: in.Session.ID, Surface: core.SurfacePage}
		if kind == core.SessionCLI {
			want.Surface = core.SurfaceCLI
		}
		require.Empty(t, cmp.Diff(want, caller))
	}
}

func TestWhatDoesNotHoldIsOneAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.add(t, "ada", core.RoleAdmin)
	bearers := map[string]string{
		"nothing": "", "unknown token": people.NewTokenSecret().Reveal(),
		"unknown session": people.SessionPrefix + strings.TrimPrefix(people.NewTokenSecret().Reveal(), people.TokenPrefix),
		"no prefix":       strings.Repeat("A", 43), "short": people.TokenPrefix + "AAAA", "another alphabet": people.TokenPrefix + strings.Repeat("+", 43),
		"unused bits set": people.TokenPrefix + strings.Repeat("A", 42) + "B",
	}
	issue := func(life time.Duration) people.IssuedToken {
		token, err := b.IssueToken(t.Context(), admin, people.NewToken{Runtime: "ci", Scopes: []core.Scope{core.ScopeRead}, Life: life})
		require.NoError(t, err)
		return token
	}
	signIn := func(id string) people.SignedIn {
		b.add(t, id, core.RoleReviewer)
		code, err := b.StartPair(t.Context(), admin, id, people.FormTyped)
		require.NoError(t, err)
		in, err := b.RedeemPair(t.Context(), code.Code.Reveal(), device)
		require.NoError(t, err)
		_, err = b.Authenticate(t.Context(), in.Bearer.Reveal())
		require.NoError(t, err)
		return in
	}
	revoked, expired := issue(0), issue(time.Second)
	require.NoError(t, b.RevokeToken(t.Context(), admin, revoked.ID))
	ended, disabled := signIn("bob"), signIn("dan")
	require.NoError(t, b.SignOut(t.Context(), core.Caller{Person: &ended.Person, Session: ended.Session.ID}))
	_, err := b.ChangePerson(t.Context(), admin, core.ChangePrincipal{ID: "dan", Disabled: new(true)})
	require.NoError(t, err)
	b.store.now += 1000
	bearers["revoked"], bearers["expired"] = revoked.Bearer.Reveal(), expired.Bearer.Reveal()
	bearers["ended"], bearers["disabled"] = ended.Bearer.Reveal(), disabled.Bearer.Reveal()

	for name, bearer := range bearers {
		caller, err := b.Authenticate(t.Context(), bearer)
		require.Equal(t, core.ErrUnauthenticated, err, name)
		require.Empty(t, cmp.Diff(core.Caller{}, caller), name)
	}
}

func TestAFaultSignsNobodyOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.store.broken = core.ErrUnavailable
	for _, prefix := range []string{people.TokenPrefix, people.SessionPrefix} {
		_, err := b.Authenticate(t.Context(), prefix+strings.Repeat("A", 43))
		require.ErrorIs(t, err, core.ErrUnavailable)
		require.NotErrorIs(t, err, core.ErrUnauthenticated)
	}
}

func TestPeopleOfTheMessengers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add(t, "ada", core.RoleAdmin)
	b.add(t, "bob", core.RoleReviewer)
	require.NoError(t, b.LinkIdentity(t.Context(), operator, core.Identity{Realm: "slack:T1", ExternalID: "U1", PrincipalID: "bob", Label: " b\u202eob "}))
	links, err := b.IdentitiesOf(t.Context(), operator, "bob")
	require.NoError(t, err)
	require.Equal(t, `b\u{202E}ob`, links[0].Label)
	require.Equal(t, core.SurfaceSlack, links[0].Channel)

	p, err := b.PrincipalByIdentity(t.Context(), "slack:T1", "U1")
	require.NoError(t, err)
	require.Equal(t, "bob", p.ID)
	in, err := b.SignInByIdentity(t.Context(), "slack:T1", "U1", device)
	require.NoError(t, err)
	require.Equal(t, "bob", in.Person.ID)

	_, err = b.ChangePerson(t.Context(), operator, core.ChangePrincipal{ID: "bob", Disabled: new(true)})
	require.NoError(t, err)
	for _, id := range []string{"U1", "U2"} { // Disabled people and strangers alike.
		_, err = b.PrincipalByIdentity(t.Context(), "slack:T1", id)
		require.ErrorIs(t, err, core.ErrNotFound)
		_, err = b.SignInByIdentity(t.Context(), "slack:T1", id, device)
		require.ErrorIs(t, err, core.ErrUnauthenticated)
	}
}

func TestBadInputIsNamedAndNeverEchoed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add(t, "ada", core.RoleAdmin)
	const value = "s3cret-Value!"
	scopes := []core.Scope{core.ScopeRead}
	tests := map[string]error{}
	person := func(name string, n people.NewPerson) {
		_, err := b.AddPerson(t.Context(), operator, n)
		tests[name] = err
	}
	person("no name", people.NewPerson{Name: " \t", Role: core.RoleViewer})
	person("long name", people.NewPerson{Name: strings.Repeat(value, 5), Role: core.RoleViewer})
	person("broken name", people.NewPerson{Name: value + "\xff", Role: core.RoleViewer})
	person("role", people.NewPerson{Name: "N", Role: value})
	person("id", people.NewPerson{ID: value, Name: "N", Role: core.RoleViewer})
	_, err := b.ChangePerson(t.Context(), operator, core.ChangePrincipal{ID: "ada", Role: new(core.Role(value))})
	tests["change role"] = err
	_, err = b.ChangePerson(t.Context(), operator, core.ChangePrincipal{ID: "ada", Name: new("")})
	tests["change name"] = err
	token := func(name string, n people.NewToken) {
		_, err := b.IssueToken(t.Context(), operator, n)
		tests[name] = err
	}
	token("runtime", people.NewToken{Runtime: value, Scopes: scopes})
	token("no scopes", people.NewToken{Runtime: "ci"})
	token("scope", people.NewToken{Runtime: "ci", Scopes: []core.Scope{value}})
	token("life", people.NewToken{Runtime: "ci", Scopes: scopes, Life: time.Millisecond})
	token("negative life", people.NewToken{Runtime: "ci", Scopes: scopes, Life: -time.Hour})
	link := func(name, realm, id string) {
		tests[name] = b.LinkIdentity(t.Context(), operator, core.Identity{Realm: realm, ExternalID: id, PrincipalID: "ada"})
	}
	link("realm", value, "1")
	link("slack without a team", "slack:", "U1")
	link("external id", "telegram", value)
	link("no external id", "telegram", "")
	tests["agent"] = b.SetOwners(t.Context(), operator, "local", "", nil)
	tests["long agent"] = b.SetOwners(t.Context(), operator, "local", strings.Repeat(value, 20), nil)
	tests["owners"] = b.SetOwners(t.Context(), operator, "local", "a", make([]string, core.MaxReviewers+1))
	_, err = b.StartPair(t.Context(), operator, "ada", value)
	tests["form"] = err
	_, err = b.RedeemPair(t.Context(), "AAAAA-AAAAA", people.Device{Kind: value})
	tests["device"] = err
	_, err = b.EnsureLocalToken(t.Context(), people.SecretOf(value), 0)
	tests["local token"] = err

	for name, err := range tests {
		require.ErrorIs(t, err, core.ErrInvalid, name)
		require.ErrorAs(t, err, new(*core.FieldError), name)
		require.NotContains(t, err.Error(), value, name)
	}
	require.NotContains(t, b.log.String(), value)
}

func TestNamesAreSafeText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p, err := b.AddPerson(t.Context(), operator, people.NewPerson{Name: "  Ada\u202eevil ", Role: core.RoleAdmin})
	require.NoError(t, err)
	require.Equal(t, `Ada\u{202E}evil`, p.Name)
	require.Regexp(t, `^[0-9a-f-]{36}$`, p.ID)
	p, err = b.ChangePerson(t.Context(), operator, core.ChangePrincipal{ID: p.ID, Name: new(strings.Repeat("é", people.MaxName))})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", people.MaxName), p.Name)
}

func TestSecretsHide(t *testing.T) {
	t.Parallel()
	s := people.NewTokenSecret()
	require.Regexp(t, `^sayso_rt_[A-Za-z0-9_-]{43}$`, s.Reveal())
	require.NotEqual(t, s, people.NewTokenSecret())
	require.True(t, people.Secret{}.Empty())
	encoded, err := json.Marshal(map[string]any{"bearer": s})
	require.NoError(t, err)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s)
	for _, shown := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s, s), fmt.Sprintf("%+v", people.IssuedToken{Bearer: s}),
		string(encoded), log.String(),
	} {
		require.NotContains(t, shown, s.Reveal()[len(people.TokenPrefix):])
		require.Contains(t, shown, "[hidden]")
	}
}

func TestOnlyHashesAreStoredAndNothingIsLogged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	code, open, err := b.EnsureBootstrap(t.Context(), people.FormLink)
	require.NoError(t, err)
	require.True(t, open)
	in, err := b.RedeemBootstrap(t.Context(), code.Code.Reveal(), "Ada", device)
	require.NoError(t, err)
	admin := core.Caller{Person: &in.Person}
	token, err := b.IssueToken(t.Context(), admin, people.NewToken{Runtime: "ci", Scopes: []core.Scope{core.ScopeRead}})
	require.NoError(t, err)
	pair, err := b.StartPair(t.Context(), admin, in.Person.ID, people.FormTyped)
	require.NoError(t, err)

	stored := fmt.Sprintf("%+v %+v %+v", b.store.sessions, b.store.tokens, b.store.codes)
	for _, secret := range []people.Secret{code.Code, in.Bearer, token.Bearer, pair.Code} {
		require.NotContains(t, stored, secret.Reveal())
		require.NotContains(t, b.log.String(), secret.Reveal())
	}
	require.Regexp(t, `^[0-9a-f]{64}$`, b.store.tokens[token.ID].Hash)
}

func TestUnlinkOfNothingTellsOnlyAdmins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.add(t, "ada", core.RoleAdmin)
	bob := b.add(t, "bob", core.RoleReviewer)
	require.ErrorIs(t, b.UnlinkIdentity(t.Context(), admin, "telegram", "9"), core.ErrNotFound)
	require.ErrorIs(t, b.UnlinkIdentity(t.Context(), bob, "telegram", "9"), core.ErrForbidden)
}

func TestTheStoresRefusalsComeThrough(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add(t, "ada", core.RoleAdmin)
	_, err := b.AddPerson(t.Context(), operator, people.NewPerson{ID: "ada", Name: "A", Role: core.RoleViewer})
	require.ErrorIs(t, err, core.ErrIDTaken)
	p, err := b.ChangePerson(t.Context(), operator, core.ChangePrincipal{ID: "ada", Disabled: new(true)})
	require.ErrorIs(t, err, core.ErrLastAdmin)
	require.Equal(t, "ada", p.ID, "the person as they are comes back")
	p, err = b.ChangePerson(t.Context(), operator, core.ChangePrincipal{ID: "ada", Revision: 9, Name: new("B")})
	require.ErrorIs(t, err, core.ErrConflict)
	require.Equal(t, int64(1), p.Revision)
	_, err = b.IssueToken(t.Context(), operator, people.NewToken{Runtime: "ci", Scopes: []core.Scope{core.ScopeRead}, ActsFor: "Not an id"})
	require.ErrorIs(t, err, core.ErrNotFound)
	require.ErrorIs(t, b.LinkIdentity(t.Context(), operator, core.Identity{Realm: "discord", ExternalID: "1"}), core.ErrNotFound)
	require.ErrorIs(t, b.EndSession(t.Context(), operator, "ada", "nothing"), core.ErrNotFound)
	require.ErrorIs(t, b.SignOut(t.Context(), operator), core.ErrUnauthenticated)
	b.store.broken = errors.New("boom")
	_, err = b.ListPeople(t.Context(), operator)
	require.ErrorIs(t, err, b.store.broken)
}
