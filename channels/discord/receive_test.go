package discord_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	"github.com/saysohq/sayso/channels/discord"
	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/discord"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// patience bounds every wait; only a failing test waits that long.
const patience = 20 * time.Second

// receive runs a channel; stop ends it and returns what Run did.
func receive(t *testing.T, ch *discord.Channel, in channels.Inbound) (ctx context.Context, stop func() error) {
	t.Helper()
	ctx, cancelAll := context.WithTimeout(t.Context(), patience)
	running, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(running, in) }()
	ended := sync.OnceValue(func() error { return <-done })
	stop = func() error { cancel(); return ended() }
	t.Cleanup(func() {
		cancelAll()
		_ = stop()
	})
	return ctx, stop
}

// sent posts a card with a button that says Deny.
func sent(t *testing.T, ch *discord.Channel, to string) string {
	t.Helper()
	locator, err := ch.Send(t.Context(), to, rendered(t, ch, card("ls", "Deny")))
	require.NoError(t, err)
	return locator
}

// A commit that takes long is acknowledged without a word, in time, and the truth
// follows (design: never a text that could land late).
func TestSlowCommitIsAcknowledgedFirst(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), func(c *discord.Config) { c.Late = 5 * time.Millisecond })
	release := make(chan struct{})
	slow := channels.Answer{Text: "Denied."}
	in := &channeltest.Inbox{
		OnClick: func(context.Context, channels.Click) channels.Answer { <-release; return slow },
		OnText:  func(context.Context, channels.Text) channels.Answer { <-release; return slow },
	}
	ctx, _ := receive(t, ch, in)
	require.NoError(t, s.AwaitListening(ctx, 1))
	click, err := s.Press(fake.Press{User: owner, Message: sent(t, ch, group), Label: "Deny"})
	require.NoError(t, err)
	command, err := s.Command(other, group, "whoami", nil)
	require.NoError(t, err)
	first, err := s.AwaitReply(ctx, click)
	require.NoError(t, err)
	require.Equal(t, fakes.Reply{}, first)
	require.Equal(t, 6, s.Responded(click))
	require.Eventually(t, func() bool { return s.Responded(command) == 5 }, patience, time.Millisecond)
	close(release)
	replies, err := s.AwaitReplies(ctx, click, 2)
	require.NoError(t, err)
	require.Equal(t, "Denied.", replies[1].Text)
	replies, err = s.AwaitReplies(ctx, command, 1)
	require.NoError(t, err)
	require.Equal(t, "Denied.", replies[0].Text)
	require.Empty(t, s.Violations.List())
}

// A dialog must be the first response: when that is over, the person is told to press
// again, and nothing was decided.
func TestDialogTooLate(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), func(c *discord.Config) { c.Late = 5 * time.Millisecond })
	pressed := make(chan string, 1)
	in := &channeltest.Inbox{OnClick: func(ctx context.Context, _ channels.Click) channels.Answer {
		if _, err := s.AwaitReply(ctx, <-pressed); err != nil {
			return channels.Answer{}
		}
		return channels.Answer{Prompt: &channels.Prompt{ID: "p", Dialog: "Why?"}}
	}}
	ctx, _ := receive(t, ch, in)
	require.NoError(t, s.AwaitListening(ctx, 1))
	locator := sent(t, ch, group)
	id, err := s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	pressed <- id
	replies, err := s.AwaitReplies(ctx, id, 2)
	require.NoError(t, err)
	require.Contains(t, replies[1].Text, "Please press the button again")
	_, _, _, opened := s.Modal(id)
	require.False(t, opened)
}

func TestDialog(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	in := &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		return channels.Answer{Prompt: &channels.Prompt{
			ID: "0193a6f0-0000-7000-8000-000000000001", Dialog: "Your note denies *this* @everyone", Title: strings.Repeat("t", 60), Placeholder: strings.Repeat("p", 200),
		}}
	}}
	ctx, _ := receive(t, ch, in)
	require.NoError(t, s.AwaitListening(ctx, 1))
	for n, old := range []bool{false, true} {
		id, err := s.Press(fake.Press{User: owner, Message: sent(t, ch, "@"+owner), Label: "Deny"})
		require.NoError(t, err)
		_, err = s.AwaitReply(ctx, id)
		require.NoError(t, err)
		_, question, _, ok := s.Modal(id)
		require.True(t, ok)
		require.Equal(t, "Your note denies *this* @everyone", question)
		_, err = s.Submit(id, owner, "/because", old)
		require.NoError(t, err)
		texts, err := in.AwaitTexts(ctx, n+1)
		require.NoError(t, err)
		got := texts[n]
		require.Equal(t, "/because", got.Text)
		require.Equal(t, "0193a6f0-0000-7000-8000-000000000001", got.PromptID)
		require.Equal(t, "@"+owner, got.Chat)
		require.True(t, got.Direct)
	}
	require.Empty(t, s.Violations.List())
}

func TestCommands(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	in := &channeltest.Inbox{OnText: func(_ context.Context, text channels.Text) channels.Answer {
		return channels.Answer{Text: "did " + text.Text}
	}}
	ctx, _ := receive(t, ch, in)
	require.NoError(t, s.AwaitListening(ctx, 1))
	for n, c := range []struct {
		sub     string
		options map[string]string
		text    string
		chat    string
	}{
		{"approve", map[string]string{"fingerprint": "abcd2345", "decision": "allow-once", "id": "x y"}, "/approve x y allow-once abcd2345", group},
		{"deny", map[string]string{"id": "x", "note": "not *now* @here"}, "/deny x not *now* @here", group},
		{"deny", map[string]string{"id": "x"}, "/deny x", group},
		{"pending", nil, "/pending", "@" + owner},
		{"whoami", nil, "/whoami", "@" + owner},
		{"link", map[string]string{"code": "LINKCODE"}, "/start LINKCODE", "@" + owner},
	} {
		id, err := s.Command(owner, group, c.sub, c.options)
		require.NoError(t, err)
		reply, err := s.AwaitReply(ctx, id)
		require.NoError(t, err)
		require.Equal(t, "did "+c.text, reply.Text, "nothing of it became markup")
		texts, err := in.AwaitTexts(ctx, n+1)
		require.NoError(t, err)
		require.Equal(t, channels.Text{
			Account: ch.Ref(), Actor: channels.Actor{Realm: "discord", ID: owner, Label: "Olga (olga)"},
			Chat: c.chat, Direct: c.chat != group, Text: c.text, MessageID: id,
		}, texts[n])
	}
	require.Empty(t, s.Messages(), "all of it was private")
	require.Empty(t, s.Violations.List())
}

// A question that only one person sees is answered as in their direct chat, so that
// its yes is where it was asked.
func TestPrivateQuestionIsAnsweredInPrivate(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	in := &channeltest.Inbox{OnText: func(context.Context, channels.Text) channels.Answer {
		return channels.Answer{Text: "Let this account decide as you?", Actions: []core.Action{
			{Type: core.ActionCallback, Label: "Yes", Value: core.CallbackConfirm, PromptRef: core.ResolutionRef(core.KindExec, "prompt")},
		}}
	}}
	ctx, _ := receive(t, ch, in)
	require.NoError(t, s.AwaitListening(ctx, 1))
	id, err := s.Command(owner, group, "link", map[string]string{"code": "C"})
	require.NoError(t, err)
	_, err = s.AwaitReply(ctx, id)
	require.NoError(t, err)
	_, err = s.Press(fake.Press{User: owner, Message: s.Private()[0].Locator, Label: "Yes"})
	require.NoError(t, err)
	clicks, err := in.AwaitClicks(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, "@"+owner, clicks[0].Chat)
	require.True(t, clicks[0].Direct)
}

// The end of a question takes its place, in the answer to the click itself, or after
// the acknowledgement where the commit took long.
func TestQuestionIsSettledByTheAnswer(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]time.Duration{"at once": 0, "after the acknowledgement": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := world(t, fake.Config{})
			ch := open(t, s, codec(t), func(c *discord.Config) { c.Late = late })
			release := make(chan struct{})
			in := &channeltest.Inbox{
				OnText: func(context.Context, channels.Text) channels.Answer {
					return channels.Answer{Text: "Let this account decide as you?", Actions: []core.Action{
						{Type: core.ActionCallback, Label: "Yes", Value: core.CallbackConfirm, PromptRef: core.ResolutionRef(core.KindExec, "prompt")},
					}}
				},
				OnClick: func(context.Context, channels.Click) channels.Answer {
					<-release
					return channels.Answer{Text: "Linked.", Settled: "Linked."}
				},
			}
			ctx, _ := receive(t, ch, in)
			require.NoError(t, s.AwaitListening(ctx, 1))
			id, err := s.Command(owner, group, "link", map[string]string{"code": "C"})
			require.NoError(t, err)
			_, err = s.AwaitReply(ctx, id)
			require.NoError(t, err)
			press, err := s.Press(fake.Press{User: owner, Message: s.Private()[0].Locator, Label: "Yes"})
			require.NoError(t, err)
			if late > 0 {
				require.Eventually(t, func() bool { return s.Responded(press) == 6 }, patience, time.Millisecond)
			}
			close(release)
			require.Eventually(t, func() bool { return s.Private()[0].Text == "Linked." }, patience, time.Millisecond)
			require.Empty(t, s.Private()[0].Buttons)
			if late == 0 {
				require.Equal(t, 7, s.Responded(press))
			}
			require.Len(t, s.Private(), 1, "nothing else was said")
			require.Empty(t, s.Violations.List())
		})
	}
}

func TestBotsNeverDecide(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	in := new(channeltest.Inbox)
	ctx, _ := receive(t, ch, in)
	require.NoError(t, s.AwaitListening(ctx, 1))
	_, err := s.Press(fake.Press{User: robot, Message: sent(t, ch, group), Label: "Deny"})
	require.NoError(t, err)
	clicks, err := in.AwaitClicks(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, "a bot", clicks[0].Actor.Refused)

	hook, err := json.Marshal(map[string]any{
		"id": "77", "channel_id": "78", "content": "hi", "webhook_id": "79", "author": map[string]any{"id": "79", "username": "hook"},
	})
	require.NoError(t, err)
	s.Event("MESSAGE_CREATE", hook)
	texts, err := in.AwaitTexts(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, "a webhook", texts[0].Actor.Refused)
}

// Whatever a connection goes through, the next one works; a session that the platform
// can continue is continued, with the clicks that came in between.
func TestReconnects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trouble func(*fake.Server)
		resumed bool
		cfg     fake.Config
		wanting int
	}{
		"asked to":              {func(s *fake.Server) { s.Say(`{"op":7,"d":null}`) }, true, fake.Config{}, 0},
		"broken off":            {func(s *fake.Server) { s.Disconnect(0) }, true, fake.Config{}, 0},
		"closed by the server":  {func(s *fake.Server) { s.Disconnect(4000) }, true, fake.Config{}, 0},
		"closed orderly":        {func(s *fake.Server) { s.Disconnect(1000) }, true, fake.Config{}, 0},
		"may be continued":      {func(s *fake.Server) { s.Say(`{"op":9,"d":true}`) }, true, fake.Config{}, 0},
		"may not be continued":  {func(s *fake.Server) { s.Say(`{"op":9,"d":false}`) }, false, fake.Config{}, 0},
		"session timed out":     {func(s *fake.Server) { s.Disconnect(4009) }, false, fake.Config{}, 0},
		"session forgotten":     {func(s *fake.Server) { s.Disconnect(0); s.Forget() }, false, fake.Config{}, 0},
		"null":                  {func(s *fake.Server) { s.Say(`null`) }, false, fake.Config{}, 0},
		"no JSON":               {func(s *fake.Server) { s.Say(`{"op":`) }, false, fake.Config{}, 0},
		"no op":                 {func(s *fake.Server) { s.Say(`{"t":"READY"}`) }, false, fake.Config{}, 0},
		"op is text":            {func(s *fake.Server) { s.Say(`{"op":"7"}`) }, false, fake.Config{}, 0},
		"heartbeats unanswered": {func(s *fake.Server) { s.MuteHeartbeats(true) }, true, fake.Config{Beat: 30 * time.Millisecond}, 0},
		"reconnect before ready": {func(s *fake.Server) {
			s.Greet(`{"op":10,"d":{"heartbeat_interval":41250}}`, `{"op":7,"d":null}`)
			s.Disconnect(0)
		}, true, fake.Config{}, 0},
		"null instead of hello":     {func(s *fake.Server) { s.Greet(`null`); s.Disconnect(4009) }, false, fake.Config{}, 0},
		"hello without an interval": {func(s *fake.Server) { s.Greet(`{"op":10,"d":{}}`); s.Disconnect(4009) }, false, fake.Config{}, 0},
		"ready without a session": {func(s *fake.Server) {
			s.Greet(`{"op":10,"d":{"heartbeat_interval":41250}}`, `{"op":0,"t":"READY","s":1,"d":{"guilds":[null]}}`)
			s.Disconnect(4009)
		}, false, fake.Config{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := world(t, c.cfg)
			ch := open(t, s, codec(t), nil)
			in := new(channeltest.Inbox)
			ctx, stop := receive(t, ch, in)
			require.NoError(t, s.AwaitSessions(ctx, 1, 0))
			locator := sent(t, ch, group)
			c.trouble(s)
			if c.resumed {
				require.NoError(t, s.AwaitSessions(ctx, 1, 1))
			} else {
				// One that is begun and then found wanting counts as well.
				require.NoError(t, s.AwaitSessions(ctx, 2+c.wanting, 0))
			}
			s.MuteHeartbeats(false)
			require.NoError(t, s.AwaitListening(ctx, 1))
			id, err := s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
			require.NoError(t, err)
			_, err = s.AwaitReply(ctx, id)
			require.NoError(t, err)
			require.NoError(t, stop())
			require.Empty(t, s.Violations.List())
		})
	}
}

func TestClickWhileReconnectingIsHandedOver(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	in := new(channeltest.Inbox)
	ctx, _ := receive(t, ch, in)
	require.NoError(t, s.AwaitSessions(ctx, 1, 0))
	locator := sent(t, ch, group)
	s.Script.Add(fakes.Fault{Kind: fakes.FaultUndecodable, Op: fakes.OpReceive}) // The first new connection fails.
	s.Disconnect(0)
	id, err := s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	require.NoError(t, s.AwaitListening(ctx, 1))
	// A refused handshake puts the session in doubt: it is begun anew, and the click
	// is one that its sender sees fail.
	require.Equal(t, 0, s.Responded(id))
	s.Disconnect(0)
	id, err = s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	replies, err := s.AwaitReplies(ctx, id, 2)
	require.NoError(t, err, "a continued session brings what came in between")
	require.Equal(t, "ok", replies[1].Text)
	require.Equal(t, 6, s.Responded(id), "acknowledged before it was decided")

	// One that comes after its 3 s decides nothing: its sender saw it fail.
	hold := s.Script.Add(fakes.Fault{Kind: fakes.FaultHold, Op: fakes.OpReceive})
	s.Disconnect(0)
	<-hold.Hit()
	late, err := s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	s.Clock.Advance(4 * time.Second)
	hold.Release()
	require.NoError(t, s.AwaitListening(ctx, 1))
	id, err = s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	_, err = s.AwaitReply(ctx, id)
	require.NoError(t, err)
	require.Equal(t, 0, s.Responded(late))
	clicks, err := in.AwaitClicks(ctx, 2)
	require.NoError(t, err)
	require.Len(t, clicks, 2)
}

// What no new connection can help ends receiving with the class that stops everything.
func TestRefusedByTheGateway(t *testing.T) {
	t.Parallel()
	for _, code := range []int{4004, 4010, 4011, 4012, 4013, 4014} {
		s := world(t, fake.Config{})
		ch := open(t, s, codec(t), nil)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		done := make(chan error, 1)
		go func() { done <- ch.Run(ctx, new(channeltest.Inbox)) }()
		require.NoError(t, s.AwaitListening(ctx, 1))
		s.Disconnect(code)
		require.Equal(t, core.FailureAuth, failure(t, <-done).Class)
		cancel()
	}
}

// Events that cannot be read, or are not for us, end nothing and block nobody.
func TestUnreadableEvents(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	in := new(channeltest.Inbox)
	ctx, _ := receive(t, ch, in)
	require.NoError(t, s.AwaitListening(ctx, 1))
	for _, kind := range []string{"INTERACTION_CREATE", "MESSAGE_CREATE", "GUILD_CREATE", "READY?"} {
		for _, data := range []string{
			`null`, `7`, `"x"`, `[]`, `{}`, `{"id":7}`, `{"id":"1","type":3}`, `{"id":"1","type":3,"token":"t","data":null}`,
			`{"id":"1","type":3,"token":"t","channel_id":"2","member":{"user":null}}`,
			`{"id":"1","application_id":"5","type":3,"token":"t","channel_id":"2","user":{"id":"3"}}`,
			`{"id":"1","application_id":"900000000000000001","type":4,"token":"t","channel_id":"2","user":{"id":"3"}}`,
			`{"id":"1","channel_id":"2","content":"x","author":{}}`,
			`{"id":"1","channel_id":"2","content":"in a server","guild_id":"9","author":{"id":"3"}}`,
			`{"id":"1","channel_id":"2","content":"our own","author":{"id":"900000000000000001"}}`,
			`{"id":"1","channel_id":"2","type":6,"content":"pinned","author":{"id":"3"}}`,
			`{"id":"1","channel_id":"2","content":" ","author":{"id":"3"}}`,
		} {
			s.Event(kind, json.RawMessage(data))
		}
	}
	id, err := s.Press(fake.Press{User: owner, Message: sent(t, ch, group), Label: "Deny"})
	require.NoError(t, err)
	_, err = s.AwaitReply(ctx, id)
	require.NoError(t, err)
	texts, err := in.AwaitTexts(ctx, 0)
	require.NoError(t, err)
	require.Empty(t, texts)
	clicks, err := in.AwaitClicks(ctx, 1)
	require.NoError(t, err)
	require.Len(t, clicks, 1)
	identified, _ := s.Sessions()
	require.Equal(t, 1, identified)
}

// A message that was not sent by this bot is not adopted (conformance: a click from a
// copy).
func TestCopyOfSomebodyElse(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	in := new(channeltest.Inbox)
	ctx, _ := receive(t, ch, in)
	require.NoError(t, s.AwaitListening(ctx, 1))
	locator := sent(t, ch, group)
	require.NoError(t, s.Own(locator, robot))
	_, err := s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	clicks, err := in.AwaitClicks(ctx, 1)
	require.NoError(t, err)
	require.False(t, clicks[0].Copy.SentByUs)
}

func TestPanicInACommandIsAnswered(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	in := &channeltest.Inbox{OnText: func(context.Context, channels.Text) channels.Answer { panic("a bug") }}
	ctx, _ := receive(t, ch, in)
	require.NoError(t, s.AwaitListening(ctx, 1))
	id, err := s.Command(owner, group, "pending", nil)
	require.NoError(t, err)
	reply, err := s.AwaitReply(ctx, id)
	require.NoError(t, err)
	require.Equal(t, presentation.AnswerUnclear, reply.Text)
}
