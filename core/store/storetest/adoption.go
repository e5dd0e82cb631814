package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func adoptionSpecs() []spec {
	return []spec{
		{"a click on an orphan decides and ties it to its row", adoptDecides},
		{"a send that a crash cut off is adoptable", adoptLost},
		{"no adoption where any condition fails", adoptRefused},
		{"an adoption is undone with a decision that fails its guard", adoptGuarded},
		{"a loser's adoption reports the winner", adoptLoser},
		{"a repeated send's first message is adopted beside its second", adoptSecond},
		{"a receipt that comes after an adoption forgets neither message", adoptBeforeReceipt},
		{"a press that overtakes the receipt of a repeated send forgets no lost one", adoptBothEarly},
		{"a worker that claimed a card before its adoption neither repeats nor closes it", adoptHeld},
		{"a moved chat's orphan is found at either address", adoptMoved},
	}
}

func adopt(address, locator string) core.Adopt {
	return core.Adopt{Channel: core.SurfaceTelegram, Account: account, Address: address, Locator: locator}
}

// orphaned makes an approval whose first card was sent without an answer and
// whose second stands open.
func (k *kit) orphaned() core.Approval {
	k.t.Helper()
	made := k.create(withCards("chat-1", "chat-2"))
	works, _ := k.claimDue(10)
	for _, w := range works {
		if w.Approval.ID != made.ID { // Left over from what a subtest did before: settle it.
			k.finish(w)
			continue
		}
		if w.Delivery.Address == "chat-2" {
			k.show(w, "message-2 of "+made.ID)
			continue
		}
		k.begin(w)
		r := ambiguous(w)
		r.RetryIn = 600_000
		require.NoError(k.t, k.Release(k.ctx, r))
	}
	return made
}

// inDoubt sends the only card of an approval without an answer, and claims it again.
func (k *kit) inDoubt(id string) core.Work {
	k.t.Helper()
	first := k.due(1)[0]
	require.Equal(k.t, id, first.Approval.ID)
	k.begin(first)
	r := ambiguous(first)
	require.NoError(k.t, k.Release(k.ctx, r))
	k.advance(r.RetryIn)
	return k.due(1)[0]
}

func (k *kit) adopting(id string, a core.Adopt) core.Decide {
	c := k.answer(id, core.DecisionAllowOnce)
	c.To.Surface, c.Adopt = core.SurfaceTelegram, &a
	return c
}

func adoptDecides(k *kit) {
	made := k.orphaned()
	a := adopt("chat-1", "orphan")
	can, err := k.Adoptable(k.ctx, made.ID, a)
	require.NoError(k.t, err)
	require.True(k.t, can)
	got, err := k.Decide(k.ctx, k.adopting(made.ID, a))
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	require.Equal(k.t, core.StatusAllowed, got.Approval.Status)

	d, err := k.DeliveryAt(k.ctx, bot(account), "orphan")
	require.NoError(k.t, err)
	require.Equal(k.t, made.ID, d.ApprovalID)
	require.Equal(k.t, "chat-1", d.Address)
	require.Equal(k.t, core.DeliveryOpen, d.State)
	require.True(k.t, d.DueAt.Reached(k.now()), "its card is driven to the truth like any other")
	k.reopen()
	for _, w := range k.due(2) {
		require.Equal(k.t, core.OutcomeReplaced, k.finish(w).Outcome)
	}
	can, err = k.Adoptable(k.ctx, made.ID, a)
	require.NoError(k.t, err)
	require.False(k.t, can, "the message has a row now")
}

func adoptLost(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	// The process that sent it is gone, and its lease with it.
	k.advanceTo(w.Delivery.LeaseUntil)
	k.reopen()
	a := adopt("chat-1", "orphan")
	can, err := k.Adoptable(k.ctx, made.ID, a)
	require.NoError(k.t, err)
	require.True(k.t, can)
	got, err := k.Decide(k.ctx, k.adopting(made.ID, a))
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	require.Equal(k.t, "orphan", k.reread(w).Locator)
	k.lost(w)
}

// adoptHeld lets a worker go on with what it saw before a message was pressed: that there
// is none. The message is driven to the truth all the same.
func adoptHeld(k *kit) {
	for name, goOn := range map[string]func(w core.Work) error{
		"send again": func(w core.Work) error { return k.Begin(k.ctx, beginOf(w)) },
		"give it up as an orphan": func(w core.Work) error {
			_, err := k.Close(k.ctx, closeOf(w, core.OutcomePossibleOrphan))
			return err
		},
		"give it up as failed": func(w core.Work) error {
			c := closeOf(w, core.OutcomeFailed)
			c.BreakRoute = true
			_, err := k.Close(k.ctx, c)
			return err
		},
	} {
		made := k.create(withCards("chat-1"))
		w := k.inDoubt(made.ID)
		require.Empty(k.t, w.Delivery.Locator, name)
		locator := "orphan of " + made.ID
		got, err := k.Decide(k.ctx, k.adopting(made.ID, adopt("chat-1", locator)))
		require.NoError(k.t, err, name)
		require.True(k.t, got.Applied, name)

		require.ErrorIs(k.t, goOn(w), core.ErrLeaseLost, name)
		require.ErrorIs(k.t, k.Complete(k.ctx, completeOf(w, "second")), core.ErrLeaseLost, name)
		k.reopen()
		d := k.finish(k.due(1)[0])
		require.Equal(k.t, core.OutcomeReplaced, d.Outcome, name)
		require.Equal(k.t, locator, d.Locator, name)
		broken, err := k.BrokenRoutes(k.ctx)
		require.NoError(k.t, err, name)
		require.Empty(k.t, broken, "%s: a message that somebody pressed had arrived", name)
	}
}

func adoptRefused(k *kit) {
	made, other := k.orphaned(), k.orphaned()
	clean := k.create(withCards("chat-3"))
	wrongChannel, wrongAccount := adopt("chat-1", "orphan"), adopt("chat-1", "orphan")
	wrongChannel.Channel, wrongAccount.Account = core.SurfaceSlack, otherAccount
	cases := []struct {
		name string
		id   string
		a    core.Adopt
	}{
		{"another channel", made.ID, wrongChannel},
		{"another account", made.ID, wrongAccount},
		{"another address", made.ID, adopt("chat-9", "orphan")},
		{"an address whose send was answered", made.ID, adopt("chat-2", "orphan")},
		{"a message of this approval's other row", made.ID, adopt("chat-1", "message-2 of "+made.ID)},
		{"a message of another approval's row", made.ID, adopt("chat-1", "message-2 of "+other.ID)},
		{"a card that was never sent", clean.ID, adopt("chat-3", "orphan")},
	}
	for _, c := range cases {
		can, err := k.Adoptable(k.ctx, c.id, c.a)
		require.NoError(k.t, err, c.name)
		require.False(k.t, can, c.name)
		got, err := k.Decide(k.ctx, k.adopting(c.id, c.a))
		require.ErrorIs(k.t, err, core.ErrConflict, c.name)
		require.False(k.t, got.Applied, c.name)
		k.waits(c.id)
		_, err = k.DeliveryAt(k.ctx, bot(account), "orphan")
		require.ErrorIs(k.t, err, core.ErrNotFound, c.name)
	}
	k.allow(made.ID)
	k.allow(clean.ID)
}

func adoptGuarded(k *kit) {
	p := k.person("bob", core.RoleReviewer)
	made := k.orphaned()
	k.disable("bob")
	_, err := k.Decide(k.ctx, guarded(k.adopting(made.ID, adopt("chat-1", "orphan")), p))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	k.waits(made.ID)
	_, err = k.DeliveryAt(k.ctx, bot(account), "orphan")
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func adoptLoser(k *kit) {
	made := k.orphaned()
	won := k.deny(made.ID)
	got, err := k.Decide(k.ctx, k.adopting(made.ID, adopt("chat-1", "orphan")))
	require.NoError(k.t, err)
	require.False(k.t, got.Applied)
	require.Equal(k.t, won.Resolution, got.Approval.Resolution)
}

// The first send may have arrived; the second did. Each message has a row.
func adoptSecond(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	require.NoError(k.t, k.Release(k.ctx, ambiguous(w)))
	k.advance(1_000)
	k.show(k.due(1)[0], "message-2")
	got, err := k.Decide(k.ctx, k.adopting(made.ID, adopt("chat-1", "orphan")))
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	require.Equal(k.t, "message-2", k.reread(w).Locator)
	k.bothSettle(made.ID, "message-2", "orphan")
	d, err := k.DeliveryAt(k.ctx, bot(account), "orphan")
	require.NoError(k.t, err)
	require.Equal(k.t, got.Approval.DeliveryID, d.ID, "the clicked card is not elsewhere")
}

// The click on the first message comes while the second is being sent.
func adoptBeforeReceipt(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	require.NoError(k.t, k.Release(k.ctx, ambiguous(w)))
	k.advance(1_000)
	again := k.due(1)[0]
	k.begin(again)
	got, err := k.Decide(k.ctx, k.adopting(made.ID, adopt("chat-1", "orphan")))
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	require.NoError(k.t, k.Complete(k.ctx, completeOf(again, "message-2")))
	k.bothSettle(made.ID, "message-2", "orphan")
}

// bothSettle drives the two messages of one destination to the truth.
func (k *kit) bothSettle(id string, locators ...string) {
	k.t.Helper()
	for _, w := range k.due(len(locators)) {
		require.Equal(k.t, core.OutcomeReplaced, k.finish(w).Outcome)
	}
	for _, l := range locators {
		d, err := k.DeliveryAt(k.ctx, bot(account), l)
		require.NoError(k.t, err, l)
		require.Equal(k.t, id, d.ApprovalID)
		require.Equal(k.t, core.DeliveryClosed, d.State, l)
	}
}

// The first send was lost; the second one's message is pressed before its receipt
// is recorded, and the first one's after that.
func adoptBothEarly(k *kit) {
	made := k.create(withCards("chat-1"))
	k.begin(k.due(1)[0])
	k.reopen()
	if !k.Exclusive {
		k.advanceTo(k.delivery(made.ID, 0).LeaseUntil)
	}
	again := k.due(1)[0]
	k.begin(again)
	got, err := k.Decide(k.ctx, k.adopting(made.ID, adopt("chat-1", "message-2")))
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	require.NoError(k.t, k.Complete(k.ctx, completeOf(again, "message-2")))
	late, err := k.Decide(k.ctx, k.adopting(made.ID, adopt("chat-1", "orphan")))
	require.NoError(k.t, err)
	require.False(k.t, late.Applied)
	for _, locator := range []string{"message-2", "orphan"} {
		d, err := k.DeliveryAt(k.ctx, bot(account), locator)
		require.NoError(k.t, err, locator)
		require.Equal(k.t, core.DeliveryOpen, d.State)
		require.NotZero(k.t, d.DueAt, "it is driven to the truth")
	}
}

func adoptMoved(k *kit) {
	mover := k.create(withCards("chat-1"))
	made := k.create(withCards("chat-1"))
	works := k.due(2)
	for _, w := range works {
		k.begin(w)
	}
	for _, w := range works {
		r := ambiguous(w)
		if w.Approval.ID == mover.ID {
			r = moved(w, "chat-9")
		}
		require.NoError(k.t, k.Release(k.ctx, r))
	}
	for _, address := range []string{"chat-1", "chat-9"} {
		can, err := k.Adoptable(k.ctx, made.ID, adopt(address, "orphan"))
		require.NoError(k.t, err)
		require.True(k.t, can, address)
	}
}
