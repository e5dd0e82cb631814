package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/people"
	"github.com/saysohq/sayso/presentation/web"
)

// PageSignIns turns one-time codes into sessions; core/people satisfies it.
type PageSignIns interface {
	// PeekPair tells whom a code would sign in, without using it.
	PeekPair(ctx context.Context, code string) (core.Principal, error)
	// RedeemPair uses a pairing code.
	RedeemPair(ctx context.Context, code string, d people.Device) (people.SignedIn, error)
	// RedeemBootstrap uses the first code of a deployment and makes its first admin.
	RedeemBootstrap(ctx context.Context, code, name string, d people.Device) (people.SignedIn, error)
	// SignOut ends the caller's own session.
	SignOut(ctx context.Context, by core.Caller) error
}

// Answerer is what the page needs of the approvals service.
type Answerer interface {
	Get(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error)
	Detail(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, core.Detail, error)
	// Await returns the record as it is when the time is over or the replica stops.
	Await(ctx context.Context, c *core.Caller, w *approvals.WaitRequest) (*core.Approval, error)
	List(ctx context.Context, c core.Caller, q core.ListQuery) (core.ListPage, error)
	Resolve(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error)
}

// PageConfig is what an operator sets for the page.
type PageConfig struct {
	Links Links
	// Deployment is the deployment's own id, the same on every replica; required. The
	// name of the session's cookie is made from it.
	Deployment string
	// Secure marks cookies for TLS only: set when the public address is https.
	Secure bool
	// Zone is the deployment's zone for the text of cards; nil means UTC.
	Zone *time.Location
	// LinkHint says how to link a chat; "" when no messenger is configured.
	LinkHint string
	// CheckEvery is how often a quiet stream checks session and authority again, at
	// most approvals.MaxWait; it also keeps proxies from closing it. Default 30 s,
	// and no more: the script takes a stream for dead after 45 s of silence.
	CheckEvery time.Duration
}

// PageDeps are the services behind the page. All are required, unless it says otherwise.
type PageDeps struct {
	Approvals     Answerer
	Authenticator Authenticator
	SignIns       PageSignIns
	Outcomes      PageOutcomes
	Agents        PageAgents
	Pauses        PagePauses
	Rules         PageRules
	Declines      PageDeclines
	// NoAdmin reports whether the first code is still open.
	NoAdmin func(ctx context.Context) (bool, error)
	// Name is the display name of a person; "" when there is none.
	Name     func(ctx context.Context, principalID string) string
	Clock    core.Clock
	Views    *Views
	Forms    *Forms
	Renderer *web.Renderer
	Logger   *slog.Logger
	// Sticky is how long a person's no answers the same action again (K34). May be nil:
	// not at all.
	Sticky func() time.Duration
	// Now is the process clock, for the deadlines of connections.
	Now func() time.Time
	// Stopping is closed when the server begins to stop: open streams end then.
	Stopping <-chan struct{}
}

// Pages serves the page: the approvals, the inbox, the agents with what they may do
// without asking, and the sign-in. GET never changes anything; every POST needs the
// same origin, and every one but the sign-in a session and a form token bound to it.
type Pages struct {
	cfg    PageConfig
	deps   PageDeps
	csrf   *http.CrossOriginProtection
	cookie string
}

// NewPages wires the page; it starts nothing.
func NewPages(cfg PageConfig, deps PageDeps) (*Pages, error) {
	if deps.Approvals == nil || deps.Authenticator == nil || deps.SignIns == nil || deps.NoAdmin == nil ||
		deps.Outcomes == nil || deps.Agents == nil || deps.Pauses == nil || deps.Rules == nil || deps.Declines == nil ||
		deps.Name == nil || deps.Clock == nil || deps.Views == nil || deps.Forms == nil ||
		deps.Renderer == nil || deps.Logger == nil || deps.Now == nil || deps.Stopping == nil {
		return nil, errors.New("page: a dependency is missing")
	}
	if cfg.Deployment == "" {
		return nil, errors.New("page: the deployment's id is missing")
	}
	setDefault(&cfg.CheckEvery, 30*time.Second)
	p := &Pages{cfg: cfg, deps: deps, csrf: http.NewCrossOriginProtection(), cookie: cfg.CookieName()}
	if origin := cfg.Links.origin; origin != "" {
		// A proxy may have put another Host in the place of the public one.
		if err := p.csrf.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("page: trust own origin: %w", err)
		}
	}
	p.csrf.SetDenyHandler(http.HandlerFunc(p.foreign))
	return p, nil
}

// Handler serves everything that is not the API's, with the base path before it or
// already taken off by a proxy. Mount it with Gateway.Handle at "/".
func (p *Pages) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.inbox)
	mux.HandleFunc("GET /approve/{id}", p.approval)
	mux.HandleFunc("POST /approve/{id}", p.answer)
	mux.HandleFunc("GET /approve/{id}/events", p.events)
	mux.HandleFunc("GET /agents", p.agents)
	mux.HandleFunc("GET /agent", p.agent)
	mux.HandleFunc("GET /rules", p.rules)
	mux.HandleFunc("GET /unattended", p.unattended)
	p.presses(mux)
	mux.HandleFunc("GET /signin", p.signInForm)
	mux.HandleFunc("POST /signin", p.signIn)
	mux.HandleFunc("POST /signout", p.signOut)
	mux.Handle("GET /assets/", http.StripPrefix("/assets", assetHandler(web.Assets(), p.deps.Renderer.Version())))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { p.notFound(w, r, core.Caller{}) })
	return pageHeaders(p.csrf.Handler(underBase(p.cfg.Links.Base(), mux)))
}

// presses are what the forms of these pages post to. Whoever comes back to such an
// address, from a sign-in or out of their history, reads what the press was about.
func (p *Pages) presses(mux *http.ServeMux) {
	approval := func(r *http.Request) string { return p.cfg.Links.Path(r.PathValue("id")) }
	agent := func(r *http.Request) string { return p.agentPath(agentOf(r.URL.Query())) }
	rules := func(*http.Request) string { return p.cfg.Links.Base() + "/rules" }
	for _, press := range []struct {
		path  string
		do    http.HandlerFunc
		about func(*http.Request) string
	}{
		{"/approve/{id}/reopen", p.reopen, approval},
		{"/approve/{id}/dismiss", p.dismiss, approval},
		{"/approve/{id}/again", p.askAgain, approval},
		{"/agent/mode", p.setMode, agent},
		{"/agent/pause", p.pause, agent},
		{"/agent/resume", p.resume, agent},
		{"/agent/money", p.switchMoney, agent},
		{"/rules/{id}/remove", p.removeRule, rules},
	} {
		mux.HandleFunc("POST "+press.path, press.do)
		mux.HandleFunc("GET "+press.path, func(w http.ResponseWriter, r *http.Request) { p.after(w, r, press.about(r)) })
	}
}

// underBase takes the base path off. It works on the escaped path, so that an id
// with an escaped slash stays one segment.
func underBase(base string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, under := strings.CutPrefix(r.URL.EscapedPath(), base)
		switch {
		case base == "" || !under:
			next.ServeHTTP(w, r)
			return
		case rest == "":
			http.Redirect(w, r, base+"/", http.StatusSeeOther)
			return
		}
		path, err := url.PathUnescape(rest)
		if err != nil || path[0] != '/' {
			next.ServeHTTP(w, r)
			return
		}
		r2 := r.Clone(r.Context())
		r2.URL.Path, r2.URL.RawPath = path, rest
		next.ServeHTTP(w, r2)
	})
}

// policy is the page's content security policy: nothing but our own files, never
// in a frame, no inline script or style.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func pageHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// assetHandler never lists a folder. A file may be kept for ever only under the
// version that this binary has: while two versions serve side by side, one of them
// would otherwise plant its own file under the other's name.
func assetHandler(files fs.FS, version string) http.Handler {
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		if r.URL.Query().Get("v") == version {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		server.ServeHTTP(w, r)
	})
}
