package sqlite

import (
	"regexp"
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
			scanned, whole := strings.CutPrefix(step, "SCAN ")
			if whole && !strings.Contains(step, " USING ") {
				require.NotContains(t, growing(c.Query), strings.Fields(scanned)[0], "%s:\n%s", name, steps)
			}
		}
	}
}

// A table that grows is recognised under each name that a statement gives it.
func TestGrowingTablesAreRecognised(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, []string{"approvals", "approvals", "a", "deliveries", "d"},
		growing(`SELECT 1 FROM approvals WHERE id IN (SELECT x FROM approvals a JOIN deliveries AS d ON d.id = a.id, blocks b)`))
}

// growing lists the names that the tables which grow with retention have in a
// statement: as a plan calls them that reads one from end to end.
func growing(query string) (names []string) {
	words := regexp.MustCompile(`\w+|[^\w\s]`).FindAllString(query, -1)
	for i, word := range words {
		switch word {
		case "approvals", "approval_details", "deliveries", "events", "updates", "nudges", "policy_changes", "reopened", "rules", "runs", "spent_ids":
		default:
			continue
		}
		names = append(names, word)
		rest := append(words[i+1:len(words):len(words)], "", "")
		if rest[0] == "AS" {
			rest = rest[1:]
		}
		if alias := rest[0]; alias != "" && alias == strings.ToLower(alias) && alias[0] >= 'a' && alias[0] <= 'z' {
			names = append(names, alias)
		}
	}
	return names
}
