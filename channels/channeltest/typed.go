package channeltest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
)

func typedCases() []testCase {
	return []testCase{
		{"command_reaches_the_inbound", command},
		{"reply_to_a_card_names_the_card", replyToCard},
		{"what_comes_with_a_file_says_so", attached},
		{"talk_that_is_not_for_us_is_left_alone", notForUs},
		{"answer_is_posted_as_a_reply", answered},
		{"answer_mentions_nobody", answerPings},
		{"answer_with_buttons_decodes", answerButtons},
		{"prompt_is_asked_placed_and_answered", prompt},
		{"prompt_that_cannot_be_recorded_is_taken_back", promptUnrecorded},
		{"panic_is_answered", textPanics},
	}
}

func command(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	id, err := b.Platform.Type(Typed{Person: b.Owner, Address: b.Direct, Text: "/pending now"})
	require.NoError(t, err)
	texts, err := in.AwaitTexts(b.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, channels.Text{
		Account: b.ch.Ref(), Actor: texts[0].Actor, Chat: b.Direct, Direct: true, Text: "/pending now", MessageID: id,
	}, texts[0])
	require.Equal(t, b.Owner, texts[0].Actor.ID)
	require.Equal(t, b.Realm, texts[0].Actor.Realm)
	require.Empty(t, texts[0].Actor.Refused)
}

func replyToCard(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	for n, address := range []string{b.Direct, b.Group, b.Thread} {
		locator, _ := b.send(t, address, pending())
		_, err := b.Platform.Type(Typed{Person: b.Owner, Address: address, Text: "use the other host", ReplyTo: locator})
		require.NoError(t, err)
		if n > 0 && !b.HearsGroups {
			continue
		}
		texts, err := in.AwaitTexts(b.ctx, n+1)
		require.NoError(t, err)
		require.Equal(t, locator, texts[n].ReplyTo)
		require.Equal(t, address, texts[n].Chat)
		require.Equal(t, n == 0, texts[n].Direct)
		require.Equal(t, "use the other host", texts[n].Text)
	}
	if b.HearsGroups {
		return
	}
	_, err := b.Platform.Type(Typed{Person: b.Owner, Address: b.Direct, Text: "/whoami"})
	require.NoError(t, err)
	texts, err := in.AwaitTexts(b.ctx, 2)
	require.NoError(t, err)
	require.Equal(t, "/whoami", texts[1].Text, "nothing from the shared chats came")
}

// attached: a text with a picture or a file is told apart from plain words (R134).
func attached(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Direct, pending())
	for n, with := range []bool{true, false} {
		_, err := b.Platform.Type(Typed{Person: b.Owner, Address: b.Direct, Text: "like this", ReplyTo: locator, Attached: with})
		require.NoError(t, err)
		texts, err := in.AwaitTexts(b.ctx, n+1)
		require.NoError(t, err)
		require.Equal(t, "like this", texts[n].Text)
		require.Equal(t, locator, texts[n].ReplyTo)
		require.Equal(t, with, texts[n].Attached)
	}
}

func notForUs(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	human, err := b.Platform.Type(Typed{Person: b.Other, Address: b.Group, Text: "lunch?"})
	require.NoError(t, err)
	_, err = b.Platform.Type(Typed{Person: b.Owner, Address: b.Group, Text: "yes", ReplyTo: human})
	require.NoError(t, err)
	_, err = b.Platform.Type(Typed{Person: b.Owner, Address: b.Direct, Text: "/whoami"})
	require.NoError(t, err)
	require.NoError(t, b.Platform.AwaitConfirmed(b.ctx))
	texts, err := in.AwaitTexts(b.ctx, 1)
	require.NoError(t, err)
	require.Len(t, texts, 1)
	require.Equal(t, "/whoami", texts[0].Text)
}

// answerWith answers every text with a and returns the message that it became.
func (b *bundle) answerWith(t *testing.T, address string, a channels.Answer) fakes.Message {
	t.Helper()
	in := &Inbox{OnText: func(context.Context, channels.Text) channels.Answer { return a }}
	b.receive(t, b.ch, in)
	id, err := b.Platform.Type(Typed{Person: b.Owner, Address: address, Text: "/pending"})
	require.NoError(t, err)
	m, err := b.Platform.AwaitMessage(b.ctx, func(m fakes.Message) bool { return m.Text != "" })
	require.NoError(t, err)
	require.Equal(t, address, m.Address)
	require.Equal(t, id, m.ReplyTo, "people see what was answered")
	return m
}

func answered(t *testing.T, b *bundle) {
	require.Equal(t, "Nothing waits for you.", b.answerWith(t, b.Direct, channels.Answer{Text: "Nothing waits for you."}).Text)
}

func answerPings(t *testing.T, b *bundle) {
	m := b.answerWith(t, b.Direct, channels.Answer{Text: strings.Join(hostile(), "\n")})
	require.Empty(t, m.Pings)
}

func answerButtons(t *testing.T, b *bundle) {
	ref := core.ResolutionRef(core.KindExec, "prompt")
	m := b.answerWith(t, b.Direct, channels.Answer{Text: "Let this account decide as you?", Actions: []core.Action{
		{Type: core.ActionCallback, Label: "Yes, link me", Value: core.CallbackConfirm, PromptRef: ref},
		{Type: core.ActionCallback, Label: "No", Value: core.CallbackDismiss, PromptRef: ref},
	}})
	require.Len(t, m.Buttons, 2)
	for _, button := range m.Buttons {
		d, err := b.codec.Decode(b.ch.Ref(), button.Payload)
		require.NoError(t, err)
		require.Equal(t, ref, d.Ref)
	}
}

func asks(promptID string) func(context.Context, channels.Click) channels.Answer {
	return func(context.Context, channels.Click) channels.Answer {
		return channels.Answer{Prompt: &channels.Prompt{
			ID: promptID, Text: "Your note denies “mail @everyone” (abcd2345). Reply to this message; until then nothing is decided.",
			Dialog:      "Your note denies “mail @everyone” (abcd2345). Until you send it nothing is decided.",
			Placeholder: strings.Repeat("p", 70), Title: "Deny with a note",
		}}
	}
}

func prompt(t *testing.T, b *bundle) {
	in := &Inbox{OnClick: asks("prompt-1")}
	b.receive(t, b.ch, in)
	for n, address := range []string{b.Direct, b.Group, b.Thread} {
		locator, _ := b.send(t, address, pending())
		press, err := b.Platform.Press(Press{Person: b.Owner, Message: locator, Label: "Deny with a note"})
		require.NoError(t, err)
		reply, err := b.Platform.AwaitReply(b.ctx, press)
		require.NoError(t, err)
		require.False(t, reply.Alert)
		if b.PromptsPlaced {
			m := b.shown(t, in.PlacedAt("prompt-1"))
			require.True(t, m.Asks)
			require.Equal(t, address, m.Address)
			require.Equal(t, locator, m.ReplyTo)
			require.NotContains(t, m.Pings, "@everyone")
		}
		require.NoError(t, b.Platform.AnswerPrompt(b.ctx, press, b.Owner, "because"))
		texts, err := in.AwaitTexts(b.ctx, n+1)
		require.NoError(t, err)
		require.Equal(t, "because", texts[n].Text)
		require.Equal(t, b.Owner, texts[n].Actor.ID)
		require.NotEmpty(t, texts[n].MessageID)
		if b.PromptsPlaced {
			require.Equal(t, in.PlacedAt("prompt-1"), texts[n].ReplyTo)
		} else {
			require.Equal(t, "prompt-1", texts[n].PromptID)
		}
		require.Zero(t, b.shown(t, locator).Edits, "the card stays as it was")
	}
}

// promptUnrecorded: a question whose place was not recorded could never be
// answered, so the person is told. Dialogs carry their id and need no record.
func promptUnrecorded(t *testing.T, b *bundle) {
	in := &Inbox{OnClick: asks("prompt-1"), OnPlaced: func(context.Context, string, string) error { return errors.New("store is down") }}
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Group, pending())
	_, alert := b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny with a note"})
	require.Equal(t, b.PromptsPlaced, alert)
	for _, m := range b.Platform.Messages() {
		require.True(t, !m.Asks || m.Deleted, "no question is left that nobody can answer")
	}
}

func textPanics(t *testing.T, b *bundle) {
	in := &Inbox{OnText: func(_ context.Context, text channels.Text) channels.Answer {
		if text.Text == "/bad" {
			panic(contentMark)
		}
		return channels.Answer{Text: "fine"}
	}}
	b.receive(t, b.ch, in)
	for _, text := range []string{"/bad", "/good"} {
		_, err := b.Platform.Type(Typed{Person: b.Owner, Address: b.Direct, Text: text})
		require.NoError(t, err)
	}
	_, err := b.Platform.AwaitMessage(b.ctx, func(m fakes.Message) bool { return m.Text == "fine" })
	require.NoError(t, err)
	require.Len(t, b.Platform.Messages(), 2, "both were answered")
}
