package deliveries

import (
	"context"
	"errors"
	"log/slog"

	"github.com/saysohq/sayso/core"
)

// overdue plans the next route beside a card that does not get through, while
// there is time: refused credentials and rate limits close no row, but a fallback
// that nobody plans before the card gives up would be a denial with people at hand
// who were never asked. It is level-triggered: it happens again with each try, and
// plans nothing twice.
//
// Dying before it loses nothing: the row is given back and is overdue at its next
// try.
func (t *turn) overdue(ctx context.Context, retryIn core.Millis) {
	if ctx.Err() != nil || t.a.Status.Terminal() || t.next() != stepSend || t.now()+retryIn < t.patience() {
		return
	}
	next, err := t.nextRoute(ctx, &t.d)
	if err != nil {
		t.w.storeFailed(ctx, "plan next route", err)
		return
	}
	planned := 0
	for i := range next.Planned { // What is to be hastened comes at its own time: this card may still arrive.
		fresh, hint, err := t.w.deps.Cards.PlanCard(ctx, t.d.ApprovalID, next.Planned[i])
		switch {
		case errors.Is(err, core.ErrConflict): // Decided meanwhile.
			return
		case err != nil:
			t.w.storeFailed(ctx, "plan next route", err)
			return
		case fresh:
			planned++
			t.w.deps.Publisher.Publish(ctx, hint)
		}
	}
	if planned > 0 {
		t.log.WarnContext(ctx, "delivery overdue: the next route is tried beside it", slog.Int("next_routes", planned))
	}
}

// patience is when a card should have arrived: halfway to the time at which it no
// longer counts as a route.
func (t *turn) patience() core.Millis {
	return t.d.GiveUpAt - min(core.GiveUpAfter, t.d.GiveUpAt-t.d.CreatedAt)/2
}
