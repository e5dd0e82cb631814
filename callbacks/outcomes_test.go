package callbacks_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// unknown makes the approval one that was allowed and started, and of which nobody knows
// how it ended; a runtime listens.
func unknown(w *world) {
	w.change(approvalID, func(a *core.Approval) {
		a.Status, a.CallbackURL = core.StatusAllowed, "https://runtime.example.com/nudge"
		a.Resolution = core.Resolution{
			Decision: core.DecisionAllowOnce, Reason: core.ReasonUser, ResolvedAt: asked + 180_000,
			ResolverKind: core.ResolverHuman, ResolverID: "alice", ResolverName: "Alice", Surface: core.SurfaceTelegram,
		}
		a.Execution = core.ExecutionUnknown
	})
}

func denied(w *world) {
	unknown(w)
	w.change(approvalID, func(a *core.Approval) {
		a.Status, a.Decision, a.Execution = core.StatusDenied, core.DecisionDeny, core.ExecutionNone
	})
}

func (w *world) after(t *testing.T, user, locator string, v core.CallbackValue) channels.Answer {
	t.Helper()
	return w.pipeline.Click(t.Context(), w.press(t, user, locator, callback(v, core.KindExec, approvalID)))
}

// R86: what may have happened is dismissed by whoever may decide it, once.
func TestOutcome_Dismiss(t *testing.T) {
	t.Parallel()
	w, _ := newDesk(t)
	require.Equal(t, presentation.AnswerNoMore, w.after(t, "4711", message, core.CallbackDismissOutcome).Text, "it waits")
	unknown(w)
	require.Equal(t, presentation.AnswerMayNotDecide, w.after(t, "4713", message, core.CallbackDismissOutcome).Text, "a viewer")
	require.Equal(t, notYours+"4714.", w.after(t, "4714", message, core.CallbackDismissOutcome).Text)
	require.Equal(t, notYours+"999.", w.after(t, "999", message, core.CallbackDismissOutcome).Text)
	require.Equal(t, presentation.AnswerOpenOriginal, w.after(t, "4711", elsewhere, core.CallbackDismissOutcome).Text)
	require.Nil(t, w.record(approvalID).Aftermath)

	require.Empty(t, cmp.Diff(channels.Answer{Text: "Dismissed. It stays on record that this may have happened."},
		w.after(t, "4712", message, core.CallbackDismissOutcome)))
	require.Equal(t, "Dismissed already, by Bob, 14:05 UTC.", w.after(t, "4711", message, core.CallbackDismissOutcome).Text)
	require.Equal(t, core.StatusAllowed, w.record(approvalID).Status)
	require.Empty(t, w.resolves, "it decides nothing")

	plain := newWorld(t)
	require.Equal(t, presentation.AnswerNotOffered, plain.after(t, "4711", message, core.CallbackDismissOutcome).Text)
}

// R86, K3: asking again is behind a question that is put to whoever pressed, and asks the
// runtime for a new request; nothing is allowed by it.
func TestOutcome_AskAgain(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t)
	require.Equal(t, presentation.AnswerNoMore, w.after(t, "4711", message, core.CallbackAskAgain).Text, "it waits")
	unknown(w)
	require.Equal(t, presentation.AnswerMayNotDecide, w.after(t, "4713", message, core.CallbackAskAgain).Text, "a viewer")
	require.Equal(t, notYours+"4714.", w.after(t, "4714", message, core.CallbackAskAgain).Text)

	asks := w.after(t, "4711", groupCard, core.CallbackAskAgain)
	require.Equal(t, "Ask for “Claude wants to run a command” ("+w.record(approvalID).Fingerprint+
		") again? It may have happened already, so look first. Nothing is allowed by asking.", asks.Text)
	require.Equal(t, []string{"Yes, ask again", "No"}, labels(asks))
	require.Empty(t, asks.Settled, "the card is the ledger's")
	require.Zero(t, d.acts)

	require.Equal(t, presentation.AnswerNotYourAsk, w.pick(t, "4712", asks, "Yes, ask again").Text, "others may see it and not press")
	no := w.pick(t, "4711", asks, "No")
	require.Equal(t, presentation.AnswerDismissed, no.Settled)
	require.Equal(t, presentation.AnswerPromptGone, w.pick(t, "4711", asks, "Yes, ask again").Settled)
	require.Zero(t, d.acts)

	asks = w.after(t, "4711", groupCard, core.CallbackAskAgain)
	const done = "Asked for: the agent's program is told to make a new request. If it does, a new card comes."
	require.Equal(t, done, w.pick(t, "4711", asks, "Yes, ask again").Settled)
	require.Equal(t, done, w.pick(t, "4711", asks, "Yes, ask again").Settled, "delivered again")
	require.Equal(t, "Asked for already, by Alice, 14:05 UTC.", w.after(t, "4712", message, core.CallbackAskAgain).Text)
	require.Equal(t, core.StatusAllowed, w.record(approvalID).Status)
	require.Empty(t, w.resolves)
}

// Where no runtime listens, or somebody was faster, the yes says so.
func TestOutcome_AskAgainComesToNothing(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t)
	unknown(w)
	asks := w.after(t, "4711", message, core.CallbackAskAgain)
	w.change(approvalID, func(a *core.Approval) { a.CallbackURL = "" })
	require.Equal(t, presentation.AnswerNobodyHears, w.pick(t, "4711", asks, "Yes, ask again").Settled)
	d.onAct = func(int) error { return core.ErrConflict }
	require.Equal(t, presentation.AnswerNoMore, w.pick(t, "4711", asks, "Yes, ask again").Settled)
	d.onAct = func(int) error { return core.ErrUnavailable }
	failed := w.pick(t, "4711", asks, "Yes, ask again")
	require.Equal(t, presentation.AnswerNotRecorded, failed.Text)
	require.Empty(t, failed.Settled, "the buttons stay")

	w.change(approvalID, func(a *core.Approval) { a.CallbackURL = "https://runtime.example.com" })
	d.onAct = nil
	d.lost = func(n int) error {
		if n == d.acts && n%2 == 0 {
			return context.DeadlineExceeded
		}
		return nil
	}
	d.acts = 1
	require.Contains(t, w.pick(t, "4711", asks, "Yes, ask again").Settled, "Asked for: ", "its answer was lost, and it was made once")
	d.lost = func(int) error { return context.DeadlineExceeded }
	require.Equal(t, presentation.AnswerUnclear, w.pick(t, "4711", asks, "Yes, ask again").Text)
	w.onPrompt = core.ErrUnavailable
	d.lost = nil
	w.change(approvalID, func(a *core.Approval) { a.Aftermath = nil })
	require.Equal(t, presentation.AnswerNotRecorded, w.after(t, "4711", message, core.CallbackAskAgain).Text)
}

// R128: a draft that came to nothing may be asked for again, in other words.
func TestOutcome_AskAgainForADraft(t *testing.T) {
	t.Parallel()
	w, _ := newDesk(t)
	denied(w)
	require.Equal(t, presentation.AnswerNoMore, w.after(t, "4711", message, core.CallbackAskAgain).Text, "a turn waited, and went on")
	w.change(approvalID, func(a *core.Approval) { a.Continuation = core.ContinuationDraft })
	asks := w.after(t, "4711", message, core.CallbackAskAgain)
	require.Contains(t, asks.Text, "again? The agent's program is told to make a new request; nothing is allowed by that.")
	require.Contains(t, w.pick(t, "4711", asks, "Yes, ask again").Settled, "Asked for: ")
}

// K34: a person lets a declined action be asked again; the answer itself stays.
func TestOutcome_Reopen(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t)
	require.Equal(t, presentation.AnswerNoMore, w.after(t, "4711", message, core.CallbackReopen).Text, "it waits")
	denied(w)
	require.Equal(t, notYours+"4714.", w.after(t, "4714", message, core.CallbackReopen).Text)
	require.Equal(t, "Re-opened by Bob, 14:04 UTC. The next time this is asked, a card comes.", w.after(t, "4712", message, core.CallbackReopen).Text)
	require.Equal(t, "Re-opened by Bob, 14:04 UTC. The next time this is asked, a card comes.", w.after(t, "4711", message, core.CallbackReopen).Text)
	require.Equal(t, core.StatusDenied, w.record(approvalID).Status)
	d.onAct = func(int) error { return core.ErrForbidden }
	require.Equal(t, presentation.AnswerMayNotDecide, w.after(t, "4711", message, core.CallbackReopen).Text)
	w.onGet = core.ErrUnavailable
	require.Equal(t, presentation.AnswerNotRecorded, w.after(t, "4711", message, core.CallbackReopen).Text)
	w.onGet = nil
	plain := newWorld(t)
	require.Equal(t, presentation.AnswerNotOffered, plain.after(t, "4711", message, core.CallbackReopen).Text)
}

// R134: a reply with a picture or a file declines nothing, since whoever hears of it would
// never see that; so for a note.
func TestMessageWithAnAttachmentDecidesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	openNote(t, w, "4711")
	for _, locator := range []string{message, promptAt} {
		c := w.replyTo("4711", locator, "like this")
		c.Attached = true
		require.Equal(t, presentation.AnswerWordsOnly, w.pipeline.Text(t.Context(), c).Text)
		stranger := w.replyTo("999", locator, "like this")
		stranger.Attached = true
		require.NotEqual(t, presentation.AnswerWordsOnly, w.pipeline.Text(t.Context(), stranger).Text)
	}
	require.Empty(t, w.resolves)
	require.Equal(t, "You declined this with your message.", w.pipeline.Text(t.Context(), w.replyTo("4711", message, "like this")).Text)
}

// R133, R135, R136, K19: a plain reply to the card declines and its words become the note;
// the same message again finds the same decision, also when everything is over; one that
// lost to a button changes nothing. To a draft, in which no turn waits, it is a note.
func TestMessageInsteadOfAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reply := w.replyTo("4711", message, " Use the other host. ")
	require.Equal(t, "You declined this with your message.", w.pipeline.Text(t.Context(), reply).Text)
	a := w.record(approvalID)
	require.True(t, a.ByMessage)
	require.Equal(t, "Use the other host.", a.Note)
	require.Equal(t, "chat:telegram:100200300:m1", a.DecisionKey)
	require.Equal(t, "d-direct", a.DeliveryID)
	w.change(approvalID, func(a *core.Approval) { a.UpdatedAt += core.MaxExpiry })
	require.Equal(t, "You had already declined this with your message, 14:03 UTC.", w.pipeline.Text(t.Context(), reply).Text)

	late := w.replyTo("4712", message, "No!")
	late.MessageID = "m2"
	lost := w.pipeline.Text(t.Context(), late)
	require.True(t, lost.Alert)
	require.Contains(t, lost.Text, "Already decided: declined with a message by Alice")
	require.Equal(t, "Use the other host.", w.record(approvalID).Note)

	w.change(otherID, func(a *core.Approval) { a.Continuation = core.ContinuationDraft })
	draft := w.replyTo("4711", `{"chat":4711,"message":20}`, "Later.")
	require.Equal(t, "You denied this with your note.", w.pipeline.Text(t.Context(), draft).Text)
	require.False(t, w.record(otherID).ByMessage)
}
