package record

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// Conformance 28: whatever is left of a row, it can be ended, and what becomes of it
// is sound.
func TestEveryDamagedRowHasAnEnd(t *testing.T) {
	t.Parallel()
	const now = core.Millis(1_790_000_000_000)
	for name, broken := range map[string]core.Approval{
		"nothing":       {},
		"strange words": {Kind: "x", Runtime: "Not A Name", Continuation: "x", Status: "pending", Class: "x", Origin: "auto", PolicyID: "p"},
		"far future":    {CreatedAt: math.MaxInt64, ExpiresAt: math.MaxInt64, UpdatedAt: math.MaxInt64, Revision: math.MaxInt64, CardRevision: math.MaxInt64},
		"far past":      {CreatedAt: math.MinInt64, ExpiresAt: math.MinInt64, Revision: math.MinInt64, CardRevision: math.MinInt64},
		"too many":      {Reviewers: make([]string, core.MaxReviewers+1)},
		"an outcome":    {Status: core.StatusPending, Resolution: core.Resolution{Decision: core.DecisionAllowOnce, ResolverID: "eve"}},
		"a grant":       {Grant: core.Grant{Execution: core.ExecutionClaimed, ClaimToken: "x"}},
	} {
		broken.ID = "id"
		a := graveOf(&broken, now)
		require.NoError(t, a.Check(), name)
		require.Equal(t, core.ReasonStorageCorrupt, a.Reason, name)
		require.Empty(t, a.ResolverID, name)
		require.NotNil(t, a.Reviewers, name)
		require.LessOrEqual(t, len(a.Reviewers), core.MaxReviewers, name)
	}
}
