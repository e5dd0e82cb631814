package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func pacingSpecs() []spec {
	return []spec{
		{"a released row is due after its delay", releaseRetry},
		{"what was not sent goes back to where it was", releaseNotSent},
		{"an ambiguous send is repeated while pending", releaseAmbiguous},
		{"an ambiguous send of a decided row ends as a possible orphan", releaseOrphan},
		{"a failed terminal edit stays to be done", releaseTerminal},
		{"a block holds one address to the millisecond", blockAddress},
		{"a block of the account holds all its addresses", blockAccount},
		{"a decision does not break a block", blockOutranksDecision},
		{"a moved chat is followed", movedFollowed},
		{"a moved chat is followed by rows planned later", movedLater},
	}
}

func releaseRetry(k *kit) {
	k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	r := releaseOf(w, 5_000, core.FailureTemporary)
	r.NotSent = true
	require.NoError(k.t, k.Release(k.ctx, r))
	d := k.reread(w)
	require.Equal(k.t, k.now()+5_000, d.DueAt)
	require.Empty(k.t, d.LeaseHolder)
	require.Equal(k.t, core.FailureTemporary, d.LastError)
	require.Equal(k.t, "try again", d.LastErrorText)
	require.Equal(k.t, int64(1), d.Attempts)
	k.advance(4_999)
	k.nothingDue()
	k.advance(1)
	require.Len(k.t, k.due(1), 1)
}

func releaseNotSent(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	r := releaseOf(w, 0, core.FailureTemporary)
	r.NotSent = true
	require.NoError(k.t, k.Release(k.ctx, r))
	d := k.reread(w)
	require.Equal(k.t, core.DeliveryPlanned, d.State)
	require.False(k.t, d.Ambiguous)
	can, err := k.Adoptable(k.ctx, made.ID, adopt("chat-1", "stranger"))
	require.NoError(k.t, err)
	require.False(k.t, can, "nothing left this machine")

	// An edit that was not sent leaves the message open.
	k.show(k.due(1)[0], "message-1")
	k.deny(made.ID)
	w = k.due(1)[0]
	k.begin(w)
	r = releaseOf(w, 0, core.FailureTemporary)
	r.NotSent = true
	require.NoError(k.t, k.Release(k.ctx, r))
	require.Equal(k.t, core.DeliveryOpen, k.reread(w).State)
}

func ambiguous(w core.Work) core.ReleaseDelivery {
	r := releaseOf(w, 1_000, core.FailureAmbiguous)
	r.Ambiguous = true
	return r
}

func releaseAmbiguous(k *kit) {
	k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	require.NoError(k.t, k.Release(k.ctx, ambiguous(w)))
	require.True(k.t, k.reread(w).Ambiguous)
	k.advance(1_000)
	w = k.due(1)[0]
	require.True(k.t, w.Delivery.Ambiguous)
	k.begin(w)
	require.Equal(k.t, int64(2), k.reread(w).Attempts)
	require.NoError(k.t, k.Complete(k.ctx, completeOf(w, "message-2")))
	d := k.reread(w)
	require.Equal(k.t, core.DeliveryOpen, d.State)
	require.Zero(k.t, d.Attempts, "the next failure starts its backoff anew")
}

func releaseOrphan(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	require.NoError(k.t, k.Release(k.ctx, ambiguous(w)))
	k.deny(made.ID)
	w = k.due(1)[0]
	require.True(k.t, w.Delivery.Ambiguous)
	_, err := k.Close(k.ctx, closeOf(w, core.OutcomePossibleOrphan))
	require.NoError(k.t, err)
	d := k.reread(w)
	require.Equal(k.t, core.DeliveryClosed, d.State)
	require.Equal(k.t, core.OutcomePossibleOrphan, d.Outcome)
	can, err := k.Adoptable(k.ctx, made.ID, adopt("chat-1", "orphan"))
	require.NoError(k.t, err)
	require.True(k.t, can, "a click on it can still be explained")
}

func releaseTerminal(k *kit) {
	made := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	k.deny(made.ID)
	for range 3 {
		w := k.due(1)[0]
		k.begin(w)
		require.NoError(k.t, k.Release(k.ctx, releaseOf(w, 600_000, core.FailureTemporary)))
		require.Equal(k.t, core.DeliveryOpen, k.reread(w).State, "an edit in doubt is simply done again")
		k.advance(600_000)
	}
	require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
}

func limited(w core.Work, blockFor core.Millis) core.ReleaseDelivery {
	r := releaseOf(w, 0, core.FailureRateLimited)
	r.NotSent, r.BlockFor = true, blockFor
	return r
}

// claimOf one row of an approval; the others of the account go back at once.
func (k *kit) claimOnly(approvalID string) core.Work {
	k.t.Helper()
	works, _ := k.claimDue(50)
	var mine core.Work
	for _, w := range works {
		if w.Approval.ID == approvalID {
			mine = w
			continue
		}
		r := releaseOf(w, 0, core.FailureTemporary)
		r.NotSent = true
		require.NoError(k.t, k.Release(k.ctx, r))
	}
	require.Equal(k.t, approvalID, mine.Approval.ID)
	return mine
}

func blockAddress(k *kit) {
	first := k.create(withCards("chat-1"))
	same, beside := k.create(withCards("chat-1")), k.create(withCards("chat-2"))
	elsewhere := k.create(withCardsOf(otherAccount, "chat-1"))
	w := k.claimOnly(first.ID)
	k.begin(w)
	require.NoError(k.t, k.Release(k.ctx, limited(w, 5_000)))
	at := k.now()
	k.reopen()
	works := k.due(2)
	require.Equal(k.t, beside.ID, works[0].Approval.ID)
	require.Equal(k.t, elsewhere.ID, works[1].Approval.ID)
	for i, w := range works {
		k.show(w, []string{"message-2", "message-3"}[i])
	}
	require.Equal(k.t, at+5_000, k.nothingDue())
	k.advanceTo(at + 4_999)
	k.nothingDue()
	k.advanceTo(at + 5_000)
	works = k.due(2)
	require.Equal(k.t, first.ID, works[0].Approval.ID)
	require.Equal(k.t, same.ID, works[1].Approval.ID)
}

func blockAccount(k *kit) {
	first := k.create(withCards("chat-1"))
	k.create(withCards("chat-2"))
	elsewhere := k.create(withCardsOf(otherAccount, "chat-1"))
	w := k.claimOnly(first.ID)
	k.begin(w)
	r := limited(w, 5_000)
	r.BlockAll = true
	require.NoError(k.t, k.Release(k.ctx, r))
	works := k.due(1)
	require.Equal(k.t, elsewhere.ID, works[0].Approval.ID)
	k.show(works[0], "message-3")
	k.create(withCards("chat-3"))
	k.nothingDue()
	k.advance(5_000)
	k.due(3)
}

func blockOutranksDecision(k *kit) {
	made := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	_, err := k.RequestView(k.ctx, k.delivery(made.ID, 0).ID)
	require.NoError(k.t, err)
	w := k.due(1)[0]
	require.NoError(k.t, k.Release(k.ctx, limited(w, 5_000)))
	k.advance(1_000)
	k.deny(made.ID)
	k.nothingDue()
	k.advance(4_000)
	require.Equal(k.t, core.StatusDenied, k.due(1)[0].Approval.Status)
}

func moved(w core.Work, to string) core.ReleaseDelivery {
	r := releaseOf(w, 0, core.FailureMoved)
	r.NotSent, r.Address = true, to
	return r
}

func movedFollowed(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	require.NoError(k.t, k.Release(k.ctx, moved(w, "chat-9")))
	w = k.due(1)[0]
	require.Equal(k.t, "chat-9", w.Delivery.Address)
	k.show(w, "message-1")
	found, err := k.DeliveryAt(k.ctx, bot(account), "message-1")
	require.NoError(k.t, err)
	require.Equal(k.t, "chat-9", found.Address)
	require.Equal(k.t, made.ID, found.ApprovalID)
}

func movedLater(k *kit) {
	k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	require.NoError(k.t, k.Release(k.ctx, moved(w, "chat-9")))
	k.show(k.due(1)[0], "message-1")
	later := k.create(withCardsOf(account, "chat-1"), withCardsOf(otherAccount, "chat-1"))
	k.reopen()
	works := k.due(2)
	require.Equal(k.t, later.ID, works[0].Approval.ID)
	require.Equal(k.t, "chat-9", works[0].Delivery.Address, "the address follows the chat")
	require.Equal(k.t, "chat-1", works[1].Delivery.Address, "another bot's chat did not move")
	d := k.show(works[0], "message-2")
	require.Equal(k.t, core.DeliveryOpen, d.State)
}
