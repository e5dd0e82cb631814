package telegram

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
)

// nobody takes what comes in and says nothing.
type nobody struct{ clicks int }

func (n *nobody) Click(context.Context, channels.Click) channels.Answer {
	n.clicks++
	return channels.Answer{}
}

func (n *nobody) Text(context.Context, channels.Text) channels.Answer { return channels.Answer{} }
func (n *nobody) Placed(context.Context, string, string) error        { return nil }
func (n *nobody) Shown(context.Context, string, int64) error          { return nil }

// offline carries no call.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("offline") }

// FuzzWebhook: whatever is pushed with the right secret is answered with 200, or the
// platform would repeat it for a day and hold up what is behind it; and with a wrong
// one with 401, unread.
func FuzzWebhook(f *testing.F) {
	f.Add([]byte(`{"update_id":1,"callback_query":{"id":"1","from":{"id":1},"data":"d","message":{"message_id":1,"date":1,"chat":{"id":-5}}}}`), true)
	f.Add([]byte(`{"update_id":2,"message":{"message_id":1,"from":{"id":1},"chat":{"id":1,"type":"private"},"text":"/deny x"}}`), true)
	f.Add([]byte(`{"update_id":3,"callback_query":{"message":{"date":0}}}`), true)
	f.Add([]byte("null"), true)
	f.Add([]byte("{"), false)
	c, err := New(Config{
		Token: "1:a", Transport: offline{}, Webhook: Webhook{URL: "https://sayso.example.com/x", Secret: "hook"},
		Pause: func(context.Context, time.Duration) error { return context.Canceled },
	}, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte, signed bool) {
		in := new(nobody)
		c.session = &session{ctx: t.Context(), in: in}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(string(body)))
		if signed {
			r.Header.Set(secretHeader, "hook")
		}
		w := httptest.NewRecorder()
		c.Webhook().ServeHTTP(w, r)
		if !signed {
			require.Equal(t, http.StatusUnauthorized, w.Code)
			require.Zero(t, in.clicks)
			return
		}
		require.Equal(t, http.StatusOK, w.Code)
	})
}
