package app

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// counting is a store that counts how often it is asked.
type counting struct {
	asked, waiting int
	err            error
}

func (c *counting) PendingApprovals(context.Context) (int, error) {
	c.asked++
	return c.waiting, c.err
}

// R202: the gauge is what the store says, asked for once a second at most; while the
// store does not answer there is no gauge, and no wrong one.
func TestBacklogGauge(t *testing.T) {
	t.Parallel()
	store, now := &counting{waiting: 3}, time.UnixMilli(1_790_000_000_000)
	b := newBacklog(store, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	reg := prometheus.NewRegistry()
	require.NoError(t, reg.Register(b))
	shown := func() []float64 {
		families, err := reg.Gather()
		require.NoError(t, err)
		var values []float64
		for _, f := range families {
			require.Equal(t, "sayso_approvals_pending", f.GetName())
			values = append(values, f.GetMetric()[0].GetGauge().GetValue())
		}
		return values
	}
	for range 3 {
		require.Equal(t, []float64{3}, shown())
	}
	require.Equal(t, 1, store.asked)
	store.waiting, now = 4, now.Add(countEvery)
	require.Equal(t, []float64{4}, shown())
	store.err, now = core.ErrUnavailable, now.Add(countEvery)
	require.Empty(t, shown())
	require.Equal(t, 3, store.asked)
	store.err, now = nil, now.Add(countEvery)
	require.Equal(t, []float64{4}, shown())
}
