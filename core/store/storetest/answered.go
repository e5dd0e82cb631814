package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// answeredSpecs: the answer to a click may show the final card itself, and a card
// whose edit takes long is told beside it.
func answeredSpecs() []spec {
	return []spec{
		{"the clicked row waits for its answer, the others are due at once", answeredDelays},
		{"a card that the answer showed closes its row", answeredCloses},
		{"an answer that was lost leaves the row due after its delay", answeredLost},
		{"an answer that will not come leaves the row due at once", answeredNever},
		{"a card that moved on is due, by answer or after the delay", answeredMovedOn},
		{"nothing hastens a row that waits for its answer", answeredNotHastened},
		{"a row that was being painted at the decision is painted once more", answeredWhilePainting},
		{"an adopted click waits for its answer", answeredAdopted},
		{"a repeated send's first message waits for its answer", answeredTwin},
		{"no decision, no delay", answeredLoser},
		{"an answer that comes late or to nothing changes nothing", answeredLate},
		{"no edit before the platform takes one, whatever happens", editHeld},
		{"an edit that takes long is told beside the card, once", editTold},
		{"an edit that takes short is told by itself", editShort},
		{"news of a card that was told is told as well", editToldAgain},
	}
}

const runOfCards = "run-1"

// clicked makes an approval with a shown card in each chat, and has the first one
// clicked where the answer may show the card.
func (k *kit) clicked(chats ...string) (core.Approval, core.Delivery) {
	k.t.Helper()
	made := k.create(withCards(chats...), withRun(runOfCards), expiresIn(core.MaxExpiry))
	for _, w := range k.due(len(chats)) {
		k.show(w, "message in "+w.Delivery.Address)
	}
	return k.click(made.ID)
}

func (k *kit) click(id string) (core.Approval, core.Delivery) {
	k.t.Helper()
	got, err := k.Decide(k.ctx, k.clickOn(id))
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	return got.Approval, k.delivery(id, 0)
}

func (k *kit) clickOn(id string) core.Decide {
	c := k.answer(id, core.DecisionAllowOnce)
	c.To.Surface, c.To.DeliveryID, c.AnswerDelay = core.SurfaceTelegram, k.delivery(id, 0).ID, core.AnswerDelay
	return c
}

func (k *kit) answered(d core.Delivery, revision int64) core.Delivery {
	k.t.Helper()
	hint, err := k.ShownByAnswer(k.ctx, d.ID, revision)
	require.NoError(k.t, err)
	require.Equal(k.t, core.Hint{ApprovalID: d.ApprovalID, Revision: k.read(d.ApprovalID).Revision, Deliveries: true}, hint)
	return k.delivery(d.ApprovalID, 0)
}

// abort takes the grant back, which the card says.
func (k *kit) abort() {
	k.t.Helper()
	_, hints, err := k.AbortRun(k.ctx, ownRuntime, runOfCards)
	require.NoError(k.t, err)
	require.Len(k.t, hints, 1)
}

func answeredDelays(k *kit) {
	a, d := k.clicked("chat-1", "chat-2", "chat-3")
	require.Equal(k.t, d.ID, a.DeliveryID)
	require.Equal(k.t, a.ResolvedAt+core.AnswerDelay, d.DueAt)
	require.Equal(k.t, d.DueAt, d.AnswerUntil)
	for _, w := range k.due(2) {
		require.NotEqual(k.t, d.ID, w.Delivery.ID)
		k.finish(w)
	}
	require.Equal(k.t, d.DueAt, k.nothingDue())
	k.reopen()
	k.advanceTo(d.DueAt - 1)
	k.nothingDue()
	k.advanceTo(d.DueAt)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
	require.Zero(k.t, k.nothingDue())
}

func answeredCloses(k *kit) {
	a, d := k.clicked("chat-1")
	k.advance(300)
	d = k.answered(d, a.CardRevision)
	require.Equal(k.t, core.DeliveryClosed, d.State)
	require.Equal(k.t, core.OutcomeReplaced, d.Outcome)
	require.Equal(k.t, a.CardRevision, d.ShownRevision)
	require.Zero(k.t, d.DueAt)
	require.Zero(k.t, k.nothingDue())
	n, _ := k.unconverged()
	require.Zero(k.t, n)
	require.Equal(k.t, d, k.answered(d, a.CardRevision), "repeating it changes nothing")
	k.abort() // It follows the record like any other.
	k.shownAgain(a.ID)
}

func answeredLost(k *kit) {
	a, d := k.clicked("chat-1")
	n, _ := k.unconverged()
	require.Equal(k.t, 1, n, "it counts as unconverged meanwhile")
	k.reopen() // The process that answers is gone.
	k.advanceTo(d.DueAt)
	w := k.due(1)[0]
	require.Equal(k.t, a.CardRevision, w.Approval.CardRevision)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(w).Outcome)
}

func answeredNever(k *kit) {
	_, d := k.clicked("chat-1")
	shown := d.ShownRevision
	d = k.answered(d, 0)
	require.Equal(k.t, core.DeliveryOpen, d.State)
	require.Equal(k.t, shown, d.ShownRevision)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
}

func answeredMovedOn(k *kit) {
	a, d := k.clicked("chat-1")
	k.abort()
	require.Equal(k.t, d.DueAt, k.delivery(a.ID, 0).DueAt)
	k.nothingDue()
	d = k.answered(d, a.CardRevision)
	require.Equal(k.t, core.DeliveryOpen, d.State, "a wrong revision closes nothing")
	w := k.due(1)[0]
	require.Greater(k.t, w.Approval.CardRevision, a.CardRevision)
	require.Equal(k.t, w.Approval.CardRevision, k.finish(w).ShownRevision)
	require.Zero(k.t, k.nothingDue())
}

func answeredNotHastened(k *kit) {
	a, d := k.clicked("chat-1")
	k.abort()
	_, err := k.SweepDeliveries(k.ctx, core.Reachability{}, 100)
	require.NoError(k.t, err)
	_, err = k.RequestView(k.ctx, d.ID)
	require.NoError(k.t, err)
	require.Equal(k.t, d.DueAt, k.nothingDue())
	k.reopen()
	require.Equal(k.t, d.DueAt, k.nothingDue())
	k.advanceTo(d.DueAt)
	w := k.due(1)[0]
	require.Equal(k.t, k.read(a.ID).CardRevision, w.Approval.CardRevision, "the newest card")
	require.Equal(k.t, core.OutcomeReplaced, k.finish(w).Outcome)
}

// A worker that held the row at the decision paints at the same time as the answer.
func answeredWhilePainting(k *kit) {
	for _, receiptFirst := range []bool{true, false} {
		made := k.create(withCards("chat-1"))
		d := k.show(k.due(1)[0], "message of "+made.ID)
		_, err := k.RequestView(k.ctx, d.ID)
		require.NoError(k.t, err)
		w := k.due(1)[0]
		k.begin(w)
		a, d := k.click(made.ID)
		if receiptFirst {
			require.NoError(k.t, k.Complete(k.ctx, completeOf(w, "")))
			require.Equal(k.t, d.AnswerUntil, k.nothingDue())
		}
		got := k.answered(d, a.CardRevision)
		require.Equal(k.t, core.DeliveryOpen, got.State, "nobody knows which came last")
		if !receiptFirst {
			require.NoError(k.t, k.Release(k.ctx, releaseOf(w, 1_000, core.FailureTemporary)))
		}
		k.advanceTo(d.AnswerUntil)
		require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
		require.Zero(k.t, k.nothingDue())
	}
}

func answeredAdopted(k *kit) {
	made := k.orphaned()
	c := k.adopting(made.ID, adopt("chat-1", "orphan"))
	c.AnswerDelay = core.AnswerDelay
	got, err := k.Decide(k.ctx, c)
	require.NoError(k.t, err)
	d, err := k.DeliveryAt(k.ctx, bot(account), "orphan")
	require.NoError(k.t, err)
	require.Equal(k.t, d.ID, got.Approval.DeliveryID)
	require.Equal(k.t, got.Approval.ResolvedAt+core.AnswerDelay, d.DueAt)
	k.finish(k.due(1)[0])
	_, err = k.ShownByAnswer(k.ctx, d.ID, got.Approval.CardRevision)
	require.NoError(k.t, err)
	d, err = k.DeliveryAt(k.ctx, bot(account), "orphan")
	require.NoError(k.t, err)
	require.Equal(k.t, core.DeliveryClosed, d.State)
	require.Zero(k.t, k.nothingDue())
}

func answeredTwin(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	require.NoError(k.t, k.Release(k.ctx, ambiguous(w)))
	k.advance(1_000)
	k.show(k.due(1)[0], "second")
	c := k.adopting(made.ID, adopt("chat-1", "first"))
	c.AnswerDelay = core.AnswerDelay
	got, err := k.Decide(k.ctx, c)
	require.NoError(k.t, err)
	first, err := k.DeliveryAt(k.ctx, bot(account), "first")
	require.NoError(k.t, err)
	require.Equal(k.t, first.ID, got.Approval.DeliveryID)
	other := k.due(1)[0]
	require.Equal(k.t, "second", other.Delivery.Locator)
	k.finish(other)
	_, err = k.ShownByAnswer(k.ctx, first.ID, got.Approval.CardRevision)
	require.NoError(k.t, err)
	require.Zero(k.t, k.nothingDue())
}

func answeredLoser(k *kit) {
	made := k.create(withCards("chat-1"), expiresIn(60_000))
	k.show(k.due(1)[0], "message-1")
	k.deny(made.ID)
	got, err := k.Decide(k.ctx, k.clickOn(made.ID))
	require.NoError(k.t, err)
	require.False(k.t, got.Applied)
	require.Zero(k.t, k.delivery(made.ID, 0).AnswerUntil)
	k.finish(k.due(1)[0])

	made = k.create(withCards("chat-1"), expiresIn(60_000))
	k.show(k.due(1)[0], "message-2")
	k.advance(60_000)
	got, err = k.Decide(k.ctx, k.clickOn(made.ID))
	require.NoError(k.t, err)
	require.True(k.t, got.Expired)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
}

func answeredLate(k *kit) {
	a, d := k.clicked("chat-1")
	k.advanceTo(d.AnswerUntil)
	before := k.delivery(a.ID, 0)
	require.Equal(k.t, before, k.answered(d, a.CardRevision))
	k.finish(k.due(1)[0])
	_, err := k.ShownByAnswer(k.ctx, "unknown", a.CardRevision)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	waiting := k.create(withCards("chat-2"))
	shown := k.show(k.due(1)[0], "message-2")
	require.Equal(k.t, shown, k.answered(shown, waiting.CardRevision), "a card that was not clicked")
}

// held lets the platform refuse the edit of a claimed row for a while.
func (k *kit) held(w core.Work, long, retryIn core.Millis) core.Delivery {
	k.t.Helper()
	k.begin(w)
	r := releaseOf(w, retryIn, core.FailureRateLimited)
	r.EditFor = long
	require.NoError(k.t, k.Release(k.ctx, r))
	return k.reread(w)
}

func editHeld(k *kit) {
	made := k.create(withCards("chat-1"), withRun(runOfCards))
	d := k.show(k.due(1)[0], "message-1")
	_, err := k.RequestView(k.ctx, d.ID)
	require.NoError(k.t, err)
	d = k.held(k.due(1)[0], core.TellAfter, core.TellAfter)
	require.Equal(k.t, k.now()+core.TellAfter, d.EditAfter)
	require.Equal(k.t, d.EditAfter, d.DueAt)
	_, err = k.RequestView(k.ctx, d.ID)
	require.NoError(k.t, err)
	k.allow(made.ID)
	k.abort()
	require.Equal(k.t, d.EditAfter, k.nothingDue())
	k.advanceTo(d.EditAfter)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
}

func editTold(k *kit) {
	made := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	a := k.allow(made.ID)
	d := k.held(k.due(1)[0], 10*core.TellAfter, 10*core.TellAfter)
	require.Equal(k.t, d.EditAfter, d.DueAt, "a worker that wants to tell later says so")
	k.advanceTo(d.EditAfter)
	d = k.held(k.due(1)[0], 10*core.TellAfter, 0)
	require.Equal(k.t, k.now()+10*core.TellAfter, d.EditAfter)
	require.True(k.t, d.Telling(k.now(), true, a.CardRevision))
	k.reopen()
	w := k.due(1)[0]
	require.Equal(k.t, d.EditAfter, w.Delivery.EditAfter)
	require.NoError(k.t, k.Release(k.ctx, releaseOf(w, 1_000, core.FailureTemporary)))
	k.advance(1_000)
	w = k.due(1)[0]
	k.begin(w)
	c := completeOf(w, "")
	c.ShownRevision, c.Told = w.Delivery.ShownRevision, a.CardRevision
	require.NoError(k.t, k.Complete(k.ctx, c))
	d = k.reread(w)
	require.Equal(k.t, core.DeliveryOpen, d.State, "the row waits for the edit")
	require.Equal(k.t, a.CardRevision, d.ToldRevision)
	require.Equal(k.t, d.EditAfter, k.nothingDue())
	k.reopen()
	require.Equal(k.t, d.EditAfter, k.nothingDue(), "a restart does not repeat it")
	k.advanceTo(d.EditAfter)
	w = k.due(1)[0]
	require.False(k.t, w.Delivery.Telling(k.now(), true, a.CardRevision))
	require.Equal(k.t, core.OutcomeReplaced, k.finish(w).Outcome)
}

func editShort(k *kit) {
	made := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	a := k.allow(made.ID)
	d := k.held(k.due(1)[0], core.TellAfter, 0)
	require.False(k.t, d.Telling(k.now(), true, a.CardRevision))
	require.Equal(k.t, d.EditAfter, k.nothingDue())
}

func editToldAgain(k *kit) {
	made := k.create(withCards("chat-1"), withRun(runOfCards))
	k.show(k.due(1)[0], "message-1")
	a := k.allow(made.ID)
	k.held(k.due(1)[0], 10*core.TellAfter, 0)
	tell := func(revision int64) {
		w := k.due(1)[0]
		require.Equal(k.t, revision, w.Approval.CardRevision)
		k.begin(w)
		c := completeOf(w, "")
		c.ShownRevision, c.Told = w.Delivery.ShownRevision, revision
		require.NoError(k.t, k.Complete(k.ctx, c))
		k.nothingDue()
	}
	tell(a.CardRevision)
	k.abort()
	tell(k.read(a.ID).CardRevision)
	d := k.delivery(a.ID, 0)
	k.advanceTo(d.EditAfter)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
}
