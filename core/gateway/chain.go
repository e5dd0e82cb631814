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
	recorder // The answer.

	edge     *edge
	request  *http.Request // It carries this call in its context.
	id       string
	began    time.Time
	route    string // The matched pattern, never the path: paths hold callers' ids.
	code     string // Of the problem; "" for none.
	caller   core.Caller
	operator bool // The request came through the admin socket.

	throttled bool           // Its turn was taken from the caller's budget already.
	rested    *core.Approval // What it has waited for already; nil when it did not.
	aside     bool           // It is handled on a goroutine of its own, and may rest.
	rester    rester         // What is left to do after that; see later.
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

// edge is the outermost handler: it wraps everything that is served, the API and
// what was mounted with Handle.
type edge struct {
	*Gateway
	operator bool
}

// ServeHTTP keeps the access log, content-free, with the route instead of the path
// and nothing of the query or the headers. A request that may have to wait is
// handled aside, and rests here, where little else stands on the stack. Frames count
// twice: beyond 4 KiB a stack doubles, and the runtime starts goroutines with what
// the average one holds, also those that watch the connections.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := e.arrive(w, r)
	defer c.leave()
	c.pass()
	if c.rester != nil {
		c.rester.rest()
	}
}

// arrive gives the request its id.
//
//go:noinline
func (e *edge) arrive(w http.ResponseWriter, r *http.Request) *call {
	c := &call{
		edge: e, id: requestID(r.Header.Get("X-Request-Id")), began: e.deps.Now(), route: "none", operator: e.operator,
	}
	c.recorder = recorder{ResponseWriter: w, id: c.id}
	// A server without a write time-out of its own would keep the deadline of the
	// request before on this connection.
	_ = http.NewResponseController(w).SetWriteDeadline(c.began.Add(e.cfg.Timeouts.Write))
	c.request = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	return c
}

// leave answers a panic and writes the access log.
func (c *call) leave() {
	defer c.logged()
	if v := recover(); v != nil {
		c.panicked(v)
	}
}

// logged logs, aside for those who may poll again on this connection.
func (c *call) logged() {
	if c.aside {
		aside(c.log)
		return
	}
	c.log()
}

func (c *call) log() {
	if c.status == 0 { // The server says 200 for whoever said nothing.
		c.complete()
	}
	attrs := []slog.Attr{
		slog.String("request", c.id), slog.String("method", knownMethod(c.request.Method)), slog.String("route", c.route),
		slog.Int("status", c.status), slog.Int64("bytes", c.bytes),
		slog.Int64("ms", c.edge.deps.Now().Sub(c.began).Milliseconds()),
	}
	if c.code != "" {
		attrs = append(attrs, slog.String("code", c.code))
	}
	c.edge.deps.Logger.LogAttrs(c.request.Context(), slog.LevelInfo, "request", append(attrs, whoIs(c.caller)...)...)
}

// pass handles the request but for its rest.
//
//go:noinline
func (c *call) pass() {
	if c.aside = mayRest(c.request); c.aside {
		aside(func() { c.guard(c.admitHost) })
		return
	}
	c.admitHost()
}

// admitHost refuses names that are not ours, the health probes aside: those come
// from machines that know addresses only, and say nothing.
func (c *call) admitHost() {
	e, r := c.edge, c.request
	if !e.operator && !e.hosts.allows(r.Host) && r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
		e.write(c, r, newProblem(codeMisdirected))
		return
	}
	e.dispatch(c, r)
}

// guard answers a panic of fn where it happens, with the stack that tells where.
func (c *call) guard(fn func()) {
	defer func() {
		if v := recover(); v != nil {
			c.panicked(v)
		}
	}()
	fn()
}

// panicked answers a panic with 500 and logs where it happened, not what it said:
// the value may hold anything.
func (c *call) panicked(v any) {
	c.rester = nil
	if v == http.ErrAbortHandler { //nolint:errorlint // The documented way to compare it.
		panic(v)
	}
	c.edge.deps.Logger.LogAttrs(c.request.Context(), slog.LevelError, "panic", slog.String("request", c.id),
		slog.String("route", c.route), slog.String("type", fmt.Sprintf("%T", v)), slog.String("stack", string(debug.Stack())))
	if c.status != 0 {
		panic(http.ErrAbortHandler) // Half an answer is out: cut the connection.
	}
	c.edge.write(c, c.request, newProblem(codeInternal))
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
	c := callOf(r.Context())
	c.route = pattern
	if pattern == restRoute && c.aside {
		if p := g.newPoll(c, w, r); p != nil {
			c.later(p)
			return
		}
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

// recorder counts an answer for the access log, and completes its header when it
// begins.
type recorder struct {
	http.ResponseWriter
	id     string
	status int
	bytes  int64
}

// complete sets the id of the request and the headers that fit an API, unless the
// answer has its own: the page has. It happens late because thousands of requests
// wait before they answer.
func (o *recorder) complete() {
	h := o.Header()
	h.Set("X-Request-Id", o.id)
	for _, field := range [...]struct{ name, value string }{
		{"Cache-Control", "no-store"},
		{"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Referrer-Policy", "no-referrer"},
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
	} {
		if _, set := h[field.name]; !set {
			h.Set(field.name, field.value)
		}
	}
}

// WriteHeader notes the status.
func (o *recorder) WriteHeader(status int) {
	if o.status == 0 {
		o.status = status
		o.complete()
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (o *recorder) Write(b []byte) (int, error) {
	if o.status == 0 {
		o.status = http.StatusOK
		o.complete()
	}
	n, err := o.ResponseWriter.Write(b)
	o.bytes += int64(n)
	return n, err
}

// FlushError begins the answer, as every flush does.
func (o *recorder) FlushError() error {
	if o.status == 0 {
		o.status = http.StatusOK
		o.complete()
	}
	return http.NewResponseController(o.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (o *recorder) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// hold gives the answer of this request time: what the server grants any answer,
// plus d. The body was read before, so the deadline for reading is lifted: when it
// passed in a long poll it would look like a caller who went away.
func (g *Gateway) hold(ctx context.Context, d time.Duration) {
	c := callOf(ctx)
	if c.ResponseWriter == nil {
		return
	}
	// Unsupported by a test's recorder and by no server.
	conn := http.NewResponseController(c.ResponseWriter)
	_ = conn.SetReadDeadline(time.Time{})
	_ = conn.SetWriteDeadline(g.deps.Now().Add(g.cfg.Timeouts.Write + d))
}
