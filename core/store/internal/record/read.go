package record

import (
	"context"
	"errors"
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
	query, args, err := s.rows.lookup(l)
	if err != nil {
		return core.Approval{}, err
	}
	q := &dated{Reader: s.read(ctx)}
	a, err := findApproval(q, s.rows, query, args...)
	switch {
	case err == nil && a.Due(q.now), waitsDamaged(&a, err):
		a, err = s.overdue(ctx, a.ID, l.Ended)
	case errors.Is(err, core.ErrNotFound):
		if failed := s.even(ctx, l); failed != nil {
			err = failed
		}
	}
	if err != nil {
		return core.Approval{}, fmt.Errorf("read approval: %w", err)
	}
	return a, nil
}

// even makes a miss take as long for a row that does not exist as for one that the
// caller may not see, which was found, and whose page was read. It looks at the rows
// that the references of the id would have, and at those next to where they would
// stand: hashes are spread evenly, so these are as far away, and as seldom read, as
// what is hidden.
func (s *Store) even(ctx context.Context, l core.Lookup) error {
	query, args := s.rows.lookalike(l)
	if query == "" {
		return nil
	}
	var seen int
	return s.read(ctx).One(query, args, &seen)
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
func (t *Table) lookup(l core.Lookup) (query string, args []any, err error) {
	query, args = t.byID, []any{l.ID}
	switch {
	case (l.ID == "") == (l.Ref == ""):
		return "", nil, core.Invalid("lookup", "needs exactly one of id and reference")
	case l.Ref != "":
		query, args = t.byRef, []any{l.Ref}
	}
	where, restriction := t.restriction(l)
	return query + where, append(args, restriction...), nil
}

// lookalike builds the read that evens out a lookup which found nothing; "" where
// there is nothing to hide.
func (t *Table) lookalike(l core.Lookup) (query string, args []any) {
	where, restriction := t.restriction(l)
	if where == "" {
		return "", nil
	}
	args = []any{l.Ref, l.Ref}
	if l.Ref == "" {
		args = []any{core.ResolutionRef(core.KindExec, l.ID), core.ResolutionRef(core.KindPlugin, l.ID)}
	}
	return sqlCountNear + where, append(args, restriction...)
}

// restriction is what a lookup asks for beside the key, as further conditions.
func (t *Table) restriction(l core.Lookup) (query string, args []any) {
	var where []string
	if l.Runtime != "" {
		where, args = append(where, "a.runtime = ?"), append(args, l.Runtime)
	}
	where, args = t.visibleTo(l.Viewer, where, args)
	for _, w := range where {
		query += " AND " + w
	}
	return query, args
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
