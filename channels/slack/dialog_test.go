package slack_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/presentation"
)

const note = "Deny with a note"

func asking(context.Context, channels.Click) channels.Answer {
	return channels.Answer{Prompt: &channels.Prompt{
		ID: "prompt-1", Dialog: "Your note denies this.", Placeholder: "Why?", Title: presentation.PromptNoteTitle,
	}}
}

// The permission to open a dialog ends 3 s after the press, so it is used before
// anything is checked.
func TestDialogOpensFirstThing(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	release := make(chan struct{})
	in := &channeltest.Inbox{
		OnClick: func(ctx context.Context, c channels.Click) channels.Answer {
			<-release
			return asking(ctx, c)
		},
		OnText: func(context.Context, channels.Text) channels.Answer { return channels.Answer{Text: "You denied this."} },
	}
	r.receive(t, in)
	press := r.press(t, fake.Press{User: owner, Message: r.post(t, shared), Label: note})
	_, err := r.s.AwaitCalls(r.ctx, "views.open", 1)
	require.NoError(t, err)
	r.s.Clock.Advance(2 * time.Second)
	close(release)
	sent, err := r.s.AnswerDialog(r.ctx, press, owner, "  not now\n")
	require.NoError(t, err)
	require.Equal(t, "You denied this.", r.reply(t, sent), "the answer comes where the card is")
	require.NoError(t, r.s.AwaitConfirmed(r.ctx))
	require.True(t, r.s.Taken(sent), "an empty body closes the dialog")
	texts, err := in.AwaitTexts(r.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, "prompt-1", texts[0].PromptID)
	require.Equal(t, "  not now\n", texts[0].Text)
	require.Equal(t, shared, texts[0].Chat)
	require.False(t, texts[0].Direct)
	require.NotEmpty(t, texts[0].MessageID)
}

// Somebody who may not answer is told so in the dialog that opened for them.
func TestRefusalInADialog(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	answers := make(chan channels.Answer, 2)
	in := &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer { return <-answers }}
	r.receive(t, in)
	locator := r.post(t, shared)
	answers <- channels.Answer{Text: presentation.AnswerMayNotDecide, Alert: true}
	require.Equal(t, presentation.AnswerMayNotDecide, r.reply(t, r.press(t, fake.Press{User: owner, Message: locator, Label: note})))
	answers <- channels.Answer{}
	require.Contains(t, r.reply(t, r.press(t, fake.Press{User: owner, Message: locator, Label: note})), "Nothing was changed")
	m, ok := r.s.Message(locator)
	require.True(t, ok)
	require.Zero(t, m.Edits)
}

// A dialog that does not open, or does not get its content, decides nothing, and the
// person is told to press again.
func TestDialogThatFails(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := &channeltest.Inbox{OnClick: asking}
	r.receive(t, in)
	locator := r.post(t, shared)

	held := r.s.Script.Add(fakes.Fault{Kind: fakes.FaultHold, Op: fakes.OpAnswer})
	press := r.press(t, fake.Press{User: owner, Message: locator, Label: note})
	<-held.Hit()
	r.s.Clock.Advance(4 * time.Second)
	held.Release() // expired_trigger_id
	require.Contains(t, r.reply(t, press), "press again")

	r.s.Script.Add(fakes.Fault{Kind: fakes.FaultResetBefore, Op: fakes.OpAnswer})
	require.Contains(t, r.reply(t, r.press(t, fake.Press{User: owner, Message: locator, Label: note})), "press again")

	require.Empty(t, r.reply(t, r.press(t, fake.Press{User: owner, Message: locator, Label: note})), "and now it asks")
}

// A payload that asks for text on a button that did not say so opens a dialog all the
// same, as long as the permission lasts.
func TestForgedNoteStillAsks(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	r.receive(t, &channeltest.Inbox{OnClick: asking})
	press := r.press(t, fake.Press{User: owner, Message: r.post(t, owner), Forged: "note"})
	require.Empty(t, r.reply(t, press))
	_, err := r.s.AnswerDialog(r.ctx, press, owner, strings.Repeat("n", 1_000))
	require.NoError(t, err)
	require.Len(t, r.s.Calls("views.open"), 1)
	require.Empty(t, r.s.Calls("views.update"))
}

// What kind of account sends a dialog off is looked up like for a press.
func TestLookUpFailsForADialog(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := &channeltest.Inbox{OnClick: asking}
	r.receive(t, in)
	press := r.press(t, fake.Press{User: owner, Message: r.post(t, shared), Label: note})
	require.Empty(t, r.reply(t, press))
	r.s.Script.Add(fakes.Fault{Kind: fakes.FaultServerError, Op: fakes.OpLookup})
	sent, err := r.s.AnswerDialog(r.ctx, press, other, "no")
	require.NoError(t, err)
	require.Equal(t, presentation.AnswerNotRecorded, r.reply(t, sent))
	texts, err := in.AwaitTexts(r.ctx, 0)
	require.NoError(t, err)
	require.Empty(t, texts)
}
