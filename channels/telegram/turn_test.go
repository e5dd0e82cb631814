package telegram_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/channels/telegram"
	"github.com/saysohq/sayso/core"
)

// polls counts the polls of one process.
type polls struct {
	http.RoundTripper
	n atomic.Int64
}

func (p *polls) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/getUpdates") {
		p.n.Add(1)
	}
	return p.RoundTripper.RoundTrip(r)
}

// A process that lost its turn finishes what it took and tells the platform nothing
// more: the next one polls, and an offset is its to move.
func TestALostTurnConfirmsNothing(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"lost": core.ErrLeaseLost, "asked to stop": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entered, release := make(chan struct{}), make(chan struct{})
			in := &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
				close(entered)
				<-release
				return channels.Answer{Text: "ok"}
			}}
			counted := &polls{RoundTripper: &http.Transport{}}
			before := make(chan int64, 1)
			r := setup(t, func(c *telegram.Config) {
				c.Transport = counted
				c.Turn = func(ctx context.Context, job func(context.Context) error) error {
					held, lose := context.WithCancelCause(ctx)
					go func() {
						<-entered
						lose(cause)
						before <- counted.n.Load()
						close(release)
					}()
					return job(held)
				}
			})
			press, err := r.s.Press(fake.Press{User: owner, Message: r.post(t, text(owner)), Label: "Deny"})
			require.NoError(t, err)
			require.NoError(t, r.ch.Run(r.ctx, in))
			reply, err := r.s.AwaitReply(r.ctx, press)
			require.NoError(t, err)
			require.Equal(t, "ok", reply.Text)
			if cause != nil {
				require.Equal(t, <-before, counted.n.Load())
				return
			}
			require.Equal(t, <-before+1, counted.n.Load())
			require.NoError(t, r.s.AwaitConfirmed(r.ctx))
		})
	}
}
