package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/saysohq/sayso/core"
)

// A shared record outlives the data folders of its replicas: a container that comes
// without one makes a token at each start, which nobody holds once it is gone. So a
// token lives there for localLife without its replica, which renews it every
// localRenewal.
const (
	localLife    = 30 * 24 * time.Hour
	localRenewal = 24 * time.Hour
)

// ensureLocalToken makes the token in the folder good, or a new one.
func (p *parts) ensureLocalToken(ctx context.Context, folder string) error {
	bearer, err := localToken(folder)
	if err != nil {
		return err
	}
	var life time.Duration // An embedded record goes with its folder.
	if p.store.shared {
		life = localLife
	}
	if _, err := p.people.EnsureLocalToken(ctx, bearer, life); err != nil && !errors.Is(err, core.ErrForbidden) {
		return fmt.Errorf("local token: %w", err)
	} // Forbidden: somebody revoked it. That stands until the file is removed.
	return nil
}

// keepLocalToken renews the token until ctx ends. What fails is tried again the next day.
func (p *parts) keepLocalToken(ctx context.Context, o Options) {
	if !p.store.shared {
		return
	}
	each(ctx, localRenewal, func() {
		if err := p.ensureLocalToken(ctx, o.Config.Data); err != nil && ctx.Err() == nil {
			o.Logger.LogAttrs(ctx, slog.LevelWarn, "the local token was not renewed", slog.Any("error", err))
		}
	})
}

// each calls do once per interval until ctx ends.
func each(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}
