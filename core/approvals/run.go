package approvals

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

// sweepBatch bounds one sweep, so that a backlog never holds the writer for long.
const sweepBatch = 500

// upkeepJob names the lease of those that sweep and prune.
const upkeepJob = "approvals/upkeep"

// Run listens for hints and does what only time brings, until ctx ends. Several
// replicas run it at once; of them one sweeps and prunes at a time. Should two do so
// for a moment, every change of theirs is a guarded write all the same.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { s.keepUp(ctx) })
	wg.Go(func() { s.catchUp(ctx) })
	return s.deps.Hints.Subscribe(ctx, s.hear)
}

// keepUp does what only time brings, when it is this replica's turn.
func (s *Service) keepUp(ctx context.Context) {
	if s.deps.Jobs == nil {
		s.upkeep(ctx)
		return
	}
	// Without a fault it ends with ctx only.
	err := s.deps.Jobs.Hold(ctx, upkeepJob, func(ctx context.Context, _ core.Lease) error {
		s.upkeep(ctx)
		return nil
	})
	if err != nil {
		s.trouble(ctx, "upkeep", err)
	}
}

// upkeep sweeps and prunes until ctx ends.
func (s *Service) upkeep(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { s.every(ctx, s.cfg.SweepEvery, s.sweep) })
	wg.Go(func() { s.every(ctx, s.cfg.PruneEvery, s.prune) })
	wg.Wait()
}

func (s *Service) every(ctx context.Context, d time.Duration, do func(context.Context)) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// sweep applies what is due. It repeats while there is a full batch, so that a
// backlog after an outage drains at once.
func (s *Service) sweep(ctx context.Context) {
	for ctx.Err() == nil {
		hints, err := s.deps.Store.Sweep(ctx, sweepBatch)
		if err != nil {
			s.trouble(ctx, "sweep", err)
			return
		}
		s.publish(ctx, hints...)
		if len(hints) < sweepBatch {
			return
		}
	}
}

func (s *Service) prune(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := s.deps.Store.Prune(ctx, sweepBatch)
		if err != nil {
			s.trouble(ctx, "prune", err)
			return
		}
		if n < sweepBatch {
			return
		}
	}
}

func (s *Service) trouble(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		s.deps.Logger.LogAttrs(ctx, slog.LevelError, what+" did not finish: trying again", slog.Any("error", err))
	}
}
