package approvals

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// A hint reaches all who are registered for its approval and nobody else, in
// whatever order they go, and the last one leaves nothing behind.
func TestWaitersOfOneApproval(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}} {
		all, other := newWaiters(), waiter{wake: make(chan struct{}, 1)}
		var some [3]waiter
		for i := range some {
			some[i].wake = make(chan struct{}, 1)
		}
		for i := range some {
			all.register("id", &some[i])
		}
		all.register("other", &other)
		for n, gone := range order {
			all.look(core.Hint{ApprovalID: "id"})
			for _, i := range order[n:] {
				require.Len(t, some[i].wake, 1, "order %v, after %d", order, n)
				<-some[i].wake
			}
			for _, i := range order[:n] {
				require.Empty(t, some[i].wake, "who is gone is not woken")
			}
			all.forget("id", &some[gone])
		}
		require.Empty(t, other.wake)
		require.Empty(t, all.shard("id").byID["id"])
		all.look(core.Hint{})
		require.Len(t, other.wake, 1, "a hint without an id is for everybody")
		all.forget("other", &other)
		for i := range all.shards {
			require.Empty(t, all.shards[i].byID)
		}
	}
}
