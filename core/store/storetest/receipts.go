package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func receiptSpecs() []spec {
	return []spec{
		{"a receipt opens the row and finds its message", receiptOpens},
		{"C110 a card that moved on during the send is due at once", receiptMovedOn},
		{"a terminal edit closes the row", receiptCloses},
		{"a pending card is never closed by a receipt", receiptPendingStays},
		{"an older card does not close the row", receiptOlder},
		{"C113 a card that cannot be edited gets a follow-up", receiptFollowup},
		{"R195 a platform without edits gets a follow-up", receiptUnsupported},
		{"a taken over row is painted once more before it closes", receiptUnsettled},
		{"a taken over pending row settles as well", receiptUnsettledPending},
		{"show all is due until it is shown", receiptView},
		{"a new message takes the place of one that is gone", receiptMessageReplaced},
		{"show all needs an open row", receiptViewClosed},
		{"a failed row is planned again by an admin", receiptReplan},
		{"a closed message still answers clicks", receiptClosedFound},
		{"unconverged counts what does not show the record", receiptUnconverged},
	}
}

func receiptOpens(k *kit) {
	made := k.create(withCards("chat-1"))
	d := k.show(k.due(1)[0], "message-1")
	require.Equal(k.t, core.DeliveryOpen, d.State)
	require.Equal(k.t, made.CardRevision, d.ShownRevision)
	require.Zero(k.t, d.DueAt)
	require.Empty(k.t, d.LeaseHolder)
	require.False(k.t, d.NeedsWork(&made))
	found, err := k.DeliveryAt(k.ctx, bot(account), "message-1")
	require.NoError(k.t, err)
	require.Equal(k.t, d, found)
	for _, ref := range []core.AccountRef{bot(otherAccount), {Channel: core.SurfaceSlack, Account: account}} {
		_, err = k.DeliveryAt(k.ctx, ref, "message-1")
		require.ErrorIs(k.t, err, core.ErrNotFound)
	}
	_, err = k.DeliveryAt(k.ctx, bot(account), "")
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func receiptMovedOn(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	k.advance(1_000)
	got := k.deny(made.ID)
	require.NoError(k.t, k.Complete(k.ctx, completeOf(w, "message-1")))
	d := k.reread(w)
	require.Equal(k.t, core.DeliveryOpen, d.State)
	require.True(k.t, d.DueAt.Reached(k.now()))
	require.Less(k.t, d.ShownRevision, got.CardRevision)
	again := k.due(1)[0]
	require.Equal(k.t, got.CardRevision, again.Approval.CardRevision)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(again).Outcome)
}

func receiptCloses(k *kit) {
	made := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	got := k.deny(made.ID)
	d := k.finish(k.due(1)[0])
	require.Equal(k.t, core.DeliveryClosed, d.State)
	require.Equal(k.t, core.OutcomeReplaced, d.Outcome)
	require.Equal(k.t, got.CardRevision, d.ShownRevision)
	require.Equal(k.t, "message-1", d.Locator, "an empty locator leaves it as it is")
	require.Zero(k.t, d.DueAt)
	require.Zero(k.t, k.nothingDue())
	k.reopen()
	require.Equal(k.t, d, k.delivery(made.ID, 0))
}

func receiptPendingStays(k *kit) {
	k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	c := completeOf(w, "message-1")
	c.Final = core.OutcomeReplaced
	require.NoError(k.t, k.Complete(k.ctx, c))
	d := k.reread(w)
	require.Equal(k.t, core.DeliveryOpen, d.State)
	require.Equal(k.t, core.OutcomeNone, d.Outcome)
}

func receiptOlder(k *kit) {
	made := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	k.deny(made.ID)
	w := k.due(1)[0]
	k.begin(w)
	c := completeOf(w, "")
	c.ShownRevision, c.Final = made.CardRevision, core.OutcomeReplaced
	require.NoError(k.t, k.Complete(k.ctx, c))
	d := k.reread(w)
	require.Equal(k.t, core.DeliveryOpen, d.State)
	require.True(k.t, d.DueAt.Reached(k.now()))
}

func receiptFollowup(k *kit)    { k.followup(core.OutcomeRetired) }
func receiptUnsupported(k *kit) { k.followup(core.OutcomeUnsupported) }

func (k *kit) followup(outcome core.DeliveryOutcome) {
	k.t.Helper()
	made := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	k.deny(made.ID)
	w := k.due(1)[0]
	k.begin(w)
	c := completeOf(w, "")
	c.ShownRevision, c.Step, c.Then = w.Delivery.ShownRevision, core.StepFollowup, outcome
	require.NoError(k.t, k.Complete(k.ctx, c))
	d := k.reread(w)
	require.Equal(k.t, core.DeliveryOpen, d.State, "it stays open until the follow-up is sent")
	require.Equal(k.t, core.StepFollowup, d.Step)
	require.Equal(k.t, outcome, d.ClosesAs)
	require.True(k.t, d.DueAt.Reached(k.now()))
	k.reopen()

	w = k.due(1)[0]
	require.Equal(k.t, core.StepFollowup, w.Delivery.Step)
	require.NoError(k.t, k.Release(k.ctx, releaseOf(w, 1_000, core.FailureTemporary)))
	require.Equal(k.t, core.StepFollowup, k.reread(w).Step, "a failed follow-up is tried again")
	k.advance(1_000)
	w = k.due(1)[0]
	c = completeOf(w, "")
	c.Step, c.Then, c.Final = core.StepFollowup, outcome, outcome
	require.NoError(k.t, k.Complete(k.ctx, c))
	d = k.reread(w)
	require.Equal(k.t, core.DeliveryClosed, d.State)
	require.Equal(k.t, outcome, d.Outcome)
	require.Zero(k.t, k.nothingDue())
}

// takeOver lets the lease of a begun row run out and gives the row to the other
// worker.
func (k *kit) takeOver(w core.Work) core.Work {
	k.t.Helper()
	k.begin(w)
	k.advanceTo(k.reread(w).LeaseUntil)
	works, _ := k.claimDueAs(otherWorker, 10, account)
	require.Len(k.t, works, 1)
	require.True(k.t, works[0].TakenOver)
	return works[0]
}

func receiptUnsettled(k *kit) {
	made := k.create(withCards("chat-1"), expiresIn(core.MaxExpiry))
	k.show(k.due(1)[0], "message-1")
	k.deny(made.ID)
	w := k.takeOver(k.due(1)[0])
	taken := k.now()
	d := k.finish(w)
	require.Equal(k.t, core.DeliveryOpen, d.State, "the stale holder may still paint")
	require.True(k.t, d.Unsettled)
	require.Equal(k.t, taken+core.Millis((core.CallTimeout+core.SettleMargin).Milliseconds()), d.SettleAt)
	require.Equal(k.t, d.SettleAt, k.nothingDue())
	k.advanceTo(d.SettleAt - 1)
	k.nothingDue()
	k.advanceTo(d.SettleAt)
	w = k.due(1)[0]
	require.False(k.t, w.TakenOver)
	d = k.finish(w)
	require.Equal(k.t, core.DeliveryClosed, d.State)
	require.Equal(k.t, core.OutcomeReplaced, d.Outcome)
	require.Zero(k.t, k.nothingDue())
}

func receiptUnsettledPending(k *kit) {
	made := k.create(withCards("chat-1"), expiresIn(core.MaxExpiry))
	w := k.takeOver(k.due(1)[0])
	d := k.show(w, "message-2")
	require.Equal(k.t, core.DeliveryOpen, d.State)
	require.True(k.t, d.NeedsWork(&made))
	require.Equal(k.t, d.SettleAt, d.DueAt)
	k.advanceTo(d.SettleAt)
	d = k.show(k.due(1)[0], "")
	require.False(k.t, d.Unsettled)
	require.Zero(k.t, d.DueAt)
	require.Equal(k.t, "message-2", d.Locator)
}

func receiptView(k *kit) {
	made := k.create(withCards("chat-1"))
	d := k.show(k.due(1)[0], "message-1")
	hint, err := k.RequestView(k.ctx, d.ID)
	require.NoError(k.t, err)
	require.Equal(k.t, made.ID, hint.ApprovalID)
	require.True(k.t, hint.Deliveries)
	w := k.due(1)[0]
	require.Equal(k.t, int64(1), w.Delivery.View)
	require.Zero(k.t, w.Delivery.ShownView)
	k.begin(w)
	c := completeOf(w, "")
	c.ShownView = 0
	require.NoError(k.t, k.Complete(k.ctx, c))
	require.True(k.t, k.reread(w).DueAt.Reached(k.now()), "not shown yet")
	w = k.due(1)[0]
	d = k.show(w, "")
	require.Equal(k.t, int64(1), d.ShownView)
	require.Zero(k.t, d.DueAt)
	_, err = k.RequestView(k.ctx, d.ID)
	require.NoError(k.t, err)
	require.Zero(k.t, k.reread(w).DueAt, "it is there already")
	require.Equal(k.t, made.CardRevision, k.read(made.ID).CardRevision, "no other card changes")
}

// A pending card whose message was deleted is sent anew into the same row. Were the
// row to go on following the deleted message, each turn would post another card.
func receiptMessageReplaced(k *kit) {
	made := k.create(withCards("chat-1"))
	d := k.show(k.due(1)[0], "message-1")
	_, err := k.RequestView(k.ctx, d.ID)
	require.NoError(k.t, err)
	w := k.due(1)[0]
	b := beginOf(w)
	b.Edit = true
	require.NoError(k.t, k.Begin(k.ctx, b))
	require.NoError(k.t, k.Complete(k.ctx, completeOf(w, "message-2")))
	k.nothingDue()
	rows, err := k.DeliveriesOf(k.ctx, made.ID)
	require.NoError(k.t, err)
	require.Len(k.t, rows, 1)
	require.Equal(k.t, "message-2", rows[0].Locator)
	require.Equal(k.t, int64(1), rows[0].ShownView)
	k.deny(made.ID)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
	n, _ := k.unconverged()
	require.Zero(k.t, n)
}

func receiptViewClosed(k *kit) {
	made := k.create(withCards("chat-1", "chat-2"))
	works := k.due(2)
	_, err := k.RequestView(k.ctx, works[0].Delivery.ID)
	require.ErrorIs(k.t, err, core.ErrConflict)
	k.show(works[1], "message-2")
	k.deny(made.ID)
	again, _ := k.claimDue(10)
	require.NotEmpty(k.t, again)
	closed := k.finish(again[0])
	_, err = k.RequestView(k.ctx, closed.ID)
	require.ErrorIs(k.t, err, core.ErrConflict)
}

func receiptReplan(k *kit) {
	k.person("root", core.RoleAdmin)
	k.signIn("root")
	k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.fail(w, core.Reachability{PublicURL: true})
	failed := k.reread(w)
	require.Equal(k.t, core.OutcomeFailed, failed.Outcome)
	require.Equal(k.t, core.FailureGone, failed.LastError)
	require.Zero(k.t, failed.DueAt)
	_, err := k.Replan(k.ctx, failed.ID)
	require.NoError(k.t, err)
	_, err = k.Replan(k.ctx, failed.ID)
	require.ErrorIs(k.t, err, core.ErrConflict, "it is planned already")
	again := k.due(1)[0]
	require.Equal(k.t, failed.ID, again.Delivery.ID)
	require.Equal(k.t, failed.Generation+1, again.Delivery.Generation)
	require.Equal(k.t, core.DeliveryPlanned, again.Delivery.State)
	require.Equal(k.t, core.OutcomeNone, again.Delivery.Outcome)
	require.Greater(k.t, again.Delivery.Fence, w.Delivery.Fence)
	k.lost(w)
	require.Equal(k.t, core.DeliveryOpen, k.show(again, "message-1").State)
}

func receiptClosedFound(k *kit) {
	made := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	k.deny(made.ID)
	d := k.finish(k.due(1)[0])
	found, err := k.DeliveryAt(k.ctx, bot(account), "message-1")
	require.NoError(k.t, err)
	require.Equal(k.t, d, found)
}

func (k *kit) unconverged() (int, core.Millis) {
	k.t.Helper()
	n, oldest, err := k.Unconverged(k.ctx)
	require.NoError(k.t, err)
	return n, oldest
}

func receiptUnconverged(k *kit) {
	n, oldest := k.unconverged()
	require.Zero(k.t, n)
	require.Zero(k.t, oldest)
	made := k.create(withCards("chat-1", "chat-2"))
	for i, w := range k.due(2) {
		k.show(w, []string{"message-1", "message-2"}[i])
	}
	n, _ = k.unconverged()
	require.Zero(k.t, n)
	// The age counts from the change, not from the creation of the card.
	k.advance(60_000)
	k.deny(made.ID)
	k.advance(5_000)
	n, oldest = k.unconverged()
	require.Equal(k.t, 2, n)
	require.Equal(k.t, core.Millis(5_000), oldest)
	works := k.due(2)
	k.finish(works[0])
	require.NoError(k.t, k.Release(k.ctx, releaseOf(works[1], 1_000, core.FailureTemporary)))
	k.advance(1_000)
	n, oldest = k.unconverged()
	require.Equal(k.t, 1, n)
	require.Equal(k.t, core.Millis(6_000), oldest, "a retry does not make it younger")
	k.finish(k.due(1)[0])
	n, oldest = k.unconverged()
	require.Zero(k.t, n)
	require.Zero(k.t, oldest)
}
