package storetest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// refusesInsert requires that the request makes no row and counts no use.
func (k *kit) refusesInsert(want error, edits ...edit) {
	k.t.Helper()
	before := k.rules()
	c := k.ask(edits...)
	_, err := k.Create(k.ctx, c)
	require.ErrorIs(k.t, err, want)
	k.gone(c.Approval.ID)
	require.Equal(k.t, before, k.rules())
}

func ruleRefusesRemoved(k *kit) {
	made := k.makeRule()
	k.remove(made.ID)
	k.refusesInsert(core.ErrPolicyChanged, under(made, 1))
	k.refusesInsert(core.ErrPolicyChanged, under(made, 2))
	unknown := made
	unknown.ID = "unknown"
	k.refusesInsert(core.ErrPolicyChanged, under(unknown, 2))
	// Whoever asks a person under old rules is told too: they may be allowed by now.
	k.refusesInsert(core.ErrPolicyChanged, guardedBy(1))
	k.create(guardedBy(2))
}

// guardedBy makes the request one that was evaluated under a generation.
func guardedBy(generation int64) edit {
	return func(c *core.NewApproval) {
		c.Approval.PolicyGeneration, c.Policy = generation, &core.PolicyGuard{Generation: generation}
	}
}

func ruleRefusesClaim(k *kit) {
	made, other := k.makeRule(), k.makeRule()
	granted, spared := k.create(under(made, 2)), k.create(under(other, 2))
	running := k.claim(k.create(under(made, 2)), "token")
	k.remove(made.ID)
	_, err := k.Claim(k.ctx, claimOf(granted, "token"))
	require.ErrorIs(k.t, err, core.ErrNotClaimable)
	got := k.read(granted.ID)
	require.Equal(k.t, core.VoidPolicyChanged, got.VoidReason)
	require.Equal(k.t, granted.Resolution, got.Resolution)
	k.events(granted.ID, core.EventAutoGranted, core.EventVoided)
	k.claim(spared, "token")
	_, err = k.Claim(k.ctx, claimOf(running, "token"))
	require.NoError(k.t, err, "what was claimed before stays claimed")
}

func ruleExpires(k *kit) {
	made := k.makeRule(func(c *core.NewRule) { c.Life = 1_000 })
	k.advanceTo(made.ExpiresAt - 1)
	granted, claimed := k.create(under(made, 1)), k.create(under(made, 1))
	k.claim(claimed, "token")
	k.advanceTo(made.ExpiresAt)
	k.refusesInsert(core.ErrPolicyChanged, under(made, 1))
	_, err := k.Claim(k.ctx, claimOf(granted, "token"))
	require.ErrorIs(k.t, err, core.ErrNotClaimable)
	live, _, err := k.LiveRules(k.ctx, ownRuntime, "agent-1")
	require.NoError(k.t, err)
	require.Empty(k.t, live)
}

func ruleSpent(k *kit) {
	made := k.makeRule(func(c *core.NewRule) { c.Rule.UsesAllowed = 2 })
	k.create(under(made, 1))
	require.Equal(k.t, int64(1), k.generation())
	last := k.create(under(made, 1))
	require.Equal(k.t, int64(2), k.generation(), "nobody keeps the rule in mind any more")
	k.refusesInsert(core.ErrPolicyChanged, under(made, 1))
	k.refusesInsert(core.ErrPolicyChanged, under(made, 2))
	require.Equal(k.t, int64(2), k.rule(made.ID).Uses)
	k.claim(last, "token")
	changes, err := k.PolicyChanges(k.ctx, ownRuntime, "agent-1", 1)
	require.NoError(k.t, err)
	require.Equal(k.t, core.ChangeRuleSpent, changes[0].Kind)
	require.Equal(k.t, made.ID, changes[0].RuleID)
}

func ruleNamed(k *kit) {
	made := k.makeRule()
	for name, edit := range map[string]edit{
		"counted by nobody":     func(c *core.NewApproval) { c.Policy = nil },
		"guarded, not counted":  func(c *core.NewApproval) { c.Policy.RuleID = "" },
		"counted for another":   func(c *core.NewApproval) { c.Policy.RuleID = "another" },
		"another policy's name": func(c *core.NewApproval) { c.Approval.PolicyID = "sandbox.workspace.v1" },
		"another generation":    func(c *core.NewApproval) { c.Approval.PolicyGeneration = 0 },
	} {
		c := k.ask(under(made, 1), edit)
		_, err := k.Create(k.ctx, c)
		require.ErrorIs(k.t, err, core.ErrInvalid, name)
		k.gone(c.Approval.ID)
	}
	require.Zero(k.t, k.rule(made.ID).Uses)
}

func ruleScoped(k *kit) {
	made := k.makeRule()
	k.refusesInsert(core.ErrPolicyChanged, under(made, 0), withRuntime(otherRuntime))
	k.refusesInsert(core.ErrPolicyChanged, under(made, 0), func(c *core.NewApproval) { c.Approval.Agent = "agent-2" })
	live, generation, err := k.LiveRules(k.ctx, otherRuntime, "agent-1")
	require.NoError(k.t, err)
	require.Zero(k.t, generation)
	require.Empty(k.t, live)
	k.create(guardedBy(0), withRuntime(otherRuntime))
}

func ruleList(k *kit) {
	var made []core.Rule
	for range 5 {
		made = append(made, k.makeRule())
		k.advance(1)
	}
	elsewhere := k.makeRuleFrom(k.create(withAlways, withRuntime(otherRuntime)))
	k.remove(made[1].ID)
	agent := "agent-1"
	list, err := k.ListRules(k.ctx, core.RuleQuery{Runtime: ownRuntime, Agent: &agent, Live: true})
	require.NoError(k.t, err)
	require.Equal(k.t, []core.Rule{made[4], made[3], made[2], made[0]}, list)
	other := "agent-2"
	list, err = k.ListRules(k.ctx, core.RuleQuery{Agent: &other})
	require.NoError(k.t, err)
	require.Empty(k.t, list)
	list, err = k.ListRules(k.ctx, core.RuleQuery{ApprovalID: made[1].ApprovalID})
	require.NoError(k.t, err)
	require.Len(k.t, list, 1, "the rule of one card, removed or not")
	require.Equal(k.t, made[1].ID, list[0].ID)
	list, err = k.ListRules(k.ctx, core.RuleQuery{ApprovalID: "no such card"})
	require.NoError(k.t, err)
	require.Empty(k.t, list)
	var paged []string
	q := core.RuleQuery{Limit: 2}
	for range 4 {
		list, err = k.ListRules(k.ctx, q)
		require.NoError(k.t, err)
		for _, r := range list {
			paged = append(paged, r.ID)
			q.Before = &core.ListCursor{CreatedAt: r.CreatedAt, ID: r.ID}
		}
	}
	want := []string{elsewhere.ID}
	for _, r := range slices.Backward(made) {
		want = append(want, r.ID)
	}
	require.Equal(k.t, want, paged)
	for _, limit := range []int{-1, core.MaxPage + 1} {
		_, err = k.ListRules(k.ctx, core.RuleQuery{Limit: limit})
		require.ErrorIs(k.t, err, core.ErrInvalid)
	}
}

func ruleExisting(k *kit) {
	made := k.makeRule()
	granted := k.create(under(made, 1), withKey("key", "content"))
	k.remove(made.ID)
	again, err := k.Create(k.ctx, k.ask(under(made, 1), withKey("key", "content")))
	require.NoError(k.t, err, "nothing is granted by finding it")
	require.True(k.t, again.Existing)
	k.same(granted, again.Approval)
	require.Equal(k.t, int64(1), k.rule(made.ID).Uses)
}

func rulePruned(k *kit) {
	kept := k.makeRule()
	removed := k.makeRule()
	expired := k.makeRule(func(c *core.NewRule) { c.Life = 1 })
	spent := k.makeRule(func(c *core.NewRule) { c.Rule.UsesAllowed = 1 })
	k.create(under(spent, k.generation()))
	k.remove(removed.ID)
	k.advance(2)
	k.prune(10)
	require.Len(k.t, k.rules(), 4)
	k.retention()
	k.reopen()
	k.prune(100)
	require.Equal(k.t, []core.Rule{kept}, k.rules())
	_, err := k.ReadRule(k.ctx, expired.ID)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	changes, err := k.PolicyChanges(k.ctx, ownRuntime, "agent-1", 0)
	require.NoError(k.t, err)
	require.Empty(k.t, changes)
	require.Equal(k.t, int64(6), k.generation(), "the generation never goes back")
	k.create(under(kept, 6))
}

func ruleRestored(k *kit) {
	made := k.makeRule()
	k.setMode("agent-1", core.ModeOnlyMoney, 0)
	k.makeRuleFrom(k.create(withAlways, func(c *core.NewApproval) { c.Approval.Agent = "agent-2" }))
	before := k.generation()
	k.disown()
	k.restored()
	for _, r := range k.rules() {
		require.NotZero(k.t, r.RemovedAt, "whether it was removed after the backup is not known")
		require.Empty(k.t, r.RemovedBy)
	}
	tight, err := k.ReadAgent(k.ctx, ownRuntime, "agent-1")
	require.NoError(k.t, err)
	require.Equal(k.t, core.ModeBeforeEverything, tight.Mode)
	require.Equal(k.t, before+1, tight.Generation)
	untouched, err := k.ReadAgent(k.ctx, ownRuntime, "agent-2")
	require.NoError(k.t, err)
	require.Empty(k.t, untouched.Mode, "the tables' default is no word of the store's")
	changes, err := k.PolicyChanges(k.ctx, ownRuntime, "agent-1", 1)
	require.NoError(k.t, err)
	require.Equal(k.t, core.PolicyChange{
		Runtime: ownRuntime, Agent: "agent-1", Generation: before + 1, Kind: core.ChangeRestored,
		Before: core.ModeOnlyMoney, After: core.ModeBeforeEverything, At: k.now(),
	}, changes[0])
	k.refusesInsert(core.ErrPolicyChanged, under(made, before))
	k.refusesInsert(core.ErrPolicyChanged, under(made, before+1))
}
