package inorder_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/internal/inorder"
)

// One person's work keeps its order, while another's goes past what hangs.
func TestOrder(t *testing.T) {
	t.Parallel()
	q := inorder.New(4, 100)
	var mu sync.Mutex
	var done []int
	hang, other := make(chan struct{}), make(chan struct{})
	require.True(t, q.Start("a", func() { <-hang }))
	for i := range 20 {
		require.True(t, q.Start("a", func() {
			mu.Lock()
			defer mu.Unlock()
			done = append(done, i)
		}))
	}
	require.True(t, q.Start("b", func() { close(other) }))
	<-other
	mu.Lock()
	require.Empty(t, done)
	mu.Unlock()
	close(hang)
	q.Wait()
	require.IsIncreasing(t, done)
	require.Len(t, done, 20)
}

// A full queue refuses, and takes work again once there is room.
func TestFull(t *testing.T) {
	t.Parallel()
	q := inorder.New(1, 2)
	hang, free := make(chan struct{}), make(chan struct{})
	require.True(t, q.Start("a", func() { <-hang }))
	require.True(t, q.Start("b", func() {}))
	refused := false
	require.False(t, q.Start("c", func() { refused = true }))
	q.Beside(func() { close(free) })
	<-free
	close(hang)
	q.Wait()
	require.False(t, refused, "it was not kept for later either")
	ran := false
	require.True(t, q.Start("c", func() { ran = true }))
	q.Wait()
	require.True(t, ran)
}
