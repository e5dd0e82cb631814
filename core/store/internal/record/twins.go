package record

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/saysohq/sayso/core"
)

// A send whose answer was lost is repeated while its approval is pending, so one
// destination can end up with two messages. Each known message is driven to the
// truth: the second one gets a row of its own, a twin, with what the first row
// knows of it. A twin has no address, because an approval has one row per address;
// its locator is all that an edit needs, and where it cannot be edited the first
// row already tells the truth in that chat.
const sqlInsertTwin = `INSERT INTO deliveries (id, approval_id, channel, account, destination, person_id, address,
		locator, state, shown_revision, shown_hash, offered, shown_complete, key_id, due_at, give_up_at,
		stale_since, created_at, updated_at)
	SELECT ?2, approval_id, channel, account, destination, person_id, NULL,
		?3, 'open', CAST(?4 AS bigint), shown_hash, offered, shown_complete, key_id,
		CASE WHEN ?5 THEN CAST(?6 AS bigint) END, give_up_at,
		CASE WHEN ?5 THEN CAST(?6 AS bigint) ELSE 0 END, CAST(?6 AS bigint), CAST(?6 AS bigint)
	FROM deliveries WHERE id = ?1
	ON CONFLICT (id) DO NOTHING` // That message has its row.

// twin adds the row of another message of r, which shows the given card revision
// (0 when that is not known), and returns its id.
func (t *tx) twin(r *deliveryRow, c card, locator string, shown int64) (string, error) {
	sum := sha256.Sum256([]byte(locator))
	id := r.d.ID + "~" + hex.EncodeToString(sum[:4])
	_, err := t.Exec(sqlInsertTwin, r.d.ID, id, locator, shown, shown < c.card, int64(t.now))
	return id, err
}

// completeTwin records the receipt of a repeated send whose first message was
// adopted meanwhile: both are known now, and neither is forgotten.
func (t *tx) completeTwin(r *deliveryRow, c card, done core.CompleteDelivery) error {
	d := &r.d
	d.State, r.stateBefore = core.DeliveryOpen, ""
	r.letGo()
	t.settle(d, c)
	if err := t.saveDelivery(r, c); err != nil {
		return err
	}
	_, err := t.twin(r, c, done.Locator, done.ShownRevision)
	return err
}
