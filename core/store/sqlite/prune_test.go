package sqlite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// What a runtime's bookkeeping must not forget: an aborted run, the newest boot,
// and an id that a caller chose.
func TestPruneKeepsWhatHoldsForGood(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	s := runStore(t, testConfig(t, clock))
	ctx := t.Context()

	given := draft(1)
	given.Approval.ID, given.Approval.RunID = "builder:deploy", "run-1"
	given.Approval.Ref = core.ResolutionRef(given.Approval.Kind, given.Approval.ID)
	_, err := s.Create(ctx, given)
	require.NoError(t, err)
	_, _, err = s.AbortRun(ctx, "builder", "run-2")
	require.NoError(t, err)
	old, _, err := s.RegisterInstance(ctx, core.RegisterInstance{Runtime: "builder", Instance: "main", BootID: "boot-1"})
	require.NoError(t, err)
	newest, _, err := s.RegisterInstance(ctx, core.RegisterInstance{Runtime: "builder", Instance: "main", BootID: "boot-2"})
	require.NoError(t, err)

	clock.advance(time.Hour)
	_, err = s.Sweep(ctx, 10)
	require.NoError(t, err)
	clock.advance(core.Retention*time.Millisecond + time.Hour)
	n, err := s.Prune(ctx, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)

	_, err = s.Create(ctx, given)
	require.ErrorIs(t, err, core.ErrIDTaken)
	_, err = s.ReadRun(ctx, "builder", "run-1")
	require.ErrorIs(t, err, core.ErrNotFound, "a run without rows is forgotten with them")
	aborted, err := s.ReadRun(ctx, "builder", "run-2")
	require.NoError(t, err)
	require.NotZero(t, aborted.AbortedAt)
	again, _, err := s.RegisterInstance(ctx, core.RegisterInstance{Runtime: "builder", Instance: "main", BootID: "boot-2"})
	require.NoError(t, err)
	require.Equal(t, newest, again)
	var boots int
	require.NoError(t, s.read(ctx).One(`SELECT count(*) FROM instances WHERE epoch = ?`, []any{old.Epoch}, &boots))
	require.Zero(t, boots)
}
