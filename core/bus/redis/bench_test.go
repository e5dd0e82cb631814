package redis_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/bus/redis"
	"github.com/saysohq/sayso/core/bus/redis/redistest"
)

// benchBus runs a replica for a benchmark.
func benchBus(b *testing.B, s redistest.Server) *redis.Bus {
	b.Helper()
	metrics, err := redis.NewMetrics(prometheus.NewRegistry())
	require.NoError(b, err)
	bus, err := redis.New(redis.Config{URL: s.URL(), Deployment: "d1", BudgetTimeout: soon}, redis.Deps{
		Local: local.New(), Metrics: metrics, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	require.NoError(b, err)
	ended := make(chan error, 1)
	go func() { ended <- bus.Run(b.Context()) }()
	b.Cleanup(func() { require.Error(b, <-ended) })
	require.Eventually(b, bus.Connected, soon, time.Millisecond)
	return bus
}

// BenchmarkHintToAnotherReplica publishes here and waits until a subscriber there runs.
func BenchmarkHintToAnotherReplica(b *testing.B) {
	s := redistest.Start(b)
	here, there := benchBus(b, s), benchBus(b, s)
	heard := make(chan core.Hint, 1024)
	go func() { _ = there.Subscribe(b.Context(), func(h core.Hint) { heard <- h }) }()
	<-heard
	var took []time.Duration
	for b.Loop() {
		want := core.Hint{ApprovalID: "0198f0a2-0000-7000-8000-000000000001", Revision: int64(len(took) + 1)}
		began := time.Now()
		here.Publish(b.Context(), want)
		for <-heard != want { // Zero hints come at any time.
			continue
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkPublish is what a decision pays for telling the others.
func BenchmarkPublish(b *testing.B) {
	bus := benchBus(b, redistest.Start(b))
	hint := core.Hint{ApprovalID: "0198f0a2-0000-7000-8000-000000000001", Revision: 2, Deliveries: true}
	for b.Loop() {
		bus.Publish(b.Context(), hint)
	}
}

// BenchmarkTake is what a call to a platform pays for the shared budgets.
func BenchmarkTake(b *testing.B) {
	bus := benchBus(b, redistest.Start(b))
	c := core.BudgetCall{Gates: []string{"account", "chat"}, Grace: time.Second}
	for _, name := range []string{"bot", "x", "edits"} {
		c.Charges = append(c.Charges, core.BudgetCharge{Name: name, Interval: time.Microsecond, Burst: 1000, CardEvery: time.Microsecond})
	}
	for b.Loop() {
		_, err := bus.Budgets().Take(b.Context(), c)
		require.NoError(b, err)
	}
}
