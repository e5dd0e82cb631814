package record

import (
	"context"
	"fmt"
	"strconv"

	"github.com/saysohq/sayso/core"
)

const (
	// Found by age of creation, which every decision leaves alone: an index on the
	// time of the decision would cost each of them. What was created before the
	// limit and decided after it is passed over; that is a week's worth at most.
	sqlPrunable = `SELECT id FROM approvals
		WHERE created_at <= ?1 AND status <> 'pending' AND resolved_at <= ?1 ORDER BY created_at, id LIMIT ?2`
	// A UUID cannot come twice; what a caller chose stays taken for ever (K33).
	sqlSpendID        = `INSERT INTO spent_ids (id) SELECT CAST(?1 AS text) WHERE CAST(?1 AS text) LIKE '%:%' ON CONFLICT DO NOTHING`
	sqlDeleteEvents   = `DELETE FROM events WHERE approval_id = ?`
	sqlDeleteApproval = `DELETE FROM approvals WHERE id = ?`
)

// endedNow are the small things that are of no use once their time, ?1, has come;
// the last are the broken routes of people who have no link there any more.
func endedNow() []string {
	return []string{
		`DELETE FROM sessions WHERE expires_at <= ?1 OR ended_at <> 0`,
		`DELETE FROM codes WHERE expires_at <= ?1`,
		`DELETE FROM prompts WHERE expires_at <= ?1`,
		`DELETE FROM blocks WHERE blocked_until <= ?1`,
		// Whoever last asked so long ago does not listen any more.
		`DELETE FROM listeners WHERE heard_at <= CAST(?1 AS bigint) - ` + strconv.Itoa(core.ListenWindow),
		`DELETE FROM broken_routes AS b WHERE CAST(?1 AS bigint) > 0 AND b.person_id <> '' AND NOT EXISTS (SELECT 1 FROM identities i
			WHERE i.principal_id = b.person_id AND i.channel = b.channel AND i.account = b.account)`,
	}
}

// endedLongAgo is the bookkeeping that outlived retention, which ended at ?1. An
// aborted run is remembered for good, and so is the newest boot of an instance. A
// broken route that nobody tried again for so long is no route any more.
func endedLongAgo() []string {
	return []string{
		`DELETE FROM broken_routes WHERE retry_at <= ?1`,
		// A revoked one stays: its bearer must not be registered again.
		`DELETE FROM tokens WHERE expires_at <> 0 AND expires_at <= ?1 AND revoked_at = 0`,
		`DELETE FROM rules WHERE (removed_at <> 0 AND removed_at <= ?1) OR (expires_at <> 0 AND expires_at <= ?1)
			OR (uses_allowed <> 0 AND uses >= uses_allowed AND last_used_at <= ?1)`,
		`DELETE FROM policy_changes WHERE created_at <= ?1`,
		// Those of settings, which no approval takes with it (core.AgentHint).
		`DELETE FROM events WHERE approval_id >= 'agent/' AND approval_id < 'agent0' AND created_at <= ?1`,
		`DELETE FROM reopened WHERE created_at <= ?1`,
		`DELETE FROM instances AS i WHERE i.registered_at <= ?1 AND i.epoch < (
			SELECT max(n.epoch) FROM instances n WHERE n.runtime = i.runtime AND n.name = i.name)`,
		`DELETE FROM runs WHERE (runtime, id) IN (SELECT r.runtime, r.id FROM runs r
			WHERE r.aborted_at = 0 AND r.created_at <= ?1 AND NOT EXISTS (
				SELECT 1 FROM approvals a WHERE a.run_id <> '' AND a.runtime = r.runtime AND a.run_id = r.id)
			ORDER BY r.created_at LIMIT 100)`,
	}
}

// Prune deletes terminal rows past retention (R203) with their details, deliveries
// and events, at most limit of them in writes of at most 100, and what else
// has ended: sessions, codes and prompts at once, tokens that ran out after as long as
// the rows.
func (s *Store) Prune(ctx context.Context, limit int) (int, error) {
	pruned := 0
	for pruned < limit {
		chunk := min(limit-pruned, MaxBackground)
		n, err := writeRows(ctx, s, Background, chunk, func(t *tx) (int, error) { return t.prune(chunk) })
		pruned += n
		if err != nil {
			return pruned, fmt.Errorf("prune: %w", err)
		}
		if n < chunk {
			break
		}
	}
	_, err := write(ctx, s, Background, func(t *tx) (struct{}, error) { return struct{}{}, t.pruneEnded() })
	if err != nil {
		return pruned, fmt.Errorf("prune: %w", err)
	}
	return pruned, nil
}

func (t *tx) pruneEnded() error {
	for _, query := range endedNow() {
		if _, err := t.Exec(query, int64(t.now)); err != nil {
			return err
		}
	}
	for _, query := range endedLongAgo() {
		if _, err := t.Exec(query, int64(t.now-core.Retention)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) prune(limit int) (int, error) {
	var ids []string
	err := t.Each(sqlPrunable, []any{int64(t.now - core.Retention), limit}, func(scan Row) error {
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
			if _, err := t.Exec(query, id); err != nil {
				return 0, err
			}
		}
	}
	return len(ids), nil
}
