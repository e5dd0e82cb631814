package discord_test

import (
	"context"
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

// settledCard is what the message of a decided approval shows.
func settledCard() *channels.TerminalCard {
	c := card("ls", "Deny")
	c.Status, c.Actions, c.CutActions = core.StatusDenied, nil, nil
	c.Outcome = &presentation.Outcome{Text: "Denied by Olga."}
	return &channels.TerminalCard{Card: c, DeliveryID: "d1", CardRevision: 2}
}

// Design: the answer to the click that decided is response type 7 with the final card,
// by the gateway and by the endpoint alike.
func TestFinalCardIsResponseTypeSeven(t *testing.T) {
	t.Parallel()
	decided := func() *channeltest.Inbox {
		return &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
			return channels.Answer{Text: "You denied this.", Terminal: settledCard()}
		}}
	}
	check := func(ctx context.Context, t *testing.T, s *fake.Server, ch *discord.Channel, in *channeltest.Inbox) {
		t.Helper()
		locator := sent(t, ch, group)
		id, err := s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
		require.NoError(t, err)
		_, err = s.AwaitReply(ctx, id)
		require.NoError(t, err)
		require.Equal(t, 7, s.Responded(id))
		m, ok := s.Message(locator)
		require.True(t, ok)
		require.Contains(t, m.Text, "Denied by Olga.")
		require.Empty(t, m.Buttons)
		require.Empty(t, s.Private(), "whoever decided reads it on the card")
		shown, err := in.AwaitShown(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, []channeltest.Shown{{DeliveryID: "d1", CardRevision: 2}}, shown)
		require.Empty(t, s.Violations.List())
	}
	t.Run("gateway", func(t *testing.T) {
		t.Parallel()
		s, in := world(t, fake.Config{}), decided()
		ch := open(t, s, codec(t), nil)
		ctx, _ := receive(t, ch, in)
		require.NoError(t, s.AwaitListening(ctx, 1))
		check(ctx, t, s, ch, in)
	})
	t.Run("endpoint", func(t *testing.T) {
		t.Parallel()
		in := decided()
		ctx, s, ch, _ := pushed(t, in)
		check(ctx, t, s, ch, in)
	})
}

// After the neutral acknowledgement the card is the ledger's at once, and the person is
// answered in words.
func TestFinalCardAfterTheAcknowledgement(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), func(c *discord.Config) { c.Late = 5 * time.Millisecond })
	release := make(chan struct{})
	in := &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		<-release
		return channels.Answer{Text: "You denied this.", Terminal: settledCard()}
	}}
	ctx, _ := receive(t, ch, in)
	require.NoError(t, s.AwaitListening(ctx, 1))
	locator := sent(t, ch, group)
	id, err := s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	_, err = s.AwaitReply(ctx, id)
	require.NoError(t, err)
	close(release)
	replies, err := s.AwaitReplies(ctx, id, 2)
	require.NoError(t, err)
	require.Equal(t, "You denied this.", replies[1].Text)
	require.Equal(t, 6, s.Responded(id))
	shown, err := in.AwaitShown(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []channeltest.Shown{{DeliveryID: "d1"}}, shown)
	m, ok := s.Message(locator)
	require.True(t, ok)
	require.Zero(t, m.Edits)
}

// An answer that comes after the platform's 3 s has shown nothing, and nothing is
// claimed: the ledger's edit comes when its delay is over.
func TestFinalCardTooLate(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	in := &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		s.Clock.Advance(4 * time.Second)
		return channels.Answer{Text: "You denied this.", Terminal: settledCard()}
	}}
	ctx, stop := receive(t, ch, in)
	require.NoError(t, s.AwaitListening(ctx, 1))
	locator := sent(t, ch, group)
	_, err := s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	_, err = in.AwaitClicks(ctx, 1)
	require.NoError(t, err)
	require.NoError(t, stop())
	m, ok := s.Message(locator)
	require.True(t, ok)
	require.Zero(t, m.Edits)
	shown, err := in.AwaitShown(ctx, 0)
	require.NoError(t, err)
	require.Empty(t, shown)
}

// What does not confirm the response has not shown the card, whatever its status: the
// message is left to the ledger.
func TestFinalCardUnconfirmed(t *testing.T) {
	t.Parallel()
	for _, kind := range []fakes.FaultKind{
		fakes.FaultHollow, fakes.FaultUndecodable, fakes.FaultServerError, fakes.FaultResetBefore, fakes.FaultResetAfter, fakes.FaultReject,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := world(t, fake.Config{})
			ch := open(t, s, codec(t), nil)
			in := &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
				return channels.Answer{Text: "You denied this.", Terminal: settledCard()}
			}}
			ctx, stop := receive(t, ch, in)
			require.NoError(t, s.AwaitListening(ctx, 1))
			locator := sent(t, ch, group)
			s.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpAnswer, Times: -1})
			_, err := s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
			require.NoError(t, err)
			_, err = in.AwaitClicks(ctx, 1)
			require.NoError(t, err)
			require.NoError(t, stop())
			shown, err := in.AwaitShown(ctx, 0)
			require.NoError(t, err)
			for _, s := range shown {
				require.Zero(t, s.CardRevision)
			}
		})
	}
}

// A message beside a card is a reply to it, in the card's own chat only.
func TestMessageBesideACardIsAReply(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	first := sent(t, ch, group)
	r := rendered(t, ch, settledCard().Card)
	for to, want := range map[string]string{group: first, thread: "", "@" + owner: ""} {
		r.ReplyTo = first
		locator, err := ch.Send(t.Context(), to, r)
		require.NoError(t, err)
		m, ok := s.Message(locator)
		require.True(t, ok)
		require.Equal(t, want, m.ReplyTo)
	}
	r.ReplyTo = "no locator"
	_, err := ch.Send(t.Context(), group, r)
	require.NoError(t, err)
	require.Empty(t, s.Violations.List())
}
