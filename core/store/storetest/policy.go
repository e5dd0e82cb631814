package storetest

import (
	"maps"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func policySpecs() []spec {
	return []spec{
		{"R53 an agent that nobody set anything for has no mode and no generation", policyNothing},
		{"R52 a mode is changed by compare-and-set, and the loser gets the current one", policyMode},
		{"R52 a mode refuses what was evaluated before it", policyModeGuards},
		{"only modes that exist are set", policyModeInvalid},
		{"R69 facts hold for the boot that attested them, and go with it", policyFacts},
		{"facts are bounded", policyFactsBounded},
		{"K34 the newest explicit decline of the same action is found", policyDecline},
		{"K34 only a person's button declines", policyDeclineExplicit},
		{"K34 a re-opened decline is not found, and its re-opening is recorded once", policyReopen},
		{"K34 a sticky denial is refused once its decline was re-opened", policySticky},
		{"a re-opening is forgotten with its decline", policyReopenPruned},
	}
}

func (k *kit) setMode(agent, mode string, revision int64) core.Agent {
	k.t.Helper()
	a, err := k.SetMode(k.ctx, core.SetMode{Runtime: ownRuntime, Agent: agent, Mode: mode, Revision: revision, By: "alice", Name: "Alice"})
	require.NoError(k.t, err)
	return a
}

// standing reads what an evaluation of the approval's action would.
func (k *kit) standing(a core.Approval) core.PolicyStanding {
	k.t.Helper()
	s, err := k.PolicyState(k.ctx, core.PolicyQuery{
		Runtime: a.Runtime, Agent: a.Agent, Instance: a.Instance, Epoch: a.Epoch, ActionHash: a.ActionHash,
	})
	require.NoError(k.t, err)
	return s
}

func policyNothing(k *kit) {
	a, err := k.ReadAgent(k.ctx, ownRuntime, "agent-1")
	require.NoError(k.t, err)
	require.Equal(k.t, core.Agent{Runtime: ownRuntime, Name: "agent-1"}, a)
	list, err := k.ListAgents(k.ctx, core.AgentQuery{})
	require.NoError(k.t, err)
	require.Empty(k.t, list)
	s, err := k.PolicyState(k.ctx, core.PolicyQuery{Runtime: ownRuntime, Agent: "agent-1"})
	require.NoError(k.t, err)
	require.Equal(k.t, core.PolicyStanding{Now: k.now()}, s)
	k.create(guardedBy(0))
	k.refusesInsert(core.ErrPolicyChanged, guardedBy(1))
}

func policyMode(k *kit) {
	one := k.setMode("agent-1", core.ModeOnlyMoney, 0)
	require.Equal(k.t, core.Agent{
		Runtime: ownRuntime, Name: "agent-1", Mode: core.ModeOnlyMoney, ModeRevision: 1, Generation: 1, UpdatedAt: k.now(),
	}, one)
	k.makeRule()
	got, err := k.SetMode(k.ctx, core.SetMode{Runtime: ownRuntime, Agent: "agent-1", Mode: core.ModeBeforeEverything})
	require.ErrorIs(k.t, err, core.ErrConflict)
	require.Equal(k.t, core.ModeOnlyMoney, got.Mode)
	require.Equal(k.t, int64(1), got.ModeRevision, "a rule is no change of the mode")
	two := k.setMode("agent-1", core.ModeBeforeEverything, 1)
	require.Equal(k.t, int64(2), two.ModeRevision)
	require.Equal(k.t, two, k.setMode("agent-1", core.ModeBeforeEverything, 0), "it is so already")
	k.reopen()
	cleared := k.setMode("agent-1", "", 2)
	require.Empty(k.t, cleared.Mode)
	k.setMode("", core.ModeOnlyMoney, 0)
	list, err := k.ListAgents(k.ctx, core.AgentQuery{})
	require.NoError(k.t, err)
	require.Len(k.t, list, 2)
	require.Empty(k.t, list[0].Name, "the agent without a name is one too")
	require.Equal(k.t, core.ListedAgent{Agent: cleared, Rules: 1}, list[1])
	changes, err := k.PolicyChanges(k.ctx, ownRuntime, "agent-1", 2)
	require.NoError(k.t, err)
	require.Equal(k.t, []core.PolicyChange{
		{Runtime: ownRuntime, Agent: "agent-1", Generation: 4, Kind: core.ChangeMode, Before: core.ModeBeforeEverything, By: "alice", Name: "Alice", At: k.now()},
		{Runtime: ownRuntime, Agent: "agent-1", Generation: 3, Kind: core.ChangeMode, Before: core.ModeOnlyMoney, After: core.ModeBeforeEverything, By: "alice", Name: "Alice", At: k.now()},
	}, changes)
}

func policyModeGuards(k *kit) {
	byMode := func(generation int64) edit {
		return func(c *core.NewApproval) {
			automatic(c)
			c.Approval.PolicyID, c.Approval.ResolverID = "mode.only-money-and-deletes.v1", "mode.only-money-and-deletes.v1"
			guardedBy(generation)(c)
		}
	}
	k.setMode("agent-1", core.ModeOnlyMoney, 0)
	granted, spared := k.create(byMode(1)), k.create(byMode(1))
	rule := k.makeRule()
	byRule := k.create(under(rule, 2))
	k.claim(spared, "token")
	k.setMode("agent-1", core.ModeBeforeEverything, 1)
	k.refusesInsert(core.ErrPolicyChanged, byMode(1))
	_, err := k.Claim(k.ctx, claimOf(granted, "token"))
	require.ErrorIs(k.t, err, core.ErrNotClaimable)
	k.claim(byRule, "token") // Rules hold in every mode.
	k.claim(k.allow(k.create().ID), "token")
}

func policyModeInvalid(k *kit) {
	for _, c := range []core.SetMode{
		{Runtime: ownRuntime, Agent: "agent-1", Mode: "never"},
		{Agent: "agent-1", Mode: core.ModeOnlyMoney},
	} {
		_, err := k.SetMode(k.ctx, c)
		require.ErrorIs(k.t, err, core.ErrInvalid)
	}
	_, err := k.PolicyChanges(k.ctx, ownRuntime, "agent-1", -1)
	require.ErrorIs(k.t, err, core.ErrInvalid)
	require.Zero(k.t, k.generation())
}

// attest registers a boot with facts.
func (k *kit) attest(boot string, facts map[string]string) core.Instance {
	k.t.Helper()
	in, _, err := k.RegisterInstance(k.ctx, core.RegisterInstance{Runtime: ownRuntime, Instance: "instance", BootID: boot, Facts: facts})
	require.NoError(k.t, err)
	return in
}

func policyFacts(k *kit) {
	facts := map[string]string{"sandbox": "docker", "network": "allow-list"}
	one := k.attest("boot-1", facts)
	call := core.Approval{Runtime: ownRuntime, Agent: "agent-1", Instance: "instance", Epoch: one.Epoch}
	require.Equal(k.t, facts, k.standing(call).Facts)
	k.reopen()
	require.Equal(k.t, facts, k.standing(call).Facts)
	for name, other := range map[string]core.Approval{
		"no instance":      {Runtime: ownRuntime, Agent: "agent-1"},
		"another instance": {Runtime: ownRuntime, Agent: "agent-1", Instance: "other", Epoch: one.Epoch},
		"another runtime":  {Runtime: otherRuntime, Agent: "agent-1", Instance: "instance", Epoch: one.Epoch},
		"a later epoch":    {Runtime: ownRuntime, Agent: "agent-1", Instance: "instance", Epoch: one.Epoch + 1},
	} {
		require.Empty(k.t, k.standing(other).Facts, name)
	}
	require.Equal(k.t, one, k.attest("boot-1", map[string]string{"sandbox": "gvisor"}))
	require.Equal(k.t, map[string]string{"sandbox": "gvisor"}, k.standing(call).Facts, "the newest word of the boot counts")
	two := k.attest("boot-2", nil)
	require.Empty(k.t, k.standing(call).Facts, "gone with the boot")
	call.Epoch = two.Epoch
	require.Empty(k.t, k.standing(call).Facts, "and not handed down")
	k.attest("boot-1", facts)
	require.Empty(k.t, k.standing(call).Facts, "a replaced boot attests nothing for its successor")
	call.Epoch = one.Epoch
	require.Empty(k.t, k.standing(call).Facts)
}

func policyFactsBounded(k *kit) {
	many := map[string]string{}
	for range core.MaxFacts + 1 {
		many["fact-"+strings.Repeat("x", len(many))] = "yes"
	}
	for name, facts := range map[string]map[string]string{
		"too many":     many,
		"no name":      {"": "docker"},
		"a long name":  {strings.Repeat("x", core.MaxFactBytes+1): "docker"},
		"a long value": {"sandbox": strings.Repeat("x", core.MaxFactBytes+1)},
	} {
		_, _, err := k.RegisterInstance(k.ctx, core.RegisterInstance{Runtime: ownRuntime, Instance: "instance", BootID: "boot", Facts: maps.Clone(facts)})
		require.ErrorIs(k.t, err, core.ErrInvalid, name)
	}
	require.Equal(k.t, int64(1), k.attest("boot", map[string]string{"sandbox": "docker"}).Epoch, "nothing was registered before")
}

// withAction gives the request the action of another.
func withAction(a core.Approval) edit {
	return func(c *core.NewApproval) {
		c.Approval.ArgumentsHash, c.Approval.ActionHash, c.Approval.Fingerprint = a.ArgumentsHash, a.ActionHash, a.Fingerprint
	}
}

func policyDecline(k *kit) {
	first := k.create()
	require.Empty(k.t, k.standing(first).Declined)
	declined := k.deny(first.ID)
	s := k.standing(first)
	require.Equal(k.t, first.ID, s.Declined)
	require.Equal(k.t, declined.ResolvedAt, s.DeclinedAt)
	k.advance(10)
	again := k.deny(k.create(withAction(first)).ID)
	s = k.standing(first)
	require.Equal(k.t, again.ID, s.Declined)
	require.Equal(k.t, again.ResolvedAt, s.DeclinedAt)
	for name, other := range map[string]core.Approval{
		"another action":  k.create(),
		"another agent":   {Runtime: ownRuntime, Agent: "agent-2", ActionHash: first.ActionHash},
		"another runtime": {Runtime: otherRuntime, Agent: "agent-1", ActionHash: first.ActionHash},
		"no action":       {Runtime: ownRuntime, Agent: "agent-1"},
	} {
		require.Empty(k.t, k.standing(other).Declined, name)
	}
}

func policyDeclineExplicit(k *kit) {
	a := k.create()
	k.allow(a.ID)
	k.deny(k.create().ID)
	k.create(withAction(a), unroutable)
	message := k.answer(k.create(withAction(a)).ID, core.DecisionDeny)
	message.To.Reason, message.To.ByMessage = core.ReasonMessage, true
	mismatch := k.answer(k.create(withAction(a)).ID, core.DecisionDeny)
	mismatch.To.Reason = core.ReasonHashMismatch
	for _, d := range []core.Decide{message, mismatch, k.withdrawal(k.create(withAction(a)).ID)} {
		got, err := k.Decide(k.ctx, d)
		require.NoError(k.t, err)
		require.True(k.t, got.Applied)
	}
	late := k.create(withAction(a), expiresIn(1_000))
	k.advanceTo(late.ExpiresAt)
	require.Equal(k.t, core.StatusExpired, k.read(late.ID).Status)
	require.Empty(k.t, k.standing(a).Declined)
}

func policyReopen(k *kit) {
	first := k.deny(k.create().ID)
	_, err := k.ReadReopened(k.ctx, first.ID)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	k.advance(5)
	want := core.Reopened{ApprovalID: first.ID, By: "bob", Name: "Bob", At: k.now()}
	got, err := k.ReopenDecline(k.ctx, core.ReopenDecline{ApprovalID: first.ID, By: "bob", Name: "Bob"})
	require.NoError(k.t, err)
	require.Equal(k.t, want, got)
	k.advance(5)
	got, err = k.ReopenDecline(k.ctx, core.ReopenDecline{ApprovalID: first.ID, By: "carol", Name: "Carol"})
	require.NoError(k.t, err)
	require.Equal(k.t, want, got, "whoever was first is told to the second")
	k.reopen()
	require.Empty(k.t, k.standing(first).Declined)
	got, err = k.ReadReopened(k.ctx, first.ID)
	require.NoError(k.t, err)
	require.Equal(k.t, want, got)
	k.same(first, k.read(first.ID)) // The answer itself stays what it was.
	again := k.deny(k.create(withAction(first)).ID)
	require.Equal(k.t, again.ID, k.standing(first).Declined, "a new no counts")

	p := k.person("dave", core.RoleReviewer)
	k.disable("dave")
	for name, c := range map[string]struct {
		cmd  core.ReopenDecline
		want error
	}{
		"unknown":      {core.ReopenDecline{ApprovalID: "unknown", By: "bob"}, core.ErrNotFound},
		"nobody":       {core.ReopenDecline{ApprovalID: again.ID}, core.ErrInvalid},
		"lost right":   {core.ReopenDecline{ApprovalID: again.ID, By: "dave", Guard: core.Guard{PersonID: p.ID, PersonRevision: p.Revision}}, core.ErrNotFound},
		"pending":      {core.ReopenDecline{ApprovalID: k.create().ID, By: "bob"}, core.ErrConflict},
		"allowed":      {core.ReopenDecline{ApprovalID: k.allow(k.create().ID).ID, By: "bob"}, core.ErrConflict},
		"nobody's own": {core.ReopenDecline{ApprovalID: k.create(unroutable).ID, By: "bob"}, core.ErrConflict},
	} {
		_, err := k.ReopenDecline(k.ctx, c.cmd)
		require.ErrorIs(k.t, err, c.want, name)
	}
	require.Equal(k.t, again.ID, k.standing(first).Declined)
}

// stickyOf makes the request the denial of an action that was just declined.
func stickyOf(a core.Approval, generation int64) edit {
	return func(c *core.NewApproval) {
		unroutable(c)
		withAction(a)(c)
		guardedBy(generation)(c)
		c.Approval.Reason, c.Approval.ResolverKind, c.Approval.StickyOf = core.ReasonStickyDecline, core.ResolverPolicy, a.ID
	}
}

func policySticky(k *kit) {
	first := k.deny(k.create().ID)
	denied := k.create(stickyOf(first, 0))
	require.Equal(k.t, first.ID, denied.StickyOf)
	require.Equal(k.t, first.ID, k.standing(first).Declined, "it is no decline of its own")
	other := k.create()
	for name, edit := range map[string]edit{
		"another action":  withAction(other),
		"another agent":   func(c *core.NewApproval) { c.Approval.Agent = "agent-2" },
		"another runtime": withRuntime(otherRuntime),
		"no such decline": func(c *core.NewApproval) { c.Approval.StickyOf = "unknown" },
		"no decline":      func(c *core.NewApproval) { withAction(other)(c); c.Approval.StickyOf = other.ID },
	} {
		_, err := k.Create(k.ctx, k.ask(stickyOf(first, 0), edit))
		require.ErrorIs(k.t, err, core.ErrPolicyChanged, name)
	}
	_, err := k.ReopenDecline(k.ctx, core.ReopenDecline{ApprovalID: first.ID, By: "bob"})
	require.NoError(k.t, err)
	k.refusesInsert(core.ErrPolicyChanged, stickyOf(first, 0))
}

func policyReopenPruned(k *kit) {
	first := k.deny(k.create().ID)
	_, err := k.ReopenDecline(k.ctx, core.ReopenDecline{ApprovalID: first.ID, By: "bob"})
	require.NoError(k.t, err)
	k.retention()
	k.prune(10)
	_, err = k.ReadReopened(k.ctx, first.ID)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	require.Empty(k.t, k.standing(first).Declined)
}
