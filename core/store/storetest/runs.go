package storetest

import (
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func runSpecs() []spec {
	return []spec{
		{"the same boot keeps its epoch", epochSameBoot},
		{"epochs rise per instance", epochPerInstance},
		{"a replaced boot that registers again stays replaced", epochReplaced},
		{"C38 R210 a newer epoch cancels what waited in memory", epochCancels},
		{"K1 R131 durable and draft rows survive a newer epoch", epochSparesDurable},
		{"a newer epoch voids unclaimed live grants", epochVoids},
		{"a zombie can neither ask nor claim", epochZombie},
		{"our own reopen cancels nothing", epochOwnRestart},
		{"C66 R140 an abort cancels only its own run", abortOnlyRun},
		{"R140 R142 an abort voids unclaimed grants and spares claimed ones", abortGrants},
		{"R142 an abort is for good and repeating it changes nothing", abortRepeat},
		{"a run that was never asked for is not found", runUnknown},
		{"R30 R31 waiting counts the time with a row pending that waits", runWaiting},
		{"R30 the latest decision ignores automatic ones", runLastDecided},
		{"R125 R138 a message answers only what waits", runAcceptsReply},
		{"R31 a run that waits and waits no more is told once each", runWaitEvents},
		{"R126 nobody waits for a draft, and nothing outside of runs has a clock", runWaitless},
	}
}

// oneOf returns the first of the targets that err is, and the first of them
// otherwise: for outcomes that two errors describe equally well.
func oneOf(err error, targets ...error) error {
	for _, target := range targets {
		if errors.Is(err, target) {
			return target
		}
	}
	return targets[0]
}

func (k *kit) register(instance, boot string) core.Instance {
	k.t.Helper()
	got, _, err := k.RegisterInstance(k.ctx, core.RegisterInstance{Runtime: ownRuntime, Instance: instance, BootID: boot})
	require.NoError(k.t, err)
	require.Equal(k.t, ownRuntime, got.Runtime)
	require.Equal(k.t, instance, got.Name)
	require.Positive(k.t, got.Epoch)
	return got
}

func epochSameBoot(k *kit) {
	one := k.register("instance", "boot-1")
	made := k.create(withInstance("instance", one.Epoch))
	again, hints, err := k.RegisterInstance(k.ctx, core.RegisterInstance{Runtime: ownRuntime, Instance: "instance", BootID: "boot-1"})
	require.NoError(k.t, err)
	require.Equal(k.t, one, again)
	require.Empty(k.t, hints)
	k.reopen()
	require.Equal(k.t, one, k.register("instance", "boot-1"))
	k.same(made, k.read(made.ID))
}

func epochPerInstance(k *kit) {
	a, b := k.register("a", "boot-1"), k.register("b", "boot-1")
	a2 := k.register("a", "boot-2")
	require.Greater(k.t, a2.Epoch, a.Epoch)
	require.Equal(k.t, b, k.register("b", "boot-1"))
	other, _, err := k.RegisterInstance(k.ctx, core.RegisterInstance{Runtime: otherRuntime, Instance: "a", BootID: "boot-9"})
	require.NoError(k.t, err)
	require.Equal(k.t, otherRuntime, other.Runtime)
	require.Equal(k.t, a2, k.register("a", "boot-2"))
}

func epochReplaced(k *kit) {
	one := k.register("instance", "boot-1")
	two := k.register("instance", "boot-2")
	pending := k.create(withInstance("instance", two.Epoch))
	allowed := k.allow(k.create(withInstance("instance", two.Epoch)).ID)
	k.reopen()
	require.Equal(k.t, one, k.register("instance", "boot-1"))
	k.same(pending, k.read(pending.ID))
	k.claim(allowed, "token")
	_, err := k.Create(k.ctx, k.ask(withInstance("instance", one.Epoch)))
	require.ErrorIs(k.t, err, core.ErrStaleEpoch)
}

func epochCancels(k *kit) {
	one, sibling := k.register("instance", "boot-1"), k.register("sibling", "boot-1")
	old := k.create(withInstance("instance", one.Epoch), withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	decided := k.deny(k.create(withInstance("instance", one.Epoch)).ID)
	foreign, _, err := k.RegisterInstance(k.ctx, core.RegisterInstance{Runtime: otherRuntime, Instance: "instance", BootID: "boot-1"})
	require.NoError(k.t, err)
	beside := []core.Approval{
		k.create(withInstance("sibling", sibling.Epoch)), k.create(), decided,
		k.create(withRuntime(otherRuntime), withInstance("instance", foreign.Epoch)),
	}
	two, hints, err := k.RegisterInstance(k.ctx, core.RegisterInstance{Runtime: ownRuntime, Instance: "instance", BootID: "boot-2"})
	require.NoError(k.t, err)
	require.Equal(k.t, map[string]bool{old.ID: true}, ids(hints))
	fresh := k.create(withInstance("instance", two.Epoch))

	got := k.read(old.ID)
	require.Equal(k.t, core.StatusCancelled, got.Status)
	require.Equal(k.t, core.ReasonRuntimeRestart, got.Reason)
	k.events(old.ID, core.EventRequested, core.EventCancelled)
	require.True(k.t, k.delivery(old.ID, 0).DueAt.Reached(k.now()))
	for _, a := range append(beside, fresh) {
		k.same(a, k.read(a.ID))
	}
}

func epochSparesDurable(k *kit) {
	one := k.register("instance", "boot-1")
	rows := []core.Approval{
		k.create(withInstance("instance", one.Epoch), withContinuation(core.ContinuationDurable)),
		k.create(withInstance("instance", one.Epoch), withContinuation(core.ContinuationDraft)),
		k.allow(k.create(withInstance("instance", one.Epoch), withContinuation(core.ContinuationDurable)).ID),
	}
	k.register("instance", "boot-2")
	for _, a := range rows {
		k.same(a, k.read(a.ID))
	}
}

func epochVoids(k *kit) {
	one := k.register("instance", "boot-1")
	unclaimed := k.allow(k.create(withInstance("instance", one.Epoch)).ID)
	auto := k.create(automatic, withInstance("instance", one.Epoch))
	claimed := k.claim(k.allow(k.create(withInstance("instance", one.Epoch)).ID), "token")
	_, hints, err := k.RegisterInstance(k.ctx, core.RegisterInstance{Runtime: ownRuntime, Instance: "instance", BootID: "boot-2"})
	require.NoError(k.t, err)
	require.Equal(k.t, map[string]bool{unclaimed.ID: true, auto.ID: true}, ids(hints))
	for _, a := range []core.Approval{unclaimed, auto} {
		got := k.read(a.ID)
		require.Equal(k.t, core.StatusAllowed, got.Status)
		require.Equal(k.t, core.ExecutionVoided, got.Execution)
		require.Equal(k.t, core.VoidRuntimeRestart, got.VoidReason)
		require.Contains(k.t, k.h.Events(k.tb, a.ID), core.EventVoided)
	}
	k.same(claimed, k.read(claimed.ID))
}

func epochZombie(k *kit) {
	one := k.register("instance", "boot-1")
	allowed := k.allow(k.create(withInstance("instance", one.Epoch)).ID)
	k.register("instance", "boot-2")
	late := k.ask(withInstance("instance", one.Epoch))
	_, err := k.Create(k.ctx, late)
	require.ErrorIs(k.t, err, core.ErrStaleEpoch)
	k.gone(late.Approval.ID)
	_, err = k.Claim(k.ctx, claimOf(allowed, "token"))
	require.ErrorIs(k.t, err, oneOf(err, core.ErrStaleEpoch, core.ErrNotClaimable))
}

func epochOwnRestart(k *kit) {
	one := k.register("instance", "boot-1")
	pending := k.create(withInstance("instance", one.Epoch))
	allowed := k.allow(k.create(withInstance("instance", one.Epoch)).ID)
	k.reopen()
	k.same(pending, k.read(pending.ID))
	k.same(allowed, k.read(allowed.ID))
	k.create(withInstance("instance", one.Epoch))
}

func abortOnlyRun(k *kit) {
	target := k.create(withRun("run-1"), withCards("chat-1"))
	durable := k.create(withRun("run-1"), withContinuation(core.ContinuationDurable))
	decided := k.deny(k.create(withRun("run-1")).ID)
	beside := []core.Approval{
		decided, k.create(withRun("run-10")), k.create(), k.create(withRuntime(otherRuntime), withRun("run-1")),
	}
	run, hints, err := k.AbortRun(k.ctx, ownRuntime, "run-1")
	require.NoError(k.t, err)
	require.Equal(k.t, k.now(), run.AbortedAt)
	require.Zero(k.t, run.Pending)
	require.Equal(k.t, map[string]bool{target.ID: true, durable.ID: true}, ids(hints))
	for _, a := range []core.Approval{target, durable} {
		got := k.read(a.ID)
		require.Equal(k.t, core.StatusCancelled, got.Status)
		require.Equal(k.t, core.ReasonRunAborted, got.Reason)
		k.events(a.ID, core.EventRequested, core.EventCancelled)
	}
	for _, a := range beside {
		k.same(a, k.read(a.ID))
	}
}

func abortGrants(k *kit) {
	unclaimed := k.allow(k.create(withRun("run-1")).ID)
	claimed := k.claim(k.allow(k.create(withRun("run-1")).ID), "token")
	_, hints, err := k.AbortRun(k.ctx, ownRuntime, "run-1")
	require.NoError(k.t, err)
	require.Equal(k.t, map[string]bool{unclaimed.ID: true}, ids(hints))
	got := k.read(unclaimed.ID)
	require.Equal(k.t, core.ExecutionVoided, got.Execution)
	require.Equal(k.t, core.VoidRunAborted, got.VoidReason)
	k.same(claimed, k.read(claimed.ID))
	_, err = k.Report(k.ctx, reportOf(claimed, "token", core.ExecutionSucceeded))
	require.NoError(k.t, err, "what ran may still be told")
}

func abortRepeat(k *kit) {
	k.create(withRun("run-1"))
	first, _, err := k.AbortRun(k.ctx, ownRuntime, "run-1")
	require.NoError(k.t, err)
	k.advance(1_000)
	k.reopen()
	again, hints, err := k.AbortRun(k.ctx, ownRuntime, "run-1")
	require.NoError(k.t, err)
	require.Empty(k.t, hints)
	require.Equal(k.t, first.AbortedAt, again.AbortedAt)
	for _, late := range []core.NewApproval{
		k.ask(withRun("run-1")), k.ask(withRun("run-1"), automatic),
		k.ask(withRun("run-1"), withContinuation(core.ContinuationDurable)),
	} {
		_, err = k.Create(k.ctx, late)
		require.ErrorIs(k.t, err, core.ErrRunAborted)
		k.gone(late.Approval.ID)
	}
	k.create(withRun("run-2"))
	k.create(withRuntime(otherRuntime), withRun("run-1"))
	k.retention()
	k.prune(10)
	_, err = k.Create(k.ctx, k.ask(withRun("run-1")))
	require.ErrorIs(k.t, err, core.ErrRunAborted, "for good is longer than a month")
}

func runUnknown(k *kit) {
	k.create(withRun("run-1"))
	for _, of := range [][2]string{{ownRuntime, "run-2"}, {otherRuntime, "run-1"}} {
		_, err := k.ReadRun(k.ctx, of[0], of[1])
		require.ErrorIs(k.t, err, core.ErrNotFound)
	}
	// Stopping a run before it asks keeps it from asking.
	_, hints, err := k.AbortRun(k.ctx, ownRuntime, "run-3")
	require.NoError(k.t, err)
	require.Empty(k.t, hints)
	_, err = k.Create(k.ctx, k.ask(withRun("run-3")))
	require.ErrorIs(k.t, err, core.ErrRunAborted)
}

func (k *kit) run(id string) core.Run {
	k.t.Helper()
	run, err := k.ReadRun(k.ctx, ownRuntime, id)
	require.NoError(k.t, err)
	require.Equal(k.t, id, run.ID)
	require.Equal(k.t, k.now(), run.Now)
	return run
}

func runWaiting(k *kit) {
	first := k.create(withRun("run-1"))
	k.advance(5_000)
	require.Equal(k.t, core.Millis(5_000), k.run("run-1").WaitingMillis, "time that still runs counts")
	second := k.create(withRun("run-1"))
	k.create(withRun("run-1"), withContinuation(core.ContinuationDraft))
	k.create(withRun("run-2"))
	k.advance(5_000)
	k.deny(first.ID)
	require.Equal(k.t, 2, k.run("run-1").Pending)
	k.advance(10_000)
	k.allow(second.ID)
	require.Equal(k.t, core.Millis(20_000), k.run("run-1").WaitingMillis, "overlap counts once")
	k.advance(60_000)
	require.Equal(k.t, core.Millis(20_000), k.run("run-1").WaitingMillis, "nobody waits for the draft")
	k.create(withRun("run-1"), withContinuation(core.ContinuationDurable))
	k.advance(7_000)
	k.reopen()
	require.Equal(k.t, core.Millis(27_000), k.run("run-1").WaitingMillis)
	_, _, err := k.AbortRun(k.ctx, ownRuntime, "run-1")
	require.NoError(k.t, err)
	k.advance(5_000)
	require.Equal(k.t, core.Millis(27_000), k.run("run-1").WaitingMillis)
}

func runLastDecided(k *kit) {
	made := k.create(withRun("run-1"))
	k.create(withRun("run-1"), automatic)
	require.Zero(k.t, k.run("run-1").LastDecidedAt)
	withdrawn := k.create(withRun("run-1"))
	k.advance(1_000)
	_, err := k.Decide(k.ctx, k.withdrawal(withdrawn.ID))
	require.NoError(k.t, err)
	require.Zero(k.t, k.run("run-1").LastDecidedAt, "a withdrawal is nobody's decision")
	got := k.deny(made.ID)
	k.advance(1_000)
	k.create(withRun("run-1"), automatic)
	require.Equal(k.t, got.ResolvedAt, k.run("run-1").LastDecidedAt)
}

func runAcceptsReply(k *kit) {
	k.create(withRun("run-1"), withContinuation(core.ContinuationDraft), expiresIn(core.MaxExpiry))
	require.False(k.t, k.run("run-1").AcceptsReply)
	live := k.create(withRun("run-1"))
	require.True(k.t, k.run("run-1").AcceptsReply)
	require.Equal(k.t, 2, k.run("run-1").Pending)
	k.advanceTo(live.ExpiresAt)
	run := k.run("run-1")
	require.False(k.t, run.AcceptsReply, "the deadline has come, seen by this read or not")
	require.Equal(k.t, 1, run.Pending)
	k.create(withRun("run-1"), withContinuation(core.ContinuationDurable))
	require.True(k.t, k.run("run-1").AcceptsReply, "a turn that survives a restart is a turn")
}
