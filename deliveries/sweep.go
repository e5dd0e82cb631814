package deliveries

import (
	"context"

	"github.com/saysohq/sayso/core"
)

const (
	// sweepLimit is the number of rows that one re-check may change.
	sweepLimit = 200
	// sweepJob names the lease of those that sweep.
	sweepJob = "deliveries/sweep"
)

// keepSweeping sweeps when it is this replica's turn. Should two do so for a moment,
// every change of theirs is a guarded write all the same.
func (w *Worker) keepSweeping(ctx context.Context) error {
	if w.deps.Jobs == nil {
		return w.every(ctx, w.cfg.SweepEvery, w.sweep)
	}
	return w.deps.Jobs.Hold(ctx, sweepJob, func(ctx context.Context, _ core.Lease) error {
		return w.every(ctx, w.cfg.SweepEvery, w.sweep)
	})
}

// sweep re-checks the level-triggered rule itself, for rows that no change marked
// due, and closes what the no-route rule demands.
func (w *Worker) sweep(ctx context.Context) {
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
