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
	a, err := s.Get(ctx, c, w.Lookup)
	if err != nil || w.For <= 0 || w.satisfied(&a) {
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
		if a, err = s.Get(ctx, c, w.Lookup); err != nil || w.satisfied(&a) {
			return a, err
		}
		pause, err := s.pause(ctx, &a)
		if err != nil {
			return a, err
		}
		reread.Reset(pause)
		select {
		case <-one.wake:
		case <-reread.C:
		case <-over.C:
			return s.Get(ctx, c, w.Lookup)
		case <-ctx.Done():
			return a, fmt.Errorf("wait for approval: %w", context.Cause(ctx))
		}
	}
}

// satisfied reports whether the caller has something new to look at.
func (w WaitRequest) satisfied(a *core.Approval) bool {
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
