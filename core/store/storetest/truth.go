package storetest

import (
	"maps"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// truthSpecs show that a card follows whatever the record says later, also after
// the gate itself has its final answer.
func truthSpecs() []spec {
	return []spec{
		{"only what a reader can see raises the card revision", truthCardRevision},
		{"a grant taken back edits the closed card again", truthVoided},
		{"a grant taken back is told beside a card that cannot be edited", truthVoidedBeside},
		{"a runner's silence edits the closed card again", truthSilent},
		{"a late click on an orphan drives it to the truth", truthLateOrphan},
		{"a decision never waits behind the backoff of an older card", truthSeenRevision},
		{"lanes keep edits and cards apart", truthLanes},
		{"a lane has the rows of its approvals, whatever became of them", truthLanesOfAll},
		{"a broken direct chat is told with the close that found it", truthBrokenRoute},
		{"C104 equal addresses are one card from the start", truthPlannedTwice},
		{"C104 a chat that moved to where a card is ends as a duplicate", truthMovedOnto},
		{"a chat that moves back is where it was", truthMovedBack},
		{"a deadline outranks an abort, a newer epoch and a successor", truthDeadlineFirst},
		{"a damaged row stands in nobody's way", truthDamagedRow},
		{"maintenance of many rows leaves nothing behind", truthMany},
	}
}

func truthCardRevision(k *kit) {
	made := k.create()
	allowed := k.allow(made.ID)
	claimed := k.claim(allowed, "token")
	done, err := k.Report(k.ctx, reportOf(claimed, "token", core.ExecutionSucceeded))
	require.NoError(k.t, err)
	require.Greater(k.t, allowed.CardRevision, made.CardRevision)
	require.Equal(k.t, allowed.CardRevision, claimed.CardRevision)
	require.Equal(k.t, allowed.CardRevision, done.CardRevision)
	require.Greater(k.t, claimed.Revision, allowed.Revision)
	require.Greater(k.t, done.Revision, claimed.Revision)
}

// closedCard makes an allowed approval whose only card shows it and is closed.
func (k *kit) closedCard() core.Approval {
	k.t.Helper()
	made := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message of "+made.ID)
	allowed := k.allow(made.ID)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
	require.Zero(k.t, k.nothingDue())
	return allowed
}

// shownAgain requires that the closed card became due and closes on the newest.
func (k *kit) shownAgain(id string) {
	k.t.Helper()
	n, _ := k.unconverged()
	require.Equal(k.t, 1, n)
	w := k.due(1)[0]
	require.Equal(k.t, id, w.Approval.ID)
	d := k.finish(w)
	require.Equal(k.t, core.OutcomeReplaced, d.Outcome)
	require.Equal(k.t, k.read(id).CardRevision, d.ShownRevision)
	require.Zero(k.t, k.nothingDue())
}

func truthVoided(k *kit) {
	allowed := k.closedCard()
	k.advanceTo(allowed.ClaimBy)
	hints, err := k.Sweep(k.ctx, 10)
	require.NoError(k.t, err)
	require.Len(k.t, hints, 1)
	require.True(k.t, hints[0].Deliveries)
	require.Greater(k.t, k.read(allowed.ID).CardRevision, allowed.CardRevision)
	k.shownAgain(allowed.ID)
}

// The chat of a message that could not be edited was told "allowed" beside it; it is
// told as well that the grant lapsed.
func truthVoidedBeside(k *kit) {
	for _, outcome := range []core.DeliveryOutcome{core.OutcomeRetired, core.OutcomeUnsupported} {
		made := k.create(withCards("chat-1"))
		k.show(k.due(1)[0], "message of "+made.ID)
		allowed := k.allow(made.ID)
		w := k.due(1)[0]
		c := completeOf(w, "")
		c.ShownRevision, c.Step, c.Then = w.Delivery.ShownRevision, core.StepFollowup, outcome
		k.begin(w)
		require.NoError(k.t, k.Complete(k.ctx, c))
		told := func() {
			w := k.due(1)[0]
			require.Equal(k.t, core.StepFollowup, w.Delivery.Step)
			require.Equal(k.t, outcome, w.Delivery.ClosesAs)
			k.begin(w)
			_, err := k.Close(k.ctx, closeOf(w, outcome))
			require.NoError(k.t, err)
			require.Equal(k.t, outcome, k.reread(w).Outcome)
			require.Zero(k.t, k.nothingDue())
		}
		told()
		k.advanceTo(allowed.ClaimBy)
		k.sweep(10)
		told()
	}
}

func truthSilent(k *kit) {
	claimed := k.claim(k.closedCard(), "token")
	require.Zero(k.t, k.nothingDue(), "a claim is no news for a reader")
	k.advanceTo(claimed.OutcomeBy)
	k.sweep(10)
	k.shownAgain(claimed.ID)
}

func truthLateOrphan(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.begin(w)
	require.NoError(k.t, k.Release(k.ctx, ambiguous(w)))
	won := k.deny(made.ID)
	_, err := k.Close(k.ctx, closeOf(k.due(1)[0], core.OutcomePossibleOrphan))
	require.NoError(k.t, err)
	got, err := k.Decide(k.ctx, k.adopting(made.ID, adopt("chat-1", "orphan")))
	require.NoError(k.t, err)
	require.False(k.t, got.Applied)
	require.Equal(k.t, won.Resolution, got.Approval.Resolution)
	d, err := k.DeliveryAt(k.ctx, bot(account), "orphan")
	require.NoError(k.t, err)
	require.Equal(k.t, core.DeliveryOpen, d.State)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
}

func truthSeenRevision(k *kit) {
	made := k.create(withCards("chat-1", "chat-2"))
	works := k.due(2)
	for _, w := range works {
		k.begin(w)
	}
	k.deny(made.ID)
	patient := releaseOf(works[0], 600_000, core.FailureTemporary)
	patient.SeenRevision = made.CardRevision
	require.NoError(k.t, k.Release(k.ctx, patient))
	blocked := releaseOf(works[1], 600_000, core.FailureRateLimited)
	blocked.SeenRevision, blocked.BlockFor = made.CardRevision, 5_000
	require.NoError(k.t, k.Release(k.ctx, blocked))
	at := k.now()
	again := k.due(1)[0]
	require.Equal(k.t, works[0].Delivery.ID, again.Delivery.ID)
	require.Equal(k.t, core.StatusDenied, again.Approval.Status)
	k.advanceTo(at + 5_000)
	again = k.due(1)[0]
	require.Equal(k.t, works[1].Delivery.ID, again.Delivery.ID, "a block is obeyed all the same")

	// A worker that saw the newest card backs off as it says.
	newest := releaseOf(again, 60_000, core.FailureTemporary)
	newest.SeenRevision = again.Approval.CardRevision
	require.NoError(k.t, k.Release(k.ctx, newest))
	require.Equal(k.t, k.now()+60_000, k.reread(again).DueAt)
}

func truthLanes(k *kit) {
	terminal := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	k.deny(terminal.ID)
	pending := k.create(withCards("chat-2"))
	inLane := func(lane core.DeliveryLane) []core.Work {
		works, next, err := k.ClaimDue(k.ctx, core.ClaimDue{
			Worker: worker, Accounts: []core.AccountRef{bot(account)}, Lease: lease, Limit: 10, Lane: lane,
		})
		require.NoError(k.t, err)
		require.False(k.t, next.Reached(k.now()), "all that is due in the lane was taken")
		return works
	}
	works := inLane(core.LaneCards)
	require.Len(k.t, works, 1)
	require.Equal(k.t, pending.ID, works[0].Approval.ID)
	works = inLane(core.LaneEdits)
	require.Len(k.t, works, 1)
	require.Equal(k.t, terminal.ID, works[0].Approval.ID)
	require.Empty(k.t, inLane(core.LaneAny))
}

// Each row that is due is in the lane of its approval, whatever became of it before.
func truthLanesOfAll(k *kit) {
	inLane := func(lane core.DeliveryLane) map[string]core.Status {
		works, _, err := k.ClaimDue(k.ctx, core.ClaimDue{
			Worker: worker, Accounts: []core.AccountRef{bot(account)}, Lease: lease, Limit: 50, Lane: lane,
		})
		require.NoError(k.t, err)
		found := map[string]core.Status{}
		for _, w := range works {
			found[w.Delivery.ID] = w.Approval.Status
		}
		return found
	}
	pending, terminal := map[string]core.Status{}, map[string]core.Status{}
	// become makes a card, does something to it, and decides a second one of the kind.
	become := func(do func(id string)) {
		for _, ended := range []bool{false, true} {
			made := k.create(withCards("chat-1"), expiresIn(core.MaxExpiry))
			do(made.ID)
			if ended {
				k.deny(made.ID)
				terminal[k.delivery(made.ID, 0).ID] = core.StatusDenied
			} else {
				pending[k.delivery(made.ID, 0).ID] = core.StatusPending
			}
		}
	}
	open := func(id string) { k.show(k.claimOnly(id), "message of "+id) }
	become(func(string) {})  // Nothing: it was never taken up.
	become(func(id string) { // A send that never left.
		w := k.claimOnly(id)
		k.begin(w)
		r := releaseOf(w, 0, core.FailureTemporary)
		r.NotSent = true
		require.NoError(k.t, k.Release(k.ctx, r))
	})
	become(func(id string) { // A send that nobody knows about.
		w := k.claimOnly(id)
		k.begin(w)
		r := ambiguous(w)
		r.RetryIn = 0
		require.NoError(k.t, k.Release(k.ctx, r))
	})
	become(func(id string) { // All of it was asked for.
		open(id)
		_, err := k.RequestView(k.ctx, k.delivery(id, 0).ID)
		require.NoError(k.t, err)
	})
	become(func(id string) { // Its worker was late: it is painted once more.
		k.claimOnly(id)
		k.advance(lease + 1)
		open(id)
	})
	k.advance(lease + core.Millis((core.CallTimeout + core.SettleMargin).Milliseconds()))
	require.Equal(k.t, pending, inLane(core.LaneCards))
	require.Equal(k.t, terminal, inLane(core.LaneEdits))
	require.Empty(k.t, inLane(core.LaneAny))
	k.advance(lease)
	all := maps.Clone(pending)
	maps.Copy(all, terminal)
	require.Equal(k.t, all, inLane(core.LaneAny), "all of them, once their leases have run out")
}

func truthBrokenRoute(k *kit) {
	k.person("bob", core.RoleReviewer)
	k.person("eve", core.RoleReviewer)
	k.link("bob", "42")
	k.link("eve", "43")
	k.create(withReviewers("bob"), func(c *core.NewApproval) {
		c.Deliveries = []core.PlannedDelivery{{
			ID: "d-1", Channel: core.SurfaceTelegram, Account: account, Destination: "person:bob", PersonID: "bob", Address: "42",
		}}
	})
	c := closeOf(k.due(1)[0], core.OutcomeFailed)
	c.BreakRoute = true
	_, err := k.Close(k.ctx, c)
	require.NoError(k.t, err)
	broken := func(id string) core.FailureClass {
		links, err := k.IdentitiesOf(k.ctx, id)
		require.NoError(k.t, err)
		require.Len(k.t, links, 1)
		return links[0].Broken
	}
	require.Equal(k.t, core.FailureGone, broken("bob"))
	require.Equal(k.t, core.FailureNone, broken("eve"))
	k.link("bob", "42")
	require.Equal(k.t, core.FailureNone, broken("bob"), "a new link clears it")
}

func truthPlannedTwice(k *kit) {
	made := k.create(withCards("chat-1", "chat-1"), withCardsOf(otherAccount, "chat-1"))
	rows, err := k.DeliveriesOf(k.ctx, made.ID)
	require.NoError(k.t, err)
	require.Len(k.t, rows, 3)
	states := map[core.DeliveryOutcome]int{}
	for _, d := range rows {
		states[d.Outcome]++
	}
	require.Equal(k.t, map[core.DeliveryOutcome]int{core.OutcomeNone: 2, core.OutcomeDuplicate: 1}, states)
	require.Len(k.t, k.due(2), 2)
}

func truthMovedOnto(k *kit) {
	made := k.create(withCards("chat-1", "chat-9"))
	works := k.due(2)
	k.show(works[1], "message-9")
	k.begin(works[0])
	require.NoError(k.t, k.Release(k.ctx, moved(works[0], "chat-9")))
	d := k.reread(works[0])
	require.Equal(k.t, core.DeliveryClosed, d.State)
	require.Equal(k.t, core.OutcomeDuplicate, d.Outcome)
	k.waits(made.ID)
	require.Zero(k.t, k.nothingDue())
}

func truthMovedBack(k *kit) {
	k.create(withCards("chat-1"))
	w := k.due(1)[0]
	for _, to := range []string{"chat-9", "chat-1", "chat-9", "chat-1"} {
		k.begin(w)
		require.NoError(k.t, k.Release(k.ctx, moved(w, to)))
		w = k.due(1)[0]
		require.Equal(k.t, to, w.Delivery.Address)
	}
	k.create(withCards("chat-9"))
	require.Equal(k.t, "chat-1", k.due(1)[0].Delivery.Address)
}

func truthDeadlineFirst(k *kit) {
	one := k.register("instance", "boot-1")
	ofRun := k.create(expiresIn(1_000), withRun("run-1"))
	ofInstance := k.create(expiresIn(1_000), withInstance("instance", one.Epoch))
	replaced := k.create(expiresIn(1_000))
	lapsing := k.allow(k.create(withRun("run-2")).ID)
	k.advance(1_000)
	_, _, err := k.AbortRun(k.ctx, ownRuntime, "run-1")
	require.NoError(k.t, err)
	k.register("instance", "boot-2")
	_, err = k.Create(k.ctx, k.ask(supersedes(replaced.ID)))
	require.NoError(k.t, err)
	for _, a := range []core.Approval{ofRun, ofInstance, replaced} {
		require.Equal(k.t, core.StatusExpired, k.read(a.ID).Status)
		k.events(a.ID, core.EventRequested, core.EventExpired)
	}
	k.advanceTo(lapsing.ClaimBy)
	_, _, err = k.AbortRun(k.ctx, ownRuntime, "run-2")
	require.NoError(k.t, err)
	require.Equal(k.t, core.VoidLapsed, k.read(lapsing.ID).VoidReason)
}

func truthDamagedRow(k *kit) {
	bad := k.create(expiresIn(1_000), withCards("chat-1"), withRun("run-1"))
	good := k.create(expiresIn(2_000), withCards("chat-2"), withRun("run-1"))
	k.h.Corrupt(k.tb, bad.ID, DamageContent)

	works, _ := k.claimDue(1)
	require.Len(k.t, works, 1, "its card does not hold up the others")
	require.Equal(k.t, good.ID, works[0].Approval.ID)
	k.show(works[0], "message-2")
	_, err := k.Close(k.ctx, closeOf(k.due(1)[0], core.OutcomeSkipped)) // It was never shown.
	require.NoError(k.t, err)
	k.nothingDue()
	k.buried(bad)

	k.advance(2_000)
	require.Equal(k.t, map[string]bool{good.ID: true}, k.sweep(1))
	require.Empty(k.t, k.sweep(1))
	k.retention()
	require.Equal(k.t, 2, k.prune(10))
	k.gone(good.ID)
	k.gone(bad.ID)
}

// manyRows is more than a store may want to change in one write.
const manyRows = 120

func truthMany(k *kit) {
	one := k.register("instance", "boot-1")
	for range manyRows {
		k.create(expiresIn(1_000))
		k.create(withInstance("instance", one.Epoch), expiresIn(core.MaxExpiry))
	}
	k.advance(1_000)
	require.Len(k.t, k.sweep(10_000), manyRows)
	_, hints, err := k.RegisterInstance(k.ctx, core.RegisterInstance{Runtime: ownRuntime, Instance: "instance", BootID: "boot-2"})
	require.NoError(k.t, err)
	require.Len(k.t, ids(hints), manyRows)
	require.Empty(k.t, k.list(core.ListQuery{Status: core.StatusPending}).Approvals)
	k.retention()
	require.Equal(k.t, 2*manyRows, k.prune(10_000))
	require.Empty(k.t, k.list(core.ListQuery{}).Approvals)
}
