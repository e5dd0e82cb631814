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

// events tells an open page to look again, starting from the revision that it
// shows. Thousands of pages rest here at once: all that needs stack runs aside.
func (p *Pages) events(w http.ResponseWriter, r *http.Request) {
	s := &stream{w: w, rc: http.NewResponseController(w), now: p.deps.Now}
	var l core.Lookup
	var seen int64
	aside(func() { l, seen = p.openStream(s, r) })
	if seen > 0 {
		p.follow(r, s, l, seen)
	}
}

// openStream begins the stream and returns from where it goes on; 0 when it has
// ended, or never was one.
func (p *Pages) openStream(s *stream, r *http.Request) (l core.Lookup, seen int64) {
	w := s.w
	c, err := p.caller(r)
	if errors.Is(err, core.ErrUnauthenticated) {
		w.WriteHeader(http.StatusUnauthorized) // The script reads the page again and learns why.
		return l, 0
	}
	if err != nil {
		p.unavailable(w, r, err)
		return l, 0
	}
	if l, err = lookup(r.PathValue("id")); err != nil {
		p.notFound(w, r, c)
		return l, 0
	}
	a, err := p.deps.Approvals.Get(r.Context(), c, l)
	if err != nil {
		p.fail(w, r, c, err)
		return l, 0
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // Some proxies hold small answers back.
	if r.Method == http.MethodHead {
		return l, 0
	}
	// The request was read: a deadline for reading would look like a reader who left.
	if err := s.rc.SetReadDeadline(time.Time{}); err != nil {
		p.unavailable(w, r, err)
		return l, 0
	}
	s.send(eventHello)
	if a.Status.Terminal() {
		s.send(eventEnd)
		return l, 0
	}
	seen, err = strconv.ParseInt(r.URL.Query().Get("revision"), 10, 64)
	if err != nil || seen < 1 || seen > a.Revision {
		seen = a.Revision
	}
	return l, seen
}

// follow announces changes until the answer is final, the right is lost or the
// connection ends. Session and person are read anew for every turn, and once more
// before anything is announced.
func (p *Pages) follow(r *http.Request, s *stream, l core.Lookup, seen int64) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-p.deps.Stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	for s.err == nil {
		err := p.await(ctx, r, approvals.WaitRequest{Lookup: l, Revision: seen, For: p.cfg.CheckEvery})
		if ctx.Err() != nil {
			return
		}
		aside(func() { seen = p.announce(ctx, s, r, l, seen, err) })
		if seen == 0 {
			return
		}
	}
}

// await waits with the right that the reader has now.
//
//go:noinline
func (p *Pages) await(ctx context.Context, r *http.Request, w approvals.WaitRequest) error {
	c, err := p.caller(r)
	if err == nil {
		_, err = p.deps.Approvals.Wait(ctx, c, w)
	}
	return err
}

// announce says what a wait has brought, and returns the revision that the reader
// has heard of; 0 when there is nothing more to hear.
func (p *Pages) announce(ctx context.Context, s *stream, r *http.Request, l core.Lookup, seen int64, err error) int64 {
	var a core.Approval
	if err == nil {
		var c core.Caller
		if c, err = p.caller(r); err == nil {
			a, err = p.deps.Approvals.Get(ctx, c, l)
		}
	}
	switch {
	case err != nil, a.Status.Terminal():
		s.send(eventEnd)
		return 0
	case a.Revision > seen:
		s.send(eventChange)
		return a.Revision
	}
	s.send(eventAlive)
	return seen
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
