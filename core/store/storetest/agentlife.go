package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func agentLifeSpecs() []spec {
	return []spec{
		{"R139 K18 while an agent is paused its grants are not handed out, and all else goes on", pauseClaims},
		{"R139 what was claimed before a pause stays claimed", pauseSpares},
		{"R139 a grant that lapsed before a pause is not kept by it", pauseLapses},
		{"R139 a grant has the time after a pause that it had left", pauseKeepsTime},
		{"pausing is compare-and-set, and the loser gets the current settings", pauseCompare},
		{"whoever lost the right pauses, resets and deletes nothing", lifeGuarded},
		{"R140 R141 a reset ends the runs of an agent and all that it has open", resetEnds},
		{"R143 mode, rules and pause outlive a reset", resetKeeps},
		{"R143 a key of the life before asks again in the next", resetKeys},
		{"R75 deleting an agent ends its rules for good and leaves it with nothing set", deleteForgets},
		{"a deleted agent has the generations after those before", deleteGenerations},
		{"agents are known by settings, owners and what they asked lately", agentsListed},
		{"a list of agents counts the rules that cover something", agentsCounted},
		{"R155 a list of agents and of rules is cut to what its viewer may see", agentsViewed},
		{"R73 a tool has one switch at a time", switchOnce},
		{"R168 each change of settings is an event of its agent, and is pruned with its history", settingsEvents},
	}
}

func (k *kit) setPaused(agent string, paused bool, revision int64) core.Agent {
	k.t.Helper()
	a, err := k.SetPaused(k.ctx, core.SetPaused{Runtime: ownRuntime, Agent: agent, Paused: paused, Revision: revision, By: "alice", Name: "Alice"})
	require.NoError(k.t, err)
	require.Equal(k.t, paused, a.Paused())
	return a
}

// end is the command that ends the life of an agent.
func end(agent string) core.EndAgent {
	return core.EndAgent{Runtime: ownRuntime, Agent: agent, By: "alice", Name: "Alice", Surface: core.SurfacePage}
}

func (k *kit) resetAgent(agent string) (core.Agent, []core.Hint) {
	k.t.Helper()
	a, hints, err := k.ResetAgent(k.ctx, end(agent))
	require.NoError(k.t, err)
	return a, hints
}

func withAgent(name string) edit { return func(c *core.NewApproval) { c.Approval.Agent = name } }

// refusesPaused requires that the grant is kept and not handed out.
func (k *kit) refusesPaused(a core.Approval) {
	k.t.Helper()
	got, err := k.Claim(k.ctx, claimOf(a, "token"))
	require.ErrorIs(k.t, err, core.ErrPaused)
	k.same(a, got)
	k.same(a, k.read(a.ID))
}

func pauseClaims(k *kit) {
	k.setMode("agent-1", core.ModeOnlyMoney, 0)
	rule := k.makeRule()
	grants := []core.Approval{
		k.allow(k.create().ID), k.allow(k.create(withContinuation(core.ContinuationDurable)).ID),
		k.create(automatic, guardedBy(2)), k.create(under(rule, 2)),
	}
	other := k.allow(k.create(withAgent("agent-2")).ID)
	k.advance(5)
	paused := k.setPaused("agent-1", true, 0)
	require.Equal(k.t, core.Agent{
		Runtime: ownRuntime, Name: "agent-1", Mode: core.ModeOnlyMoney, ModeRevision: 1, Generation: 3, UpdatedAt: k.now(),
		PausedAt: k.now(), PausedBy: "alice", PausedName: "Alice", PauseRevision: 1,
	}, paused)
	k.reopen()
	for _, a := range grants {
		k.refusesPaused(a)
	}
	k.claim(other, "token")
	asked := k.create()
	grants = append(grants, k.allow(asked.ID), k.create(automatic, guardedBy(3)))
	k.refusesPaused(grants[len(grants)-1])
	k.refusesPaused(grants[len(grants)-2])

	resumed := k.setPaused("agent-1", false, 1)
	require.Empty(k.t, resumed.PausedBy)
	require.Equal(k.t, int64(2), resumed.PauseRevision)
	for _, a := range grants {
		k.claim(a, "token")
	}
	changes, err := k.PolicyChanges(k.ctx, ownRuntime, "agent-1", 2)
	require.NoError(k.t, err)
	require.Equal(k.t, []core.PolicyChange{
		{Runtime: ownRuntime, Agent: "agent-1", Generation: 4, Kind: core.ChangeResumed, By: "alice", Name: "Alice", At: k.now()},
		{Runtime: ownRuntime, Agent: "agent-1", Generation: 3, Kind: core.ChangePaused, By: "alice", Name: "Alice", At: k.now()},
	}, changes)
}

func pauseSpares(k *kit) {
	claimed := k.claim(k.allow(k.create().ID), "token")
	k.setPaused("agent-1", true, 0)
	again, err := k.Claim(k.ctx, claimOf(claimed, "token"))
	require.NoError(k.t, err, "the same runner, whose answer was lost")
	k.same(claimed, again)
	_, err = k.Claim(k.ctx, claimOf(claimed, "another"))
	require.ErrorIs(k.t, err, core.ErrAlreadyClaimed)
	_, err = k.Report(k.ctx, reportOf(claimed, "token", core.ExecutionSucceeded))
	require.NoError(k.t, err)
}

func pauseLapses(k *kit) {
	late, wrong := k.allow(k.create().ID), k.allow(k.create().ID)
	k.setPaused("agent-1", true, 0)
	c := claimOf(wrong, "token")
	c.ActionHash = late.ActionHash
	_, err := k.Claim(k.ctx, c)
	require.ErrorIs(k.t, err, core.ErrNotClaimable)
	require.Equal(k.t, core.VoidHashMismatch, k.read(wrong.ID).VoidReason)
	k.setPaused("agent-1", false, 1)
	k.advanceTo(k.read(late.ID).ClaimBy)
	k.setPaused("agent-1", true, 2)
	_, err = k.Claim(k.ctx, claimOf(late, "token"))
	require.ErrorIs(k.t, err, core.ErrNotClaimable, "it had lapsed before the pause")
	require.Equal(k.t, core.VoidLapsed, k.read(late.ID).VoidReason)
}

// R139: a decision takes effect after the pause, however long that was: it has the time
// that it had left, and no more.
func pauseKeepsTime(k *kit) {
	before := k.allow(k.create().ID)
	window := before.ClaimBy - k.now()
	k.advance(window / 2)
	k.setPaused("agent-1", true, 0)
	k.advance(window)
	during := k.allow(k.create(expiresIn(core.MaxExpiry)).ID)
	k.advance(10 * window)
	k.sweep(10)
	for _, a := range []core.Approval{before, during} {
		k.refusesPaused(a)
		require.Equal(k.t, core.ExecutionUnclaimed, k.read(a.ID).Execution)
	}
	k.setPaused("agent-1", false, 1)
	require.Equal(k.t, k.now()+window/2, k.read(before.ID).ClaimBy)
	require.Equal(k.t, k.now()+window, k.read(during.ID).ClaimBy)
	k.claim(k.read(during.ID), "token")
	k.advance(window / 2)
	k.sweep(10)
	require.Equal(k.t, core.VoidLapsed, k.read(before.ID).VoidReason)
}

func pauseCompare(k *kit) {
	paused := k.setPaused("agent-1", true, 0)
	require.Equal(k.t, paused, k.setPaused("agent-1", true, 7), "it is so already")
	got, err := k.SetPaused(k.ctx, core.SetPaused{Runtime: ownRuntime, Agent: "agent-1", By: "bob"})
	require.ErrorIs(k.t, err, core.ErrConflict)
	require.Equal(k.t, paused, got)
	k.setMode("agent-1", core.ModeOnlyMoney, 0)
	k.setPaused("agent-1", false, 1) // A mode is no change of the pause.
	_, err = k.SetPaused(k.ctx, core.SetPaused{Agent: "agent-1", Paused: true, By: "bob"})
	require.ErrorIs(k.t, err, core.ErrInvalid)
}

func lifeGuarded(k *kit) {
	p := k.person("alice", core.RoleReviewer)
	a := k.create()
	k.disable("alice")
	c := end("agent-1")
	c.Guard = core.Guard{PersonID: p.ID, PersonRevision: p.Revision}
	_, err := k.SetPaused(k.ctx, core.SetPaused{Runtime: ownRuntime, Agent: "agent-1", Paused: true, Guard: c.Guard})
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, _, err = k.ResetAgent(k.ctx, c)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, _, err = k.DeleteAgent(k.ctx, c)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	k.same(a, k.read(a.ID))
	require.Zero(k.t, k.generation())
	for _, c := range []core.EndAgent{{Runtime: ownRuntime}, {By: "alice"}} {
		_, _, err = k.ResetAgent(k.ctx, c)
		require.ErrorIs(k.t, err, core.ErrInvalid)
	}
}

func resetEnds(k *kit) {
	const run = "run-1"
	pending, plain := k.create(withRun(run)), k.create()
	unclaimed, claimed := k.allow(k.create(withRun(run)).ID), k.claim(k.allow(k.create(withRun(run)).ID), "token")
	helper := k.create(withRun(run), withAgent("helper")) // It works for the same run.
	others := []core.Approval{k.create(withAgent("agent-2"), withRun("run-2")), k.create(withRuntime(otherRuntime), withRun(run))}
	late := k.create(expiresIn(1_000))
	k.advanceTo(late.ExpiresAt)

	_, hints := k.resetAgent("agent-1")
	told := ids(hints)
	require.Len(k.t, told, 5)
	for _, was := range []core.Approval{pending, plain, helper} {
		is := k.read(was.ID)
		require.True(k.t, told[was.ID])
		require.Equal(k.t, core.StatusCancelled, is.Status)
		require.Equal(k.t, core.ReasonRunAborted, is.Reason)
		require.Equal(k.t, core.ResolverHuman, is.ResolverKind)
		require.Equal(k.t, "alice", is.ResolverID)
		require.Equal(k.t, core.SurfacePage, is.Surface)
		k.events(was.ID, core.EventRequested, core.EventCancelled)
	}
	require.Equal(k.t, core.VoidRunAborted, k.read(unclaimed.ID).VoidReason)
	require.Equal(k.t, core.StatusExpired, k.read(late.ID).Status, "its deadline had come before")
	k.same(claimed, k.read(claimed.ID))
	for _, a := range others {
		k.same(a, k.read(a.ID))
	}
	_, err := k.Create(k.ctx, k.ask(withRun(run)))
	require.ErrorIs(k.t, err, core.ErrRunAborted, "the life before asks nothing more")
	k.create(withRun("run-3"))
	_, hints = k.resetAgent("nobody")
	require.Empty(k.t, hints)
}

func resetKeeps(k *kit) {
	k.setMode("agent-1", core.ModeOnlyMoney, 0)
	rule := k.makeRule()
	paused := k.setPaused("agent-1", true, 0)
	k.advance(5)
	got, _ := k.resetAgent("agent-1")
	want := paused
	want.Generation, want.UpdatedAt, want.ResetAt = paused.Generation+1, k.now(), k.now()
	require.Equal(k.t, want, got)
	k.reopen()
	require.Equal(k.t, rule, k.rule(rule.ID))
	k.refusesInsert(core.ErrPolicyChanged, under(rule, paused.Generation)) // What was evaluated before is evaluated again.
	k.create(under(rule, got.Generation))
	changes, err := k.PolicyChanges(k.ctx, ownRuntime, "agent-1", 1)
	require.NoError(k.t, err)
	require.Equal(k.t, core.ChangeReset, changes[0].Kind)
	require.Equal(k.t, "alice", changes[0].By)
}

func resetKeys(k *kit) {
	first := k.create(withKey("daily", "content"), withRun("run-1"))
	k.resetAgent("agent-1")
	_, err := k.Create(k.ctx, k.ask(withKey("daily", "content"), withRun("run-1")))
	require.ErrorIs(k.t, err, core.ErrRunAborted)
	second := k.create(withKey("daily", "content"), withRun("run-2"))
	require.Equal(k.t, first.ID, second.Supersedes)
	require.Equal(k.t, int64(2), second.KeyGeneration)
	k.advance(5)
	// What its runtime aborted by itself stays what it is.
	_, _, err = k.AbortRun(k.ctx, ownRuntime, "run-2")
	require.NoError(k.t, err)
	again, err := k.Create(k.ctx, k.ask(withKey("daily", "content"), withRun("run-3")))
	require.NoError(k.t, err)
	require.True(k.t, again.Existing)
	require.Equal(k.t, second.ID, again.Approval.ID)
}

func deleteForgets(k *kit) {
	k.setMode("agent-1", core.ModeBeforeEverything, 0)
	rule := k.makeRule()
	granted, pending := k.create(under(rule, k.generation())), k.create()
	money, err := k.SwitchMoney(k.ctx, k.moneySwitch("pay"), core.Guard{})
	require.NoError(k.t, err)
	spared := k.makeRuleFrom(k.create(withAlways, withAgent("agent-2")))
	k.setPaused("agent-1", true, 0)
	k.advance(5)
	got, hints, err := k.DeleteAgent(k.ctx, end("agent-1"))
	require.NoError(k.t, err)
	require.Len(k.t, hints, 3, "the card that made the rule was allowed, and nobody had claimed it")
	require.Equal(k.t, core.Agent{
		Runtime: ownRuntime, Name: "agent-1", ModeRevision: 2, PauseRevision: 2, Generation: got.Generation, UpdatedAt: k.now(), ResetAt: k.now(),
	}, got)
	k.reopen()
	require.Equal(k.t, core.StatusCancelled, k.read(pending.ID).Status)
	_, err = k.Claim(k.ctx, claimOf(granted, "token"))
	require.ErrorIs(k.t, err, core.ErrNotClaimable)
	for _, id := range []string{rule.ID, money.ID} {
		r := k.rule(id)
		require.Equal(k.t, k.now(), r.RemovedAt)
		require.Equal(k.t, "Alice", r.RemovedName)
		k.refusesInsert(core.ErrPolicyChanged, under(r, got.Generation))
	}
	require.Zero(k.t, k.rule(spared.ID).RemovedAt)
	list, err := k.ListAgents(k.ctx, core.AgentQuery{})
	require.NoError(k.t, err)
	require.Len(k.t, list, 1)
	require.Equal(k.t, "agent-2", list[0].Name)
	k.advance(5)
	k.create()
	list, err = k.ListAgents(k.ctx, core.AgentQuery{})
	require.NoError(k.t, err)
	require.Len(k.t, list, 2, "it is there again with its next question")
}

func deleteGenerations(k *kit) {
	k.setMode("agent-1", core.ModeOnlyMoney, 0)
	before := k.generation()
	_, _, err := k.DeleteAgent(k.ctx, end("agent-1"))
	require.NoError(k.t, err)
	k.refusesInsert(core.ErrPolicyChanged, automatic, guardedBy(before))
	k.refusesInsert(core.ErrPolicyChanged, automatic, guardedBy(0))
	k.setMode("agent-1", core.ModeOnlyMoney, 2)
	require.Greater(k.t, k.generation(), before+1)
	list, err := k.ListAgents(k.ctx, core.AgentQuery{})
	require.NoError(k.t, err)
	require.Len(k.t, list, 1, "something is set for it again")
}

func agentsListed(k *kit) {
	k.setMode("set", core.ModeOnlyMoney, 0)
	k.person("alice", core.RoleReviewer)
	require.NoError(k.t, k.SetOwners(k.ctx, ownRuntime, "owned", []string{"alice"}))
	k.create(withAgent("asked"))
	k.create(withAgent("asked"), withRuntime(otherRuntime))
	names := func(q core.AgentQuery) (names []string) {
		list, err := k.ListAgents(k.ctx, q)
		require.NoError(k.t, err)
		for i := range list {
			names = append(names, list[i].Runtime+" "+list[i].Name)
		}
		return names
	}
	own := []string{ownRuntime + " asked", ownRuntime + " owned", ownRuntime + " set"}
	require.Equal(k.t, own, names(core.AgentQuery{Runtime: ownRuntime}))
	require.ElementsMatch(k.t, append(own, otherRuntime+" asked"), names(core.AgentQuery{}))
}

func agentsCounted(k *kit) {
	count := func() int {
		list, err := k.ListAgents(k.ctx, core.AgentQuery{Runtime: ownRuntime})
		require.NoError(k.t, err)
		require.Len(k.t, list, 1)
		live, _, err := k.LiveRules(k.ctx, ownRuntime, "agent-1")
		require.NoError(k.t, err)
		require.Len(k.t, live, list[0].Rules)
		return list[0].Rules
	}
	made := k.makeRule()
	once, brief := k.moneySwitch("pay"), k.moneySwitch("refund")
	once.Rule.UsesAllowed, brief.Life = 1, 1_000
	for _, c := range []core.NewRule{once, brief} {
		_, err := k.SwitchMoney(k.ctx, c, core.Guard{})
		require.NoError(k.t, err)
	}
	require.Equal(k.t, 3, count())
	k.advance(1_000)
	require.Equal(k.t, 2, count(), "one has ended by itself")
	k.create(under(k.rule(once.Rule.ID), k.generation()))
	require.Equal(k.t, 1, count(), "one is used up")
	_, err := k.RemoveRule(k.ctx, core.RemoveRule{ID: made.ID, By: "alice"})
	require.NoError(k.t, err)
	require.Zero(k.t, count())
}

func agentsViewed(k *kit) {
	admin := k.person("ann", core.RoleAdmin)
	k.person("olga", core.RoleReviewer)
	require.NoError(k.t, k.SetOwners(k.ctx, ownRuntime, "agent-1", []string{"olga"}))
	owner, err := k.Principal(k.ctx, "olga")
	require.NoError(k.t, err)
	stranger, disabled := k.person("stan", core.RoleReviewer), owner
	disabled.Disabled = true
	mine := k.makeRule()
	k.makeRuleFrom(k.create(withAlways, withAgent("agent-2")))
	for name, want := range map[string]struct {
		viewer *core.Principal
		count  int
	}{
		"nobody in particular": {nil, 2}, "admin": {&admin, 2}, "owner": {&owner, 1}, "stranger": {&stranger, 0},
		"disabled": {&disabled, 0}, "nobody": {&core.Principal{}, 0},
	} {
		agents, err := k.ListAgents(k.ctx, core.AgentQuery{Viewer: want.viewer})
		require.NoError(k.t, err)
		require.Len(k.t, agents, want.count, name)
		rules, err := k.ListRules(k.ctx, core.RuleQuery{Viewer: want.viewer, Limit: 2})
		require.NoError(k.t, err)
		require.Len(k.t, rules, want.count, name)
	}
	rules, err := k.ListRules(k.ctx, core.RuleQuery{Viewer: &owner, Limit: 1})
	require.NoError(k.t, err)
	require.Equal(k.t, []core.Rule{mine}, rules, "cut before the limit")
}

func switchOnce(k *kit) {
	made, err := k.SwitchMoney(k.ctx, k.moneySwitch("pay"), core.Guard{})
	require.NoError(k.t, err)
	again, err := k.SwitchMoney(k.ctx, k.moneySwitch("pay"), core.Guard{})
	require.ErrorIs(k.t, err, core.ErrConflict)
	require.Equal(k.t, made, again)
	_, err = k.SwitchMoney(k.ctx, k.moneySwitch("refund"), core.Guard{})
	require.NoError(k.t, err)
	k.remove(made.ID)
	limited := k.moneySwitch("pay")
	limited.Life = 1_000
	_, err = k.SwitchMoney(k.ctx, limited, core.Guard{})
	require.NoError(k.t, err)
	k.advance(1_000)
	_, err = k.SwitchMoney(k.ctx, k.moneySwitch("pay"), core.Guard{})
	require.NoError(k.t, err, "the one before has expired")
}

func settingsEvents(k *kit) {
	k.setMode("agent-1", core.ModeOnlyMoney, 0)
	card := k.create(withAlways)
	rule := k.makeRuleFrom(card)
	money, err := k.SwitchMoney(k.ctx, k.moneySwitch("pay"), core.Guard{})
	require.NoError(k.t, err)
	k.remove(rule.ID)
	k.remove(money.ID)
	k.remove(money.ID) // It was: nothing changes.
	k.setPaused("agent-1", true, 0)
	k.resetAgent("agent-1")
	_, _, err = k.DeleteAgent(k.ctx, end("agent-1"))
	require.NoError(k.t, err)
	id := core.AgentHint(ownRuntime, "agent-1")
	changes, err := k.PolicyChanges(k.ctx, ownRuntime, "agent-1", 0)
	require.NoError(k.t, err)
	require.Len(k.t, changes, 8)
	want := make([]core.EventType, len(changes))
	for i := range want {
		want[i] = core.EventSettings
	}
	k.events(id, want...)
	k.retention()
	k.prune(100)
	require.Empty(k.t, k.h.Events(k.tb, id))
}
