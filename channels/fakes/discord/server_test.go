package discord_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	fake "github.com/saysohq/sayso/channels/fakes/discord"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	anna    = "1001"
	bea     = "1002"
	channel = "2001"
	thread  = "2002"
)

// world is a fake with two people, and a client that knows nothing of sayso.
type world struct {
	*fake.Server
	t      *testing.T
	client *http.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := fake.Start(fake.Config{})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.AddUser(anna, "anna", "Anna", false)
	s.AddUser(bea, "bea", "", false)
	s.AddChannel(channel)
	s.AddThread(thread)
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	return &world{Server: s, t: t, client: &http.Client{Transport: transport}}
}

// call makes a call and returns its status and its answer.
func (w *world) call(method, path, body string) (int, map[string]any) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.URL()+"/"+path, strings.NewReader(body))
	require.NoError(w.t, err)
	r.Header.Set("Authorization", "Bot "+w.Token())
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := w.client.Do(r)
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, resp.Body.Close()) }()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.NotEmpty(w.t, resp.Header.Get("X-RateLimit-Bucket"))
	got := map[string]any{}
	if len(raw) > 0 {
		require.NoError(w.t, json.Unmarshal(raw, &got))
	}
	return resp.StatusCode, got
}

const nobody = `"allowed_mentions":{"parse":[]}`

// post sends a message with one button and returns its id.
func (w *world) post(to string) string {
	w.t.Helper()
	status, got := w.call("POST", "channels/"+to+"/messages", `{"content":"hi",`+nobody+`,"components":[{"type":1,"components":[{"type":2,"style":4,"label":"No","custom_id":"no"}]}]}`)
	require.Equal(w.t, 200, status, got)
	return fmt.Sprint(got["id"])
}

func TestOneResponseInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	press := func() string {
		id, err := w.Press(fake.Press{User: anna, Message: channel + ":" + w.post(channel), Label: "No"})
		require.NoError(t, err)
		return id
	}
	respond := func(id, body string) (int, any) {
		status, got := w.call("POST", "interactions/"+id+"/interaction-token-"+id+"/callback", body)
		return status, got["code"]
	}
	follow := func(id string) (int, any) {
		status, got := w.call("POST", "webhooks/"+fake.DefaultBotID+"/interaction-token-"+id, `{"content":"x","flags":64,`+nobody+`}`)
		return status, got["code"]
	}
	id := press()
	status, code := follow(id)
	require.Equal(t, []any{404, 10015.0}, []any{status, code}, "no follow-up before the response")
	status, _ = respond(id, `{"type":6}`)
	require.Equal(t, 204, status)
	status, code = respond(id, `{"type":4,"data":{"content":"x","flags":64,`+nobody+`}}`)
	require.Equal(t, []any{400, 40060.0}, []any{status, code})
	status, code = respond(id, `{"type":9,"data":{"custom_id":"c","title":"t","components":[]}}`)
	require.Equal(t, []any{400, 40060.0}, []any{status, code}, "a dialog must be first")
	status, _ = follow(id)
	require.Equal(t, 200, status)
	w.Clock.Advance(15*time.Minute + time.Second)
	status, code = follow(id)
	require.Equal(t, []any{401, 50027.0}, []any{status, code})

	id = press()
	w.Clock.Advance(3*time.Second + time.Millisecond)
	status, code = respond(id, `{"type":6}`)
	require.Equal(t, []any{404, 10062.0}, []any{status, code})
	require.Empty(t, w.Violations.List())

	for _, bad := range []string{
		`{"type":4,"data":{"content":"for all to see",` + nobody + `}}`,
		`{"type":4,"data":{"content":"x","flags":64}}`,
		`{"type":4,"data":{"content":"https://evil.example","flags":64,` + nobody + `}}`,
		`{"type":5000}`,
		`{"type":9,"data":{"custom_id":"","title":"t","components":[]}}`,
		`{"type":9,"data":{"custom_id":"c","title":"t","components":[],"x":1}}`,
	} {
		before := len(w.Violations.List())
		respond(press(), bad)
		require.Greater(t, len(w.Violations.List()), before, bad)
	}
}

func TestDialogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, err := w.Press(fake.Press{User: anna, Message: channel + ":" + w.post(channel), Label: "No"})
	require.NoError(t, err)
	_, err = w.Submit(id, anna, "x", false)
	require.Error(t, err, "no dialog is open")
	modal := `{"type":9,"data":{"custom_id":"c","title":"t","components":[{"type":18,"label":"l","component":{"type":4,"custom_id":"f","style":2}}]}}`
	status, _ := w.call("POST", "interactions/"+id+"/interaction-token-"+id+"/callback", modal)
	require.Equal(t, 204, status)
	second, err := w.Submit(id, anna, "x", false)
	require.NoError(t, err)
	status, _ = w.call("POST", "interactions/"+second+"/interaction-token-"+second+"/callback", modal)
	require.Equal(t, 400, status, "no dialog in answer to a dialog")
	require.Len(t, w.Violations.List(), 1)
}

func TestNonceIsKeptForMinutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	send := func(to, nonce string) string {
		_, got := w.call("POST", "channels/"+to+"/messages", `{"content":"hi","nonce":"`+nonce+`","enforce_nonce":true,`+nobody+`}`)
		return fmt.Sprint(got["id"])
	}
	first := send(channel, "n")
	require.Equal(t, first, send(channel, "n"))
	require.NotEqual(t, first, send(channel, "m"))
	require.NotEqual(t, first, send(thread, "n"))
	w.Clock.Advance(3 * time.Minute)
	require.NotEqual(t, first, send(channel, "n"))
}

func TestOldMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.post(channel)
	edit := func() (int, map[string]any) {
		return w.call("PATCH", "channels/"+channel+"/messages/"+id, `{"content":"new",`+nobody+`}`)
	}
	for range 10 {
		status, _ := edit()
		require.Equal(t, 200, status, "young ones take many")
	}
	w.Clock.Advance(time.Hour + time.Second)
	for range 3 {
		status, _ := edit()
		require.Equal(t, 200, status)
	}
	status, got := edit()
	require.Equal(t, 429, status)
	require.InDelta(t, 30046, got["code"], 0)
	require.InDelta(t, 60, got["retry_after"], 0)
	w.Clock.Advance(time.Minute)
	status, _ = edit()
	require.Equal(t, 200, status)
}

func TestEditsChangeOnlyWhatTheyName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.post(channel)
	status, _ := w.call("PATCH", "channels/"+channel+"/messages/"+id, `{"content":"new",`+nobody+`}`)
	require.Equal(t, 200, status)
	m, ok := w.Message(channel + ":" + id)
	require.True(t, ok)
	require.Equal(t, []string{"hi", "new"}, m.History)
	require.Len(t, m.Buttons, 1, "left out is left alone")
	w.call("PATCH", "channels/"+channel+"/messages/"+id, `{"components":[],`+nobody+`}`)
	m, _ = w.Message(channel + ":" + id)
	require.Empty(t, m.Buttons)
	require.Empty(t, w.Violations.List())
}

func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	button := func(s string) string {
		return `{"content":"x",` + nobody + `,"components":[{"type":1,"components":[` + s + `]}]}`
	}
	field := func(name, value string) string {
		return `{"content":"x",` + nobody + `,"embeds":[{"fields":[{"name":"` + name + `","value":"` + value + `"}]}]}`
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, body := range map[string]string{
		"content":             `{"content":"` + long(2001) + `",` + nobody + `}`,
		"astral content":      `{"content":"` + strings.Repeat("𝒳", 1001) + `",` + nobody + `}`,
		"empty":               `{"content":" ",` + nobody + `}`,
		"nonce":               `{"content":"x","nonce":"` + long(26) + `",` + nobody + `}`,
		"unknown field":       `{"content":"x","contents":"y",` + nobody + `}`,
		"no mentions":         `{"content":"x"}`,
		"mentions":            `{"content":"x","allowed_mentions":{"parse":["users"]}}`,
		"reply ping":          `{"content":"x","allowed_mentions":{"parse":[],"replied_user":true}}`,
		"field name":          field(long(257), "v"),
		"field value":         field("n", long(1025)),
		"empty field":         field("n", " "),
		"label":               button(`{"type":2,"style":4,"custom_id":"a","label":"` + long(81) + `"}`),
		"custom id":           button(`{"type":2,"style":4,"custom_id":"` + long(101) + `","label":"l"}`),
		"same custom id":      button(`{"type":2,"style":4,"custom_id":"a","label":"l"},{"type":2,"style":4,"custom_id":"a","label":"m"}`),
		"no custom id":        button(`{"type":2,"style":4,"label":"l"}`),
		"link with an id":     button(`{"type":2,"style":5,"url":"https://a.example","custom_id":"a","label":"l"}`),
		"link to a bare host": button(`{"type":2,"style":5,"url":"http://localhost","label":"l"}`),
		"six in a row":        button(strings.TrimRight(strings.Repeat(`{"type":2,"style":5,"url":"https://a.example","label":"l"},`, 6), ",")),
		"embeds":              `{"content":"x",` + nobody + `,"embeds":[` + strings.TrimRight(strings.Repeat(`{"description":"`+long(4000)+`"},`, 2), ",") + `]}`,
	} {
		before := len(w.Violations.List())
		w.call("POST", "channels/"+channel+"/messages", body)
		require.Greater(t, len(w.Violations.List()), before, name)
	}
}

func TestWhoCanBeReached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	direct := func(user string) string {
		_, got := w.call("POST", "users/@me/channels", `{"recipient_id":"`+user+`"}`)
		return fmt.Sprint(got["id"])
	}
	first := direct(anna)
	require.Equal(t, first, direct(anna), "the same chat each time")
	send := func(to string) any {
		_, got := w.call("POST", "channels/"+to+"/messages", `{"content":"hi",`+nobody+`}`)
		return got["code"]
	}
	require.Nil(t, send(direct(anna)))
	w.CloseDirect(anna)
	require.InDelta(t, 50007, send(direct(anna)), 0)
	w.LeaveServers(bea)
	require.InDelta(t, 50278, send(direct(bea)), 0)
	require.InDelta(t, 10003, send("99"), 0)
	id := w.post(thread)
	w.Archive(thread, false)
	_, got := w.call("PATCH", "channels/"+thread+"/messages/"+id, `{"content":"x",`+nobody+`}`)
	require.InDelta(t, 50083, got["code"], 0)
	require.Nil(t, send(thread), "writing opens a thread again")
	w.Remove(channel)
	require.InDelta(t, 50001, send(channel), 0)
	status, _ := w.call("GET", "no/such/call", "")
	require.Equal(t, 404, status)
	w.Revoke()
	status, _ = w.call("GET", "applications/@me", "")
	require.Equal(t, 401, status)
}

// What a client makes of markup.
func TestShow(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain text, 1.5 a_b": "plain text, 1.5 ab", "**bold** *it* ~~no~~": "bold it no", `\*not\* \_it\_`: "*not* _it_", `\\`: `\`, `\a`: `\a`,
		"```\nls\n```": "\nls\n", "```js\nls\n```": "\nls\n", "```ls```": "\nls\n", "`a*b`": "a*b", "``a`b``": "a`b", "`open": "`open",
		"> q": "q", "# h": "h", "- l": "l", "1. n": "n", "a - b": "a - b", `\> q`: "> q", "<t:1:R>": "(a date)", "<b>": "<b>",
	} {
		text, pings := fake.Show(in)
		require.Equal(t, want, text, in)
		require.Empty(t, pings, in)
	}
	for _, in := range []string{
		"<@1>", "<@!1>", "<@&1>", "<#1>", "<:a:1>", "</a:1>", "@everyone", "@here", "https://a.example", "[a](https://b.example)", ":smile:", "<https://a.example>", "*@here*",
	} {
		_, pings := fake.Show(in)
		require.NotEmpty(t, pings, in)
		_, pings = fake.Show("`" + in + "` ```\n" + in + "\n```")
		require.Empty(t, pings, "in code: %s", in)
	}
}

func TestEndpointIsProbed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, h := range map[string]http.HandlerFunc{
		"takes everything": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(rw, `{"type":1}`)
		},
		"takes nothing":   func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) },
		"no content type": func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `{"type":1}`) },
	} {
		server := httptest.NewServer(h)
		require.Error(t, w.SetEndpoint(server.URL), name)
		server.Close()
	}
}

func TestGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, got := w.call("GET", "gateway", "")
	dial := func() *websocket.Conn {
		conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), fmt.Sprint(got["url"])+"/?v=10&encoding=json", nil)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	read := func(conn *websocket.Conn) (op int, kind string, raw []byte) {
		var f struct {
			Op   int             `json:"op"`
			Type string          `json:"t"`
			Data json.RawMessage `json:"d"`
		}
		require.NoError(t, conn.ReadJSON(&f))
		return f.Op, f.Type, f.Data
	}
	send := func(conn *websocket.Conn, text string) {
		require.NoError(t, conn.WriteMessage(websocket.TextMessage, []byte(text)))
	}
	conn := dial()
	op, _, _ := read(conn)
	require.Equal(t, 10, op)
	send(conn, `{"op":1,"d":null}`)
	op, _, _ = read(conn)
	require.Equal(t, 11, op)
	send(conn, `{"op":6,"d":{"token":"`+w.Token()+`","session_id":"?","seq":1}}`)
	op, _, raw := read(conn)
	require.Equal(t, 9, op)
	require.True(t, bytes.Equal(raw, []byte("false")))
	send(conn, `{"op":2,"d":{"token":"`+w.Token()+`","intents":4096}}`)
	_, kind, raw := read(conn)
	require.Equal(t, "READY", kind)
	var ready struct {
		Session string `json:"session_id"`
	}
	require.NoError(t, json.Unmarshal(raw, &ready))
	_, err := w.Type(fake.Typed{User: anna, Address: channel, Text: "in a server: nobody hears it"})
	require.NoError(t, err)
	_, err = w.Type(fake.Typed{User: anna, Address: "@" + anna, Text: "hello"})
	require.NoError(t, err)
	_, kind, raw = read(conn)
	require.Equal(t, "MESSAGE_CREATE", kind)
	require.Contains(t, string(raw), "hello")
	require.NoError(t, conn.Close())
	require.NoError(t, w.AwaitListening(t.Context(), 0))
	_, err = w.Type(fake.Typed{User: anna, Address: "@" + anna, Text: "meanwhile"})
	require.NoError(t, err)
	conn = dial()
	read(conn)
	send(conn, `{"op":6,"d":{"token":"`+w.Token()+`","session_id":"`+ready.Session+`","seq":2}}`)
	_, kind, raw = read(conn)
	require.Equal(t, "MESSAGE_CREATE", kind)
	require.Contains(t, string(raw), "meanwhile")
	_, kind, _ = read(conn)
	require.Equal(t, "RESUMED", kind)

	bad := dial()
	read(bad)
	send(bad, `{"op":2,"d":{"token":"wrong"}}`)
	_, _, err = bad.ReadMessage()
	require.True(t, websocket.IsCloseError(err, 4004), "%v", err)
	greedy := dial()
	read(greedy)
	send(greedy, `{"op":2,"d":{"token":"`+w.Token()+`","intents":4097}}`)
	read(greedy)
	require.Len(t, w.Violations.List(), 1, "more intents than needed")
}

// The official specification, where it is at hand, refuses what it does not know.
func TestSpec(t *testing.T) {
	t.Parallel()
	spec, err := fake.LoadSpec(os.Getenv("SAYSO_SPECS"))
	require.NoError(t, err)
	s, err := fake.Start(fake.Config{Spec: spec})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.AddChannel(channel)
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	w := &world{Server: s, t: t, client: &http.Client{Transport: transport}}
	w.post(channel)
	require.Empty(t, s.Violations.List())
	status, _ := w.call("POST", "channels/"+channel+"/messages", `{"content":7,`+nobody+`}`)
	require.Equal(t, 400, status)
	require.NotEmpty(t, s.Violations.List())
	_, err = fake.LoadSpec(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}
