package slack_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/channeltest"
	"github.com/saysohq/sayso/channels/slack"
)

// A fleet has four connections for an app, whoever keeps them: a third replica waits,
// and has the two of the first that stops.
func TestAFleetSharesItsSlots(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	slots := make(chan struct{}, slack.MaxSlots)
	turn := func(ctx context.Context, job func(context.Context) error) error {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-slots }()
		return job(ctx)
	}
	var stops []func()
	start := func() {
		ch := open(t, r.s, codec(t), func(c *slack.Config) { c.Turn = turn })
		ctx, cancel := context.WithCancel(r.ctx)
		done := make(chan error, 1)
		go func() { done <- ch.Run(ctx, new(channeltest.Inbox)) }()
		stops = append(stops, func() {
			cancel()
			require.NoError(t, <-done)
		})
	}
	start()
	require.NoError(t, r.s.AwaitConnections(r.ctx, slack.Connections))
	start()
	require.NoError(t, r.s.AwaitConnections(r.ctx, slack.MaxSlots))
	start()
	_, err := r.s.AwaitCalls(r.ctx, "auth.test", 3) // It is there, and may send and edit.
	require.NoError(t, err)
	for i := range 2 {
		stops[i]()
		// Six in all: each of the three replicas has had its two.
		_, err := r.s.AwaitCalls(r.ctx, "apps.connections.open", 3*slack.Connections)
		require.NoError(t, err)
	}
	require.NoError(t, r.s.AwaitConnections(r.ctx, slack.Connections))
	require.Len(t, r.s.Calls("apps.connections.open"), 3*slack.Connections, "nobody opened one without a slot")
	stops[2]()
	require.NoError(t, r.s.AwaitConnections(r.ctx, 0))
}
