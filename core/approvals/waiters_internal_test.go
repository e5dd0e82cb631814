package approvals

import (
	"context"
	"log/slog"
	"testing"
	"time"

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

// oneRow is a store of one approval.
type oneRow struct {
	Store
	a core.Approval
}

func (s *oneRow) Now(context.Context) (core.Millis, error) { return 1, nil }

func (s *oneRow) Approval(context.Context, core.Lookup) (core.Approval, error) { return s.a, nil }

// However often it looks, a wait is registered once, also one that knows only the
// reference; and it leaves nothing behind.
func TestAWaitIsRegisteredOnce(t *testing.T) {
	t.Parallel()
	row := core.Approval{ID: "id", Ref: "reference", Status: core.StatusPending, Revision: 1, ExpiresAt: 60_000}
	for name, lookup := range map[string]core.Lookup{"by id": {ID: row.ID}, "by reference": {Ref: row.Ref}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &oneRow{a: row}
			s := New(Config{}, Deps{Store: store, Logger: slog.New(slog.DiscardHandler)})
			caller := core.Caller{Person: &core.Principal{ID: "ann", Role: core.RoleAdmin}}
			p := s.begin(t.Context(), &caller, &WaitRequest{Lookup: lookup, For: time.Minute})
			registered := func() (ids []string) {
				for i := range s.waiters.shards {
					for id, first := range s.waiters.shards[i].byID {
						for one := first; one != nil; one = one.next {
							require.Same(t, &p.waiter, one)
							require.Less(t, len(ids), 2, "a chain ends")
							ids = append(ids, id)
						}
					}
				}
				return ids
			}
			for range 4 {
				require.False(t, p.look())
				require.Equal(t, []string{row.ID}, registered())
			}
			s.waiters.look(core.Hint{})
			require.Len(t, p.wake, 1)
			store.a.Status = core.StatusDenied
			require.True(t, p.look())
			require.Empty(t, registered())
		})
	}
}
