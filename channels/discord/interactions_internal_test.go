package discord

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	"github.com/saysohq/sayso/channels/internal/inorder"
)

// offline carries no call.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("offline") }

// FuzzPushedInteraction: whatever the platform has signed is taken or turned away with a
// documented status and worked on without a panic, and nobody's click is a click.
func FuzzPushedInteraction(f *testing.F) {
	const app = "900000000000000001"
	for _, seed := range []string{
		`{"id":"1","application_id":"` + app + `","type":3,"token":"t","channel_id":"2","user":{"id":"3"},"message":{"id":"4","author":{}},"data":{"custom_id":"x"}}`,
		`{"id":"1","application_id":"` + app + `","type":3,"token":"t","channel_id":"2","member":{"user":{"id":"3"}},"message":{"id":"4","components":[{"components":[null,{}]}]}}`,
		`{"id":"1","application_id":"` + app + `","type":5,"token":"t","channel_id":"2","user":{"id":"3"},"data":{"custom_id":"sayso-prompt:x","components":[{"component":{"custom_id":"note","value":"v"}}]}}`,
		`{"id":"1","application_id":"` + app + `","type":2,"token":"t","channel_id":"2","user":{"id":"3"},"data":{"name":"sayso","options":[{"name":"deny","options":[{"name":"id","value":7}]}]}}`,
		`{"type":1}`, "null",
	} {
		f.Add([]byte(seed))
	}
	public, private, err := ed25519.GenerateKey(bytes.NewReader(bytes.Repeat([]byte("s"), 64)))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		var log bytes.Buffer
		c, err := New(Config{
			Token: "OTAwMDAwMDAwMDAwMDAwMDAx.Gabcde.secret", PublicKey: hex.EncodeToString(public), Transport: offline{},
			Now: func() time.Time { return time.Unix(1_000, 0) }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Pause: func(context.Context, time.Duration) error { return context.Canceled },
		}, nil)
		require.NoError(t, err)
		in := &channeltest.Inbox{OnClick: func(_ context.Context, k channels.Click) channels.Answer {
			if _, err := strconv.ParseUint(k.Actor.ID, 10, 64); err != nil {
				panic("a click of nobody")
			}
			return channels.Answer{}
		}}
		s := &session{ctx: t.Context(), in: in, queue: inorder.New(parallel, maxWaiting)}
		c.session = s
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set(timestampHeader, "1000")
		r.Header.Set(signatureHeader, hex.EncodeToString(ed25519.Sign(private, append([]byte("1000"), body...))))
		w := httptest.NewRecorder()
		c.Interactions().ServeHTTP(w, r)
		s.queue.Wait()
		require.Contains(t, []int{http.StatusOK, http.StatusAccepted, http.StatusBadRequest}, w.Code)
		require.NotContains(t, log.String(), "panicked")
	})
}
