package approvals_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/world"
)

// evaluating is a kit whose evaluation can be asked why.
type evaluating struct {
	*kit
	explainer *policy.Evaluator
}

// evaluated is the kit with a real evaluation over its store: mail is "send", and a
// rule about it is for one recipient.
func evaluated(t *testing.T) *evaluating {
	t.Helper()
	k := newKit(t)
	p, err := policy.New(policy.Layers{Operator: []policy.Table{{
		Tools: []policy.Tool{
			{Names: []string{"mail"}, Class: core.ClassSend, Always: []policy.AlwaysScope{{Scope: policy.ScopeRecipient, Fields: []string{"to"}, Form: policy.FormEmail}}},
			{Names: []string{"pay"}, Class: core.ClassMoney},
			{Names: []string{"note"}, Class: core.ClassWrite},
			{Names: []string{"look"}, Class: core.ClassRead},
		},
	}}})
	require.NoError(t, err)
	var held policy.Holder
	_, err = held.Reload(func() (*policy.Policy, error) { return p, nil })
	require.NoError(t, err)
	around := world.New(k.store, func(_ context.Context, found []policy.Finding) { require.Empty(t, found) })
	evaluator := policy.NewEvaluator(&held, around, func(_ context.Context, err error) { require.NoError(t, err) })
	k.service = approvals.New(approvals.Config{}, approvals.Deps{
		Store: k.faults, Owners: k.store, People: k.store, Describer: k.shows,
		Evaluator: evaluator,
		Planner:   k.planner, Publisher: k.bus, Hints: k.bus, Observer: k.seen,
		Logger: slog.New(slog.DiscardHandler), NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	})
	return &evaluating{k, evaluator}
}

func (k *kit) rules() []core.Rule {
	k.t.Helper()
	list, err := k.store.ListRules(k.t.Context(), core.RuleQuery{})
	require.NoError(k.t, err)
	return list
}

// TestAlwaysAllowK7R75: allow-always makes the rule of the card, the next call runs
// under it and is counted, and a removed rule asks from the next call on; what it had
// allowed before and nobody had claimed does not run either.
func TestAlwaysAllowK7R75(t *testing.T) {
	t.Parallel()
	k := evaluated(t)
	asked := k.ask()
	require.Equal(t, core.StatusPending, asked.Status)
	require.NotNil(t, asked.AlwaysOffer)
	heard := make(chan core.Hint, 64)
	k.background(func(ctx context.Context) error { return k.bus.Subscribe(ctx, func(h core.Hint) { heard <- h }) })
	require.Zero(t, <-heard, "it listens")
	require.True(t, k.resolve(k.answer(&asked, core.DecisionAllowAlways)).Applied)
	for told := (core.Hint{}); told.ApprovalID != core.AgentHint("agents", "books"); { // Whoever looks at the rules looks again.
		told = <-heard
	}

	rules := k.rules()
	require.Len(t, rules, 1)
	r := rules[0]
	require.Equal(t, asked.ID, r.ApprovalID)
	require.Equal(t, asked.AlwaysOffer.Label, r.Label)
	require.Equal(t, "bob@example.com", r.Value)
	require.Equal(t, k.admin.Person.ID, r.CreatedBy)

	auto := k.ask()
	require.Equal(t, core.StatusAllowed, auto.Status)
	require.Equal(t, core.OriginAuto, auto.Origin)
	require.Equal(t, r.PolicyID(), auto.PolicyID)
	require.Equal(t, int64(1), k.rules()[0].Uses)
	to := func(recipient string) func(*approvals.Ask) {
		return func(q *approvals.Ask) { q.Operation.Arguments = []byte(`{"to":"` + recipient + `"}`) }
	}
	require.Equal(t, core.StatusPending, k.ask(to("eve@example.com")).Status)

	_, err := k.store.RemoveRule(t.Context(), core.RemoveRule{ID: r.ID, By: "ann"})
	require.NoError(t, err)
	require.Equal(t, core.StatusPending, k.ask().Status)
	_, err = k.service.Claim(t.Context(), k.token, approvals.Claim{
		Lookup: core.Lookup{ID: auto.ID}, ActionHash: auto.ActionHash, Token: "0123456789abcdef",
	})
	require.ErrorIs(t, err, core.ErrNotClaimable)
	require.Equal(t, core.VoidPolicyChanged, k.read(auto.ID).VoidReason)
}

// A rule that is removed between the evaluation and the insert is evaluated again.
func TestARuleThatGoesDuringTheEvaluation(t *testing.T) {
	t.Parallel()
	k := evaluated(t)
	asked := k.ask()
	k.resolve(k.answer(&asked, core.DecisionAllowAlways))
	r, tries := k.rules()[0], 0
	k.faults.create = func(ctx context.Context, n core.NewApproval) (core.Created, error) {
		if tries++; tries == 1 {
			require.Equal(t, core.OriginAuto, n.Approval.Origin)
			_, err := k.store.RemoveRule(ctx, core.RemoveRule{ID: r.ID, By: "ann"})
			require.NoError(t, err)
		}
		return k.store.Create(ctx, n)
	}
	require.Equal(t, core.StatusPending, k.ask().Status)
	require.Equal(t, 2, tries)
	require.Zero(t, k.rules()[0].Uses)
}

// A rule with one use left is used once, and the next call asks.
func TestALastUse(t *testing.T) {
	t.Parallel()
	k := evaluated(t)
	_, err := k.store.SwitchMoney(t.Context(), core.NewRule{Rule: core.Rule{
		ID: "once", Runtime: "agents", Agent: "books", Tool: "pay", Scope: core.RuleForTool, Class: core.ClassMoney,
		CreatedBy: "ann", UsesAllowed: 1,
	}}, core.Guard{})
	require.NoError(t, err)
	pay := func(q *approvals.Ask) { q.Operation.Tool, q.Operation.Name = "pay", "" }
	require.Equal(t, core.RulePolicy+"once", k.ask(pay).PolicyID)
	require.Equal(t, core.StatusPending, k.ask(pay).Status)
}

// TestModeR52: the mode holds from the next call on.
func TestModeR52(t *testing.T) {
	t.Parallel()
	k := evaluated(t)
	note := func(q *approvals.Ask) { q.Operation.Tool, q.Operation.Name = "note", "" }
	require.Equal(t, "mode.before-anything-outside.v1", k.ask(note).PolicyID)
	_, err := k.store.SetMode(t.Context(), core.SetMode{Runtime: "agents", Agent: "books", Mode: core.ModeBeforeEverything, By: "ann"})
	require.NoError(t, err)
	require.Equal(t, core.StatusPending, k.ask(note).Status)
	require.Equal(t, core.OriginAuto, k.ask(note, func(q *approvals.Ask) { q.Agent = "another" }).Origin)
}

// TestStickyDeclineK34: a declined action is denied when it is repeated, with a pointer,
// until the window is over or a person re-opens it.
func TestStickyDeclineK34(t *testing.T) {
	t.Parallel()
	k := evaluated(t)
	declined := k.ask()
	require.True(t, k.resolve(k.answer(&declined, core.DecisionDeny)).Applied)
	again := k.ask()
	require.Equal(t, core.StatusDenied, again.Status)
	require.Equal(t, core.ReasonStickyDecline, again.Reason)
	require.Equal(t, core.ResolverPolicy, again.ResolverKind)
	require.Equal(t, declined.ID, again.StickyOf)
	require.NoError(t, again.Check())

	_, err := k.store.ReopenDecline(t.Context(), core.ReopenDecline{ApprovalID: declined.ID, By: "ann"})
	require.NoError(t, err)
	second := k.ask()
	require.Equal(t, core.StatusPending, second.Status)
	require.True(t, k.resolve(k.answer(&second, core.DecisionDeny)).Applied)
	require.Equal(t, second.ID, k.ask().StickyOf)
	k.advance(policy.DefaultStickyWindow - time.Millisecond)
	require.Equal(t, core.StatusDenied, k.ask().Status)
	k.advance(time.Millisecond)
	require.Equal(t, core.StatusPending, k.ask().Status)
}

// R57, K15: what only reads runs at once, in every mode, and leaves no row, whatever its
// key; with other arguments it is the same call of the same tool.
func TestReadingLeavesNoRecord(t *testing.T) {
	t.Parallel()
	k := evaluated(t)
	_, err := k.store.SetMode(t.Context(), core.SetMode{Runtime: "agents", Agent: "books", Mode: core.ModeBeforeEverything, By: "ann"})
	require.NoError(t, err)
	for range 2 {
		asked, err := k.service.Ask(t.Context(), k.token, question(func(q *approvals.Ask) {
			q.Operation.Tool, q.Operation.Name, q.IdempotencyKey = "look", "", "key"
		}))
		require.NoError(t, err)
		require.Equal(t, approvals.Asked{Unrecorded: true}, asked)
	}
	page, err := k.store.List(t.Context(), core.ListQuery{})
	require.NoError(t, err)
	require.Empty(t, page.Approvals)
	_, err = k.service.Ask(t.Context(), core.Caller{Token: &core.Token{Runtime: "agents", Scopes: []core.Scope{core.ScopeRead}}}, question())
	require.ErrorIs(t, err, core.ErrForbidden, "nobody reads the verdict without the right to ask")
}

// An explanation is of the very request that asking would have made, declines of the
// action included, and asks nobody.
func TestExplain(t *testing.T) {
	t.Parallel()
	k := evaluated(t)
	by := k.explainer
	x, err := k.service.Explain(t.Context(), by, "agents", question())
	require.NoError(t, err)
	require.Equal(t, policy.Ask, x.Answer)
	require.Equal(t, core.ClassSend, x.Class)
	require.Empty(t, k.rules())
	page, err := k.store.List(t.Context(), core.ListQuery{})
	require.NoError(t, err)
	require.Empty(t, page.Approvals)

	declined := k.ask()
	require.Equal(t, x.AlwaysOffer, declined.AlwaysOffer)
	k.resolve(k.answer(&declined, core.DecisionDeny))
	x, err = k.service.Explain(t.Context(), by, "agents", question())
	require.NoError(t, err)
	require.Equal(t, policy.Deny, x.Answer)
	require.Equal(t, declined.ID, x.StickyOf)
	x, err = k.service.Explain(t.Context(), by, "other", question())
	require.NoError(t, err)
	require.Equal(t, policy.Ask, x.Answer, "another runtime's decline is not its own")

	_, err = k.service.Explain(t.Context(), by, "No Such", question())
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = k.service.Explain(t.Context(), by, "agents", approvals.Ask{})
	require.ErrorIs(t, err, core.ErrInvalid)
}
