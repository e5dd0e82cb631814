package slack_test

import (
	"context"
	"encoding/json"
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
	fake "github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/channels/slack"
	"github.com/saysohq/sayso/presentation"
)

// pushed is a room whose channel receives by signed pushes.
type pushed struct {
	room
	url string
}

func pushes(t *testing.T, change func(*slack.Config)) pushed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	s := world(t)
	ch := open(t, s, codec(t), func(c *slack.Config) {
		c.AppToken, c.App, c.SigningSecret, c.Now = "", fake.App, fake.Secret, s.Clock.Now
		if change != nil {
			change(c)
		}
	})
	server := httptest.NewServer(ch.Webhook())
	t.Cleanup(server.Close)
	s.PushTo(server.URL)
	return pushed{room{ctx, s, ch}, server.URL}
}

// receive runs the channel until the test ends, and returns when it takes pushes.
func (p pushed) receive(t *testing.T, in channels.Inbound) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.ch.Run(ctx, in) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	body := []byte("{}")
	require.Eventually(t, func() bool {
		return p.post(t, "application/json", body, nil) != http.StatusServiceUnavailable
	}, 10*time.Second, 2*time.Millisecond)
}

const formType = "application/x-www-form-urlencoded"

// post sends a body, signed rightly unless change says otherwise, and returns the status.
func (p pushed) post(t *testing.T, contentType string, body []byte, change func(*http.Request)) int {
	t.Helper()
	r, err := http.NewRequestWithContext(p.ctx, http.MethodPost, p.url, strings.NewReader(string(body)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", contentType)
	at, signature := fake.Sign(fake.Secret, p.s.Clock.Now(), body)
	r.Header.Set("X-Slack-Request-Timestamp", at)
	r.Header.Set("X-Slack-Signature", signature)
	if change != nil {
		change(r)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	return resp.StatusCode
}

// interaction is a payload of a click in the form of a push.
func interaction(t *testing.T, change func(map[string]any)) []byte {
	t.Helper()
	v := map[string]any{
		"type": "block_actions", "team": map[string]any{"id": fake.Team}, "api_app_id": fake.App,
		"user":      map[string]any{"id": owner, "team_id": fake.Team, "name": "olga"},
		"container": map[string]any{"channel_id": shared, "message_ts": "1.000001"},
		"actions":   []any{map[string]any{"action_id": "sayso.do.0", "value": "v"}},
	}
	if change != nil {
		change(v)
	}
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return []byte(url.Values{"payload": {string(raw)}}.Encode())
}

func TestPushes(t *testing.T) {
	t.Parallel()
	p := pushes(t, nil)
	in := &channeltest.Inbox{OnText: func(context.Context, channels.Text) channels.Answer { return channels.Answer{Text: "Noted."} }}
	p.receive(t, in)
	locator := p.room.post(t, shared)
	for _, person := range []string{owner, other, owner} {
		press := p.press(t, fake.Press{User: person, Message: locator, Label: "Deny"})
		require.Equal(t, "ok", p.reply(t, press))
	}
	command, err := p.s.Command(owner, shared, "pending")
	require.NoError(t, err)
	require.Equal(t, "Noted.", p.reply(t, command))
	_, err = p.s.Type(fake.Typed{User: owner, Channel: "D0OWNER01", Text: "hello"})
	require.NoError(t, err)
	texts, err := in.AwaitTexts(p.ctx, 2)
	require.NoError(t, err)
	require.Equal(t, "hello", texts[1].Text)

	in.OnClick = asking
	press := p.press(t, fake.Press{User: owner, Message: locator, Label: note})
	sent, err := p.s.AnswerDialog(p.ctx, press, owner, "no")
	require.NoError(t, err)
	require.Equal(t, "Noted.", p.reply(t, sent))
	require.Empty(t, p.s.Violations.List())
}

// Nothing of a push is read before its signature was checked, and an old one is none.
func TestSignatures(t *testing.T) {
	t.Parallel()
	p := pushes(t, nil)
	in := new(channeltest.Inbox)
	p.receive(t, in)
	body := interaction(t, nil)
	signed := func(secret string, age time.Duration, body []byte) func(*http.Request) {
		return func(r *http.Request) {
			at, signature := fake.Sign(secret, p.s.Clock.Now().Add(-age), body)
			r.Header.Set("X-Slack-Request-Timestamp", at)
			r.Header.Set("X-Slack-Signature", signature)
		}
	}
	for name, change := range map[string]func(*http.Request){
		"none":            func(r *http.Request) { r.Header.Del("X-Slack-Signature") },
		"no time":         func(r *http.Request) { r.Header.Del("X-Slack-Request-Timestamp") },
		"time is no time": func(r *http.Request) { r.Header.Set("X-Slack-Request-Timestamp", "yesterday") },
		"another time":    func(r *http.Request) { r.Header.Set("X-Slack-Request-Timestamp", "1") },
		"another secret":  signed("0123456789abcdef0123", 0, body),
		"another body":    signed(fake.Secret, 0, interaction(t, func(v map[string]any) { v["type"] = "view_submission" })),
		"too old":         signed(fake.Secret, 5*time.Minute+time.Second, body),
		"from the future": signed(fake.Secret, -5*time.Minute-time.Second, body),
		"upper case": func(r *http.Request) {
			r.Header.Set("X-Slack-Signature", strings.ToUpper(r.Header.Get("X-Slack-Signature")))
		},
		"another version": func(r *http.Request) {
			r.Header.Set("X-Slack-Signature", "v1"+strings.TrimPrefix(r.Header.Get("X-Slack-Signature"), "v0"))
		},
	} {
		require.Equal(t, http.StatusUnauthorized, p.post(t, formType, body, change), name)
	}
	require.Equal(t, http.StatusOK, p.post(t, formType, body, signed(fake.Secret, 4*time.Minute, body)))
	clicks, err := in.AwaitClicks(p.ctx, 1)
	require.NoError(t, err)
	require.Len(t, clicks, 1)
}

// The platform gets the status that it expects, whatever it sends.
func TestUnusualPushes(t *testing.T) {
	t.Parallel()
	p := pushes(t, nil)
	body := interaction(t, nil)
	require.Equal(t, http.StatusServiceUnavailable, p.post(t, formType, body, nil), "nobody receives yet")
	in := new(channeltest.Inbox)
	p.receive(t, in)
	for name, c := range map[string]struct {
		contentType string
		body        string
		status      int
	}{
		"not a form":         {formType, "a=%zz", http.StatusBadRequest},
		"nothing":            {formType, "", http.StatusBadRequest},
		"no payload":         {formType, "a=b", http.StatusBadRequest},
		"payload is no JSON": {formType, "payload=%7B", http.StatusOK},
		"payload is a list":  {formType, "payload=%5B%5D", http.StatusOK},
		"unknown kind":       {formType, "payload=" + url.QueryEscape(`{"type":"shortcut","user":{"id":"U1"},"api_app_id":"`+fake.App+`"}`), http.StatusOK},
		"command of nobody":  {formType, "command=%2Fsayso", http.StatusOK},
		"no JSON":            {"application/json", "{", http.StatusBadRequest},
		"unknown event":      {"application/json", `{"type":"app_rate_limited"}`, http.StatusOK},
		"another type":       {"text/plain", string(body), http.StatusBadRequest},
		"no type":            {"", string(body), http.StatusBadRequest},
		"too large":          {formType, strings.Repeat("x", 1<<20+1), http.StatusRequestEntityTooLarge},
	} {
		require.Equal(t, c.status, p.post(t, c.contentType, []byte(c.body), nil), name)
	}
	for _, change := range []func(map[string]any){
		func(v map[string]any) { v["api_app_id"] = "A0OTHER01" },
		func(v map[string]any) { v["actions"] = []any{} },
		func(v map[string]any) { v["actions"] = 7 },
		func(v map[string]any) { v["user"] = nil },
		func(v map[string]any) { v["actions"] = []any{map[string]any{"action_id": "sayso.link.3"}} },
	} {
		require.Equal(t, http.StatusOK, p.post(t, formType, interaction(t, change), nil))
	}
	require.Equal(t, http.StatusMethodNotAllowed, p.post(t, formType, body, func(r *http.Request) { r.Method = http.MethodGet }))
	require.Equal(t, http.StatusOK, p.post(t, formType, body, nil))
	clicks, err := in.AwaitClicks(p.ctx, 1)
	require.NoError(t, err)
	require.Len(t, clicks, 1, "of all these one was a click")
	require.Empty(t, clicks[0].Copy.Payloads)
}

// A block that nobody knows does not lose the click on another.
func TestUnknownBlocksAreSkipped(t *testing.T) {
	t.Parallel()
	p := pushes(t, nil)
	in := new(channeltest.Inbox)
	p.receive(t, in)
	body := interaction(t, func(v map[string]any) {
		v["message"] = map[string]any{"app_id": fake.App, "bot_id": fake.BotID, "blocks": []any{
			7, map[string]any{"type": "hologram", "elements": "none"}, map[string]any{"elements": []any{
				map[string]any{"type": "button", "value": "v"}, map[string]any{"type": "button"},
			}},
		}}
	})
	require.Equal(t, http.StatusOK, p.post(t, formType, body, nil))
	clicks, err := in.AwaitClicks(p.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, channels.MessageCopy{SentByUs: true, Payloads: []string{"v"}}, clicks[0].Copy)
}

// An answer says who decided what, so it goes to the platform alone.
func TestAnswersGoToThePlatformAlone(t *testing.T) {
	t.Parallel()
	p := pushes(t, nil)
	called := make(chan struct{}, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called <- struct{}{} }))
	t.Cleanup(elsewhere.Close)
	in := new(channeltest.Inbox)
	p.receive(t, in)
	for _, to := range []string{elsewhere.URL, "file:///etc/passwd", "http://hooks.example.com/x", ":", ""} {
		body := interaction(t, func(v map[string]any) { v["response_url"] = to })
		require.Equal(t, http.StatusOK, p.post(t, formType, body, nil))
	}
	_, err := in.AwaitClicks(p.ctx, 5)
	require.NoError(t, err)
	require.Empty(t, called)
}

// The platform asks once whether the URL is ours; that too is signed.
func TestChallenge(t *testing.T) {
	t.Parallel()
	p := pushes(t, nil)
	body := `{"type":"url_verification","challenge":"c-1"}`
	at, signature := fake.Sign(fake.Secret, p.s.Clock.Now(), []byte(body))
	r := httptest.NewRequestWithContext(p.ctx, http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	w := httptest.NewRecorder()
	p.ch.Webhook().ServeHTTP(w, r)
	require.Equal(t, http.StatusUnauthorized, w.Code)
	r.Header.Set("X-Slack-Request-Timestamp", at)
	r.Header.Set("X-Slack-Signature", signature)
	r.Body = io.NopCloser(strings.NewReader(body))
	w = httptest.NewRecorder()
	p.ch.Webhook().ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "c-1", w.Body.String())
}

// Where the channel receives by Socket Mode, nobody can push.
func TestSocketModeTakesNoPushes(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	r.receive(t, new(channeltest.Inbox))
	body := interaction(t, nil)
	at, signature := fake.Sign("", r.s.Clock.Now(), body)
	q := httptest.NewRequestWithContext(r.ctx, http.MethodPost, "/", strings.NewReader(string(body)))
	q.Header.Set("X-Slack-Request-Timestamp", at)
	q.Header.Set("X-Slack-Signature", signature)
	w := httptest.NewRecorder()
	r.ch.Webhook().ServeHTTP(w, q)
	require.Equal(t, http.StatusUnauthorized, w.Code)
}

// One app in several workspaces: whichever channel is handed a payload, the one of its
// workspace works on it.
func TestWorkspaces(t *testing.T) {
	t.Parallel()
	shared := new(slack.Workspaces)
	here := pushes(t, func(c *slack.Config) { c.Workspaces = shared })
	there := pushes(t, func(c *slack.Config) { c.Workspaces = shared })
	in, elsewhere := new(channeltest.Inbox), new(channeltest.Inbox)
	here.receive(t, in)
	other := interaction(t, func(v map[string]any) {
		v["team"], v["user"] = map[string]any{"id": "T0ELSE001"}, map[string]any{"id": owner, "team_id": "T0ELSE001", "name": "olga"}
	})
	require.Equal(t, http.StatusOK, here.post(t, formType, other, nil))
	clicks, err := in.AwaitClicks(here.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, "a member of another workspace", clicks[0].Actor.Refused, "nobody serves that one")

	// The same workspace again: the last to run has it, also where the first is out.
	third := pushes(t, func(c *slack.Config) { c.Workspaces = shared })
	require.Equal(t, http.StatusOK, third.post(t, formType, interaction(t, nil), nil))
	_, err = in.AwaitClicks(here.ctx, 2)
	require.NoError(t, err)
	there.receive(t, elsewhere)
	require.Eventually(t, func() bool { // Whichever takes pushes while there starts.
		require.Equal(t, http.StatusOK, here.post(t, formType, interaction(t, nil), nil))
		clicks, err = elsewhere.AwaitClicks(here.ctx, 0)
		return err == nil && len(clicks) > 0
	}, 10*time.Second, 2*time.Millisecond)
	require.Equal(t, there.ch.Ref(), clicks[0].Account)
}

// Whatever comes, it is decoded without a panic, and what cannot be read decides
// nothing.
func FuzzRead(f *testing.F) {
	for _, kind := range []string{"interactive", "slash_commands", "events_api", "?"} {
		for _, seed := range []string{
			"", "{}", `{"type":"block_actions","user":{"id":"U1"},"actions":[{"value":"v"}],"message":{"blocks":[{"elements":[{}]}]}}`,
			`{"type":"view_submission","user":{"id":"U1"},"view":{"callback_id":"sayso.prompt","state":{"values":{"sayso.text":{"sayso.input":{"value":"x"}}}}}}`,
			`{"type":"event_callback","event":{"type":"message","channel_type":"im","user":"U1","text":"x","ts":"1.1"}}`,
			`{"user_id":"U1","text":"approve"}`, "null", "[1]",
		} {
			f.Add(kind, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, kind string, raw []byte) {
		concerns, err := slack.Read(kind, raw)
		require.False(t, concerns && err != nil)
	})
}

// The handler answers any push, signed or not, with one of the statuses that it
// documents.
func FuzzWebhook(f *testing.F) {
	now := time.Unix(1_700_000_000, 0)
	ch, err := slack.New(slack.Config{
		BotToken: fake.BotToken, Team: fake.Team, App: fake.App, SigningSecret: fake.Secret, Now: func() time.Time { return now },
	}, nil)
	require.NoError(f, err)
	f.Add("application/json", []byte(`{"type":"url_verification","challenge":"x"}`), true)
	f.Add(formType, []byte("payload=%7B%7D"), true)
	f.Add(formType, []byte("command=x"), false)
	f.Fuzz(func(t *testing.T, contentType string, body []byte, signed bool) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", contentType)
		if signed {
			at, signature := fake.Sign(fake.Secret, now, body)
			r.Header.Set("X-Slack-Request-Timestamp", at)
			r.Header.Set("X-Slack-Signature", signature)
		}
		w := httptest.NewRecorder()
		ch.Webhook().ServeHTTP(w, r)
		require.Equal(t, !signed, w.Code == http.StatusUnauthorized)
		require.Contains(t, []int{
			http.StatusOK, http.StatusUnauthorized, http.StatusBadRequest, http.StatusServiceUnavailable, http.StatusRequestEntityTooLarge,
		}, w.Code)
		require.NotEqual(t, presentation.AnswerUnclear, w.Body.String())
	})
}
