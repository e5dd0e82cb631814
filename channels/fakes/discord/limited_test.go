package discord_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/discord"
)

func TestLimitsAreKept(t *testing.T) {
	t.Parallel()
	limits := fake.DocumentedLimits()
	limits.Account = fakes.Limit{Calls: 2, Per: time.Hour}
	s, err := fake.Start(fake.Config{Limits: limits})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.AddChannel(channel)
	s.AddThread(thread)
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	w := &world{Server: s, t: t, client: &http.Client{Transport: transport}}
	send := func(to string) (int, map[string]any) {
		return w.call("POST", "channels/"+to+"/messages", `{"content":"hello",`+nobody+`}`)
	}
	for range 2 {
		status, _ := send(channel)
		require.Equal(t, 200, status)
	}
	for range 2 {
		status, body := send(thread)
		require.Equal(t, 429, status)
		require.Equal(t, true, body["global"])
		require.InDelta(t, 3600, body["retry_after"], 60)
	}
	got := s.Traffic()
	require.Equal(t, 1, got.Refused)
}
