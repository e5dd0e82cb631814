package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	fakediscord "github.com/saysohq/sayso/channels/fakes/discord"
	fakeslack "github.com/saysohq/sayso/channels/fakes/slack"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/sqlite"
	"github.com/saysohq/sayso/presentation"
)

// Shared places of the two younger platforms.
const (
	slackChannel   = "C0SHARED1"
	discordChannel = "500000000000000001"
	discordThread  = "500000000000000002"
)

// slackConnections are kept by one running channel.
const slackConnections = 2

// member is somebody who may decide, with an account on each platform.
type member struct {
	name     string
	id       string // Of the person; set once they are there.
	telegram int64
	slack    string
	discord  string
}

// members are the people of a town; the first becomes its admin in the browser.
func members() []member {
	return []member{
		{name: "Ann", telegram: ann, slack: "U0ANN0001", discord: "300000000000000001"},
		{name: "Bea", telegram: 1003, slack: "U0BEA0001", discord: "300000000000000002"},
		{name: "Cem", telegram: 1004, slack: "W0CEM0001", discord: "300000000000000003"},
	}
}

// town is the service with all three messengers and people who use them all.
type town struct {
	*running
	slack   *fakeslack.Server
	discord *fakediscord.Server
	people  []member
	config  config.Config // Of every replica, but for the data folder.

	replicas []*running // The first is running itself.
}

// The specifications are costly to load, so all towns share them.
var (
	slackSpecs  = sync.OnceValues(func() (*fakeslack.Specs, error) { return fakeslack.LoadSpecs(os.Getenv("SAYSO_SPECS")) })
	discordSpec = sync.OnceValues(func() (*fakediscord.Spec, error) { return fakediscord.LoadSpec(os.Getenv("SAYSO_SPECS")) })
)

// settle starts the service beside three fakes and links everybody's accounts the way
// that the guides say.
func settle(t *testing.T, edits ...func(*config.Config, *town)) *town {
	t.Helper()
	w := unsettled(t, edits...)
	w.signIn(t, w.people[0].name)
	me := send[api.Me](t, w.running, http.StatusOK, call{method: http.MethodGet, path: "/v1/me", bearer: w.bearer(t)})
	w.people[0].id = me.Person.ID
	for i := range w.people {
		p := &w.people[i]
		if i > 0 {
			p.id = send[api.Person](t, w.running, http.StatusCreated, call{
				method: http.MethodPost, path: "/v1/people", bearer: w.bearer(t), body: fmt.Sprintf(`{"name":%q,"role":"admin"}`, p.name),
			}).ID
		}
		w.linkTelegram(t, p)
		w.linkSlack(t, p)
		w.linkDiscord(t, p)
	}
	return w
}

// unsettled is the same before anybody has signed in.
func unsettled(t *testing.T, edits ...func(*config.Config, *town)) *town {
	t.Helper()
	w := &town{people: members()}
	specs, err := slackSpecs()
	require.NoError(t, err)
	w.slack, err = fakeslack.Start(fakeslack.Config{Specs: specs})
	require.NoError(t, err)
	t.Cleanup(w.slack.Close)
	spec, err := discordSpec()
	require.NoError(t, err)
	w.discord, err = fakediscord.Start(fakediscord.Config{Spec: spec, Push: &http.Transport{DisableKeepAlives: true}})
	require.NoError(t, err)
	t.Cleanup(w.discord.Close)
	w.slack.AddChannel(slackChannel)
	w.discord.AddChannel(discordChannel)
	w.discord.AddThread(discordThread)
	for _, p := range w.people {
		w.slack.AddUser(fakeslack.User{ID: p.slack, Name: p.name})
		w.discord.AddUser(p.discord, strings.ToLower(p.name), p.name, false)
	}
	thread := slackChannel + "/" + w.slack.AddThread(slackChannel, w.people[1].slack)
	w.running = start(t, folder(t), func(c *config.Config, bot *fake.Server) {
		for _, p := range w.people[1:] {
			bot.AddUser(p.telegram, p.name, strings.ToLower(p.name))
		}
		c.Slack = []config.Slack{{
			BotToken: fakeslack.BotToken, AppToken: fakeslack.AppToken, Team: fakeslack.Team, APIURL: w.slack.URL(),
			Chats: []string{slackChannel, thread}, Unpaced: true,
		}}
		c.Discord = []config.Discord{{
			Token: config.Secret(w.discord.Token()), APIURL: w.discord.URL(),
			Chats: []string{discordChannel, discordThread}, Unpaced: true,
		}}
		w.running = &running{bot: bot} // For the edits; start replaces it.
		for _, edit := range edits {
			edit(c, w)
		}
		w.config = *c
	})
	w.replicas = []*running{w.running}
	return w
}

// listening waits until both platforms would hand over what people do.
func (w *town) listening(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, w.slack.AwaitConnections(ctx, slackConnections))
	require.NoError(t, w.discord.AwaitListening(ctx, 1))
}

func (w *town) code(t *testing.T, p *member) string {
	t.Helper()
	return send[api.Code](t, w.running, http.StatusCreated, call{
		method: http.MethodPost, path: "/v1/people/" + p.id + "/codes", bearer: w.bearer(t), once: true,
		body: `{"purpose":"link","form":"link"}`,
	}).Code
}

func (w *town) linked(t *testing.T, p *member, links int) {
	t.Helper()
	require.Eventually(t, func() bool {
		all := send[api.People](t, w.running, http.StatusOK, call{method: http.MethodGet, path: "/v1/people", bearer: w.bearer(t)})
		i := slices.IndexFunc(all.People, func(q api.Person) bool { return q.ID == p.id })
		return i >= 0 && len(all.People[i].Identities) == links
	}, patience, 5*time.Millisecond)
}

func (w *town) linkTelegram(t *testing.T, p *member) {
	t.Helper()
	require.NoError(t, w.bot.StartChat(p.telegram, w.code(t, p)))
	question := w.await(t, p.telegram, "decide as")
	w.press(t, fake.Press{User: p.telegram, Message: question.Locator, Label: question.Buttons[0].Label})
	w.linked(t, p, 1)
}

func (w *town) linkSlack(t *testing.T, p *member) {
	t.Helper()
	w.listening(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command, err := w.slack.Command(p.slack, "D"+p.slack[1:], "link "+w.code(t, p))
	require.NoError(t, err)
	question, err := w.slack.AwaitMessage(ctx, func(m fakes.Message) bool { return m.ReplyTo == command })
	require.NoError(t, err)
	require.Contains(t, question.Text, "decide as")
	_, err = w.slack.Press(fakeslack.Press{User: p.slack, Message: question.Locator, Label: question.Buttons[0].Label})
	require.NoError(t, err)
	w.linked(t, p, 2)
}

func (w *town) linkDiscord(t *testing.T, p *member) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command, err := w.discord.Command(p.discord, "@"+p.discord, "link", map[string]string{"code": w.code(t, p)})
	require.NoError(t, err)
	_, err = w.discord.AwaitReply(ctx, command)
	require.NoError(t, err)
	for _, m := range w.discord.Private() {
		if m.Address == "@"+p.discord && strings.Contains(m.Text, "decide as") {
			_, err = w.discord.Press(fakediscord.Press{User: p.discord, Message: m.Locator, Label: m.Buttons[0].Label})
			require.NoError(t, err)
		}
	}
	w.linked(t, p, 3)
}

// card is one message that shows an approval, as it was when everybody could answer.
type card struct {
	fakes.Message
	on    core.Surface
	owner int // Index of the one person who sees it; -1 in shared places.
}

// payload is what the button with the label carries, "" where there is none.
func (c *card) payload(label string) string {
	b, _ := c.Button(label)
	return b.Payload
}

// cards lists the messages that show a text and have a button, on all platforms.
func (w *town) cards(text string) []card {
	var list []card
	for _, p := range []struct {
		on       core.Surface
		messages []fakes.Message
		address  func(member) string
	}{
		{core.SurfaceTelegram, w.bot.Messages(), func(m member) string { return strconv.FormatInt(m.telegram, 10) }},
		{core.SurfaceSlack, w.slack.Messages(), func(m member) string { return m.slack }},
		{core.SurfaceDiscord, w.discord.Messages(), func(m member) string { return "@" + m.discord }},
	} {
		for _, m := range p.messages {
			if strings.Contains(m.Text, text) && asks(m) {
				owner := slices.IndexFunc(w.people, func(who member) bool { return p.address(who) == m.Address })
				list = append(list, card{m, p.on, owner})
			}
		}
	}
	return list
}

// message reads a card as it is now.
func (w *town) message(on core.Surface, locator string) (fakes.Message, bool) {
	switch on {
	case core.SurfaceTelegram:
		return w.bot.Message(locator)
	case core.SurfaceSlack:
		return w.slack.Message(locator)
	default:
		return w.discord.Message(locator)
	}
}

// click presses a button by its payload, as a client does that has not yet heard of a
// change of the card, and returns what the person saw.
func (w *town) click(ctx context.Context, c *card, by member, payload string) (string, error) {
	var reply fakes.Reply
	var press string
	var err error
	switch c.on {
	case core.SurfaceTelegram:
		if press, err = w.bot.Press(fake.Press{User: by.telegram, Message: c.Locator, Data: payload}); err == nil {
			reply, err = w.bot.AwaitReply(ctx, press)
		}
	case core.SurfaceSlack:
		if press, err = w.slack.Press(fakeslack.Press{User: by.slack, Message: c.Locator, Forged: payload}); err == nil {
			reply, err = w.slack.AwaitReply(ctx, press)
		}
	default:
		if press, err = w.discord.Press(fakediscord.Press{User: by.discord, Message: c.Locator, CustomID: payload}); err == nil {
			reply, err = w.worded(ctx, press)
		}
	}
	if err != nil {
		return "", fmt.Errorf("click on %s: %w", c.on, err)
	}
	return reply.Text, nil
}

// byCard stands for what a person reads whose click decided and who was answered with
// the final card in place of the clicked one.
const byCard = "(the final card)"

// worded waits for the answer to a click on Discord that says something: on a machine
// that is busy it follows an acknowledgement without a word.
func (w *town) worded(ctx context.Context, press string) (fakes.Reply, error) {
	for n := 1; ; n++ {
		replies, err := w.discord.AwaitReplies(ctx, press, n)
		const updateMessage = 7
		switch {
		case err != nil:
			return fakes.Reply{}, err
		case w.discord.Responded(press) == updateMessage:
			return fakes.Reply{Text: byCard}, nil
		}
		if replies[n-1].Text != "" {
			return replies[n-1], nil
		}
	}
}

// say gives a command in somebody's direct chat and returns the answer. options are
// those of Discord's form of it.
func (w *town) say(ctx context.Context, on core.Surface, by member, command string, options map[string]string) (string, error) {
	var reply fakes.Reply
	var id string
	var err error
	switch on {
	case core.SurfaceTelegram:
		if id, err = w.bot.Type(fake.Typed{User: by.telegram, Chat: by.telegram, Text: "/" + command}); err == nil {
			var m fakes.Message
			m, err = w.bot.AwaitMessage(ctx, func(m fakes.Message) bool { return m.ReplyTo == id })
			reply.Text = m.Text
		}
	case core.SurfaceSlack:
		if id, err = w.slack.Command(by.slack, "D"+by.slack[1:], command); err == nil {
			reply, err = w.slack.AwaitReply(ctx, id)
		}
	default:
		sub, _, _ := strings.Cut(command, " ")
		if id, err = w.discord.Command(by.discord, "@"+by.discord, sub, options); err == nil {
			reply, err = w.discord.AwaitReply(ctx, id)
		}
	}
	if err != nil {
		return "", fmt.Errorf("command on %s: %w", on, err)
	}
	return reply.Text, nil
}

// about makes the body of a question with a title of its own.
func about(title string) string {
	return fmt.Sprintf(`{"kind":"plugin","title":%q,"operation":{"tool":"mail","arguments":{"to":"ann","about":%q}}}`, title, title)
}

// kept stops the service and opens its store, to read what it wrote down.
func (w *town) kept(t *testing.T) (core.Approvals, core.Ledger) {
	t.Helper()
	for _, r := range w.replicas {
		require.NoError(t, r.stop())
	}
	if w.config.Shared() {
		store, err := postgres.Open(t.Context(), postgres.Config{DSN: w.config.Postgres.DSN.Reveal(), Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return store, store.Ledger()
	}
	store, err := sqlite.Open(t.Context(), sqlite.Config{
		Path: filepath.Join(w.data, app.DatabaseFile), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store, store.Ledger()
}

// obeyed fails where a request broke a rule of its platform.
func (w *town) obeyed(t *testing.T) {
	t.Helper()
	require.Empty(t, w.bot.Violations.List())
	require.Empty(t, w.slack.Violations.List())
	require.Empty(t, w.discord.Violations.List())
}

// asks reports whether a message still asks for something: a settled card has at most
// the buttons of its outcome.
func asks(m fakes.Message) bool {
	return len(m.ButtonsBut(presentation.OutcomeLabels()...)) > 0
}
