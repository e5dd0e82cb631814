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
// shows.
func (p *Pages) events(w http.ResponseWriter, r *http.Request) {
	c, err := p.caller(r)
	if errors.Is(err, core.ErrUnauthenticated) {
		w.WriteHeader(http.StatusUnauthorized) // The script reads the page again and learns why.
		return
	}
	if err != nil {
		p.unavailable(w, r, err)
		return
	}
	l, err := lookup(r.PathValue("id"))
	if err != nil {
		p.notFound(w, r, c)
		return
	}
	a, err := p.deps.Approvals.Get(r.Context(), c, l)
	if err != nil {
		p.fail(w, r, c, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // Some proxies hold small answers back.
	if r.Method == http.MethodHead {
		return
	}
	s := stream{w: w, rc: http.NewResponseController(w), now: p.deps.Now}
	// The request was read: a deadline for reading would look like a reader who left.
	if err := s.rc.SetReadDeadline(time.Time{}); err != nil {
		p.unavailable(w, r, err)
		return
	}
	s.send(eventHello)
	if a.Status.Terminal() {
		s.send(eventEnd)
		return
	}
	seen, err := strconv.ParseInt(r.URL.Query().Get("revision"), 10, 64)
	if err != nil || seen < 1 || seen > a.Revision {
		seen = a.Revision
	}
	p.follow(r, &s, l, seen)
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
		c, err := p.caller(r)
		if err == nil {
			_, err = p.deps.Approvals.Wait(ctx, c, approvals.WaitRequest{Lookup: l, Revision: seen, For: p.cfg.CheckEvery})
		}
		if ctx.Err() != nil {
			return
		}
		var a core.Approval
		if err == nil {
			if c, err = p.caller(r); err == nil {
				a, err = p.deps.Approvals.Get(ctx, c, l)
			}
		}
		switch {
		case err != nil, a.Status.Terminal():
			s.send(eventEnd)
			return
		case a.Revision > seen:
			seen = a.Revision
			s.send(eventChange)
		default:
			s.send(eventAlive)
		}
	}
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
