package bustest

import (
	"context"
	"math"
	"strings"
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

// Run runs the suite. The factory returns a fresh bus for each subtest, as two
// replicas have it; a bus of one process is the same one twice. What is published
// here must be heard here and there.
func Run(t *testing.T, factory func(t *testing.T) (here, there Bus)) {
	t.Helper()
	tests := map[string]func(t *testing.T, here, there Bus){
		"a new subscriber is told to look at everything":            testResync,
		"every subscriber hears every hint":                         testFanOut,
		"each hint is heard once and in order":                      testOnce,
		"hints arrive as they were published":                       testFaithful,
		"many publish at once":                                      testCrowd,
		"nothing is replayed to a late subscriber":                  testNoReplay,
		"whoever publishes may have gone and reuses his hints":      testReuse,
		"that everything changed can be published":                  testEverything,
		"a slow subscriber blocks nobody and is told to look again": testSlow,
		"subscribing ends with its context":                         testEnd,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, there := factory(t)
			test(t, here, there)
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

// next is the next hint, zero hints included.
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

// told is the next hint that is about something: a bus may say at any time that
// everything may have changed.
func (l *listener) told(t *testing.T) core.Hint {
	t.Helper()
	for {
		if h := l.next(t); h != (core.Hint{}) {
			return h
		}
	}
}

func testResync(t *testing.T, here, there Bus) { listen(t, here); listen(t, there) }

func testFanOut(t *testing.T, here, there Bus) {
	one, two, far := listen(t, here), listen(t, here), listen(t, there)
	want := core.Hint{ApprovalID: "a", Revision: 2, Deliveries: true}
	here.Publish(t.Context(), want)
	for _, l := range []*listener{one, two, far} {
		require.Equal(t, want, l.told(t))
	}
}

// What is published comes back to its own replica by no second way.
func testOnce(t *testing.T, here, there Bus) {
	near, far := listen(t, here), listen(t, there)
	const n = 1_000 // Less than a subscriber may fall behind.
	for i := range int64(n) {
		here.Publish(t.Context(), core.Hint{ApprovalID: "a", Revision: i + 1})
	}
	for _, l := range []*listener{far, near} {
		for i := range int64(n) {
			require.Equal(t, core.Hint{ApprovalID: "a", Revision: i + 1}, l.told(t))
		}
	}
	there.Publish(t.Context(), core.Hint{ApprovalID: "last"}) // By now an echo would have come.
	require.Equal(t, "last", near.told(t).ApprovalID)
	require.Equal(t, "last", far.told(t).ApprovalID)
}

func testFaithful(t *testing.T, here, there Bus) {
	near, far := listen(t, here), listen(t, there)
	want := []core.Hint{
		{ApprovalID: "0198f0a2-0000-7000-8000-000000000001", Revision: 1},
		{ApprovalID: "runtime:" + strings.Repeat("x", 200), Revision: math.MaxInt64, Deliveries: true},
		{ApprovalID: "r:Grüße, 世界 \u202e \"quoted\" 1 0", Deliveries: true},
		{ApprovalID: "r: ", Revision: 3},
	}
	here.Publish(t.Context()) // Nothing is nothing.
	here.Publish(t.Context(), want...)
	for _, l := range []*listener{near, far} {
		for _, h := range want {
			require.Equal(t, h, l.told(t))
		}
	}
}

func testCrowd(t *testing.T, here, there Bus) {
	near, far := listen(t, here), listen(t, there)
	const publishers, each = 8, 50
	var wg sync.WaitGroup
	for p := range publishers {
		b := []Bus{here, there}[p%2]
		wg.Go(func() {
			for i := range int64(each) {
				b.Publish(t.Context(), core.Hint{ApprovalID: string(rune('a' + p)), Revision: i + 1})
			}
		})
	}
	wg.Wait()
	for _, l := range []*listener{near, far} {
		last := map[string]int64{}
		for range publishers * each {
			h := l.told(t)
			require.Equal(t, last[h.ApprovalID]+1, h.Revision, "in the order of its publisher")
			last[h.ApprovalID] = h.Revision
		}
	}
}

func testNoReplay(t *testing.T, here, there Bus) {
	near, far := listen(t, here), listen(t, there)
	here.Publish(t.Context(), core.Hint{ApprovalID: "before"})
	require.Equal(t, "before", near.told(t).ApprovalID)
	require.Equal(t, "before", far.told(t).ApprovalID)
	lateNear, lateFar := listen(t, here), listen(t, there)
	here.Publish(t.Context(), core.Hint{ApprovalID: "after"})
	require.Equal(t, "after", lateNear.told(t).ApprovalID)
	require.Equal(t, "after", lateFar.told(t).ApprovalID)
}

func testReuse(t *testing.T, here, there Bus) {
	near, far := listen(t, here), listen(t, there)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	hints := []core.Hint{{ApprovalID: "a"}, {ApprovalID: "b"}}
	here.Publish(gone, hints...)
	clear(hints)
	for _, l := range []*listener{near, far} {
		require.Equal(t, "a", l.told(t).ApprovalID)
		require.Equal(t, "b", l.told(t).ApprovalID)
	}
}

func testEverything(t *testing.T, here, there Bus) {
	near, far := listen(t, here), listen(t, there)
	here.Publish(t.Context(), core.Hint{})
	require.Equal(t, core.Hint{}, near.next(t))
	require.Equal(t, core.Hint{}, far.next(t))
}

// The flood is over for the slow subscriber's own replica when Publish returns.
func testSlow(t *testing.T, here, there Bus) {
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
		_ = here.Subscribe(ctx, func(h core.Hint) {
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
	quick := listen(t, there)
	const flood = 5_000
	for range flood {
		here.Publish(t.Context(), core.Hint{ApprovalID: "x"})
	}
	quick.next(t) // Publishing returned although one subscriber sat still.
	close(release)
	select {
	case <-zero:
	case <-time.After(patience):
		require.FailNow(t, "the slow subscriber was never told to look again")
	}
}

func testEnd(t *testing.T, here, there Bus) {
	for _, b := range []Bus{here, there} {
		l := listen(t, b)
		l.stop()
		select {
		case err := <-l.done:
			require.ErrorIs(t, err, context.Canceled)
		case <-time.After(patience):
			require.FailNow(t, "Subscribe did not return")
		}
	}
}
