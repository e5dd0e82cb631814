package app

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLittleMemoryIsCollectedRarely(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]uint64{
		0: 400, 3 << 20: 400, 4 << 20: 400, 8 << 20: 200, 16 << 20: 100, 1 << 30: 100,
	} {
		require.Equal(t, want, growthFor(live), "%d bytes in use", live)
	}
}

// Not parallel: the setting is the process's. Whoever has set one keeps it.
func TestGrowthFollowsUnlessSomebodyHasSetIt(t *testing.T) {
	before := debug.SetGCPercent(leastGrowth)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	runtime.GC() // What is in use is known from now on.
	for set, want := range map[int]func(uint64) uint64{
		leastGrowth: growthFor,
		mostGrowth:  growthFor,
		50:          func(uint64) uint64 { return 50 },
		1000:        func(uint64) uint64 { return 1000 },
	} {
		debug.SetGCPercent(set)
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 2*tidyEvery+time.Millisecond)
			defer stop()
			Tidy(ctx)
		})
		got := measured()
		require.False(t, differ(want(got.live), got.growth), "%d became %d with %d bytes in use", set, got.growth, got.live)
	}
}
