package events_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/events"
)

// queue stands for the store: events that wait for their number.
type queue struct {
	mu      sync.Mutex
	waiting int
	err     error
	looks   []time.Time
	last    time.Time // When nothing was left.
}

func (q *queue) NumberEvents(_ context.Context, _ core.Lease, limit int) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.looks = append(q.looks, time.Now())
	if q.err != nil {
		return 0, q.err
	}
	n := min(limit, q.waiting)
	if q.waiting -= n; n > 0 && q.waiting == 0 {
		q.last = time.Now()
	}
	return n, nil
}

func (q *queue) set(waiting int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.err = waiting, err
}

// since counts the looks since then.
func (q *queue) since(then time.Time) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, at := range q.looks {
		if at.After(then) {
			n++
		}
	}
	return n
}

func (q *queue) done() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.last
}

// bench runs a sequencer in the bubble.
type bench struct {
	*queue
	bus *local.Bus
	log *bytes.Buffer
	end chan error
}

func run(t *testing.T, hints core.Subscriber) *bench {
	t.Helper()
	b := &bench{queue: &queue{}, bus: local.New(), log: &bytes.Buffer{}, end: make(chan error, 1)}
	if hints == nil {
		hints = b.bus
	}
	ctx, stop := context.WithCancel(t.Context())
	s := events.NewSequencer(events.Deps{Sequence: b.queue, Hints: hints, Logger: slog.New(slog.NewTextHandler(b.log, nil))})
	go func() { b.end <- s.Run(ctx, core.Lease{Name: events.SequenceJob, Holder: "a", Fence: 1}) }()
	t.Cleanup(func() {
		stop()
		synctest.Wait()
	})
	rest(10 * time.Second) // Nothing happens for a while.
	return b
}

func rest(d time.Duration) { <-time.After(d) }

// A hint gets events their numbers at once; a full transaction is followed by the next.
func TestHintsNumberAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := run(t, nil)
		rest(500 * time.Millisecond)
		began := time.Now()
		b.set(3_500, nil)
		b.bus.Publish(t.Context(), core.Hint{ApprovalID: "x"})
		synctest.Wait()
		require.Equal(t, began, b.done())
	})
}

// Many hints share their transactions: one every 10 ms.
func TestABusyFleetSharesTransactions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := run(t, nil)
		began := time.Now()
		for range 1_000 {
			b.set(1, nil)
			b.bus.Publish(t.Context(), core.Hint{ApprovalID: "x"})
			rest(time.Millisecond)
		}
		require.LessOrEqual(t, b.since(began), 101)
		require.GreaterOrEqual(t, b.since(began), 90)
	})
}

// Without hints events wait for 50 ms while there is traffic, and for a second when
// there was none.
func TestPollingWithoutHints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := run(t, nil)
		idle := time.Now()
		rest(time.Minute)
		require.InDelta(t, 60, b.since(idle), 1)
		b.set(1, nil)
		began := time.Now()
		rest(time.Second)
		require.False(t, b.done().Before(began))
		for range 40 {
			b.set(1, nil)
			began := time.Now()
			rest(51 * time.Millisecond)
			require.LessOrEqual(t, b.done().Sub(began), 50*time.Millisecond)
			require.False(t, b.done().Before(began))
		}
		rest(2 * time.Second)
		idle = time.Now()
		rest(time.Minute)
		require.InDelta(t, 60, b.since(idle), 1)
	})
}

// deaf is a bus that nothing comes through.
type deaf struct{}

func (deaf) Subscribe(context.Context, func(core.Hint)) error { return errors.New("no bus") }

func TestABrokenBusCostsSpeedOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := run(t, deaf{})
		b.set(5, nil)
		began := time.Now()
		rest(1100 * time.Millisecond)
		require.LessOrEqual(t, b.done().Sub(began), time.Second)
		require.False(t, b.done().Before(began))
	})
}

// A store in trouble is asked once a second, and complained about once.
func TestAStoreInTroubleIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := run(t, nil)
		b.set(1, core.ErrUnavailable)
		began := time.Now()
		for range 10_000 {
			b.bus.Publish(t.Context(), core.Hint{ApprovalID: "x"})
			rest(time.Millisecond)
		}
		require.LessOrEqual(t, b.since(began), 12)
		b.set(1, nil)
		began = time.Now()
		rest(1100 * time.Millisecond)
		require.False(t, b.done().Before(began))
		require.Equal(t, 1, strings.Count(b.log.String(), "could not be numbered"))
	})
}

// Whoever lost the lease stops, whatever its context says.
func TestALostLeaseEndsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := run(t, nil)
		b.set(1, core.ErrLeaseLost)
		require.ErrorIs(t, <-b.end, core.ErrLeaseLost)
	})
}

// Asked to stop it does so without a complaint.
func TestStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := events.NewSequencer(events.Deps{Sequence: &queue{}, Hints: local.New(), Logger: slog.New(slog.DiscardHandler)})
		end := make(chan error, 1)
		go func() { end <- s.Run(ctx, core.Lease{}) }()
		rest(time.Second)
		stop()
		require.NoError(t, <-end)
	})
}
