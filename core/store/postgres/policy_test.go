package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// Policy costs no round trip: a question that was evaluated, a grant under a rule with
// the count of its use, and allow-always with the rule that it makes are one each.
func TestPolicyIsInTheSameRoundTrip(t *testing.T) {
	t.Parallel()
	for _, pooler := range []Pooler{PoolerNone, PoolerTransaction} {
		w := &wire{}
		s := opened(t, func(c *Config) { c.Dial, c.MaxConns, c.Pooler = w.dial, 1, pooler })
		p, err := s.AddPrincipal(t.Context(), core.Principal{ID: "bob", Name: "Bob", Role: core.RoleAdmin})
		require.NoError(t, err)
		turns := func(n int, fn func()) {
			before := w.turns.Load()
			fn()
			if n > 2 || pooler == PoolerTransaction { // The connection knows the statements by then.
				require.Equal(t, int64(1), w.turns.Load()-before, "pooler %q", pooler)
			}
		}
		for n := range 6 {
			generation := int64(n)
			asked := draft(3*n, "chat-1")
			asked.Approval.Offered = append(asked.Approval.Offered, core.DecisionAllowAlways)
			asked.Approval.AlwaysOffer = &core.AlwaysOffer{Label: "every use of it", Scope: core.RuleForTool, Tool: "it"}
			asked.Approval.PolicyGeneration, asked.Policy = generation, &core.PolicyGuard{Generation: generation}
			var made core.Created
			turns(n, func() { made, err = s.Create(t.Context(), asked) })
			require.NoError(t, err)

			a := made.Approval
			d := core.Decide{
				ID: a.ID, AttemptID: "attempt", Guard: core.Guard{PersonID: p.ID, PersonRevision: p.Revision}, Seen: &a,
				To: core.Terminal{
					Status: core.StatusAllowed, Decision: core.DecisionAllowAlways, Reason: core.ReasonUser,
					ResolverKind: core.ResolverHuman, ResolverID: p.ID, ResolverName: p.Name, Surface: core.SurfacePage,
				},
				Rule: &core.NewRule{Rule: core.Rule{
					ID: "rule-" + a.ID, Runtime: a.Runtime, Agent: a.Agent, Tool: "it", Scope: core.RuleForTool, Class: a.Class,
					Label: "every use of it", ApprovalID: a.ID, CreatedBy: p.ID,
				}},
			}
			turns(n, func() {
				got, err := s.Decide(t.Context(), d)
				require.NoError(t, err)
				require.True(t, got.Applied)
			})

			auto := draft(3*n + 1)
			auto.Approval.Origin, auto.Approval.Status, auto.Approval.PolicyID = core.OriginAuto, core.StatusAllowed, core.RulePolicy+d.Rule.Rule.ID
			auto.Approval.Resolution = core.Resolution{Reason: core.ReasonPolicy, ResolverKind: core.ResolverPolicy, ResolverID: auto.Approval.PolicyID}
			auto.Approval.Execution = core.ExecutionUnclaimed
			auto.Approval.PolicyGeneration = generation + 1
			auto.Policy = &core.PolicyGuard{Generation: generation + 1, RuleID: d.Rule.Rule.ID}
			turns(n, func() { _, err = s.Create(t.Context(), auto) })
			require.NoError(t, err)
			r, err := s.ReadRule(t.Context(), d.Rule.Rule.ID)
			require.NoError(t, err)
			require.Equal(t, int64(1), r.Uses)
		}
	}
}

// A decision whose answer was lost has made its rule, once, and is known by it.
func TestALostAnswerHasMadeItsRule(t *testing.T) {
	t.Parallel()
	s, w, _ := cut(t)
	c := draft(2)
	c.Approval.Offered = append(c.Approval.Offered, core.DecisionAllowAlways)
	c.Approval.AlwaysOffer = &core.AlwaysOffer{Label: "every use of it", Scope: core.RuleForTool, Tool: "it"}
	made, err := s.Create(t.Context(), c)
	require.NoError(t, err)
	a := made.Approval
	for range 2 {
		d := core.Decide{
			ID: a.ID, AttemptID: "mine", Seen: &a,
			To: core.Terminal{
				Status: core.StatusAllowed, Decision: core.DecisionAllowAlways, Reason: core.ReasonUser,
				ResolverKind: core.ResolverHuman, ResolverID: "bob", Surface: core.SurfacePage,
			},
			Rule: &core.NewRule{Rule: core.Rule{
				ID: "rule-1", Runtime: a.Runtime, Agent: a.Agent, Tool: "it", Scope: core.RuleForTool, Class: a.Class,
				Label: "every use of it", ApprovalID: a.ID, CreatedBy: "bob",
			}},
		}
		w.lose.Store(loseAnswer)
		got, err := s.Decide(t.Context(), d)
		require.NoError(t, err)
		require.True(t, got.Applied)
	}
	rules, err := s.ListRules(t.Context(), core.RuleQuery{})
	require.NoError(t, err)
	require.Len(t, rules, 1)
	require.Equal(t, a.ID, rules[0].ApprovalID)
}
