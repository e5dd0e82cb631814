package deliveries_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// registry is a store of presences in memory.
type registry struct {
	mu     sync.Mutex
	until  map[string]time.Time
	shown  int
	left   []string
	freed  []int // What TakeOver gives, one call after the other.
	looked int
	fault  error
	told   int // Hints that were published.
}

func (r *registry) Acquire(_ context.Context, name, holder string, d time.Duration) (core.Lease, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown++
	if r.fault != nil {
		return core.Lease{}, r.fault
	}
	r.until[name] = time.Now().Add(d)
	return core.Lease{Name: name, Holder: holder, Fence: 1}, nil
}

func (r *registry) Release(_ context.Context, l core.Lease) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, l.Name)
	return r.fault
}

func (r *registry) TakeOver(_ context.Context, limit int) ([]core.Hint, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked++
	if len(r.freed) == 0 {
		return nil, r.fault
	}
	n := min(limit, r.freed[0])
	r.freed = r.freed[1:]
	return make([]core.Hint, n), nil
}

func (r *registry) Publish(_ context.Context, hints ...core.Hint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told += len(hints)
}

// lives reports whether a worker would be missed now.
func (r *registry) lives() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.until[core.WorkerLease("w")])
}

// present runs the presence of a worker until leave is called.
func present(t *testing.T, r *registry) (leave func()) {
	t.Helper()
	p := deliveries.NewPresence("w", deliveries.PresenceDeps{
		Store: r, Publisher: r, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// A worker is never missed while it lives, with few writes, and says goodbye.
func TestPresenceIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &registry{until: map[string]time.Time{}}
		leave := present(t, r)
		for range 600 {
			require.True(t, r.lives())
			<-time.After(100 * time.Millisecond)
		}
		synctest.Wait()
		require.InDelta(t, 20, r.shown, 1, "once in 3 s")
		require.InDelta(t, 60, r.looked, 2, "once a second")
		leave()
		require.Equal(t, []string{core.WorkerLease("w")}, r.left)
	})
}

// A store that is away for a while costs nobody their rows: two renewals may fail.
func TestPresenceSurvivesAShortOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &registry{until: map[string]time.Time{}}
		leave := present(t, r)
		r.mu.Lock()
		r.fault = core.ErrUnavailable
		r.mu.Unlock()
		for range 6 {
			<-time.After(time.Second)
			require.True(t, r.lives())
		}
		r.mu.Lock()
		r.fault = nil
		r.mu.Unlock()
		<-time.After(2 * time.Second)
		synctest.Wait()
		require.True(t, r.lives())
		<-time.After(5 * time.Second)
		require.True(t, r.lives(), "it was shown again")
		leave()
	})
}

// Whatever was left is freed at once, however much it is, and told to everybody.
func TestPresenceTakesOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &registry{until: map[string]time.Time{}, freed: []int{100, 100, 7}}
		leave := present(t, r)
		require.Equal(t, 207, r.told)
		require.Equal(t, 3, r.looked)
		leave()
	})
}
