package deliveries_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
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
		r.set(core.ErrUnavailable)
		for range 6 {
			<-time.After(time.Second)
			require.True(t, r.lives())
		}
		r.set(nil)
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

// What kept this worker from the store may have kept the others too: after a gap nobody
// is taken for dead until all had time to come back.
func TestPresenceAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &registry{until: map[string]time.Time{}}
		p := deliveries.NewPresence("w", deliveries.PresenceDeps{
			Store: r, Publisher: r, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		})
		require.True(t, p.Alive(), "nobody misses whom nobody has met")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		r.set(core.ErrUnavailable)
		<-time.After(8500 * time.Millisecond)
		require.True(t, p.Alive())
		<-time.After(time.Second)
		require.False(t, p.Alive(), "a second before the others may think so")
		<-time.After(10 * time.Second)
		r.set(nil, 5)
		<-time.After(1500 * time.Millisecond)
		synctest.Wait()
		require.True(t, p.Alive(), "it has shown itself again")
		require.Zero(t, r.hints())
		<-time.After(4 * time.Second)
		require.Zero(t, r.hints(), "the others may be about to")
		<-time.After(2 * time.Second)
		synctest.Wait()
		require.Equal(t, 5, r.hints())
		cancel()
		require.NoError(t, <-ended)
	})
}

// set changes what the store answers.
func (r *registry) set(fault error, freed ...int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault, r.freed = fault, freed
}

func (r *registry) hints() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told
}

// A worker that the others may have given up sends nothing: its rows may be in other
// hands. It goes on when it is counted on again.
func TestAWorkerThatIsMissedSendsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		var missed atomic.Bool
		missed.Store(true)
		h.alive = func() bool { return !missed.Load() }
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(5 * time.Second)
		require.Empty(t, h.channel.ops())
		require.Equal(t, core.DeliveryPlanned, h.store.row("d").State)
		missed.Store(false)
		h.pass(2 * time.Second)
		require.Equal(t, []string{"send"}, h.channel.ops())
	})
}
