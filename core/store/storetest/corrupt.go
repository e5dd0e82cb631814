package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func corruptSpecs() []spec {
	specs := []spec{
		{"C27 a forged outcome can never be claimed", corruptForged},
		{"damaged rows do not stop their neighbours", corruptNeighbours},
		{"C28 a damaged row keeps who may see it, and nobody where that is damaged", corruptVisible},
		{"C28 a damaged row is met once: reading a list writes nothing more", corruptOnce},
		{"C28 the cards of a damaged row are driven to its denial, and it is pruned", corruptCards},
		{"the cards of an answer whose record was damaged are driven to that", corruptAnswered},
		{"C28 a damaged row whose last card fails is denied for the damage", corruptFailed},
		{"a question whose record was damaged is answered when it is asked again", corruptKey},
	}
	for _, d := range []Damage{DamageContent, DamageShape} {
		specs = append(specs, spec{
			"C28 a row that was damaged in its " + string(d) + " after it was seen never runs", func(k *kit) { k.corruptSeen(d) },
		})
	}
	for name, meet := range meetings() {
		for _, d := range []Damage{DamageContent, DamageShape} {
			specs = append(specs, spec{
				"C28 a row that waits with damaged " + string(d) + " is denied by " + name, func(k *kit) { k.corruptMet(d, meet) },
			})
		}
	}
	return specs
}

// meetings are all ways to come across a damaged row that waits. None of them may
// allow, claim or show it.
func meetings() map[string]func(k *kit, a core.Approval) {
	return map[string]func(k *kit, a core.Approval){
		"a read by its id": func(*kit, core.Approval) {},
		"a read by its reference": func(k *kit, a core.Approval) {
			got, err := k.Approval(k.ctx, core.Lookup{Ref: a.Ref})
			require.NoError(k.t, err)
			require.Equal(k.t, core.StatusDenied, got.Status)
		},
		"whoever would allow it": func(k *kit, a core.Approval) {
			got, err := k.Decide(k.ctx, k.answer(a.ID, core.DecisionAllowOnce))
			require.NoError(k.t, err)
			require.False(k.t, got.Applied)
			require.Equal(k.t, core.StatusDenied, got.Approval.Status)
		},
		"whoever would deny it": func(k *kit, a core.Approval) {
			got, err := k.Decide(k.ctx, k.answer(a.ID, core.DecisionDeny))
			require.NoError(k.t, err)
			require.False(k.t, got.Applied)
		},
		"a claim": func(k *kit, a core.Approval) { k.refuseClaim(claimOf(a, "token")) },
		"a sweep at its deadline": func(k *kit, a core.Approval) {
			k.advanceTo(a.ExpiresAt)
			require.Equal(k.t, map[string]bool{a.ID: true}, k.sweep(10))
			require.Empty(k.t, k.sweep(10))
		},
		"a list at its deadline": func(k *kit, a core.Approval) {
			k.advanceTo(a.ExpiresAt)
			require.Equal(k.t, []string{a.ID}, idsOf(k.list(core.ListQuery{})))
		},
		"a read of its run at its deadline": func(k *kit, a core.Approval) {
			k.advanceTo(a.ExpiresAt)
			run, err := k.ReadRun(k.ctx, a.Runtime, a.RunID)
			require.NoError(k.t, err)
			require.Zero(k.t, run.Pending)
		},
		"the end of its run": func(k *kit, a core.Approval) {
			_, hints, err := k.AbortRun(k.ctx, a.Runtime, a.RunID)
			require.NoError(k.t, err)
			require.Equal(k.t, map[string]bool{a.ID: true}, ids(hints))
		},
		"a newer epoch": func(k *kit, a core.Approval) {
			_, hints, err := k.RegisterInstance(k.ctx, core.RegisterInstance{Runtime: a.Runtime, Instance: a.Instance, BootID: "boot-2"})
			require.NoError(k.t, err)
			require.Equal(k.t, map[string]bool{a.ID: true}, ids(hints))
		},
		"the worker of its cards": func(k *kit, a core.Approval) {
			works, _ := k.claimDue(10)
			require.Empty(k.t, works, "nothing true can be shown of it yet")
			works, _ = k.claimDue(10)
			require.Len(k.t, works, 1, "its card is due again at once")
			require.Equal(k.t, core.StatusDenied, works[0].Approval.Status)
		},
	}
}

// corruptMet requires that the row is denied by the meeting, whatever it was, and
// tells no more of what was asked.
func (k *kit) corruptMet(d Damage, meet func(*kit, core.Approval)) {
	k.t.Helper()
	one := k.register("instance", "boot-1")
	made := k.create(withInstance("instance", one.Epoch), withRun("run-1"), withCards("chat-1"))
	k.h.Corrupt(k.tb, made.ID, d)
	meet(k, made)
	k.buried(made)
}

// corruptSeen requires that nothing runs on the word of somebody who had seen the row
// sound. What the action hash is bound to is compared by the write itself; of the rest
// the claim makes sure.
func (k *kit) corruptSeen(d Damage) {
	k.t.Helper()
	k.seeing()
	p := k.person("bob", core.RoleAdmin)
	made := []core.Approval{k.create(), k.create()}
	for i, c := range []core.Decide{
		k.answer(made[0].ID, core.DecisionAllowOnce), guarded(k.answer(made[1].ID, core.DecisionAllowOnce), p),
	} {
		k.h.Corrupt(k.tb, made[i].ID, d)
		got, err := k.Decide(k.ctx, c)
		require.NoError(k.t, err)
		if d == DamageContent {
			require.False(k.t, got.Applied)
			k.buried(made[i])
		}
		_, err = k.Claim(k.ctx, claimOf(made[i], "token"))
		require.Error(k.t, err)
	}
}

// buried requires that a row was ended for the damage, and that nothing of what was
// asked is left in it.
func (k *kit) buried(made core.Approval) core.Approval {
	k.t.Helper()
	got := k.read(made.ID)
	require.Equal(k.t, core.StatusDenied, got.Status)
	require.Equal(k.t, core.DecisionDeny, got.Decision)
	require.Equal(k.t, core.ReasonStorageCorrupt, got.Reason)
	require.Equal(k.t, core.ResolverSystem, got.ResolverKind)
	require.Equal(k.t, k.now(), got.ResolvedAt)
	require.NotEqual(k.t, made.Presentation.Title, got.Presentation.Title)
	require.NotEqual(k.t, made.ActionHash, got.ActionHash)
	require.False(k.t, got.Offers(core.DecisionAllowOnce))
	require.Equal(k.t, made.Runtime, got.Runtime)
	require.Equal(k.t, made.Agent, got.Agent)
	require.Equal(k.t, made.RunID, got.RunID)
	require.Greater(k.t, got.CardRevision, made.CardRevision)
	detail, err := k.Detail(k.ctx, made.ID)
	require.NoError(k.t, err)
	require.Empty(k.t, detail.Text)
	k.events(made.ID, core.EventRequested, core.EventRejected)
	k.refuseClaim(claimOf(got, "token"))
	k.same(got, k.read(made.ID))
	return got
}

// refuseClaim requires that a claim takes nothing.
func (k *kit) refuseClaim(c core.Claim) {
	k.t.Helper()
	got, err := k.Claim(k.ctx, c)
	require.Error(k.t, err)
	require.NotEqual(k.t, core.ExecutionClaimed, got.Execution)
	require.NotContains(k.t, k.h.Events(k.tb, c.ID), core.EventConsumed)
}

func corruptForged(k *kit) {
	made := k.create()
	k.h.Corrupt(k.tb, made.ID, DamageOutcome)
	_, err := k.Approval(k.ctx, core.Lookup{ID: made.ID})
	require.ErrorIs(k.t, err, core.ErrCorrupt)
	k.refuseClaim(claimOf(made, "token"))
	_, err = k.Report(k.ctx, core.Report{ID: made.ID, Runtime: made.Runtime, Outcome: core.ExecutionUnknown})
	require.Error(k.t, err)
}

func corruptNeighbours(k *kit) {
	first, bad, last := k.create(), k.create(), k.create()
	k.h.Corrupt(k.tb, bad.ID, DamageContent)
	page, err := k.List(k.ctx, core.ListQuery{Runtime: ownRuntime})
	require.NoError(k.t, err)
	require.Equal(k.t, 1, page.Corrupt)
	require.Len(k.t, page.Approvals, 2)
	k.advanceTo(last.ExpiresAt)
	require.Len(k.t, k.sweep(100), 3)
	require.Equal(k.t, core.StatusExpired, k.read(first.ID).Status)
	require.Equal(k.t, core.StatusExpired, k.read(last.ID).Status)
	k.buried(bad)
}

func corruptVisible(k *kit) {
	bob, eve := k.person("bob", core.RoleReviewer), k.person("eve", core.RoleReviewer)
	require.NoError(k.t, k.SetOwners(k.ctx, ownRuntime, "agent-1", []string{"eve"}))
	owned, listed, lost := k.create(), k.create(withReviewers("bob")), k.create(withReviewers("bob"))
	k.h.Corrupt(k.tb, owned.ID, DamageContent)
	k.h.Corrupt(k.tb, listed.ID, DamageContent)
	k.h.Corrupt(k.tb, lost.ID, DamageShape)
	for _, a := range []core.Approval{owned, listed, lost} {
		k.buried(a)
	}
	sees := func(p core.Principal) []string { return idsOf(k.list(core.ListQuery{Viewer: &p})) }
	require.Equal(k.t, []string{owned.ID}, sees(eve))
	require.Equal(k.t, []string{listed.ID}, sees(bob), "a list that cannot be read is nobody's")
	admin := k.person("ann", core.RoleAdmin)
	require.Len(k.t, sees(admin), 3)
}

func corruptOnce(k *kit) {
	made := k.create(expiresIn(1_000))
	k.h.Corrupt(k.tb, made.ID, DamageContent)
	k.advance(1_000)
	k.list(core.ListQuery{})
	got := k.buried(made)
	k.advance(1_000)
	k.list(core.ListQuery{})
	require.Empty(k.t, k.sweep(10))
	k.same(got, k.read(made.ID))
}

func corruptCards(k *kit) {
	made := k.create(withCards("chat-1", "chat-2"))
	shown := k.due(2)
	k.show(shown[0], "message-1")
	k.h.Corrupt(k.tb, made.ID, DamageContent)
	k.show(shown[1], "message-2") // The receipt of a card that was under way.
	k.buried(made)
	for _, w := range k.due(2) {
		require.Equal(k.t, core.ReasonStorageCorrupt, w.Approval.Reason)
		require.Equal(k.t, core.OutcomeReplaced, k.finish(w).Outcome)
	}
	k.nothingDue()
	require.Zero(k.t, k.prune(10))
	k.retention()
	require.Equal(k.t, 1, k.prune(10))
	k.gone(made.ID)
}

// corruptAnswered: nobody knows any more what was answered, which the cards must tell.
// The row itself stays as it is.
func corruptAnswered(k *kit) {
	for _, d := range []Damage{DamageContent, DamageShape} {
		made := k.create(withCards("chat-1-"+string(d), "chat-2-"+string(d)))
		shown := k.due(2)
		k.show(shown[0], "message-"+string(d))
		made = k.allow(made.ID)
		k.h.Corrupt(k.tb, made.ID, d)
		k.h.Advance(time.Minute)
		for _, w := range k.due(2) {
			require.True(k.t, w.Damaged)
			require.Equal(k.t, made.ID, w.Approval.ID)
			require.True(k.t, w.Approval.Status.Terminal())
			require.Equal(k.t, made.CardRevision, w.Approval.CardRevision)
			require.Empty(k.t, w.Approval.Presentation.Title)
			require.Empty(k.t, w.Approval.ResolverID)
			if w.Delivery.Locator == "" { // Never confirmed: nobody is told.
				_, err := k.Close(k.ctx, closeOf(w, core.OutcomeSkipped))
				require.NoError(k.t, err)
				continue
			}
			require.Equal(k.t, core.OutcomeReplaced, k.finish(w).Outcome)
		}
		k.nothingDue()
		_, err := k.Approval(k.ctx, core.Lookup{ID: made.ID})
		require.ErrorIs(k.t, err, core.ErrCorrupt, "what is left of the answer is kept")
		k.refuseClaim(claimOf(made, "token"))
	}
}

func corruptKey(k *kit) {
	made := k.create(withKey("key", "content"))
	k.h.Corrupt(k.tb, made.ID, DamageContent)
	again, err := k.Create(k.ctx, k.ask(withKey("key", "content")))
	require.NoError(k.t, err)
	require.True(k.t, again.Existing)
	require.Equal(k.t, made.ID, again.Approval.ID)
	require.Equal(k.t, core.ReasonStorageCorrupt, again.Approval.Reason)
	k.buried(made)
}

func corruptFailed(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	k.h.Corrupt(k.tb, made.ID, DamageContent)
	hint := k.fail(w, core.Reachability{})
	require.Equal(k.t, made.ID, hint.ApprovalID)
	k.buried(made)
}
