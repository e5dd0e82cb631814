package gateway

import (
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

// later runs fn when everything that stands between the server and this handler has
// returned, and its frames are gone: a goroutine keeps the stack that it once
// needed, and thousands wait at a time. The handler must not do anything after it.
// Outside the chain fn runs at once.
func (c *call) later(fn func()) {
	if !c.aside {
		fn()
		return
	}
	c.rest = fn
}

// rest lets a long poll wait in front of the API's own machinery instead of within
// it, and keeps the record that it waited for with the call; false leaves the
// request to the operation.
//
// It answers nothing: whatever is wrong with the request, the operation behind it
// finds as well and says so. The bearer is looked at again after the wait.
func (g *Gateway) rest(c *call, w http.ResponseWriter, r *http.Request) bool {
	request, ok := restOf(r)
	if !ok || g.identify(r) != nil || g.throttle(nil, r) != nil {
		return false
	}
	c.throttled = true
	g.hold(r.Context(), request.For)
	answer := func() {
		aside(func() { c.guard(func() { g.mux.ServeHTTP(w, r) }) })
	}
	ctx := r.Context()
	c.later(func() {
		if a, err := g.deps.Approvals.Await(ctx, &c.caller, request); err == nil {
			c.rested = a
		}
		answer()
	})
	return true
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
