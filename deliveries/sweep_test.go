package deliveries_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// R191, R193: a row that no change marked due is found by the rule itself.
func TestSweepFindsWhatNothingMarkedDue(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.open()
		h.pass(time.Second)
		h.store.mu.Lock()
		h.store.end("a", core.StatusDenied, core.ReasonUser)
		h.store.rows["d"].DueAt = 0
		h.store.mu.Unlock()
		h.pass(20 * time.Second)
		require.Equal(t, []string{pending}, h.channel.texts())
		require.Equal(t, 1, h.metric("sayso_deliveries_unconverged"))
		require.Greater(t, h.metric("sayso_deliveries_oldest_unconverged_seconds"), 5)
		h.pass(20 * time.Second)
		require.Equal(t, []string{denied}, h.channel.texts())
		require.Equal(t, 0, h.metric("sayso_deliveries_unconverged"))
		require.Equal(t, 1, h.metric("sayso_deliveries_swept_total"))
	})
}

// turn is a job that another replica does until it is given away.
type turn chan struct{}

func (g turn) Hold(ctx context.Context, _ string, job func(context.Context, core.Lease) error) error {
	select {
	case <-g:
		return job(ctx, core.Lease{})
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestOneReplicaSweeps(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		g := make(turn)
		h.jobs = g
		h.open()
		h.store.mu.Lock()
		h.store.end("a", core.StatusDenied, core.ReasonUser)
		h.store.rows["d"].DueAt = 0
		h.store.mu.Unlock()
		h.pass(5 * time.Minute)
		require.Equal(t, []string{pending}, h.channel.texts())
		close(g)
		h.pass(time.Minute)
		require.Equal(t, []string{denied}, h.channel.texts())
	})
}

func TestMetricsStartAtZeroAndCarryNoIDs(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	_, err := deliveries.NewMetrics(reg, core.SurfaceTelegram)
	require.NoError(t, err)
	families, err := reg.Gather()
	require.NoError(t, err)
	series := 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			series++
			for _, l := range m.GetLabel() {
				require.Contains(t, []string{"channel", "operation", "result", "outcome"}, l.GetName())
			}
		}
	}
	require.Len(t, families, 10)
	require.Equal(t, 3+5*8+7+5, series)
	_, err = deliveries.NewMetrics(reg)
	require.Error(t, err, "a registry is taken once")
}

// R201: logs carry ids, classes and outcomes, never what a card says.
func TestLogsAreContentFree(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.onEdit(func(string) (core.DeliveryOutcome, error) { return "", h.channel.fails(core.FailureGone) })
		h.store.ask("a", to("d", "secret-chat"))
		h.store.approvals["a"].Presentation.Title = "secret-title"
		h.store.approvals["a"].Note = "secret-note"
		h.store.details["a"] = core.Detail{Text: "secret-detail"}
		h.start()
		h.pass(time.Second)
		h.store.decide("a")
		h.pass(time.Second)
		require.Positive(t, h.logs.count(`"delivery":"d"`))
		require.Zero(t, h.logs.count("secret"))
	})
}
