package gateway_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/gateway"
	"github.com/saysohq/sayso/core/people"
)

// Signing in needs no bearer; the session's bearer leaves exactly once.
func TestSignIn(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	in := people.SignedIn{
		Person:  core.Principal{ID: "p1", Name: "Ada", Role: core.RoleAdmin, Revision: 1},
		Session: core.Session{ID: "s1", Hash: "secret-hash", PrincipalID: "p1", Kind: core.SessionCLI, CreatedAt: 1, ExpiresAt: 2},
		Bearer:  people.SecretOf("the-session-bearer"),
	}
	e.people.bootstrap = func(code, name string, d people.Device) (people.SignedIn, error) {
		require.Equal(t, "K7QM2-XPD4V", code)
		require.Equal(t, "Ada", name)
		require.Equal(t, people.Device{Kind: core.SessionCLI, Label: "laptop"}, d)
		return in, nil
	}
	w := e.do(t, "", http.MethodPost, "/v1/signin", `{"purpose":"bootstrap","code":"K7QM2-XPD4V","name":"Ada","kind":"cli","label":"laptop"}`)
	require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	require.NotContains(t, w.Body.String(), "secret-hash")
	want := api.SignedIn{
		Bearer:  "the-session-bearer",
		Person:  api.Person{ID: "p1", Name: "Ada", Role: core.RoleAdmin, Revision: 1},
		Session: api.Session{ID: "s1", Kind: core.SessionCLI, CreatedAt: 1, ExpiresAt: 2},
	}
	require.Empty(t, cmp.Diff(want, decodeInto[api.SignedIn](t, w)))
	require.NotContains(t, e.log.String(), "the-session-bearer")
	require.NotContains(t, e.log.String(), "K7QM2")

	e.people.redeemPair = func(string, people.Device) (people.SignedIn, error) {
		return people.SignedIn{}, core.ErrCodeInvalid
	}
	w = e.do(t, "", http.MethodPost, "/v1/signin", `{"purpose":"pair","code":"x","kind":"browser"}`)
	requireProblem(t, w, http.StatusForbidden, "code_invalid")
	requireProblem(t, e.do(t, "", http.MethodPost, "/v1/signin", `{"purpose":"link","code":"x","kind":"cli"}`), http.StatusUnprocessableEntity, "invalid")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.people.issueToken = func(by core.Caller, n people.NewToken) (people.IssuedToken, error) {
		require.Equal(t, "alice", by.Person.ID)
		require.Equal(t, people.NewToken{Runtime: "bot", Scopes: []core.Scope{core.ScopeRead}, ActsFor: "bob", Label: "ci", Life: 720 * time.Hour}, n)
		return people.IssuedToken{Token: core.Token{ID: "t9", Hash: "secret-hash", Runtime: "bot"}, Bearer: people.SecretOf("the-bearer")}, nil
	}
	const body = `{"runtime":"bot","scopes":["read"],"acts_for":"bob","label":"ci","expires_in":"720h"}`
	w := e.do(t, adminBearer, http.MethodPost, "/v1/tokens", body)
	require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	require.NotContains(t, w.Body.String(), "secret-hash")
	require.Equal(t, "the-bearer", decodeInto[api.IssuedToken](t, w).Bearer)
	require.NotContains(t, e.log.String(), "the-bearer")

	e.people.issueToken = nil
	for _, life := range []string{"0s", "-1h", "for ever"} {
		p := requireProblem(t, e.do(t, adminBearer, http.MethodPost, "/v1/tokens", `{"runtime":"bot","scopes":["read"],"expires_in":"`+life+`"}`),
			http.StatusUnprocessableEntity, "invalid")
		require.Equal(t, "expires_in", p.Errors[0].Field)
	}
	p := requireProblem(t, e.do(t, adminBearer, http.MethodPost, "/v1/tokens", `{"runtime":"bot","scopes":["allow"]}`), http.StatusUnprocessableEntity, "invalid")
	require.Equal(t, "scopes[0]", p.Errors[0].Field)

	e.people.tokens = []core.Token{{ID: "t9", Hash: "secret-hash", Runtime: "bot", Scopes: []core.Scope{core.ScopeRead}, CreatedAt: 1}}
	w = e.do(t, adminBearer, http.MethodGet, "/v1/tokens", "")
	require.JSONEq(t, `{"tokens":[{"id":"t9","runtime":"bot","scopes":["read"],"created_at":1}]}`, w.Body.String())
	w = e.do(t, adminBearer, http.MethodDelete, "/v1/tokens/t9", "")
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Zero(t, w.Body.Len())
}

func TestPeopleCalls(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.people.list = []people.Person{{
		Principal:  core.Principal{ID: "p1", Name: "Ada", Role: core.RoleReviewer, Revision: 3},
		Identities: []core.Identity{{Realm: "telegram", ExternalID: "77", DirectChat: "secret-chat", Label: "@ada"}},
	}}
	w := e.do(t, adminBearer, http.MethodGet, "/v1/people", "")
	require.NotContains(t, w.Body.String(), "secret-chat")
	require.Equal(t, []api.Identity{{Realm: "telegram", ID: "77", Label: "@ada", Direct: true}}, decodeInto[api.People](t, w).People[0].Identities)

	w = e.do(t, adminBearer, http.MethodPost, "/v1/people", `{"id":"p2","name":"Ben","role":"viewer"}`)
	require.Equal(t, http.StatusCreated, w.Code)

	e.people.changePerson = func(_ core.Caller, c core.ChangePrincipal) (core.Principal, error) {
		require.Equal(t, "p1", c.ID)
		require.Equal(t, int64(3), c.Revision)
		require.Nil(t, c.Name)
		require.Nil(t, c.Role)
		require.True(t, *c.Disabled)
		return core.Principal{}, core.ErrLastAdmin
	}
	requireProblem(t, e.do(t, adminBearer, http.MethodPatch, "/v1/people/p1", `{"revision":3,"disabled":true}`), http.StatusConflict, "last_admin")

	e.people.linkIdentity = func(_ core.Caller, i core.Identity) error {
		require.Equal(t, core.Identity{Realm: "slack:T1", ExternalID: "U1", PrincipalID: "p1", Label: "ada"}, i)
		return core.ErrIdentityTaken
	}
	requireProblem(t, e.do(t, adminBearer, http.MethodPost, "/v1/people/p1/identities", `{"realm":"slack:T1","id":"U1","label":"ada"}`), http.StatusConflict, "identity_taken")
	require.Equal(t, http.StatusNoContent, e.do(t, adminBearer, http.MethodDelete, "/v1/identities/slack:T1/U1", "").Code)

	e.people.setOwners = func(_ core.Caller, runtime, agent string, ids []string) error {
		require.Equal(t, []string{"bot", "a/b", "p1"}, append([]string{runtime, agent}, ids...))
		return nil
	}
	require.Equal(t, http.StatusNoContent, e.do(t, adminBearer, http.MethodPut, "/v1/runtimes/bot/agents/a%2Fb/owners", `{"owners":["p1"]}`).Code)
	require.JSONEq(t, `{"owners":[]}`, e.do(t, adminBearer, http.MethodGet, "/v1/runtimes/bot/agents/a%2Fb/owners", "").Body.String())

	e.people.startPair = func(_ core.Caller, id string, f people.CodeForm) (people.IssuedCode, error) {
		require.Equal(t, "p1", id)
		require.Equal(t, people.FormTyped, f)
		return people.IssuedCode{Code: people.SecretOf("K7QM2-XPD4V"), ExpiresAt: 9}, nil
	}
	w = e.do(t, adminBearer, http.MethodPost, "/v1/people/p1/codes", `{"purpose":"pair","form":"typed"}`)
	require.JSONEq(t, `{"code":"K7QM2-XPD4V","expires_at":9}`, w.Body.String())

	e.people.sessions = []core.Session{{ID: "s1", Hash: "secret-hash", Kind: core.SessionBrowser, CreatedAt: 1, ExpiresAt: 2}}
	require.JSONEq(t, `{"sessions":[{"id":"s1","kind":"browser","created_at":1,"expires_at":2}]}`,
		e.do(t, adminBearer, http.MethodGet, "/v1/people/p1/sessions", "").Body.String())
	e.people.endSession = func(_ core.Caller, id, session string) error {
		return errors.Join(map[bool]error{true: nil, false: core.ErrNotFound}[id == "p1" && session == "s1"])
	}
	require.Equal(t, http.StatusNoContent, e.do(t, adminBearer, http.MethodDelete, "/v1/people/p1/sessions/s1", "").Code)
	require.Equal(t, http.StatusNoContent, e.do(t, adminBearer, http.MethodDelete, "/v1/me/session", "").Code)
}

// The link of a bot carries a code that is long enough to stand in a link.
func TestLinkCodesComeWithTheBotsLinks(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(_ *gateway.Config, d *gateway.Deps) {
		d.ChatLinks = func(code string) []string { return []string{"https://t.me/bot?start=" + code} }
		d.Messengers = []core.Surface{core.SurfaceTelegram, core.SurfaceSlack}
	})
	w := e.do(t, adminBearer, http.MethodPost, "/v1/people/p1/codes", `{"purpose":"link","form":"link"}`)
	require.JSONEq(t, `{"code":"link-code","expires_at":9,"links":["https://t.me/bot?start=link-code"],"messengers":["telegram","slack"]}`, w.Body.String())
	w = e.do(t, adminBearer, http.MethodPost, "/v1/people/p1/codes", `{"purpose":"link","form":"typed"}`)
	require.JSONEq(t, `{"code":"link-code","expires_at":9,"messengers":["telegram","slack"]}`, w.Body.String())
}

// Where a public address is configured, a code for the page comes with the link
// that a phone can follow; the first code is for the operator alone.
func TestCodesComeWithThePagesLink(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(c *gateway.Config, _ *gateway.Deps) { c.PublicURL = "https://example.com/base" })
	e.people.startPair = func(core.Caller, string, people.CodeForm) (people.IssuedCode, error) {
		return people.IssuedCode{Code: people.SecretOf("pair-code"), ExpiresAt: 9}, nil
	}
	w := e.do(t, adminBearer, http.MethodPost, "/v1/people/p1/codes", `{"purpose":"pair","form":"link"}`)
	require.JSONEq(t, `{"code":"pair-code","expires_at":9,"links":["https://example.com/base/signin#code=pair-code"]}`, w.Body.String())

	requireProblem(t, e.do(t, adminBearer, http.MethodPost, "/v1/first-code", `{"form":"link"}`), http.StatusForbidden, "forbidden")
	w = serve(t, e.gateway.AdminHandler(), "", http.MethodPost, "/v1/first-code", `{"form":"link"}`)
	require.JSONEq(t, `{"code":"first-code","expires_at":9,"links":["https://example.com/base/signin#code=first-code"]}`, w.Body.String())
}

// A roster that leaves identities out keeps them; an empty list unlinks all.
func TestApplyTellsNilFromEmpty(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.people.apply = func(_ core.Caller, r people.Roster) ([]people.Change, error) {
		want := people.Roster{
			Exhaustive: true,
			People: []people.RosterPerson{
				{ID: "a", Name: "A", Role: core.RoleAdmin},
				{ID: "b", Name: "B", Role: core.RoleViewer, Identities: []people.RosterIdentity{}},
			},
			Agents: []people.RosterAgent{{Runtime: "bot", Agent: "x", Owners: []string{}}},
		}
		require.Empty(t, cmp.Diff(want, r))
		return []people.Change{
			{Kind: people.ChangeUnlink, PersonID: "b", Identity: &people.RosterIdentity{Realm: "telegram", ID: "7"}},
			{Kind: people.ChangeOwners, Agent: &people.RosterAgent{Runtime: "bot", Agent: "x"}},
		}, nil
	}
	w := e.do(t, adminBearer, http.MethodPost, "/v1/people/apply",
		`{"exhaustive":true,"people":[{"id":"a","name":"A","role":"admin"},{"id":"b","name":"B","role":"viewer","identities":[]}],
		"agents":[{"runtime":"bot","agent":"x","owners":[]}]}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	got := decodeInto[api.Changes](t, w).Changes
	require.Equal(t, "unlink", got[0].Kind)
	require.Equal(t, &api.RosterIdentity{Realm: "telegram", ID: "7"}, got[0].Identity)
	e.people.apply = nil // A plan must not apply.
	require.Equal(t, http.StatusOK, e.do(t, adminBearer, http.MethodPost, "/v1/people/apply?plan=true", `{"people":[]}`).Code)
}
