package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// awaitAnswer leaves the clicked row alone for a while. A worker that holds the row at
// the decision may paint an older card at the same time as the answer paints the final
// one, and nobody could tell which came last: such a row is edited once more when both
// are over. If the process dies, or the
// answer is lost, the row is simply due then.
func (t *tx) awaitAnswer(approvalID, deliveryID string, delay core.Millis) error {
	_, err := t.Exec(t.rows.awaitAnswer, int64(t.now+delay), deliveryID, approvalID)
	return err
}

// ShownByAnswer implements core.AnsweredCards.
func (s *Store) ShownByAnswer(ctx context.Context, deliveryID string, cardRevision int64) (core.Hint, error) {
	hint, err := write(ctx, s, Foreground, func(t *tx) (core.Hint, error) { return t.shownByAnswer(deliveryID, cardRevision) })
	if err != nil {
		return core.Hint{}, fmt.Errorf("record shown card: %w", err)
	}
	return hint, nil
}

func (t *tx) shownByAnswer(id string, revision int64) (core.Hint, error) {
	r, c, err := t.deliveryLocked(id, Share)
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
