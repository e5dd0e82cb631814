package sqlite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/store/internal/record"
)

// No statement of the hot paths reads a table that grows with retention from end
// to end: each finds its rows through an index, whose name stands here where it
// matters.
func TestHotStatementsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	s := openStore(t, testConfig(t, newTestClock()))
	index := map[string]string{
		"by key": "approvals_key", "due": "approvals_pending_expiry", "anything due": "approvals_pending_expiry",
		"lapsed": "approvals_unclaimed", "silent": "approvals_claimed", "pending limit": "COVERING INDEX approvals_pending_list",
		"list pending": "approvals_pending_list", "inbox": "approvals_pending_list", "list history": "approvals_history",
		"list automatic": "approvals_auto", "list own": "approvals_runtime_history", "list for viewer": "approvals_history", "list run": "approvals_run",
		"rows of a run": "approvals_run", "prune": "approvals_history", "claim": "deliveries_due", "next due": "deliveries_due",
		"click": "deliveries_message", "mend": "broken_routes USING PRIMARY KEY", "policy state": "approvals_declined", "live rules": "rules_live", "unconverged": "deliveries_live", "forgotten": "deliveries_live",
	}
	hot := s.Table().Hot()
	for name := range index {
		require.Contains(t, hot, name)
	}
	for name, c := range hot {
		var plan []string
		err := s.read(t.Context()).Each("EXPLAIN QUERY PLAN "+c.Query, c.Args, func(scan record.Row) error {
			var id, parent, unused int
			var detail string
			err := scan(&id, &parent, &unused, &detail)
			plan = append(plan, detail)
			return err
		})
		require.NoError(t, err, name)
		steps := strings.Join(plan, "\n")
		require.Contains(t, steps, index[name], "%s:\n%s", name, steps)
		for _, step := range plan {
			whole := strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "USING") &&
				!strings.Contains(step, "VIRTUAL TABLE") && !strings.Contains(step, "CONSTANT ROW") &&
				step != "SCAN ready" // One row of the statement itself.
			require.False(t, whole, "%s:\n%s", name, steps)
		}
	}
}
