package slack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/channels/fakes/slack"
)

func TestLimitsAreKept(t *testing.T) {
	t.Parallel()
	limits := slack.DocumentedLimits()
	limits.Edits = fakes.Limit{Calls: 1, Per: 90 * time.Second}
	s, err := slack.Start(slack.Config{Limits: limits})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.AddUser(slack.User{ID: olga, Name: "olga"})
	s.AddChannel(channel)
	send := func(method, body string) (answered, int) {
		return post(t, s, method, slack.BotToken, "application/json", body)
	}
	var last answered
	for range 3 {
		var status int
		last, status = send("chat.postMessage", `{"channel":"`+channel+`","text":"hello","parse":"none","unfurl_links":false,"unfurl_media":false}`)
		require.Equal(t, 200, status, "posts have another limit")
	}
	edit := `{"channel":"` + channel + `","ts":"` + last.TS + `","text":"bye","parse":"none"}`
	_, status := send("chat.update", edit)
	require.Equal(t, 200, status)
	refused, status := send("chat.update", edit)
	require.Equal(t, 429, status)
	require.Equal(t, "ratelimited", refused.Error)
	got := s.Traffic()
	require.Equal(t, 1, got.Refused)
	require.Equal(t, 0, got.Early)
	require.Len(t, got.Requests, 5)
	require.Empty(t, s.Violations.List())
}
