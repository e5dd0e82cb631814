package deliveries

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/saysohq/sayso/core"
)

// Timing of a worker's presence. A worker that is killed is missed after presenceTerm,
// and whoever looks next, a second later at most, takes over what it had leased: 11 s
// in all, of the 15 s that are promised. Two renewals may fail before that.
const (
	presenceTerm   = 10 * time.Second
	presenceEvery  = 3 * time.Second
	takeoverEvery  = time.Second
	takeoverLimit  = 100             // Rows in one write.
	presenceUpdate = 5 * time.Second // Of one write.
	farewell       = 2 * time.Second // Of the last one: who does not say goodbye is missed all the same.
)

// PresenceStore is what a presence needs of the store.
type PresenceStore interface {
	// Acquire takes or renews the lease for the holder.
	Acquire(ctx context.Context, name, holder string, d time.Duration) (core.Lease, error)
	// Release gives it up.
	Release(ctx context.Context, l core.Lease) error
	core.Takeover
}

// PresenceDeps are what a presence is made of.
type PresenceDeps struct {
	Store     PresenceStore
	Publisher core.Publisher
	Logger    *slog.Logger
	Now       func() time.Time // Measures time that passes; the lease is by the store's clock.
}

// afterGap is how long a presence that had a gap takes over from nobody: what kept it
// from the store may have kept the others too, and they are only about to come back.
const afterGap = presenceUpdate + takeoverEvery

// Presence shows the other replicas of a fleet that a worker lives, and takes over from
// those that do not. A row's own lease must outlast the slowest call of a worker that
// lives (core.DeliveryLease); this is how nobody waits that long for one that is dead.
// Where one process holds the store nobody needs it: opening that frees all leases.
type Presence struct {
	worker string
	deps   PresenceDeps

	lease  core.Lease
	shown  atomic.Pointer[time.Time] // When the lease was last asked for with success; nil before.
	gap    time.Time                 // When a gap ended; zero for none yet.
	failed bool                      // The last try to show it failed.
}

// NewPresence wires the presence of the worker of that name; it starts nothing.
func NewPresence(worker string, deps PresenceDeps) *Presence {
	return &Presence{worker: worker, deps: deps}
}

// Alive reports whether the others still count on this worker. One that was paused, or
// kept from the store, for longer than they wait begins nothing any more, until it has
// shown itself again: its rows may be in other hands. Before it has shown itself for the
// first time it cannot be missed. It is safe for concurrent use.
func (p *Presence) Alive() bool {
	shown := p.shown.Load()
	return shown == nil || p.since(*shown) < presenceTerm-presenceTerm/10
}

// since is the time that has passed, by whichever clock says more: the monotonic one
// stands still while a machine is suspended.
func (p *Presence) since(t time.Time) time.Duration {
	now := p.deps.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// Run shows and looks until ctx ends, says goodbye and returns nil. It is to end after
// the worker, whose last calls are under its protection. Without the store it tries
// again for ever; what is missed then are rows that wait for their own leases.
func (p *Presence) Run(ctx context.Context) error {
	tick := time.NewTicker(takeoverEvery)
	defer tick.Stop()
	for {
		p.show(ctx)
		p.takeOver(ctx)
		select {
		case <-ctx.Done():
			p.leave(ctx)
			return nil
		case <-tick.C:
		}
	}
}

// show renews the lease when it is time. A worker that was missed meanwhile, because it
// was paused or the store was away, is simply there again: its rows had fences.
func (p *Presence) show(ctx context.Context) {
	before := p.shown.Load()
	if before != nil && p.since(*before) < presenceEvery {
		return
	}
	asked := p.deps.Now()
	limited, cancel := context.WithTimeout(ctx, presenceUpdate)
	defer cancel()
	lease, err := p.deps.Store.Acquire(limited, core.WorkerLease(p.worker), p.worker, presenceTerm)
	if err != nil {
		p.trouble(ctx, "show that this worker lives", err)
		return
	}
	if before != nil && p.since(*before) >= presenceTerm {
		p.gap = p.deps.Now()
	}
	p.lease, p.failed = lease, false
	p.shown.Store(&asked)
}

// takeOver frees what the gone have left. The hints wake the workers of all replicas.
func (p *Presence) takeOver(ctx context.Context) {
	if !p.Alive() || !p.gap.IsZero() && p.since(p.gap) < afterGap {
		return
	}
	for ctx.Err() == nil {
		hints, err := p.deps.Store.TakeOver(ctx, takeoverLimit)
		if len(hints) > 0 {
			p.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "a worker has gone: its cards were taken over", slog.Int("deliveries", len(hints)))
			p.deps.Publisher.Publish(ctx, hints...)
		}
		if err != nil {
			p.trouble(ctx, "take over deliveries", err)
		}
		if len(hints) < takeoverLimit || err != nil {
			return
		}
	}
}

// leave gives the lease up, so that whatever the worker has left is taken over at once.
func (p *Presence) leave(ctx context.Context) {
	if p.shown.Load() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := p.deps.Store.Release(ctx, p.lease); err != nil {
		p.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "this worker left without a word", slog.Any("error", err))
	}
}

// trouble reports the first of failures in a row.
func (p *Presence) trouble(ctx context.Context, what string, err error) {
	if ctx.Err() == nil && !p.failed {
		p.deps.Logger.LogAttrs(ctx, slog.LevelWarn, what+": trying again", slog.Any("error", err))
	}
	p.failed = true
}
