package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

// SequenceJob is the name of the lease under which events are numbered.
const SequenceJob = "events/sequence"

// maxBatch is how many events one transaction numbers at most, so that it stays short.
const maxBatch = 1_000

// The pace of looking; see the story of the package.
const (
	shortest = 10 * time.Millisecond
	busy     = 50 * time.Millisecond
	idle     = time.Second
	calm     = time.Second // Without an event, until traffic counts as over.
)

// Deps are what the sequencer is made of.
type Deps struct {
	Sequence core.Sequence
	Hints    core.Subscriber
	Logger   *slog.Logger
}

// Sequencer numbers events. It has no state: all of it is in the store.
type Sequencer struct{ deps Deps }

// NewSequencer wires a sequencer; it starts nothing.
func NewSequencer(deps Deps) *Sequencer { return &Sequencer{deps: deps} }

// Run numbers events under the lease until ctx ends, and returns nil then; it is a
// leases.Job. Errors: core.ErrLeaseLost.
func (s *Sequencer) Run(ctx context.Context, l core.Lease) error {
	ctx, cancel := context.WithCancel(ctx)
	wake := make(chan struct{}, 1)
	var listening sync.WaitGroup
	listening.Go(func() { s.listen(ctx, wake) })
	defer listening.Wait()
	defer cancel()
	return s.work(ctx, l, wake)
}

// listen turns hints into wake-ups that collapse into one. A silent or broken bus costs
// a moment only.
func (s *Sequencer) listen(ctx context.Context, wake chan<- struct{}) {
	for ctx.Err() == nil {
		err := s.deps.Hints.Subscribe(ctx, func(core.Hint) {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
		if ctx.Err() != nil || !pause(ctx, idle) {
			return
		}
		s.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "hints lost: events are numbered at polling speed", slog.Any("error", err))
	}
}

func (s *Sequencer) work(ctx context.Context, l core.Lease, wake <-chan struct{}) error {
	failing := false
	quiet := calm // For how long nothing was found.
	for ctx.Err() == nil {
		n, err := s.deps.Sequence.NumberEvents(ctx, l, maxBatch)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, core.ErrLeaseLost):
			return fmt.Errorf("number events: %w", err)
		case err != nil:
			if !failing { // Once in a row.
				s.deps.Logger.LogAttrs(ctx, slog.LevelError, "events could not be numbered: trying again", slog.Any("error", err))
			}
			failing = true
			pause(ctx, idle)
			continue
		case n == maxBatch:
			continue
		case n > 0:
			quiet = 0
		}
		failing = false
		wait := busy
		if quiet >= calm {
			wait = idle
		}
		quiet += wait
		pause(ctx, shortest)
		await(ctx, wake, wait-shortest)
	}
	return nil
}

// await waits for a wake-up, for d at most.
func await(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-wake:
	case <-t.C:
	case <-ctx.Done():
	}
}

// pause waits for d. It reports false when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
