package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func restoreSpecs() []spec {
	return []spec{
		{"a restored store stands by nothing that it cannot know", restoreDisowns},
		{"a restore cancels even what is past its deadline", restoreOverdue},
		{"a restore edits closed cards again", restoreReopens},
		{"a card that was not sent before the backup is adopted when it is clicked", restoreAdopts},
		{"what a restore cancelled is asked again under its key", restoreSuccessor},
		{"a restore ends damaged rows, for the damage", restoreDamaged},
		{"a restore of many rows goes in bounded steps", restoreMany},
		{"a restore is finished once, and only after its work", restoreFinishes},
		{"a restore burns open codes", restoreBurns},
		{"a boot after a restore is newer than any that was forgotten", restoreEpochs},
	}
}

// disown changes all there is and counts it.
func (k *kit) disown() core.Disowned {
	k.t.Helper()
	require.NoError(k.t, k.BeginRestoration(k.ctx))
	done, err := k.Disown(k.ctx, 1_000)
	require.NoError(k.t, err)
	again, err := k.Disown(k.ctx, 1_000)
	require.NoError(k.t, err)
	require.Zero(k.t, again, "nothing is left")
	return done
}

func (k *kit) restored() core.Deployment {
	k.t.Helper()
	d, err := k.FinishRestoration(k.ctx)
	require.NoError(k.t, err)
	require.False(k.t, d.Sealed)
	require.Equal(k.t, core.SealNone, d.Seal)
	return d
}

func restoreDisowns(k *kit) {
	pending := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message")
	unclaimed, claimed := k.allow(k.create().ID), k.claim(k.allow(k.create().ID), "token")
	auto := k.create(automatic)
	denied, done := k.deny(k.create().ID), k.claim(k.allow(k.create().ID), "other")
	done, err := k.Report(k.ctx, reportOf(done, "other", core.ExecutionSucceeded))
	require.NoError(k.t, err)

	require.Equal(k.t, core.Disowned{Cancelled: 1, Voided: 2, Unknown: 1}, k.disown())
	k.restored()

	a := k.read(pending.ID)
	require.Equal(k.t, core.StatusCancelled, a.Status)
	require.Equal(k.t, core.ReasonStorageRestored, a.Reason)
	require.Equal(k.t, core.ResolverSystem, a.ResolverKind)
	k.events(pending.ID, core.EventRequested, core.EventCancelled)
	w := k.due(1)[0]
	require.Equal(k.t, pending.ID, w.Approval.ID, "its card is due to be edited")
	require.Equal(k.t, core.OutcomeReplaced, k.finish(w).Outcome)

	for _, granted := range []core.Approval{unclaimed, auto} {
		a = k.read(granted.ID)
		require.Equal(k.t, core.StatusAllowed, a.Status, "what was decided stays decided")
		require.Equal(k.t, core.ExecutionVoided, a.Execution)
		require.Equal(k.t, core.VoidStorageRestored, a.VoidReason)
		_, err = k.Claim(k.ctx, claimOf(a, "late"))
		require.ErrorIs(k.t, err, core.ErrNotClaimable)
	}
	k.events(unclaimed.ID, core.EventRequested, core.EventGranted, core.EventVoided)

	a = k.read(claimed.ID)
	require.Equal(k.t, core.ExecutionUnknown, a.Execution)
	require.Greater(k.t, a.CardRevision, claimed.CardRevision)
	k.events(claimed.ID, core.EventRequested, core.EventGranted, core.EventConsumed, core.EventOutcome)

	k.same(denied, k.read(denied.ID))
	k.same(done, k.read(done.ID))
}

func restoreOverdue(k *kit) {
	pending, unclaimed := k.create(), k.allow(k.create().ID)
	require.NoError(k.t, k.BeginRestoration(k.ctx))
	k.advanceTo(max(pending.ExpiresAt, unclaimed.ClaimBy))
	require.Equal(k.t, core.Disowned{Cancelled: 1, Voided: 1}, k.disown())
	require.Equal(k.t, core.ReasonStorageRestored, k.read(pending.ID).Reason, "somebody may have answered in time")
	require.Equal(k.t, core.VoidStorageRestored, k.read(unclaimed.ID).VoidReason, "it may have been used in time")
}

func restoreReopens(k *kit) {
	allowed := k.closedCard()
	k.disown()
	k.restored()
	k.shownAgain(allowed.ID)
}

// A card that the store believes was never sent may stand in its chat.
func restoreAdopts(k *kit) {
	made := k.create(withCards("chat-1"))
	k.disown()
	k.restored()
	_, err := k.Close(k.ctx, closeOf(k.due(1)[0], core.OutcomePossibleOrphan))
	require.NoError(k.t, err)
	got, err := k.Decide(k.ctx, k.adopting(made.ID, adopt("chat-1", "orphan")))
	require.NoError(k.t, err)
	require.False(k.t, got.Applied)
	require.Equal(k.t, core.StatusCancelled, got.Approval.Status)
	require.Equal(k.t, core.OutcomeReplaced, k.finish(k.due(1)[0]).Outcome)
}

func restoreSuccessor(k *kit) {
	first := k.create(withKey("key", "content"))
	k.disown()
	k.restored()
	k.succeeded(first, k.create(withKey("key", "content")))
}

func restoreDamaged(k *kit) {
	damaged, sound := k.create(), k.create()
	k.h.Corrupt(k.tb, damaged.ID, DamageContent)
	require.Equal(k.t, core.Disowned{Cancelled: 2}, k.disown())
	k.restored()
	require.Equal(k.t, core.StatusCancelled, k.read(sound.ID).Status)
	k.buried(damaged)
}

func restoreMany(k *kit) {
	const many = 130
	for range many {
		k.create()
	}
	require.NoError(k.t, k.BeginRestoration(k.ctx))
	done, err := k.Disown(k.ctx, 7)
	require.NoError(k.t, err)
	require.Equal(k.t, 7, done.Total())
	_, err = k.FinishRestoration(k.ctx)
	require.ErrorIs(k.t, err, core.ErrConflict, "there is more to do")
	require.Equal(k.t, many-7, k.disown().Cancelled)
	k.restored()
}

func restoreFinishes(k *kit) {
	before, err := k.Deployment(k.ctx)
	require.NoError(k.t, err)
	_, err = k.FinishRestoration(k.ctx)
	require.ErrorIs(k.t, err, core.ErrConflict, "it did not begin")
	require.NoError(k.t, k.BeginRestoration(k.ctx))
	sealed, err := k.Deployment(k.ctx)
	require.NoError(k.t, err)
	require.True(k.t, sealed.Sealed)
	require.Equal(k.t, core.SealRestoring, sealed.Seal)
	require.NoError(k.t, k.BeginRestoration(k.ctx), "it may be begun again")

	after := k.restored()
	require.Equal(k.t, before.ID, after.ID)
	require.Greater(k.t, after.Incarnation, before.Incarnation)
	_, err = k.FinishRestoration(k.ctx)
	require.ErrorIs(k.t, err, core.ErrConflict, "it is over")

	// Another restore of the same backup is another incarnation.
	k.advance(1_000)
	k.disown()
	require.Greater(k.t, k.restored().Incarnation, after.Incarnation)
}

func restoreBurns(k *kit) {
	k.person("bob", core.RoleReviewer)
	k.code("secret", core.CodePair, "bob")
	k.disown()
	k.restored()
	_, err := k.PeekCode(k.ctx, tokenHash("secret"), core.CodePair)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
}

// What registered after the backup is not known, and may still be alive.
func restoreEpochs(k *kit) {
	const forgotten = 1_000 // More boots than anybody made since the backup.
	known := k.register("main", "known")
	k.disown()
	k.restored()
	require.Equal(k.t, known, k.register("main", "known"), "who is known keeps their own")
	k.create(withInstance("main", known.Epoch))
	for _, name := range []string{"main", "unknown"} {
		next := k.register(name, "next")
		require.Greater(k.t, next.Epoch, int64(forgotten))
		require.Equal(k.t, next.Epoch+1, k.register(name, "after").Epoch)
	}
	_, err := k.Create(k.ctx, k.ask(withInstance("main", known.Epoch)))
	require.ErrorIs(k.t, err, core.ErrStaleEpoch)
}
