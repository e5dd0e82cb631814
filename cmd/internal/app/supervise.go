package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/cmd/internal/doctor"
	"github.com/saysohq/sayso/core"
)

// Pauses between two starts of what shall always run.
const (
	firstPause = time.Second
	longPause  = time.Minute
)

// supervise keeps a messenger receiving: whatever ends it (a refused token, a
// network, a panic) is logged once, waited for and tried again. A messenger that is
// down never takes the service with it.
func supervise(ctx context.Context, log *slog.Logger, c channels.Channel, in channels.Inbound, seen *doctor.Seen) error {
	ref := c.Ref()
	log = log.With("channel", ref.Channel, "account", ref.Account)
	run := func() error {
		seen.Receives(ref)
		return c.Run(ctx, in)
	}
	return again(ctx, run, func(err error, in time.Duration) {
		seen.Stopped(ref, err)
		log.LogAttrs(ctx, slog.LevelError, "messenger stopped receiving: trying again",
			slog.Duration("in", in), slog.Any("error", err))
	})
}

// again runs what ends with ctx alone, and after anything else that ended it, a panic
// too, tells so, pauses and runs it again. It returns nil.
func again(ctx context.Context, run func() error, ended func(err error, in time.Duration)) error {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		began := time.Now()
		err := contained(run)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > longPause { // It had worked: start over gently.
			pause = firstPause
		}
		var refused *channels.Error
		if errors.As(err, &refused) && refused.Class == core.FailureAuth {
			pause = longPause
		}
		ended(err, pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// contained turns a panic into an error that says where, and not what.
func contained(run func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic of type %T at %s", v, debug.Stack())
		}
	}()
	return run()
}
