package record

import (
	"context"
	"fmt"
	"time"

	"github.com/saysohq/sayso/core"
)

const (
	// A new holder gets a new fence, a renewal keeps it.
	sqlAcquireLease = `INSERT INTO leases (name, holder, fence, held_until) VALUES (?1, ?2, 1, ?3)
		ON CONFLICT (name) DO UPDATE SET
			fence = leases.fence + CASE WHEN leases.holder <> ?2 OR leases.held_until <= ?4 THEN 1 ELSE 0 END,
			holder = ?2, held_until = ?3
		WHERE leases.holder = ?2 OR leases.held_until <= ?4
		RETURNING fence`
	sqlReadJob      = `SELECT fence FROM leases WHERE name = ?`
	sqlReleaseLease = `UPDATE leases SET held_until = 0 WHERE name = ? AND holder = ? AND fence = ?`
)

// Acquire takes or renews a single-holder job. A holder that was late, whether or
// not somebody else had it meanwhile, gets a new fence. Errors: core.ErrLeaseLost
// when another holder has it.
func (s *Store) Acquire(ctx context.Context, name, holder string, d time.Duration) (core.Lease, error) {
	if name == "" || holder == "" || d <= 0 {
		return core.Lease{}, fmt.Errorf("acquire lease: %w", core.Invalid("lease", "needs a name, a holder and a length"))
	}
	lease, err := write(ctx, s, Foreground, func(t *tx) (core.Lease, error) {
		if err := t.hold(t.rows.job[Update], name); err != nil {
			return core.Lease{}, err
		}
		l := core.Lease{Name: name, Holder: holder, Until: t.now.Add(d)}
		err := t.Returning(sqlAcquireLease, []any{name, holder, int64(l.Until), int64(t.now)}, func(scan Row) error {
			return scan(&l.Fence)
		})
		if err == nil && l.Fence == 0 {
			err = core.ErrLeaseLost
		}
		return l, err
	})
	if err != nil {
		return core.Lease{}, fmt.Errorf("acquire lease: %w", err)
	}
	return lease, nil
}

// ReleaseLease gives a lease up; one that was lost meanwhile is left alone.
func (s *Store) ReleaseLease(ctx context.Context, l core.Lease) error {
	_, err := write(ctx, s, Foreground, func(t *tx) (int64, error) {
		return t.Exec(sqlReleaseLease, l.Name, l.Holder, l.Fence)
	})
	if err != nil {
		return fmt.Errorf("release lease: %w", err)
	}
	return nil
}
