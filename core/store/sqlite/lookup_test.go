package sqlite

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// R155: what a caller may not see is not read for it, so that neither the answer
// nor its time tells it from what does not exist. Damage shows whether a row was
// decoded.
func TestLookupReadsOnlyWhatTheCallerMaySee(t *testing.T) {
	t.Parallel()
	s := runStore(t, testConfig(t, newTestClock()))
	made, err := s.Create(t.Context(), draft(1))
	require.NoError(t, err)
	a := made.Approval
	stranger := &core.Principal{ID: "bob", Role: core.RoleReviewer}
	for _, l := range []core.Lookup{
		{ID: a.ID},
		{ID: a.ID, Runtime: "builder"},
		{Ref: a.Ref, Runtime: "builder"},
		{ID: a.ID, Viewer: &core.Principal{ID: "ann", Role: core.RoleAdmin}},
	} {
		got, err := s.Approval(t.Context(), l)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(a, got))
	}
	_, err = write(t.Context(), s, record.Foreground, func(t *tx) (int64, error) {
		return t.Exec(`UPDATE approvals SET trail = '"damaged"' WHERE id = ?`, a.ID)
	})
	require.NoError(t, err)
	for _, l := range []core.Lookup{
		{ID: a.ID, Runtime: "other"},
		{Ref: a.Ref, Runtime: "other"},
		{ID: a.ID, Viewer: stranger},
		{Ref: a.Ref, Viewer: stranger},
		{ID: a.ID, Viewer: &core.Principal{ID: "ann", Role: core.RoleAdmin, Disabled: true}},
	} {
		_, err := s.Approval(t.Context(), l)
		require.ErrorIs(t, err, core.ErrNotFound)
	}
	page, err := s.List(t.Context(), core.ListQuery{})
	require.NoError(t, err)
	require.Equal(t, 1, page.Corrupt, "nobody has met the damage yet")
	got, err := s.Approval(t.Context(), core.Lookup{ID: a.ID})
	require.NoError(t, err)
	require.Equal(t, core.ReasonStorageCorrupt, got.Reason)
}

// What the caller has seen spares a decoding and decides nothing: the row has the
// last word.
func TestDecideTrustsSeenOnlyAtItsRevision(t *testing.T) {
	t.Parallel()
	s := runStore(t, testConfig(t, newTestClock()))
	made, err := s.Create(t.Context(), draft(1))
	require.NoError(t, err)
	seen := made.Approval
	deny := func(attempt string, seen *core.Approval) core.Decided {
		got, err := s.Decide(t.Context(), core.Decide{ID: made.Approval.ID, AttemptID: attempt, Seen: seen, To: core.Terminal{
			Status: core.StatusDenied, Decision: core.DecisionDeny, Reason: core.ReasonUser,
			ResolverKind: core.ResolverHuman, ResolverID: attempt, Surface: core.SurfacePage,
		}})
		require.NoError(t, err)
		stored, err := s.Approval(t.Context(), core.Lookup{ID: made.Approval.ID})
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(stored, got.Approval))
		return got
	}
	require.True(t, deny("ann", &seen).Applied)
	require.Equal(t, core.StatusPending, seen.Status, "what the caller holds is the caller's")
	late := deny("bob", &seen)
	require.False(t, late.Applied)
	require.Equal(t, "ann", late.Approval.ResolverID)

	_, err = s.Decide(t.Context(), core.Decide{ID: "gone", AttemptID: "x", Seen: &core.Approval{ID: "gone", Revision: 1}})
	require.ErrorIs(t, err, core.ErrNotFound)
}
