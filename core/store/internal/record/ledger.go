package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
)

const (
	// A message without a receipt: a send is or was under way, or was given up in
	// doubt. A send in doubt that was repeated may have left two messages.
	sqlAdoptable = `SELECT d.id FROM deliveries d
		WHERE d.approval_id = ?1 AND d.channel = ?2 AND d.account = ?3 AND d.address = ?4
			AND (d.ambiguous OR (d.locator = '' AND (d.state = 'sending' OR d.outcome = 'possible-orphan')))
			AND NOT EXISTS (SELECT 1 FROM deliveries o WHERE o.locator <> '' AND o.channel = ?2 AND o.account = ?3 AND o.locator = ?5)
		LIMIT 1`

	sqlUnconverged = `SELECT count(*), coalesce(min(nullif(d.stale_since, 0)), 0)
		FROM deliveries d JOIN approvals a ON a.id = d.approval_id
		WHERE d.state <> 'closed' AND d.state = 'open' AND (d.shown_revision < a.card_revision OR d.step = 'followup'
			OR (a.status = 'pending' AND d.shown_view < d.view))`

	// Work that nobody marked: the rule itself, over rows that are not closed.
	sqlForgotten = `SELECT d.id FROM %s JOIN approvals a ON a.id = d.approval_id
		WHERE d.state <> 'closed' AND d.due_at IS NULL AND (d.shown_revision < a.card_revision OR d.shown_view < d.view
			OR d.unsettled OR d.step = 'followup' OR a.status <> 'pending') ORDER BY d.id LIMIT ?2`

	sqlUnrouted = `SELECT a.id FROM approvals a
		WHERE a.status = 'pending' AND a.expires_at > ?1
			AND EXISTS (SELECT 1 FROM deliveries d WHERE d.approval_id = a.id)
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.approval_id = a.id
				AND (d.state = 'open' OR (d.state <> 'closed' AND d.give_up_at > ?1)))
		ORDER BY a.created_at, a.id`
)

// DeliveryAt finds the row of a message, closed ones too: they still answer
// clicks. Errors: core.ErrNotFound.
func (s *Store) DeliveryAt(ctx context.Context, ref core.AccountRef, locator string) (core.Delivery, error) {
	r, err := deliveryOf(s.read(ctx), sqlDeliveryAt, string(ref.Channel), ref.Account, locator)
	if err != nil {
		return core.Delivery{}, fmt.Errorf("read delivery: %w", err)
	}
	return r.d, nil
}

// DeliveriesOf lists the rows of an approval in id order.
func (s *Store) DeliveriesOf(ctx context.Context, approvalID string) ([]core.Delivery, error) {
	rows, err := deliveries(s.read(ctx), sqlDeliveriesOf, approvalID)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	list := make([]core.Delivery, len(rows))
	for i := range rows {
		list[i] = rows[i].d
	}
	return list, nil
}

// Adoptable reports whether a click on an unknown message could be adopted: this
// approval has a send without a receipt at the address, and no row has the message.
func (s *Store) Adoptable(ctx context.Context, approvalID string, a core.Adopt) (bool, error) {
	id, err := adoptable(s.read(ctx), approvalID, &a)
	if err != nil {
		return false, fmt.Errorf("read delivery: %w", err)
	}
	return id != "", nil
}

func adoptable(q Querier, approvalID string, a *core.Adopt) (string, error) {
	if a.Locator == "" || len(a.Locator) > core.MaxLocator {
		return "", nil
	}
	address, err := follow(q, a.Channel, a.Account, a.Address)
	if err != nil {
		return "", err
	}
	var id string
	err = q.One(sqlAdoptable, []any{approvalID, string(a.Channel), a.Account, address, a.Locator}, &id)
	if errors.Is(err, core.ErrNotFound) {
		return "", nil
	}
	return id, err
}

// adopt ties the message to its row, which is open from then on and is edited like
// any other. Errors: core.ErrConflict when it cannot be adopted.
func (t *tx) adopt(approvalID string, a *core.Adopt) (string, error) {
	// One message belongs to one row, also where two approvals claim it at once.
	if err := t.holdName(Update, "message", string(a.Channel), a.Account, a.Locator); err != nil {
		return "", err
	}
	id, err := adoptable(t, approvalID, a)
	if err != nil {
		return "", err
	}
	if id == "" {
		return "", fmt.Errorf("adopt message: %w", core.ErrConflict)
	}
	r, err := deliveryOf(locking{t}, t.rows.delivery, id)
	if err != nil {
		return "", err
	}
	c, err := t.card(approvalID)
	if err != nil {
		return "", err
	}
	if r.d.Locator != "" { // It follows another message already: a send in doubt had been repeated.
		return t.twin(&r, c, a.Locator, 0)
	}
	// The doubt stays: the send may have been repeated, and then there is another one.
	r.d.Locator, r.d.State, r.d.Outcome, r.d.DueAt = a.Locator, core.DeliveryOpen, core.OutcomeNone, t.now
	r.stateBefore = ""
	if r.d.LeaseHolder != "" && r.d.LeaseUntil.Reached(t.now) { // Taken over: the holder may paint late.
		r.letGo()
		r.d.Unsettled, r.d.SettleAt = true, t.now.Add(core.CallTimeout+core.SettleMargin)
	}
	return id, t.saveDelivery(&r, c)
}

// RequestView asks the ledger to bring the whole detail to a delivery's chat.
// Errors: core.ErrNotFound, core.ErrConflict when the row is not open.
func (s *Store) RequestView(ctx context.Context, deliveryID string) (core.Hint, error) {
	hint, err := write(ctx, s, Foreground, func(t *tx) (core.Hint, error) { return t.requestView(deliveryID) })
	if err != nil {
		return core.Hint{}, fmt.Errorf("request view: %w", err)
	}
	return hint, nil
}

func (t *tx) requestView(id string) (core.Hint, error) {
	r, c, err := t.deliveryLocked(id, Share)
	if err != nil {
		return core.Hint{}, err
	}
	hint := core.Hint{ApprovalID: r.d.ApprovalID, Revision: c.revision, Deliveries: true}
	switch {
	case r.d.State != core.DeliveryOpen:
		return core.Hint{}, core.ErrConflict
	case !c.pending, r.d.View > 0 && r.d.ShownView >= r.d.View:
		return hint, nil // The outcome is on its way, or everything is there already.
	}
	r.d.View, r.d.DueAt = 1, c.due(&r.d, t.now)
	return hint, t.saveDelivery(&r, c)
}

// Replan makes a closed, failed row due again under a new generation; whoever held
// it before is fenced off. Errors: core.ErrNotFound, core.ErrConflict when the row
// did not fail, or when nobody was told anything that would have to be put right.
func (s *Store) Replan(ctx context.Context, deliveryID string) (core.Hint, error) {
	hint, err := write(ctx, s, Foreground, func(t *tx) (core.Hint, error) { return t.replan(deliveryID) })
	if err != nil {
		return core.Hint{}, fmt.Errorf("replan delivery: %w", err)
	}
	return hint, nil
}

func (t *tx) replan(id string) (core.Hint, error) {
	r, _, err := t.deliveryLocked(id, Update)
	if err != nil {
		return core.Hint{}, err
	}
	a, err := t.fresh(r.d.ApprovalID)
	if err != nil {
		return core.Hint{}, err
	}
	c, err := t.card(a.ID)
	if err != nil {
		return core.Hint{}, err
	}
	d := &r.d
	if d.Outcome != core.OutcomeFailed || (!c.pending && d.Locator == "") {
		return core.Hint{}, core.ErrConflict
	}
	if d.State = core.DeliveryPlanned; d.Locator != "" {
		d.State = core.DeliveryOpen
	}
	d.Outcome, d.Step, d.ClosesAs = core.OutcomeNone, core.StepCard, core.OutcomeNone
	d.DueAt = c.due(d, t.now)
	d.GiveUpAt = min(a.ExpiresAt, t.now+core.GiveUpAfter)
	d.Attempts, d.Generation, d.Fence = 0, d.Generation+1, d.Fence+1
	r.stateBefore = ""
	return hintOf(&a), t.saveDelivery(&r, c)
}

// Unconverged counts open rows whose message does not show the record, and the age
// in ms of the one that has waited longest, counted from the change that it does
// not show.
func (s *Store) Unconverged(ctx context.Context) (count int, oldest core.Millis, err error) {
	var since core.Millis
	if err := s.read(ctx).One(sqlUnconverged, nil, &count, &since); err != nil {
		return 0, 0, fmt.Errorf("count unconverged deliveries: %w", err)
	}
	if since == 0 {
		return count, 0, nil
	}
	now, err := s.db.Now(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("count unconverged deliveries: %w", err)
	}
	return count, max(now-since, 0), nil
}

// SweepDeliveries marks rows that need work and that no change marked due, and
// denies pending approvals that have no route left: at most limit changes.
func (s *Store) SweepDeliveries(ctx context.Context, r core.Reachability, limit int) ([]core.Hint, error) {
	var hints []core.Hint
	for len(hints) < limit {
		chunk := min(limit-len(hints), MaxBackground)
		marked, err := writeRows(ctx, s, Background, chunk, func(t *tx) ([]core.Hint, error) { return t.markForgotten(chunk) })
		hints = append(hints, marked...)
		if err != nil {
			return hints, fmt.Errorf("sweep deliveries: %w", err)
		}
		if len(marked) < chunk {
			break
		}
	}
	unrouted, err := s.unrouted(ctx, r, min(limit-len(hints), MaxBackground))
	if err != nil || len(unrouted) == 0 {
		return hints, err
	}
	denied, err := writeRows(ctx, s, Background, len(unrouted), func(t *tx) ([]core.Hint, error) { return t.denyUnrouted(unrouted, r) })
	if err != nil {
		return hints, fmt.Errorf("sweep deliveries: %w", err)
	}
	return append(hints, denied...), nil
}

func (t *tx) markForgotten(limit int) ([]core.Hint, error) {
	var hints []core.Hint
	err := t.Returning(t.rows.markForgotten, []any{int64(t.now), limit}, func(scan Row) error {
		h := core.Hint{Deliveries: true}
		err := scan(&h.ApprovalID)
		hints = append(hints, h)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range hints {
		c, err := t.card(hints[i].ApprovalID)
		if err != nil {
			return nil, err
		}
		hints[i].Revision = c.revision
	}
	return hints, nil
}

// unrouted finds pending approvals without a route, by reading: most of those
// without an open card wait for somebody on the page.
func (s *Store) unrouted(ctx context.Context, r core.Reachability, limit int) ([]string, error) {
	if limit <= 0 {
		return nil, nil
	}
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("sweep deliveries: %w", err)
	}
	q := s.read(ctx)
	var candidates, found []string
	err = q.Each(sqlUnrouted, []any{int64(now)}, func(scan Row) error {
		var id string
		err := scan(&id)
		candidates = append(candidates, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sweep deliveries: %w", err)
	}
	for _, id := range candidates {
		a, err := findApproval(q, s.rows, s.rows.byID, id)
		if isCorrupt(err) || errors.Is(err, core.ErrNotFound) {
			continue
		}
		routed, routeErr := hasRoute(q, &a, r, now)
		if err = errors.Join(err, routeErr); err != nil {
			return nil, fmt.Errorf("sweep deliveries: %w", err)
		}
		if !routed {
			found = append(found, id)
		}
		if len(found) == limit {
			break
		}
	}
	return found, nil
}

// denyUnrouted applies the rule once more, now under the lock.
func (t *tx) denyUnrouted(ids []string, r core.Reachability) ([]core.Hint, error) {
	var hints []core.Hint
	for _, id := range ids {
		a, err := t.fresh(id)
		if isCorrupt(err) || errors.Is(err, core.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if a.Status != core.StatusPending {
			continue
		}
		denied, err := t.denyWithoutRoute(&a, r)
		if err != nil {
			return nil, err
		}
		if denied {
			hints = append(hints, hintOf(&a))
		}
	}
	return hints, nil
}
