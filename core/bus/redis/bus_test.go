package redis_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/bustest"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/bus/redis"
	"github.com/saysohq/sayso/core/bus/redis/redistest"
)

func TestMain(m *testing.M) {
	redis.QuietLibrary()
	goleak.VerifyTestMain(m)
}

// replica is a bus that runs, and what it counts.
type replica struct {
	*redis.Bus
	figures *prometheus.Registry
	stop    func() // Ends Run and waits for it.
}

func start(t *testing.T, url string) replica {
	t.Helper()
	return startAs(t, redis.Config{URL: url, Deployment: "d1"})
}

func newBus(t *testing.T, cfg redis.Config) replica {
	t.Helper()
	return newBusWith(t, cfg, nil)
}

func newBusWith(t *testing.T, cfg redis.Config, budgetClock func() time.Time) replica {
	t.Helper()
	figures := prometheus.NewRegistry()
	metrics, err := redis.NewMetrics(figures)
	require.NoError(t, err)
	b, err := redis.New(cfg, redis.Deps{
		Local: local.New(), Metrics: metrics, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		BudgetClock: budgetClock,
	})
	require.NoError(t, err)
	return replica{Bus: b, figures: figures}
}

func startAs(t *testing.T, cfg redis.Config) replica {
	t.Helper()
	return newBus(t, cfg).runs(t)
}

// runs runs the bus for the life of the test.
func (r replica) runs(t *testing.T) replica {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx); close(ended) }()
	r.stop = func() {
		cancel()
		for range ended { // Its own word: the context's.
			continue
		}
	}
	t.Cleanup(r.stop)
	return r
}

// soon bounds every wait for a real process or socket.
const soon = 20 * time.Second

func (r replica) connects(t *testing.T) replica {
	t.Helper()
	require.Eventually(t, r.Connected, soon, 5*time.Millisecond)
	return r
}

func (r replica) figure(t *testing.T, name string) float64 {
	t.Helper()
	families, err := r.figures.Gather()
	require.NoError(t, err)
	total := 0.0
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return total
}

// listener is what a subscriber hears.
func (r replica) listen(t *testing.T) <-chan core.Hint {
	t.Helper()
	heard := make(chan core.Hint, 100_000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Subscribe(ctx, func(h core.Hint) { heard <- h }) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	await(t, heard, core.Hint{})
	return heard
}

// await skips what comes before the wanted hint.
func await(t *testing.T, heard <-chan core.Hint, want core.Hint) {
	t.Helper()
	end := time.After(soon)
	for {
		select {
		case h := <-heard:
			if h == want {
				return
			}
		case <-end:
			require.FailNow(t, "the hint did not come")
		}
	}
}

func TestBus(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(t *testing.T) (here, there bustest.Bus) {
		s := redistest.Start(t)
		a, b := start(t, s.URL()), start(t, s.URL())
		return a.connects(t), b.connects(t)
	})
}
