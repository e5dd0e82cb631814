package sqlite

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// R202: a final answer is told once, also where whoever brought it about has gone
// before the commit; one that is not recorded is told to nobody.
func TestEndIsToldWithoutItsCaller(t *testing.T) {
	t.Parallel()
	told := make(chan core.Approval, 2)
	cfg := testConfig(t, newTestClock())
	cfg.Ended = func(a core.Approval) { told <- a }
	var hold atomic.Bool
	begun, gone := make(chan struct{}), make(chan struct{})
	cfg.faults.commit = func(commit func() error) error {
		if hold.Swap(false) {
			close(begun)
			<-gone
		}
		return commit()
	}
	s := runStore(t, cfg)
	made, err := s.Create(t.Context(), draft(1))
	require.NoError(t, err)
	_, err = s.AddPrincipal(t.Context(), core.Principal{ID: "alice", Name: "Alice", Role: core.RoleAdmin})
	require.NoError(t, err)
	require.Empty(t, told, "it waits")

	ctx, cancel := context.WithCancel(t.Context())
	hold.Store(true)
	go func() {
		<-begun
		cancel()
	}()
	_, err = s.Decide(ctx, core.Decide{ID: made.Approval.ID, AttemptID: "attempt", To: byAlice()})
	require.ErrorIs(t, err, core.ErrOutcomeUnknown)
	close(gone)
	a := <-told
	require.Equal(t, made.Approval.ID, a.ID)
	require.Equal(t, core.StatusAllowed, a.Status)

	again, err := s.Decide(t.Context(), core.Decide{ID: made.Approval.ID, AttemptID: "attempt", To: byAlice()})
	require.NoError(t, err)
	require.True(t, again.Applied, "the same attempt")
	require.Empty(t, told, "and no second end")
}
