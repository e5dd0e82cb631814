package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

const (
	sqlAnyNudge  = `SELECT EXISTS (SELECT 1 FROM nudges n WHERE n.due_at IS NOT NULL AND n.due_at <= ?1 AND n.lease_until <= ?1)`
	sqlDueNudges = `SELECT n.approval_id, a.ref, a.runtime, a.callback_url, n.revision, n.since, n.attempts, n.fence
		FROM nudges n JOIN approvals a ON a.id = n.approval_id
		WHERE n.due_at IS NOT NULL AND n.due_at <= ? AND n.lease_until <= ? ORDER BY n.due_at, n.approval_id LIMIT ?`
	sqlLeaseNudge = `UPDATE nudges SET lease_until = ?, fence = fence + 1 WHERE approval_id = ?`
	// Of a change that nobody has told yet the nudge stays, due at once.
	sqlNudgeTaken  = `DELETE FROM nudges WHERE approval_id = ? AND fence = ? AND revision = ?`
	sqlNudgeFailed = `UPDATE nudges SET due_at = nullif(CAST(?1 AS bigint), 0), lease_until = 0, attempts = attempts + 1, last_error = ?2
		WHERE approval_id = ?3 AND fence = ?4 AND revision = ?5`
	sqlNudgeFreed   = `UPDATE nudges SET lease_until = 0 WHERE approval_id = ? AND fence = ?`
	sqlNudgeBacklog = `SELECT count(*), coalesce(min(since), 0) FROM nudges WHERE due_at IS NOT NULL`
)

// ClaimNudges implements core.Nudges. Where none is due it is a read.
func (s *Store) ClaimNudges(ctx context.Context, c core.ClaimNudges) ([]core.Nudge, error) {
	if c.Limit < 1 || c.Limit > MaxBackground || c.Lease <= 0 {
		return nil, fmt.Errorf("claim nudges: %w", core.Invalid("limit", "must be from 1 to %d, with a lease", MaxBackground))
	}
	now, err := s.db.Now(ctx)
	var some bool
	if err == nil {
		err = s.read(ctx).One(sqlAnyNudge, []any{int64(now)}, &some)
	}
	var claimed []core.Nudge
	if err == nil && some {
		claimed, err = writeRows(ctx, s, Background, c.Limit, func(t *tx) ([]core.Nudge, error) { return t.claimNudges(c) })
	}
	if err != nil {
		return nil, fmt.Errorf("claim nudges: %w", err)
	}
	return claimed, nil
}

func (t *tx) claimNudges(c core.ClaimNudges) ([]core.Nudge, error) {
	var due []core.Nudge
	query := t.rows.locking(sqlDueNudges, " FOR UPDATE OF n SKIP LOCKED")
	err := t.lock(query, []any{int64(t.now), int64(t.now), int64(c.Limit)}, func(scan Row) error {
		var n core.Nudge
		err := scan(&n.ApprovalID, &n.Ref, &n.Runtime, &n.URL, &n.Revision, (*int64)(&n.Since), &n.Attempts, &n.Fence)
		due = append(due, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range due {
		if _, err := t.Exec(sqlLeaseNudge, int64(t.now+c.Lease), due[i].ApprovalID); err != nil {
			return nil, err
		}
		due[i].Fence++
		due[i].Now = t.now
	}
	return due, nil
}

// SettleNudge implements core.Nudges.
func (s *Store) SettleNudge(ctx context.Context, c core.SettleNudge) error {
	if c.RetryIn < 0 || c.Error == "" && c.RetryIn != 0 || len(c.Error) > core.MaxShortText {
		return fmt.Errorf("settle nudge: %w", core.Invalid("retry_in", "must be a time to come, after a failure"))
	}
	_, err := write(ctx, s, Background, func(t *tx) (struct{}, error) { return struct{}{}, t.settleNudge(&c) })
	if err != nil {
		return fmt.Errorf("settle nudge: %w", err)
	}
	return nil
}

func (t *tx) settleNudge(c *core.SettleNudge) error {
	var n int64
	var err error
	if c.Error == "" {
		n, err = t.Exec(sqlNudgeTaken, c.ApprovalID, c.Fence, c.Revision)
	} else {
		due := int64(0)
		if c.RetryIn > 0 {
			due = int64(t.now + c.RetryIn)
		}
		n, err = t.Exec(sqlNudgeFailed, due, c.Error, c.ApprovalID, c.Fence, c.Revision)
	}
	if err != nil || n > 0 {
		return err
	}
	_, err = t.Exec(sqlNudgeFreed, c.ApprovalID, c.Fence)
	return err
}

// NudgeBacklog implements core.Nudges.
func (s *Store) NudgeBacklog(ctx context.Context) (due int, oldest core.Millis, err error) {
	err = s.read(ctx).One(sqlNudgeBacklog, nil, &due, (*int64)(&oldest))
	if err != nil {
		return 0, 0, fmt.Errorf("count nudges: %w", err)
	}
	return due, oldest, nil
}
