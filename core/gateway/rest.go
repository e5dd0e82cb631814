package gateway

import (
	"net/http"
	"net/url"
	"path"
	"strconv"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// restRoute is the long poll of a caller that waits for an answer.
const restRoute = "GET /v1/approvals/{id}"

// rest lets a long poll wait in front of the API's own machinery instead of within
// it, and keeps the record that it waited for with the call. A goroutine keeps the
// stack that it once needed, and thousands wait at a time: here they need a
// quarter of it.
//
// It answers nothing: whatever is wrong with the request, the operation behind it
// finds as well and says so. The bearer is looked at again after the wait.
func (g *Gateway) rest(r *http.Request) {
	w := g.admitRest(r)
	if w == nil {
		return
	}
	c := callOf(r.Context())
	if a, err := g.wait(r.Context(), c.caller, w); err == nil {
		c.rested = a
	}
}

// admitRest is what a long poll passes before it waits; nil leaves it to the
// operation.
func (g *Gateway) admitRest(r *http.Request) (rest *approvals.WaitRequest) {
	aside(func() {
		w, ok := restOf(r)
		if !ok || g.identify(r) != nil || g.throttle(nil, r) != nil {
			return
		}
		callOf(r.Context()).throttled = true
		rest = &w
	})
	return rest
}

// aside runs fn on a goroutine of its own and waits for it: what fn needs of stack
// for a moment is not kept by a caller that goes on to wait. A panic of fn is the
// caller's.
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
func restOf(r *http.Request) (w approvals.WaitRequest, ok bool) {
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
