package record

import (
	"errors"

	"github.com/saysohq/sayso/core"
)

const (
	maxHops = 8 // Aliases followed in a row; chats that move more often than this are not ours to find.

	sqlReadAlias = `SELECT moved_to FROM chat_aliases WHERE channel = ? AND account = ? AND address = ?`
	sqlAddAlias  = `INSERT INTO chat_aliases (channel, account, address, moved_to, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (channel, account, address) DO UPDATE SET moved_to = excluded.moved_to, created_at = excluded.created_at`
	// A chat that has moved back is where it was: the alias in the other direction
	// would make a circle.
	sqlDropAlias = `DELETE FROM chat_aliases WHERE channel = ? AND account = ? AND address = ?`

	sqlMoveDeliveries = `UPDATE deliveries SET address = ?4, updated_at = ?5
		WHERE channel = ?1 AND account = ?2 AND address = ?3 AND state <> 'closed' AND NOT EXISTS (SELECT 1 FROM deliveries o
			WHERE o.approval_id = deliveries.approval_id AND o.channel = ?1 AND o.account = ?2 AND o.address = ?4)`
	sqlMoveDelivery = `UPDATE deliveries SET address = ?1 WHERE id = ?2 AND NOT EXISTS (SELECT 1 FROM deliveries o
		WHERE o.approval_id = deliveries.approval_id AND o.channel = deliveries.channel AND o.account = deliveries.account
			AND o.address = ?1)`
	// The approvals of all rows at the address of a row, its own among them.
	sqlHoldMoved = `SELECT a.id FROM approvals a WHERE a.id IN (SELECT o.approval_id FROM deliveries d
		JOIN deliveries o ON o.id = d.id OR (o.channel = d.channel AND o.account = d.account AND o.address = d.address AND o.state <> 'closed')
		WHERE d.id = ?) ORDER BY a.id FOR SHARE`
	// What could not move has a sibling at the new address.
	sqlCloseMoved = `UPDATE deliveries SET address = NULL, state = 'closed', outcome = 'duplicate', due_at = NULL,
			lease_holder = '', lease_until = 0, stale_since = 0, updated_at = ?4
		WHERE channel = ?1 AND account = ?2 AND address = ?3 AND state = 'planned'`
)

// follow resolves an address through the moves of its chat.
func follow(q Querier, channel core.Surface, account, address string) (string, error) {
	for range maxHops {
		if address == "" {
			return "", nil
		}
		var to string
		err := q.One(sqlReadAlias, []any{string(channel), account, address}, &to)
		if errors.Is(err, core.ErrNotFound) {
			return address, nil
		}
		if err != nil {
			return "", err
		}
		address = to
	}
	return address, nil
}

// moved records that the chat of a row has a new address, and takes along every
// row of the bot that is still to be sent or edited. A planned row whose approval
// already has a card there ends as a duplicate.
func (t *tx) moved(d *core.Delivery, to string) error {
	channel, from := string(d.Channel), d.Address
	if _, err := t.Exec(sqlDropAlias, channel, d.Account, to); err != nil {
		return err
	}
	if from == "" { // The row was never resolved: only it knows the address now.
		_, err := t.Exec(sqlMoveDelivery, to, d.ID)
		return err
	}
	if _, err := t.Exec(sqlAddAlias, channel, d.Account, from, to, int64(t.now)); err != nil {
		return err
	}
	if _, err := t.Exec(sqlMoveDeliveries, channel, d.Account, from, to, int64(t.now)); err != nil {
		return err
	}
	_, err := t.Exec(sqlCloseMoved, channel, d.Account, from, int64(t.now))
	return err
}
