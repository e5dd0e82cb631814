package slack_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/channels/fakes/slack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	olga    = "U0OWNER01"
	channel = "C0SHARED1"
)

func start(t *testing.T) *slack.Server {
	t.Helper()
	specs, err := slack.LoadSpecs(os.Getenv("SAYSO_SPECS"))
	require.NoError(t, err)
	s, err := slack.Start(slack.Config{Specs: specs})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.AddUser(slack.User{ID: olga, Name: "olga"})
	s.AddChannel(channel)
	return s
}

func client(t *testing.T) *http.Client {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	return c
}

// answered is what the fake says.
type answered struct {
	OK      bool   `json:"ok"`
	Error   string `json:"error"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	URL     string `json:"url"`
	View    struct {
		ID string `json:"id"`
	} `json:"view"`
}

func post(t *testing.T, s *slack.Server, method, token, contentType, body string) (a answered, status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+method, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", contentType)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client(t).Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&a))
	return a, resp.StatusCode
}

// call makes a form call with the bot's token.
func call(t *testing.T, s *slack.Server, method string, args ...string) answered {
	t.Helper()
	form := url.Values{"token": {slack.BotToken}}
	for i := 0; i < len(args); i += 2 {
		form.Set(args[i], args[i+1])
	}
	a, _ := post(t, s, method, "", "application/x-www-form-urlencoded", form.Encode())
	return a
}

// say posts with what keeps a message from turning into something else.
func say(t *testing.T, s *slack.Server, to string, args ...string) answered {
	t.Helper()
	return call(t, s, "chat.postMessage", append([]string{"channel", to, "parse", "none", "unfurl_links", "false", "unfurl_media", "false"}, args...)...)
}

const (
	section = `{"type":"section","text":{"type":"plain_text","text":"hello"}}`
	rich    = `{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"<hello>"}]}]}`
	button  = `{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Deny"},"action_id":"a","value":"v"}]}`
	modal   = `{"type":"modal","title":{"type":"plain_text","text":"Note"},"submit":{"type":"plain_text","text":"Send"},"blocks":[` +
		`{"type":"input","block_id":"b","label":{"type":"plain_text","text":"Why?"},"element":{"type":"plain_text_input","action_id":"i"}}]}`
)

func TestTokens(t *testing.T) {
	t.Parallel()
	s := start(t)
	for token, want := range map[string]string{"": "not_authed", "x": "invalid_auth", slack.AppToken: "invalid_auth", slack.BotToken: ""} {
		a, _ := post(t, s, "auth.test", token, "application/json", "")
		require.Equal(t, want, a.Error)
	}
	a, _ := post(t, s, "apps.connections.open", slack.BotToken, "application/json", "")
	require.Equal(t, "invalid_auth", a.Error)
	s.Revoke()
	require.Equal(t, "token_revoked", call(t, s, "auth.test").Error)
	require.Empty(t, s.Violations.List())
}

func TestMessages(t *testing.T) {
	t.Parallel()
	s := start(t)
	sent := say(t, s, olga, "text", "hi &lt;b&gt;", "blocks", "["+rich+","+button+"]")
	require.Equal(t, "D0OWNER01", sent.Channel, "the direct chat has an id of its own")
	locator := sent.Channel + ":" + sent.TS
	m, ok := s.Message(locator)
	require.True(t, ok)
	require.Equal(t, "<hello>", m.Text)
	require.Equal(t, olga, m.Address)
	require.Equal(t, []fakes.Button{{Label: "Deny", Payload: "v"}}, m.Buttons)

	edit := func(to, ts string, args ...string) string {
		return call(t, s, "chat.update", append([]string{"channel", to, "ts", ts, "parse", "none"}, args...)...).Error
	}
	require.Equal(t, "channel_not_found", edit(olga, sent.TS, "text", "x"), "not by the person's id")
	require.Equal(t, "message_not_found", edit(sent.Channel, "1.1", "text", "x"))
	require.Equal(t, "block_mismatch", edit(sent.Channel, sent.TS, "text", "x", "blocks", "["+section+"]"))
	require.Equal(t, "no_text", edit(sent.Channel, sent.TS))
	require.Empty(t, edit(sent.Channel, sent.TS, "text", "&amp; done"))
	m, _ = s.Message(locator)
	require.Equal(t, "& done", m.Text, "a text without blocks takes them away")
	require.Empty(t, m.Buttons)
	require.Equal(t, 1, m.Edits)
	require.Equal(t, "cant_update_message", edit(channel, s.AddThread(channel, olga), "text", "x"))

	root := s.AddThread(channel, olga)
	reply := say(t, s, channel, "text", "x", "thread_ts", root)
	require.True(t, reply.OK)
	m, _ = s.Message(channel + ":" + reply.TS)
	require.Equal(t, channel+"/"+root, m.Address)
	require.Equal(t, "cannot_reply_to_message", say(t, s, channel, "text", "x", "thread_ts", reply.TS).Error)
	require.Equal(t, "channel_not_found", say(t, s, "C0NOWHERE", "text", "x").Error)
	require.NoError(t, s.Delete(locator))
	require.Error(t, s.Delete("C1:1.1"))
	require.Equal(t, "message_not_found", edit(sent.Channel, sent.TS, "text", "x"))
	s.CloseChat(olga)
	require.Equal(t, "messages_tab_disabled", say(t, s, olga, "text", "x").Error)
	s.CloseChat(channel)
	require.Equal(t, "not_in_channel", say(t, s, channel, "text", "x").Error)
	require.Empty(t, s.Violations.List())
}

// What breaks a rule is refused and remembered.
func TestViolations(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("&", 700) // 3,500 characters once it is escaped.
	buttons := func(n int, rest string) string {
		one := `{"type":"button","text":{"type":"plain_text","text":"x"},"action_id":"a"` + rest + `}`
		return `[{"type":"actions","elements":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}]`
	}
	for name, blocks := range map[string]string{
		"no JSON":        "{",
		"too many":       "[" + strings.TrimSuffix(strings.Repeat(`{"type":"divider"},`, 51), ",") + "]",
		"unknown":        `[{"type":"hologram"}]`,
		"long section":   `[{"type":"section","text":{"type":"plain_text","text":"` + long + `"}}]`,
		"long rich text": strings.ReplaceAll("["+rich+"]", "<hello>", long),
		"empty section":  `[{"type":"section","text":{"type":"plain_text","text":""}}]`,
		"long header":    `[{"type":"header","text":{"type":"plain_text","text":"` + strings.Repeat("x", 151) + `"}}]`,
		"markup header":  `[{"type":"header","text":{"type":"mrkdwn","text":"x"}}]`,
		"same id twice":  `[{"type":"divider","block_id":"a"},{"type":"divider","block_id":"a"}]`,
		"markup button":  strings.ReplaceAll(buttons(1, ""), "plain_text", "mrkdwn"),
		"26 buttons":     buttons(26, ""),
		"same action":    buttons(2, ""),
		"style":          buttons(1, `,"style":"green"`),
		"long value":     buttons(1, `,"value":"`+strings.Repeat("v", 2001)+`"`),
		"long label":     strings.ReplaceAll(buttons(1, ""), `"x"`, `"`+strings.Repeat("x", 76)+`"`),
		"no action id":   strings.ReplaceAll(buttons(1, ""), `,"action_id":"a"`, ""),
		"two primaries":  `[{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"x"},"action_id":"a","style":"primary"},{"type":"button","text":{"type":"plain_text","text":"x"},"action_id":"b","style":"primary"}]}]`,
	} {
		s := start(t)
		require.Contains(t, []string{"invalid_blocks", "invalid_blocks_format"}, say(t, s, channel, "text", "x", "blocks", blocks).Error, name)
		require.NotEmpty(t, s.Violations.List(), name)
		require.Empty(t, s.Messages(), name)
	}
	s := start(t)
	require.True(t, call(t, s, "chat.postMessage", "channel", channel, "text", "x").OK)
	require.Len(t, s.Violations.List(), 2, "unfurls and names")
	a, _ := post(t, s, "chat.delete", slack.BotToken, "application/json", "{}")
	require.Equal(t, "unknown_method", a.Error)
	require.Len(t, s.Violations.List(), 3)
}

// With the official specification nothing unknown passes.
func TestSpecification(t *testing.T) {
	t.Parallel()
	s := start(t)
	want := os.Getenv("SAYSO_SPECS") != ""
	require.Equal(t, want, say(t, s, channel, "text", "x", "colour", "red").Error == "invalid_arguments")
	require.Equal(t, want, call(t, s, "users.info").Error == "invalid_arguments")
	odd := strings.Replace("["+section+"]", `"section"`, `"section","colour":"red"`, 1)
	require.Equal(t, want, say(t, s, channel, "text", "x", "blocks", odd).Error == "invalid_blocks")
	require.Equal(t, want, len(s.Violations.List()) > 0)
	_, err := slack.LoadSpecs(t.TempDir())
	require.Error(t, err)
}

// What would notify or link somebody is told, in texts and in blocks.
func TestPings(t *testing.T) {
	t.Parallel()
	s := start(t)
	for text, blocks := range map[string]string{
		"<!channel>": "", "<@U1>": "", "<#C1>": "", "<https://evil.example|click>": "",
		"x": `[{"type":"section","text":{"type":"mrkdwn","text":"<!here>"}}]`,
		"y": `[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"U1"}]}]}]`,
	} {
		args := []string{"text", text}
		if blocks != "" {
			args = append(args, "blocks", blocks)
		}
		sent := say(t, s, channel, args...)
		require.True(t, sent.OK)
		m, _ := s.Message(channel + ":" + sent.TS)
		require.NotEmpty(t, m.Pings, text)
	}
	sent := say(t, s, channel, "text", "&lt;!channel&gt;", "blocks", "["+rich+"]")
	m, _ := s.Message(channel + ":" + sent.TS)
	require.Empty(t, m.Pings)
}

// app is a connection as an app would hold it.
type app struct {
	t  *testing.T
	ws *websocket.Conn
}

func connect(t *testing.T, s *slack.Server) (app, string) {
	t.Helper()
	a, _ := post(t, s, "apps.connections.open", slack.AppToken, "application/json", "")
	require.True(t, a.OK)
	ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(), a.URL, nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	t.Cleanup(func() { _ = ws.Close() })
	return app{t, ws}, a.URL
}

type frame struct {
	Type     string          `json:"type"`
	Reason   string          `json:"reason"`
	Envelope string          `json:"envelope_id"`
	Attempt  int             `json:"retry_attempt"`
	Payload  json.RawMessage `json:"payload"`
}

func (a app) next() frame {
	a.t.Helper()
	var f frame
	require.NoError(a.t, a.ws.ReadJSON(&f))
	return f
}

func (a app) ack(id, payload string) {
	a.t.Helper()
	body := `{"envelope_id":"` + id + `"` + payload + `}`
	require.NoError(a.t, a.ws.WriteMessage(websocket.TextMessage, []byte(body)))
}

func TestSocketMode(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	s := start(t)
	sent := say(t, s, channel, "text", "x", "blocks", "["+button+"]")
	press := slack.Press{User: olga, Message: channel + ":" + sent.TS, Label: "Deny"}
	lost, err := s.Press(press)
	require.NoError(t, err)
	reply, err := s.AwaitReply(ctx, lost)
	require.NoError(t, err)
	require.Equal(t, slack.NotTaken, reply.Text, "nobody was there, and nothing is kept")
	_, err = s.Type(slack.Typed{User: olga, Channel: "D0OWNER01", Text: "hello"})
	require.NoError(t, err)

	one, ticket := connect(t, s)
	require.Equal(t, "hello", one.next().Type)
	kept := one.next()
	require.Equal(t, "events_api", kept.Type, "an event is kept")
	_, resp, err := websocket.DefaultDialer.DialContext(ctx, ticket, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusForbidden, resp.StatusCode, "a ticket opens one connection")
	require.NoError(t, resp.Body.Close())

	require.NoError(t, one.ws.Close())
	two, _ := connect(t, s)
	require.Equal(t, "hello", two.next().Type)
	again := two.next()
	require.JSONEq(t, string(kept.Payload), string(again.Payload), "and comes again")
	require.Equal(t, 1, again.Attempt)
	two.ack(again.Envelope, "")
	require.NoError(t, s.AwaitConfirmed(ctx))
	require.Empty(t, s.Violations.List())

	name, err := s.Press(press)
	require.NoError(t, err)
	click := two.next()
	two.ack(click.Envelope, `,"payload":"`+strings.Repeat("x", 20<<10)+`"`)
	two.ack("unknown", "")
	two.ack(click.Envelope, "")
	require.NoError(t, s.AwaitConfirmed(ctx))
	require.True(t, s.Taken(name))
	require.Len(t, s.Violations.List(), 2, "too long, and unknown")

	late, err := s.Press(press)
	require.NoError(t, err)
	click = two.next()
	s.Clock.Advance(4 * time.Second)
	two.ack(click.Envelope, "")
	reply, err = s.AwaitReply(ctx, late)
	require.NoError(t, err)
	require.Equal(t, slack.NotTaken, reply.Text)

	s.Refresh()
	require.Equal(t, frame{Type: "disconnect", Reason: "refresh_requested"}, two.next())
	require.NoError(t, s.AwaitConnections(ctx, 0))
}

// respond answers at a response URL.
func respond(t *testing.T, to, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := client(t).Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// pressed presses the button and returns what an answer needs.
func pressed(t *testing.T, s *slack.Server, a app) (name, trigger, response string) {
	t.Helper()
	sent := say(t, s, channel, "text", "x", "blocks", "["+button+"]")
	name, err := s.Press(slack.Press{User: olga, Message: channel + ":" + sent.TS, Label: "Deny"})
	require.NoError(t, err)
	f := a.next()
	var p struct {
		Trigger  string `json:"trigger_id"`
		Response string `json:"response_url"`
	}
	require.NoError(t, json.Unmarshal(f.Payload, &p))
	a.ack(f.Envelope, "")
	return name, p.Trigger, p.Response
}

func TestResponseURLs(t *testing.T) {
	t.Parallel()
	s := start(t)
	a, _ := connect(t, s)
	require.Equal(t, "hello", a.next().Type)
	_, _, response := pressed(t, s, a)
	const private = `{"response_type":"ephemeral","text":"ok"}`
	for range 5 {
		require.Equal(t, http.StatusOK, respond(t, response, private))
	}
	require.Equal(t, http.StatusNotFound, respond(t, response, private), "five uses")
	_, _, response = pressed(t, s, a)
	s.Clock.Advance(31 * time.Minute)
	require.Equal(t, http.StatusNotFound, respond(t, response, private), "half an hour")
	require.Empty(t, s.Violations.List())
	_, _, response = pressed(t, s, a)
	require.Equal(t, http.StatusOK, respond(t, response, `{"text":"ok","replace_original":true}`))
	require.Equal(t, http.StatusOK, respond(t, response, `{"response_type":"ephemeral","text":"<!here>"}`))
	require.Equal(t, http.StatusBadRequest, respond(t, response, `{`))
	require.Equal(t, http.StatusNotFound, respond(t, s.Host()+"/actions/nobody", private))
	require.Len(t, s.Violations.List(), 4)
}

func TestDialogs(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	s := start(t)
	a, _ := connect(t, s)
	require.Equal(t, "hello", a.next().Type)
	view := func(method string, args map[string]any) answered {
		raw, err := json.Marshal(args)
		require.NoError(t, err)
		got, _ := post(t, s, method, slack.BotToken, "application/json", string(raw))
		return got
	}
	_, trigger, _ := pressed(t, s, a)
	s.Clock.Advance(4 * time.Second)
	require.Equal(t, "expired_trigger_id", view("views.open", map[string]any{"trigger_id": trigger, "view": json.RawMessage(modal)}).Error)
	name, trigger, _ := pressed(t, s, a)
	opened := view("views.open", map[string]any{"trigger_id": trigger, "view": json.RawMessage(modal)})
	require.True(t, opened.OK)
	require.Equal(t, "exchanged_trigger_id", view("views.open", map[string]any{"trigger_id": trigger, "view": json.RawMessage(modal)}).Error)
	require.Equal(t, "invalid_trigger_id", view("views.open", map[string]any{"trigger_id": "x", "view": json.RawMessage(modal)}).Error)
	require.Equal(t, "not_found", view("views.update", map[string]any{"view_id": "V1", "view": json.RawMessage(modal)}).Error)
	require.True(t, view("views.update", map[string]any{"view_id": opened.View.ID, "view": json.RawMessage(modal)}).OK)
	require.Empty(t, s.Violations.List())

	sent, err := s.AnswerDialog(ctx, name, olga, "because")
	require.NoError(t, err)
	f := a.next()
	require.Contains(t, string(f.Payload), `"value":"because"`)
	a.ack(f.Envelope, `,"payload":"ok"`)
	require.NoError(t, s.AwaitConfirmed(ctx))
	require.True(t, s.Taken(sent))
	require.Len(t, s.Violations.List(), 1, "a body that is neither empty nor an action keeps the dialog open")

	for _, change := range [][2]string{
		{`"Note"`, `"` + strings.Repeat("x", 25) + `"`}, {`"modal"`, `"home"`}, {`"submit":{"type":"plain_text","text":"Send"},`, ""},
	} {
		before := len(s.Violations.List())
		_, trigger, _ = pressed(t, s, a)
		bad := strings.Replace(modal, change[0], change[1], 1)
		require.Equal(t, "invalid_arguments", view("views.open", map[string]any{"trigger_id": trigger, "view": json.RawMessage(bad)}).Error)
		require.Len(t, s.Violations.List(), before+1)
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	s := start(t)
	status := make(chan int, 3)
	bodies := make(chan string, 3)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		at, signature := slack.Sign(slack.Secret, s.Clock.Now(), body)
		if r.Header.Get("X-Slack-Signature") != signature || r.Header.Get("X-Slack-Request-Timestamp") != at {
			s.Violations.Add("the signature is wrong")
		}
		bodies <- r.Header.Get("Content-Type") + " " + string(body)
		w.WriteHeader(<-status)
	}))
	t.Cleanup(target.Close)
	s.PushTo(target.URL)
	status <- http.StatusOK
	name, err := s.Command(olga, channel, "pending")
	require.NoError(t, err)
	require.Contains(t, <-bodies, "application/x-www-form-urlencoded api_app_id=")
	require.Eventually(t, func() bool { return s.Taken(name) }, 10*time.Second, time.Millisecond)

	status <- http.StatusInternalServerError
	name, err = s.Command(olga, channel, "pending")
	require.NoError(t, err)
	reply, err := s.AwaitReply(ctx, name)
	require.NoError(t, err)
	require.Equal(t, slack.NotTaken, reply.Text)
	<-bodies

	status <- http.StatusServiceUnavailable
	status <- http.StatusOK
	_, err = s.Type(slack.Typed{User: olga, Channel: "D0OWNER01", Text: "hello"})
	require.NoError(t, err)
	first := <-bodies
	require.Equal(t, first, <-bodies, "an event is pushed again")
	require.Empty(t, s.Violations.List())
}
