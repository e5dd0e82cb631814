package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// eventWrite bounds one write to a reader that does not read.
const eventWrite = 10 * time.Second

// The whole vocabulary of the stream. It carries no facts: whoever hears "change"
// reads the page again, with whatever right they have then.
const (
	eventHello  = "retry: 2000\nevent: alive\ndata:\n\n" // Also proves that no proxy holds the stream back.
	eventAlive  = "event: alive\ndata:\n\n"
	eventChange = "event: change\ndata:\n\n"
	eventEnd    = "event: end\ndata:\n\n" // A final answer, or a right that was lost.
)

// following is an open page that waits for changes. Thousands rest in it at once.
type following struct {
	*stream
	pages  *Pages
	r      *http.Request
	ctx    context.Context //nolint:containedctx // The request's; it lives as long.
	caller core.Caller
	wait   approvals.WaitRequest
	failed error // Of the last wait.
	over   bool  // There is nothing more to hear.
}

// events tells an open page to look again, starting from the revision that it
// shows.
func (p *Pages) events(w http.ResponseWriter, r *http.Request) {
	f := &following{stream: &stream{w: w, rc: http.NewResponseController(w), now: p.deps.Now}, pages: p, r: r, ctx: r.Context()}
	if f.open() {
		callOf(r.Context()).later(f)
	}
}

// open begins the stream; false when it has ended, or never was one.
func (f *following) open() bool {
	p, w, r := f.pages, f.w, f.r
	c, err := p.caller(r)
	if errors.Is(err, core.ErrUnauthenticated) {
		w.WriteHeader(http.StatusUnauthorized) // The script reads the page again and learns why.
		return false
	}
	if err != nil {
		p.unavailable(w, r, err)
		return false
	}
	l, err := lookup(r.PathValue("id"))
	if err != nil {
		p.notFound(w, r, c)
		return false
	}
	a, err := p.deps.Approvals.Get(r.Context(), c, l)
	if err != nil {
		p.fail(w, r, c, err)
		return false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // Some proxies hold small answers back.
	if r.Method == http.MethodHead {
		return false
	}
	// The request was read: a deadline for reading would look like a reader who left.
	if err := f.rc.SetReadDeadline(time.Time{}); err != nil {
		p.unavailable(w, r, err)
		return false
	}
	f.send(eventHello)
	if a.Status.Terminal() {
		f.send(eventEnd)
		return false
	}
	seen, err := strconv.ParseInt(r.URL.Query().Get("revision"), 10, 64)
	if err != nil || seen < 1 || seen > a.Revision {
		seen = a.Revision
	}
	f.caller, f.wait = c, approvals.WaitRequest{Lookup: l, Revision: seen, For: p.cfg.CheckEvery}
	return f.err == nil
}

// rest announces changes until the answer is final, the right is lost, the
// connection ends or the replica stops.
func (f *following) rest() {
	for !f.over {
		_, f.failed = f.pages.deps.Approvals.Await(f.ctx, &f.caller, &f.wait)
		aside(f.announce)
	}
}

// announce says what a wait has brought. Session and person are read anew for every
// turn, before anything is announced.
func (f *following) announce() {
	p, ctx, err := f.pages, f.ctx, f.failed
	select {
	case <-p.deps.Stopping:
		f.over = true
		return
	default:
	}
	if f.over = ctx.Err() != nil; f.over {
		return
	}
	var a core.Approval
	if err == nil {
		if f.caller, err = p.caller(f.r); err == nil {
			a, err = p.deps.Approvals.Get(ctx, f.caller, f.wait.Lookup)
		}
	}
	switch {
	case err != nil, a.Status.Terminal():
		f.send(eventEnd)
		f.over = true
	case a.Revision > f.wait.Revision:
		f.send(eventChange)
		f.wait.Revision = a.Revision
	default:
		f.send(eventAlive)
	}
	f.over = f.over || f.err != nil
}

// stream writes events, each with its own deadline, and remembers the first error.
type stream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	now func() time.Time
	err error
}

func (s *stream) send(text string) {
	if s.err != nil {
		return
	}
	if s.err = s.rc.SetWriteDeadline(s.now().Add(eventWrite)); s.err != nil {
		return
	}
	if _, s.err = io.WriteString(s.w, text); s.err != nil {
		s.err = fmt.Errorf("write event: %w", s.err)
		return
	}
	s.err = s.rc.Flush()
}
