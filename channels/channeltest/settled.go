package channeltest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

func settledCases() []testCase {
	return []testCase{
		{"answered_question_shows_its_end_and_no_buttons", settledQuestion},
		{"answered_test_card_shows_its_end_and_no_buttons", settledTestCard},
		{"question_is_settled_again_when_its_edit_was_lost", settledAgain},
		{"payload_of_a_question_on_a_card_changes_no_card", settledElsewhere},
	}
}

// question is an answer to a text that asks with two buttons.
func question() channels.Answer {
	ref := core.ResolutionRef(core.KindExec, "prompt")
	return channels.Answer{Text: "Let this account decide as you?", Actions: []core.Action{
		{Type: core.ActionCallback, Label: "Yes", Value: core.CallbackConfirm, PromptRef: ref},
		{Type: core.ActionCallback, Label: "No", Value: core.CallbackDismiss, PromptRef: ref},
	}}
}

// settling asks with a question and answers clicks with its end.
func settling(end string) *Inbox {
	return &Inbox{
		OnText:  func(context.Context, channels.Text) channels.Answer { return question() },
		OnClick: func(context.Context, channels.Click) channels.Answer { return channels.Answer{Text: end, Settled: end} },
	}
}

// askQuestion has the question put to the owner and returns its message.
func (b *bundle) askQuestion(t *testing.T) fakes.Message {
	t.Helper()
	_, err := b.Platform.Type(Typed{Person: b.Owner, Address: b.Direct, Text: "/start code"})
	require.NoError(t, err)
	m, err := b.Platform.AwaitMessage(b.ctx, func(m fakes.Message) bool { return len(m.Buttons) == 2 })
	require.NoError(t, err)
	return m
}

// settles presses and waits until the message, changed so often, shows its end alone.
func (b *bundle) settles(t *testing.T, p Press, end string, edits int) {
	t.Helper()
	press, err := b.Platform.Press(p)
	require.NoError(t, err)
	_, err = b.Platform.AwaitReply(b.ctx, press)
	require.NoError(t, err)
	m, err := b.Platform.AwaitMessage(b.ctx, func(m fakes.Message) bool { return m.Locator == p.Message && m.Text == end })
	require.NoError(t, err)
	require.Empty(t, m.Buttons)
	require.Equal(t, edits, m.Edits)
}

func settledQuestion(t *testing.T, b *bundle) {
	const end = "Linked. What you answer here counts as Ann <a@b> *x* @everyone."
	b.receive(t, b.ch, settling(end))
	m := b.askQuestion(t)
	b.settles(t, Press{Person: b.Owner, Message: m.Locator, Label: "Yes"}, end, 1)
	require.Empty(t, b.shown(t, m.Locator).Pings)
}

func settledTestCard(t *testing.T, b *bundle) {
	b.receive(t, b.ch, settling(presentation.AnswerTestPassed))
	locator, _ := b.send(t, b.Direct, presentation.TestCard(core.ResolutionRef(core.KindExec, "prompt")))
	b.settles(t, Press{Person: b.Owner, Message: locator, Label: presentation.LabelTest}, presentation.AnswerTestPassed, 1)
}

// settledAgain: whoever presses a button that stayed behind, because the process died
// before the edit, is told that it is over, and the button goes.
func settledAgain(t *testing.T, b *bundle) {
	in := settling("It is over.")
	end, answers := in.OnClick, 0
	in.OnClick = func(ctx context.Context, c channels.Click) channels.Answer {
		if answers++; answers == 1 {
			return channels.Answer{Text: "Linked."} // And nothing more came of it.
		}
		return end(ctx, c)
	}
	b.receive(t, b.ch, in)
	m := b.askQuestion(t)
	b.press(t, Press{Person: b.Owner, Message: m.Locator, Label: "Yes"})
	require.Len(t, b.shown(t, m.Locator).Buttons, 2)
	b.settles(t, Press{Person: b.Owner, Message: m.Locator, Label: "Yes"}, "It is over.", 1)
}

// settledElsewhere: a modified client presses a question's button on a card.
func settledElsewhere(t *testing.T, b *bundle) {
	b.receive(t, b.ch, settling("It is over."))
	m := b.askQuestion(t)
	for _, address := range []string{b.Direct, b.Group} {
		locator, _ := b.send(t, address, pending())
		before := b.shown(t, locator)
		text, _ := b.press(t, Press{Person: b.Owner, Message: locator, Forged: m.Buttons[0].Payload})
		require.Equal(t, "It is over.", text, "the click is answered like any other")
		after := b.shown(t, locator)
		require.Zero(t, after.Edits)
		require.Equal(t, before.Buttons, after.Buttons)
	}
}
