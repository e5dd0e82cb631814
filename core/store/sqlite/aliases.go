package sqlite

import (
	"errors"

	"github.com/saysohq/sayso/core"
)

const (
	maxHops = 8 // Aliases followed in a row; chats that move more often than this are not ours to find.

	sqlReadAlias = `SELECT moved_to FROM chat_aliases WHERE channel = ? AND account = ? AND address = ?`
	sqlAddAlias  = `INSERT INTO chat_aliases (channel, account, address, moved_to, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET moved_to = excluded.moved_to, created_at = excluded.created_at`
	// A chat that has moved back is where it was: the alias in the other direction
	// would make a circle.
	sqlDropAlias = `DELETE FROM chat_aliases WHERE channel = ? AND account = ? AND address = ?`

	sqlMoveDeliveries = `UPDATE OR IGNORE deliveries SET address = ?4, updated_at = ?5
		WHERE channel = ?1 AND account = ?2 AND address = ?3 AND state <> 'closed'`
	// What could not move has a sibling at the new address.
	sqlCloseMoved = `UPDATE deliveries SET address = NULL, state = 'closed', outcome = 'duplicate', due_at = NULL,
			lease_holder = '', lease_until = 0, stale_since = 0, updated_at = ?4
		WHERE channel = ?1 AND account = ?2 AND address = ?3 AND state = 'planned'`
)

// follow resolves an address through the moves of its chat.
func follow(q querier, channel core.Surface, account, address string) (string, error) {
	for range maxHops {
		if address == "" {
			return "", nil
		}
		var to string
		err := q.one(sqlReadAlias, []any{string(channel), account, address}, &to)
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
	if _, err := t.exec(sqlDropAlias, channel, d.Account, to); err != nil {
		return err
	}
	if from == "" { // The row was never resolved: only it knows the address now.
		_, err := t.exec(`UPDATE OR IGNORE deliveries SET address = ? WHERE id = ?`, to, d.ID)
		return err
	}
	if _, err := t.exec(sqlAddAlias, channel, d.Account, from, to, int64(t.now)); err != nil {
		return err
	}
	if _, err := t.exec(sqlMoveDeliveries, channel, d.Account, from, to, int64(t.now)); err != nil {
		return err
	}
	_, err := t.exec(sqlCloseMoved, channel, d.Account, from, int64(t.now))
	return err
}
