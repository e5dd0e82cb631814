package deliveries

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/saysohq/sayso/core"
)

// The writes that end a turn. They do not end with the worker: what happened on
// the platform must be recorded even while stopping.

// complete records the receipt, also while stopping: a lost receipt is a second message.
func (t *turn) complete(ctx context.Context, c core.CompleteDelivery) bool {
	c.Delivery, c.Fence = t.d.ID, t.d.Fence
	err := t.insist(context.WithoutCancel(ctx), func(ctx context.Context) error { return t.w.deps.Store.Complete(ctx, c) })
	switch {
	case err == nil:
		t.log.DebugContext(ctx, "delivery shown", slog.Int64("card_revision", c.ShownRevision))
		return true
	case errors.Is(err, core.ErrLeaseLost):
		t.lost(ctx)
	default:
		t.log.ErrorContext(ctx, "receipt lost", slog.String("code", core.CodeOf(err)))
	}
	return false
}

// insist writes the end of a turn, again while the store does not answer, the lease
// lasts and the worker is not stopping: a row whose end was not written is nobody's until
// its lease runs out. Where the end was written and only the answer was lost, the lease is
// gone, which is what the next write says.
func (t *turn) insist(ctx context.Context, f func(ctx context.Context) error) error {
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		err := t.write(ctx, f)
		if err == nil || errors.Is(err, core.ErrLeaseLost) || errors.Is(err, core.ErrInvalid) {
			return err
		}
		if !t.leaseLasts(wait) || !pause(ctx, wait) {
			return err
		}
	}
}

// leaseLasts reports whether another write fits into the lease after the wait.
func (t *turn) leaseLasts(wait time.Duration) bool {
	return t.w.deps.Now().Sub(t.from)+wait+writeTimeout < core.DeliveryLease
}

// close ends the row and tells everybody who waits for the approval.
func (t *turn) close(ctx context.Context, c core.CloseDelivery) bool {
	c.Delivery, c.Fence, c.Locator, c.Reachable = t.d.ID, t.d.Fence, t.d.Locator, t.w.reach
	var hint core.Hint
	err := t.insist(ctx, func(ctx context.Context) (err error) {
		hint, err = t.w.deps.Store.Close(ctx, c)
		return err
	})
	if errors.Is(err, core.ErrLeaseLost) {
		t.lost(ctx)
		return false
	}
	if err != nil { // The lease runs out; the next turn comes to the same end.
		t.w.storeFailed(ctx, "close delivery", err)
		return false
	}
	t.w.deps.Metrics.closed(t.ref.Channel, c.Outcome)
	t.log.InfoContext(ctx, "delivery closed", slog.String("outcome", string(c.Outcome)), slog.String("class", string(c.Class)))
	t.w.deps.Publisher.Publish(context.WithoutCancel(ctx), hint)
	return true
}

// closeFailed ends the row for good, with the reason an admin can read, marks its
// route where the chat is at fault, and plans the next route in the same write
// while an answer is still wanted.
func (t *turn) closeFailed(ctx context.Context, f failure) {
	c := core.CloseDelivery{
		Outcome: core.OutcomeFailed, Class: f.class, ErrorText: f.text,
		BreakRoute: f.class == core.FailureGone && t.address != "", // Without an address there was no chat to be broken.
	}
	if f.class == core.FailureNotEntitled && t.mayHaveArrived() { // Of the send before.
		c.Outcome = core.OutcomePossibleOrphan
	}
	if !t.a.Status.Terminal() {
		failed := t.d
		failed.LastError, failed.LastErrorText = f.class, f.text
		next, err := t.nextRoute(ctx, &failed)
		if err != nil { // Closing without it could deny for want of a route that exists.
			t.storeTrouble(ctx, "plan next route", err)
			return
		}
		c.Next, c.Hasten = next.Planned, next.Hasten
	}
	if !t.close(ctx, c) {
		return
	}
	level := slog.LevelWarn
	if f.class == core.FailureNotEntitled { // As somebody wanted it.
		level = slog.LevelInfo
	}
	if c.BreakRoute { // The route is reported once; each card that it costs is not.
		t.broke(ctx, f)
		level = slog.LevelInfo
	}
	t.log.LogAttrs(ctx, level, "delivery failed for good", slog.String("class", string(f.class)),
		slog.String("detail", f.text), slog.Int("next_routes", len(c.Next)+len(c.Hasten)))
}

func (t *turn) nextRoute(ctx context.Context, failed *core.Delivery) (Next, error) {
	ctx = context.WithoutCancel(ctx)
	tried, err := t.w.deps.Rows.DeliveriesOf(ctx, t.d.ApprovalID)
	if err != nil {
		return Next{}, err
	}
	return t.w.deps.Router.NextRoute(ctx, &t.a, failed, tried)
}

// notSent gives back a row whose call was refused or never left: no message came
// of it, so the row is what it was before it was begun.
func (t *turn) notSent(ctx context.Context, r core.ReleaseDelivery) {
	r.NotSent = t.begun
	t.release(ctx, r)
}

// giveBack returns a row that was not begun, untouched.
func (t *turn) giveBack(ctx context.Context, d time.Duration) {
	t.release(ctx, core.ReleaseDelivery{RetryIn: ceilMillis(d)})
}

func (t *turn) release(ctx context.Context, r core.ReleaseDelivery) {
	r.Delivery, r.Fence, r.SeenRevision = t.d.ID, t.d.Fence, t.a.CardRevision
	err := t.insist(ctx, func(ctx context.Context) error { return t.w.deps.Store.Release(ctx, r) })
	switch {
	case errors.Is(err, core.ErrLeaseLost):
		t.lost(ctx)
	case err != nil: // The lease runs out and the row is taken over.
		t.w.storeFailed(ctx, "release delivery", err)
	case r.Class != core.FailureNone:
		t.log.InfoContext(ctx, "delivery delayed", slog.String("class", string(r.Class)),
			slog.String("detail", r.ErrorText), slog.Int64("retry_in_ms", int64(r.RetryIn)))
	}
	if err == nil {
		t.overdue(ctx, r.RetryIn)
	}
}

// storeTrouble gives the row back after a read or a write failed beside the call.
func (t *turn) storeTrouble(ctx context.Context, what string, err error) {
	t.w.storeFailed(ctx, what, err)
	t.notSent(ctx, core.ReleaseDelivery{RetryIn: ceilMillis(t.backoff())})
}

func (t *turn) write(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return f(ctx)
}

// lost notes that another worker has the row; whatever we painted, it paints over. Or
// somebody has pressed the row's message, which this turn did not know: then whoever
// looks finds it due.
func (t *turn) lost(ctx context.Context) {
	t.w.deps.Metrics.leaseLost(t.ref.Channel)
	t.log.WarnContext(ctx, "lease lost")
	t.w.deps.Publisher.Publish(context.WithoutCancel(ctx), core.Hint{ApprovalID: t.d.ApprovalID, Deliveries: true})
}

// refusedOnce reports refused credentials when they begin to be refused.
func (t *turn) refusedOnce(ctx context.Context, f failure) {
	if t.w.refused.set(t.ref, true) {
		t.w.deps.Metrics.refused(t.ref.Channel, 1)
		t.log.ErrorContext(ctx, "credentials refused: nothing is sent until an admin acts",
			slog.String("account", t.ref.Account), slog.String("detail", f.text))
	}
}
