package deliveries

import (
	"context"

	"github.com/saysohq/sayso/core"
)

// sendFollowup tells the final answer beside a message that cannot be edited. It
// is the second step of the row, which stays open until it was sent: told at
// least once. A lost answer repeats it, because a chat that hears the truth twice
// is better than a card that lies; it carries no buttons.
func (t *turn) sendFollowup(ctx context.Context) {
	_, r, ok := t.layout(ctx, t.wholeShown())
	if !ok || !t.begin(ctx, r, true) {
		return
	}
	r.Nonce = nonce(&t.d, t.address)
	fail, ok := t.call(ctx, opFollowup, func(ctx context.Context) error {
		_, err := t.ch.Send(ctx, t.address, r)
		return err
	})
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
	case core.FailureTemporary, core.FailureAmbiguous, core.FailureNone:
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
