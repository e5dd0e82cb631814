package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// R48: a table against what a runtime declares.
func TestLintR48(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{
		Servers: []policy.Server{{Name: "octo", Like: "fetch", Runtimes: []string{"ci"}}, {Name: "home", Exempt: true}},
		Tools: []policy.Tool{
			{Names: []string{"gone"}, Class: core.ClassWrite, Runtimes: []string{"ci"}},
			{Names: []string{"notify", "vanished"}, Server: "octo", Class: core.ClassSend},
			{Names: []string{"remote"}, Server: "unused", Class: core.ClassSend},
			{Names: []string{"elsewhere"}, Class: core.ClassWrite, Runtimes: []string{"laptop"}},
			{Names: []string{"crm"}, By: &policy.Mapping{Field: "do", Values: map[core.Class][]string{core.ClassRead: {"list", "peek"}}}},
			{Names: []string{"erp"}, By: &policy.Mapping{Field: "do", Values: map[core.Class][]string{core.ClassRead: {"list"}}}},
		},
	})
	got := policy.Lint(p, "ci", []policy.DeclaredTool{
		{Name: "Read"},
		{Name: "brand_new"},
		{Name: "request_approval"},
		{Name: "mail", Operations: []string{"send", "snooze"}},
		{Name: "http", Fields: map[string][]string{"method": {"get", "DELETE", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "TRACE"}, "url": nil}},
		{Name: "crm", Fields: map[string][]string{"do": {"list", "wipe"}}},
		{Name: "erp", Fields: map[string][]string{"action": {"list"}}},
		{Name: "mcp__x__a"}, {Name: "mcp__x__b"}, {Name: "mcp__home__lamp"}, {Name: "mcp__octo__post"}, {Name: "mcp__octo__notify"},
	}, nil)
	want := []policy.Finding{
		{Code: policy.FindingUnlistedTool, Tool: "brand_new"},
		{Code: policy.FindingUnlistedValue, Table: "starter", Tool: "mail", Value: "snooze"},
		{Code: policy.FindingUnlistedValue, Table: "starter", Tool: "http", Value: "TRACE"},
		{Code: policy.FindingUnlistedValue, Table: "operator", Tool: "crm", Value: "wipe"},
		{Code: policy.FindingGoneValue, Table: "operator", Tool: "crm", Value: "peek"},
		{Code: policy.FindingGoneField, Table: "operator", Tool: "erp", Value: "do"},
		{Code: policy.FindingUnlistedServer, Tool: "mcp__x__a", Value: "x"},
		{Code: policy.FindingUnlistedTool, Tool: "mcp__octo__post"},
		{Code: policy.FindingGoneTool, Table: "operator", Tool: "gone"},
		{Code: policy.FindingGoneTool, Table: "operator", Tool: "octo vanished"},
	}
	gone := func(f policy.Finding) bool { return f.Code == policy.FindingGoneValue && f.Tool == "mail" }
	require.Empty(t, cmp.Diff(want, got, cmpopts.IgnoreFields(policy.Finding{}, "Text"), cmpopts.IgnoreSliceElements(gone)))
	for _, f := range got {
		require.NotEmpty(t, f.Text)
	}
	require.Empty(t, policy.Lint(nil, "ci", []policy.DeclaredTool{{Name: "x"}}, nil))
}

// R48, R75: rules that can never match again.
func TestLintRules(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	rule := func(id, tool string, class core.Class) policy.Rule {
		return policy.Rule{ID: id, Runtime: "ci", Tool: tool, Scope: policy.ScopeTool, Class: class}
	}
	elsewhere := rule("r9", "gone", core.ClassSend)
	elsewhere.Runtime = "laptop"
	got := policy.Lint(p, "ci", []policy.DeclaredTool{{Name: "Edit"}, {Name: "Bash"}, {Name: "create_refund"}}, []policy.Rule{
		rule("r1", "Edit", core.ClassWrite), rule("r2", "gone", core.ClassSend), rule("r3", "Bash", core.ClassSend),
		rule("r4", "create_refund", core.ClassSend), rule("r5", "create_refund", core.ClassMoney), rule("r6", "Edit", "cheap"), elsewhere,
	})
	want := []policy.Finding{
		{Code: policy.FindingRuleOfGoneTool, Rule: "r2", Tool: "gone"},
		{Code: policy.FindingRuleDead, Rule: "r3", Tool: "Bash"},
		{Code: policy.FindingRuleDead, Rule: "r4", Tool: "create_refund"},
		{Code: policy.FindingRuleDead, Rule: "r6", Tool: "Edit"},
	}
	require.Empty(t, cmp.Diff(want, got, cmpopts.IgnoreFields(policy.Finding{}, "Text")))
}
