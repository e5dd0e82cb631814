package app_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// marks makes secrets that cannot be mistaken for anything else, and remembers
// where each was written.
type marks struct {
	where map[string]string // By the mark, in lower case.
	// names are marks in what the caller names things with. The record keeps those
	// as they are, because they are compared; nobody else is told.
	names map[string]string
}

// new is a secret for one place. It looks random, as secrets do.
func (m *marks) new(where string) string {
	s := fmt.Sprintf("Zq9h%03dXkP7Qw3Rt5Yv", len(m.where))
	m.where[strings.ToLower(s)] = where
	return s
}

// name is a mark in something that the caller names.
func (m *marks) name(where string) string {
	s := fmt.Sprintf("name-%03d-qZ7", len(m.names))
	m.names[strings.ToLower(s)] = where
	return s
}

// known remembers a secret that the service made.
func (m *marks) known(secret, where string) { m.where[strings.ToLower(secret)] = where }

// basic is the value of Basic authentication with a marked password.
func (m *marks) basic(where string) string {
	b := base64.StdEncoding.EncodeToString([]byte("u:" + m.new(where)))
	m.known(strings.TrimRight(b, "="), where+", as base64")
	return b
}

// leaks lists the places whose mark stands in the text.
func leaks(marks map[string]string, text string) []string {
	text = strings.ToLower(text)
	var found []string
	for mark, where := range marks {
		if strings.Contains(text, mark) {
			found = append(found, where)
		}
	}
	slices.Sort(found)
	return found
}

// secretArguments puts secrets into arguments in every form that is redacted: by
// name at every depth, by form inside strings, by published shape (R92, K37).
func secretArguments(m *marks) map[string]any {
	deep := any(map[string]any{"apiKey": m.new("name at depth 40")})
	for range 40 {
		deep = map[string]any{"next": []any{deep}}
	}
	args := map[string]any{
		"token":   m.new("name at the top"),
		"nested":  map[string]any{"db": map[string]any{"password": m.new("name at depth 3"), "PRIVATE_KEY": m.new("upper-case name")}},
		"deep":    deep,
		"secret":  map[string]any{"inner": []any{m.new("below a secret object")}},
		"headers": []any{map[string]any{"name": "X-Api-Key", "value": m.new("header as name and value")}, []any{"Cookie", m.new("header as a pair")}},
		"credentials": []any{
			m.new("list below a secret name"), 17,
		},
		"url":   "https://user:" + m.new("user-info of a URL") + "@example.com/a?x=1",
		"text":  "see ftp://a:" + m.new("user-info, first of two") + "@h/ and https://b:" + m.new("user-info, second of two") + "@h/",
		"query": "https://example.com/?access_token=" + m.new("token in a query") + "&page=2",
		"auth":  "x auth: Bearer " + m.new("bearer as a value"),
		"xml":   "<a><password>" + m.new("XML element") + "</password></a>",
		"link":  "https://example.com/o?X-Amz-Signature=" + m.new("presigned URL") + "&x=1",
		"code":  "headers.set('X-Api-Key', '" + m.new("header set by a call") + "')",
		"note":  "Authorization: Bearer " + m.new("Authorization in a string"),
		"log":   "GET / HTTP/1.1\r\nCookie: sid=" + m.new("first cookie") + "; other=" + m.new("second cookie") + "\r\nProxy-Authorization: Basic " + m.basic("Basic in a string"),
		"env":   "export DB_PASSWORD=" + m.new("assignment in a string") + " && run",
		"json":  `{"a":{"client_secret":"` + m.new("JSON inside a string") + `"}}`,
		"split": "Bea\u200brer " + m.new("split by a hidden character"),
		"pem":   "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(m.new("PEM block"), 4) + "\n-----END PRIVATE KEY-----",
		"DB_PASSWORD=" + m.new("assignment as a name"): 1,
	}
	for name, value := range shapedSecrets(m, "argument") {
		args["shape "+name] = "use " + value + " now"
	}
	return args
}

// rawValue is no secret: it may be shown, but only in the projection and the detail.
// The arguments as they were sent, and in the canonical form that is hashed, are
// nowhere.
const (
	rawValue           = "plain-value-7"
	rawArguments       = `{ "to" :"` + rawValue + `",  "cc":[ "b","a"] }`
	compactArguments   = `{"to":"` + rawValue + `","cc":["b","a"]}`
	canonicalArguments = `{"cc":["b","a"],"to":"` + rawValue + `"}`
)

// shapedSecrets are tokens of published shapes.
func shapedSecrets(m *marks, where string) map[string]string {
	tail := func(shape string) string { return m.new(where + ": " + shape) }
	return map[string]string{
		"github":   "ghp_" + tail("ghp_") + "0123456789abcdef",
		"slack":    "xoxb-1234567890-" + tail("xoxb-"),
		"openai":   "sk-proj-" + tail("sk-"),
		"stripe":   "sk_live_" + tail("sk_live_"),
		"gitlab":   "glpat-" + tail("glpat-"),
		"jwt":      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx" + tail("JWT") + ".c2lnbmF0dXJl",
		"telegram": "7000000009:AAF" + tail("Telegram bot") + "0123456789abc",
		"runtime":  "sayso_rt_" + tail("our own runtime token"),
		"session":  "sayso_ss_" + tail("our own session"),
	}
}

// secretCommands are commands with secrets in flags, headers, user-info and
// assignments, as argv and as one line.
func secretCommands(m *marks) []map[string]any {
	return []map[string]any{
		{
			"argv": []any{
				"curl", "-H", "Authorization: Bearer " + m.new("argv header"), "--password", m.new("flag and argument"),
				"--api-key=" + m.new("flag with ="), "-u", "me:" + m.new("curl -u"), "PGPASSWORD=" + m.new("assignment in argv"),
				"https://u:" + m.new("user-info in argv") + "@example.com", "--cookie", "sid=" + m.new("cookie flag"),
			},
			"env": map[string]any{"ANYTHING": m.new("environment value"), "API_TOKEN": m.new("environment token")},
		},
		{
			"command": "API_TOKEN=" + m.new("assignment before a command") + " deploy --token " + m.new("flag in a line") +
				" ; docker login -p " + m.new("short flag in a line") + " ; mysql -p" + m.new("attached flag in a line") +
				" | curl -H 'Cookie: a=" + m.new("cookie in a line") + "' https://x:" + m.new("user-info in a line") + "@example.com",
			"env": []any{"DATABASE_URL=" + m.new("environment list")},
		},
		{"argv": []any{"/usr/bin/sshpass", "-p", m.new("short flag in argv"), "ssh", "h"}},
		{"argv": []any{"mysql", "-u", "me", "-p" + m.new("attached flag in argv"), "db"}},
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// TestNoSecretIsKeptOrShown writes secrets through every surface of the running
// service and looks for them in everything that it keeps, logs, answers and sends
// (R7, R92-R97, R201, R216, K20, K24, K27, K37; conformance 1, 54, 75, 102, 119).
func TestNoSecretIsKeptOrShown(t *testing.T) {
	t.Parallel()
	m := &marks{where: map[string]string{}, names: map[string]string{}}
	r := start(t, folder(t))
	m.known(r.first, "first sign-in code")
	m.known(r.machine, "local bearer")
	m.known(r.bot.Token()[strings.IndexByte(r.bot.Token(), ':')+1:], "the bot's token")
	h := hunt{running: r, marks: m}
	r.signIn(t, "Ann ghp_"+m.new("person's name")+"0123456789")
	m.known(r.bearer(t), "browser session")
	r.link(t)
	h.actions(t)
	h.notes(t)
	h.grants(t)
	h.signIns(t)
	h.refused(t)
	h.typedByStrangers(t)
	h.pages(t)
	h.search(t)
}

// hunt is the running service and the secrets that went into it.
type hunt struct {
	*running
	*marks
	metrics string
}

// shaped is one secret of a shape that every text field hides.
func (h *hunt) shaped(where string) string {
	return "ghp_" + h.new(where) + "0123456789abcdef"
}

// question is an ask whose every text holds a secret; the title ends with the tag,
// by which its cards are found.
func (h *hunt) question(kind, tag string, arguments any) map[string]any {
	return map[string]any{
		"kind": kind, "title": "Use " + h.shaped("title "+tag) + " " + tag,
		"agent": h.shaped("agent " + tag), "risk": "password=" + h.new("risk "+tag),
		"session_key": h.name("session " + tag), "run_id": h.name("run " + tag), "frame_id": h.name("frame " + tag),
		"group": h.name("group " + tag), "caused_by": h.name("cause " + tag), "audience": []any{h.name("audience " + tag)},
		"idempotency_key": h.name("key " + tag),
		"details":         map[string]any{"info": "Bearer " + h.new("details "+tag), "token": h.new("details by name " + tag)},
		"operation": map[string]any{
			"id": h.name("operation id " + tag), "type": h.name("operation type " + tag),
			"tool": "tool-" + h.shaped("tool "+tag), "operation": h.shaped("operation " + tag),
			"summary": "with token=" + h.new("summary "+tag), "arguments": arguments,
		},
	}
}

// opened asks and waits until both cards are recorded as shown.
func (h *hunt) opened(t *testing.T, question map[string]any) api.Approval {
	t.Helper()
	return h.shown(t, h.ask(t, encode(t, question)))
}

// actions asks about every kind of action, and repeats one.
func (h *hunt) actions(t *testing.T) {
	t.Helper()
	args := secretArguments(h.marks)
	for tag, ask := range map[string]map[string]any{
		"every-form":  h.question("plugin", "every-form", args),
		"as-a-list":   h.question("plugin", "as-a-list", []any{args}),
		"as-a-string": h.question("plugin", "as-a-string", encode(t, args)),
		"beyond-64k":  h.question("plugin", "beyond-64k", map[string]any{"long": strings.Repeat("word ", 20_000), "token": h.new("behind a long text"), "args": args}),
		"argv":        h.question("exec", "argv", secretCommands(h.marks)[0]),
		"line":        h.question("exec", "line", secretCommands(h.marks)[1]),
		"short":       h.question("exec", "short", secretCommands(h.marks)[2]),
		"attached":    h.question("exec", "attached", secretCommands(h.marks)[3]),
		"raw":         h.question("plugin", "raw", json.RawMessage(rawArguments)),
	} {
		// The encoder compacts raw JSON: the spelling is put in afterwards.
		a := h.shown(t, h.ask(t, strings.Replace(encode(t, ask), compactArguments, rawArguments, 1)))
		h.await(t, ann, tag)
		h.await(t, team, tag)
		detail := send[api.Detail](t, h.running, http.StatusOK, call{method: http.MethodGet, path: "/v1/approvals/" + a.ID + "/detail", bearer: h.bearer(t)})
		require.True(t, tag == "raw" || strings.Contains(detail.Text, "[hidden]"), tag)
		ask["operation"].(map[string]any)["summary"] = "another " + h.shaped("summary of a conflict")
		conflict := h.do(t, call{method: http.MethodPost, path: "/v1/approvals", bearer: h.machine, body: encode(t, ask)})
		require.Equal(t, http.StatusConflict, conflict.status)
	}
}

// notes denies in every place that takes a note, and replies instead of answering.
func (h *hunt) notes(t *testing.T) {
	t.Helper()
	simple := map[string]any{"to": "ann"}
	note := func(where string) string {
		return "no: " + h.shaped("note "+where) + " and password=" + h.new("assignment in note "+where)
	}

	page := h.opened(t, h.question("plugin", "note-page", simple))
	form := h.form(t, page.ID)
	form.Set("decision", "deny")
	form.Set("note", note("page"))
	require.Equal(t, http.StatusSeeOther, h.post(t, "/approve/"+page.ID, form).status)

	called := h.opened(t, h.question("plugin", "note-api", simple))
	send[api.Resolved](t, h.running, http.StatusOK, call{
		method: http.MethodPost, path: "/v1/approvals/" + called.ID + "/resolve", bearer: h.bearer(t),
		body: encode(t, api.Resolve{Kind: core.KindPlugin, Decision: core.DecisionDeny, Note: note("API"), DecisionKey: "k1"}),
	})

	prompted := h.opened(t, h.question("plugin", "note-prompt", simple))
	h.press(t, fake.Press{User: ann, Message: h.await(t, ann, "note-prompt").Locator, Label: "Deny with a note"})
	prompt := h.awaitMessage(t, func(m fakes.Message) bool { return m.Asks })
	h.typed(t, fake.Typed{User: ann, Chat: ann, Text: note("prompt"), ReplyTo: prompt.Locator})
	h.ended(t, prompted.ID)

	replied := h.opened(t, h.question("plugin", "note-reply", simple))
	h.typed(t, fake.Typed{User: ann, Chat: ann, Text: note("plain reply"), ReplyTo: h.await(t, ann, "note-reply").Locator})
	h.ended(t, replied.ID)

	command := h.opened(t, h.question("plugin", "note-command", simple))
	h.typed(t, fake.Typed{User: ann, Chat: ann, Text: "/deny " + command.ID + " " + note("command")})
	h.ended(t, command.ID)

	q := h.question("plugin", "note-run", simple)
	q["run_id"] = "run-1"
	run := h.opened(t, q)
	send[api.Replied](t, h.running, http.StatusOK, call{
		method: http.MethodPost, path: "/v1/runs/run-1/reply", body: encode(t, api.Reply{MessageID: "m1", Text: note("message")}),
	})
	h.ended(t, run.ID)
	for _, id := range []string{page.ID, called.ID, prompted.ID, replied.ID, command.ID, run.ID} {
		a := h.get(t, id)
		require.Equal(t, core.StatusDenied, a.Status)
		require.Contains(t, a.Note, "[hidden]", "the note itself must be there")
	}
}

// grants allows, claims and reports.
func (h *hunt) grants(t *testing.T) {
	t.Helper()
	a := h.opened(t, h.question("plugin", "granted", map[string]any{"to": "ann"}))
	h.press(t, fake.Press{User: ann, Message: h.await(t, ann, "granted").Locator, Label: "Allow once"})
	require.Equal(t, core.StatusAllowed, h.get(t, a.ID).Status)
	token := h.new("claim token")
	claim := func(token string) answer {
		return h.do(t, call{
			method: http.MethodPost, path: "/v1/approvals/" + a.ID + "/claim", bearer: h.machine,
			body: encode(t, api.Claim{ActionHash: a.ActionHash, Token: token}),
		})
	}
	require.Equal(t, http.StatusOK, claim(token).status)
	require.Equal(t, http.StatusConflict, claim(h.new("second claim token")).status)
	reported := send[api.Answer](t, h.running, http.StatusOK, call{
		method: http.MethodPost, path: "/v1/approvals/" + a.ID + "/outcome",
		body: encode(t, api.Report{Token: token, Outcome: core.ExecutionFailed, Error: "login as u:" + h.shaped("outcome error") + " failed, Authorization: Bearer " + h.new("outcome header")}),
	})
	require.Contains(t, reported.Approval.OutcomeError, "[hidden]")
}

// signIns makes, uses and wastes codes, sessions and tokens.
func (h *hunt) signIns(t *testing.T) {
	t.Helper()
	bearer := h.bearer(t)
	me := send[api.Me](t, h.running, http.StatusOK, call{method: http.MethodGet, path: "/v1/me", bearer: bearer}).Person
	code := func(purpose, form string) string {
		c := send[api.Code](t, h.running, http.StatusCreated, call{
			method: http.MethodPost, path: "/v1/people/" + me.ID + "/codes", bearer: bearer, once: true,
			body: `{"purpose":"` + purpose + `","form":"` + form + `"}`,
		})
		h.known(c.Code, purpose+" code, "+form)
		return c.Code
	}
	in := send[api.SignedIn](t, h.running, http.StatusCreated, call{
		method: http.MethodPost, path: "/v1/signin", once: true,
		body: encode(t, api.SignIn{Code: code("pair", "typed"), Purpose: core.CodePair, Kind: core.SessionCLI, Label: h.shaped("session label")}),
	})
	h.known(in.Bearer, "CLI session")
	send[api.Sessions](t, h.running, http.StatusOK, call{method: http.MethodGet, path: "/v1/people/" + me.ID + "/sessions", bearer: bearer})
	// The page asks before it uses a code, and so repeats it to whoever sent it.
	pair := url.Values{"code": {code("pair", "link")}}
	require.Equal(t, http.StatusOK, h.do(t, call{method: http.MethodPost, path: "/signin", body: pair.Encode(), once: true}).status)
	pair.Set("confirm", "1")
	a := h.do(t, call{
		method: http.MethodPost, path: "/signin", body: pair.Encode(), once: true,
		header: http.Header{"User-Agent": {"agent " + h.shaped("user agent")}},
	})
	require.Equal(t, http.StatusSeeOther, a.status)
	h.known(h.bearer(t), "second browser session")
	issued := send[api.IssuedToken](t, h.running, http.StatusCreated, call{
		method: http.MethodPost, path: "/v1/tokens", bearer: h.bearer(t), once: true,
		body: encode(t, api.IssueToken{Runtime: "ci", Scopes: []core.Scope{core.ScopeRequest}, Label: h.shaped("token label")}),
	})
	h.known(issued.Bearer, "issued token")
	send[api.Tokens](t, h.running, http.StatusOK, call{method: http.MethodGet, path: "/v1/tokens", bearer: h.bearer(t)})
	bearer = h.bearer(t)
	h.typed(t, fake.Typed{User: ann, Chat: team, Text: "/start " + code("link", "typed")})
	h.await(t, team, "Codes belong in a direct chat")
	send[api.Person](t, h.running, http.StatusCreated, call{
		method: http.MethodPost, path: "/v1/people", bearer: bearer,
		body: encode(t, api.AddPerson{Name: "Bob " + h.shaped("name of a person"), Role: core.RoleReviewer}),
	})
}

// refused sends what cannot be read, with a secret in each place.
func (h *hunt) refused(t *testing.T) {
	t.Helper()
	good := `"operation":{"tool":"m","arguments":{}}`
	for where, body := range map[string]string{
		"unknown field":   `{"kind":"plugin","` + h.new("name of an unknown field") + `":"` + h.new("unknown field") + `",` + good + `}`,
		"wrong enum":      `{"kind":"` + h.new("wrong kind") + `",` + good + `}`,
		"continuation":    `{"kind":"plugin","continuation":"` + h.new("wrong continuation") + `",` + good + `}`,
		"expiry":          `{"kind":"plugin","expires_in":"` + h.new("wrong expiry") + `",` + good + `}`,
		"wrong type":      `{"kind":"plugin","title":{"x":"` + h.new("wrong type") + `"},` + good + `}`,
		"cut off":         `{"kind":"plugin","title":"` + h.new("cut off"),
		"no JSON":         h.new("no JSON at all"),
		"twice":           `{"kind":"plugin","title":"` + h.new("name twice") + `","title":"x",` + good + `}`,
		"too long":        `{"kind":"plugin","title":"` + strings.Repeat(h.new("title too long"), 60) + `",` + good + `}`,
		"key too long":    `{"kind":"plugin","idempotency_key":"` + strings.Repeat(h.new("key too long"), 20) + `",` + good + `}`,
		"bad details":     `{"kind":"plugin","details":"` + h.new("details of the wrong type") + `",` + good + `}`,
		"bad id":          `{"kind":"plugin","id":"a\u0000` + h.new("hostile id") + `",` + good + `}`,
		"unknown people":  `{"kind":"plugin","reviewers":["` + h.new("unknown reviewer") + `"],` + good + `}`,
		"no command":      `{"kind":"exec","operation":{"tool":"m","arguments":{"argv":"` + h.new("argv of the wrong type") + `"}}}`,
		"no object":       `{"kind":"exec","operation":{"tool":"m","arguments":"` + h.new("arguments of the wrong type") + `"}}`,
		"broken UTF-8":    "{\"kind\":\"plugin\",\"title\":\"" + h.new("broken UTF-8") + "\xff\"," + good + "}",
		"too large":       `{"kind":"plugin","title":"` + h.new("too large") + `","operation":{"tool":"m","arguments":"` + strings.Repeat("a", 1<<20) + `"}}`,
		"too deep":        `{"kind":"plugin","operation":{"tool":"m","arguments":` + strings.Repeat("[", 300) + `"` + h.new("too deep") + `"` + strings.Repeat("]", 300) + `}}`,
		"unknown session": `{"kind":"plugin","instance":"` + h.new("unknown instance") + `","epoch":7,` + good + `}`,
	} {
		a := h.do(t, call{method: http.MethodPost, path: "/v1/approvals", bearer: h.machine, body: body})
		require.GreaterOrEqual(t, a.status, 400, where)
		require.Less(t, a.status, 500, where)
	}
	for _, c := range []call{
		{method: http.MethodGet, path: "/v1/approvals?" + h.new("name of a parameter") + "=" + h.new("unknown parameter"), bearer: h.machine},
		{method: http.MethodGet, path: "/v1/approvals?cursor=" + h.new("cursor"), bearer: h.machine},
		{method: http.MethodGet, path: "/v1/approvals?status=" + h.new("status"), bearer: h.machine},
		{method: http.MethodGet, path: "/v1/approvals/" + h.new("id in a path"), bearer: h.machine},
		{method: http.MethodGet, path: "/v1/" + h.new("path of no call"), bearer: h.machine},
		{method: http.MethodGet, path: "/" + h.new("path of no page")},
		{method: http.MethodGet, path: "/approve/" + h.new("id of a page")},
		{method: http.MethodGet, path: "/?password=" + h.new("query of the inbox")},
		{method: http.MethodGet, path: "/?view=all&password=" + h.new("query before the sign-in"), signedOut: true},
		{method: http.MethodGet, path: "/signin?next=/&code=" + h.new("query of the sign-in"), signedOut: true},
		{method: http.MethodGet, path: "/signin?next=https://example.com/" + h.new("foreign way onward"), signedOut: true},
		{method: http.MethodPost, path: "/approve/" + h.new("id of a form"), body: "note=" + h.new("note of a form")},
		{method: http.MethodPost, path: "/webhooks/telegram/" + h.new("webhook of no bot"), body: h.new("webhook body")},
		{method: http.MethodGet, path: "/v1/me", bearer: h.new("unknown bearer")},
		{method: http.MethodGet, path: "/v1/me", bearer: "sayso_ss_" + h.new("unknown session bearer")},
		{method: http.MethodGet, path: "/v1/me", bearer: h.machine, header: http.Header{
			"X-Request-Id": {"sid=" + h.new("request id")}, "Cookie": {"sid=" + h.new("foreign cookie")}, "X-Api-Key": {h.new("foreign header")},
			"Traceparent": {h.new("trace header")}, "User-Agent": {h.new("user agent of a call")}, "Origin": {"https://" + h.new("origin")},
		}},
		{method: http.MethodPost, path: "/v1/signin", body: encode(t, api.SignIn{Code: h.new("wrong code"), Purpose: core.CodePair, Kind: core.SessionCLI, Label: h.new("label of a wrong code")})},
		{method: http.MethodPost, path: "/signin", body: url.Values{"code": {h.new("wrong code on the page")}, "confirm": {"1"}}.Encode()},
		{method: h.new("method"), path: "/v1/me", bearer: h.machine},
	} {
		a := h.do(t, c)
		require.Less(t, a.status, 500, c.path)
	}
}

// typedByStrangers lets people write and press what nobody asked for.
func (h *hunt) typedByStrangers(t *testing.T) {
	t.Helper()
	h.bot.AddUser(stranger, "Sam "+h.shaped("stranger's name"), "")
	require.NoError(t, h.bot.StartChat(stranger, h.new("start code")))
	h.await(t, stranger, "code")
	for _, text := range []string{
		"my password is " + h.new("free text"), "/deny " + h.new("id of /deny") + " " + h.new("note to nobody"),
		"/approve " + h.new("id of /approve") + " allow-once " + h.new("fingerprint"), "/whoami " + h.new("text behind /whoami"),
	} {
		h.typed(t, fake.Typed{User: stranger, Chat: stranger, Text: text})
		h.typed(t, fake.Typed{User: ann, Chat: ann, Text: text})
	}
	card := h.await(t, ann, "every-form")
	for _, data := range []string{h.new("forged payload"), "~1A" + h.new("forged payload of ours")} {
		h.press(t, fake.Press{User: stranger, Message: card.Locator, Data: data})
		h.press(t, fake.Press{User: ann, Message: card.Locator, Data: data})
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, h.bot.AwaitConfirmed(ctx), "all that was typed is finished")
}

// pages reads every page and every answer of the API once more.
func (h *hunt) pages(t *testing.T) {
	t.Helper()
	list := send[api.List](t, h.running, http.StatusOK, call{method: http.MethodGet, path: "/v1/approvals"})
	require.Greater(t, len(list.Approvals), 10)
	paths := []string{"/", "/signin", "/metrics", "/openapi.yaml", "/healthz", "/readyz"}
	for i := range list.Approvals {
		id := list.Approvals[i].ID
		paths = append(paths, "/approve/"+id, "/approve/"+id+"?view=all")
		send[api.Answer](t, h.running, http.StatusOK, call{method: http.MethodGet, path: "/v1/approvals/" + id, bearer: h.bearer(t)})
	}
	for _, p := range paths {
		require.Equal(t, http.StatusOK, h.do(t, call{method: http.MethodGet, path: p}).status, p)
	}
	h.metrics = h.do(t, call{method: http.MethodGet, path: "/metrics"}).body
	require.Contains(t, h.metrics, "sayso_approvals_requested_total")
	for _, p := range []string{"/v1/people", "/v1/tokens", "/v1/approvals"} {
		require.Equal(t, http.StatusOK, h.do(t, call{method: http.MethodGet, path: p, bearer: h.bearer(t)}).status, p)
	}
}
