package slack

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/internal/inorder"
	"github.com/saysohq/sayso/core"
)

// longestPause bounds the wait between failing calls, unless the platform asks for
// more.
const longestPause = 30 * time.Second

// Bounds of the work under way.
const (
	parallel   = 16  // Payloads worked on at once.
	maxWaiting = 512 // Payloads taken in; beyond it people are told to try again.
)

// Run implements channels.Channel. It returns nil when ctx ended, after the work under
// way did, and an auth error (*channels.Error) as soon as a token is refused or turns
// out to be another workspace's or app's. Everything else it waits out.
func (c *Channel) Run(ctx context.Context, in channels.Inbound) error {
	if !c.running.CompareAndSwap(false, true) {
		return errAlreadyRuns
	}
	defer c.running.Store(false)
	if err := c.insist(ctx, c.Check); err != nil || ctx.Err() != nil {
		return err
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := &session{c: c, ctx: work, in: in, queue: inorder.New(parallel, maxWaiting)}
	var fresh sync.WaitGroup
	receiving, stop := context.WithCancel(ctx)
	fresh.Go(func() { c.people.keepFresh(receiving) })
	c.cfg.Workspaces.enter(c.cfg.Team, s)
	err := c.receive(receiving, s)
	stop()
	fresh.Wait()
	c.cfg.Workspaces.leave(c.cfg.Team, s)
	late := time.AfterFunc(c.grace, cancel)
	defer late.Stop()
	s.queue.Wait()
	return err
}

func (c *Channel) receive(ctx context.Context, s *session) error {
	if c.cfg.SigningSecret != "" {
		return c.serve(ctx, s)
	}
	return c.connections(ctx, s)
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

// waitOut pauses after a failed call. It returns the error when no pause can help.
func (c *Channel) waitOut(ctx context.Context, e *channels.Error, tries int) error {
	if ctx.Err() != nil {
		return nil
	}
	c.log.LogAttrs(ctx, slog.LevelWarn, "cannot receive", slog.String("reason", e.Error()), slog.Int("tries", tries+1))
	if e.Class == core.FailureAuth {
		return e
	}
	c.backOff(ctx, tries, e.RetryAfter)
	return nil
}

// backOff waits longer with each try, and at least as long as the platform asked for.
func (c *Channel) backOff(ctx context.Context, tries int, least time.Duration) {
	wait := min(firstPause<<min(tries, 8), longestPause)
	wait += time.Duration(rand.Int64N(int64(wait)/4 + 1)) //nolint:gosec // Jitter, no secret.
	_ = c.cfg.Pause(ctx, max(wait, least))                // An ended context ends the caller's loop.
}
