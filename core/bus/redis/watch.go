package redis

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/saysohq/sayso/core"
)

// watch notices silence, and while hints are or may be lost it tells everybody to look
// at everything, at polling speed.
func (b *Bus) watch(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		b.look(ctx)
		select {
		case <-ctx.Done():
			b.down(ctx, nil)
			return
		case <-tick.C:
		}
	}
}

// look is one turn of watch.
func (b *Bus) look(ctx context.Context) {
	now := b.deps.Now()
	b.mu.Lock()
	silent := b.link.silent(now)
	var (
		end func()
		err = errSilent
	)
	if silent {
		end = b.link.cut()
		if b.mute != nil {
			err = fmt.Errorf("%w: publish: %w", errSilent, b.mute)
		}
	} else if b.link.up() {
		b.countPeers(now)
	}
	b.mu.Unlock()
	if silent {
		b.ended(ctx, end, err)
	}
	b.resync(ctx, now)
}

// countPeers needs the lock. A replica that has just come has not heard everybody yet.
func (b *Bus) countPeers(now time.Time) {
	present, missed := b.peers.look(now)
	b.link.suspicious = b.link.suspicious || missed
	if now.Sub(b.link.since) > patience {
		b.replicas.Store(int64(1 + present))
		b.deps.Metrics.present(1 + present)
	}
}

// resync tells everybody to look at everything, if there is reason to.
func (b *Bus) resync(ctx context.Context, now time.Time) {
	b.mu.Lock()
	due := b.link.due(now)
	b.mu.Unlock()
	if due {
		b.deps.Metrics.resynced()
		b.deps.Local.Publish(ctx, core.Hint{})
	}
}

// suspect says that hints may have been lost.
func (b *Bus) suspect(ctx context.Context) {
	b.mu.Lock()
	b.link.suspicious = true
	b.mu.Unlock()
	b.resync(ctx, b.deps.Now())
}

// down ends the subscription, if there is one.
func (b *Bus) down(ctx context.Context, err error) {
	b.mu.Lock()
	end := b.link.cut()
	b.mu.Unlock()
	b.ended(ctx, end, err)
}

// said records what became of the last message.
func (b *Bus) said(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mute = err
}

// ended follows a cut.
func (b *Bus) ended(ctx context.Context, end func(), err error) {
	b.connected.Store(false)
	b.deps.Metrics.link(false)
	b.trouble(ctx, err)
	if end != nil {
		end()
	}
}

// trouble logs that Redis is gone, once until it is back. A stop is no trouble.
func (b *Bus) trouble(ctx context.Context, err error) {
	b.mu.Lock()
	told := b.told
	b.told = told || ctx.Err() == nil && err != nil
	now := b.told
	b.mu.Unlock()
	if now && !told {
		b.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "redis lost: working at polling speed", slog.Any("error", err))
	}
}

// back follows the first beat on a subscription.
func (b *Bus) back(ctx context.Context) {
	b.mu.Lock()
	b.told = false
	b.mu.Unlock()
	b.connected.Store(true)
	b.deps.Metrics.link(true)
	b.deps.Logger.LogAttrs(ctx, slog.LevelInfo, "redis connected: hints are shared")
}
