package app

import (
	"context"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/local"
)

// bus carries hints within this process and, where there are others, between them.
type bus interface {
	core.Publisher
	core.Subscriber
	// Run does the bus's own work until ctx ends.
	Run(ctx context.Context) error
}

// pollEvery is how often a replica that nobody can tell anything looks again: what
// another one decided is known here within it.
const pollEvery = time.Second

// openBus makes the configured bus; it starts nothing.
func openBus(o *Options) bus {
	if o.Config.Shared() {
		return polled{Bus: local.New(), every: pollEvery}
	}
	return alone{local.New()}
}

// alone is the bus of the only process there is.
type alone struct{ *local.Bus }

// Run implements bus.
func (alone) Run(ctx context.Context) error { return untilDone(ctx) }

// polled is the bus of replicas that cannot hear each other. What happens here is told
// here at once; for what happens elsewhere everybody is told again and again to look at
// everything.
type polled struct {
	*local.Bus
	every time.Duration
}

// Run implements bus.
func (p polled) Run(ctx context.Context) error {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			p.Publish(ctx, core.Hint{})
		}
	}
}
