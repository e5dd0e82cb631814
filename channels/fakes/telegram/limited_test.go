package telegram_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/channels/fakes/telegram"
)

func TestLimitsAreKept(t *testing.T) {
	t.Parallel()
	limits := telegram.DocumentedLimits()
	limits.Shared = fakes.Limit{Calls: 1, Per: 90 * time.Second}
	s := start(t, telegram.Config{Limits: limits})
	send := func(chat int64) answer {
		a, err := post(t, s, "sendMessage", "application/json", fmt.Sprintf(`{"chat_id":%d,"text":"hello"}`, chat))
		require.NoError(t, err)
		return a
	}
	require.True(t, send(group).OK)
	a := send(group)
	require.Equal(t, 429, a.Code)
	require.Equal(t, 90, a.Parameters.RetryAfter)
	require.True(t, send(person).OK, "another chat")
	require.Equal(t, 429, send(group).Code)
	got := s.Traffic()
	require.Equal(t, 1, got.Refused)
	require.Len(t, got.Requests, 4)
}
