package slack_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/channels/slack"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// card is a pending card.
func card() presentation.Card {
	act := func(d core.Decision, label string) core.Action {
		return core.Action{Type: core.ActionApproval, ApprovalID: "a", Kind: core.KindExec, Decision: d, Label: label}
	}
	note := core.Action{Type: core.ActionCallback, ApprovalID: "a", Kind: core.KindExec, Value: core.CallbackNote, Label: "Deny with a note"}
	return presentation.Card{
		ApprovalID: "a", Kind: core.KindExec, Status: core.StatusPending, Title: "Claude wants to run a command",
		Pill: "Reaches out", Command: "echo hello", Facts: []presentation.Fact{{Label: "Agent", Value: "Claude"}},
		Actions:    []core.Action{act(core.DecisionAllowOnce, "Allow once"), act(core.DecisionDeny, "Deny"), note},
		CutActions: []core.Action{act(core.DecisionDeny, "Deny"), note},
	}
}

type room struct {
	ctx context.Context
	s   *fake.Server
	ch  *slack.Channel
}

func setup(t *testing.T, change func(*slack.Config)) room {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	s := world(t)
	t.Cleanup(func() { require.Empty(t, s.Violations.List()) })
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
	require.NoError(t, r.s.AwaitConnections(r.ctx, connections))
}

// press presses a button and returns the name of its answer.
func (r room) press(t *testing.T, p fake.Press) string {
	t.Helper()
	name, err := r.s.Press(p)
	require.NoError(t, err)
	return name
}

func (r room) reply(t *testing.T, name string) string {
	t.Helper()
	reply, err := r.s.AwaitReply(r.ctx, name)
	require.NoError(t, err)
	return reply.Text
}

// A commit that takes longer than people can be kept waiting is acknowledged without
// a word, and its truth follows.
func TestSlowCommitIsAcknowledgedNeutrally(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	slack.Hurry(r.ch, time.Millisecond)
	release := make(chan struct{})
	in := &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		<-release
		return channels.Answer{Text: "Denied."}
	}}
	r.receive(t, in)
	press := r.press(t, fake.Press{User: owner, Message: r.post(t, shared), Label: "Deny"})
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))
	require.True(t, r.s.Taken(press))
	close(release)
	require.Equal(t, "Denied.", r.reply(t, press))
}

// Where nobody can say what kind of account somebody has, nothing is decided; what was
// found out is asked again only after a while.
func TestFailedLookUpDenies(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := new(channeltest.Inbox)
	r.receive(t, in)
	locator := r.post(t, shared)
	for _, kind := range []fakes.FaultKind{fakes.FaultServerError, fakes.FaultRateLimit, fakes.FaultUndecodable, fakes.FaultResetBefore} {
		r.s.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpLookup})
		press := r.press(t, fake.Press{User: owner, Message: locator, Label: "Deny"})
		require.Equal(t, presentation.AnswerNotRecorded, r.reply(t, press))
	}
	for range 3 {
		require.Equal(t, "ok", r.reply(t, r.press(t, fake.Press{User: owner, Message: locator, Label: "Deny"})))
	}
	clicks, err := in.AwaitClicks(r.ctx, 3)
	require.NoError(t, err)
	require.Len(t, clicks, 3, "nobody was asked about the others")
	require.Equal(t, "@olga", clicks[0].Actor.Label)
	require.Len(t, r.s.Calls("users.info"), 5)
}

// The same id in another workspace is somebody else, whoever has it here.
func TestStrangerOfAConnectedWorkspace(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := new(channeltest.Inbox)
	r.receive(t, in)
	press := r.press(t, fake.Press{User: owner, Message: r.post(t, shared), Label: "Deny", Team: "T0ELSE001"})
	require.Equal(t, "ok", r.reply(t, press))
	clicks, err := in.AwaitClicks(r.ctx, 1)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(channels.Actor{
		Realm: "slack:T0ELSE001", ID: owner, Label: "@olga", Refused: "a member of another workspace",
	}, clicks[0].Actor))
	require.Empty(t, r.s.Calls("users.info"), "nothing can be found out about them")
}

// In an organisation somebody's first workspace may be another; they are a member of
// this one all the same. Whoever presses is named as people know them.
func TestMembersOfAnOrganisation(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := new(channeltest.Inbox)
	r.receive(t, in)
	r.s.AddUser(fake.User{ID: "W0ORG0001", Name: "ora", Team: "T0ELSE001", OrgTeams: []string{"T0ELSE001", fake.Team}})
	press := r.press(t, fake.Press{User: "W0ORG0001", Message: r.post(t, shared), Label: "Deny", Team: fake.Team})
	require.Equal(t, "ok", r.reply(t, press))
	clicks, err := in.AwaitClicks(r.ctx, 1)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(channels.Actor{Realm: realm, ID: "W0ORG0001", Label: "@ora"}, clicks[0].Actor))
}

// Commands are the text commands by another name.
func TestCommands(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := &channeltest.Inbox{OnText: func(context.Context, channels.Text) channels.Answer {
		return channels.Answer{Text: "I know /pending, /approve and (/deny). Look at /srv/approved."}
	}}
	r.receive(t, in)
	for n, c := range []struct {
		place, typed, text, chat string
		direct                   bool
	}{
		{shared, "approve 1 allow-once abcd2345", "/approve 1 allow-once abcd2345", shared, false},
		{shared, "deny 1  two  words ", "/deny 1  two  words", shared, false},
		{shared, "pending", "/pending", owner, true},
		{shared, "/whoami", "/whoami", owner, true},
		{shared, "link CODE", "/start CODE", owner, true},
		{shared, " ", "/help", owner, true},
		{"D0OWNER01", "approve 1", "/approve 1", owner, true},
	} {
		id, err := r.s.Command(owner, c.place, c.typed)
		require.NoError(t, err)
		texts, err := in.AwaitTexts(r.ctx, n+1)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(channels.Text{
			Account: r.ch.Ref(), Actor: channels.Actor{Realm: realm, ID: owner, Label: "@olga"},
			Chat: c.chat, Direct: c.direct, Text: c.text, MessageID: id,
		}, texts[n]))
		require.Equal(t, "I know /sayso pending, /sayso approve and (/sayso deny). Look at /srv/approved.", r.reply(t, id),
			"clients would not send the others")
	}
}

// A message that one person alone sees is a private place, also in a channel: its
// buttons answer a question that was asked there.
func TestEphemeralMessagesArePrivate(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	ref := core.ResolutionRef(core.KindExec, "prompt")
	in := &channeltest.Inbox{OnText: func(context.Context, channels.Text) channels.Answer {
		return channels.Answer{Text: "Link this account?", Actions: []core.Action{
			{Type: core.ActionCallback, Label: "Yes", Value: core.CallbackConfirm, PromptRef: ref},
		}}
	}}
	r.receive(t, in)
	_, err := r.s.Command(owner, shared, "link CODE")
	require.NoError(t, err)
	m, err := r.s.AwaitMessage(r.ctx, func(m fakes.Message) bool { return len(m.Buttons) == 1 })
	require.NoError(t, err)
	require.Equal(t, "ok", r.reply(t, r.press(t, fake.Press{User: owner, Message: m.Locator, Label: "Yes"})))
	clicks, err := in.AwaitClicks(r.ctx, 1)
	require.NoError(t, err)
	texts, err := in.AwaitTexts(r.ctx, 1)
	require.NoError(t, err)
	require.True(t, clicks[0].Direct)
	require.Equal(t, texts[0].Chat, clicks[0].Chat)
	require.False(t, clicks[0].Copy.SentByUs, "the platform does not say")

	in.OnClick = func(context.Context, channels.Click) channels.Answer {
		return channels.Answer{Text: "Linked.", Settled: "Linked."}
	}
	require.Equal(t, "Linked.", r.reply(t, r.press(t, fake.Press{User: owner, Message: m.Locator, Label: "Yes"})))
	settled, err := r.s.AwaitMessage(r.ctx, func(x fakes.Message) bool { return x.Locator == m.Locator && x.Text == "Linked." })
	require.NoError(t, err)
	require.Empty(t, settled.Buttons)
}

// Where the end of a question cannot take its place, it is told beside it.
func TestQuestionThatCannotBeReplaced(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		return channels.Answer{Text: "It works.", Settled: "It works."}
	}}
	r.receive(t, in)
	card, err := r.ch.Render(presentation.TestCard(core.ResolutionRef(core.KindExec, "prompt")))
	require.NoError(t, err)
	at, err := r.ch.Send(r.ctx, owner, card)
	require.NoError(t, err)
	r.s.Script.Add(fakes.Fault{Kind: fakes.FaultReject, Op: fakes.OpAnswer})
	require.Equal(t, "It works.", r.reply(t, r.press(t, fake.Press{User: owner, Message: at, Label: presentation.LabelTest})))
}

// In a direct chat, what is written is answered below it; what bots write and what is
// no writing at all is left alone.
func TestDirectMessages(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := &channeltest.Inbox{OnText: func(context.Context, channels.Text) channels.Answer {
		return channels.Answer{Text: "Understood."}
	}}
	r.receive(t, in)
	card := r.post(t, owner)
	const direct = "D0OWNER01"
	for _, ignored := range []fake.Typed{
		{User: owner, Channel: direct, Text: "x", Subtype: "message_changed"},
		{User: owner, Channel: direct, Text: "x", Bot: true},
		{User: owner, Channel: direct, Text: " "},
	} {
		_, err := r.s.Type(ignored)
		require.NoError(t, err)
	}
	wrote, err := r.s.Type(fake.Typed{User: owner, Channel: direct, Text: "use <b> & co", ReplyTo: card})
	require.NoError(t, err)
	texts, err := in.AwaitTexts(r.ctx, 1)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(channels.Text{
		Account: r.ch.Ref(), Actor: channels.Actor{Realm: realm, ID: owner, Label: "@olga"},
		Chat: owner, Direct: true, Text: "use <b> & co", ReplyTo: card, MessageID: wrote,
	}, texts[0]))
	m, err := r.s.AwaitMessage(r.ctx, func(m fakes.Message) bool { return m.Text == "Understood." })
	require.NoError(t, err)
	require.Equal(t, card, m.ReplyTo, "in the thread of the card")
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))
}

// The platform replaces connections every few hours. Presses that come meanwhile are
// taken, and what was taken before is acknowledged where it came from.
func TestRefreshLosesNothing(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	entered, release := make(chan struct{}), make(chan struct{})
	first := true
	in := &channeltest.Inbox{OnClick: func(_ context.Context, c channels.Click) channels.Answer {
		if c.Actor.ID == owner && first {
			first = false
			close(entered)
			<-release
		}
		return channels.Answer{Text: "ok"}
	}}
	r.receive(t, in)
	locator := r.post(t, shared)
	early := r.press(t, fake.Press{User: owner, Message: locator, Label: "Deny"})
	<-entered
	r.s.Refresh()
	require.NoError(t, r.s.AwaitConnections(r.ctx, connections))
	require.Equal(t, "ok", r.reply(t, r.press(t, fake.Press{User: other, Message: locator, Label: "Deny"})))
	close(release)
	require.Equal(t, "ok", r.reply(t, early))
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))
	require.True(t, r.s.Taken(early))
}

// A message whose acknowledgement did not get through comes again, with the same id;
// a press does not, and people press again.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	entered, release := make(chan struct{}, 2), make(chan struct{})
	in := &channeltest.Inbox{OnText: func(context.Context, channels.Text) channels.Answer {
		entered <- struct{}{}
		<-release
		return channels.Answer{}
	}}
	r.receive(t, in)
	wrote, err := r.s.Type(fake.Typed{User: owner, Channel: "D0OWNER01", Text: "hello"})
	require.NoError(t, err)
	<-entered
	r.s.Cut()
	require.NoError(t, r.s.AwaitConnections(r.ctx, connections))
	close(release)
	texts, err := in.AwaitTexts(r.ctx, 2)
	require.NoError(t, err)
	require.Equal(t, wrote, texts[0].MessageID)
	require.Equal(t, texts[0], texts[1])
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))
	require.Equal(t, "ok", r.reply(t, r.press(t, fake.Press{User: owner, Message: r.post(t, shared), Label: "Deny"})))
}

// Frames that no platform sends block nothing.
func TestUnusualFrames(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	r.receive(t, new(channeltest.Inbox))
	for _, frame := range []string{"", "{", "null", "[]", `"x"`, `{"type":7}`, `{"type":"news"}`, `{"type":"interactive"}`, `{"type":"hello"}`} {
		r.s.Raw(frame)
	}
	require.Equal(t, "ok", r.reply(t, r.press(t, fake.Press{User: owner, Message: r.post(t, shared), Label: "Deny"})))
}

// The eleventh connection is turned away; whoever is turned away comes back.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	var stops []func()
	for range 10 / slack.Connections { // With no room to replace one.
		ch := open(t, r.s, codec(t), nil)
		ctx, cancel := context.WithCancel(r.ctx)
		done := make(chan error, 1)
		go func() { done <- ch.Run(ctx, new(channeltest.Inbox)) }()
		stops = append(stops, func() {
			cancel()
			require.NoError(t, <-done)
		})
	}
	require.NoError(t, r.s.AwaitConnections(r.ctx, 10))
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan error, 1)
	go func() { done <- r.ch.Run(ctx, new(channeltest.Inbox)) }()
	_, err := r.s.AwaitCalls(r.ctx, "apps.connections.open", 13)
	require.NoError(t, err)
	for _, stop := range stops {
		stop()
	}
	require.NoError(t, r.s.AwaitConnections(r.ctx, connections))
	cancel()
	require.NoError(t, <-done)
}

func closed() *presentation.Outcome {
	return &presentation.Outcome{Text: "Denied by Alice", ByPerson: true}
}

// An answer that says neither yes nor no is no answer: not a token that is refused,
// nor a connection that opened.
func TestHollowAnswersStopNothing(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	for _, op := range []fakes.Op{fakes.OpCheck, fakes.OpReceive, fakes.OpReceive, fakes.OpLookup} {
		r.s.Script.Add(fakes.Fault{Kind: fakes.FaultHollow, Op: op})
	}
	r.receive(t, new(channeltest.Inbox))
	locator := r.post(t, shared)
	require.Equal(t, presentation.AnswerNotRecorded, r.reply(t, r.press(t, fake.Press{User: owner, Message: locator, Label: "Deny"})))
	require.Equal(t, "ok", r.reply(t, r.press(t, fake.Press{User: owner, Message: locator, Label: "Deny"})))
}
