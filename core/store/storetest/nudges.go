package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func nudgeSpecs() []spec {
	return []spec{
		{"R112 R129 a callback is due with each change that matters, in its transaction", nudgeDue},
		{"nothing is called that named no callback, or had its answer at once", nudgeNone},
		{"a nudge is called by one at a time, and by another after the lease", nudgeLease},
		{"a call that failed is repeated when it is due, or given up", nudgeRetry},
		{"a change while it was called is called again", nudgeChanged},
		{"whoever lost the lease settles nothing", nudgeFenced},
		{"nudges survive a reopen and end with their approval", nudgePruned},
		{"claims of nudges that race share nothing", nudgeRace},
		{"what cannot be is refused", nudgeRefused},
	}
}

const hook = "https://hooks.example.com/sayso"

func withCallback(url string) edit {
	return func(c *core.NewApproval) { c.Approval.CallbackURL = url }
}

const nudgeLeaseFor = core.Millis(30_000)

func (k *kit) nudges(want int) []core.Nudge {
	k.t.Helper()
	got, err := k.ClaimNudges(k.ctx, core.ClaimNudges{Limit: 10, Lease: nudgeLeaseFor})
	require.NoError(k.t, err)
	require.Len(k.t, got, want)
	return got
}

func taken(n core.Nudge) core.SettleNudge {
	return core.SettleNudge{ApprovalID: n.ApprovalID, Fence: n.Fence, Revision: n.Revision}
}

func failed(n core.Nudge, retry core.Millis) core.SettleNudge {
	s := taken(n)
	s.Error, s.RetryIn = "refused", retry
	return s
}

func (k *kit) settle(s core.SettleNudge) {
	k.t.Helper()
	require.NoError(k.t, k.SettleNudge(k.ctx, s))
}

func (k *kit) backlog(want int) {
	k.t.Helper()
	due, oldest, err := k.NudgeBacklog(k.ctx)
	require.NoError(k.t, err)
	require.Equal(k.t, want, due)
	require.Equal(k.t, want == 0, oldest == 0)
}

func nudgeDue(k *kit) {
	a := k.create(withCallback(hook))
	require.Equal(k.t, hook, k.read(a.ID).CallbackURL)
	k.nudges(0)
	a = k.allow(a.ID)
	k.backlog(1)
	n := k.nudges(1)[0]
	require.Equal(k.t, core.Nudge{
		ApprovalID: a.ID, Ref: a.Ref, Runtime: ownRuntime, URL: hook, Revision: a.Revision, Since: a.ResolvedAt, Fence: 1, Now: k.now(),
	}, n)
	k.settle(taken(n))
	k.nudges(0)
	k.backlog(0)
	a = k.claim(a, "token") // The runtime knows.
	k.nudges(0)
	a, err := k.Report(k.ctx, core.Report{ID: a.ID, Runtime: a.Runtime, Outcome: core.ExecutionUnknown})
	require.NoError(k.t, err)
	n = k.nudges(1)[0]
	require.Equal(k.t, a.Revision, n.Revision)
	k.settle(taken(n))
	alice := k.person("alice", core.RoleReviewer)
	_, err = k.DismissOutcome(k.ctx, k.by(alice, a.ID))
	require.NoError(k.t, err)
	k.nudges(0)
	a, err = k.AskAgain(k.ctx, k.by(alice, a.ID))
	require.NoError(k.t, err)
	require.Equal(k.t, a.Revision, k.nudges(1)[0].Revision)
}

func nudgeNone(k *kit) {
	k.deny(k.create().ID)
	k.create(withCallback(hook), unroutable)
	k.claim(k.create(withCallback(hook), automatic), "token")
	k.nudges(0)
	k.backlog(0)
	for _, end := range []func(id string){
		func(id string) { k.deny(id) },
		func(id string) {
			_, err := k.Decide(k.ctx, k.withdrawal(id))
			require.NoError(k.t, err)
		},
		func(id string) {
			k.advanceTo(k.read(id).ExpiresAt)
			_, err := k.Sweep(k.ctx, 10)
			require.NoError(k.t, err)
		},
		func(string) {
			_, _, err := k.AbortRun(k.ctx, ownRuntime, "run-1")
			require.NoError(k.t, err)
		},
	} {
		a := k.create(withCallback(hook), withRun("run-1"))
		end(a.ID)
		n := k.nudges(1)[0]
		require.Equal(k.t, a.ID, n.ApprovalID)
		k.settle(taken(n))
	}
}

func nudgeLease(k *kit) {
	k.deny(k.create(withCallback(hook)).ID)
	first := k.nudges(1)[0]
	k.advance(nudgeLeaseFor - 1)
	k.nudges(0)
	k.advance(1)
	second := k.nudges(1)[0]
	require.Greater(k.t, second.Fence, first.Fence)
	require.Equal(k.t, first.Revision, second.Revision)
}

func nudgeRetry(k *kit) {
	k.deny(k.create(withCallback(hook)).ID)
	n := k.nudges(1)[0]
	k.settle(failed(n, 5_000))
	k.advance(4_999)
	k.nudges(0)
	k.backlog(1)
	k.advance(1)
	n = k.nudges(1)[0]
	require.Equal(k.t, 1, n.Attempts)
	require.Equal(k.t, k.now()-5_000, n.Since)
	k.settle(failed(n, 0))
	k.advance(24 * 60 * 60 * 1_000)
	k.nudges(0)
	k.backlog(0)
}

func nudgeChanged(k *kit) {
	a := k.allow(k.create(withCallback(hook), withRun("run-1")).ID)
	n := k.nudges(1)[0]
	k.settle(failed(n, 60_000))
	_, _, err := k.AbortRun(k.ctx, ownRuntime, "run-1")
	require.NoError(k.t, err)
	n = k.nudges(1)[0] // At once, and as if nothing had failed before.
	require.Zero(k.t, n.Attempts)
	require.Equal(k.t, a.Revision+1, n.Revision)

	b := k.allow(k.create(withCallback(hook), withRun("run-2")).ID)
	for _, settle := range []func(core.Nudge) core.SettleNudge{taken, func(n core.Nudge) core.SettleNudge { return failed(n, 60_000) }} {
		n = k.nudges(1)[0]
		require.Equal(k.t, b.ID, n.ApprovalID)
		if b.Execution == core.ExecutionUnclaimed {
			_, _, err = k.AbortRun(k.ctx, ownRuntime, "run-2")
			require.NoError(k.t, err)
			b = k.read(b.ID)
			k.nudges(0) // It is being called.
		}
		k.settle(settle(n))
	}
	k.backlog(2)
}

func nudgeFenced(k *kit) {
	k.deny(k.create(withCallback(hook)).ID)
	first := k.nudges(1)[0]
	k.advance(nudgeLeaseFor)
	second := k.nudges(1)[0]
	k.settle(taken(first))
	k.settle(failed(first, 0))
	k.backlog(1)
	k.nudges(0)
	k.settle(failed(second, 1))
	k.advance(1)
	k.settle(taken(k.nudges(1)[0]))
	k.settle(taken(second))
	k.backlog(0)
}

func nudgePruned(k *kit) {
	k.deny(k.create(withCallback(hook)).ID)
	k.reopen()
	k.settle(failed(k.nudges(1)[0], core.MaxExpiry))
	k.retention()
	require.Equal(k.t, 1, k.prune(10))
	k.nudges(0)
	k.backlog(0)
}

func nudgeRace(k *kit) {
	const rows, claimers = 12, 6
	for range rows {
		k.deny(k.create(withCallback(hook)).ID)
	}
	got := make([][]core.Nudge, claimers)
	errs := make([]error, claimers)
	together(claimers, func(i int) {
		got[i], errs[i] = k.ClaimNudges(k.ctx, core.ClaimNudges{Limit: rows, Lease: nudgeLeaseFor})
	})
	seen := map[string]bool{}
	for i := range got {
		require.NoError(k.t, errs[i])
		for _, n := range got[i] {
			require.False(k.t, seen[n.ApprovalID])
			seen[n.ApprovalID] = true
		}
	}
	require.Len(k.t, seen, rows)
}

func nudgeRefused(k *kit) {
	for _, c := range []core.ClaimNudges{{Lease: 1}, {Limit: 101, Lease: 1}, {Limit: 1}} {
		_, err := k.ClaimNudges(k.ctx, c)
		require.ErrorIs(k.t, err, core.ErrInvalid)
	}
	require.ErrorIs(k.t, k.SettleNudge(k.ctx, core.SettleNudge{RetryIn: 1}), core.ErrInvalid)
	require.ErrorIs(k.t, k.SettleNudge(k.ctx, core.SettleNudge{Error: "x", RetryIn: -1}), core.ErrInvalid)
	k.settle(core.SettleNudge{ApprovalID: "01890000-0000-7000-8000-00000000ffff"})
}
