package sqlite

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

const (
	// Found by age of creation, which every decision leaves alone: an index on the
	// time of the decision would cost each of them. What was created before the
	// limit and decided after it is passed over; that is a week's worth at most.
	sqlPrunable = `SELECT id FROM approvals
		WHERE created_at <= ?1 AND status <> 'pending' AND resolved_at <= ?1 ORDER BY created_at, id LIMIT ?2`
	// A UUID cannot come twice; what a caller chose stays taken for ever (K33).
	sqlSpendID        = `INSERT INTO spent_ids (id) SELECT ?1 WHERE instr(?1, ':') > 0 ON CONFLICT DO NOTHING`
	sqlDeleteEvents   = `DELETE FROM events WHERE approval_id = ?`
	sqlDeleteApproval = `DELETE FROM approvals WHERE id = ?`
)

// ended are the small things that are of no use once they have ended.
func ended() []string {
	return []string{
		`DELETE FROM sessions WHERE expires_at <= ?1 OR ended_at <> 0`,
		`DELETE FROM codes WHERE expires_at <= ?1`,
		`DELETE FROM prompts WHERE expires_at <= ?1`,
		`DELETE FROM blocks WHERE blocked_until <= ?1`,
	}
}

// Prune deletes terminal rows past retention (R203) with their details, deliveries
// and events, at most limit of them in writes of at most 100, and sessions, codes
// and prompts that have ended.
func (s *Store) Prune(ctx context.Context, limit int) (int, error) {
	_, err := write(ctx, s, background, func(t *tx) (struct{}, error) {
		for _, query := range ended() {
			if _, err := t.exec(query, int64(t.now)); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	if err != nil {
		return 0, fmt.Errorf("prune: %w", err)
	}
	pruned := 0
	for pruned < limit {
		chunk := min(limit-pruned, maxBackground)
		n, err := writeRows(ctx, s, background, chunk, func(t *tx) (int, error) { return t.prune(chunk) })
		pruned += n
		if err != nil {
			return pruned, fmt.Errorf("prune: %w", err)
		}
		if n < chunk {
			break
		}
	}
	return pruned, nil
}

func (t *tx) prune(limit int) (int, error) {
	var ids []string
	err := t.each(sqlPrunable, []any{int64(t.now - core.Retention), limit}, func(scan func(dest ...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		for _, query := range []string{sqlSpendID, sqlDeleteEvents, sqlDeleteApproval} {
			if _, err := t.exec(query, id); err != nil {
				return 0, err
			}
		}
	}
	return len(ids), nil
}
