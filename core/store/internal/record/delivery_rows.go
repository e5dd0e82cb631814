package record

import (
	"fmt"
	"strings"

	"github.com/saysohq/sayso/core"
)

// deliveryColumns are read in the order of deliveryRow.dest.
const deliveryColumns = `d.id, d.approval_id, d.channel, d.account, d.destination, d.person_id, coalesce(d.address, ''), d.locator,
	d.state, d.outcome, d.step, d.closes_as, d.shown_revision, d.view, d.shown_view,
	d.shown_hash, d.offered, d.shown_complete, d.key_id,
	d.attempts, d.generation, d.ambiguous, d.unsettled, d.settle_at, coalesce(d.due_at, 0), d.give_up_at,
	d.answer_until, d.edit_after, d.told_revision,
	d.lease_holder, d.lease_until, d.fence, d.last_error, d.last_error_text, d.created_at, d.updated_at, d.state_before`

// deliveryRow is a row of the ledger on its way in.
type deliveryRow struct {
	d           core.Delivery
	offered     *string
	stateBefore core.DeliveryState // What "sending" replaced.
}

func (r *deliveryRow) dest() []any {
	d := &r.d
	return []any{
		&d.ID, &d.ApprovalID, (*string)(&d.Channel), &d.Account, &d.Destination, &d.PersonID, &d.Address, &d.Locator,
		(*string)(&d.State), (*string)(&d.Outcome), (*string)(&d.Step), (*string)(&d.ClosesAs), &d.ShownRevision, &d.View, &d.ShownView,
		&d.ShownHash, &r.offered, &d.ShownComplete, &d.KeyID,
		&d.Attempts, &d.Generation, &d.Ambiguous, &d.Unsettled, (*int64)(&d.SettleAt), (*int64)(&d.DueAt), (*int64)(&d.GiveUpAt),
		(*int64)(&d.AnswerUntil), (*int64)(&d.EditAfter), &d.ToldRevision,
		&d.LeaseHolder, (*int64)(&d.LeaseUntil), &d.Fence, (*string)(&d.LastError), &d.LastErrorText,
		(*int64)(&d.CreatedAt), (*int64)(&d.UpdatedAt), (*string)(&r.stateBefore),
	}
}

// decode finishes a scanned row. Errors: core.ErrCorrupt.
func (r *deliveryRow) decode() error {
	d := &r.d
	if decodeJSON(r.offered, &d.Offered) != nil {
		return fmt.Errorf("%w: offered decisions are no JSON of their type", core.ErrCorrupt)
	}
	for _, o := range d.Offered {
		if !o.Valid() {
			return fmt.Errorf("%w: unknown offered decision", core.ErrCorrupt)
		}
	}
	if !d.State.Valid() || !d.Outcome.Valid() || !d.Step.Valid() || !d.ClosesAs.Valid() || !d.LastError.Valid() {
		return fmt.Errorf("%w: unknown state of a delivery", core.ErrCorrupt)
	}
	return nil
}

// deliveries reads rows of the ledger.
func deliveries(q Querier, query string, args ...any) ([]deliveryRow, error) {
	var rows []deliveryRow
	err := q.Each(query, args, func(scan Row) error {
		var r deliveryRow
		if err := scan(r.dest()...); err != nil {
			return err
		}
		if err := r.decode(); err != nil {
			return err
		}
		rows = append(rows, r)
		return nil
	})
	return rows, err
}

// deliveryOf reads one row. Errors: core.ErrNotFound, core.ErrCorrupt.
func deliveryOf(q Querier, query string, args ...any) (deliveryRow, error) {
	rows, err := deliveries(q, query, args...)
	switch {
	case err != nil:
		return deliveryRow{}, err
	case len(rows) == 0:
		return deliveryRow{}, core.ErrNotFound
	}
	return rows[0], nil
}

const maxErrorText = 200 // Bytes of a delivery's error text.

// cutText bounds a text of ours in bytes without splitting a character.
func cutText(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ToValidUTF8(s, "")
}

const (
	sqlDelivery     = `SELECT ` + deliveryColumns + ` FROM deliveries d WHERE d.id = ?`
	sqlDeliveriesOf = `SELECT ` + deliveryColumns + ` FROM deliveries d WHERE d.approval_id = ? ORDER BY d.id`
	sqlDeliveryAt   = `SELECT ` + deliveryColumns + ` FROM deliveries d WHERE d.locator <> '' AND d.channel = ? AND d.account = ? AND d.locator = ? ORDER BY d.state = 'closed', d.id LIMIT 1`
	sqlApprovalCard = `SELECT status = 'pending', card_revision, revision FROM approvals WHERE id = ?`
	sqlCardOf       = `SELECT a.status = 'pending', a.card_revision, a.revision FROM approvals a
		WHERE a.id = (SELECT d.approval_id FROM deliveries d WHERE d.id = ?)`
	sqlSaveDelivery = `UPDATE deliveries SET address = nullif(?, ''), locator = ?, state = ?, state_before = ?, outcome = ?, step = ?, closes_as = ?,
			shown_revision = ?, view = ?, shown_view = ?, shown_hash = ?, offered = ?, shown_complete = ?, key_id = ?,
			attempts = ?, generation = ?, ambiguous = ?, unsettled = ?, settle_at = ?, due_at = nullif(CAST(? AS bigint), 0), give_up_at = ?,
			answer_until = ?, edit_after = ?, told_revision = ?,
			lease_holder = ?, lease_until = ?, fence = ?, stale_since = CASE WHEN ? THEN CASE WHEN stale_since = 0 THEN ? ELSE stale_since END ELSE 0 END,
			last_error = ?, last_error_text = ?, updated_at = ?
		WHERE id = ?`
)

// card is what the ledger needs of an approval. It is read even where the rest of
// the row is damaged: a damaged approval must not stop its messages.
type card struct {
	pending  bool
	card     int64
	revision int64
}

func (t *tx) card(approvalID string) (card, error) {
	var c card
	err := t.One(sqlApprovalCard, []any{approvalID}, &c.pending, &c.card, &c.revision)
	return c, err
}

// due is when work that is wanted from a time on may be done.
func (c *card) due(d *core.Delivery, from core.Millis) core.Millis {
	return d.DueFrom(from, !c.pending, c.card)
}

// cardOf locks the approval of a delivery. Errors: core.ErrNotFound.
func (t *tx) cardOf(deliveryID string, s Strength) (card, error) {
	c, found := card{}, false
	err := t.lock(t.rows.card[s], []any{deliveryID}, func(scan Row) error {
		found = true
		return scan(&c.pending, &c.card, &c.revision)
	})
	if err == nil && !found {
		err = core.ErrNotFound
	}
	return c, err
}

// stale reports whether the message behind a row does not show the record.
func (c *card) stale(d *core.Delivery) bool {
	return d.ShownRevision < c.card || (c.pending && d.ShownView < d.View) || d.Step == core.StepFollowup
}

// saveDelivery writes what a step made of a row.
func (t *tx) saveDelivery(r *deliveryRow, c card) error {
	d := &r.d
	offered := r.offered
	if d.Offered != nil {
		var err error
		if offered, err = encodeJSON(d.Offered); err != nil {
			return core.Invalid("offered", "must be decisions")
		}
	}
	d.UpdatedAt = t.now
	stale := c.stale(d)
	switch d.State {
	case core.DeliveryClosed:
		stale = false
	case core.DeliveryPlanned, core.DeliverySending: // While an answer is wanted, what was never shown is no message that could be wrong.
		stale = stale && !(c.pending && d.Locator == "" && d.ShownRevision == 0)
	case core.DeliveryOpen:
	}
	_, err := t.Exec(sqlSaveDelivery, d.Address, d.Locator, string(d.State), string(r.stateBefore), string(d.Outcome), string(d.Step),
		string(d.ClosesAs), d.ShownRevision, d.View, d.ShownView, d.ShownHash, offered, d.ShownComplete, d.KeyID,
		d.Attempts, d.Generation, d.Ambiguous, d.Unsettled, int64(d.SettleAt), int64(d.DueAt), int64(d.GiveUpAt),
		int64(d.AnswerUntil), int64(d.EditAfter), d.ToldRevision,
		d.LeaseHolder, int64(d.LeaseUntil), d.Fence, stale, int64(t.now),
		string(d.LastError), cutText(d.LastErrorText, maxErrorText), int64(t.now), d.ID)
	return err
}
