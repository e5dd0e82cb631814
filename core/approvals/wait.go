package approvals

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/saysohq/sayso/core"
)

// Wait returns the approval as soon as it differs from what the caller saw, and
// as it is when the time is over. It registers, then reads, then waits; a wake-up
// only means "read again", and without any wake-up it still reads at the deadline
// and every RereadEvery.
//
// Errors: ErrNotFound (also when the caller loses the right meanwhile),
// ErrForbidden, the context's error.
func (s *Service) Wait(ctx context.Context, c core.Caller, w WaitRequest) (core.Approval, error) {
	a, err := s.Await(ctx, &c, &w)
	if err != nil {
		return core.Approval{}, err
	}
	return *a, nil
}

// Await is Wait for callers who come by the thousand. A goroutine keeps the stack
// that it once needed, and whoever waits rests for a minute on what was needed for
// microseconds: so all work is done aside, the record is handed out by reference,
// and of the caller's stack the wait takes a few hundred bytes. It keeps c and w
// until it returns.
func (s *Service) Await(ctx context.Context, c *core.Caller, w *WaitRequest) (*core.Approval, error) {
	p := s.begin(ctx, c, w)
	for !p.look() {
		<-p.wake
	}
	return p.a, p.err
}

// Release answers everybody who waits with the record as it is, now and from now
// on: a replica that stops holds nobody back. A wait decides nothing, so nothing is
// lost with it.
func (s *Service) Release() {
	s.released.Store(true)
	s.waiters.look(core.Hint{})
}

// wait is one call of Await. Whatever may end its rest (a hint, the clock, the end
// of the context, a release) comes through one channel and is found by the look
// that follows: receiving from one channel takes half the stack of a select.
type wait struct {
	waiter
	service *Service
	ctx     context.Context //nolint:containedctx // It lives as long as the call.
	caller  *core.Caller
	request *WaitRequest

	registered string // The id under which it is registered; "" for none yet.
	timer      *time.Timer
	rung       atomic.Bool   // The timer has fired since it was last set.
	pause      time.Duration // What the timer was set to.
	left       time.Duration // Of the wait, when the timer was last set.
	unwatch    func() bool   // Ends the watch for the end of the context.

	a   *core.Approval
	err error
}

//go:noinline
func (s *Service) begin(ctx context.Context, c *core.Caller, r *WaitRequest) *wait {
	return &wait{
		waiter: waiter{wake: make(chan struct{}, 1)}, service: s, ctx: ctx, caller: c, request: r, left: min(r.For, MaxWait),
	}
}

// look reads the record on a goroutine of its own, and reports whether the wait is
// over. A panic is the caller's.
func (p *wait) look() (over bool) {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		over = true // Also of a panic: nothing is left behind.
		defer func() {
			if over {
				p.end()
			}
		}()
		over = p.turn()
	}()
	if v := <-done; v != nil {
		panic(v)
	}
	return over
}

// turn reads the record, once what is to be waited for is registered: whatever
// commits after this read wakes us (R2).
func (p *wait) turn() (over bool) {
	if p.ctx.Err() != nil {
		p.err = fmt.Errorf("wait for approval: %w", context.Cause(p.ctx))
		return true
	}
	if p.rung.Swap(false) {
		p.left -= p.pause
		p.pause = 0
	}
	last := p.left <= 0 || p.service.released.Load()  // Known before the read that then counts.
	if id := p.request.Lookup.ID; !last && id != "" { // Else it is asked for by its reference.
		p.register(id)
	}
	if p.a, p.err = p.read(); p.err != nil || last || p.request.satisfied(p.a) {
		return true
	}
	if p.registered != p.a.ID { // Nothing was registered before that read.
		p.register(p.a.ID)
		if p.a, p.err = p.read(); p.err != nil || p.request.satisfied(p.a) {
			return true
		}
	}
	p.seen.Store(p.a.Revision)
	p.err = p.arm()
	p.a = nil // What is read again need not be kept meanwhile.
	return p.err != nil
}

// read reads with the rights that the caller has now.
func (p *wait) read() (*core.Approval, error) {
	if err := p.service.readable(p.ctx, *p.caller); err != nil {
		return nil, err
	}
	return p.service.look(p.ctx, *p.caller, p.request.Lookup)
}

func (p *wait) register(id string) {
	if p.registered == id {
		return
	}
	if p.registered != "" {
		p.service.waiters.forget(p.registered, &p.waiter)
	}
	p.registered = id
	p.service.waiters.register(id, &p.waiter)
}

// arm sets the timer for the next look without a hint, and the watch over the
// context. A timer that is set already stays: it fires no later.
func (p *wait) arm() error {
	if p.pause > 0 {
		return nil
	}
	pause, err := p.service.pause(p.ctx, p.a)
	if err != nil {
		return err
	}
	p.pause = min(pause, p.left)
	if p.timer == nil {
		p.timer = time.AfterFunc(p.pause, p.ring)
		p.unwatch = context.AfterFunc(p.ctx, p.poke)
		return nil
	}
	p.timer.Reset(p.pause)
	return nil
}

func (p *wait) ring() {
	p.rung.Store(true)
	p.poke()
}

// end leaves nothing behind.
func (p *wait) end() {
	if p.registered != "" {
		p.service.waiters.forget(p.registered, &p.waiter)
	}
	if p.timer != nil {
		p.timer.Stop()
		p.unwatch()
	}
}

// satisfied reports whether the caller has something new to look at.
func (w *WaitRequest) satisfied(a *core.Approval) bool {
	if w.Terminal {
		return a.Status.Terminal()
	}
	return a.Status.Terminal() && w.Revision == 0 || w.Revision > 0 && a.Revision > w.Revision
}

// pause is how long a waiter may rest without a hint: until the deadline at the
// latest, so that it reports the expiry when it happens. The process clock only
// arms the timer; the read that follows decides.
func (s *Service) pause(ctx context.Context, a *core.Approval) (time.Duration, error) {
	if a.Status.Terminal() {
		return s.cfg.RereadEvery, nil
	}
	now, err := s.deps.Store.Now(ctx)
	if err != nil {
		return 0, fmt.Errorf("read clock: %w", err)
	}
	return min(s.cfg.RereadEvery, max(a.ExpiresAt.Sub(now), time.Millisecond)), nil
}
