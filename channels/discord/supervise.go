package discord

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/internal/inorder"
	"github.com/saysohq/sayso/core"
)

// longestPause is the longest wait between failing calls or connections. A thousand
// new sessions a day are all that the platform allows; a connection that never works
// makes fewer with it.
const longestPause = 2 * time.Minute

// Bounds of what people do.
const (
	parallel   = 16    // Events that are worked on at once.
	maxWaiting = 1_000 // Events that wait or are worked on.
)

// Run implements channels.Channel. It returns nil when ctx ended, after what was
// under way did, and an auth error (*channels.Error) as soon as the token, or what the
// application may hear, is refused. Everything else it waits out.
func (c *Channel) Run(ctx context.Context, in channels.Inbound) error {
	if !c.running.CompareAndSwap(false, true) {
		return errAlreadyRuns
	}
	defer c.running.Store(false)
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := &session{ctx: work, in: in, queue: inorder.New(parallel, maxWaiting)}
	defer func() {
		late := time.AfterFunc(c.grace, cancel)
		defer late.Stop()
		s.queue.Wait()
	}()
	if err := c.insist(ctx, c.Check); err != nil || ctx.Err() != nil {
		return err
	}
	if c.key != nil {
		return c.serve(ctx, s)
	}
	return c.cfg.Turn.Take(ctx, func(ctx context.Context) error { return c.listen(ctx, s) })
}

// listen keeps a connection to the gateway until ctx ends. It asks whether the token
// still holds before every new session: a refused one must not be tried again and
// again.
func (c *Channel) listen(ctx context.Context, s *session) error {
	var gs gatewaySession
	for tries := 0; ctx.Err() == nil; {
		steady, err := c.connect(ctx, s, &gs)
		if ctx.Err() != nil {
			return nil
		}
		if steady {
			tries = 0
		}
		if stop := c.waitOut(ctx, asError(err), tries); stop != nil {
			return stop
		}
		tries++
		if gs.id == "" {
			if err := c.insist(ctx, c.Check); err != nil {
				return err
			}
		}
	}
	return nil
}

// insist repeats a step until it succeeds or ctx ends; an auth error ends it.
func (c *Channel) insist(ctx context.Context, step func(context.Context) error) error {
	for tries := 0; ctx.Err() == nil; tries++ {
		err := step(ctx)
		if err == nil {
			return nil
		}
		if stop := c.waitOut(ctx, asError(err), tries); stop != nil {
			return stop
		}
	}
	return nil
}

// waitOut pauses after a failure. It returns the error when no pause can help.
func (c *Channel) waitOut(ctx context.Context, e *channels.Error, tries int) error {
	if ctx.Err() != nil {
		return nil
	}
	c.log.LogAttrs(ctx, slog.LevelWarn, "cannot receive", slog.String("reason", e.Error()), slog.Int("tries", tries+1))
	if e.Class == core.FailureAuth {
		return e
	}
	wait := min(firstPause<<min(tries, 8), longestPause)
	if errors.Is(e, errReconnect) && tries == 0 {
		wait = firstPause / 10 // It is routine, and clicks are lost meanwhile.
	}
	wait += time.Duration(rand.Int64N(int64(wait)/4 + 1)) //nolint:gosec // Jitter, no secret.
	_ = c.cfg.Pause(ctx, max(wait, e.RetryAfter))         // An ended context ends the loop.
	return nil
}

// asError is err as a classified error; anything else is temporary.
func asError(err error) *channels.Error {
	if e, ok := errors.AsType[*channels.Error](err); ok {
		return e
	}
	return &channels.Error{Class: core.FailureTemporary, Op: opReceive, Detail: err.Error(), Err: err}
}
