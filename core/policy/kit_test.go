package policy_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/tables"
)

// now is when everything in these tests happens.
const now core.Millis = 1_800_000_000_000

// readStarter parses the table once: many tests begin with it, and none changes it.
var readStarter = sync.OnceValues(tables.Starter)

// starter is the table that comes with the program.
func starter(t testing.TB) policy.Table {
	t.Helper()
	table, err := readStarter()
	require.NoError(t, err)
	table.Tools = slices.Clip(table.Tools)
	return table
}

// compiled is the starter under an operator's table.
func compiled(t testing.TB, operator policy.Table) *policy.Policy {
	t.Helper()
	return build(t, policy.Layers{Starter: starter(t), Operator: []policy.Table{operator}})
}

func build(t testing.TB, l policy.Layers) *policy.Policy {
	t.Helper()
	p, err := policy.New(l)
	require.NoError(t, err)
	return p
}

// bare is a policy of one table, without the starter.
func bare(t testing.TB, table policy.Table) *policy.Policy {
	t.Helper()
	return build(t, policy.Layers{Operator: []policy.Table{table}})
}

// refused are the codes of what is wrong with the tables.
func refused(t testing.TB, l policy.Layers) []policy.Code {
	t.Helper()
	_, err := policy.New(l)
	require.ErrorIs(t, err, core.ErrInvalid)
	var invalid *policy.InvalidError
	require.ErrorAs(t, err, &invalid)
	codes := make([]policy.Code, len(invalid.Findings))
	for i, f := range invalid.Findings {
		codes[i] = f.Code
		require.NotEmpty(t, f.Text)
	}
	return codes
}

// call is a plugin call of the runtime "ci" by the agent "dev".
func call(tool, arguments string) policy.Request {
	return policy.Request{
		Runtime: "ci", Agent: "dev", Kind: core.KindPlugin, Tool: tool, Arguments: []byte(arguments), Continuation: core.ContinuationLive,
	}
}

// operation is a call that names its operation.
func operation(tool, name, arguments string) policy.Request {
	r := call(tool, arguments)
	r.Operation = name
	return r
}

// inputs are those of an agent without mode, rules, facts or declines.
func inputs() policy.Inputs { return policy.Inputs{Now: now, Generation: 7} }

func inMode(m policy.Mode) policy.Inputs {
	in := inputs()
	in.Mode = m
	return in
}

// classOf judges a call and nothing else.
func classOf(p *policy.Policy, r policy.Request) core.Class {
	return policy.Evaluate(p, r, inputs()).Class
}

// endedAt is the step that ended the evaluation.
func endedAt(t testing.TB, p *policy.Policy, r policy.Request, in policy.Inputs) string {
	t.Helper()
	for _, s := range policy.Explain(p, r, in).Steps {
		if s.Matched {
			return s.Name
		}
	}
	require.Fail(t, "no step ended the evaluation")
	return ""
}

// ruleOf accepts the offer of a verdict, as the store does with allow-always.
func ruleOf(t testing.TB, r policy.Request, v policy.Verdict) policy.Rule {
	t.Helper()
	a := core.Approval{
		Runtime: r.Runtime, Agent: r.Agent, Class: v.Class, AlwaysOffer: v.AlwaysOffer, Offered: v.Offered(),
	}
	rule, err := policy.RuleOf(&a)
	require.NoError(t, err)
	rule.ID = "r1"
	return rule
}

// under are inputs with these rules.
func under(t testing.TB, rules ...policy.Rule) policy.Inputs {
	t.Helper()
	in := inputs()
	index, findings := policy.NewRules(rules)
	require.Empty(t, findings)
	in.Rules = index
	return in
}
