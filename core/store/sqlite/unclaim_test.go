package sqlite

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// A claim of which nobody knows whether it was recorded costs its rows nothing, whether
// it was or not: they are claimed again as if nobody had had them.
func TestALostClaimIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]bool{"recorded": true, "not recorded": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(t, newTestClock())
			var lose, shut atomic.Bool
			cfg.faults.commit = func(commit func() error) error {
				if !lose.Swap(false) {
					return commit()
				}
				shut.Store(true)
				if recorded {
					return errors.Join(commit(), errInjected)
				}
				return errInjected
			}
			cfg.faults.open = func() error { // So that what is recorded cannot be read back at once.
				if shut.Swap(false) {
					return errInjected
				}
				return nil
			}
			s := runStore(t, cfg)
			asked := draft(1)
			asked.Deliveries = []core.PlannedDelivery{
				{ID: "card-1", Channel: core.SurfaceTelegram, Account: "bot", Destination: "chat:1", Address: "1"},
				{ID: "card-2", Channel: core.SurfaceTelegram, Account: "bot", Destination: "chat:2", Address: "2"},
			}
			_, err := s.Create(t.Context(), asked)
			require.NoError(t, err)
			claim := core.ClaimDue{
				Worker: "w", Accounts: []core.AccountRef{{Channel: core.SurfaceTelegram, Account: "bot"}}, Limit: 10,
				Lease: core.Millis(core.DeliveryLease.Milliseconds()),
			}
			lose.Store(true)
			works, next, err := s.ClaimDue(t.Context(), claim)
			require.NoError(t, err)
			require.Empty(t, works, "nobody knows what was claimed")
			require.NotZero(t, next, "look again at once")
			works, _, err = s.ClaimDue(t.Context(), claim)
			require.NoError(t, err)
			require.Len(t, works, 2)
			require.False(t, works[0].TakenOver)
			require.False(t, works[0].Delivery.Unsettled, "nobody can paint late")
			works, _, err = s.ClaimDue(t.Context(), claim)
			require.NoError(t, err)
			require.Empty(t, works, "they are leased")
		})
	}
}
