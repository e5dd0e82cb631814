package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// The people and chats of the fake platform.
const (
	ann      = int64(1001) // Linked: the first admin.
	stranger = int64(1002) // Pressed Start, linked to nobody.
	team     = int64(-1_001_234_567_890)
)

// patience bounds every wait for something that must happen.
const patience = 30 * time.Second

// running is the whole service in this process, as app.Run wires it, with the fake
// messenger at its side.
type running struct {
	bot     *fake.Server
	data    string
	url     string
	first   string // The first sign-in code.
	machine string // Bearer of this machine's own runtime.
	browser *http.Client
	log     *journal
	answers *journal // Every HTTP answer, head and body, that tells nothing once.
	stop    func() error
}

// journal is text that several goroutines write.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// platform starts the fake with two people and a shared chat.
func platform(t *testing.T) *fake.Server {
	t.Helper()
	bot, err := fake.Start(fake.Config{Specs: os.Getenv("SAYSO_SPECS")})
	require.NoError(t, err)
	t.Cleanup(bot.Close)
	bot.AddUser(ann, "Ann", "ann")
	bot.AddUser(stranger, "Sam", "")
	bot.AddGroup(team, "team")
	return bot
}

// options is the configuration that all tests of this file share.
func options(data string, bot *fake.Server, log io.Writer) app.Options {
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.OpenMetrics = data, "127.0.0.1:0", true
	if bot != nil {
		cfg.Telegram = []config.Telegram{{
			Token: config.Secret(bot.Token()), APIURL: bot.URL(), Unpaced: true,
			Chats: []string{strconv.FormatInt(team, 10)},
		}}
	}
	return app.Options{
		Config: cfg, Now: time.Now,
		Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// start runs the service until the test ends or stop is called; edits change its
// configuration before.
func start(t *testing.T, data string, edits ...func(*config.Config, *fake.Server)) *running {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	r := &running{bot: platform(t), data: data, log: &journal{}, answers: &journal{}}
	r.browser = &http.Client{
		Jar: jar, Transport: &http.Transport{}, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	o := options(data, r.bot, r.log)
	for _, edit := range edits {
		edit(&o.Config, r.bot)
	}
	ready := make(chan app.Ready, 1)
	o.OnReady = func(a app.Ready) { ready <- a }
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, o) }()
	r.stop = sync.OnceValue(func() error {
		r.browser.CloseIdleConnections()
		cancel()
		return <-ended
	})
	t.Cleanup(func() { require.NoError(t, r.stop()) })
	select {
	case a := <-ready:
		r.url, r.first = a.URL, a.First.Reveal()
	case err := <-ended:
		ended <- err
		require.NoError(t, err, "the service did not start")
	}
	token, err := os.ReadFile(filepath.Join(data, app.TokenFile))
	require.NoError(t, err)
	r.machine = strings.TrimSpace(string(token))
	return r
}

// call is one request. Without a bearer it comes from the browser.
type call struct {
	method, path, body string
	bearer             string
	header             http.Header
	signedOut          bool // Without the browser's cookies.
	once               bool // The answer tells a secret once, by design: it is not kept.
}

// answer is what came back.
type answer struct {
	status int
	body   string
	header http.Header
}

func (r *running) do(t *testing.T, c call) answer {
	t.Helper()
	a, err := r.try(t.Context(), c)
	require.NoError(t, err)
	return a
}

// try is do for goroutines of a test, which may not end it.
func (r *running) try(ctx context.Context, c call) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, c.method, r.url+c.path, strings.NewReader(c.body))
	if err != nil {
		return answer{}, err
	}
	if c.bearer != "" || strings.HasPrefix(c.path, "/v1") {
		req.Header.Set("Content-Type", "application/json")
	} else if c.body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	maps.Copy(req.Header, c.header)
	client := *r.browser
	if c.signedOut {
		client.Jar = nil
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	if !c.once {
		_, _ = io.WriteString(r.answers, resp.Status+"\n")
		_ = resp.Header.Write(r.answers)
		_, _ = r.answers.Write(append(body, '\n'))
	}
	return answer{resp.StatusCode, string(body), resp.Header}, nil
}

// send makes an API call that must answer with the status, and decodes it.
func send[T any](t *testing.T, r *running, status int, c call) T {
	t.Helper()
	if c.bearer == "" {
		c.bearer = r.machine
	}
	a := r.do(t, c)
	require.Equal(t, status, a.status, a.body)
	return decode[T](t, a)
}

func decode[T any](t *testing.T, a answer) T {
	t.Helper()
	out, err := decoded[T](a)
	require.NoError(t, err, a.body)
	return out
}

func decoded[T any](a answer) (out T, err error) {
	err = json.Unmarshal([]byte(a.body), &out)
	return out, err
}

// post is a form of the page.
func (r *running) post(t *testing.T, path string, form url.Values) answer {
	t.Helper()
	return r.do(t, call{method: http.MethodPost, path: path, body: form.Encode()})
}

// signIn makes the browser's person the first admin.
func (r *running) signIn(t *testing.T, name string) {
	t.Helper()
	a := r.do(t, call{method: http.MethodPost, path: "/signin", once: true, body: url.Values{"code": {r.first}, "name": {name}}.Encode()})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
}

// bearer is the browser's session, for calls of the API as the person.
func (r *running) bearer(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(r.url)
	require.NoError(t, err)
	cookies := r.browser.Jar.Cookies(u)
	require.Len(t, cookies, 1)
	return cookies[0].Value
}

// link makes the Telegram account of Ann the first admin's, through the bot.
func (r *running) link(t *testing.T) {
	t.Helper()
	me := send[api.Me](t, r, http.StatusOK, call{method: http.MethodGet, path: "/v1/me", bearer: r.bearer(t)})
	code := send[api.Code](t, r, http.StatusCreated, call{
		method: http.MethodPost, path: "/v1/people/" + me.Person.ID + "/codes", bearer: r.bearer(t), once: true,
		body: `{"purpose":"link","form":"link"}`,
	})
	require.NoError(t, r.bot.StartChat(ann, code.Code))
	question := r.await(t, ann, "decide as")
	r.press(t, fake.Press{User: ann, Message: question.Locator, Label: question.Buttons[0].Label})
	require.Eventually(t, func() bool {
		p := send[api.People](t, r, http.StatusOK, call{method: http.MethodGet, path: "/v1/people", bearer: r.bearer(t)})
		return len(p.People[0].Identities) == 1
	}, patience, 10*time.Millisecond)
}

// await waits for a message of the bot in the chat that contains the text now.
func (r *running) await(t *testing.T, chat int64, text string) fakes.Message {
	t.Helper()
	return r.awaitMessage(t, func(m fakes.Message) bool {
		return m.Address == strconv.FormatInt(chat, 10) && strings.Contains(m.Text, text)
	})
}

func (r *running) awaitMessage(t *testing.T, fits func(fakes.Message) bool) fakes.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, err := r.bot.AwaitMessage(ctx, fits)
	require.NoError(t, err)
	return m
}

// press presses a button and returns what the person saw.
func (r *running) press(t *testing.T, p fake.Press) fakes.Reply {
	t.Helper()
	query, err := r.bot.Press(p)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	reply, err := r.bot.AwaitReply(ctx, query)
	require.NoError(t, err)
	return reply
}

// typed writes a message to the bot.
func (r *running) typed(t *testing.T, m fake.Typed) {
	t.Helper()
	_, err := r.bot.Type(m)
	require.NoError(t, err)
}

// ask asks with the body and returns the record.
func (r *running) ask(t *testing.T, body string) api.Approval {
	t.Helper()
	return send[api.Asked](t, r, http.StatusCreated, call{method: http.MethodPost, path: "/v1/approvals", body: body}).Approval
}

// get reads the record as its runtime does.
func (r *running) get(t *testing.T, id string) api.Approval {
	t.Helper()
	return send[api.Answer](t, r, http.StatusOK, call{method: http.MethodGet, path: "/v1/approvals/" + url.PathEscape(id)}).Approval
}

// folder is a data folder that only its owner can enter.
func folder(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "data")
}

// shown waits until every card of the approval is recorded as shown: only then is
// a press on it a press on a known card.
func (r *running) shown(t *testing.T, a api.Approval) api.Approval {
	t.Helper()
	require.Eventually(t, func() bool {
		a = r.get(t, a.ID)
		for _, d := range a.Deliveries {
			if d.State != core.DeliveryOpen || !d.Current {
				return false
			}
		}
		return len(a.Deliveries) > 0
	}, patience, 10*time.Millisecond)
	return a
}

// ended waits until the approval has its answer.
func (r *running) ended(t *testing.T, id string) {
	t.Helper()
	a := send[api.Answer](t, r, http.StatusOK, call{method: http.MethodGet, path: "/v1/approvals/" + url.PathEscape(id) + "?wait=25s"})
	require.True(t, a.Approval.Status.Terminal())
}

// hidden finds the hidden fields of a form of the page.
var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// form reads the page of an approval as the browser does, all of it, and returns
// the fields that a press would post.
func (r *running) form(t *testing.T, id string) url.Values {
	t.Helper()
	a := r.do(t, call{method: http.MethodGet, path: "/approve/" + url.PathEscape(id) + "?view=all"})
	require.Equal(t, http.StatusOK, a.status, a.body)
	_, decide, ok := strings.Cut(a.body, `<form id="decide"`)
	require.True(t, ok, a.body)
	form := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(decide, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	return form
}
