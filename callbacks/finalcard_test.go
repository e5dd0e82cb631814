package callbacks_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/presentation"
)

// finals lays out cards and remembers what was recorded as shown.
type finals struct {
	asked  []core.Delivery
	shown  map[string]int64
	layout error
	record error
}

func (f *finals) FinalCard(_ context.Context, a core.Approval, d core.Delivery) (presentation.Card, error) {
	f.asked = append(f.asked, d)
	return presentation.Card{ApprovalID: a.ID, Status: a.Status, Revision: a.CardRevision}, f.layout
}

func (f *finals) ShownByAnswer(_ context.Context, id string, revision int64) (core.Hint, error) {
	if f.record != nil {
		return core.Hint{}, f.record
	}
	f.shown[id] = revision
	return core.Hint{ApprovalID: approvalID, Deliveries: true}, nil
}

// taking is a world whose platform takes cards as answers.
func taking(t *testing.T, r func(w *world) callbacks.Resolver) (*world, *finals) {
	t.Helper()
	w, f := newWorld(t), &finals{shown: map[string]int64{}}
	deps := w.with(w)
	if r != nil {
		deps.Resolver = r(w)
	}
	deps.Finals = f
	w.pipeline = callbacks.New(callbacks.Config{}, deps)
	return w, f
}

func (w *world) pressTaking(t *testing.T, user, locator string, a core.Action) channels.Click {
	t.Helper()
	c := w.press(t, user, locator, a)
	c.TakesCard = true
	return c
}

// Design: the answer to the click that decided is the committed final card, and the
// decision leaves the clicked row to it for a while.
func TestDecidingClickIsAnsweredWithTheCard(t *testing.T) {
	t.Parallel()
	w, f := taking(t, nil)
	answer := w.pipeline.Click(t.Context(), w.pressTaking(t, "4711", message, allow(approvalID)))
	require.Empty(t, cmp.Diff(channels.Answer{
		Text: "You allowed this once.",
		Terminal: &channels.TerminalCard{
			Card:       presentation.Card{ApprovalID: approvalID, Status: core.StatusAllowed, Revision: 2},
			DeliveryID: "d-direct", CardRevision: 2,
		},
	}, answer))
	require.Equal(t, core.AnswerDelay, w.resolves[0].AnswerDelay)
	require.Equal(t, "d-direct", f.asked[0].ID)
	require.Empty(t, f.shown, "what was shown the channel says")

	w.hints = nil
	require.NoError(t, w.pipeline.Shown(t.Context(), "d-direct", 2))
	require.Equal(t, map[string]int64{"d-direct": 2}, f.shown)
	require.Len(t, w.hints, 1, "the ledger looks again")
	f.record = core.ErrNotFound
	require.ErrorIs(t, w.pipeline.Shown(t.Context(), "d-direct", 2), core.ErrNotFound)
}

// Everybody else is answered in words, and so is a click that the platform would not
// answer with a card; no row is delayed for them.
func TestOtherClicksAreAnsweredInWords(t *testing.T) {
	t.Parallel()
	w, f := taking(t, nil)
	answer := w.pipeline.Click(t.Context(), w.press(t, "4711", message, allow(approvalID)))
	require.Empty(t, cmp.Diff(channels.Answer{Text: "You allowed this once."}, answer))
	require.Zero(t, w.resolves[0].AnswerDelay)
	for _, again := range []struct {
		user string
		a    core.Action
	}{{"4711", allow(approvalID)}, {"4712", deny(approvalID)}, {"999", deny(approvalID)}, {"4713", deny(approvalID)}} {
		answer := w.pipeline.Click(t.Context(), w.pressTaking(t, again.user, message, again.a))
		require.NotEmpty(t, answer.Text)
		require.Nil(t, answer.Terminal)
	}
	require.Empty(t, f.asked)
	require.Empty(t, f.shown, "their rows are not delayed")

	w = newWorld(t) // Nobody lays cards out.
	answer = w.pipeline.Click(t.Context(), w.pressTaking(t, "4711", message, allow(approvalID)))
	require.Empty(t, cmp.Diff(channels.Answer{Text: "You allowed this once."}, answer))
	require.Zero(t, w.resolves[0].AnswerDelay)
	require.NoError(t, w.pipeline.Shown(t.Context(), "d-direct", 2))
}

// A card that cannot be the answer is the ledger's at once.
func TestCardThatIsNoAnswerIsTheLedgers(t *testing.T) {
	t.Parallel()
	w, f := taking(t, nil)
	f.layout = errors.New("no detail")
	answer := w.pipeline.Click(t.Context(), w.pressTaking(t, "4711", message, allow(approvalID)))
	require.Empty(t, cmp.Diff(channels.Answer{Text: "You allowed this once."}, answer))
	require.Equal(t, map[string]int64{"d-direct": 0}, f.shown)
	require.NotEmpty(t, w.hints)

	w, f = taking(t, nil)
	f.layout, f.record = errors.New("no detail"), core.ErrUnavailable
	answer = w.pipeline.Click(t.Context(), w.pressTaking(t, "4711", message, allow(approvalID)))
	require.Empty(t, cmp.Diff(channels.Answer{Text: "You allowed this once."}, answer), "it was decided, whatever fails after")
	require.Contains(t, w.log.String(), "waits in vain")
}

type resolver func(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error)

func (f resolver) Resolve(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error) {
	return f(ctx, r)
}

// K9: somebody whose yes was turned into a denial is told so in words.
func TestMismatchIsAnsweredInWords(t *testing.T) {
	t.Parallel()
	w, f := taking(t, func(w *world) callbacks.Resolver {
		return resolver(func(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error) {
			r.Decision = core.DecisionDeny
			res, err := w.Resolve(ctx, r)
			res.Approval.Reason = core.ReasonHashMismatch
			return res, err
		})
	})
	answer := w.pipeline.Click(t.Context(), w.pressTaking(t, "4711", message, allow(approvalID)))
	require.True(t, answer.Alert)
	require.Nil(t, answer.Terminal)
	require.Equal(t, map[string]int64{"d-direct": 0}, f.shown)
}

// After a look-up it is not certain which click decided: the row keeps its delay, in
// case that the card is the answer to another one.
func TestLookedUpOutcomeIsAnsweredInWords(t *testing.T) {
	t.Parallel()
	w, f := taking(t, nil)
	w.lost = func(int) error { return core.ErrOutcomeUnknown }
	answer := w.pipeline.Click(t.Context(), w.pressTaking(t, "4711", message, allow(approvalID)))
	require.Empty(t, cmp.Diff(channels.Answer{Text: "You allowed this once."}, answer))
	require.Empty(t, f.shown)
	require.Empty(t, f.asked)
}

// An adopted message is the row that the store has found for it.
func TestAdoptedClickIsAnsweredWithTheCard(t *testing.T) {
	t.Parallel()
	w, f := taking(t, func(w *world) callbacks.Resolver {
		return resolver(func(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error) {
			res, err := w.Resolve(ctx, r)
			res.Approval.DeliveryID = "d-direct~twin"
			return res, err
		})
	})
	w.adoptable = true
	answer := w.pipeline.Click(t.Context(), w.pressTaking(t, "4711", elsewhere, deny(approvalID)))
	require.NotNil(t, answer.Terminal)
	require.Equal(t, "d-direct~twin", answer.Terminal.DeliveryID)
	require.Equal(t, "d-direct~twin", f.asked[0].ID)
	require.NotNil(t, w.resolves[0].Adopt)
}
