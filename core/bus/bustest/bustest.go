package bustest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// Bus is what a bus offers.
type Bus interface {
	core.Publisher
	core.Subscriber
}

// patience bounds every wait; a bus that needs it is broken.
const patience = 10 * time.Second

// Run runs the suite; factory returns a fresh bus for each subtest.
func Run(t *testing.T, factory func(t *testing.T) Bus) {
	t.Helper()
	tests := map[string]func(*testing.T, Bus){
		"a new subscriber is told to look at everything":            testResync,
		"every subscriber hears every hint":                         testFanOut,
		"nothing is replayed to a late subscriber":                  testNoReplay,
		"a slow subscriber blocks nobody and is told to look again": testSlow,
		"subscribing ends with its context":                         testEnd,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, factory(t))
		})
	}
}

// listener records what one subscription hears.
type listener struct {
	heard chan core.Hint
	done  chan error
	stop  context.CancelFunc
}

func listen(t *testing.T, b Bus) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &listener{heard: make(chan core.Hint, 10_000), done: make(chan error, 1), stop: cancel}
	go func() { l.done <- b.Subscribe(ctx, func(h core.Hint) { l.heard <- h }) }()
	t.Cleanup(cancel)
	require.Equal(t, core.Hint{}, l.next(t), "the first hint is the zero hint")
	return l
}

func (l *listener) next(t *testing.T) core.Hint {
	t.Helper()
	select {
	case h := <-l.heard:
		return h
	case <-time.After(patience):
		require.FailNow(t, "no hint came")
		return core.Hint{}
	}
}

func testResync(t *testing.T, b Bus) { listen(t, b) }

func testFanOut(t *testing.T, b Bus) {
	one, two := listen(t, b), listen(t, b)
	want := core.Hint{ApprovalID: "a", Revision: 2, Deliveries: true}
	b.Publish(t.Context(), want)
	require.Equal(t, want, one.next(t))
	require.Equal(t, want, two.next(t))
}

func testNoReplay(t *testing.T, b Bus) {
	early := listen(t, b)
	b.Publish(t.Context(), core.Hint{ApprovalID: "before"})
	require.Equal(t, "before", early.next(t).ApprovalID)
	late := listen(t, b)
	b.Publish(t.Context(), core.Hint{ApprovalID: "after"})
	require.Equal(t, "after", late.next(t).ApprovalID)
}

func testSlow(t *testing.T, b Bus) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var (
		entered sync.Once
		inside  = make(chan struct{})
		release = make(chan struct{})
		zero    = make(chan struct{}, 10_000)
	)
	first := true
	go func() {
		_ = b.Subscribe(ctx, func(h core.Hint) {
			if first { // The zero hint of a new subscription: hold it.
				first = false
				entered.Do(func() { close(inside) })
				<-release
				return
			}
			if h == (core.Hint{}) {
				zero <- struct{}{}
			}
		})
	}()
	<-inside
	quick := listen(t, b)
	const flood = 5_000
	for range flood {
		b.Publish(t.Context(), core.Hint{ApprovalID: "x"})
	}
	quick.next(t) // Publishing returned although one subscriber sat still.
	close(release)
	select {
	case <-zero:
	case <-time.After(patience):
		require.FailNow(t, "the slow subscriber was never told to look again")
	}
}

func testEnd(t *testing.T, b Bus) {
	l := listen(t, b)
	l.stop()
	select {
	case err := <-l.done:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(patience):
		require.FailNow(t, "Subscribe did not return")
	}
}
