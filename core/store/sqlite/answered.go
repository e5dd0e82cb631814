package sqlite

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// A worker that holds the row at the decision may paint an older card at the same
// time as the answer paints the final one, and nobody could tell which came last: such
// a row is edited once more when both are over.
const sqlAwaitAnswer = `UPDATE deliveries SET answer_until = ?1, due_at = ?1,
		settle_at = iif(lease_holder = '', settle_at, max(settle_at, ?1)),
		unsettled = iif(lease_holder = '', unsettled, 1)
	WHERE id = ?2 AND approval_id = ?3 AND state <> 'closed'`

// awaitAnswer leaves the clicked row alone for a while. If the process dies, or the
// answer is lost, the row is simply due then.
func (t *tx) awaitAnswer(approvalID, deliveryID string, delay core.Millis) error {
	_, err := t.exec(sqlAwaitAnswer, int64(t.now+delay), deliveryID, approvalID)
	return err
}

// ShownByAnswer implements core.AnsweredCards.
func (s *Store) ShownByAnswer(ctx context.Context, deliveryID string, cardRevision int64) (core.Hint, error) {
	hint, err := write(ctx, s, foreground, func(t *tx) (core.Hint, error) { return t.shownByAnswer(deliveryID, cardRevision) })
	if err != nil {
		return core.Hint{}, fmt.Errorf("record shown card: %w", err)
	}
	return hint, nil
}

func (t *tx) shownByAnswer(id string, revision int64) (core.Hint, error) {
	r, err := deliveryOf(t, sqlDelivery, id)
	if err != nil {
		return core.Hint{}, err
	}
	c, err := t.card(r.d.ApprovalID)
	if err != nil {
		return core.Hint{}, err
	}
	d := &r.d
	hint := core.Hint{ApprovalID: d.ApprovalID, Revision: c.revision, Deliveries: true}
	if d.State == core.DeliveryClosed || d.AnswerUntil <= t.now {
		return hint, nil // Too late: the row is as the ledger left it, and due if it has to be.
	}
	d.AnswerUntil = 0
	switch {
	case revision == 0: // Nothing was shown: whatever the message showed before it shows now.
	case revision != c.card: // An older card, painted perhaps over a newer one.
		d.ShownRevision = min(d.ShownRevision, revision)
	default:
		d.ShownRevision, d.ShownView = revision, d.View
	}
	if d.LeaseHolder == "" && !d.Unsettled && !c.pending && !c.stale(d) {
		r.shut(core.OutcomeReplaced)
		return hint, t.saveDelivery(&r, c)
	}
	t.settle(d, c)
	return hint, t.saveDelivery(&r, c)
}
