package gateway

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// restRoute is the long poll of a caller that waits for an answer.
const restRoute = "GET /v1/approvals/{id}"

// mayRest reports whether a request may have to wait for minutes. It may take one
// for such that does not: that costs a goroutine.
func mayRest(r *http.Request) bool {
	return r.Method == http.MethodGet && (strings.Contains(r.URL.RawQuery, "wait=") || strings.HasSuffix(r.URL.Path, "/events"))
}

// rester is what waits for minutes, by the thousand. A goroutine keeps the stack
// that it once needed: rest does aside whatever needs more than a wait.
type rester interface{ rest() }

// later lets what rests begin when everything that stands between the server and
// this handler has returned, and its frames are gone. The handler must not do
// anything after it. Outside the chain it begins at once.
func (c *call) later(r rester) {
	if !c.aside {
		r.rest()
		return
	}
	c.rester = r
}

// poll is a long poll, which waits in front of the API's own machinery instead of
// within it.
type poll struct {
	call    *call
	ctx     context.Context //nolint:containedctx // The request's; it lives as long.
	request *approvals.WaitRequest
	w       http.ResponseWriter
	r       *http.Request
}

// newPoll admits a long poll; nil leaves the request to the operation: whatever is
// wrong with it, the operation finds as well and says so.
func (g *Gateway) newPoll(c *call, w http.ResponseWriter, r *http.Request) *poll {
	request, ok := restOf(r)
	if !ok || g.identify(r) != nil || g.throttle(nil, r) != nil {
		return nil
	}
	c.throttled = true
	g.hold(r.Context(), request.For)
	return &poll{call: c, ctx: r.Context(), request: request, w: w, r: r}
}

// rest waits, and keeps the record that it waited for with the call. The operation
// answers; it looks at the bearer again.
func (p *poll) rest() {
	a, err := p.call.edge.deps.Approvals.Await(p.ctx, &p.call.caller, p.request)
	if err == nil {
		p.call.rested = a
	}
	p.answer()
}

//go:noinline
func (p *poll) answer() {
	aside(func() {
		p.call.guard(func() {
			all := &whole{ResponseWriter: p.w}
			p.call.edge.mux.ServeHTTP(all, p.r)
			all.send()
		})
	})
}

// aside runs fn on a goroutine of its own and waits for it: what fn needs of stack
// for a moment is not kept by a caller that goes on to wait. A panic of fn is the
// caller's.
//
//go:noinline
func aside(fn func()) {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		fn()
	}()
	if v := <-done; v != nil {
		panic(v)
	}
}

// whole keeps an answer until it is complete and then sends it at once, so that the
// server has nothing left to write: on the connection's own goroutine that would
// take twice the stack of a wait, and a caller polls again on the same connection.
type whole struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader keeps the status.
func (a *whole) WriteHeader(status int) { a.status = status }

// Write keeps the body.
func (a *whole) Write(b []byte) (int, error) { return a.body.Write(b) }

// Unwrap lets http.ResponseController reach the connection.
func (a *whole) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// send sends it. Where that fails the caller is gone.
func (a *whole) send() {
	a.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	if a.status != 0 {
		a.ResponseWriter.WriteHeader(a.status)
	}
	if _, err := a.ResponseWriter.Write(a.body.Bytes()); err == nil {
		_ = http.NewResponseController(a.ResponseWriter).Flush()
	}
}

// restOf reads a request that waits; false leaves it to the operation.
func restOf(r *http.Request) (w *approvals.WaitRequest, ok bool) {
	w = new(approvals.WaitRequest)
	if r.URL.RawQuery == "" {
		return w, false
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return w, false
	}
	for name, given := range query {
		if len(given) != 1 || name != "wait" && name != "revision" {
			return w, false
		}
	}
	if w.For, err = waitOf(query.Get("wait")); err != nil || w.For <= 0 {
		return w, false
	}
	if seen := query.Get("revision"); seen != "" {
		if w.Revision, err = strconv.ParseInt(seen, 10, 64); err != nil || w.Revision < 0 {
			return w, false
		}
	}
	id, err := url.PathUnescape(path.Base(r.URL.EscapedPath()))
	if err != nil {
		return w, false
	}
	w.Lookup, err = lookup(id)
	return w, err == nil && !core.ValidRef(id)
}
