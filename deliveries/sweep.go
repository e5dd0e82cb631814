package deliveries

import (
	"context"
	"errors"

	"github.com/saysohq/sayso/core"
)

const (
	// sweepLimit is the number of rows that one re-check may change.
	sweepLimit = 200
	// sweepLease names the job that one replica holds.
	sweepLease = "deliveries-sweep"
)

// sweep re-checks the level-triggered rule itself, for rows that no change marked
// due, and closes what the no-route rule demands.
func (w *Worker) sweep(ctx context.Context) {
	if !w.holdsSweep(ctx) {
		return
	}
	for ctx.Err() == nil {
		hints, err := w.deps.Convergence.SweepDeliveries(ctx, w.reach, sweepLimit)
		if err != nil {
			w.storeFailed(ctx, "sweep deliveries", err)
			return
		}
		if len(hints) == 0 {
			return
		}
		w.deps.Metrics.swept(len(hints))
		w.deps.Publisher.Publish(ctx, hints...)
		w.lookAgain()
		if len(hints) < sweepLimit {
			return
		}
	}
}

func (w *Worker) holdsSweep(ctx context.Context) bool {
	if w.deps.Leases == nil {
		return true
	}
	_, err := w.deps.Leases.Acquire(ctx, sweepLease, w.cfg.Name, 2*w.cfg.SweepEvery)
	if err != nil && !errors.Is(err, core.ErrLeaseLost) {
		w.storeFailed(ctx, "acquire sweep", err)
	}
	return err == nil
}

// watch reads what operators see: how many messages do not show the record, for
// how long the oldest has not, and which routes are broken.
func (w *Worker) watch(ctx context.Context) {
	count, oldest, err := w.deps.Convergence.Unconverged(ctx)
	if err != nil {
		w.storeFailed(ctx, "count unconverged deliveries", err)
		return
	}
	w.deps.Metrics.unconvergedNow(count, oldest)
	w.watchBroken(ctx)
}
