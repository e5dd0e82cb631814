package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
)

const (
	sqlAddressTaken = `SELECT count(*) FROM deliveries WHERE approval_id = ? AND channel = ? AND account = ? AND address = ? AND id <> ?`
)

// plan writes a delivery that is due at once, or after its delay. A destination
// that resolves to an address which the approval already reaches is recorded as a
// duplicate.
func (t *tx) plan(a *core.Approval, d *core.PlannedDelivery) error {
	now, after := int64(t.now), int64(min(max(d.After, 0), core.MaxExpiry))
	giveUp := min(int64(a.ExpiresAt), now+after+core.GiveUpAfter)
	address, err := follow(t, d.Channel, d.Account, d.Address)
	if err != nil {
		return err
	}
	n, err := t.Exec(sqlInsertDelivery, d.ID, a.ID, string(d.Channel), d.Account, d.Destination, d.PersonID, address, now, giveUp, after)
	if err != nil || n == 1 {
		return err
	}
	_, err = t.Exec(sqlInsertDuplicate, d.ID, a.ID, string(d.Channel), d.Account, d.Destination, d.PersonID, now, giveUp)
	return err
}

// held locks a row that its worker still holds, and its approval before it: nobody
// took the row over, whatever the clock says. Errors: core.ErrLeaseLost.
func (t *tx) held(id string, fence int64, s Strength) (deliveryRow, card, error) {
	r, c, err := t.deliveryLocked(id, s)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return r, c, core.ErrLeaseLost
	case err != nil:
		return r, c, err
	case r.d.LeaseHolder == "", r.d.Fence != fence, r.d.State == core.DeliveryClosed:
		return r, c, core.ErrLeaseLost
	}
	return r, c, nil
}

// deliveryLocked locks the approval of a row, for share to record and for update
// where the write may change it, and then the row. Errors: core.ErrNotFound.
func (t *tx) deliveryLocked(id string, s Strength) (deliveryRow, card, error) {
	c, err := t.cardOf(id, s)
	if err != nil {
		return deliveryRow{}, card{}, err
	}
	r, err := deliveryOf(locking{t}, t.rows.delivery, id)
	return r, c, err
}

// adoptedSince gives a row back whose worker does not know which message it follows by
// now: somebody has pressed one without a receipt. What the worker was about to do
// rests on there being none, and would leave that message as it is for ever.
func (t *tx) adoptedSince(r *deliveryRow, c card, seen string) (bool, error) {
	if r.d.Locator == seen {
		return false, nil
	}
	r.letGo()
	r.d.DueAt = c.due(&r.d, t.now)
	return true, t.saveDelivery(r, c)
}

// letGo gives the lease back; the fence stays, so that a late holder is refused.
func (r *deliveryRow) letGo() { r.d.LeaseHolder, r.d.LeaseUntil = "", 0 }

// shut ends the row.
func (r *deliveryRow) shut(o core.DeliveryOutcome) {
	r.d.State, r.d.Outcome, r.d.DueAt = core.DeliveryClosed, o, 0
	r.letGo()
}

// BeginDelivery writes, before the call, that a send is under way and what it will show.
// If the process dies after it, the row says that a message may exist.
func (s *Store) BeginDelivery(ctx context.Context, b core.BeginSend) error {
	refusal, err := write(ctx, s, Foreground, func(t *tx) (error, error) { return t.begin(b) })
	if err == nil {
		err = refusal
	}
	if err != nil {
		return fmt.Errorf("begin delivery: %w", err)
	}
	return nil
}

// begin also answers why the send must not be made, where that too is recorded.
func (t *tx) begin(b core.BeginSend) (refusal, err error) {
	r, c, err := t.held(b.Delivery, b.Fence, Share)
	if err != nil {
		return nil, err
	}
	if r.d.LeaseUntil-t.now < b.LeaseMargin {
		return nil, core.ErrLeaseLost
	}
	if adopted, err := t.adoptedSince(&r, c, b.Locator); adopted || err != nil {
		return core.ErrLeaseLost, err
	}
	if b.Address != "" && b.Address != r.d.Address {
		var taken int
		err := t.One(sqlAddressTaken, []any{r.d.ApprovalID, string(r.d.Channel), r.d.Account, b.Address, r.d.ID}, &taken)
		if err != nil {
			return nil, err
		}
		if taken > 0 {
			r.d.Address = "" // It belongs to the other row.
			r.shut(core.OutcomeDuplicate)
			return core.ErrConflict, t.saveDelivery(&r, c)
		}
		r.d.Address = b.Address
	}
	r.stateBefore = r.d.State
	if !b.Edit {
		r.d.State = core.DeliverySending
	}
	r.d.ShownHash, r.d.Offered, r.d.ShownComplete, r.d.KeyID = b.ShownHash, b.Offered, b.ShownComplete, b.KeyID
	r.d.Attempts++
	return nil, t.saveDelivery(&r, c)
}

// CompleteDelivery records what the message shows now. If the card moved on meanwhile the
// row is due at once; a terminal card that is shown and settled closes it.
func (s *Store) CompleteDelivery(ctx context.Context, c core.CompleteDelivery) error {
	if len(c.Locator) > core.MaxLocator {
		return fmt.Errorf("complete delivery: %w", core.Invalid("locator", "must be at most %d bytes", core.MaxLocator))
	}
	_, err := write(ctx, s, Foreground, func(t *tx) (struct{}, error) { return struct{}{}, t.complete(c) })
	if err != nil {
		return fmt.Errorf("complete delivery: %w", err)
	}
	return nil
}

func (t *tx) complete(c core.CompleteDelivery) error {
	r, now, err := t.held(c.Delivery, c.Fence, Share)
	if err != nil {
		return err
	}
	d := &r.d
	// Adoption clears what Begin noted. Where it still stands, the row had its message
	// before this call, and the new one takes the place of one that is gone.
	adopted := r.stateBefore == ""
	if adopted && c.Locator != "" && d.Locator != "" && c.Locator != d.Locator {
		return t.completeTwin(&r, now, c)
	}
	if c.Locator != "" {
		d.Locator = c.Locator
		if err := t.mendRoute(d); err != nil {
			return err
		}
	}
	d.State, r.stateBefore = core.DeliveryOpen, ""
	d.ShownRevision, d.ShownView = c.ShownRevision, c.ShownView
	d.Attempts, d.LastError, d.LastErrorText = 0, core.FailureNone, "" // The next failure starts its backoff anew.
	if d.Unsettled && d.SettleAt == 0 {                                // Leased after the stale holder's last moment.
		d.Unsettled = false
	}
	r.letGo()
	if c.Final != core.OutcomeNone && !now.pending && d.ShownRevision >= now.card && !d.Unsettled {
		r.shut(c.Final)
		return t.saveDelivery(&r, now)
	}
	if c.Step == core.StepFollowup {
		d.Step, d.ClosesAs = core.StepFollowup, c.Then
	}
	d.ToldRevision = max(d.ToldRevision, c.Told)
	t.settle(d, now)
	return t.saveDelivery(&r, now)
}

// settle says when a row that was just shown is due again, if at all.
func (t *tx) settle(d *core.Delivery, c card) {
	switch {
	case c.stale(d):
		d.DueAt = c.due(d, t.now)
	case d.Unsettled:
		d.DueAt = c.due(d, max(d.SettleAt, t.now))
	default:
		d.DueAt = 0
	}
}

// ReleaseDelivery gives the row back to be tried again.
func (s *Store) ReleaseDelivery(ctx context.Context, r core.ReleaseDelivery) error {
	_, err := write(ctx, s, Foreground, func(t *tx) (struct{}, error) { return struct{}{}, t.release(r) })
	if err != nil {
		return fmt.Errorf("release delivery: %w", err)
	}
	return nil
}

func (t *tx) release(c core.ReleaseDelivery) error {
	if c.Address != "" { // The chat moved: other rows go along with this one.
		if err := t.hold(sqlHoldMoved, c.Delivery); err != nil {
			return err
		}
	}
	r, now, err := t.held(c.Delivery, c.Fence, Share)
	if err != nil {
		return err
	}
	d := &r.d
	r.letGo()
	if c.EditFor > 0 {
		d.EditAfter = max(d.EditAfter, t.now+c.EditFor)
	}
	from := t.now + max(c.RetryIn, 0)
	if c.SeenRevision > 0 && now.card > c.SeenRevision {
		from = t.now
	}
	d.DueAt = now.due(d, from)
	if c.Class != core.FailureNone {
		d.LastError, d.LastErrorText = c.Class, c.ErrorText
	}
	d.Ambiguous = d.Ambiguous || c.Ambiguous
	if c.NotSent && r.stateBefore != "" {
		d.State = r.stateBefore
	}
	r.stateBefore = ""
	if err := t.saveDelivery(&r, now); err != nil {
		return err
	}
	if c.BlockFor > 0 {
		if err := t.block(d, c); err != nil {
			return err
		}
	}
	if c.Address != "" && c.Address != d.Address {
		return t.moved(d, c.Address)
	}
	return nil
}

// block keeps calls away from the address, or from the whole account.
func (t *tx) block(d *core.Delivery, c core.ReleaseDelivery) error {
	address := d.Address
	switch {
	case c.BlockAll:
		address = ""
	case address == "": // Never resolved: there is nothing to block, least of all the account.
		return nil
	}
	_, err := t.Exec(t.rows.block, string(d.Channel), d.Account, address, int64(t.now+c.BlockFor))
	return err
}

// CloseDelivery ends the row, plans the person's next route, and denies the approval for
// want of a route when that was its last one, all in one transaction.
func (s *Store) CloseDelivery(ctx context.Context, c core.CloseDelivery) (core.Hint, error) {
	if c.Outcome == core.OutcomeNone || !c.Outcome.Valid() {
		return core.Hint{}, fmt.Errorf("close delivery: %w", core.Invalid("outcome", "must be one of the closed set"))
	}
	done, err := write(ctx, s, Foreground, func(t *tx) (closed, error) { return t.closeDelivery(c) })
	if err == nil && done.adopted {
		err = core.ErrLeaseLost
	}
	if err != nil {
		return core.Hint{}, fmt.Errorf("close delivery: %w", err)
	}
	return done.hint, nil
}

// closed is what became of a row that was to be closed.
type closed struct {
	hint    core.Hint
	adopted bool // It follows a message, and stays open.
}

func (t *tx) closeDelivery(c core.CloseDelivery) (closed, error) {
	r, now, err := t.held(c.Delivery, c.Fence, Update)
	if err != nil {
		return closed{}, err
	}
	if adopted, err := t.adoptedSince(&r, now, c.Locator); adopted || err != nil {
		return closed{adopted: adopted}, err
	}
	hint, err := t.closeHeld(c, &r, now)
	return closed{hint: hint}, err
}

func (t *tx) closeHeld(c core.CloseDelivery, r *deliveryRow, now card) (core.Hint, error) {
	if c.Class != core.FailureNone {
		r.d.LastError, r.d.LastErrorText = c.Class, c.ErrorText
	}
	r.shut(c.Outcome)
	if err := t.saveDelivery(r, now); err != nil {
		return core.Hint{}, err
	}
	if c.BreakRoute {
		if err := t.breakRoute(&r.d, c.Class); err != nil {
			return core.Hint{}, err
		}
	}
	hint := core.Hint{ApprovalID: r.d.ApprovalID, Revision: now.revision, Deliveries: true}
	if !now.pending {
		return hint, nil
	}
	a, err := t.fresh(r.d.ApprovalID)
	if isCorrupt(err) { // It can never be approved; its message is dealt with.
		return hint, nil
	}
	if err != nil || a.Status != core.StatusPending {
		return hintOf(&a), err
	}
	for i := range c.Next {
		if err := t.plan(&a, &c.Next[i]); err != nil {
			return core.Hint{}, err
		}
	}
	if err := t.hasten(&a, c.Hasten); err != nil {
		return core.Hint{}, err
	}
	if _, err := t.denyWithoutRoute(&a, c.Reachable); err != nil {
		return core.Hint{}, err
	}
	return hintOf(&a), nil
}
