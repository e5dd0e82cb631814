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
	sqlReadJob      = `SELECT holder, fence, held_until FROM leases WHERE name = ?`
	sqlReleaseLease = `UPDATE leases SET held_until = 0 WHERE name = ? AND holder = ? AND fence = ?`
)

// Acquire takes or renews a single-holder job. A holder that was late, whether or
// not somebody else had it meanwhile, gets a new fence. Errors: core.ErrLeaseLost
// when another holder has it, core.ErrInvalid.
func (s *Store) Acquire(ctx context.Context, name, holder string, d time.Duration) (core.Lease, error) {
	if name == "" || holder == "" || d <= 0 {
		return core.Lease{}, fmt.Errorf("acquire lease: %w", core.Invalid("lease", "needs a name, a holder and a length"))
	}
	lease, err := s.acquire(ctx, name, holder, d)
	if err != nil {
		return core.Lease{}, fmt.Errorf("acquire lease: %w", err)
	}
	return lease, nil
}

func (s *Store) acquire(ctx context.Context, name, holder string, d time.Duration) (core.Lease, error) {
	if err := s.lookAt(ctx, name, holder); err != nil {
		return core.Lease{}, err
	}
	return write(ctx, s, Foreground, func(t *tx) (core.Lease, error) {
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
}

// lookAt refuses a lease that another has. It writes nothing and waits for nobody:
// those who stand by look every second.
func (s *Store) lookAt(ctx context.Context, name, holder string) error {
	var is core.Lease
	now, err := s.read(ctx).Dated(sqlReadJob, []any{name}, func(scan Row) error {
		return scan(&is.Holder, &is.Fence, (*int64)(&is.Until))
	})
	if err == nil && is.Holder != holder && is.Until > now {
		err = core.ErrLeaseLost
	}
	return err
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

// Fenced runs fn in one write in which the lease is held: nobody can take it over
// before the write has ended, and a holder that is late changes nothing. Errors:
// core.ErrLeaseLost.
func (s *Store) Fenced(ctx context.Context, l core.Lease, fn func(Conn) error) error {
	_, err := write(ctx, s, Background, func(t *tx) (struct{}, error) {
		var is core.Lease
		err := t.lock(t.rows.job[Update], []any{l.Name}, func(scan Row) error {
			return scan(&is.Holder, &is.Fence, (*int64)(&is.Until))
		})
		if err != nil {
			return struct{}{}, err
		}
		if is.Holder != l.Holder || is.Fence != l.Fence || is.Until <= t.now {
			return struct{}{}, core.ErrLeaseLost
		}
		return struct{}{}, fn(t)
	})
	return err
}
