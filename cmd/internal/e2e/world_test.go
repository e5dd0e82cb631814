//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/presentation"
)

// storyTime bounds a story: far above what one takes on a busy machine.
const storyTime = 100 * time.Second

// secretWord stands in every text that people and agents write in these stories.
// No log may hold it.
const secretWord = "Zebra"

// world is one service with its messenger and the people around it.
type world struct {
	t       *testing.T
	ctx     context.Context
	folder  string // The data folder.
	work    string // Where commands are run.
	config  string
	listen  string
	url     string
	fake    *telegram.Server
	line    *line // Between the service and the messenger; nil without one.
	service *process
	env     []string
	logs    []*output // Of every start.
	owner   uint32    // User to run as; 0 for whoever runs the tests.
}

// setup changes how a world begins.
type setup struct {
	line   bool     // Put a line between service and messenger that can be held.
	chats  []string // Chats that are told of everything.
	extra  string   // More configuration.
	noBots bool
	folder string // The data folder; "" takes a fresh one.
}

func newWorld(t *testing.T, s setup) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), storyTime)
	t.Cleanup(cancel)
	root := t.TempDir()
	w := &world{
		t: t, ctx: ctx, folder: filepath.Join(root, "data"), work: filepath.Join(root, "work"),
		config: filepath.Join(root, "sayso.yaml"), listen: "127.0.0.1:0",
	}
	if s.folder != "" {
		w.folder = s.folder
	}
	require.NoError(t, os.Mkdir(w.work, 0o755)) // Another user may run commands in it.
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + root, "SAYSO_DATA=" + w.folder,
		"GORACE=halt_on_error=1 exitcode=66",
	}
	w.configure(s)
	w.start()
	return w
}

// configure starts the messenger and writes the configuration that leads to it.
func (w *world) configure(s setup) {
	w.t.Helper()
	text := s.extra
	if !s.noBots {
		var err error
		w.fake, err = telegram.Start(telegram.Config{Specs: os.Getenv("SAYSO_SPECS")})
		require.NoError(w.t, err)
		w.t.Cleanup(w.fake.Close)
		address := w.fake.URL()
		if s.line {
			w.line = newLine(w.t, address)
			address = w.line.url()
		}
		chats, err := json.Marshal(append([]string{}, s.chats...))
		require.NoError(w.t, err)
		text += fmt.Sprintf("telegram:\n  - token: %q\n    api_url: %q\n    unpaced: true\n    chats: %s\n",
			w.fake.Token(), address, chats)
	}
	require.NoError(w.t, os.WriteFile(w.config, []byte(text), 0o600))
}

// rules hold in every story, whatever else happens in it.
func (w *world) rules() {
	if w.service != nil && !w.t.Failed() {
		w.stop()
	}
	if w.t.Failed() {
		for i, log := range w.logs {
			w.t.Logf("log of start %d:\n%s", i+1, log.String())
		}
		return
	}
	for _, log := range w.logs {
		require.NotContains(w.t, log.String(), secretWord, "a log holds what somebody wrote")
		require.NotContains(w.t, log.String(), "DATA RACE")
		if w.fake != nil {
			require.NotContains(w.t, log.String(), w.fake.Token(), "a log holds the bot's token")
		}
	}
	if w.fake != nil {
		require.Empty(w.t, w.fake.Violations.List(), "rules of the messenger were broken")
	}
}

// story is the same world for one of several stories that happen in it at once.
func (w *world) story(t *testing.T, page *reader) (*world, *reader) {
	t.Helper()
	mine := *w
	ctx, cancel := context.WithTimeout(t.Context(), storyTime)
	t.Cleanup(cancel)
	mine.t, mine.ctx, mine.work = t, ctx, t.TempDir()
	return &mine, &reader{w: &mine, http: page.http}
}

var readyAt = regexp.MustCompile(`sayso is ready at (\S+)`)

// start starts the service, at the address of the start before.
func (w *world) start() {
	w.t.Helper()
	w.service = w.launch(w.env, "serve", "--config", w.config, "--listen", w.listen, "--log-level", "debug")
	w.t.Cleanup(w.rules) // Before the process is killed.
	w.logs = append(w.logs, &w.service.err)
	said := w.service.prints("Run it as a user of its own")
	found := readyAt.FindStringSubmatch(said)
	require.NotNil(w.t, found, said)
	w.url = found[1]
	w.listen = strings.TrimPrefix(w.url, "http://")
}

// stop ends the service in good order.
func (w *world) stop() {
	w.t.Helper()
	w.service.signal(syscall.SIGTERM)
	select {
	case <-w.service.gone:
	case <-time.After(20 * time.Second):
		require.FailNow(w.t, "the service does not stop", "%s", w.service.err.String())
	}
	require.Zero(w.t, w.service.cmd.ProcessState.ExitCode(), "%s", w.service.err.String())
	w.service = nil
}

// crash is kill -9.
func (w *world) crash() {
	w.service.kill()
	w.service = nil
}

// cli starts a command as the service's own user.
func (w *world) cli(args ...string) *process {
	w.t.Helper()
	return w.launch(w.env, args...)
}

// with is the same for a command that needs more in its environment.
func (w *world) with(env []string, args ...string) *process {
	w.t.Helper()
	return w.launch(append(append([]string{}, w.env...), env...), args...)
}

// api speaks to the service as this machine's runtime.
func (w *world) api() *client.Client {
	w.t.Helper()
	token, err := os.ReadFile(filepath.Join(w.folder, "local-token"))
	require.NoError(w.t, err)
	c, err := client.New(client.Config{BaseURL: w.url, Bearer: strings.TrimSpace(string(token)), Patience: 30 * time.Second})
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	return c
}

// ask makes a question and returns its id; nobody waits for it.
func (w *world) ask(title string, flags ...string) string {
	w.t.Helper()
	p := w.cli(append([]string{"ask", title, "--no-wait"}, flags...)...)
	return strings.TrimSpace(p.ends(13))
}

// record reads a question.
func (w *world) record(id string) api.Approval {
	w.t.Helper()
	a, err := w.api().Get(w.ctx, id)
	require.NoError(w.t, err)
	return a.Approval
}

// idOf finds the question with a title.
func (w *world) idOf(title string) string {
	w.t.Helper()
	page, err := w.api().List(w.ctx, client.Filter{}, "")
	require.NoError(w.t, err)
	for i := range page.Approvals {
		if page.Approvals[i].Presentation.Title == title {
			return page.Approvals[i].ID
		}
	}
	require.FailNow(w.t, "there is no such question")
	return ""
}

// converges waits until every card of a question shows the record as it is, or is
// recorded as impossible to.
func (w *world) converges(id string) []api.Delivery {
	w.t.Helper()
	var cards []api.Delivery
	require.Eventually(w.t, func() bool {
		cards = w.record(id).Deliveries
		for _, d := range cards {
			if !d.Current && d.State != core.DeliveryClosed {
				return false
			}
		}
		return true
	}, afterRestart, 50*time.Millisecond, "not all cards tell the truth")
	return cards
}

// afterRestart is the promise: after a restart all messages are terminal within it.
const afterRestart = 30 * time.Second

// firstLink is the link that makes the first admin.
func (w *world) firstLink() string {
	w.t.Helper()
	link, err := os.ReadFile(filepath.Join(w.folder, "first-sign-in"))
	require.NoError(w.t, err)
	return strings.TrimSpace(string(link))
}

// alice signs the first admin in by the code and links her chat.
func (w *world) alice() *reader {
	w.t.Helper()
	r := w.reader()
	link, err := url.Parse(w.firstLink())
	require.NoError(w.t, err)
	code, err := url.ParseQuery(link.Fragment)
	require.NoError(w.t, err)
	status, _ := r.post("/signin", url.Values{"code": {code.Get("code")}, "name": {"Alice"}})
	require.Equal(w.t, http.StatusOK, status)
	if w.fake != nil {
		w.link(aliceChat, "Alice A")
	}
	return r
}

// aliceChat is Alice's Telegram account and her direct chat with the bot.
const aliceChat = 4711

// link links a Telegram account with the one-time code of `sayso link`.
func (w *world) link(account int64, name string, person ...string) {
	w.t.Helper()
	_, err := w.fake.AwaitCalls(w.ctx, "getUpdates", 1)
	require.NoError(w.t, err)
	link, err := url.Parse(strings.TrimSpace(w.cli(append([]string{"link"}, person...)...).ends(0)))
	require.NoError(w.t, err)
	require.Equal(w.t, "/sayso_bot", link.Path)
	w.fake.AddUser(account, name, "")
	require.NoError(w.t, w.fake.StartChat(account, link.Query().Get("start")))
	asked := w.message(account, "decide as", "Yes, link me")
	require.Contains(w.t, w.press(account, asked, "Yes, link me"), "Linked.")
}

// message waits for a message in a chat that holds a text and a button.
func (w *world) message(chat int64, text, button string) fakes.Message {
	w.t.Helper()
	m, err := w.fake.AwaitMessage(w.ctx, func(m fakes.Message) bool {
		_, has := m.Button(button)
		return m.Address == fmt.Sprint(chat) && strings.Contains(m.Text, text) && (button == "" || has)
	})
	require.NoError(w.t, err, "no message with %q and %q among %+v", text, button, w.fake.Messages())
	return m
}

// asks reports whether a message still asks for something: a settled card has at most
// the buttons of its outcome.
func asks(m fakes.Message) bool {
	return len(m.ButtonsBut(presentation.OutcomeLabels()...)) > 0
}

// becomes waits until a message shows a text and asks nothing any more, no longer than
// the promise allows.
func (w *world) becomes(m fakes.Message, text string) fakes.Message {
	w.t.Helper()
	return w.becomesWithin(afterRestart, m, text)
}

func (w *world) becomesWithin(most time.Duration, m fakes.Message, text string) fakes.Message {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, most)
	defer cancel()
	got, err := w.fake.AwaitMessage(ctx, func(now fakes.Message) bool {
		return now.Locator == m.Locator && strings.Contains(now.Text, text) && !asks(now)
	})
	now, _ := w.fake.Message(m.Locator)
	require.NoError(w.t, err, "the message shows %+v", now)
	return got
}

// press presses a button and returns the private answer.
func (w *world) press(account int64, m fakes.Message, label string) string {
	w.t.Helper()
	return w.pressed(telegram.Press{User: account, Message: m.Locator, Label: label})
}

// pressOld presses a button that the message has shown before.
func (w *world) pressOld(account int64, m fakes.Message, label string) string {
	w.t.Helper()
	b, ok := m.Button(label)
	require.True(w.t, ok)
	return w.pressed(telegram.Press{User: account, Message: m.Locator, Data: b.Payload})
}

func (w *world) pressed(p telegram.Press) string {
	w.t.Helper()
	query, err := w.fake.Press(p)
	require.NoError(w.t, err)
	reply, err := w.fake.AwaitReply(w.ctx, query)
	require.NoError(w.t, err, "the press got no answer")
	return reply.Text
}

// cards lists the messages of the bot that hold a text.
func (w *world) cards(text string) []fakes.Message {
	var found []fakes.Message
	for _, m := range w.fake.Messages() {
		if strings.Contains(m.Text, text) {
			found = append(found, m)
		}
	}
	return found
}
