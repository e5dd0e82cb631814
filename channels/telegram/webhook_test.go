package telegram_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/channels/telegram"
)

const hookSecret = "hook-secret_1"

// reroute carries calls for the public address to a local server.
type reroute struct{ to *url.URL }

func (r *reroute) RoundTrip(q *http.Request) (*http.Response, error) {
	q.URL.Scheme, q.URL.Host = r.to.Scheme, r.to.Host
	transport := &http.Transport{DisableKeepAlives: true}
	return transport.RoundTrip(q)
}

// hooked is a room whose channel receives by webhook.
func hooked(t *testing.T) room {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	route := new(reroute)
	s := world(t, fake.Config{Webhook: route})
	ch := open(t, s, codec(t), func(c *telegram.Config) {
		c.Webhook = telegram.Webhook{URL: "https://sayso.example.com/telegram/x", Secret: hookSecret, Connections: 8}
	})
	server := httptest.NewServer(ch.Webhook())
	t.Cleanup(server.Close)
	to, err := url.Parse(server.URL)
	require.NoError(t, err)
	route.to = to
	return room{ctx, s, ch}
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	r := hooked(t)
	in := new(channeltest.Inbox)
	r.receive(t, in)
	locator := r.post(t, text(group))
	for _, person := range []int64{owner, other, owner} {
		press, err := r.s.Press(fake.Press{User: person, Message: locator, Label: "Deny"})
		require.NoError(t, err)
		_, err = r.s.AwaitReply(r.ctx, press)
		require.NoError(t, err)
	}
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))
	calls := r.s.Calls("setWebhook")
	require.Len(t, calls, 1)
	require.Equal(t, map[string]string{
		"url": "https://sayso.example.com/telegram/x", "secret_token": hookSecret, "max_connections": "8",
		"allowed_updates": `["message","callback_query"]`,
	}, calls[0].Params)
	require.Empty(t, r.s.Calls("getUpdates"))
	require.Empty(t, r.s.Violations.List())
}

// TestWebhookBeforeRun: an update that arrives while nobody receives is refused,
// so that the platform tries again.
func TestWebhookBeforeRun(t *testing.T) {
	t.Parallel()
	r := hooked(t)
	press, err := r.s.Press(fake.Press{User: owner, Message: r.post(t, text(owner)), Label: "Deny"})
	require.NoError(t, err)
	require.NoError(t, r.s.Register("https://sayso.example.com/telegram/x", hookSecret)) // By a process that has stopped.
	statuses, err := r.s.AwaitWebhook(r.ctx, 2)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, statuses[0])
	r.receive(t, new(channeltest.Inbox))
	_, err = r.s.AwaitReply(r.ctx, press)
	require.NoError(t, err)
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))
}

// serve makes one call of the handler.
func serve(ch *telegram.Channel, method, secret string, body io.Reader) int {
	w := httptest.NewRecorder()
	q := httptest.NewRequest(method, "/telegram/x", body)
	if secret != "" {
		q.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	ch.Webhook().ServeHTTP(w, q)
	return w.Code
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("connection lost") }

func TestWebhookAnswers(t *testing.T) {
	t.Parallel()
	r := hooked(t)
	const click = `{"update_id":7,"callback_query":{"id":"q","from":{"id":1,"first_name":"A"},"chat_instance":"c","data":"d"}}`
	require.Equal(t, http.StatusServiceUnavailable, serve(r.ch, http.MethodPost, hookSecret, strings.NewReader(click)))
	in := &channeltest.Inbox{OnClick: func(_ context.Context, c channels.Click) channels.Answer {
		if c.Payload == "panic" {
			panic("bug")
		}
		return channels.Answer{}
	}}
	r.receive(t, in)
	_, err := r.s.AwaitCalls(r.ctx, "setWebhook", 1)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return serve(r.ch, http.MethodPost, hookSecret, strings.NewReader(`{}`)) == http.StatusOK
	}, 10*time.Second, time.Millisecond)

	for _, c := range []struct {
		name, method, secret string
		body                 io.Reader
		status               int
	}{
		{"good", http.MethodPost, hookSecret, strings.NewReader(click), 200},
		{"no secret", http.MethodPost, "", strings.NewReader(click), 401},
		{"wrong secret", http.MethodPost, hookSecret + "x", strings.NewReader(click), 401},
		{"get", http.MethodGet, hookSecret, strings.NewReader(""), 405},
		{"garbage", http.MethodPost, hookSecret, strings.NewReader("\x00{"), 200},
		{"empty", http.MethodPost, hookSecret, strings.NewReader(""), 200},
		{"unknown kind", http.MethodPost, hookSecret, strings.NewReader(`{"update_id":8,"poll":{"id":"1"}}`), 200},
		{"odd message", http.MethodPost, hookSecret, strings.NewReader(`{"update_id":8,"message":{"message_id":1,"date":1,"chat":{"id":5,"type":"private"}}}`), 200},
		{"odd reactions", http.MethodPost, hookSecret, strings.NewReader(`{"update_id":8,"message_reaction":{"new_reaction":[{"type":"x"}]}}`), 200},
		{"too large", http.MethodPost, hookSecret, strings.NewReader(strings.Repeat(" ", 1<<20+1)), 200},
		{"broken off", http.MethodPost, hookSecret, brokenBody{}, 400},
		{"panic", http.MethodPost, hookSecret, strings.NewReader(strings.ReplaceAll(click, `"d"`, `"panic"`)), 200},
	} {
		require.Equal(t, c.status, serve(r.ch, c.method, c.secret, c.body), c.name)
	}
	clicks, err := in.AwaitClicks(r.ctx, 2)
	require.NoError(t, err)
	require.Len(t, clicks, 2)
}

// TestWebhookOfPollingChannel: a channel that polls takes no pushed updates.
func TestWebhookOfPollingChannel(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	require.Equal(t, http.StatusUnauthorized, serve(r.ch, http.MethodPost, "", strings.NewReader("{}")))
}

// TestWebhookHangUp: a click is finished even where the platform leaves first.
func TestWebhookHangUp(t *testing.T) {
	t.Parallel()
	r := hooked(t)
	ctx, hangUp := context.WithCancel(r.ctx)
	ended := make(chan error, 1)
	in := &channeltest.Inbox{OnClick: func(work context.Context, _ channels.Click) channels.Answer {
		hangUp()
		ended <- work.Err()
		return channels.Answer{Text: "Denied."}
	}}
	r.receive(t, in)
	_, err := r.s.AwaitCalls(r.ctx, "setWebhook", 1)
	require.NoError(t, err)
	press := `{"update_id":7,"callback_query":{"id":"q","from":{"id":1,"first_name":"A"},"chat_instance":"c","data":"d"}}`
	require.Eventually(t, func() bool {
		w := httptest.NewRecorder()
		q := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(press)).WithContext(ctx)
		q.Header.Set("X-Telegram-Bot-Api-Secret-Token", hookSecret)
		r.ch.Webhook().ServeHTTP(w, q)
		return w.Code == http.StatusOK
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, <-ended)
	require.Len(t, r.s.Calls("answerCallbackQuery"), 1)
}
