package app

import (
	"context"
	"fmt"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/bus/redis"
	"github.com/saysohq/sayso/deliveries"
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

// connect makes the configured bus and pacer: those of the only process there is, of
// replicas that cannot hear each other, or of a fleet with Redis. It connects nowhere.
func (b *builder) connect(ctx context.Context) error {
	switch {
	case !b.store.shared:
		b.bus, b.pacer = alone{local.New()}, deliveries.NewLocalPacer(b.budgets(), b.Now)
		return nil
	case b.Config.Redis.URL == "":
		b.bus = polled{Bus: local.New(), every: pollEvery}
		b.pacer = deliveries.NewSharedPacer(b.budgets(), divided{b.Config.Replicas}, b.Now)
		return nil
	}
	made, err := b.openRedis(ctx)
	if err != nil {
		return err
	}
	b.bus, b.pacer = made, deliveries.NewSharedPacer(b.budgets(), made.Budgets(), b.Now)
	return nil
}

func (b *builder) openRedis(ctx context.Context) (*redis.Bus, error) {
	deployment, err := b.store.Deployment(ctx)
	if err != nil {
		return nil, fmt.Errorf("read deployment: %w", err)
	}
	metrics, err := redis.NewMetrics(b.registry)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	redis.QuietLibrary()
	made, err := redis.New(redis.Config{
		URL: b.Config.Redis.URL.Reveal(), Prefix: b.Config.Redis.Prefix, Deployment: deployment.ID, Replicas: b.Config.Replicas,
	}, redis.Deps{Local: local.New(), Metrics: metrics, Logger: b.Logger.With("part", "bus"), Now: b.Now})
	if err != nil {
		return nil, fmt.Errorf("build bus: %w", err)
	}
	return made, nil
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

// divided are the budgets of replicas that share nothing: each takes its part.
type divided struct{ replicas int }

// Take implements core.Budgets.
func (divided) Take(context.Context, core.BudgetCall) (core.BudgetAnswer, error) {
	return core.BudgetAnswer{}, core.ErrUnavailable
}

// Hold implements core.Budgets. The store has the lasting copy, which the others obey.
func (divided) Hold(context.Context, string, time.Duration) {}

// Replicas implements core.Budgets.
func (d divided) Replicas() int { return d.replicas }
