package deliveries

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// sendFollowup tells the final answer beside a message that cannot be edited. It
// is the second step of the row, which stays open until it was sent: told at
// least once. A lost answer repeats it, because a chat that hears the truth twice
// is better than a card that lies; it carries no buttons.
func (t *turn) sendFollowup(ctx context.Context) {
	_, r, ok := t.layoutAt(ctx, t.wholeShown(), true)
	if !ok || !t.begin(ctx, r, true) {
		return
	}
	fail, ok := t.beside(ctx, r)
	if ok {
		if t.close(ctx, core.CloseDelivery{Outcome: t.closesAs()}) {
			t.converged()
		}
		return
	}
	switch fail.class {
	case core.FailureRejected, core.FailureGone:
		t.closeFailed(ctx, fail)
	case core.FailureMoved:
		t.moved(ctx, fail)
	case core.FailureRateLimited, core.FailureAuth:
		t.blocked(ctx, fail)
	case core.FailureTemporary, core.FailureAmbiguous, core.FailureNone, core.FailureNotEntitled: // No platform says the last.
		t.release(ctx, core.ReleaseDelivery{RetryIn: ceilMillis(t.backoff()), Class: fail.class, ErrorText: fail.text})
	}
}

// closesAs is why there was a follow-up, as the first step recorded it.
func (t *turn) closesAs() core.DeliveryOutcome {
	if t.d.ClosesAs == core.OutcomeUnsupported {
		return core.OutcomeUnsupported
	}
	return core.OutcomeRetired
}

// beside posts a message as a reply to the card, once for each card revision where the
// platform knows a repetition.
func (t *turn) beside(ctx context.Context, r channels.Rendered) (failure, bool) {
	r.Nonce = nonce(&t.d, t.address, "beside", strconv.FormatInt(t.a.CardRevision, 10))
	r.ReplyTo = t.d.Locator
	return t.call(ctx, opFollowup, func(ctx context.Context) error {
		_, err := t.ch.Send(ctx, t.address, r)
		return err
	})
}

// tell posts the outcome beside a card whose edit takes long: once for each card
// revision. The row stays due for the edit. A message that the platform refuses for
// good is left out, because the card itself will tell. Dying between the call and the
// receipt repeats it.
func (t *turn) tell(ctx context.Context) {
	if t.address == "" { // The second message of a repeated send: the row of the first tells this chat.
		t.told(ctx)
		return
	}
	_, r, ok := t.layoutAt(ctx, t.wholeShown(), true)
	if !ok || !t.begin(ctx, r, true) {
		return
	}
	fail, ok := t.beside(ctx, r)
	if ok {
		t.told(ctx)
		return
	}
	switch fail.class {
	case core.FailureRejected, core.FailureGone:
		t.log.WarnContext(ctx, "outcome cannot be told beside the card",
			slog.String("class", string(fail.class)), slog.String("detail", fail.text))
		t.told(ctx)
	case core.FailureMoved:
		if fail.address == "" || fail.address == t.address {
			t.told(ctx)
			return
		}
		t.moved(ctx, fail)
	case core.FailureRateLimited, core.FailureAuth:
		t.blocked(ctx, fail)
	case core.FailureTemporary, core.FailureAmbiguous, core.FailureNone, core.FailureNotEntitled: // No platform says the last.
		t.release(ctx, core.ReleaseDelivery{RetryIn: ceilMillis(t.backoff()), Class: fail.class, ErrorText: fail.text})
	}
}

func (t *turn) told(ctx context.Context) {
	t.complete(ctx, core.CompleteDelivery{
		ShownRevision: t.d.ShownRevision, ShownView: t.d.View, Step: core.StepCard, Told: t.a.CardRevision,
	})
}
