package slack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/channeltest"
	"github.com/saysohq/sayso/channels/internal/inorder"
)

// offline carries no call, so nobody can say who anybody is.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("offline") }

// FuzzPushedPayload: whatever the platform has signed is taken or turned away with a
// documented status and worked on without a panic. Where nobody can say who did it,
// no click is handed on but those of accounts that may never decide.
func FuzzPushedPayload(f *testing.F) {
	const kindForm, kindJSON = "application/x-www-form-urlencoded", "application/json"
	for _, payload := range []string{
		`{"type":"block_actions","api_app_id":"A0FAKE001","team":{"id":"T1"},"user":{"id":"U1"},"trigger_id":"x","actions":[{"action_id":"sayso.note.0","value":"v"}]}`,
		`{"type":"block_actions","api_app_id":"A0FAKE001","user":{"id":"U1"},"container":{"channel_id":"C1","message_ts":"1.1"},"actions":[{}],"message":{"blocks":[null,7]}}`,
		`{"type":"view_submission","api_app_id":"A0FAKE001","user":{"id":"U1"},"view":{"callback_id":"sayso.prompt","private_metadata":"{}"}}`,
	} {
		f.Add(kindForm, []byte(url.Values{"payload": {payload}}.Encode()))
	}
	f.Add(kindForm, []byte("command=/sayso&text=deny+x&user_id=U1&api_app_id=A0FAKE001"))
	f.Add(kindJSON, []byte(`{"type":"event_callback","api_app_id":"A0FAKE001","event":{"type":"message","channel_type":"im","user":"U1","text":"x","ts":"1.1"}}`))
	f.Add(kindJSON, []byte("null"))
	now := time.Unix(1_700_000_000, 0)
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		var log bytes.Buffer
		const secret = "0123456789abcdef0123456789abcdef"
		c, err := New(Config{
			BotToken: "xoxb-1-x", Team: "T1", App: "A0FAKE001", SigningSecret: secret, Transport: offline{}, APIBase: "http://127.0.0.1:1/api/",
			Now: func() time.Time { return now }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Pause: func(context.Context, time.Duration) error { return context.Canceled },
		}, nil)
		require.NoError(t, err)
		in := new(channeltest.Inbox)
		s := &session{c: c, ctx: t.Context(), in: in, queue: inorder.New(parallel, maxWaiting)}
		c.session = s
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte("v0:1700000000:"))
		mac.Write(body)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		r.Header.Set(signedAt, "1700000000")
		r.Header.Set(signedBy, "v0="+hex.EncodeToString(mac.Sum(nil)))
		w := httptest.NewRecorder()
		c.Webhook().ServeHTTP(w, r)
		s.queue.Wait()
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, w.Code)
		require.NotContains(t, log.String(), "panicked")
		clicks, err := in.AwaitClicks(t.Context(), 0)
		require.NoError(t, err)
		for _, k := range clicks {
			require.NotEmpty(t, k.Actor.Refused)
		}
	})
}
