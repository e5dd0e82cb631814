package channeltest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
)

// finalCardCases: a committed final card is the answer to the click that decided, where
// the platform can take it; the ledger hears of it. Elsewhere, and for everybody else,
// an answer is words, and only the ledger edits messages.
func finalCardCases() []testCase {
	return []testCase{
		{"final_card_is_the_answer_of_who_decided", finalCard},
		{"final_card_that_the_platform_refuses_is_told_in_words", finalCardRefused},
		{"final_card_whose_answer_is_lost_is_not_counted", finalCardLost},
		{"final_card_only_in_answer_to_a_click", finalCardTyped},
	}
}

const (
	wordsOfWho  = "You allowed this once."
	wordsOfElse = "Already decided: allowed once by Alice."
)

// deciding answers as the pipeline does: the first click decides, the others lose.
func deciding(first string) *Inbox {
	return &Inbox{OnClick: func(_ context.Context, c channels.Click) channels.Answer {
		if c.Actor.ID != first {
			return channels.Answer{Text: wordsOfElse, Alert: true}
		}
		a := channels.Answer{Text: wordsOfWho}
		if c.TakesCard {
			a.Terminal = &channels.TerminalCard{Card: resolved(), DeliveryID: "d2", CardRevision: 2}
		}
		return a
	}}
}

func finalCard(t *testing.T, b *bundle) {
	in := deciding(b.Owner)
	b.receive(t, b.ch, in)
	for n, address := range []string{b.Group, b.Thread, b.Direct} {
		locator, _ := b.send(t, address, pending())
		text, _ := b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
		clicks, err := in.AwaitClicks(b.ctx, n+1)
		require.NoError(t, err)
		require.Equal(t, b.AnswersWithCard, clicks[n].TakesCard)
		if !b.AnswersWithCard {
			require.Equal(t, wordsOfWho, text)
			require.Zero(t, b.shown(t, locator).Edits)
			continue
		}
		require.Empty(t, text, "the card says it")
		m := b.shown(t, locator)
		require.Empty(t, m.Buttons)
		require.Contains(t, m.Text, "Alice")
		require.Empty(t, m.Pings)
		shown, err := in.AwaitShown(b.ctx, n+1)
		require.NoError(t, err)
		require.Equal(t, Shown{"d2", 2}, shown[n])
		// The ledger would have painted the same.
		outcome, err := b.ch.Edit(b.ctx, locator, b.render(t, resolved()))
		require.NoError(t, err)
		require.Equal(t, "replaced", string(outcome))
		require.Equal(t, m.Text, b.shown(t, locator).Text)
	}
	locator, _ := b.send(t, b.Group, pending())
	text, _ := b.press(t, Press{Person: b.Other, Message: locator, Label: "Deny"})
	require.Equal(t, wordsOfElse, text)
	require.Zero(t, b.shown(t, locator).Edits)
}

func finalCardRefused(t *testing.T, b *bundle) {
	in := deciding(b.Owner)
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Group, pending())
	if !b.AnswersWithCard {
		text, _ := b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
		require.Equal(t, wordsOfWho, text)
		return
	}
	b.Platform.Script.Add(fakes.Fault{Kind: fakes.FaultReject, Op: fakes.OpAnswer})
	text, _ := b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
	require.Equal(t, wordsOfWho, text)
	require.Zero(t, b.shown(t, locator).Edits)
	shown, err := in.AwaitShown(b.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []Shown{{"d2", 0}}, shown, "the message is the ledger's at once")
}

// Whether a lost answer was shown nobody knows: it counts for nothing.
func finalCardLost(t *testing.T, b *bundle) {
	in := deciding(b.Owner)
	stop := b.receive(t, b.ch, in)
	for n, kind := range []fakes.FaultKind{fakes.FaultResetAfter, fakes.FaultResetBefore, fakes.FaultUndecodable} {
		fault := b.Platform.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpAnswer})
		locator, _ := b.send(t, b.Group, pending())
		_, err := b.Platform.Press(Press{Person: b.Owner, Message: locator, Label: "Deny"})
		require.NoError(t, err)
		select {
		case <-fault.Hit():
		case <-b.ctx.Done():
			require.NoError(t, b.ctx.Err())
		}
		_, err = in.AwaitClicks(b.ctx, n+1)
		require.NoError(t, err)
	}
	require.NoError(t, stop()) // Answers under way have ended.
	shown, err := in.AwaitShown(b.ctx, 0)
	require.NoError(t, err)
	require.Empty(t, shown)
}

// A decision that was typed has no message to edit.
func finalCardTyped(t *testing.T, b *bundle) {
	in := &Inbox{OnText: func(context.Context, channels.Text) channels.Answer { return channels.Answer{Text: wordsOfWho} }}
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Direct, pending())
	_, err := b.Platform.Type(Typed{Person: b.Owner, Address: b.Direct, Text: "/approve x allow-once", ReplyTo: locator})
	require.NoError(t, err)
	m, err := b.Platform.AwaitMessage(b.ctx, func(m fakes.Message) bool { return m.Text == wordsOfWho })
	require.NoError(t, err)
	require.NotEqual(t, locator, m.Locator)
	require.Zero(t, b.shown(t, locator).Edits)
}
