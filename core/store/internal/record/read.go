package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// dated is a reader that keeps the time of its last read of rows.
type dated struct {
	Reader
	now core.Millis
}

// Each implements Querier.
func (d *dated) Each(query string, args []any, fn func(scan Row) error) error {
	now, err := d.Dated(query, args, fn)
	d.now = now
	return err
}

// Approval reads one row by id or by reference, after applying its deadline: a
// due row is expired first and returned so, and one that waits and is damaged is
// denied. Errors: core.ErrNotFound (no such row,
// or outside the lookup's restriction), core.ErrCorrupt.
func (s *Store) Approval(ctx context.Context, l core.Lookup) (core.Approval, error) {
	query, args, err := s.lookup(l)
	if err != nil {
		return core.Approval{}, err
	}
	q := &dated{Reader: s.read(ctx)}
	a, err := findApproval(q, s.rows, query, args...)
	if err == nil && a.Due(q.now) || waitsDamaged(&a, err) {
		a, err = s.overdue(ctx, a.ID, l.Ended)
	}
	if err != nil {
		return core.Approval{}, fmt.Errorf("read approval: %w", err)
	}
	return a, nil
}

// overdue reads a row that must not wait any longer, and ends it. It says so in ended
// if nobody else was faster.
func (s *Store) overdue(ctx context.Context, id string, ended *bool) (core.Approval, error) {
	type found struct {
		approval core.Approval
		ended    bool
	}
	done, err := write(ctx, s, Foreground, func(t *tx) (found, error) {
		a, err := t.fresh(id)
		return found{a, len(t.ended) > 0}, err
	})
	if ended != nil && err == nil {
		*ended = done.ended
	}
	return done.approval, err
}

// lookup builds one of a bounded number of texts, so that each is prepared once.
// The restriction stands in the statement: what is outside of it is not decoded.
func (s *Store) lookup(l core.Lookup) (query string, args []any, err error) {
	query, args = s.rows.byID, []any{l.ID}
	switch {
	case (l.ID == "") == (l.Ref == ""):
		return "", nil, core.Invalid("lookup", "needs exactly one of id and reference")
	case l.Ref != "":
		query, args = s.rows.byRef, []any{l.Ref}
	}
	var where []string
	if l.Runtime != "" {
		where, args = append(where, "a.runtime = ?"), append(args, l.Runtime)
	}
	where, args = s.rows.visibleTo(l.Viewer, where, args)
	for _, w := range where {
		query += " AND " + w
	}
	return query, args, nil
}

// fresh reads a row and applies its deadline.
func (t *tx) fresh(id string) (core.Approval, error) {
	a, err := t.find(id)
	if err == nil && a.Due(t.now) {
		err = t.expire(&a)
	}
	return a, err
}

// PendingApprovals implements core.Backlog.
func (s *Store) PendingApprovals(ctx context.Context) (int, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return 0, fmt.Errorf("count approvals: %w", err)
	}
	var count int
	if err := s.read(ctx).One(sqlAllPending, []any{int64(now)}, &count); err != nil {
		return 0, fmt.Errorf("count approvals: %w", err)
	}
	return count, nil
}

// Detail reads the redacted full text. Errors: core.ErrNotFound (no such approval).
func (s *Store) Detail(ctx context.Context, id string) (core.Detail, error) {
	var d core.Detail
	if err := s.read(ctx).One(sqlReadDetail, []any{id}, &d.Text, &d.Omitted); err != nil {
		return core.Detail{}, fmt.Errorf("read detail: %w", err)
	}
	return d, nil
}
