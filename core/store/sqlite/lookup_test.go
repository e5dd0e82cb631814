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

// R155: a miss costs the same for what does not exist as for what the caller may not
// see: as many pages are looked at, and as many of them read anew.
func TestAMissCostsTheSameEitherWay(t *testing.T) {
	t.Parallel()
	const rows = 300
	cfg := testConfig(t, newTestClock())
	cfg.ReadConns = 1
	s := runStore(t, cfg)
	for n := range rows {
		d := draft(n + 1)
		if n%2 == 0 {
			d.Approval.Kind = core.KindExec
			d.Approval.Presentation.Kind = core.KindExec
			d.Approval.Ref = core.ResolutionRef(core.KindExec, d.Approval.ID)
		}
		_, err := s.Create(t.Context(), d)
		require.NoError(t, err)
	}
	id := func(n int) string { return draft(n).Approval.ID }
	for name, who := range map[string]core.Lookup{
		"machine":    {Runtime: "other"},
		"person":     {Viewer: &core.Principal{ID: "bob", Role: core.RoleReviewer}},
		"signed out": {Viewer: &core.Principal{ID: "ann", Role: core.RoleAdmin, Disabled: true}},
	} {
		for key, of := range map[string]func(id string) core.Lookup{
			"id": func(id string) core.Lookup { return core.Lookup{ID: id, Runtime: who.Runtime, Viewer: who.Viewer} },
			"reference": func(id string) core.Lookup {
				return core.Lookup{Ref: core.ResolutionRef(core.KindExec, id), Runtime: who.Runtime, Viewer: who.Viewer}
			},
		} {
			looked := func(first int) (all, cold int) {
				for n := range rows / 2 {
					before, readBefore := s.forget(t)
					_, err := s.Approval(t.Context(), of(id(first+2*n)))
					require.ErrorIs(t, err, core.ErrNotFound)
					after, readAfter := s.forget(t)
					all, cold = all+after-before, cold+readAfter-readBefore
				}
				return all, cold
			}
			unknown, unknownCold := looked(1_000_001)
			hidden, hiddenCold := looked(1)
			require.InEpsilon(t, unknownCold, hiddenCold, 0.02, "%s, by %s: pages read", name, key)
			require.InEpsilon(t, unknown, hidden, 0.25, "%s, by %s: pages looked at", name, key)
		}
	}
}

// forget empties the cache of the store's only reader, and tells its fetches.
func (s *Store) forget(t *testing.T) (looked, read int) {
	t.Helper()
	require.NoError(t, s.readers.do(t.Context(), func(h *handle) error {
		looked, read = fetches(h)
		return h.once("PRAGMA shrink_memory")
	}))
	return looked, read
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
