package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// The least time is what the narrowest budget needs, and no more.
func TestLeastTimeOfABurst(t *testing.T) {
	t.Parallel()
	rate := deliveries.Rate{Events: 1, Per: time.Second, Burst: 3}
	require.Equal(t, time.Duration(0), least(rate, 3))
	require.Equal(t, 7*time.Second, least(rate, 10))
	require.Equal(t, time.Duration(0), least(deliveries.Rate{}, 1_000), "no limit")
	tests := map[string]struct {
		budget   deliveries.Budget
		refusals int
		want     time.Duration
	}{
		"a group's own":             {deliveries.Budget{Group: rate}, 1, (20 + 10 - 3) * time.Second},
		"a group that refuses":      {deliveries.Budget{Group: rate}, 2, (20 + 10 - 3 + 5) * time.Second},
		"the person's":              {deliveries.Budget{Direct: rate}, 1, (20 + 10 - 3 + 5) * time.Second},
		"the account's":             {deliveries.Budget{Account: rate}, 1, (10*(20+10) + 1 - 3) * time.Second},
		"edits, short of a refusal": {deliveries.Budget{Edits: rate}, 1, (10*(20+5) + 1 - 2*3 + 5) * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &storm{budget: test.budget, decisions: 20, refusals: test.refusals, refused: 5 * time.Second}
			require.Equal(t, test.want, s.least())
		})
	}
}

// Every storm is stretched to the time asked for, whatever the platform.
func TestStormsLastAsLongAsAsked(t *testing.T) {
	t.Parallel()
	for _, scaled := range []bool{true, false} {
		all := storms(scaled, time.Minute, time.Second)
		require.Len(t, all, 3)
		for _, s := range all {
			require.GreaterOrEqual(t, s.least(), time.Minute, s.name)
			require.Less(t, s.least(), 90*time.Second, s.name)
			require.Contains(t, []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord}, s.on)
		}
	}
}
