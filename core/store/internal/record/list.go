package record

import (
	"context"
	"fmt"
	"strings"

	"github.com/saysohq/sayso/core"
)

// List pages through rows, newest first. Pending rows past their deadline are
// expired first; terminal rows past retention are hidden even before they are
// pruned (conformance 44). Who may see what is decided in the statement, before
// the limit (conformance 45). Errors: core.ErrInvalid for a filter outside the
// closed sets.
func (s *Store) List(ctx context.Context, q core.ListQuery) (core.ListPage, error) {
	if q.Limit < 0 || q.Limit > core.MaxPage || q.Within < 0 || (q.Status != "" && !q.Status.Valid()) || (q.Origin != "" && !q.Origin.Valid()) {
		return core.ListPage{}, fmt.Errorf("list approvals: %w", core.Invalid("list", "needs a known status and origin, and a limit up to %d", core.MaxPage))
	}
	if q.Limit == 0 {
		q.Limit = core.MaxPage
	}
	for {
		if err := s.expireAll(ctx); err != nil {
			return core.ListPage{}, fmt.Errorf("list approvals: %w", err)
		}
		page, due, err := s.page(ctx, q)
		if err != nil {
			return core.ListPage{}, fmt.Errorf("list approvals: %w", err)
		}
		if !due { // Else a deadline came between the two steps; each turn expires it.
			return page, nil
		}
	}
}

// expireAll writes the expiry of whatever is due.
func (s *Store) expireAll(ctx context.Context) error {
	for {
		now, err := s.db.Now(ctx)
		if err != nil {
			return err
		}
		var due bool
		if err := s.read(ctx).One(sqlAnyDue, []any{int64(now)}, &due); err != nil || !due {
			return err
		}
		hints, err := write(ctx, s, Foreground, func(t *tx) ([]core.Hint, error) { return t.expireDue(MaxBackground) })
		if err != nil || len(hints) < MaxBackground { // What is left is damaged, and stays out of the page.
			return err
		}
	}
}

// page reads one page and reports whether a row in it is due.
func (s *Store) page(ctx context.Context, q core.ListQuery) (page core.ListPage, due bool, err error) {
	if page.Now, err = s.db.Now(ctx); err != nil {
		return page, false, err
	}
	for {
		query, args := listStatement(s.rows, q, page.Now)
		seen := 0
		var last core.ListCursor
		err := s.read(ctx).Each(query, args, func(scan Row) error {
			seen++
			a, err := s.rows.Scan(scan)
			last = core.ListCursor{CreatedAt: a.CreatedAt, ID: a.ID}
			switch {
			case isCorrupt(err):
				page.Corrupt++
			case err != nil:
				return err
			case len(page.Approvals) == q.Limit:
				page.More = true
			default:
				due = due || a.Due(page.Now)
				page.Approvals = append(page.Approvals, a)
			}
			return nil
		})
		if err != nil || page.More || seen <= q.Limit {
			return page, due, err
		}
		q.Before = &last // Damaged rows left places free: go on behind them.
	}
}

// listStatement builds one of a bounded number of texts, so that each is prepared
// once. Status and origin are literals: partial indexes need them. It asks for one row more
// than the page holds.
func listStatement(rows *Table, q core.ListQuery, now core.Millis) (string, []any) {
	var where []string
	var args []any
	from := "approvals a"
	switch q.Status {
	case core.StatusPending:
		from = rows.PendingFrom
		where = append(where, "a.status = 'pending'")
	case "":
		where, args = append(where, "(a.status = 'pending' OR a.resolved_at > ?)"), append(args, int64(now-core.Retention))
	default:
		where, args = append(where, "a.status = '"+string(q.Status)+"' AND a.resolved_at > ?"), append(args, int64(now-core.Retention))
	}
	if q.Origin != "" {
		where = append(where, "a.origin = '"+string(q.Origin)+"'")
	}
	for _, f := range []struct{ column, value string }{
		{"runtime", q.Runtime}, {"agent", q.Agent}, {"session_key", q.Session}, {"run_id", q.Run}, {"decision_key", q.DecisionKey},
	} {
		if f.value != "" {
			where, args = append(where, "a."+f.column+" = ?"), append(args, f.value)
		}
	}
	if q.Unnamed {
		where = append(where, "a.agent = ''")
	}
	if q.Within > 0 {
		where, args = append(where, "a.created_at > ?"), append(args, int64(now-q.Within))
	}
	if q.Run != "" {
		where = append(where, "a.run_id <> ''")
	}
	if q.Before != nil {
		where = append(where, "(a.created_at, a.id) < (?, ?)")
		args = append(args, int64(q.Before.CreatedAt), q.Before.ID)
	}
	where, args = rows.visibleTo(q.Viewer, where, args)
	args = append(args, q.Limit+1)
	return "SELECT " + rows.names + " FROM " + from + " WHERE " + strings.Join(where, " AND ") +
		" ORDER BY a.created_at DESC, a.id DESC LIMIT ?", args
}

// visibleTo is core.MaySee as a condition.
func (t *Table) visibleTo(p *core.Principal, where []string, args []any) ([]string, []any) {
	switch {
	case p == nil:
		return where, args
	case p.ID == "" || p.Disabled || !p.Role.Valid():
		return append(where, "1 = 0"), args
	case p.Role == core.RoleAdmin:
		return where, args
	}
	listed := `CASE WHEN a.reviewers IS NULL
		THEN EXISTS (SELECT 1 FROM agent_owners o WHERE o.runtime = a.runtime AND o.agent = a.agent AND o.principal_id = ?)
		ELSE ` + t.Lists + ` END`
	return append(where, listed), append(args, p.ID, p.ID)
}
