package telegram

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestWindowOffset: whatever the order in which updates end, the offset never
// passes one that has not, and passes all once all have.
func TestWindowOffset(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(1, 1<<40).Draw(t, "first")
		n := rapid.IntRange(1, 30).Draw(t, "n")
		order := rapid.Permutation(indices(n)).Draw(t, "order")
		w := newWindow()
		release := make([]chan struct{}, n)
		for i := range n {
			release[i] = make(chan struct{})
		}
		unlimited := make(chan struct{}, n)
		w.slots = unlimited
		for i := range n {
			w.start(first+int64(i), string(rune('a'+i)), func() { <-release[i] })
			w.start(first+int64(i), string(rune('a'+i)), func() { panic("known updates are left alone") })
		}
		require.Zero(t, w.offset())
		open := map[int64]bool{}
		for i := range n {
			open[first+int64(i)] = true
		}
		for _, i := range order {
			close(release[i])
			<-w.changed
			delete(open, first+int64(i))
			for id := range open {
				require.LessOrEqual(t, w.offset(), id)
			}
		}
		w.wait()
		require.Equal(t, first+int64(n), w.offset())
		require.False(t, w.open())
	})
}

func indices(n int) []int {
	list := make([]int, n)
	for i := range n {
		list[i] = i
	}
	return list
}

// TestWindowOrder: one person's updates run one after the other, in order, while
// at most a fixed number runs at once.
func TestWindowOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWindow()
		var mu sync.Mutex
		running, most := 0, 0
		seen := map[string][]int64{}
		for id := int64(1); id <= 200; id++ {
			key := string(rune('a' + id%40))
			w.start(id, key, func() {
				mu.Lock()
				running++
				most = max(most, running)
				seen[key] = append(seen[key], id)
				mu.Unlock()
				time.Sleep(time.Second) //nolint:forbidigo // Virtual time.
				mu.Lock()
				running--
				mu.Unlock()
			})
		}
		w.wait()
		require.Equal(t, parallel, most)
		for _, ids := range seen {
			require.IsIncreasing(t, ids)
		}
		require.Equal(t, int64(201), w.offset())
	})
}

// TestWindowSkip: an update that cannot be read blocks nothing; ids may start anew.
func TestWindowSkip(t *testing.T) {
	t.Parallel()
	w := newWindow()
	w.skip(7)
	require.Equal(t, int64(8), w.offset())
	hold := make(chan struct{})
	w.start(3, "a", func() { <-hold })
	require.Zero(t, w.offset(), "nothing is confirmed below an id that started anew")
	w.settle(context.Background(), time.Millisecond)
	close(hold)
	w.wait()
	require.Equal(t, int64(4), w.offset())
}
