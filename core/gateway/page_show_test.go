package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// Every state has its own words (R197, conformance 131).
func TestPage_States(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	bea := s.person("Bea", core.RoleAdmin)

	pending := s.ask()
	page := s.admin.get(pathOf(&pending))
	require.Equal(t, http.StatusOK, page.status)
	require.Equal(t, "pending", page.state())
	for _, want := range []string{
		"kubectl apply -f deploy.yaml", "Makes changes|Reaches out|Money", "Allow once", "Deny", "/srv/app",
		pending.Fingerprint, `value="` + pending.ArgumentsHash + `"`, "Ann",
	} {
		any := false
		for w := range strings.SplitSeq(want, "|") {
			any = any || strings.Contains(page.body, w)
		}
		require.True(t, any, want)
	}

	res := s.admin.post(pathOf(&pending), page.form(core.DecisionAllowOnce))
	require.Equal(t, http.StatusSeeOther, res.status)
	require.Equal(t, pathOf(&pending), res.header.Get("Location"))
	here := s.admin.get(pathOf(&pending))
	require.Equal(t, "decided-here", here.state())
	require.Contains(t, here.body, "Allowed once by you")
	require.NotContains(t, here.body, `id="decide"`)

	elsewhere := bea.get(pathOf(&pending))
	require.Equal(t, "resolved-elsewhere", elsewhere.state())
	require.Contains(t, elsewhere.body, "Resolved elsewhere: allowed once by Ann on the page")
	require.Contains(t, elsewhere.body, "kubectl apply", "settled pages keep the whole action")

	expiring, closed := s.ask(), s.ask()
	_, err := s.service.Cancel(t.Context(), s.agent, core.Lookup{ID: closed.ID})
	require.NoError(t, err)
	cancelled := s.admin.get(pathOf(&closed))
	require.Equal(t, "cancelled", cancelled.state())
	require.Contains(t, cancelled.body, "whoever asked took it back")

	s.advance(31 * time.Minute)
	expired := s.admin.get(pathOf(&expiring))
	require.Equal(t, "expired", expired.state())
	require.Contains(t, expired.body, "nobody answered in time")

	mismatch := s.ask()
	form := s.admin.get(pathOf(&mismatch)).form(core.DecisionAllowOnce)
	form.Set("hash", "sha256:"+strings.Repeat("0", 64))
	s.admin.post(pathOf(&mismatch), form)
	require.Equal(t, core.ReasonHashMismatch, s.read(mismatch.ID).Reason, "R89: the page submits the hash that it shows")
	require.Equal(t, "closed", s.admin.get(pathOf(&mismatch)).state())
}

// The id is the only parameter; ids that look like assets or hold a slash reach the
// page, at the root and under a base path (R196, R214, conformance 139).
func TestPage_IDsAndBasePath(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/team/gate"} {
		s := newSite(t, siteOptions{base: base})
		for _, given := range []string{"x.js", "x.json", "a/b", "%2e%2e", "?q#f", "événement 1", "events"} {
			a := s.ask(func(q *approvals.Ask) { q.GivenID = given })
			page := s.admin.get(pathOf(&a))
			require.Equal(t, http.StatusOK, page.status, given)
			require.Equal(t, "pending", page.state(), given)
			require.Contains(t, page.header.Get("Content-Type"), "text/html")
			res := s.admin.post(pathOf(&a), page.form(core.DecisionDeny))
			require.Equal(t, http.StatusSeeOther, res.status, given)
			require.Equal(t, base+pathOf(&a), res.header.Get("Location"))
			require.Equal(t, core.StatusDenied, s.read(a.ID).Status)
		}
		list := s.admin.get("/")
		require.Equal(t, "inbox", list.state())
		require.Contains(t, list.body, `href="`+base+`/approve/agents:a%2Fb"`)
		require.Contains(t, list.body, base+"/assets/sayso.css?v=")
	}
}

// A proxy may have taken the base path off, and "/base" alone leads to the inbox.
func TestPage_BasePathByProxy(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{base: "/gate"})
	a := s.ask()
	res := s.admin.get("")
	require.Equal(t, http.StatusSeeOther, res.status)
	require.Equal(t, "/gate/", res.header.Get("Location"))

	v := s.visitor()
	v.site = &site{t: t, url: strings.TrimSuffix(s.url, "/gate")}
	out := v.get(pathOf(&a))
	require.Equal(t, http.StatusSeeOther, out.status)
	require.Equal(t, "/gate/signin?next="+url.QueryEscape("/gate"+pathOf(&a)), out.header.Get("Location"))
	require.Equal(t, http.StatusNotFound, v.get("/gatecrash").status)
}

// Unknown and unauthorised answer the same, to every method and in every part (R155,
// conformance 136).
func TestPage_NotFoundIsOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a := s.ask()
	stranger := s.person("Sam", core.RoleReviewer)
	unknown := "/approve/0199f000-0000-7000-8000-000000000000"
	form := s.admin.get(pathOf(&a)).form(core.DecisionAllowOnce)
	for _, suffix := range []string{"", "?view=all", "/events"} {
		got, want := stranger.get(pathOf(&a)+suffix), stranger.get(unknown+suffix)
		require.Equal(t, http.StatusNotFound, got.status)
		require.Equal(t, want.body, got.body)
		require.NotContains(t, got.body, "Deploy")
	}
	got, want := stranger.post(pathOf(&a), form), stranger.post(unknown, form)
	require.Equal(t, http.StatusNotFound, got.status)
	require.Equal(t, want.body, got.body)
	require.Equal(t, http.StatusNotFound, stranger.get("/approve/"+strings.Repeat("x", 500)).status)
	require.Equal(t, core.StatusPending, s.read(a.ID).Status)
}

// No GET decides, whatever it carries and whoever fetches it ahead of time.
func TestPage_ReadingNeverDecides(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a := s.ask()
	form := s.admin.get(pathOf(&a)).form(core.DecisionAllowOnce)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		for _, header := range [][]string{nil, {"Sec-Purpose", "prefetch"}, {"Purpose", "prefetch"}, {"X-Moz", "prefetch"}, {"X-HTTP-Method-Override", "POST"}} {
			res := s.admin.do(method, pathOf(&a)+"?"+form.Encode(), nil, header...)
			require.Equal(t, http.StatusOK, res.status)
			require.Equal(t, core.StatusPending, s.read(a.ID).Status)
		}
	}
	require.Equal(t, http.StatusOK, s.admin.do(http.MethodHead, pathOf(&a)+"/events", nil).status, "no stream without a reader")
	require.Equal(t, http.StatusSeeOther, s.visitor().do(http.MethodHead, pathOf(&a), nil).status)
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
		require.Equal(t, http.StatusNotFound, s.admin.do(method, pathOf(&a), form).status)
	}
	require.Equal(t, core.StatusPending, s.read(a.ID).Status)
}

// Nothing inline, nothing foreign, no frame, no referrer to others, nothing kept.
func TestPage_Headers(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a := s.ask()
	for _, path := range []string{"/", pathOf(&a), "/signin", "/nowhere"} {
		res := s.admin.get(path)
		csp := res.header.Get("Content-Security-Policy")
		require.Contains(t, csp, "default-src 'none'")
		require.Contains(t, csp, "frame-ancestors 'none'")
		require.NotContains(t, csp, "unsafe")
		require.Equal(t, "DENY", res.header.Get("X-Frame-Options"))
		require.Equal(t, "same-origin", res.header.Get("Referrer-Policy"))
		require.Equal(t, "no-store", res.header.Get("Cache-Control"))
		require.Equal(t, "nosniff", res.header.Get("X-Content-Type-Options"))
		for _, inline := range []string{"<style", " style=", " onclick=", " onload=", " onsubmit=", "javascript:", "<script>"} {
			require.NotContains(t, res.body, inline, path)
		}
	}
}

// Assets are kept for ever only under this binary's own version.
func TestPage_Assets(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	v := s.visitor()
	_, rest, found := strings.Cut(v.get("/signin").body, `href="/assets/sayso.css`)
	require.True(t, found)
	query, _, _ := strings.Cut(rest, `"`)
	for _, name := range []string{"sayso.css", "sayso.js", "icon.svg"} {
		kept := v.get("/assets/" + name + query)
		require.Equal(t, http.StatusOK, kept.status)
		require.Contains(t, kept.header.Get("Cache-Control"), "immutable")
		require.Equal(t, "no-store", v.get("/assets/"+name+"?v=other").header.Get("Cache-Control"))
	}
	require.Contains(t, v.get("/assets/sayso.js").header.Get("Content-Type"), "javascript")
	require.Equal(t, http.StatusNotFound, v.get("/assets/").status)
	require.Equal(t, http.StatusNotFound, v.get("/assets/none.js").status)
}

// What the page shows is escaped, and hidden characters are visible in it.
func TestPage_HostileText(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a := s.ask(func(q *approvals.Ask) {
		q.Title = `<script>alert(1)</script> "quoted" & ` + "\u202eevil"
		q.Operation.Arguments = []byte(`{"argv":["echo","</code></pre><img src=x onerror=alert(1)>\u200b"]}`)
	})
	for _, path := range []string{pathOf(&a), "/"} {
		body := s.admin.get(path).body
		require.NotContains(t, body, "<script>alert")
		require.NotContains(t, body, "<img src=x")
		require.NotContains(t, body, "\u202e")
		require.NotContains(t, body, "\u200b")
	}
	require.Contains(t, s.admin.get(pathOf(&a)).body, `\u{202E}evil`)
}

// The inbox lists what waits beside what was answered, and changes its version with
// them only, so that a refresh without news disturbs nobody.
func TestPage_Inbox(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	empty := s.admin.get("/", "X-Part", "main")
	require.Contains(t, empty.body, "Nothing waits")
	require.NotContains(t, empty.body, "<html")

	a := s.ask()
	one, again := s.admin.get("/", "X-Part", "main"), s.admin.get("/", "X-Part", "main")
	require.Equal(t, one.body, again.body)
	require.NotEqual(t, empty.body, one.body)
	require.Contains(t, one.body, a.Presentation.Title)

	s.admin.post(pathOf(&a), s.admin.get(pathOf(&a)).form(core.DecisionDeny))
	later := s.admin.get("/")
	require.Contains(t, later.body, "Lately")
	require.Contains(t, later.body, "Denied by you")
	require.NotContains(t, s.person("Sam", core.RoleReviewer).get("/").body, "Deploy")
}

// Without the page mounted its paths are not there (R196, conformance 139).
func TestPage_SwitchedOff(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for _, path := range []string{"/", "/approve/x", "/approve/x.js", "/signin"} {
		res := httptest.NewRecorder()
		e.gateway.Handler().ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
		require.Equal(t, http.StatusNotFound, res.Code, path)
	}
}
