package deliveries

import (
	"context"
	"log/slog"
	"time"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// The operations, as the metrics name them.
const (
	opSend     = "send"
	opEdit     = "edit"
	opDetail   = "detail"
	opFollowup = "followup"
	opRender   = "render" // Of a card that could not be laid out; no call was made.
)

// editCard makes the message look like the record. An edit is idempotent: dying
// anywhere repeats it.
func (t *turn) editCard(ctx context.Context, whole bool) {
	if t.d.Locator == "" { // Confirmed by a platform that does not say where.
		t.uneditable(ctx, core.OutcomeUnsupported)
		return
	}
	_, r, ok := t.layout(ctx, whole)
	if !ok || !t.begin(ctx, r, true) {
		return
	}
	var outcome core.DeliveryOutcome
	fail, ok := t.call(ctx, opEdit, func(ctx context.Context) (err error) {
		outcome, err = t.ch.Edit(ctx, t.d.Locator, r)
		return err
	})
	switch {
	case !ok:
		t.editFailed(ctx, fail)
	case outcome == core.OutcomeRetired || outcome == core.OutcomeUnsupported:
		t.uneditable(ctx, outcome)
	default:
		t.shown(ctx)
	}
}

// shown records that the message shows the record as this turn read it. The row
// closes if that is the final word and the row is settled; the store knows both.
func (t *turn) shown(ctx context.Context) {
	c := core.CompleteDelivery{ShownRevision: t.a.CardRevision, ShownView: t.d.View, Step: core.StepCard}
	if t.a.Status.Terminal() {
		c.Final = core.OutcomeReplaced
	}
	first := t.d.ShownRevision < t.a.CardRevision
	if !t.complete(ctx, c) || c.Final == core.OutcomeNone {
		return
	}
	if first {
		t.converged()
	}
	if !t.d.Unsettled || t.d.SettleAt == 0 || t.d.SettleAt.Reached(t.now()) {
		t.w.deps.Metrics.closed(t.ref.Channel, c.Final)
	}
}

// converged measures the promise: from the decision to the edited message.
func (t *turn) converged() {
	t.w.deps.Metrics.shown(t.ref.Channel, max(t.now().Sub(t.a.ResolvedAt), 0))
}

func (t *turn) editFailed(ctx context.Context, f failure) {
	switch f.class {
	case core.FailureRejected, core.FailureGone:
		t.log.InfoContext(ctx, "message cannot be edited", slog.String("class", string(f.class)), slog.String("detail", f.text))
		t.uneditable(ctx, core.OutcomeRetired)
	case core.FailureMoved:
		if f.address == "" || f.address == t.address { // The alias is known: this message stayed behind.
			t.uneditable(ctx, core.OutcomeRetired)
			return
		}
		t.moved(ctx, f)
	case core.FailureRateLimited, core.FailureAuth:
		t.blocked(ctx, f)
	case core.FailureTemporary, core.FailureAmbiguous, core.FailureNone, core.FailureNotEntitled: // No platform says the last.
		t.release(ctx, core.ReleaseDelivery{RetryIn: ceilMillis(t.backoff()), Class: f.class, ErrorText: f.text})
	}
}

// uneditable plans what the chat is told instead. A terminal approval gets its
// follow-up as the second step of the row. A pending one gets its current card as
// a new message, which takes the row over and will be edited to the truth.
func (t *turn) uneditable(ctx context.Context, outcome core.DeliveryOutcome) {
	if !t.a.Status.Terminal() {
		t.replaceCard(ctx)
		return
	}
	t.complete(ctx, core.CompleteDelivery{
		ShownRevision: t.d.ShownRevision, ShownView: t.d.View, Step: core.StepFollowup, Then: outcome,
	})
}

// replaceCard posts the current card as a new message. Whoever may not decide any more
// keeps the message that they have, until there is an outcome to be told.
func (t *turn) replaceCard(ctx context.Context) {
	may, err := t.mayBeTold(ctx)
	switch {
	case err != nil:
		t.storeTrouble(ctx, "read rights", err)
	case may:
		t.sendCard(ctx, true)
	default:
		t.complete(ctx, core.CompleteDelivery{ShownRevision: t.a.CardRevision, ShownView: t.d.View, Step: core.StepCard})
	}
}

// showAll brings the whole detail to the chat and then the card again, which now
// may offer what it could not before. The row claims the complete view only with
// the second step: what a click may do rests on it.
func (t *turn) showAll(ctx context.Context) {
	detailer, ok := t.ch.(channels.Detailer)
	may, err := t.mayBeTold(ctx)
	switch {
	case err != nil:
		t.storeTrouble(ctx, "read rights", err)
		return
	case !ok, !may: // Whoever asked has lost the right since.
		t.detailDone(ctx, false)
		return
	}
	card, _, ok := t.layout(ctx, false)
	if !ok {
		return
	}
	as := core.BeginSend{ // Nothing of the card changes yet: only fence and lease are checked.
		ShownHash: t.d.ShownHash, Offered: t.d.Offered, ShownComplete: t.d.ShownComplete, KeyID: t.d.KeyID, Edit: true,
	}
	if !t.beginAs(ctx, as) {
		return
	}
	fail, ok := t.call(ctx, opDetail, func(ctx context.Context) error {
		return detailer.SendDetail(ctx, t.address, t.d.Locator, card)
	})
	if ok {
		t.detailDone(ctx, true)
		return
	}
	if fail.class.Permanent() { // Asking again can never help, and the card itself stands.
		t.log.WarnContext(ctx, "detail refused", slog.String("class", string(fail.class)), slog.String("detail", fail.text))
		t.detailDone(ctx, false)
		return
	}
	t.editFailed(ctx, fail)
}

// detailDone goes on to the card. Without the detail the request is answered by
// the card as it is, so that it does not come back for ever.
func (t *turn) detailDone(ctx context.Context, brought bool) {
	if brought || t.d.ShownRevision < t.a.CardRevision {
		t.editCard(ctx, brought)
		return
	}
	t.complete(ctx, core.CompleteDelivery{ShownRevision: t.d.ShownRevision, ShownView: t.d.View, Step: core.StepCard})
}

// ceilMillis rounds up, so that a platform's retry_after is never shortened.
func ceilMillis(d time.Duration) core.Millis {
	return core.Millis((d + time.Millisecond - 1) / time.Millisecond)
}
