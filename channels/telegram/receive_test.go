package telegram_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/channels/telegram"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// card is a pending card with two buttons.
func card() presentation.Card {
	act := func(d core.Decision, label string) core.Action {
		return core.Action{Type: core.ActionApproval, ApprovalID: "a", Kind: core.KindExec, Decision: d, Label: label}
	}
	return presentation.Card{
		ApprovalID: "a", Kind: core.KindExec, Status: core.StatusPending, Title: "Claude wants to run a command",
		Pill: "Reaches out", Command: "echo hello", Facts: []presentation.Fact{{Label: "Agent", Value: "Claude"}},
		Actions:    []core.Action{act(core.DecisionAllowOnce, "Allow once"), act(core.DecisionDeny, "Deny")},
		CutActions: []core.Action{act(core.DecisionDeny, "Deny")},
	}
}

type room struct {
	ctx context.Context
	s   *fake.Server
	ch  *telegram.Channel
}

func setup(t *testing.T, change func(*telegram.Config)) room {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	s := world(t, fake.Config{})
	return room{ctx, s, open(t, s, codec(t), change)}
}

func (r room) post(t *testing.T, address string) string {
	t.Helper()
	rendered, err := r.ch.Render(card())
	require.NoError(t, err)
	locator, err := r.ch.Send(r.ctx, address, rendered)
	require.NoError(t, err)
	return locator
}

func (r room) receive(t *testing.T, in channels.Inbound) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.ch.Run(ctx, in) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

func text(id int64) string { return strconv.FormatInt(id, 10) }

// TestSecondPoller covers 409: the loser backs off and comes back.
func TestSecondPoller(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := new(channeltest.Inbox)
	r.receive(t, in)
	_, err := r.s.AwaitCalls(r.ctx, "getUpdates", 1)
	require.NoError(t, err)

	second := open(t, r.s, codec(t), nil)
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan error, 1)
	go func() { done <- second.Run(ctx, new(channeltest.Inbox)) }()
	_, err = r.s.AwaitCalls(r.ctx, "getUpdates", 6)
	require.NoError(t, err)
	cancel()
	require.NoError(t, <-done)

	press, err := r.s.Press(fake.Press{User: owner, Message: r.post(t, text(owner)), Label: "Deny"})
	require.NoError(t, err)
	_, err = r.s.AwaitReply(r.ctx, press)
	require.NoError(t, err)
}

// TestWebhookLeftBehind: an earlier deployment's webhook does not keep polling
// from working, and what waited for it is processed.
func TestWebhookLeftBehind(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	press, err := r.s.Press(fake.Press{User: owner, Message: r.post(t, text(owner)), Label: "Deny"})
	require.NoError(t, err)
	r.s.SetWebhook("https://old.example.com/hook")
	r.receive(t, new(channeltest.Inbox))
	_, err = r.s.AwaitReply(r.ctx, press)
	require.NoError(t, err)
	require.Empty(t, r.s.WebhookURL())
}

// TestLateAnswer: a query that has become too old is not retried and not an error
// (100); its update is finished.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		r.s.Clock.Advance(2 * time.Minute)
		return channels.Answer{Text: "Denied."}
	}}
	_, err := r.s.Press(fake.Press{User: owner, Message: r.post(t, text(owner)), Label: "Deny"})
	require.NoError(t, err)
	r.receive(t, in)
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))
	require.Len(t, r.s.Calls("answerCallbackQuery"), 1)
	clicks, err := in.AwaitClicks(r.ctx, 1)
	require.NoError(t, err)
	require.Len(t, clicks, 1)
}

// TestExpiredQuery: the platform forgets a click after 150 s.
func TestExpiredQuery(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	locator := r.post(t, text(owner))
	_, err := r.s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	r.s.Clock.Advance(151 * time.Second)
	press, err := r.s.Press(fake.Press{User: owner, Message: locator, Label: "Allow once"})
	require.NoError(t, err)
	in := new(channeltest.Inbox)
	r.receive(t, in)
	_, err = r.s.AwaitReply(r.ctx, press)
	require.NoError(t, err)
	clicks, err := in.AwaitClicks(r.ctx, 1)
	require.NoError(t, err)
	require.Len(t, clicks, 1)
}

// TestOddClicks: what the platform may leave out or hide.
func TestOddClicks(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	r.s.AddBot(77, "otherbot")
	locator := r.post(t, text(group))
	in := new(channeltest.Inbox)
	r.receive(t, in)
	for n, c := range []struct {
		press fake.Press
		want  channels.Click
	}{
		{
			fake.Press{User: owner, Inaccessible: true},
			channels.Click{Chat: text(group), Message: locator, Actor: channels.Actor{ID: text(owner), Label: "Olga (@olga)"}},
		},
		{
			fake.Press{User: owner, Inline: true},
			channels.Click{Actor: channels.Actor{ID: text(owner), Label: "Olga (@olga)"}},
		},
		{
			fake.Press{User: owner, Anonymous: true, Inaccessible: true},
			channels.Click{Chat: text(group), Message: locator, Actor: channels.Actor{ID: "1087968824", Label: "Group (@GroupAnonymousBot)", Refused: "an anonymous admin"}},
		},
		{
			fake.Press{User: 77, Inaccessible: true},
			channels.Click{Chat: text(group), Message: locator, Actor: channels.Actor{ID: "77", Label: "otherbot (@otherbot)", Refused: "a bot"}},
		},
	} {
		c.press.Message, c.press.Data = locator, "data"
		press, err := r.s.Press(c.press)
		require.NoError(t, err)
		_, err = r.s.AwaitReply(r.ctx, press)
		require.NoError(t, err)
		clicks, err := in.AwaitClicks(r.ctx, n+1)
		require.NoError(t, err)
		c.want.Account, c.want.Payload, c.want.Actor.Realm = r.ch.Ref(), "data", "telegram"
		require.Equal(t, c.want, clicks[n])
	}
}

// TestCommands: names in commands, deep links, and people who hide in groups.
func TestCommands(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := new(channeltest.Inbox)
	r.receive(t, in)
	_, err := r.s.AwaitCalls(r.ctx, "getUpdates", 1) // The bot knows its name by then.
	require.NoError(t, err)
	require.Equal(t, "sayso_bot", r.ch.Username())
	require.NoError(t, r.s.StartChat(other, "link-code_1"))
	var want []string
	for _, c := range []struct{ typed, seen string }{
		{"/pending@SaySo_Bot", "/pending"},
		{"/deny@sayso_bot 1\nwith a note", "/deny 1\nwith a note"},
		{"/deny@another_bot 1", ""},
		{"/approve x", "/approve x"},
	} {
		_, err := r.s.Type(fake.Typed{User: owner, Chat: group, Text: c.typed})
		require.NoError(t, err)
		if c.seen != "" {
			want = append(want, c.seen)
		}
	}
	_, err = r.s.Type(fake.Typed{User: owner, Chat: group, Text: "/whoami", Anonymous: true})
	require.NoError(t, err)
	_, err = r.s.Type(fake.Typed{User: owner, Chat: group, Text: "/whoami", Channel: -100_777})
	require.NoError(t, err)
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))

	texts, err := in.AwaitTexts(r.ctx, 1)
	require.NoError(t, err)
	byPerson := map[string][]string{}
	for _, x := range texts {
		byPerson[x.Actor.ID+x.Actor.Refused] = append(byPerson[x.Actor.ID+x.Actor.Refused], x.Text)
	}
	require.Equal(t, map[string][]string{
		text(other):                    {"/start link-code_1"},
		text(owner):                    want,
		"1087968824an anonymous admin": {"/whoami"},
		"136817688a channel":           {"/whoami"},
	}, byPerson)
}

// TestGroupPrompt: the person is mentioned, so that their client alone opens its
// keyboard, and nobody else is.
func TestGroupPrompt(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		return channels.Answer{Prompt: &channels.Prompt{ID: "p", Text: "Why, @olga?", Placeholder: "…"}}
	}}
	r.receive(t, in)
	locator := r.post(t, text(group))
	press, err := r.s.Press(fake.Press{User: other, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	_, err = r.s.AwaitReply(r.ctx, press)
	require.NoError(t, err)
	m, ok := r.s.Message(in.PlacedAt("p"))
	require.True(t, ok)
	require.Equal(t, []string{"user:" + text(other)}, m.Pings, "not whom the name mentions")
	require.Contains(t, m.Text, "Why, @olga?")
	calls := r.s.Calls("sendMessage")
	require.JSONEq(t, `{"force_reply":true,"input_field_placeholder":"…","selective":true}`, calls[len(calls)-1].Params["reply_markup"])

	outcome, err := r.ch.Edit(r.ctx, in.PlacedAt("p"), must(t, r.ch))
	require.NoError(t, err)
	require.Equal(t, core.OutcomeRetired, outcome, "a forced reply can never be edited")
}

func must(t *testing.T, ch *telegram.Channel) channels.Rendered {
	t.Helper()
	rendered, err := ch.Render(card())
	require.NoError(t, err)
	return rendered
}

// TestAllowedUpdates: the platform remembers the list, so every call states it.
func TestAllowedUpdates(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	r.receive(t, new(channeltest.Inbox))
	calls, err := r.s.AwaitCalls(r.ctx, "getUpdates", 1)
	require.NoError(t, err)
	require.JSONEq(t, `["message","callback_query"]`, calls[0].Params["allowed_updates"])
	require.NotContains(t, calls[0].Params, "offset", "nothing is confirmed that was not handled")
}

// TestRateLimitedPoll: the platform's delay is obeyed while polling.
func TestRateLimitedPoll(t *testing.T) {
	t.Parallel()
	waits := make(chan time.Duration, 100)
	r := setup(t, func(c *telegram.Config) {
		c.Pause = func(ctx context.Context, d time.Duration) error {
			waits <- d
			return noPause(ctx, d)
		}
	})
	r.s.Script.Add(fakes.Fault{Kind: fakes.FaultRateLimit, Op: fakes.OpReceive, Delay: 77 * time.Second})
	r.receive(t, new(channeltest.Inbox))
	require.Equal(t, 77*time.Second, <-waits)
}

// TestUnreadableUpdates: what cannot be read counts as ended, and what has not
// even an id does not make the loop run hot.
func TestUnreadableUpdates(t *testing.T) {
	t.Parallel()
	const click = `{"update_id":7,"callback_query":{"id":"q","from":{"id":1,"first_name":"A"},"chat_instance":"c","data":"d"}}`
	polls := make(chan map[string]any, 100)
	pauses := make(chan time.Duration, 100)
	first := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/getMe"):
			_, _ = io.WriteString(w, `{"ok":true,"result":{"id":7000000001,"username":"sayso_bot"}}`)
		case strings.HasSuffix(r.URL.Path, "/getUpdates"):
			var asked map[string]any
			_ = json.NewDecoder(r.Body).Decode(&asked)
			polls <- asked
			if first {
				first = false
				_, _ = io.WriteString(w, `{"ok":true,"result":[{"update_id":5,"message":"odd"},{"update_id":6,"message":{"chat":7}},`+click+`,{"message":{}},null]}`)
				return
			}
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, `{"ok":true,"result":true}`)
		}
	}))
	t.Cleanup(server.Close)
	ch, err := telegram.New(telegram.Config{
		Token: fake.DefaultToken, APIBase: server.URL, Transport: &http.Transport{},
		Pause: func(ctx context.Context, d time.Duration) error {
			pauses <- d
			return noPause(ctx, d)
		},
	}, codec(t))
	require.NoError(t, err)
	t.Cleanup(ch.Close)
	in := new(channeltest.Inbox)
	room{ctx: t.Context(), ch: ch}.receive(t, in)
	_, err = in.AwaitClicks(t.Context(), 1)
	require.NoError(t, err)
	require.NotContains(t, <-polls, "offset")
	require.InDelta(t, 8, (<-polls)["offset"], 0)
	require.Positive(t, <-pauses)
}

// TestDuplicateUpdate: the platform hands the same click out twice; both copies
// reach the inbound, whose store makes the second harmless, and both are finished.
func TestDuplicateUpdate(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := new(channeltest.Inbox)
	r.receive(t, in)
	press := fake.Press{User: owner, Message: r.post(t, text(owner)), Label: "Deny"}
	query, err := r.s.Press(press)
	require.NoError(t, err)
	_, err = r.s.AwaitReply(r.ctx, query)
	require.NoError(t, err)
	require.NoError(t, r.s.Redeliver(query, press))
	clicks, err := in.AwaitClicks(r.ctx, 2)
	require.NoError(t, err)
	require.Equal(t, clicks[0], clicks[1])
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))
	require.Empty(t, r.s.Violations.List())
}

// TestAnswersAreTriedAgain: a person who waits gets the answer although the
// platform refuses it for now; one that may have arrived is not sent again.
func TestAnswersAreTriedAgain(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := &channeltest.Inbox{
		OnClick: func(_ context.Context, c channels.Click) channels.Answer {
			if c.Payload == "note" {
				return channels.Answer{Prompt: &channels.Prompt{ID: "p", Text: "Why?"}}
			}
			return channels.Answer{Text: "Denied."}
		},
		OnText: func(context.Context, channels.Text) channels.Answer { return channels.Answer{Text: "Nothing waits."} },
	}
	r.receive(t, in)
	locator := r.post(t, text(group))
	refuse := func(op fakes.Op, delay time.Duration) {
		r.s.Script.Add(fakes.Fault{Kind: fakes.FaultRateLimit, Op: op, Delay: delay})
		r.s.Script.Add(fakes.Fault{Kind: fakes.FaultServerError, Op: op})
	}
	refuse(fakes.OpAnswer, 3*time.Second)
	query, err := r.s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	reply, err := r.s.AwaitReply(r.ctx, query)
	require.NoError(t, err)
	require.Equal(t, "Denied.", reply.Text)

	refuse(fakes.OpSend, 3*time.Second)
	query, err = r.s.Press(fake.Press{User: owner, Message: locator, Data: "note"})
	require.NoError(t, err)
	reply, err = r.s.AwaitReply(r.ctx, query)
	require.NoError(t, err)
	require.False(t, reply.Alert)
	require.NotEmpty(t, in.PlacedAt("p"))

	refuse(fakes.OpSend, 0)
	_, err = r.s.Type(fake.Typed{User: owner, Chat: group, Text: "/pending"})
	require.NoError(t, err)
	_, err = r.s.AwaitMessage(r.ctx, func(m fakes.Message) bool { return m.Text == "Nothing waits." })
	require.NoError(t, err)

	sent := len(r.s.Messages())
	r.s.Script.Add(fakes.Fault{Kind: fakes.FaultResetAfter, Op: fakes.OpSend})
	_, err = r.s.Type(fake.Typed{User: owner, Chat: group, Text: "/pending"})
	require.NoError(t, err)
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))
	require.Len(t, r.s.Messages(), sent+1)

	calls := len(r.s.Calls("sendMessage"))
	r.s.Script.Add(fakes.Fault{Kind: fakes.FaultRateLimit, Op: fakes.OpSend, Delay: time.Minute})
	_, err = r.s.Type(fake.Typed{User: owner, Chat: group, Text: "/pending"})
	require.NoError(t, err)
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))
	require.Len(t, r.s.Calls("sendMessage"), calls+1, "nobody waits a minute for an answer")
	require.Empty(t, r.s.Violations.List())
}
