package leases

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

// held is the context of a job: it ends with its parent, and before the lease can have
// run out.
type held struct {
	context.Context //nolint:containedctx // This is one.

	lease  core.Lease
	cancel context.CancelCauseFunc
	now    func() time.Time
	safe   time.Duration // For which the holder may rely on it, from the sending of the call.
	every  time.Duration // Between two looks at the clocks.

	mu    sync.Mutex
	sent  time.Time // Of the last call that took or renewed the lease.
	gone  bool      // The lease was lost, or may have been.
	ended bool      // The job has returned.
	timer *time.Timer
}

func newHeld(ctx context.Context, l core.Lease, sent time.Time, term time.Duration, now func() time.Time) *held {
	h := &held{lease: l, now: now, safe: term - term/10, every: term / 10, sent: sent}
	h.Context, h.cancel = context.WithCancelCause(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(h.every, h.look)
	return h
}

// Err implements context.Context. It looks at the clocks, so that a job which asks
// before each step does not depend on when a timer gets its turn.
func (h *held) Err() error {
	if h.lost() {
		return context.Canceled
	}
	return h.Context.Err()
}

// look ends the context when its time has come, and looks again otherwise.
func (h *held) look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended && !h.over() {
		h.timer.Reset(max(min(h.every, h.safe-h.elapsed()), time.Millisecond))
	}
}

// lost reports whether somebody else may hold the lease by now.
func (h *held) lost() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over()
}

// over is lost, for those who have locked h.
func (h *held) over() bool {
	if !h.gone && h.elapsed() >= h.safe {
		h.drop()
	}
	return h.gone
}

// elapsed is the time since the lease was asked for, by whichever clock says more.
func (h *held) elapsed() time.Duration {
	now := h.now()
	return max(now.Sub(h.sent), now.Round(0).Sub(h.sent.Round(0)))
}

// renewed notes a renewal that was sent at that time. A lease that was given up for
// lost is not found again: the job has been told.
func (h *held) renewed(sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.gone {
		h.sent = sent
	}
}

// lose ends the context because the lease is gone.
func (h *held) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
}

// drop is lose, for those who have locked h: whoever is told so by Err finds Done
// closed as well.
func (h *held) drop() {
	h.gone = true
	h.timer.Stop()
	h.cancel(core.ErrLeaseLost)
}

// end ends the context because the job has.
func (h *held) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	h.timer.Stop()
	h.cancel(errEnded)
}

var errEnded = errors.New("the job has ended")
