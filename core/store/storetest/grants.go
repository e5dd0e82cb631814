package storetest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func grantSpecs() []spec {
	return []spec{
		{"C32 R209 a grant is claimed once and the decision kept", claimOnce},
		{"C33 allow-always and automatic grants are claimed once", claimEveryKind},
		{"the same token again is the same success", claimSameToken},
		{"another token is refused", claimOtherToken},
		{"C35 now equal to claim_by is too late and voids", claimBoundary},
		{"a millisecond before claim_by still claims", claimJustBefore},
		{"K9 a wrong hash voids the grant", claimWrongHash},
		{"K9 another runtime's claim is not found and changes nothing", claimForeign},
		{"C37 what was not allowed is never claimable", claimNotAllowed},
		{"C34 an unknown id is not found", claimUnknown},
		{"C36 a live grant belongs to its instance's epoch", claimEpoch},
		{"an aborted run's grant is not claimable", claimAborted},
		{"a grant survives a reopen", claimReopen},
		{"a report is recorded once", reportOnce},
		{"another outcome or token is refused", reportConflict},
		{"what was never claimed cannot be reported", reportUnclaimed},
		{"another runtime's report is not found", reportForeign},
		{"a runner that lost its token reports unknown", reportTokenless},
		{"R147 a silent runner counts as unknown", reportSilent},
	}
}

func claimOnce(k *kit) {
	allowed := k.allow(k.create().ID)
	k.advance(1_000)
	got := k.claim(allowed, "token")
	require.NoError(k.t, got.Check())
	require.Equal(k.t, allowed.Resolution, got.Resolution)
	require.Equal(k.t, core.StatusAllowed, got.Status)
	require.Equal(k.t, k.now(), got.ConsumedAt)
	require.True(k.t, strings.HasPrefix(got.ConsumedBy, ownRuntime))
	require.Equal(k.t, tokenHash("token"), got.ClaimToken)
	require.Equal(k.t, got.ConsumedAt+core.OutcomeWindow, got.OutcomeBy)
	require.Greater(k.t, got.Revision, allowed.Revision)
	k.events(got.ID, core.EventRequested, core.EventGranted, core.EventConsumed)
	k.same(got, k.read(got.ID))
}

func claimEveryKind(k *kit) {
	always := k.create(full)
	always = k.decide(always.ID, core.DecisionAllowAlways)
	for _, a := range []core.Approval{always, k.create(automatic), k.create(automatic, withContinuation(core.ContinuationDraft))} {
		k.claim(a, "token")
		_, err := k.Claim(k.ctx, claimOf(a, "other"))
		require.ErrorIs(k.t, err, core.ErrAlreadyClaimed)
	}
}

func claimSameToken(k *kit) {
	allowed := k.allow(k.create().ID)
	first := k.claim(allowed, "token")
	k.advance(1_000)
	k.same(first, k.claim(allowed, "token"))
	k.reopen()
	// The window is about taking the grant, not about having it.
	k.advanceTo(allowed.ClaimBy + 1)
	k.same(first, k.claim(allowed, "token"))
	k.events(allowed.ID, core.EventRequested, core.EventGranted, core.EventConsumed)
}

func claimOtherToken(k *kit) {
	allowed := k.allow(k.create().ID)
	first := k.claim(allowed, "token")
	got, err := k.Claim(k.ctx, claimOf(allowed, "other"))
	require.ErrorIs(k.t, err, core.ErrAlreadyClaimed)
	k.same(first, got)
	another := claimOf(allowed, "token") // The runner's own token proves nothing about another action.
	another.ActionHash = core.HashOf([]byte("another"))
	_, err = k.Claim(k.ctx, another)
	require.ErrorIs(k.t, err, core.ErrAlreadyClaimed)
	k.same(first, k.read(allowed.ID))
	_, err = k.Report(k.ctx, reportOf(first, "token", core.ExecutionSucceeded))
	require.NoError(k.t, err)
	_, err = k.Claim(k.ctx, claimOf(allowed, "other"))
	require.ErrorIs(k.t, err, core.ErrAlreadyClaimed)
}

func claimBoundary(k *kit) {
	allowed := k.allow(k.create().ID)
	k.advanceTo(allowed.ClaimBy)
	got, err := k.Claim(k.ctx, claimOf(allowed, "token"))
	require.ErrorIs(k.t, err, core.ErrNotClaimable)
	require.Equal(k.t, allowed.ID, got.ID, "the current row comes with the error")
	require.Equal(k.t, core.ExecutionVoided, got.Execution)
	require.Equal(k.t, core.VoidLapsed, got.VoidReason)
	require.Equal(k.t, core.StatusAllowed, got.Status)
	k.events(allowed.ID, core.EventRequested, core.EventGranted, core.EventVoided)
	k.same(got, k.read(allowed.ID))
}

func claimJustBefore(k *kit) {
	allowed := k.allow(k.create().ID)
	k.advanceTo(allowed.ClaimBy - 1)
	k.claim(allowed, "token")
}

func claimWrongHash(k *kit) {
	allowed := k.allow(k.create().ID)
	c := claimOf(allowed, "token")
	c.ActionHash = core.HashOf([]byte("something else"))
	got, err := k.Claim(k.ctx, c)
	require.ErrorIs(k.t, err, core.ErrNotClaimable)
	require.NoError(k.t, got.Check())
	require.Equal(k.t, core.ExecutionVoided, got.Execution)
	require.Equal(k.t, core.VoidHashMismatch, got.VoidReason)
	require.Equal(k.t, allowed.Resolution, got.Resolution)
	_, err = k.Claim(k.ctx, claimOf(allowed, "token"))
	require.ErrorIs(k.t, err, core.ErrNotClaimable, "the right hash comes too late")
	k.events(allowed.ID, core.EventRequested, core.EventGranted, core.EventVoided)

	// A wrong hash on a claim that is held takes nothing back.
	held := k.claim(k.allow(k.create().ID), "token")
	c = claimOf(held, "other")
	c.ActionHash = core.HashOf([]byte("something else"))
	_, err = k.Claim(k.ctx, c)
	require.Error(k.t, err)
	k.same(held, k.read(held.ID))
}

func claimForeign(k *kit) {
	allowed := k.allow(k.create().ID)
	right := claimOf(allowed, "token")
	right.Runtime = otherRuntime
	wrong := right
	wrong.ActionHash = core.HashOf([]byte("something else"))
	for _, c := range []core.Claim{right, wrong} {
		got, err := k.Claim(k.ctx, c)
		require.ErrorIs(k.t, err, core.ErrNotFound)
		require.Empty(k.t, got.ID, "what is not found is not shown")
	}
	k.same(allowed, k.read(allowed.ID))
	k.claim(allowed, "token")
}

func claimNotAllowed(k *kit) {
	expired := k.create(expiresIn(core.MinExpiry))
	k.advanceTo(expired.ExpiresAt)
	withdrawn, err := k.Decide(k.ctx, k.withdrawal(k.create().ID))
	require.NoError(k.t, err)
	rows := []core.Approval{
		k.create(), k.deny(k.create().ID), withdrawn.Approval, expired, k.create(unroutable),
	}
	for _, a := range rows {
		got, err := k.Claim(k.ctx, claimOf(a, "token"))
		require.ErrorIs(k.t, err, core.ErrNotClaimable)
		require.Equal(k.t, a.ID, got.ID)
		require.Equal(k.t, core.ExecutionNone, k.read(a.ID).Execution)
	}
}

func claimUnknown(k *kit) {
	c := claimOf(k.create(), "token")
	c.ID = "nothing"
	_, err := k.Claim(k.ctx, c)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.Report(k.ctx, core.Report{ID: "nothing", Runtime: ownRuntime, Outcome: core.ExecutionUnknown})
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func claimEpoch(k *kit) {
	one := k.register("instance", "boot-1")
	two := k.register("instance", "boot-2")
	allowed := k.allow(k.create(withInstance("instance", two.Epoch)).ID)
	stale := claimOf(allowed, "token")
	stale.Epoch = one.Epoch
	got, err := k.Claim(k.ctx, stale)
	require.ErrorIs(k.t, err, core.ErrStaleEpoch)
	require.Equal(k.t, allowed.ID, got.ID)
	stranger := claimOf(allowed, "token")
	stranger.Instance = "other"
	k.refuseClaim(stranger)
	k.same(allowed, k.read(allowed.ID))
	got = k.claim(allowed, "token")
	require.Contains(k.t, got.ConsumedBy, "instance")

	// A durable grant outlives the process that asked.
	durable := k.allow(k.create(withContinuation(core.ContinuationDurable)).ID)
	k.register("instance", "boot-3")
	k.claim(durable, "token")
}

func claimAborted(k *kit) {
	// The abort itself voids; a claim afterwards says why.
	allowed := k.allow(k.create(withRun("run-1")).ID)
	_, _, err := k.AbortRun(k.ctx, ownRuntime, "run-1")
	require.NoError(k.t, err)
	got, err := k.Claim(k.ctx, claimOf(allowed, "token"))
	require.ErrorIs(k.t, err, oneOf(err, core.ErrRunAborted, core.ErrNotClaimable))
	require.Equal(k.t, core.VoidRunAborted, got.VoidReason)
}

func claimReopen(k *kit) {
	allowed := k.allow(k.create().ID)
	k.reopen()
	claimed := k.claim(allowed, "token")
	k.reopen()
	k.same(claimed, k.read(allowed.ID))
	reported, err := k.Report(k.ctx, reportOf(claimed, "token", core.ExecutionFailed))
	require.NoError(k.t, err)
	k.reopen()
	k.same(reported, k.read(allowed.ID))
}

func reportOf(a core.Approval, token string, outcome core.Execution) core.Report {
	r := core.Report{ID: a.ID, Runtime: a.Runtime, TokenHash: tokenHash(token), Outcome: outcome}
	if outcome == core.ExecutionFailed {
		r.Error = "exit status 1"
	}
	return r
}

func reportOnce(k *kit) {
	for _, outcome := range []core.Execution{core.ExecutionSucceeded, core.ExecutionFailed, core.ExecutionUnknown} {
		claimed := k.claim(k.allow(k.create().ID), "token")
		k.advance(1_000)
		got, err := k.Report(k.ctx, reportOf(claimed, "token", outcome))
		require.NoError(k.t, err)
		require.NoError(k.t, got.Check())
		require.Equal(k.t, outcome, got.Execution)
		require.Equal(k.t, k.now(), got.OutcomeAt)
		require.Equal(k.t, claimed.Resolution, got.Resolution)
		if outcome == core.ExecutionFailed {
			require.Equal(k.t, "exit status 1", got.OutcomeError)
		}
		k.advance(1_000)
		again, err := k.Report(k.ctx, reportOf(claimed, "token", outcome))
		require.NoError(k.t, err)
		k.same(got, again)
		k.events(got.ID, core.EventRequested, core.EventGranted, core.EventConsumed, core.EventOutcome)
	}
}

func reportConflict(k *kit) {
	claimed := k.claim(k.allow(k.create().ID), "token")
	got, err := k.Report(k.ctx, reportOf(claimed, "other", core.ExecutionSucceeded))
	require.ErrorIs(k.t, err, core.ErrAlreadyClaimed)
	k.same(claimed, got)
	done, err := k.Report(k.ctx, reportOf(claimed, "token", core.ExecutionSucceeded))
	require.NoError(k.t, err)
	got, err = k.Report(k.ctx, reportOf(claimed, "token", core.ExecutionFailed))
	require.ErrorIs(k.t, err, core.ErrConflict)
	k.same(done, got)
	k.same(done, k.read(claimed.ID))
}

func reportUnclaimed(k *kit) {
	for _, a := range []core.Approval{k.create(), k.deny(k.create().ID), k.allow(k.create().ID)} {
		for _, token := range []string{"token", ""} {
			r := reportOf(a, token, core.ExecutionUnknown)
			if token == "" {
				r.TokenHash = ""
			}
			_, err := k.Report(k.ctx, r)
			require.ErrorIs(k.t, err, core.ErrNotClaimable)
			k.same(a, k.read(a.ID))
		}
	}
}

func reportForeign(k *kit) {
	claimed := k.claim(k.allow(k.create().ID), "token")
	r := reportOf(claimed, "token", core.ExecutionFailed)
	r.Runtime = otherRuntime
	got, err := k.Report(k.ctx, r)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	require.Empty(k.t, got.ID)
	k.same(claimed, k.read(claimed.ID))
}

func reportTokenless(k *kit) {
	claimed := k.claim(k.allow(k.create().ID), "token")
	r := core.Report{ID: claimed.ID, Runtime: ownRuntime, Outcome: core.ExecutionSucceeded}
	_, err := k.Report(k.ctx, r)
	require.Error(k.t, err, "success needs the token")
	k.same(claimed, k.read(claimed.ID))
	r.Outcome = core.ExecutionUnknown
	got, err := k.Report(k.ctx, r)
	require.NoError(k.t, err)
	require.Equal(k.t, core.ExecutionUnknown, got.Execution)
	_, err = k.Claim(k.ctx, claimOf(claimed, "fresh"))
	require.ErrorIs(k.t, err, core.ErrAlreadyClaimed, "it never runs again")
}

func reportSilent(k *kit) {
	claimed := k.claim(k.allow(k.create().ID), "token")
	k.advanceTo(claimed.OutcomeBy - 1)
	hints, err := k.Sweep(k.ctx, 10)
	require.NoError(k.t, err)
	require.Empty(k.t, hints)
	k.advanceTo(claimed.OutcomeBy)
	hints, err = k.Sweep(k.ctx, 10)
	require.NoError(k.t, err)
	require.True(k.t, ids(hints)[claimed.ID])
	got := k.read(claimed.ID)
	require.Equal(k.t, core.ExecutionUnknown, got.Execution)
	k.events(got.ID, core.EventRequested, core.EventGranted, core.EventConsumed, core.EventOutcome)
	_, err = k.Report(k.ctx, reportOf(claimed, "token", core.ExecutionSucceeded))
	require.ErrorIs(k.t, err, core.ErrConflict)
	k.same(got, k.read(claimed.ID))
}
