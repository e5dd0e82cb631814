package callbacks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// testCard opens the prompt of a test card that was sent to a person.
func testCard(t *testing.T, w *world, user string) core.Action {
	t.Helper()
	p, err := w.OpenPrompt(t.Context(), core.Prompt{
		ID: "test-1", Ref: core.ResolutionRef(callbacks.KindPrompt, "test-1"), Purpose: core.PromptTest,
		Channel: bot.Channel, Account: bot.Account, Chat: chat, Realm: realm, ExternalID: user,
	}, core.PromptLife)
	require.NoError(t, err)
	return presentation.TestCard(p.Ref).Actions[0]
}

// The click on a test card goes the way of a decision, decides nothing, and is
// proven by the finished prompt.
func TestTestCardComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	press := w.press(t, "4711", message, testCard(t, w, "4711"))
	require.Empty(t, cmp.Diff(channels.Answer{Text: presentation.AnswerTestPassed, Settled: presentation.AnswerTestPassed}, w.pipeline.Click(t.Context(), press)))
	require.NotZero(t, w.prompts["test-1"].DoneAt)
	require.Empty(t, w.resolves)
	again := w.pipeline.Click(t.Context(), press)
	require.Equal(t, presentation.AnswerPromptGone, again.Text)
	require.Equal(t, again.Text, again.Settled, "a button that stayed behind goes")
}

// Nobody else proves anything by pressing it, nor does an account that may not
// decide, or a click that could not be recorded.
func TestTestCardProvesNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	action := testCard(t, w, "4711")
	other := w.pipeline.Click(t.Context(), w.press(t, "4712", message, action))
	require.Equal(t, presentation.AnswerNotYourAsk, other.Text)
	require.Empty(t, other.Settled, "it still waits for whom it asks")
	bot := w.press(t, "4711", message, action)
	bot.Actor.Refused = "a bot"
	require.Equal(t, presentation.AnswerRefused("a bot"), w.pipeline.Click(t.Context(), bot).Text)
	w.onPrompt = core.ErrUnavailable
	down := w.pipeline.Click(t.Context(), w.press(t, "4711", message, action))
	require.Equal(t, presentation.AnswerNotRecorded, down.Text)
	require.Empty(t, down.Settled, "it can be pressed again")
	w.onPrompt = nil
	require.Zero(t, w.prompts["test-1"].DoneAt)
	stranger := testCard(t, w, "4799")
	answer := w.pipeline.Click(t.Context(), w.press(t, "4799", message, stranger))
	require.Equal(t, presentation.AnswerNotYours(realm, "4799"), answer.Text)
	require.Zero(t, w.prompts["test-1"].DoneAt)
}
