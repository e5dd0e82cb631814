package slack

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// FuzzFrame: whatever the platform's connection carries, nothing panics, and what asks
// for an acknowledgement and can never be worked on gets it at once, so that it is not
// brought again and nothing waits behind it.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		`{"type":"interactive","envelope_id":"e","payload":{}}`, `{"type":"events_api","envelope_id":"e","payload":{"type":"event_callback"}}`,
		`{"type":"slash_commands","envelope_id":"e","payload":null}`, `{"type":"disconnect"}`, `{"type":"hello"}`, `{"envelope_id":7}`, "null", "[", "",
		`{"type":"interactive","envelope_id":"e","payload":{"type":"block_actions","user":{"id":"U1"},"api_app_id":"A1","actions":[{}]}}`,
	} {
		f.Add([]byte(seed))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.Close() }()
		for {
			if _, _, err := ws.ReadMessage(); err != nil {
				return
			}
		}
	}))
	f.Cleanup(server.Close)
	ws, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	require.NoError(f, err)
	require.NoError(f, resp.Body.Close())
	f.Cleanup(func() { _ = ws.Close() })
	c := &Channel{cfg: Config{App: "A0FAKE001", Team: "T1", Workspaces: new(Workspaces)}, log: slog.New(slog.DiscardHandler), neutral: time.Hour}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if strings.Contains(string(raw), "A0FAKE001") {
			return // Ours: worked on, which is for other tests.
		}
		l := newLink(c, ws)
		defer l.watch.Stop()
		defer l.age.Stop()
		l.take(&session{c: c, ctx: context.Background()}, raw)
		require.Zero(t, l.open, "nothing is left open")
		require.Empty(t, l.pending)
	})
}
