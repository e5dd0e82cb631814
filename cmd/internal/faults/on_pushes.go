//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/channels/fakes/discord"
	"github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/core"
)

// A town to which the messengers push has an https address, as messengers demand. The
// proxy before the fleet would end TLS; what carries it here is the loopback, unencrypted.
const (
	pushedURL   = "https://approve.example.com"
	pushedToken = "faults-webhook-token" //nolint:gosec // Between a fake and the service that it is told to.
)

// everythingPushed lets all messengers push what people do to the public address.
func everythingPushed(context.Context, *campaign) (needs, error) {
	return needs{pushed: true}, nil
}

// messengersClock is the time by which messengers sign what they push, and by which they
// give up waiting. Where they push nothing it stands still (nil): a busy machine is no fault.
func (t *town) messengersClock() *fakes.Clock {
	if !t.needs.pushed {
		return nil
	}
	clock, stop := fakes.NewClock(), make(chan struct{})
	clock.Advance(time.Since(clock.Now()))
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				clock.Advance(time.Since(clock.Now()))
			}
		}
	})
	t.later(func() error {
		close(stop)
		ticking.Wait()
		return nil
	})
	return clock
}

// public is the address that people and messengers know.
func (t *town) public() string {
	if t.needs.pushed {
		return pushedURL
	}
	return t.front.url()
}

// carrier takes requests for the public address to the front.
func (f *front) carrier() *http.Transport {
	toFront := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", f.listener.Addr().String())
	}
	return &http.Transport{DisableKeepAlives: true, DialContext: toFront, DialTLSContext: toFront}
}

// webhook is the address to which a messenger pushes.
func (t *town) webhook(on core.Surface, account string) string {
	return t.front.url() + "/webhooks/" + string(on) + "/" + account
}

// register tells the messengers where to push, as their consoles do; Telegram is told by
// the service. It returns once Discord's probe of the address was passed.
func (t *town) register(ctx context.Context) error {
	t.slack.PushTo(t.webhook(core.SurfaceSlack, slack.App))
	var refused error
	err := again(ctx, func() bool {
		refused = t.discord.SetEndpoint(t.webhook(core.SurfaceDiscord, discord.DefaultBotID))
		return refused == nil
	})
	_, told := t.telegram.AwaitCalls(ctx, "setWebhook", 1)
	if err := errors.Join(err, told); err != nil {
		return fmt.Errorf("let messengers push: %w", errors.Join(err, refused))
	}
	return nil
}

const (
	stoppedInOrder = "replicas stopped in good order"
	pushesTaken    = "pushes taken by replica "
)

// pushedTo kills and stops replicas by turns, while whatever people do is pushed to
// whichever is there.
func pushedTo(ctx context.Context, c *campaign) error {
	defer func() {
		for _, r := range c.town.replicas {
			c.count(pushesTaken+r.name, c.town.front.pushes(r.address))
		}
	}()
	for n := 0; c.during(ctx, time.Second, 3*time.Second); n++ {
		r := c.town.replicas[n/2%len(c.town.replicas)]
		if n%2 == 0 {
			r.kill()
			c.count(killedReplicas, 1)
		} else {
			if err := r.stop(); err != nil {
				return err
			}
			c.count(stoppedInOrder, 1)
		}
		_ = c.during(ctx, 0, time.Second) // However long it is away.
		if err := r.up(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return nil
}
