package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/presentation"
)

// A settled card counts as edited whatever it offers below its outcome, and a card that
// still asks does not.
func TestSettledCardsAreSeenEdited(t *testing.T) {
	t.Parallel()
	s, err := telegram.Start(telegram.Config{})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	m := messenger{s}
	m.Open(7)
	call := func(method string, form url.Values) {
		resp, err := http.PostForm(s.URL()+"/bot"+s.Token()+"/"+method, form)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode, method)
	}
	with := func(label string) string {
		return `{"inline_keyboard":[[{"text":"` + label + `","callback_data":"x"}]]}`
	}
	labels := append([]string{"Deny"}, presentation.OutcomeLabels()...)
	for range labels {
		call("sendMessage", url.Values{"chat_id": {"7"}, "text": {"a question"}, "reply_markup": {with("Deny")}})
	}
	messages := s.Messages()
	for i, message := range messages {
		_, id, _ := strings.Cut(message.Locator, ":")
		call("editMessageText", url.Values{"chat_id": {"7"}, "message_id": {id}, "text": {"an outcome"}, "reply_markup": {with(labels[i])}})
	}
	seen := 0
	require.NoError(t, m.WatchEdits(t.Context(), func(message string, at time.Time) bool {
		require.NotEqual(t, messages[0].Locator, message, "it still asks")
		require.False(t, at.IsZero())
		seen++
		return seen == len(presentation.OutcomeLabels())
	}))
}
