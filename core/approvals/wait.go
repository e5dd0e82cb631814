package approvals

import (
	"context"
	"fmt"
	"time"

	"github.com/saysohq/sayso/core"
)

// Wait returns the approval as soon as it differs from what the caller saw, and
// as it is when the time is over. It registers, then reads, then waits; a wake-up
// only means "read again", and without any wake-up it still reads at the deadline
// and every RereadEvery. It holds nothing but a channel and a timer.
//
// Errors: ErrNotFound (also when the caller loses the right meanwhile),
// ErrForbidden, the context's error.
func (s *Service) Wait(ctx context.Context, c core.Caller, w WaitRequest) (core.Approval, error) {
	a, err := s.wait(ctx, c, &w)
	if err != nil {
		return core.Approval{}, err
	}
	return *a, nil
}

// wait is Wait with small frames: ten thousand callers rest in it at once.
func (s *Service) wait(ctx context.Context, c core.Caller, w *WaitRequest) (*core.Approval, error) {
	if err := s.readable(ctx, c); err != nil {
		return nil, err
	}
	if w.For <= 0 {
		return s.look(ctx, c, w.Lookup)
	}
	a, err := s.lookAside(ctx, c, w.Lookup)
	if err != nil || w.satisfied(a) {
		return a, err
	}
	one, forget := s.waiters.register(a.ID)
	defer forget()
	over := time.NewTimer(min(w.For, MaxWait))
	defer over.Stop()
	reread := time.NewTimer(0)
	defer reread.Stop()
	<-reread.C
	for {
		// The registration stands: whatever commits after this read wakes us.
		if a, err = s.again(ctx, c, w); err != nil || w.satisfied(a) {
			return a, err
		}
		pause, err := s.pause(ctx, a)
		if err != nil {
			return nil, err
		}
		a = nil // What is read again need not be kept meanwhile.
		reread.Reset(pause)
		select {
		case <-one.wake:
		case <-reread.C:
		case <-over.C:
			return s.again(ctx, c, w)
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for approval: %w", context.Cause(ctx))
		}
	}
}

// again reads for somebody who waits, with the rights that they have now.
func (s *Service) again(ctx context.Context, c core.Caller, w *WaitRequest) (*core.Approval, error) {
	if err := s.readable(ctx, c); err != nil {
		return nil, err
	}
	return s.lookAside(ctx, c, w.Lookup)
}

// lookAside is look on a goroutine of its own. A goroutine keeps the stack that it
// once needed, and whoever waits rests for a minute on what a read needed for
// microseconds.
func (s *Service) lookAside(ctx context.Context, c core.Caller, l core.Lookup) (*core.Approval, error) {
	var found struct {
		a        *core.Approval
		err      error
		panicked any
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { found.panicked = recover() }()
		found.a, found.err = s.look(ctx, c, l)
	}()
	<-done
	if found.panicked != nil {
		panic(found.panicked) // It is its caller's.
	}
	return found.a, found.err
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
