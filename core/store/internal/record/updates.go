package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

const (
	// heardEvery is how often, in ms, it is written down that a runtime still asks: what
	// finds nothing is a read otherwise.
	heardEvery = 60 * 60 * 1_000

	sqlAnyUpdate = `SELECT EXISTS (SELECT 1 FROM updates WHERE runtime = ?1 AND agent = ?2 AND (leased_until <= ?3 OR claim_token = ?4))`
	sqlHeld      = `SELECT approval_id, kind, changed_at FROM updates WHERE claim_token <> '' AND claim_token = ? AND runtime = ? AND agent = ?
		ORDER BY changed_at, approval_id, kind`
	sqlClaimable = `SELECT approval_id, kind, changed_at FROM updates WHERE runtime = ? AND agent = ? AND leased_until <= ?
		ORDER BY changed_at, approval_id, kind LIMIT ?`
	sqlLeaseUpdate = `UPDATE updates SET claim_token = ?1, leased_until = ?2, leased_revision = revision WHERE approval_id = ?3 AND kind = ?4`
	sqlForget      = `DELETE FROM updates WHERE approval_id = ? AND kind = ?`
	sqlAck         = `DELETE FROM updates WHERE claim_token <> '' AND claim_token = ? AND runtime = ? AND agent = ? AND leased_revision = revision`
	sqlAckChanged  = `UPDATE updates SET claim_token = '', leased_until = 0
		WHERE claim_token <> '' AND claim_token = ? AND runtime = ? AND agent = ?`
)

// ClaimUpdates implements core.Updates. Where there is nothing it is a read, but for
// one write an hour.
func (s *Store) ClaimUpdates(ctx context.Context, c core.ClaimUpdates) (core.UpdateBatch, error) {
	if err := boundUpdates(&c); err != nil {
		return core.UpdateBatch{}, fmt.Errorf("claim updates: %w", err)
	}
	if b, idle, err := s.noUpdates(ctx, c); err != nil || idle {
		if err != nil {
			err = fmt.Errorf("claim updates: %w", err)
		}
		return b, err
	}
	b, err := write(ctx, s, Foreground, func(t *tx) (core.UpdateBatch, error) { return t.claimUpdates(c) })
	if err != nil {
		return core.UpdateBatch{}, fmt.Errorf("claim updates: %w", err)
	}
	return b, nil
}

func boundUpdates(c *core.ClaimUpdates) error {
	if c.Limit == 0 {
		c.Limit = core.DefaultUpdates
	}
	if c.Lease == 0 {
		c.Lease = core.DefaultUpdateLease
	}
	switch {
	case c.Runtime == "", c.TokenHash == "":
		return core.Invalid("claim_token", "is required")
	case c.Limit < 1, c.Limit > core.MaxUpdates:
		return core.Invalid("limit", "must be from 1 to %d", core.MaxUpdates)
	case c.Lease < core.MinUpdateLease, c.Lease > core.MaxUpdateLease:
		return core.Invalid("lease", "must be from %d to %d ms", core.MinUpdateLease, core.MaxUpdateLease)
	}
	return nil
}

// noUpdates reports whether there is nothing to claim and nothing to write down.
func (s *Store) noUpdates(ctx context.Context, c core.ClaimUpdates) (b core.UpdateBatch, idle bool, err error) {
	if b.Now, err = s.db.Now(ctx); err != nil {
		return b, false, err
	}
	heard, err := heardAt(s.read(ctx), c.Runtime, c.Agent)
	if err != nil || heard == 0 || heard+heardEvery <= b.Now {
		return b, false, err
	}
	var some bool
	err = s.read(ctx).One(sqlAnyUpdate, []any{c.Runtime, c.Agent, int64(b.Now), c.TokenHash}, &some)
	return b, !some, err
}

// updateKey is a row of updates.
type updateKey struct {
	approval string
	kind     core.UpdateKind
	at       core.Millis
}

// updateKeys reads rows of updates, locked.
func (t *tx) updateKeys(query, lock string, args ...any) ([]updateKey, error) {
	var keys []updateKey
	err := t.lock(t.rows.locking(query, lock), args, func(scan Row) error {
		var k updateKey
		err := scan(&k.approval, (*string)(&k.kind), (*int64)(&k.at))
		keys = append(keys, k)
		return err
	})
	return keys, err
}

func (t *tx) claimUpdates(c core.ClaimUpdates) (core.UpdateBatch, error) {
	if _, err := t.Exec(sqlHeard, c.Runtime, c.Agent, int64(t.now)); err != nil {
		return core.UpdateBatch{}, err
	}
	// A repeated claim gets what it got, for as long as it would have had it from now on.
	keys, err := t.updateKeys(sqlHeld, forUpdate, c.TokenHash, c.Runtime, c.Agent)
	more := false
	if err == nil && len(keys) == 0 {
		keys, err = t.updateKeys(sqlClaimable, " FOR UPDATE SKIP LOCKED", c.Runtime, c.Agent, int64(t.now), int64(c.Limit+1))
		if more = len(keys) > c.Limit; more {
			keys = keys[:c.Limit]
		}
	}
	if err != nil {
		return core.UpdateBatch{}, err
	}
	b := core.UpdateBatch{More: more, Now: t.now}
	if len(keys) == 0 {
		return b, nil
	}
	b.Until = t.now + c.Lease
	// No change of these approvals commits until this write has: it would need their rows.
	approvals, err := t.approvalsOf(keys)
	if err != nil {
		return core.UpdateBatch{}, err
	}
	for _, k := range keys {
		a, sound := approvals[k.approval]
		if !sound { // Nothing true can be told of it.
			if _, err := t.Exec(sqlForget, k.approval, string(k.kind)); err != nil {
				return core.UpdateBatch{}, err
			}
			continue
		}
		if _, err := t.Exec(sqlLeaseUpdate, c.TokenHash, int64(b.Until), k.approval, string(k.kind)); err != nil {
			return core.UpdateBatch{}, err
		}
		b.Updates = append(b.Updates, core.Update{Kind: k.kind, Approval: a, ChangedAt: k.at})
	}
	return b, nil
}

// approvalsOf reads the sound ones of the approvals of updates.
func (t *tx) approvalsOf(keys []updateKey) (map[string]core.Approval, error) {
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = k.approval
	}
	list, err := textsJSON(ids)
	if err != nil {
		return nil, err
	}
	rows, _, err := t.rowsOf(t.rows.byIDs, list)
	found := make(map[string]core.Approval, len(rows))
	for i := range rows {
		found[rows[i].ID] = rows[i]
	}
	return found, err
}

// AckUpdates implements core.Updates.
func (s *Store) AckUpdates(ctx context.Context, c core.AckUpdates) (int, error) {
	if c.TokenHash == "" {
		return 0, fmt.Errorf("acknowledge updates: %w", core.Invalid("claim_token", "is required"))
	}
	n, err := write(ctx, s, Foreground, func(t *tx) (int, error) {
		ended := 0
		for _, query := range []string{sqlAck, sqlAckChanged} {
			n, err := t.Exec(query, c.TokenHash, c.Runtime, c.Agent)
			if err != nil {
				return 0, err
			}
			ended += int(n)
		}
		return ended, nil
	})
	if err != nil {
		return 0, fmt.Errorf("acknowledge updates: %w", err)
	}
	return n, nil
}
