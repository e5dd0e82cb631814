package gateway_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/people"
)

func TestPage_FirstAdmin(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{nobody: true})
	v := s.visitor()
	require.Equal(t, "/signin?next=%2F", v.get("/").header.Get("Location"))
	require.Contains(t, v.get("/signin").body, "Welcome to sayso")

	wrong := v.post("/signin", url.Values{"code": {strings.Repeat("A", 22)}, "name": {"Zoë"}})
	require.Equal(t, http.StatusForbidden, wrong.status)
	require.Contains(t, wrong.body, "not valid any more")
	require.Contains(t, wrong.body, `value="Zoë"`, "the name need not be typed again")
	require.Empty(t, wrong.header.Get("Set-Cookie"))

	res := v.post("/signin", url.Values{"code": {" " + s.first + " "}, "name": {"Zoë"}, "next": {"/approve/x"}})
	require.Equal(t, http.StatusSeeOther, res.status)
	require.Equal(t, "/approve/x", res.header.Get("Location"))
	cookie := res.header.Get("Set-Cookie")
	for _, want := range []string{s.cfg.CookieName() + "=", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="} {
		require.Contains(t, cookie, want)
	}
	require.NotContains(t, cookie, "Secure", "plain HTTP on loopback")
	require.Contains(t, v.get("/").body, "Zoë")

	again := s.visitor().post("/signin", url.Values{"code": {s.first}, "name": {"Eve"}})
	require.Equal(t, http.StatusForbidden, again.status, "the first code makes one admin")
}

// A pairing code asks before it is used and before it replaces a session, which then
// ends (K36).
func TestPage_PairingAsksFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	bea := s.person("Bea", core.RoleReviewer)
	code := s.pair(bea.id)

	asks := s.admin.post("/signin", url.Values{"code": {code}})
	require.Equal(t, http.StatusOK, asks.status)
	require.Contains(t, asks.body, "Sign in as <bdi>Bea</bdi>?")
	require.Contains(t, asks.body, "You are signed in here as <bdi>Ann</bdi>")
	require.Empty(t, asks.header.Get("Set-Cookie"))
	require.Contains(t, s.admin.get("/").body, "Ann", "nothing happened yet")

	old := s.visitor()
	u, err := url.Parse(s.url)
	require.NoError(t, err)
	old.client.Jar.SetCookies(u, s.admin.client.Jar.Cookies(u))
	require.Equal(t, http.StatusOK, old.get("/").status)

	res := s.admin.post("/signin", url.Values{"code": {code}, "confirm": {"1"}})
	require.Equal(t, http.StatusSeeOther, res.status)
	require.Contains(t, s.admin.get("/").body, "Bea")
	require.Equal(t, http.StatusSeeOther, old.get("/").status, "the replaced session has ended")
	require.Equal(t, http.StatusForbidden, s.visitor().post("/signin", url.Values{"code": {code}, "confirm": {"1"}}).status)

	cross := s.visitor().post("/signin", url.Values{"code": {s.pair(bea.id)}, "confirm": {"1"}}, "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, cross.status, "nobody is signed in by another site")
	require.Empty(t, cross.header.Get("Set-Cookie"))
}

// Redirects after signing in stay on this service and below its base.
func TestPage_NextStaysHere(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/gate"} {
		s := newSite(t, siteOptions{base: base})
		for next, want := range map[string]string{
			base + "/approve/a%2Fb?view=all": base + "/approve/a%2Fb?view=all",
			"https://evil.example/":          base + "/",
			"//evil.example/":                base + "/",
			`/\evil.example`:                 base + "/",
			`\\evil.example`:                 base + "/",
			"javascript:alert(1)":            base + "/",
			"/\t/evil.example":               base + "/",
			"evil":                           base + "/",
			"":                               base + "/",
			"http:/evil":                     base + "/",
		} {
			v := s.visitor()
			res := v.post("/signin", url.Values{"code": {s.pair(s.personID("Ann"))}, "confirm": {"1"}, "next": {next}})
			require.Equal(t, http.StatusSeeOther, res.status)
			require.Equal(t, want, res.header.Get("Location"), next)
			require.NotContains(t, v.get("/signin?next="+url.QueryEscape(next)).body, "evil")
		}
	}
}

func (s *site) personID(name string) string {
	s.t.Helper()
	all, err := s.people.ListPeople(s.t.Context(), core.Caller{Operator: true})
	require.NoError(s.t, err)
	for _, p := range all {
		if p.Name == name {
			return p.ID
		}
	}
	s.t.Fatal("no such person")
	return ""
}

func TestPage_SignOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	_, rest, _ := strings.Cut(s.admin.get("/").body, `name="token" value="`)
	token, _, _ := strings.Cut(rest, `"`)
	require.Equal(t, http.StatusForbidden, s.admin.post("/signout", url.Values{"token": {"x"}}).status)
	require.Equal(t, http.StatusForbidden, s.admin.post("/signout", url.Values{"token": {token}}, "Sec-Fetch-Site", "cross-site").status)
	require.Equal(t, http.StatusOK, s.admin.get("/").status)
	require.Equal(t, http.StatusNotFound, s.admin.get("/signout").status)

	kept := s.visitor()
	u, err := url.Parse(s.url)
	require.NoError(t, err)
	kept.client.Jar.SetCookies(u, s.admin.client.Jar.Cookies(u))
	res := s.admin.post("/signout", url.Values{"token": {token}})
	require.Equal(t, "/signin", res.header.Get("Location"))
	require.Contains(t, res.header.Get("Set-Cookie"), "Max-Age=0")
	require.Equal(t, http.StatusSeeOther, kept.get("/").status, "the session ended, not only its cookie")
}

// Over TLS the cookie is Secure and its name is bound to the host.
func TestPage_SecureCookie(t *testing.T) {
	t.Parallel()
	for url_, want := range map[string]string{
		"https://sayso.example":      "__Host-sayso_session_",
		"https://sayso.example/gate": "__Secure-sayso_session_",
	} {
		s := newSite(t, siteOptions{publicURL: url_, secure: true, nobody: true})
		res := s.visitor().post("/signin", url.Values{"code": {s.first}, "name": {"Ann"}},
			"Sec-Fetch-Site", "", "Origin", "https://sayso.example")
		require.Equal(t, http.StatusSeeOther, res.status, "the public origin is ours behind a proxy that renames the host")
		require.True(t, strings.HasPrefix(res.header.Get("Set-Cookie"), want))
		require.Contains(t, res.header.Get("Set-Cookie"), "Secure")
	}
}

// A machine's token and a terminal's session open no page: an agent that can read
// their files could allow with them.
func TestPage_OnlyBrowserSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a := s.ask()
	cli, err := s.people.RedeemPair(t.Context(), s.pair(s.personID("Ann")), people.Device{Kind: core.SessionCLI})
	require.NoError(t, err)
	for _, bearer := range []string{cli.Bearer.Reveal(), people.NewTokenSecret().Reveal(), "x", ""} {
		res := s.visitor().get(pathOf(&a), "Cookie", s.cfg.CookieName()+"="+bearer)
		require.Equal(t, http.StatusSeeOther, res.status)
		require.NotContains(t, res.body, "Deploy")
	}
}

// Cookies know no ports: a browser that uses two services of one host stays signed in
// at both.
func TestPage_TwoServicesOnOneHost(t *testing.T) {
	t.Parallel()
	one, two := newSite(t, siteOptions{nobody: true}), newSite(t, siteOptions{nobody: true})
	require.NotEqual(t, one.cfg.CookieName(), two.cfg.CookieName())
	v := one.visitor()
	elsewhere := two.visitor()
	elsewhere.client.Jar = v.client.Jar
	require.Equal(t, http.StatusSeeOther, v.post("/signin", url.Values{"code": {one.first}, "name": {"Ann"}}).status)
	require.Equal(t, http.StatusSeeOther, elsewhere.post("/signin", url.Values{"code": {two.first}, "name": {"Bea"}}).status)
	require.Contains(t, v.get("/").body, "Ann")
	require.Contains(t, elsewhere.get("/").body, "Bea")
}
