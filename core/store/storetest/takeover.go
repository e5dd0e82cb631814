package storetest

import (
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// presence is how long the workers of these tests count as living.
const presence = 10 * time.Second

// lives lets a worker show that it lives.
func (k *kit) lives(name string) core.Lease {
	k.t.Helper()
	l, err := k.Leases.Acquire(k.ctx, core.WorkerLease(name), name, presence)
	require.NoError(k.t, err)
	return l
}

// frees takes over from those who have gone.
func (k *kit) frees(want ...string) {
	k.t.Helper()
	hints, err := k.TakeOver(k.ctx, 10)
	require.NoError(k.t, err)
	var got []string
	for _, h := range hints {
		require.True(k.t, h.Deliveries)
		got = append(got, h.ApprovalID)
	}
	require.ElementsMatch(k.t, want, got)
}

// Rows of a worker that has gone are due at once, in the state in which it left them.
func workerGone(k *kit) {
	made := k.create(withCards("chat-1", "chat-2"))
	alive := k.lives(worker)
	works := k.due(2)
	k.begin(works[0])
	k.advanceTo(alive.Until - 1)
	k.frees()
	k.nothingDue()
	k.advanceTo(alive.Until)
	require.Less(k.t, k.now(), works[0].Delivery.LeaseUntil, "long before its leases run out")
	k.frees(made.ID, made.ID)
	k.frees()
	for _, w := range works {
		k.lost(w)
	}
	again, _ := k.claimDueAs(otherWorker, 10, account)
	require.Len(k.t, again, 2)
	for _, w := range again {
		began := w.Delivery.ID == works[0].Delivery.ID
		require.Equal(k.t, began, w.Delivery.Ambiguous, "what was being sent may have arrived")
		require.True(k.t, w.Delivery.Unsettled, "it may still be painted over")
		require.Equal(k.t, core.Millis((core.CallTimeout + core.SettleMargin).Milliseconds()), w.Delivery.SettleAt-k.now())
	}
	k.frees()
	require.Equal(k.t, otherWorker, k.reread(again[0]).LeaseHolder, "who never said that it lives keeps its rows")
}

// A worker that stops in good order leaves at once; one that comes back is another.
func workerLeaves(k *kit) {
	made := k.create(withCards("chat-1"))
	alive := k.lives(worker)
	w := k.due(1)[0]
	require.NoError(k.t, k.Leases.Release(k.ctx, alive))
	k.frees(made.ID)
	k.lost(w)
	k.lives(worker)
	w = k.due(1)[0]
	k.frees()
	require.Equal(k.t, worker, k.reread(w).LeaseHolder)
}

// A worker that shows again and again that it lives keeps its rows, whatever becomes of
// others; those of who has gone are freed in parts.
func workerLives(k *kit) {
	var ids []string
	for range 3 {
		ids = append(ids, k.create(withCards("chat-1")).ID)
	}
	k.lives(worker)
	k.due(3)
	kept := k.create(withCards("chat-1"))
	k.lives(otherWorker)
	works, _ := k.claimDueAs(otherWorker, 10, account)
	require.Len(k.t, works, 1)
	k.advance(9_000)
	k.lives(otherWorker)
	k.advance(9_000)
	freed := 0
	for n := range 2 {
		hints, err := k.TakeOver(k.ctx, 2)
		require.NoError(k.t, err)
		require.Len(k.t, hints, 2-n)
		freed += len(hints)
	}
	require.Equal(k.t, len(ids), freed)
	k.frees()
	require.Equal(k.t, otherWorker, k.delivery(kept.ID, 0).LeaseHolder)
}

// However many find out that a worker has gone, each row is freed once, and one that
// was claimed again meanwhile is left alone.
func workerGoneRace(k *kit) {
	made := k.create(withCards("chat-1", "chat-2", "chat-3"))
	alive := k.lives(worker)
	k.due(3)
	k.advanceTo(alive.Until)
	var mu sync.Mutex
	freed := 0
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			hints, err := k.TakeOver(k.ctx, 10)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				freed += len(hints)
			}
		})
		all.Go(func() {
			_, _, _ = k.ClaimDue(k.ctx, core.ClaimDue{Worker: otherWorker, Lease: lease, Limit: 10, Accounts: []core.AccountRef{bot(account)}})
		})
	}
	all.Wait()
	hints, err := k.TakeOver(k.ctx, 10) // Rows that were locked are found again.
	require.NoError(k.t, err)
	require.Equal(k.t, 3, freed+len(hints))
	works, _ := k.claimDueAs(otherWorker, 10, account)
	rows, err := k.DeliveriesOf(k.ctx, made.ID)
	require.NoError(k.t, err)
	for _, d := range rows {
		require.Equal(k.t, otherWorker, d.LeaseHolder, "%d were claimed last", len(works))
	}
}
