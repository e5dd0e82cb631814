package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// R70, R73, K12: a switch for money is offered for exactly the tools whose calls it
// could let through.
func TestSwitchable(t *testing.T) {
	t.Parallel()
	p := build(t, policy.Layers{
		Starter: starter(t),
		Operator: []policy.Table{{
			AlwaysAsk: []string{"publish_release"},
			Servers:   []policy.Server{{Name: "octo", Like: "github", Require: []string{"merge_pull_request"}}, {Name: "lamps", Exempt: true}},
		}},
		Organisation: policy.Organisation{Ask: []policy.Force{{Runtimes: []string{"production"}, From: core.ClassSend}}},
	})
	for tool, can := range map[string]bool{
		"issue_refund": true, "Edit": true, "mcp__octo__delete_file": true, "mcp__lamps__delete_all": true,
		"Bash": false, "shell": false, // Commands have exact rules alone.
		"publish_release": false, "Publish-Release": false, "request_approval": false, "mcp__octo__merge_pull_request": false,
		"mcp__unheard__refund": false, // Nobody said what it does.
	} {
		require.Equal(t, can, p.Switchable("ci", tool), tool)
		require.False(t, p.Switchable("production", tool), tool)

		r := call(tool, `{}`)
		rules, refused := policy.NewRules([]policy.Rule{{
			ID: "s", Runtime: "ci", Agent: "dev", Tool: tool, Scope: policy.ScopeTool, Class: core.ClassMoney,
		}})
		require.Empty(t, refused)
		auto := policy.Evaluate(p, r, policy.Inputs{Rules: rules, Mode: policy.ModeEverything}).Answer == policy.Auto
		require.Equal(t, can, auto, tool)
	}
	require.True(t, (*policy.Policy)(nil).Switchable("ci", "issue_refund"))
}
