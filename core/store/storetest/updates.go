package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func updateSpecs() []spec {
	return []spec{
		{"R128 R130 an agent hears of each draft that has its answer, in order, once", updatesInOrder},
		{"R127 R130 a turn that waited hears nothing more", updatesOfDraftsOnly},
		{"a batch is bounded, and says whether there is more", updatesBounded},
		{"what was not acknowledged comes back", updatesComeBack},
		{"the same token gets the same batch: a lost reply loses nothing", updatesRepeated},
		{"two claims share nothing", updatesApart},
		{"changes that nobody has claimed are told as one", updatesLevel},
		{"what changed while it was held comes again", updatesChangedWhileHeld},
		{"an update of another runtime or agent is nobody else's", updatesOfOthers},
		{"updates end with their approval, and survive a reopen", updatesPruned},
		{"a claim out of its bounds is refused", updatesRefused},
		{"a damaged draft stands in nobody's way", updatesDamaged},
		{"claims that race share nothing and lose nothing", updatesRace},
	}
}

var draft = withContinuation(core.ContinuationDraft)

func claimUpdates(token string) core.ClaimUpdates {
	return core.ClaimUpdates{Runtime: ownRuntime, Agent: "agent-1", TokenHash: tokenHash(token)}
}

func ackUpdates(token string) core.AckUpdates {
	return core.AckUpdates{Runtime: ownRuntime, Agent: "agent-1", TokenHash: tokenHash(token)}
}

// claimUpdates claims for the usual agent and requires the kinds that came.
func (k *kit) claimUpdates(token string, want ...core.UpdateKind) core.UpdateBatch {
	k.t.Helper()
	b, err := k.ClaimUpdates(k.ctx, claimUpdates(token))
	require.NoError(k.t, err)
	var kinds []core.UpdateKind
	for _, u := range b.Updates {
		kinds = append(kinds, u.Kind)
		k.same(k.read(u.Approval.ID), u.Approval)
	}
	require.Equal(k.t, want, kinds)
	require.Equal(k.t, k.now(), b.Now)
	return b
}

func (k *kit) ack(token string, want int) {
	k.t.Helper()
	n, err := k.AckUpdates(k.ctx, ackUpdates(token))
	require.NoError(k.t, err)
	require.Equal(k.t, want, n)
}

// updatesOf lists the approvals of a batch.
func updatesOf(b core.UpdateBatch) []string {
	list := make([]string, len(b.Updates))
	for i, u := range b.Updates {
		list[i] = u.Approval.ID
	}
	return list
}

func updatesInOrder(k *kit) {
	k.claimUpdates("token-0")
	one, two, three := k.create(draft), k.create(draft), k.create(draft, expiresIn(core.MinExpiry))
	k.claimUpdates("token-0")
	k.deny(two.ID)
	k.advance(1_000) // The third expires by the read of somebody.
	k.read(three.ID)
	k.advance(1_000)
	k.allow(one.ID)
	b := k.claimUpdates("token-1", core.UpdateDraft, core.UpdateDraft, core.UpdateDraft)
	require.Equal(k.t, []string{two.ID, three.ID, one.ID}, updatesOf(b))
	require.False(k.t, b.More)
	require.Equal(k.t, b.Now+core.DefaultUpdateLease, b.Until)
	k.claimUpdates("token-2")
	k.ack("token-1", 3)
	k.ack("token-1", 0)
	k.advance(core.MaxUpdateLease)
	k.claimUpdates("token-2")
	// What the runtime did with it is news for the agent as well; the claim is not.
	a := k.claim(k.read(one.ID), "runner")
	k.claimUpdates("token-3")
	_, err := k.Report(k.ctx, reportOf(a, "runner", core.ExecutionSucceeded))
	require.NoError(k.t, err)
	b = k.claimUpdates("token-3", core.UpdateDraft)
	require.Equal(k.t, core.ExecutionSucceeded, b.Updates[0].Approval.Execution)
}

func updatesOfDraftsOnly(k *kit) {
	k.deny(k.create().ID)
	k.allow(k.create(withContinuation(core.ContinuationDurable)).ID)
	k.create(draft, unroutable) // The reply to the request has said so.
	k.create(draft, automatic)
	k.create(draft)
	k.claimUpdates("token")
}

func updatesBounded(k *kit) {
	for range 5 {
		k.deny(k.create(draft).ID)
		k.advance(1)
	}
	c := claimUpdates("token-1")
	c.Limit, c.Lease = 2, core.MinUpdateLease
	first, err := k.ClaimUpdates(k.ctx, c)
	require.NoError(k.t, err)
	require.Len(k.t, first.Updates, 2)
	require.True(k.t, first.More)
	require.Equal(k.t, first.Now+core.MinUpdateLease, first.Until)
	c.TokenHash, c.Limit = tokenHash("token-2"), core.MaxUpdates
	second, err := k.ClaimUpdates(k.ctx, c)
	require.NoError(k.t, err)
	require.Len(k.t, second.Updates, 3)
	require.False(k.t, second.More)
}

func updatesComeBack(k *kit) {
	a := k.deny(k.create(draft).ID)
	b := k.claimUpdates("token-1", core.UpdateDraft)
	k.advanceTo(b.Until - 1)
	k.claimUpdates("token-2")
	k.advanceTo(b.Until)
	k.reopen()
	again := k.claimUpdates("token-2", core.UpdateDraft)
	require.Equal(k.t, []string{a.ID}, updatesOf(again))
	k.ack("token-1", 0) // Too late: somebody else holds it.
	k.ack("token-2", 1)
	// Late, but nobody else has claimed it: it was passed on.
	k.deny(k.create(draft).ID)
	b = k.claimUpdates("token-3", core.UpdateDraft)
	k.advanceTo(b.Until + 1)
	k.ack("token-3", 1)
	k.claimUpdates("token-4")
}

func updatesRepeated(k *kit) {
	k.deny(k.create(draft).ID)
	b := k.claimUpdates("token", core.UpdateDraft)
	k.deny(k.create(draft).ID)
	k.advance(1_000)
	k.reopen()
	again := k.claimUpdates("token", core.UpdateDraft)
	require.Equal(k.t, updatesOf(b), updatesOf(again), "nothing new while it holds the old")
	require.Equal(k.t, again.Now+core.DefaultUpdateLease, again.Until)
	k.ack("token", 1)
	next := k.claimUpdates("token", core.UpdateDraft)
	require.NotEqual(k.t, updatesOf(b), updatesOf(next))
}

func updatesApart(k *kit) {
	seen := map[string]bool{}
	for range 6 {
		k.deny(k.create(draft).ID)
	}
	for i := range 3 {
		c := claimUpdates(fmt.Sprintf("token-%d", i))
		c.Limit = 2
		b, err := k.ClaimUpdates(k.ctx, c)
		require.NoError(k.t, err)
		for _, id := range updatesOf(b) {
			require.False(k.t, seen[id])
			seen[id] = true
		}
	}
	require.Len(k.t, seen, 6)
}

func updatesLevel(k *kit) {
	a := k.claim(k.allow(k.create(draft).ID), "runner")
	_, err := k.Report(k.ctx, reportOf(a, "runner", core.ExecutionFailed))
	require.NoError(k.t, err)
	b := k.claimUpdates("token", core.UpdateDraft)
	require.Equal(k.t, core.ExecutionFailed, b.Updates[0].Approval.Execution)
	k.ack("token", 1)
	k.claimUpdates("token")
}

func updatesChangedWhileHeld(k *kit) {
	a := k.allow(k.create(draft, withRun("run-1")).ID)
	k.claimUpdates("token-1", core.UpdateDraft)
	k.advance(1)
	_, _, err := k.AbortRun(k.ctx, ownRuntime, "run-1")
	require.NoError(k.t, err)
	k.claimUpdates("token-2") // One holder at a time.
	k.ack("token-1", 1)
	b := k.claimUpdates("token-2", core.UpdateDraft)
	require.Equal(k.t, core.ExecutionVoided, b.Updates[0].Approval.Execution)
	require.Equal(k.t, []string{a.ID}, updatesOf(b))
	k.ack("token-2", 1)
	k.claimUpdates("token-3")
}

func updatesOfOthers(k *kit) {
	k.deny(k.create(draft).ID)
	for _, c := range []core.ClaimUpdates{
		{Runtime: otherRuntime, Agent: "agent-1"}, {Runtime: ownRuntime, Agent: "agent-2"}, {Runtime: ownRuntime},
	} {
		c.TokenHash = tokenHash("token")
		b, err := k.ClaimUpdates(k.ctx, c)
		require.NoError(k.t, err)
		require.Empty(k.t, b.Updates)
	}
	k.claimUpdates("token", core.UpdateDraft)
	for _, c := range []core.AckUpdates{
		{Runtime: otherRuntime, Agent: "agent-1"}, {Runtime: ownRuntime, Agent: "agent-2"}, {Runtime: ownRuntime},
	} {
		c.TokenHash = tokenHash("token")
		n, err := k.AckUpdates(k.ctx, c)
		require.NoError(k.t, err)
		require.Zero(k.t, n)
	}
	k.ack("token", 1)
}

func updatesPruned(k *kit) {
	k.deny(k.create(draft).ID)
	k.reopen()
	k.claimUpdates("token-1", core.UpdateDraft)
	k.retention()
	require.Equal(k.t, 1, k.prune(10))
	k.claimUpdates("token-2")
	k.ack("token-1", 0)
}

func updatesRefused(k *kit) {
	for _, change := range []func(*core.ClaimUpdates){
		func(c *core.ClaimUpdates) { c.TokenHash = "" },
		func(c *core.ClaimUpdates) { c.Runtime = "" },
		func(c *core.ClaimUpdates) { c.Limit = -1 },
		func(c *core.ClaimUpdates) { c.Limit = core.MaxUpdates + 1 },
		func(c *core.ClaimUpdates) { c.Lease = core.MinUpdateLease - 1 },
		func(c *core.ClaimUpdates) { c.Lease = core.MaxUpdateLease + 1 },
	} {
		c := claimUpdates("token")
		change(&c)
		_, err := k.ClaimUpdates(k.ctx, c)
		require.ErrorIs(k.t, err, core.ErrInvalid)
	}
	_, err := k.AckUpdates(k.ctx, core.AckUpdates{Runtime: ownRuntime, Agent: "agent-1"})
	require.ErrorIs(k.t, err, core.ErrInvalid)
}

func updatesDamaged(k *kit) {
	broken, sound := k.deny(k.create(draft).ID), k.deny(k.create(draft).ID)
	k.h.Corrupt(k.tb, broken.ID, DamageContent)
	b, err := k.ClaimUpdates(k.ctx, claimUpdates("token"))
	require.NoError(k.t, err)
	require.Equal(k.t, []string{sound.ID}, updatesOf(b))
	k.ack("token", 1)
	k.claimUpdates("token")
}

func updatesRace(k *kit) {
	const drafts, claimers = 12, 6
	var all []string
	for range drafts {
		all = append(all, k.deny(k.create(draft).ID).ID)
	}
	batches := make([]core.UpdateBatch, claimers)
	errs := make([]error, claimers)
	together(claimers, func(i int) {
		c := claimUpdates(fmt.Sprintf("token-%d", i))
		c.Limit = drafts / claimers
		batches[i], errs[i] = k.ClaimUpdates(k.ctx, c)
	})
	var got []string
	for i := range batches {
		require.NoError(k.t, errs[i])
		got = append(got, updatesOf(batches[i])...)
	}
	require.ElementsMatch(k.t, all, got)
}
