package sqlite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// No statement of the hot paths reads a table that grows with retention from end
// to end: each finds its rows through an index, whose name stands here where it
// matters.
func TestHotStatementsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	s := openStore(t, testConfig(t, newTestClock()))
	list := func(q core.ListQuery) (string, []any) {
		q.Limit = 50
		return listStatement(s.rows, q, 1)
	}
	pending, pendingArgs := list(core.ListQuery{Runtime: "builder", Status: core.StatusPending})
	inbox, inboxArgs := list(core.ListQuery{Status: core.StatusPending, Viewer: &core.Principal{ID: "bob", Role: core.RoleReviewer}})
	history, historyArgs := list(core.ListQuery{})
	own, ownArgs := list(core.ListQuery{Runtime: "builder"})
	viewer, viewerArgs := list(core.ListQuery{Viewer: &core.Principal{ID: "bob", Role: core.RoleReviewer}})
	run, runArgs := list(core.ListQuery{Runtime: "builder", Run: "run-1"})
	claim := "SELECT " + s.rows.names + ", " + deliveryColumns +
		" FROM deliveries d JOIN approvals a ON a.id = d.approval_id WHERE " + whereClaimable + orderClaimable

	for name, c := range map[string]struct {
		query string
		args  []any
		index string
	}{
		"by id":           {s.rows.byID, []any{"x"}, "approvals"},
		"by reference":    {s.rows.byRef, []any{"x"}, "approvals"},
		"by key":          {s.rows.byKey, []any{"r", "k"}, "approvals_key"},
		"due":             {s.rows.due, []any{1, 1, 0}, "approvals_pending_expiry"},
		"anything due":    {sqlAnyDue, []any{1}, "approvals_pending_expiry"},
		"lapsed":          {s.rows.lapsed, []any{1, 1, 0}, "approvals_unclaimed"},
		"silent":          {s.rows.silent, []any{1, 1, 0}, "approvals_claimed"},
		"pending limit":   {sqlCountPending, []any{"r", 1}, "COVERING INDEX approvals_pending_list"},
		"list pending":    {pending, pendingArgs, "approvals_pending_list"},
		"inbox":           {inbox, inboxArgs, "approvals_pending_list"},
		"list history":    {history, historyArgs, "approvals_history"},
		"list own":        {own, ownArgs, "approvals_runtime_history"},
		"list for viewer": {viewer, viewerArgs, "approvals_history"},
		"list run":        {run, runArgs, "approvals_run"},
		"rows of a run":   {sqlRunRows, []any{"r", "x"}, "approvals_run"},
		"abort":           {s.rows.runPending, []any{"r", "x"}, "approvals"},
		"prune":           {sqlPrunable, []any{1, 1}, "approvals_history"},
		"claim":           {claim, []any{1, "[]", 1}, "deliveries_due"},
		"next due":        {sqlNextDue, []any{1, "[]"}, "deliveries_due"},
		"mark due":        {sqlDeliveriesDue, []any{1, "x", 60_000}, "deliveries"},
		"await answer":    {sqlAwaitAnswer, []any{1, "d", "x"}, "deliveries"},
		"click":           {sqlDeliveryAt, []any{"telegram", "b", "l"}, "deliveries_message"},
		"adopt":           {sqlAdoptable, []any{"x", "telegram", "b", "a", "l"}, "deliveries"},
		"last event":      {sqlInsertEvent, []any{"x", 1, "t", "r", "x", "", 1, "{}"}, "events"},
		"unconverged":     {sqlUnconverged, nil, "deliveries_live"},
		"mend":            {sqlMendRoute, []any{"telegram", "b", "chat:x"}, "broken_routes USING PRIMARY KEY"},
		"hasten":          {sqlHasten, []any{1, 2, "d", "x"}, "deliveries"},
		"forgotten":       {sqlMarkForgotten, []any{1, 1}, "deliveries_live"},
	} {
		var plan []string
		err := s.read(t.Context()).each("EXPLAIN QUERY PLAN "+c.query, c.args, func(scan func(dest ...any) error) error {
			var id, parent, unused int
			var detail string
			err := scan(&id, &parent, &unused, &detail)
			plan = append(plan, detail)
			return err
		})
		require.NoError(t, err, name)
		steps := strings.Join(plan, "\n")
		require.Contains(t, steps, c.index, "%s:\n%s", name, steps)
		for _, step := range plan {
			whole := strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "USING") &&
				!strings.Contains(step, "VIRTUAL TABLE") && !strings.Contains(step, "CONSTANT ROW")
			require.False(t, whole, "%s:\n%s", name, steps)
		}
	}
}
