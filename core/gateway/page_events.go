package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// checkEvery is how often a quiet stream checks session and authority again; it
// also keeps proxies from closing it.
const checkEvery = 30 * time.Second

// eventWrite bounds one write to a reader that does not read.
const eventWrite = 10 * time.Second

// events tells an open page to look again. It carries no facts: "change" means
// that the record differs from what was last announced, "end" that nothing more
// will come, be it a final answer or a right that was lost.
func (p *Pages) events(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok {
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
	// The body was read: a deadline for reading would look like a reader who left.
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
		p.unavailable(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // Some proxies hold small answers back.
	s := stream{w: w, rc: http.NewResponseController(w), now: p.deps.Now}
	s.send("retry: 2000\n\n")
	if a.Status.Terminal() {
		s.send("event: end\ndata:\n\n")
		return
	}
	p.follow(r, &s, l, a.Revision)
}

// follow announces changes until the answer is final, the right is lost or the
// connection ends. Session and person are read anew for every turn.
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
	for s.err == nil && ctx.Err() == nil {
		c, err := p.caller(r)
		if err != nil {
			s.send("event: end\ndata:\n\n")
			return
		}
		a, err := p.deps.Approvals.Wait(ctx, c, approvals.WaitRequest{Lookup: l, Revision: seen, For: checkEvery})
		switch {
		case err != nil && ctx.Err() != nil:
			return
		case err != nil, a.Status.Terminal():
			s.send("event: change\ndata:\n\n")
			s.send("event: end\ndata:\n\n")
			return
		case a.Revision > seen:
			seen = a.Revision
			s.send("event: change\ndata:\n\n")
		default:
			s.send(": still here\n\n")
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
