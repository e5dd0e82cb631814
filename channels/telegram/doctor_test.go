package telegram_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/channels/telegram"
)

// finding picks the finding of a check.
func finding(t *testing.T, found []channels.Finding, check channels.Check) channels.Finding {
	t.Helper()
	i := slices.IndexFunc(found, func(f channels.Finding) bool { return f.Check == check })
	require.GreaterOrEqual(t, i, 0, "%s in %v", check, found)
	return found[i]
}

// A webhook that another program registered takes the clicks away from a poller: it
// is found and taken away, and its address, which may hold a secret, is not told.
func TestDoctorTakesAForeignWebhookAway(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	c := open(t, s, codec(t), nil)
	s.SetWebhook("https://other.example/secret-path")
	f := finding(t, c.Examine(t.Context()), channels.CheckWebhook)
	require.Equal(t, channels.VerdictFailed, f.Verdict)
	require.True(t, f.Mendable)
	require.NotContains(t, f.Detail+f.Fix, "other.example")
	require.NoError(t, c.Mend(t.Context(), f.Check))
	require.Empty(t, s.WebhookURL())
	require.Equal(t, channels.VerdictOK, finding(t, c.Examine(t.Context()), channels.CheckWebhook).Verdict)
}

func TestDoctorRegistersOurWebhook(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	c := open(t, s, codec(t), func(c *telegram.Config) {
		c.Webhook = telegram.Webhook{URL: "https://sayso.example/webhooks/telegram/1", Secret: "a-secret"}
	})
	for _, before := range []string{"", "https://other.example/"} {
		s.SetWebhook(before)
		f := finding(t, c.Examine(t.Context()), channels.CheckWebhook)
		require.Equal(t, channels.VerdictFailed, f.Verdict, before)
		require.NoError(t, c.Mend(t.Context(), f.Check))
		require.Equal(t, "https://sayso.example/webhooks/telegram/1", s.WebhookURL())
		require.Equal(t, channels.VerdictOK, finding(t, c.Examine(t.Context()), channels.CheckWebhook).Verdict)
	}
}

// What the platform says of its failing pushes is sorted into what to do; its own
// words stay out, because they repeat what the other end answered.
func TestDoctorReadsWhyPushesFail(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Wrong response from the webhook: 401 Unauthorized":         "secret",
		"SSL error {error:0A000086:SSL routines::certificate}":      "certificate",
		"Wrong response from the webhook: 404 Not Found":            "path",
		"Wrong response from the webhook: 502 Bad Gateway":          "answers with an error",
		"Connection timed out":                                      "cannot reach",
		"Failed to resolve host: Name or service not known mystery": "cannot reach",
	} {
		info, err := json.Marshal(map[string]any{
			"url": "https://sayso.example/hook", "pending_update_count": 3, "last_error_date": 1700000000, "last_error_message": said,
		})
		require.NoError(t, err)
		f := finding(t, answering(t, string(info)).Examine(t.Context()), channels.CheckWebhook)
		require.Equal(t, channels.VerdictFailed, f.Verdict)
		require.Contains(t, f.Detail, want, said)
		require.Contains(t, f.Detail, "3 updates wait")
		require.NotContains(t, f.Detail+f.Fix, "mystery")
	}
}

// Clicks that another program has switched off are missed; an old fault that was
// overcome is none.
func TestDoctorLooksForClicks(t *testing.T) {
	t.Parallel()
	found := answering(t, `{"url":"https://sayso.example/hook","last_error_date":1,"allowed_updates":["message"]}`).Examine(t.Context())
	require.Equal(t, channels.VerdictOK, finding(t, found, channels.CheckWebhook).Verdict)
	f := finding(t, found, channels.CheckInteractivity)
	require.Equal(t, channels.VerdictFailed, f.Verdict)
	require.True(t, f.Mendable)
}

// Two programs that poll for one bot take each other's clicks.
func TestDoctorHearsOfARival(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ctx, stop := context.WithCancel(t.Context())
	var both sync.WaitGroup
	t.Cleanup(both.Wait)
	t.Cleanup(stop)
	c, rival := open(t, s, codec(t), nil), open(t, s, codec(t), nil)
	for _, poller := range []*telegram.Channel{c, rival} {
		both.Go(func() { _ = poller.Run(ctx, new(channeltest.Inbox)) }) // Ends with its context.
	}
	require.Eventually(t, func() bool {
		f := finding(t, c.Examine(t.Context()), channels.CheckInteractivity)
		return f.Verdict == channels.VerdictFailed && strings.Contains(f.Fix, "Stop the other program")
	}, 20*time.Second, 5*time.Millisecond)
}

// answering is a channel with a webhook whose platform says this of it.
func answering(t *testing.T, info string) *telegram.Channel {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result := info
		if strings.HasSuffix(r.URL.Path, "/getMe") {
			result = `{"id":77,"is_bot":true,"first_name":"sayso","username":"sayso_bot"}`
		}
		_, _ = io.WriteString(w, fmt.Sprintf(`{"ok":true,"result":%s}`, result))
	}))
	t.Cleanup(s.Close)
	c, err := telegram.New(telegram.Config{
		Token: "77:secret", APIBase: s.URL, Transport: &http.Transport{}, Pause: noPause,
		Webhook: telegram.Webhook{URL: "https://sayso.example/hook", Secret: "a-secret"},
	}, codec(t))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}
