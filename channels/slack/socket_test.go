package slack_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/channeltest"
	fake "github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/channels/slack"
)

// sockets is a platform of which only the connections matter: serve is given each of
// them after its ticket.
func sockets(t *testing.T, serve func(*websocket.Conn)) *slack.Channel {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(stop)
	mux.HandleFunc("/api/auth.test", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "team_id": fake.Team, "user_id": fake.BotUser, "bot_id": fake.BotID})
	})
	mux.HandleFunc("/api/apps.connections.open", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "url": "ws" + strings.TrimPrefix(server.URL, "http") + "/link"})
	})
	mux.HandleFunc("/link", func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.Close() }()
		context.AfterFunc(ctx, func() { _ = ws.Close() })
		serve(ws)
	})
	ch, err := slack.New(slack.Config{
		BotToken: fake.BotToken, AppToken: fake.AppToken, Team: fake.Team, APIBase: server.URL + "/api/",
		Transport: &http.Transport{DisableKeepAlives: true}, Pause: noPause,
	}, codec(t))
	require.NoError(t, err)
	return ch
}

// runs runs a channel until the test ends.
func runs(t *testing.T, ch *slack.Channel) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, new(channeltest.Inbox)) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

// A connection that is open and dead would swallow its share of what people do, so one
// without a sign of life is replaced.
func TestDeadConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	opened := make(chan struct{}, 100)
	release := make(chan struct{})
	ch := sockets(t, func(ws *websocket.Conn) {
		_ = ws.WriteJSON(map[string]any{"type": "hello"})
		opened <- struct{}{}
		<-release // It neither reads nor pings.
	})
	t.Cleanup(func() { close(release) })
	slack.Impatient(ch, 30*time.Millisecond)
	runs(t, ch)
	for range 3 * connections {
		<-opened
	}
}

// One that is silent, but answers when it is asked, is kept.
func TestQuietConnectionIsKept(t *testing.T) {
	t.Parallel()
	opened, pinged := make(chan struct{}, 100), make(chan struct{}, 1_000)
	ch := sockets(t, func(ws *websocket.Conn) {
		ws.SetPingHandler(func(data string) error {
			select {
			case pinged <- struct{}{}:
			default:
			}
			return ws.WriteControl(websocket.PongMessage, []byte(data), time.Time{})
		})
		_ = ws.WriteJSON(map[string]any{"type": "hello"})
		opened <- struct{}{}
		_, _, _ = ws.ReadMessage()
	})
	slack.Impatient(ch, 2*time.Second)
	runs(t, ch)
	for range 4 * connections { // More than the time that they may be silent.
		<-pinged
	}
	require.Len(t, opened, connections)
}

// Platforms that greet in no known way, or not at all, are tried again.
func TestGreetings(t *testing.T) {
	t.Parallel()
	greetings := []string{"", "{", `{"type":"news"}`, `{"type":"disconnect","reason":"too_many_websockets"}`, `{"type":"hello"}`, `{"type":"hello"}`}
	next := make(chan string, len(greetings))
	for _, g := range greetings {
		next <- g
	}
	greeted := make(chan struct{}, len(greetings))
	ch := sockets(t, func(ws *websocket.Conn) {
		select {
		case g := <-next:
			if g == "" {
				return
			}
			_ = ws.WriteMessage(websocket.TextMessage, []byte(g))
		default:
			return
		}
		greeted <- struct{}{}
		_, _, _ = ws.ReadMessage()
	})
	runs(t, ch)
	for range len(greetings) - 1 {
		<-greeted
	}
}
