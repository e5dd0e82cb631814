package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func deliverySpecs() []spec {
	return []spec{
		{"a claim leases with a rising fence", leaseFence},
		{"a leased row is nobody else's", leaseExclusive},
		{"a lease that ran out is taken over", leaseTakenOver},
		{"a stale holder is refused everywhere", leaseStale},
		{"a send that a dead process had begun is taken over", leaseReopen},
		{"a late receipt of a dead process is refused", leaseReopenLate},
		{"an edit that a dead process had begun is painted once more", leaseReopenEdit},
		{"begin wants time left on the lease", beginMargin},
		{"the rows of a worker that has gone are due at once", workerGone},
		{"a worker that leaves in good order leaves at once", workerLeaves},
		{"a worker that lives keeps its rows", workerLives},
		{"whoever finds a worker gone, each row is freed once", workerGoneRace},
		{"begin records what will be shown before the call", beginRecords},
		{"C104 two destinations at one address end as one card", beginDuplicate},
		{"C105 only the given accounts are served", dueAccounts},
		{"a claim keeps to its limit", dueLimit},
		{"terminal edits come before new cards", dueOrder},
		{"the next due time is told", dueNext},
		{"planned and decided is closed as skipped", dueSkipped},
		{"a decision makes rows of every open state due", dueEveryState},
		{"an unknown row cannot be worked on", dueUnknown},
	}
}

func leaseFence(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	require.Equal(k.t, made.ID, w.Approval.ID)
	k.same(made, w.Approval)
	require.Equal(k.t, worker, w.Delivery.LeaseHolder)
	require.Equal(k.t, k.now()+lease, w.Delivery.LeaseUntil)
	require.Positive(k.t, w.Delivery.Fence)
	require.False(k.t, w.TakenOver)
	require.Equal(k.t, k.now(), w.Now)
	require.NoError(k.t, k.Release(k.ctx, releaseOf(w, 0, core.FailureTemporary)))
	again := k.due(1)[0]
	require.Greater(k.t, again.Delivery.Fence, w.Delivery.Fence)
	require.False(k.t, again.TakenOver, "a released row is not taken over")
}

func leaseExclusive(k *kit) {
	k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.nothingDue()
	works, _ := k.claimDue(10)
	require.Empty(k.t, works, "not even its own holder claims it twice")
	k.begin(w)
	k.advanceTo(w.Delivery.LeaseUntil - 1)
	k.nothingDue()
	require.NoError(k.t, k.Complete(k.ctx, completeOf(w, "message-1")))
	k.nothingDue()
}

func leaseTakenOver(k *kit) {
	k.create(withCards("chat-1"))
	first := k.due(1)[0]
	k.begin(first)
	k.advanceTo(first.Delivery.LeaseUntil)
	works, _ := k.claimDueAs(otherWorker, 10, account)
	require.Len(k.t, works, 1)
	require.True(k.t, works[0].TakenOver)
	require.Equal(k.t, core.DeliverySending, works[0].Delivery.State)
	require.True(k.t, works[0].Delivery.Ambiguous, "its send may have arrived")
	require.Greater(k.t, works[0].Delivery.Fence, first.Delivery.Fence)
	require.Equal(k.t, otherWorker, works[0].Delivery.LeaseHolder)

	// A holder that never began leaves nothing in doubt.
	idle := k.create(withCards("chat-2"))
	w, _ := k.claimOf(idle.ID)
	k.advanceTo(w.Delivery.LeaseUntil)
	again, _ := k.claimOf(idle.ID)
	require.True(k.t, again.TakenOver)
	require.False(k.t, again.Delivery.Ambiguous)
	require.Equal(k.t, core.DeliveryPlanned, again.Delivery.State)
}

func leaseStale(k *kit) {
	made := k.create(withCards("chat-1"))
	stale := k.due(1)[0]
	k.advanceTo(stale.Delivery.LeaseUntil)
	works, _ := k.claimDueAs(otherWorker, 10, account)
	require.Len(k.t, works, 1)
	before := k.reread(stale)

	k.lost(stale)
	require.Equal(k.t, before, k.reread(stale))
	require.Equal(k.t, core.StatusPending, k.read(made.ID).Status)
	k.show(works[0], "message-1")
	before = k.reread(stale)
	k.lost(stale)
	require.Equal(k.t, before, k.reread(stale), "nor once the row was given back")
}

// lost requires that nothing can be done under the work's lease.
func (k *kit) lost(w core.Work) {
	k.t.Helper()
	complete := completeOf(w, "late message")
	complete.Final = core.OutcomeReplaced
	require.ErrorIs(k.t, k.Begin(k.ctx, beginOf(w)), core.ErrLeaseLost)
	require.ErrorIs(k.t, k.Complete(k.ctx, complete), core.ErrLeaseLost)
	require.ErrorIs(k.t, k.Release(k.ctx, releaseOf(w, 0, core.FailureTemporary)), core.ErrLeaseLost)
	_, err := k.Close(k.ctx, closeOf(w, core.OutcomeFailed))
	require.ErrorIs(k.t, err, core.ErrLeaseLost)
}

// abandoned opens the store anew while rows are leased: at once where nobody else
// can be alive, when the leases have run out elsewhere.
func (k *kit) abandoned(w core.Work) {
	k.t.Helper()
	k.reopen()
	if k.Exclusive {
		return
	}
	k.nothingDue()
	k.advanceTo(w.Delivery.LeaseUntil)
}

func leaseReopen(k *kit) {
	made := k.create(withCards("chat-1", "chat-2"), expiresIn(core.MaxExpiry))
	works := k.due(2)
	k.begin(works[0]) // The other one was claimed only.
	k.abandoned(works[0])

	began, _ := k.claimOf(made.ID)
	require.Equal(k.t, works[0].Delivery.ID, began.Delivery.ID)
	require.Equal(k.t, core.DeliverySending, began.Delivery.State)
	require.True(k.t, began.Delivery.Ambiguous, "it may have arrived")
	require.True(k.t, began.Delivery.Unsettled)
	require.Greater(k.t, began.Delivery.Fence, works[0].Delivery.Fence)
	can, err := k.Adoptable(k.ctx, made.ID, adopt(began.Delivery.Address, "orphan"))
	require.NoError(k.t, err)
	require.True(k.t, can)
	only := k.reread(works[1])
	require.False(k.t, only.Ambiguous, "nothing had left the machine")
	require.Equal(k.t, core.DeliveryPlanned, only.State)
}

func leaseReopenLate(k *kit) {
	k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	k.abandoned(w)
	again := k.due(1)[0]
	k.lost(w)
	require.Equal(k.t, core.DeliveryOpen, k.show(again, "message-1").State)
}

func leaseReopenEdit(k *kit) {
	made := k.create(withCards("chat-1"), expiresIn(core.MaxExpiry))
	k.show(k.due(1)[0], "message-1")
	k.deny(made.ID)
	w := k.due(1)[0]
	k.begin(w)
	k.abandoned(w)
	d := k.finish(k.due(1)[0])
	require.Equal(k.t, core.DeliveryOpen, d.State, "what the dead process had sent may still be painted")
	require.False(k.t, d.Ambiguous)
	k.advanceTo(d.SettleAt)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
}

func beginMargin(k *kit) {
	k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.advanceTo(w.Delivery.LeaseUntil - 19_999)
	require.ErrorIs(k.t, k.Begin(k.ctx, beginOf(w)), core.ErrLeaseLost)
	require.Equal(k.t, core.DeliveryPlanned, k.reread(w).State, "nothing was said to be under way")
}

func beginRecords(k *kit) {
	k.create(func(c *core.NewApproval) {
		c.Deliveries = []core.PlannedDelivery{{
			ID: "d-1", Channel: core.SurfaceTelegram, Account: account, Destination: "person:alice", PersonID: "alice",
		}}
	})
	w := k.due(1)[0]
	require.Empty(k.t, w.Delivery.Address)
	b := beginOf(w)
	b.Address, b.Offered, b.ShownComplete, b.KeyID = "chat-1", []core.Decision{core.DecisionDeny}, false, "q"
	require.NoError(k.t, k.Begin(k.ctx, b))
	k.reopen()
	d := k.reread(w)
	require.Equal(k.t, core.DeliverySending, d.State)
	require.Equal(k.t, "chat-1", d.Address)
	require.Equal(k.t, "person:alice", d.Destination)
	require.Equal(k.t, "alice", d.PersonID)
	require.Equal(k.t, w.Approval.ActionHash, d.ShownHash)
	require.Equal(k.t, b.Offered, d.Offered)
	require.False(k.t, d.ShownComplete)
	require.Equal(k.t, "q", d.KeyID)
	require.Zero(k.t, d.ShownRevision, "nothing is shown before the receipt")
	require.Equal(k.t, int64(1), d.Attempts)
}

func beginDuplicate(k *kit) {
	made := k.create(func(c *core.NewApproval) {
		for _, id := range []string{"d-1", "d-2", "d-3"} {
			c.Deliveries = append(c.Deliveries, core.PlannedDelivery{
				ID: id, Channel: core.SurfaceTelegram, Account: account, Destination: "person:" + id,
			})
		}
		c.Deliveries[2].Account = otherAccount
	})
	works := k.due(3)
	for i := range works {
		works[i].Delivery.Address = "chat-1"
	}
	k.begin(works[0])
	require.ErrorIs(k.t, k.Begin(k.ctx, beginOf(works[1])), core.ErrConflict)
	d := k.reread(works[1])
	require.Equal(k.t, core.DeliveryClosed, d.State)
	require.Equal(k.t, core.OutcomeDuplicate, d.Outcome)
	require.Equal(k.t, core.StatusPending, k.read(made.ID).Status, "the other card is a route")
	k.begin(works[2])
	require.NoError(k.t, k.Complete(k.ctx, completeOf(works[0], "message-1")))
	// The same address under another approval is nobody's duplicate.
	k.create(withCards("chat-1"))
	k.begin(k.due(1)[0])
}

func dueAccounts(k *kit) {
	k.create(withCardsOf(account, "chat-1"), withCardsOf(otherAccount, "chat-1"))
	works, _ := k.claimDueAs(worker, 10)
	require.Empty(k.t, works)
	works, _ = k.claimDueAs(worker, 10, "bot-9")
	require.Empty(k.t, works)
	works, _ = k.claimDueAs(worker, 10, otherAccount)
	require.Len(k.t, works, 1)
	require.Equal(k.t, otherAccount, works[0].Delivery.Account)
	works, _, err := k.ClaimDue(k.ctx, core.ClaimDue{
		Worker: worker, Lease: lease, Limit: 10,
		Accounts: []core.AccountRef{{Channel: core.SurfaceSlack, Account: account}},
	})
	require.NoError(k.t, err)
	require.Empty(k.t, works, "the same account of another messenger")
	require.Len(k.t, k.due(1), 1)
}

func dueLimit(k *kit) {
	k.create(withCards("chat-1", "chat-2", "chat-3"))
	works, next := k.claimDue(2)
	require.Len(k.t, works, 2)
	require.True(k.t, next.Reached(k.now()), "more is due already")
	works, _ = k.claimDue(2)
	require.Len(k.t, works, 1)
}

func dueOrder(k *kit) {
	terminal := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	for range 5 {
		k.create(withCards("chat-2"))
	}
	k.advance(1_000)
	k.deny(terminal.ID)
	works, _ := k.claimDue(1)
	require.Len(k.t, works, 1)
	require.Equal(k.t, terminal.ID, works[0].Approval.ID)
	require.Equal(k.t, core.StatusDenied, works[0].Approval.Status)
}

func dueNext(k *kit) {
	_, next := k.claimDue(1)
	require.Zero(k.t, next)
	k.create(withCards("chat-1", "chat-2"))
	works := k.due(2)
	require.NoError(k.t, k.Release(k.ctx, releaseOf(works[0], 9_000, core.FailureTemporary)))
	require.NoError(k.t, k.Release(k.ctx, releaseOf(works[1], 5_000, core.FailureTemporary)))
	at := k.now()
	require.Equal(k.t, at+5_000, k.nothingDue())
	works, next = k.claimDueAs(worker, 10, "bot-9")
	require.Empty(k.t, works)
	require.Zero(k.t, next, "the rows of other accounts are not this worker's")
	k.advanceTo(at + 5_000)
	require.Len(k.t, k.due(1), 1)
}

func dueSkipped(k *kit) {
	made := k.create(withCards("chat-1"))
	k.deny(made.ID)
	w := k.due(1)[0]
	require.Equal(k.t, core.DeliveryPlanned, w.Delivery.State)
	require.Equal(k.t, core.StatusDenied, w.Approval.Status)
	_, err := k.Close(k.ctx, closeOf(w, core.OutcomeSkipped))
	require.NoError(k.t, err)
	d := k.reread(w)
	require.Equal(k.t, core.DeliveryClosed, d.State)
	require.Equal(k.t, core.OutcomeSkipped, d.Outcome)
	require.Zero(k.t, d.DueAt)
	require.Zero(k.t, k.nothingDue())
	require.Equal(k.t, core.ReasonUser, k.read(made.ID).Reason)
}

func dueEveryState(k *kit) {
	made := k.create(withCards("chat-1", "chat-2", "chat-3"))
	works, _ := k.claimDue(10)
	require.Len(k.t, works, 3)
	k.show(works[0], "message-1")
	require.NoError(k.t, k.Release(k.ctx, releaseOf(works[1], 3_600_000, core.FailureRateLimited)))
	k.fail(works[2], core.Reachability{})
	k.deny(made.ID)
	again := k.due(2)
	for _, w := range again {
		require.NotEqual(k.t, works[2].Delivery.ID, w.Delivery.ID, "a closed row stays closed")
	}
}

func dueUnknown(k *kit) {
	made := k.create()
	w := core.Work{Approval: made, Delivery: core.Delivery{ID: "nothing", Fence: 1, Address: "chat-1"}}
	for _, err := range []error{
		k.Begin(k.ctx, beginOf(w)), k.Complete(k.ctx, completeOf(w, "x")),
		k.Release(k.ctx, releaseOf(w, 0, core.FailureTemporary)),
	} {
		require.ErrorIs(k.t, err, oneOf(err, core.ErrLeaseLost, core.ErrNotFound))
	}
	_, err := k.RequestView(k.ctx, "nothing")
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.Replan(k.ctx, "nothing")
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.DeliveryAt(k.ctx, bot(account), "nothing")
	require.ErrorIs(k.t, err, core.ErrNotFound)
}
