package deliveries_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/redis"
	"github.com/saysohq/sayso/core/bus/redis/redistest"
	"github.com/saysohq/sayso/deliveries"
)

// slow is a budget of which nothing grows back while a test runs.
func slow(burst int) map[core.Surface]deliveries.Budget {
	return map[core.Surface]deliveries.Budget{
		bot.Channel: {Group: deliveries.Rate{Events: 1, Per: time.Hour, Burst: burst}},
	}
}

// spends asks from all pacers at once until each is told no, and counts what was booked.
func spends(t *testing.T, address string, pacers ...deliveries.Pacer) int {
	t.Helper()
	var booked atomic.Int64
	var wg sync.WaitGroup
	for _, p := range pacers {
		for range 4 {
			wg.Go(func() {
				for p.Reserve(t.Context(), deliveries.Call{Account: bot, Address: address}, 0).Booked {
					booked.Add(1)
				}
			})
		}
	}
	wg.Wait()
	return int(booked.Load())
}

// Replicas whose own clocks disagree by an hour spend one budget: only the clock of
// Redis counts.
func TestReplicasSpendOneBudget(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	cfg := redis.Config{URL: s.URL(), Deployment: "d1", BudgetTimeout: 10 * time.Second}
	pacers := make([]deliveries.Pacer, 3)
	for i := range pacers {
		ahead := func() time.Time { return time.Now().Add(time.Duration(i-1) * time.Hour) }
		pacers[i] = deliveries.NewSharedPacer(slow(40), steady{t, replica(t, cfg, nil).Budgets()}, ahead)
	}
	require.Equal(t, 40, spends(t, "x", pacers...))

	pacers[0].Hold(t.Context(), bot, "y", time.Minute)
	for _, p := range pacers {
		pause := p.Reserve(t.Context(), deliveries.Call{Account: bot, Address: "y"}, 0)
		require.False(t, pause.Booked, "what one was told, all know")
		require.InDelta(t, time.Minute, pause.Wait, float64(30*time.Second))
	}
}

// While Redis is gone each replica has its share, and nobody waits for Redis.
func TestBudgetsWithoutRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	cfg := redis.Config{URL: s.URL(), Deployment: "d1", BudgetTimeout: 10 * time.Second}
	buses := []*redis.Bus{replica(t, cfg, nil), replica(t, cfg, nil)}
	var pacers []deliveries.Pacer
	for _, b := range buses {
		require.Eventually(t, func() bool { return b.Replicas() == 2 }, 20*time.Second, time.Millisecond)
		pacers = append(pacers, deliveries.NewSharedPacer(slow(40), b.Budgets(), time.Now))
	}
	s.Kill(t)
	require.Equal(t, 20, spends(t, "x", pacers[0]), "half of it")
	require.Equal(t, 20, spends(t, "x", pacers[1]), "the other half")

	s.Again(t)
	require.Eventually(t, func() bool { // An empty Redis is a full budget, which is shared again.
		return buses[0].Connected() && buses[1].Connected() && spends(t, "x", pacers...) > 0
	}, 20*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool { return spends(t, "x", pacers...) == 0 }, 20*time.Second, 50*time.Millisecond)
}

// A Redis that answers nothing is asked once a second, not by every call.
func TestAStalledRedisHoldsUpNobody(t *testing.T) {
	t.Parallel()
	p := redistest.Before(t, redistest.Start(t))
	b := replica(t, redis.Config{URL: p.URL(), Deployment: "d1", Replicas: 4}, nil)
	pacer := deliveries.NewSharedPacer(slow(100_000), b.Budgets(), time.Now)
	call := deliveries.Call{Account: bot, Address: "x"}
	pacer.Reserve(t.Context(), call, 0)
	p.Stall()
	began := time.Now()
	for range 1_000 {
		require.True(t, pacer.Reserve(t.Context(), call, 0).Booked)
	}
	pacer.Hold(t.Context(), bot, "y", time.Minute)
	require.Less(t, time.Since(began), 10*time.Second, "not 50 ms for each")
	require.False(t, pacer.Reserve(t.Context(), deliveries.Call{Account: bot, Address: "y"}, 0).Booked, "it is known here at least")
	p.Resume()
}

// spread notes what a worker spreads.
type spread struct {
	deliveries.Pacer
	mu   sync.Mutex
	held map[string]time.Duration
}

func (s *spread) Hold(_ context.Context, _ core.AccountRef, address string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[address] = d
}

// What a platform tells one worker, its pacer is told for all.
func TestRetryAfterIsSpread(t *testing.T) {
	t.Parallel()
	for address, refusal := range map[string]channels.Error{
		"x": {Class: core.FailureRateLimited, RetryAfter: 7 * time.Second},
		"":  {Class: core.FailureRateLimited, RetryAfter: 7 * time.Second, Whole: true},
	} {
		bubble(t, func(t *testing.T, h *harness) {
			told := &spread{Pacer: deliveries.NewLocalPacer(nil, time.Now), held: map[string]time.Duration{}}
			h.pacer = told
			h.channel.onSend(func(string, string) error { return &refusal })
			h.store.ask("a", to("d", "x"))
			h.start()
			h.pass(time.Second)
			require.Equal(t, map[string]time.Duration{address: 7 * time.Second}, told.held)
		})
	}
}

// A caller that stops is answered like any other: what is charged must be known.
func TestReserveOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	b := replica(t, redis.Config{URL: s.URL(), Deployment: "d1", BudgetTimeout: 10 * time.Second}, nil)
	pacer := deliveries.NewSharedPacer(slow(3), steady{t, b.Budgets()}, time.Now)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		require.True(t, pacer.Reserve(gone, deliveries.Call{Account: bot, Address: "x"}, 0).Booked)
	}
	require.False(t, pacer.Reserve(gone, deliveries.Call{Account: bot, Address: "x"}, 0).Booked)
}
