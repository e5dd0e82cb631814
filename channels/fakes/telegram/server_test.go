package telegram_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/channels/fakes/telegram"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	person = int64(11)
	group  = int64(-1_001_000_000_001)
)

func start(t *testing.T, cfg telegram.Config) *telegram.Server {
	t.Helper()
	s, err := telegram.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	s.AddUser(person, "Pia", "pia")
	s.AddGroup(group, "g")
	s.AddTopic(group, 42)
	s.Change(person, func(c *telegram.Chat) { c.Started = true })
	return s
}

type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// post may run in any goroutine: it asserts nothing.
func post(t *testing.T, s *telegram.Server, method, contentType, body string) (answer, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/bot"+s.Token()+"/"+method, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", contentType)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	var a answer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return answer{}, err
	}
	if a.OK != (resp.StatusCode == http.StatusOK) {
		return answer{}, errors.New("status and body disagree")
	}
	return a, nil
}

// call posts JSON.
func call(t *testing.T, s *telegram.Server, method string, params map[string]any) answer {
	t.Helper()
	body, err := json.Marshal(params)
	require.NoError(t, err)
	a, err := post(t, s, method, "application/json", string(body))
	require.NoError(t, err)
	return a
}

type params = map[string]any

func send(t *testing.T, s *telegram.Server, chat int64, more params) string {
	t.Helper()
	p := params{"chat_id": chat, "text": "hello"}
	maps.Copy(p, more)
	a := call(t, s, "sendMessage", p)
	require.True(t, a.OK, a.Description)
	var m struct {
		ID int `json:"message_id"`
	}
	require.NoError(t, json.Unmarshal(a.Result, &m))
	return fmt.Sprintf("%d:%d", chat, m.ID)
}

func buttons(data ...string) params {
	var row []any
	for _, d := range data {
		row = append(row, params{"text": "b " + d, "callback_data": d, "copy_text": params{"text": ""}})
	}
	return params{"inline_keyboard": []any{row}}
}

// TestEncodings: the three encodings of the API, and empty multipart bodies.
func TestEncodings(t *testing.T) {
	t.Parallel()
	s := start(t, telegram.Config{})
	a, err := post(t, s, "sendMessage", "application/x-www-form-urlencoded", url.Values{"chat_id": {"11"}, "text": {"a&b"}}.Encode())
	require.NoError(t, err)
	require.True(t, a.OK)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	require.NoError(t, w.WriteField("chat_id", "11"))
	require.NoError(t, w.WriteField("text", "c"))
	require.NoError(t, w.WriteField("reply_markup", `{"inline_keyboard":[]}`))
	require.NoError(t, w.Close())
	a, err = post(t, s, "sendMessage", w.FormDataContentType(), body.String())
	require.NoError(t, err)
	require.True(t, a.OK)
	require.True(t, call(t, s, "sendMessage", params{"chat_id": 11, "text": "d"}).OK)
	a, err = post(t, s, "getMe", "multipart/form-data; boundary=x", "")
	require.NoError(t, err)
	require.True(t, a.OK)
	var texts []string
	for _, m := range s.Messages() {
		texts = append(texts, m.Text)
	}
	require.Equal(t, []string{"a&b", "c", "d"}, texts)
	require.Empty(t, s.Violations.List())
}

// TestLimits: every limit is refused and recorded, at its edge.
func TestLimits(t *testing.T) {
	t.Parallel()
	entity := func(offset, length int) []any {
		return []any{params{"type": "bold", "offset": offset, "length": length}}
	}
	markup := func(b params) params { return params{"inline_keyboard": []any{[]any{b}}} }
	wide := make([]string, 9)
	for i := range wide {
		wide[i] = "x"
	}
	for name, c := range map[string]struct {
		params params
		fine   bool
	}{
		"4096 units":         {params{"text": strings.Repeat("𝒳", 2048)}, true},
		"4097 units":         {params{"text": strings.Repeat("𝒳", 2048) + "x"}, false},
		"empty text":         {params{"text": " \n"}, false},
		"leading space":      {params{"text": " x"}, false},
		"entity at the end":  {params{"text": "a𝒳", "entities": entity(1, 2)}, true},
		"entity beyond":      {params{"text": "a𝒳", "entities": entity(1, 3)}, false},
		"entity in a pair":   {params{"text": "a𝒳", "entities": entity(0, 2)}, false},
		"entity of nothing":  {params{"text": "a", "entities": entity(0, 0)}, false},
		"entity unknown":     {params{"text": "a", "entities": []any{params{"type": "mention", "offset": 0, "length": 1}}}, false},
		"code in bold":       {params{"text": "abc", "entities": []any{params{"type": "bold", "offset": 0, "length": 3}, params{"type": "code", "offset": 1, "length": 1}}}, false},
		"parse mode":         {params{"text": "a", "parse_mode": "HTML"}, false},
		"data of 64":         {params{"text": "a", "reply_markup": buttons(strings.Repeat("é", 32))}, true},
		"data of 65":         {params{"text": "a", "reply_markup": buttons(strings.Repeat("é", 32) + "x")}, false},
		"data of none":       {params{"text": "a", "reply_markup": buttons("")}, false},
		"nine in a row":      {params{"text": "a", "reply_markup": buttons(wide...)}, false},
		"link to localhost":  {params{"text": "a", "reply_markup": markup(params{"text": "r", "url": "http://localhost:1/x"})}, false},
		"link to an address": {params{"text": "a", "reply_markup": markup(params{"text": "r", "url": "http://127.0.0.1:1/x"})}, true},
		"link to javascript": {params{"text": "a", "reply_markup": markup(params{"text": "r", "url": "javascript:x"})}, false},
		"button of nothing":  {params{"text": "a", "reply_markup": markup(params{"text": "r", "copy_text": params{"text": ""}})}, false},
		"label of nothing":   {params{"text": "a", "reply_markup": markup(params{"text": " ", "callback_data": "x"})}, false},
		"unknown style":      {params{"text": "a", "reply_markup": markup(params{"text": "r", "callback_data": "x", "style": "pink"})}, false},
		"web app in a chat":  {params{"text": "a", "reply_markup": markup(params{"text": "r", "web_app": params{"url": "https://a.b"}})}, true},
		"markup null":        {params{"text": "a", "reply_markup": "null"}, false},
		"placeholder of 65":  {params{"text": "a", "reply_markup": params{"force_reply": true, "input_field_placeholder": strings.Repeat("p", 65)}}, false},
	} {
		s := start(t, telegram.Config{})
		c.params["chat_id"] = person
		a := call(t, s, "sendMessage", c.params)
		require.Equal(t, c.fine, a.OK, "%s: %s", name, a.Description)
		require.Equal(t, c.fine, len(s.Violations.List()) == 0, name)
	}
}

// TestStates: refusals that are no fault of the caller.
func TestStates(t *testing.T) {
	t.Parallel()
	s := start(t, telegram.Config{})
	s.AddUser(12, "Never", "")
	text := func(chat int64, thread int) answer {
		p := params{"chat_id": chat, "text": "x"}
		if thread != 0 {
			p["message_thread_id"] = thread
		}
		return call(t, s, "sendMessage", p)
	}
	require.Contains(t, text(12, 0).Description, "chat not found")
	require.Contains(t, text(999, 0).Description, "chat not found")
	require.Contains(t, text(group, 1).Description, "thread not found")
	require.Contains(t, text(group, 7).Description, "thread not found")
	require.True(t, text(group, 42).OK)
	s.CloseTopic(group, 42)
	require.Contains(t, text(group, 42).Description, "TOPIC_CLOSED")
	s.DeleteTopic(group, 42, true)
	require.True(t, text(group, 42).OK)
	s.Change(person, func(c *telegram.Chat) { c.Blocked = true })
	require.Equal(t, 403, text(person, 0).Code)
	s.Migrate(group, group-1)
	require.Equal(t, group-1, text(group, 0).Parameters.MigrateTo)
	require.True(t, text(group-1, 0).OK)
	s.Change(group-1, func(c *telegram.Chat) { c.Kicked = true })
	require.Contains(t, text(group-1, 0).Description, "kicked")
	s.Revoke()
	require.Equal(t, 401, text(person, 0).Code)
	require.Empty(t, s.Violations.List())
}

func TestEditing(t *testing.T) {
	t.Parallel()
	s := start(t, telegram.Config{})
	locator := send(t, s, person, params{"reply_markup": buttons("a")})
	edit := func(locator string, more params) answer {
		p := params{"chat_id": person, "message_id": strings.Split(locator, ":")[1], "text": "hello"}
		maps.Copy(p, more)
		return call(t, s, "editMessageText", p)
	}
	require.Contains(t, edit(locator, params{"reply_markup": buttons("a")}).Description, "message is not modified")
	require.True(t, edit(locator, nil).OK, "without a keyboard the old one goes")
	m, ok := s.Message(locator)
	require.True(t, ok)
	require.Empty(t, m.Buttons)
	require.Equal(t, []string{"hello", "hello"}, m.History)
	require.Contains(t, edit("11:99", nil).Description, "message to edit not found")
	asks := send(t, s, person, params{"reply_markup": params{"force_reply": true}})
	require.Contains(t, edit(asks, params{"text": "x"}).Description, "can't be edited")
	theirs, err := s.Type(telegram.Typed{User: person, Chat: person, Text: "hi"})
	require.NoError(t, err)
	require.Contains(t, edit(theirs, params{"text": "x"}).Description, "can't be edited")
	require.True(t, call(t, s, "deleteMessage", params{"chat_id": person, "message_id": strings.Split(locator, ":")[1]}).OK)
	require.Contains(t, edit(locator, params{"text": "x"}).Description, "message to edit not found")
}

type update struct {
	ID    int64 `json:"update_id"`
	Query *struct {
		ID   string `json:"id"`
		Data string `json:"data"`
	} `json:"callback_query"`
}

func poll(t *testing.T, s *telegram.Server, p params) []update {
	t.Helper()
	a := call(t, s, "getUpdates", p)
	require.True(t, a.OK, a.Description)
	var list []update
	require.NoError(t, json.Unmarshal(a.Result, &list))
	return list
}

// TestOffsets: an update stays until a higher offset confirms it, and queries age.
func TestOffsets(t *testing.T) {
	t.Parallel()
	s := start(t, telegram.Config{})
	locator := send(t, s, person, params{"reply_markup": buttons("a")})
	for range 3 {
		_, err := s.Press(telegram.Press{User: person, Message: locator, Label: "b a"})
		require.NoError(t, err)
	}
	first := poll(t, s, params{})
	require.Len(t, first, 3)
	require.Len(t, poll(t, s, params{"offset": first[0].ID}), 3, "the same offset confirms nothing")
	require.Len(t, poll(t, s, params{"offset": first[1].ID}), 2)
	require.Len(t, poll(t, s, params{"limit": 1}), 1)
	require.Equal(t, 2, s.Unconfirmed())
	s.Clock.Advance(150 * time.Second)
	require.Len(t, poll(t, s, params{}), 2)
	s.Clock.Advance(time.Second)
	require.Empty(t, poll(t, s, params{}))

	poll(t, s, params{"allowed_updates": []string{"message"}})
	_, err := s.Press(telegram.Press{User: person, Message: locator, Label: "b a"})
	require.NoError(t, err)
	require.Empty(t, poll(t, s, params{}), "the list is remembered")
}

func TestOnePoller(t *testing.T) {
	t.Parallel()
	s := start(t, telegram.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	lost := make(chan answer, 1)
	go func() {
		a, err := post(t, s, "getUpdates", "application/json", `{"timeout":30}`)
		if err == nil {
			lost <- a
		}
	}()
	_, err := s.AwaitCalls(ctx, "getUpdates", 1)
	require.NoError(t, err)
	for len(lost) == 0 { // The first may not wait yet when the second comes.
		require.True(t, call(t, s, "getUpdates", params{}).OK)
	}
	require.Equal(t, 409, (<-lost).Code)
	s.SetWebhook("https://a.example/x")
	require.Equal(t, 409, call(t, s, "getUpdates", params{}).Code)
	require.True(t, call(t, s, "deleteWebhook", params{}).OK)
	require.True(t, call(t, s, "getUpdates", params{}).OK)
}

func TestAnswersOnceAndInTime(t *testing.T) {
	t.Parallel()
	s := start(t, telegram.Config{})
	locator := send(t, s, person, params{"reply_markup": buttons("a")})
	press := func() string {
		q, err := s.Press(telegram.Press{User: person, Message: locator, Label: "b a"})
		require.NoError(t, err)
		return q
	}
	q := press()
	answer := func(q, text string) answer {
		return call(t, s, "answerCallbackQuery", params{"callback_query_id": q, "text": text, "show_alert": true})
	}
	require.True(t, answer(q, "one").OK)
	require.Empty(t, s.Violations.List())
	require.Contains(t, answer(q, "two").Description, "query is too old")
	require.Len(t, s.Violations.List(), 1)
	reply, err := s.AwaitReply(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, fakes.Reply{Text: "one", Alert: true}, reply)

	late := press()
	s.Clock.Advance(61 * time.Second)
	require.Contains(t, answer(late, "x").Description, "query is too old")
	require.Contains(t, answer("none", "x").Description, "query is too old")
	require.Len(t, s.Violations.List(), 1)
	require.False(t, answer(press(), strings.Repeat("x", 201)).OK)

	again := press()
	require.True(t, answer(again, "x").OK)
	require.NoError(t, s.Redeliver(again, telegram.Press{User: person, Message: locator, Label: "b a"}))
	require.False(t, answer(again, "x").OK, "too late, but no fault of the caller")
	require.Len(t, s.Violations.List(), 2)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := start(t, telegram.Config{})
	s.Script.Add(fakes.Fault{Kind: fakes.FaultRateLimit, Op: fakes.OpSend, Address: "11", Delay: 1500 * time.Millisecond})
	s.Script.Add(fakes.Fault{Kind: fakes.FaultServerError, Op: fakes.OpSend})
	s.Script.Add(fakes.Fault{Kind: fakes.FaultResetAfter, Op: fakes.OpSend})
	require.Equal(t, 500, call(t, s, "sendMessage", params{"chat_id": group, "text": "x"}).Code)
	limited := call(t, s, "sendMessage", params{"chat_id": person, "text": "x"})
	require.Equal(t, 429, limited.Code)
	require.Equal(t, 2, limited.Parameters.RetryAfter, "whole seconds, rounded up")
	_, err := post(t, s, "sendMessage", "application/json", `{"chat_id":11,"text":"x"}`)
	require.Error(t, err)
	require.Len(t, s.Messages(), 1, "it arrived all the same")
	hold := s.Script.Add(fakes.Fault{Kind: fakes.FaultHold, Op: fakes.OpSend})
	done := make(chan bool, 1)
	go func() {
		a, err := post(t, s, "sendMessage", "application/json", `{"chat_id":11,"text":"x"}`)
		done <- err == nil && a.OK
	}()
	<-hold.Hit()
	require.Len(t, s.Messages(), 1)
	hold.Release()
	require.True(t, <-done)
	require.Len(t, s.Messages(), 2)
}

const smallSpec = `{"methods":{"sendMessage":{"fields":[
 {"name":"chat_id","types":["Integer","String"],"required":true},{"name":"text","types":["String"],"required":true},
 {"name":"message_thread_id","types":["Integer"],"required":false},
 {"name":"reply_markup","types":["Markup","Other"],"required":false}]}},
 "types":{"Markup":{"fields":[{"name":"inline_keyboard","types":["Array of Array of Button"],"required":true}]},
 "Other":{"fields":[{"name":"force_reply","types":["Boolean"],"required":true}]},
 "Button":{"fields":[{"name":"text","types":["String"],"required":true},{"name":"callback_data","types":["String"],"required":false},{"name":"copy_text","types":["Copy"],"required":false}]},
 "Copy":{"fields":[{"name":"text","types":["String"],"required":true}]}}}`

// TestSpecification: unknown, missing and mistyped, at any depth.
func TestSpecification(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "telegram"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "telegram", "bot-api.json"), []byte(smallSpec), 0o600))
	for body, want := range map[string]string{
		`{"chat_id":11,"text":"x","reply_markup":{"inline_keyboard":[[{"text":"a","callback_data":"b","copy_text":{"text":""}}]]}}`: "",
		`{"chat_id":11,"text":"x","parse":"y"}`:                 "unknown parameter parse",
		`{"chat_id":11}`:                                        "missing parameter text",
		`{"chat_id":11,"text":"x","message_thread_id":"seven"}`: "message_thread_id: no Integer",
		`{"chat_id":11,"text":"x","reply_markup":{"inline_keyboard":[[{"callback_data":"b"}]]}}`:                "missing field text",
		`{"chat_id":11,"text":"x","reply_markup":{"inline_keyboard":[[{"text":"a","colour":"b"}]]}}`:            "unknown field colour",
		`{"chat_id":11,"text":"x","reply_markup":{"inline_keyboard":[{"text":"a"}]}}`:                           "no array",
		`{"chat_id":11,"text":"x","reply_markup":{"force_reply":"yes"}}`:                                        "no Boolean",
		`{"chat_id":11,"text":"x","reply_markup":"{\"inline_keyboard\":[[{\"text\":7,\"callback_data\":1}]]}"}`: "no String",
	} {
		s := start(t, telegram.Config{Specs: folder})
		a, err := post(t, s, "sendMessage", "application/json", body)
		require.NoError(t, err)
		if want == "" {
			require.True(t, a.OK, a.Description)
			require.Empty(t, s.Violations.List())
			continue
		}
		require.False(t, a.OK, body)
		require.Contains(t, strings.Join(s.Violations.List(), "\n"), want, body)
	}
	_, err := telegram.Start(telegram.Config{Specs: t.TempDir()})
	require.Error(t, err)
}

func TestWebhookRules(t *testing.T) {
	t.Parallel()
	s := start(t, telegram.Config{})
	for _, bad := range []params{
		{"url": "http://a.example/x"}, {"url": "https://a.example:8080/x"}, {"url": "https://a.example/x", "secret_token": "no spaces"},
	} {
		require.False(t, call(t, s, "setWebhook", bad).OK)
	}
	require.Len(t, s.Violations.List(), 3)
}

// flaky is a webhook that fails at first and notes who was served when.
type flaky struct {
	served chan string
	fails  map[string]int
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	var u update
	if err := json.NewDecoder(r.Body).Decode(&u); err != nil {
		return nil, err
	}
	status := http.StatusOK
	if f.fails[u.Query.Data] > 0 {
		f.fails[u.Query.Data]--
		status = http.StatusInternalServerError
	}
	f.served <- fmt.Sprint(u.Query.Data, " ", status)
	return &http.Response{StatusCode: status, Body: http.NoBody}, nil
}

// TestWebhookSerialises: the updates of one user wait for the one that fails.
func TestWebhookSerialises(t *testing.T) {
	t.Parallel()
	hook := &flaky{served: make(chan string, 10), fails: map[string]int{"a1": 2}}
	s := start(t, telegram.Config{Webhook: hook})
	locator := send(t, s, person, params{"reply_markup": buttons("x")})
	for _, data := range []string{"a1", "a2", "a3"} {
		_, err := s.Press(telegram.Press{User: person, Message: locator, Data: data})
		require.NoError(t, err)
	}
	require.NoError(t, s.Register("https://a.example/x", "secret"))
	var got []string
	for range 5 {
		got = append(got, <-hook.served)
	}
	require.Equal(t, []string{"a1 500", "a1 500", "a1 200", "a2 200", "a3 200"}, got)
	require.NoError(t, s.AwaitConfirmed(t.Context()))
}

// answering answers each query that it is handed, and fails at first, as a replica does
// that dies between the two.
type answering struct {
	t     *testing.T
	s     *telegram.Server
	fails int
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	var u update
	if err := json.NewDecoder(r.Body).Decode(&u); err != nil {
		return nil, err
	}
	call(a.t, a.s, "answerCallbackQuery", params{"callback_query_id": u.Query.ID})
	status := http.StatusOK
	if a.fails > 0 {
		a.fails--
		status = http.StatusBadGateway
	}
	return &http.Response{StatusCode: status, Body: http.NoBody}, nil
}

// TestWebhookRepeats: what was handed out again may be answered again; only the first
// answer counts.
func TestWebhookRepeats(t *testing.T) {
	t.Parallel()
	hook := &answering{t: t, fails: 2}
	s := start(t, telegram.Config{Webhook: hook})
	hook.s = s
	locator := send(t, s, person, params{"reply_markup": buttons("x")})
	q, err := s.Press(telegram.Press{User: person, Message: locator, Data: "a"})
	require.NoError(t, err)
	require.NoError(t, s.Register("https://a.example/x", "secret"))
	require.NoError(t, s.AwaitConfirmed(t.Context()))
	_, err = s.AwaitReply(t.Context(), q)
	require.NoError(t, err)
	require.Empty(t, s.Violations.List())
}
