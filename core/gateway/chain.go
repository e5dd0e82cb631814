package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
)

// call is what the edge knows about one request. It travels in the context, is
// written by the steps of the chain and read by the access log.
type call struct {
	id       string
	route    string // The matched pattern, never the path: paths hold callers' ids.
	code     string // Of the problem; "" for none.
	caller   core.Caller
	operator bool // The request came through the admin socket.

	throttled bool                // Its turn was taken from the caller's budget already.
	rested    *core.Approval      // What it has waited for already; nil when it did not.
	out       http.ResponseWriter // For the connection's deadlines.
}

type callKey struct{}

// callOf returns the request's call, or an empty one outside the chain.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}

// RequestID returns the id under which the request of ctx is logged, or "".
func RequestID(ctx context.Context) string { return callOf(ctx).id }

// chain wraps everything that is served: the API, and what was mounted with Handle.
func (g *Gateway) chain(operator bool) http.Handler {
	var h http.Handler = http.HandlerFunc(g.dispatch)
	if !operator {
		h = g.checkHost(h)
	}
	h = g.secure(h)
	h = g.recoverPanics(h)
	return g.observe(h, operator)
}

// observe gives the request its id and writes the access log: content-free, with
// the route instead of the path and nothing of the query or the headers.
func (g *Gateway) observe(next http.Handler, operator bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := g.deps.Now()
		out := &recorder{ResponseWriter: w}
		c := &call{id: requestID(r.Header.Get("X-Request-Id")), route: "none", operator: operator, out: w}
		w.Header().Set("X-Request-Id", c.id)
		r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
		// A server without a write time-out of its own would keep the deadline of the
		// request before on this connection.
		_ = http.NewResponseController(w).SetWriteDeadline(began.Add(g.cfg.Timeouts.Write))
		defer func() {
			attrs := []slog.Attr{
				slog.String("request", c.id), slog.String("method", knownMethod(r.Method)), slog.String("route", c.route),
				slog.Int("status", out.status), slog.Int64("bytes", out.bytes),
				slog.Int64("ms", g.deps.Now().Sub(began).Milliseconds()),
			}
			if c.code != "" {
				attrs = append(attrs, slog.String("code", c.code))
			}
			g.deps.Logger.LogAttrs(r.Context(), slog.LevelInfo, "request", append(attrs, whoIs(c.caller)...)...)
		}()
		next.ServeHTTP(out, r)
	})
}

func whoIs(c core.Caller) []slog.Attr {
	switch {
	case c.Token != nil:
		return []slog.Attr{slog.String("runtime", c.Token.Runtime)}
	case c.Person != nil:
		return []slog.Attr{slog.String("person", c.Person.ID)}
	case c.Operator:
		return []slog.Attr{slog.Bool("operator", true)}
	}
	return nil
}

// requestID keeps an id that a proxy gave when it is harmless, and makes one
// otherwise.
func requestID(given string) string {
	const most = 64
	if given == "" || len(given) > most || strings.ContainsFunc(given, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return rand.Text()
	}
	return given
}

// knownMethod keeps what callers invent out of the log.
func knownMethod(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete:
		return m
	}
	return "other"
}

// recoverPanics answers a panic with 500 and logs where it happened, not what it
// said: the value may hold anything.
func (g *Gateway) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler { //nolint:errorlint // The documented way to compare it.
				panic(v)
			}
			c := callOf(r.Context())
			g.deps.Logger.LogAttrs(r.Context(), slog.LevelError, "panic", slog.String("request", c.id),
				slog.String("route", c.route), slog.String("type", fmt.Sprintf("%T", v)), slog.String("stack", string(debug.Stack())))
			if out, ok := w.(*recorder); ok && out.status != 0 {
				panic(http.ErrAbortHandler) // Half an answer is out: cut the connection.
			}
			g.write(w, r, newProblem(codeInternal))
		}()
		next.ServeHTTP(w, r)
	})
}

// secure sets the headers that fit an API; the page replaces the policy with its own.
func (g *Gateway) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		next.ServeHTTP(w, r)
	})
}

// checkHost refuses names that are not ours, the health probes aside: those come
// from machines that know addresses only, and say nothing.
func (g *Gateway) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.hosts.allows(r.Host) && r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			g.write(w, r, newProblem(codeMisdirected))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// dispatch picks the side: the API answers everything below its own paths, also
// with a base path before them, and what was mounted gets the rest untouched.
func (g *Gateway) dispatch(w http.ResponseWriter, r *http.Request) {
	escaped := r.URL.EscapedPath()
	if cleanPath(escaped) != escaped {
		g.write(w, r, newProblem(core.CodeOf(core.ErrNotFound)))
		return
	}
	if isAPI(escaped) {
		g.serve(g.mux, w, r)
		return
	}
	if base := g.links.Base(); base != "" && strings.HasPrefix(escaped, base) && isAPI(escaped[len(base):]) {
		http.StripPrefix(base, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(g.mux, w, r) })).ServeHTTP(w, r)
		return
	}
	g.serve(g.mounts, w, r)
}

func isAPI(p string) bool {
	switch p {
	case "/v1", "/healthz", "/readyz", "/metrics", "/openapi.yaml":
		return true
	}
	return strings.HasPrefix(p, "/v1/")
}

// serve hands the request to a mux. It answers itself what the mux would answer in
// plain text.
func (g *Gateway) serve(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	h, pattern := mux.Handler(r)
	if pattern == "" {
		g.unmatched(h, w, r)
		return
	}
	callOf(r.Context()).route = pattern
	if pattern == restRoute {
		g.rest(r)
	}
	mux.ServeHTTP(w, r)
}

// cleanPath is the canonical form of an escaped path. A mux would redirect to it,
// and so repeat the path; no link of ours is of another form.
func cleanPath(p string) string {
	if p == "" || p[0] != '/' {
		return ""
	}
	c := path.Clean(p)
	if c != "/" && strings.HasSuffix(p, "/") {
		c += "/"
	}
	return c
}

// unmatched asks the mux's own handler why nothing matched and says it as a problem.
func (g *Gateway) unmatched(h http.Handler, w http.ResponseWriter, r *http.Request) {
	why := &discard{header: http.Header{}}
	h.ServeHTTP(why, r)
	if why.status != http.StatusMethodNotAllowed {
		g.write(w, r, newProblem(core.CodeOf(core.ErrNotFound)))
		return
	}
	w.Header().Set("Allow", why.header.Get("Allow"))
	g.write(w, r, newProblem(codeMethod))
}

// discard takes an answer and keeps its status and header only.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// recorder counts an answer for the access log.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader notes the status.
func (o *recorder) WriteHeader(status int) {
	if o.status == 0 {
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (o *recorder) Write(b []byte) (int, error) {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	n, err := o.ResponseWriter.Write(b)
	o.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (o *recorder) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// hold gives the answer of this request time: what the server grants any answer,
// plus d. The body was read before, so the deadline for reading is lifted: when it
// passed in a long poll it would look like a caller who went away.
func (g *Gateway) hold(ctx context.Context, d time.Duration) {
	c := callOf(ctx)
	if c.out == nil {
		return
	}
	// Unsupported by a test's recorder and by no server.
	conn := http.NewResponseController(c.out)
	_ = conn.SetReadDeadline(time.Time{})
	_ = conn.SetWriteDeadline(g.deps.Now().Add(g.cfg.Timeouts.Write + d))
}
