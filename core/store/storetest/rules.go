package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func ruleSpecs() []spec {
	return []spec{
		{"K7 allow-always makes exactly what the card offered, with the decision", ruleMade},
		{"an offer that was not taken makes no rule", ruleOfLosers},
		{"a rule that the card did not offer decides nothing", ruleForged},
		{"a rule whose id was used decides nothing", ruleRepeated},
		{"a person who lost the right makes no rule", ruleGuarded},
		{"R73 money is switched in the list, and nothing else is", ruleMoney},
		{"R75 a removed rule is listed, and stays removed by whoever was first", ruleRemoved},
		{"R65 R67 a use is counted by the insert of the grant", ruleUsed},
		{"R75 an insert under a removed rule is refused", ruleRefusesRemoved},
		{"R75 a grant of a removed rule cannot be claimed", ruleRefusesClaim},
		{"an expired rule covers nothing, and neither do its grants", ruleExpires},
		{"a rule is used as often as it may be, and its end changes the policy", ruleSpent},
		{"a grant names the rule that it counts", ruleNamed},
		{"a rule is of one agent of one runtime", ruleScoped},
		{"rules are listed in pages, newest first", ruleList},
		{"a key that was used finds its row, whatever became of the rule", ruleExisting},
		{"rules outlive a reopen, and their end outlives retention no longer", rulePruned},
		{"a restore ends the rules and the looser modes", ruleRestored},
	}
}

// withAlways offers a rule for mails to ann.
func withAlways(c *core.NewApproval) {
	c.Approval.Offered = []core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways, core.DecisionDeny}
	c.Approval.AlwaysOffer = &core.AlwaysOffer{
		Label: "send mail to ann@example.com", Scope: core.RuleForRecipient, Value: "ann@example.com", Tool: "mail", Operation: "send",
	}
}

// ruleOf is what allow-always on the approval makes.
func (k *kit) ruleOf(a core.Approval) core.NewRule {
	o := a.AlwaysOffer
	return core.NewRule{Rule: core.Rule{
		ID: fmt.Sprintf("rule-%03d", k.number()), Runtime: a.Runtime, Agent: a.Agent, Tool: o.Tool, Operation: o.Operation,
		Scope: o.Scope, Value: o.Value, Class: a.Class, Label: o.Label, PolicyDigest: "sha256:tables", ApprovalID: a.ID,
		CreatedBy: "alice", CreatedName: "Alice",
	}}
}

// always builds the decision that makes the rule.
func (k *kit) always(a core.Approval, edits ...func(*core.NewRule)) core.Decide {
	rule := k.ruleOf(a)
	for _, e := range edits {
		e(&rule)
	}
	d := k.answer(a.ID, core.DecisionAllowAlways)
	d.Rule = &rule
	return d
}

// makeRule makes a rule from a card, and reads it.
func (k *kit) makeRule(edits ...func(*core.NewRule)) core.Rule {
	k.t.Helper()
	return k.makeRuleFrom(k.create(withAlways), edits...)
}

func (k *kit) makeRuleFrom(a core.Approval, edits ...func(*core.NewRule)) core.Rule {
	k.t.Helper()
	d := k.always(a, edits...)
	d.Seen = &a
	got, err := k.Decide(k.ctx, d)
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	return k.rule(d.Rule.Rule.ID)
}

func (k *kit) rule(id string) core.Rule {
	k.t.Helper()
	r, err := k.ReadRule(k.ctx, id)
	require.NoError(k.t, err)
	return r
}

func (k *kit) rules() []core.Rule {
	k.t.Helper()
	list, err := k.ListRules(k.ctx, core.RuleQuery{})
	require.NoError(k.t, err)
	return list
}

func (k *kit) generation() int64 {
	k.t.Helper()
	a, err := k.ReadAgent(k.ctx, ownRuntime, "agent-1")
	require.NoError(k.t, err)
	return a.Generation
}

// removal is the command that ends a rule.
func removal(id, by string) core.RemoveRule {
	return core.RemoveRule{ID: id, By: by, Name: "Person " + by}
}

func (k *kit) remove(id string) core.Rule {
	k.t.Helper()
	r, err := k.RemoveRule(k.ctx, removal(id, "bob"))
	require.NoError(k.t, err)
	return r
}

// under makes the request a grant of the rule, evaluated under a generation.
func under(r core.Rule, generation int64) edit {
	return func(c *core.NewApproval) {
		automatic(c)
		c.Approval.PolicyID, c.Approval.ResolverID, c.Approval.PolicyGeneration = r.PolicyID(), r.PolicyID(), generation
		c.Policy = &core.PolicyGuard{Generation: generation, RuleID: r.ID}
	}
}

func ruleMade(k *kit) {
	a := k.create(withAlways)
	d := k.always(a, func(c *core.NewRule) { c.Life, c.Rule.UsesAllowed = 60_000, 5 })
	got, err := k.Decide(k.ctx, d)
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	want := d.Rule.Rule
	want.CreatedAt, want.ExpiresAt, want.PolicyGeneration = got.Approval.ResolvedAt, got.Approval.ResolvedAt+60_000, 1
	for range 2 {
		require.Equal(k.t, want, k.rule(want.ID))
		live, generation, err := k.LiveRules(k.ctx, ownRuntime, "agent-1")
		require.NoError(k.t, err)
		require.Equal(k.t, int64(1), generation)
		require.Equal(k.t, []core.Rule{want}, live)
		k.reopen()
	}
	changes, err := k.PolicyChanges(k.ctx, ownRuntime, "agent-1", 0)
	require.NoError(k.t, err)
	require.Equal(k.t, []core.PolicyChange{{
		Runtime: ownRuntime, Agent: "agent-1", Generation: 1, Kind: core.ChangeRuleMade, RuleID: want.ID, By: "alice", Name: "Alice", At: want.CreatedAt,
	}}, changes)
	again, err := k.Decide(k.ctx, d)
	require.NoError(k.t, err, "the same attempt once more")
	require.True(k.t, again.Applied)
	require.Equal(k.t, int64(1), k.generation())
}

func ruleOfLosers(k *kit) {
	late, denied, expired := k.create(withAlways), k.create(withAlways), k.create(withAlways, expiresIn(1_000))
	k.allow(late.ID)
	k.deny(denied.ID)
	k.advanceTo(expired.ExpiresAt)
	for _, a := range []core.Approval{late, denied, expired} {
		for _, seen := range []*core.Approval{&a, nil} {
			d := k.always(a)
			d.Seen = seen
			got, err := k.Decide(k.ctx, d)
			require.NoError(k.t, err)
			require.False(k.t, got.Applied)
		}
	}
	require.Empty(k.t, k.rules())
	require.Zero(k.t, k.generation())
}

func ruleForged(k *kit) {
	a := k.create(withAlways)
	for name, forge := range map[string]func(*core.Decide){
		"another value":    func(d *core.Decide) { d.Rule.Rule.Value = "eve@example.com" },
		"another tool":     func(d *core.Decide) { d.Rule.Rule.Tool = "shell" },
		"a wider scope":    func(d *core.Decide) { d.Rule.Rule.Scope = core.RuleForOperation },
		"a stricter class": func(d *core.Decide) { d.Rule.Rule.Class = core.ClassMoney },
		"another label":    func(d *core.Decide) { d.Rule.Rule.Label = "nothing much" },
		"another agent":    func(d *core.Decide) { d.Rule.Rule.Agent = "agent-2" },
		"another runtime":  func(d *core.Decide) { d.Rule.Rule.Runtime = otherRuntime },
		"another card":     func(d *core.Decide) { d.Rule.Rule.ApprovalID = "another" },
		"nobody":           func(d *core.Decide) { d.Rule.Rule.CreatedBy = "" },
		"a past life":      func(d *core.Decide) { d.Rule.Life = -1 },
		"negative uses":    func(d *core.Decide) { d.Rule.Rule.UsesAllowed = -1 },
		"another answer":   func(d *core.Decide) { d.To.Decision = core.DecisionAllowOnce },
	} {
		for _, seen := range []*core.Approval{&a, nil} {
			d := k.always(a)
			d.Seen = seen
			forge(&d)
			_, err := k.Decide(k.ctx, d)
			require.ErrorIs(k.t, err, core.ErrInvalid, name)
		}
	}
	k.same(a, k.read(a.ID))
	require.Empty(k.t, k.rules())
	plain := k.create()
	d := k.answer(plain.ID, core.DecisionAllowOnce)
	d.Rule = &core.NewRule{Rule: k.ruleOf(a).Rule}
	_, err := k.Decide(k.ctx, d)
	require.ErrorIs(k.t, err, core.ErrInvalid)
}

func ruleRepeated(k *kit) {
	first := k.makeRule()
	a := k.create(withAlways)
	for _, seen := range []*core.Approval{&a, nil} {
		d := k.always(a, func(c *core.NewRule) { c.Rule.ID = first.ID })
		d.Seen = seen
		_, err := k.Decide(k.ctx, d)
		require.ErrorIs(k.t, err, core.ErrIDTaken)
	}
	k.same(a, k.read(a.ID))
	require.Equal(k.t, []core.Rule{first}, k.rules())
}

func ruleGuarded(k *kit) {
	p := k.person("alice", core.RoleReviewer)
	a := k.create(withAlways)
	k.disable("alice")
	_, err := k.Decide(k.ctx, guarded(k.always(a), p))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	require.Empty(k.t, k.rules())
	guard := core.Guard{PersonID: p.ID, PersonRevision: p.Revision}
	_, err = k.SwitchMoney(k.ctx, k.moneySwitch("pay"), guard)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	made := k.makeRule()
	cmd := removal(made.ID, "alice")
	cmd.Guard = guard
	_, err = k.RemoveRule(k.ctx, cmd)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.SetMode(k.ctx, core.SetMode{Runtime: ownRuntime, Agent: "agent-1", Mode: core.ModeOnlyMoney, Guard: guard})
	require.ErrorIs(k.t, err, core.ErrNotFound)
	require.Equal(k.t, []core.Rule{made}, k.rules())
	require.Equal(k.t, int64(1), k.generation())
}

func (k *kit) moneySwitch(tool string) core.NewRule {
	return core.NewRule{Rule: core.Rule{
		ID: fmt.Sprintf("rule-%03d", k.number()), Runtime: ownRuntime, Agent: "agent-1", Tool: tool, Scope: core.RuleForTool,
		Class: core.ClassMoney, Label: "every use of " + tool, CreatedBy: "alice", CreatedName: "Alice",
	}}
}

func ruleMoney(k *kit) {
	made, err := k.SwitchMoney(k.ctx, k.moneySwitch("pay"), core.Guard{})
	require.NoError(k.t, err)
	require.Equal(k.t, made, k.rule(made.ID))
	require.Equal(k.t, k.now(), made.CreatedAt)
	for name, edit := range map[string]func(*core.Rule){
		"another class":       func(r *core.Rule) { r.Class = core.ClassSend },
		"one operation":       func(r *core.Rule) { r.Scope, r.Operation, r.Value = core.RuleForOperation, "refund", "refund" },
		"one operation alone": func(r *core.Rule) { r.Operation = "refund" },
		"a card":              func(r *core.Rule) { r.ApprovalID = "card" },
		"no tool":             func(r *core.Rule) { r.Tool = "" },
		"no such scope":       func(r *core.Rule) { r.Scope = "everything" },
		"no runtime":          func(r *core.Rule) { r.Runtime = "" },
	} {
		c := k.moneySwitch("pay")
		edit(&c.Rule)
		_, err := k.SwitchMoney(k.ctx, c, core.Guard{})
		require.ErrorIs(k.t, err, core.ErrInvalid, name)
	}
	c := k.moneySwitch("refund")
	c.Rule.ID = made.ID
	_, err = k.SwitchMoney(k.ctx, c, core.Guard{})
	require.ErrorIs(k.t, err, core.ErrIDTaken)
	require.Equal(k.t, int64(1), k.generation())
	// What came from a card is never about money.
	card := k.create(withAlways, func(c *core.NewApproval) { c.Approval.Class = core.ClassMoney })
	_, err = k.Decide(k.ctx, k.always(card))
	require.ErrorIs(k.t, err, core.ErrInvalid)
}

func ruleRemoved(k *kit) {
	made := k.makeRule()
	k.advance(5)
	got := k.remove(made.ID)
	want := made
	want.RemovedAt, want.RemovedBy, want.RemovedName = k.now(), "bob", "Person bob"
	require.Equal(k.t, want, got)
	require.Equal(k.t, int64(2), k.generation())
	k.advance(5)
	again, err := k.RemoveRule(k.ctx, removal(made.ID, "carol"))
	require.NoError(k.t, err)
	require.Equal(k.t, want, again, "whoever was first is told to the second")
	require.Equal(k.t, int64(2), k.generation())
	require.Equal(k.t, []core.Rule{want}, k.rules())
	live, _, err := k.LiveRules(k.ctx, ownRuntime, "agent-1")
	require.NoError(k.t, err)
	require.Empty(k.t, live)
	_, err = k.RemoveRule(k.ctx, removal("unknown", "bob"))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.ReadRule(k.ctx, "unknown")
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func ruleUsed(k *kit) {
	made := k.makeRule()
	k.advance(7)
	for n := range int64(3) {
		granted := k.create(under(made, 1))
		require.Equal(k.t, made.PolicyID(), granted.PolicyID)
		k.events(granted.ID, core.EventAutoGranted)
		require.Equal(k.t, n+1, k.rule(made.ID).Uses)
		k.claim(granted, "token")
	}
	require.Equal(k.t, k.now(), k.rule(made.ID).LastUsedAt)
	require.Equal(k.t, int64(1), k.generation(), "a use is no change of the policy")
}
