package deliveries

import (
	"context"
	"errors"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// sendCard posts the card of a pending approval. With fresh, the row's message
// exists no more or cannot be edited: the new message takes its place in the row.
//
// Dying before begin loses nothing. Dying between begin and complete leaves the
// row "sending": it is sent again while the approval is pending and ends as a
// possible orphan otherwise. Dying after complete loses nothing.
func (t *turn) sendCard(ctx context.Context, fresh bool) {
	_, r, ok := t.layout(ctx, t.wholeShown())
	if !ok || !t.begin(ctx, r, fresh) {
		return
	}
	r.Nonce = nonce(&t.d, t.address)
	var locator string
	fail, ok := t.call(ctx, opSend, func(ctx context.Context) (err error) {
		locator, err = t.ch.Send(ctx, t.address, r)
		return err
	})
	if !ok {
		t.sendFailed(ctx, fail)
		return
	}
	t.complete(ctx, core.CompleteDelivery{
		Locator: locator, ShownRevision: t.a.CardRevision, ShownView: t.d.View, Step: core.StepCard,
	})
}

// begin writes, before the first byte, what the call will show, and checks fence
// and lease in the same write and once more after it, and whether the platform has
// told to stay away meanwhile. It reports false when the call must not be made; the
// turn is then over.
func (t *turn) begin(ctx context.Context, r channels.Rendered, edit bool) bool {
	return t.beginAs(ctx, core.BeginSend{
		ShownHash: t.a.ActionHash, Offered: r.Offered, ShownComplete: r.Complete, KeyID: r.KeyID, Edit: edit,
	})
}

func (t *turn) beginAs(ctx context.Context, b core.BeginSend) bool {
	switch {
	case ctx.Err() != nil || t.spare() < 0:
		t.giveBack(ctx, 0)
		return false
	case !t.w.deps.Alive(): // It shows itself again within a second.
		t.giveBack(ctx, takeoverEvery)
		return false
	}
	b.Delivery, b.Fence, b.Address, b.LeaseMargin = t.d.ID, t.d.Fence, t.address, ceilMillis(leaseMargin)
	b.Locator = t.d.Locator
	err := t.w.deps.Store.Begin(ctx, b)
	switch {
	case err == nil:
		t.begun = !b.Edit
	case errors.Is(err, core.ErrLeaseLost):
		t.lost(ctx)
		return false
	case errors.Is(err, core.ErrConflict):
		t.w.deps.Metrics.closed(t.ref.Channel, core.OutcomeDuplicate)
		return false
	default: // If the write did happen the row counts as sent perhaps: the safe side.
		t.storeTrouble(ctx, "begin delivery", err)
		return false
	}
	if !t.leaseHolds() {
		t.notSent(ctx, core.ReleaseDelivery{})
		return false
	}
	if d := t.w.blocks.remaining(t.ref, t.address); d > 0 { // Told while this row waited for its place.
		t.notSent(ctx, core.ReleaseDelivery{RetryIn: ceilMillis(d)})
		return false
	}
	return true
}

// sendFailed decides what becomes of a card that was not confirmed.
func (t *turn) sendFailed(ctx context.Context, f failure) {
	switch f.class {
	case core.FailureRejected, core.FailureGone:
		t.closeFailed(ctx, f)
	case core.FailureMoved:
		t.moved(ctx, f)
	case core.FailureRateLimited, core.FailureAuth:
		t.blocked(ctx, f)
	case core.FailureAmbiguous:
		t.release(ctx, core.ReleaseDelivery{
			RetryIn: ceilMillis(t.backoff()), Class: f.class, ErrorText: f.text, Ambiguous: true,
		})
	case core.FailureTemporary, core.FailureNone, core.FailureNotEntitled: // No platform says the last.
		t.notSent(ctx, core.ReleaseDelivery{RetryIn: ceilMillis(t.backoff()), Class: f.class, ErrorText: f.text})
	}
}
