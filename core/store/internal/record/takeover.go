package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Statements about workers that have gone. There are as many of their leases as
// replicas, and those of the gone are deleted once nothing is left of them.
const (
	sqlGone = `SELECT l.name FROM leases l WHERE l.name LIKE 'deliveries/worker/%' AND l.held_until <= ? ORDER BY l.name`

	sqlAbandoned = `SELECT d.id FROM deliveries d JOIN leases l ON l.name = ?1
		WHERE d.lease_holder <> '' AND d.lease_holder = l.holder AND l.held_until <= ?2 ORDER BY d.id LIMIT ?3`

	sqlForgetWorker = `DELETE FROM leases WHERE name = ?1 AND held_until <= ?2
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.lease_holder <> '' AND d.lease_holder = leases.holder)`
)

// takeOverStatement leaves a row as leaseStatement does that of a holder which was late.
func (t *Table) takeOverStatement() string {
	pick, picked := t.picking(sqlAbandoned)
	return pick + t.UpdateRows + ` deliveries SET
			ambiguous = (ambiguous OR (state = 'sending' AND locator = '')),
			unsettled = (unsettled OR lease_holder <> ''), settle_at = ?4,
			lease_holder = '', lease_until = 0, due_at = ` + t.Greatest + `(CAST(?2 AS bigint), answer_until), fence = fence + 1, updated_at = ?2
		WHERE id IN (` + picked + `) RETURNING approval_id`
}

// TakeOver implements core.Takeover. While nobody has gone it only reads.
func (s *Store) TakeOver(ctx context.Context, limit int) ([]core.Hint, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("take over deliveries: %w", err)
	}
	var gone []string
	err = s.read(ctx).Each(sqlGone, []any{int64(now)}, func(scan Row) error {
		var name string
		err := scan(&name)
		gone = append(gone, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("take over deliveries: %w", err)
	}
	var hints []core.Hint
	for _, name := range gone {
		chunk := min(limit-len(hints), MaxBackground)
		if chunk <= 0 {
			break
		}
		freed, err := writeRows(ctx, s, Background, chunk, func(t *tx) ([]core.Hint, error) { return t.takeOver(name, chunk) })
		hints = append(hints, freed...)
		if err != nil {
			return hints, fmt.Errorf("take over deliveries: %w", err)
		}
	}
	return hints, nil
}

// takeOver frees rows of one worker, and forgets the worker after the last of them.
func (t *tx) takeOver(name string, limit int) ([]core.Hint, error) {
	var hints []core.Hint
	settle := t.now.Add(core.CallTimeout + core.SettleMargin)
	err := t.Returning(t.rows.takeOver, []any{name, int64(t.now), limit, int64(settle)}, func(scan Row) error {
		h := core.Hint{Deliveries: true}
		err := scan(&h.ApprovalID)
		hints = append(hints, h)
		return err
	})
	if err != nil {
		return nil, err
	}
	_, err = t.Exec(sqlForgetWorker, name, int64(t.now))
	return hints, err
}
