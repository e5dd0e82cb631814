package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// R64, R65, R69: the tools of the sandbox run under its policy when the runtime
// attested one; a web tool needs its own fact besides.
func TestAttestedFactsR64(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	boxed := policy.Facts{policy.FactSandbox: "docker"}
	online := policy.Facts{policy.FactSandbox: "docker", policy.FactNetwork: "on"}
	for _, c := range []struct {
		tool  string
		facts policy.Facts
		want  policy.Answer
		id    string
	}{
		{"run_command", boxed, policy.Auto, "sandbox.workspace.v1"},
		{"write_file", boxed, policy.Auto, "sandbox.workspace.v1"},
		{"edit_file", boxed, policy.Auto, "sandbox.workspace.v1"},
		{"run_command", nil, policy.Ask, ""},
		{"run_command", policy.Facts{policy.FactNetwork: "on"}, policy.Ask, ""},
		{"web_fetch", boxed, policy.Ask, ""},
		{"web_fetch", online, policy.Auto, "sandbox.network.v1"},
		{"fetch_image", online, policy.Auto, "sandbox.network.v1"},
		{"web_fetch", policy.Facts{policy.FactNetwork: "on"}, policy.Ask, ""},
		{"browser", online, policy.Ask, ""},
		{"browser", policy.Facts{policy.FactBrowserBackend: "chromium"}, policy.Auto, "browser.backend.v1"},
		{"Bash", online, policy.Ask, ""},       // Not named: an operator's table may.
		{"Run_Command", boxed, policy.Ask, ""}, // Another spelling is another tool.
		{"mcp__run_command", boxed, policy.Ask, ""},
	} {
		in := inputs()
		in.Facts = c.facts
		v := policy.Evaluate(p, call(c.tool, `{"command":"make test","url":"https://example.com"}`), in)
		require.Equal(t, c.want, v.Answer, c.tool)
		require.Equal(t, c.id, v.PolicyID, c.tool)
	}
	for _, none := range []string{"", "none", "off", "no", "false", "0", "host", "disabled", "None", " OFF ", "unknown"} {
		in := inputs()
		in.Facts = policy.Facts{policy.FactSandbox: none}
		require.Equal(t, policy.Ask, policy.Evaluate(p, call("run_command", `{"command":"ls"}`), in).Answer, "a fact that says no: %q", none)
	}
}

// R66, R68: no automatic policy covers tool servers or money, and none changes the class.
func TestAutomaticPoliciesEndR66(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{
		Servers: []policy.Server{{Name: "x", Prefixes: []string{"x_"}}},
		Tools:   []policy.Tool{{Names: []string{"post"}, Server: "x", Class: core.ClassSend}},
		AutoPolicies: []policy.AutoPolicy{{
			ID: "sandbox.all.v1", Tools: []string{"x_post", "mcp__x__post", "delete_file", "Bash", "request_approval"},
			Needs: map[policy.Fact][]string{policy.FactSandbox: nil},
		}},
	})
	in := inputs()
	in.Facts = policy.Facts{policy.FactSandbox: "docker"}
	for _, tool := range []string{"x_post", "mcp__x__post", "delete_file", "request_approval"} {
		require.Equal(t, policy.Ask, policy.Evaluate(p, call(tool, `{}`), in).Answer, tool)
	}
	v := policy.Evaluate(p, call("Bash", `{"command":"make"}`), in)
	require.Equal(t, policy.Auto, v.Answer)
	require.Equal(t, core.ClassSend, v.Class)
}

// R44, R64: what a command deletes in a sandbox is the sandbox's own; elsewhere, for a
// policy that needs none, and under the organisation's word it counts as a delete.
func TestCommandsInTheSandboxR64(t *testing.T) {
	t.Parallel()
	l := policy.Layers{Starter: starter(t), Operator: []policy.Table{{AutoPolicies: []policy.AutoPolicy{
		{ID: "online.test.v1", Tools: []string{"Bash"}, Needs: map[policy.Fact][]string{policy.FactNetwork: nil}},
	}}}}
	p := build(t, l)
	r := func(tool string) policy.Request { return call(tool, `{"command":"rm -rf build","folder":"/w"}`) }
	boxed := inputs()
	boxed.Facts = policy.Facts{policy.FactSandbox: "docker", policy.FactNetwork: "on"}
	v := policy.Evaluate(p, r("run_command"), boxed)
	require.Equal(t, "sandbox.workspace.v1", v.PolicyID)
	require.Equal(t, core.ClassSend, v.Class)
	require.Equal(t, core.ClassMoney, policy.Evaluate(p, r("run_command"), inputs()).Class)
	require.Equal(t, core.ClassMoney, policy.Evaluate(p, r("Bash"), boxed).Class, "no sandbox is trusted with it")
	require.Equal(t, policy.Ask, policy.Evaluate(p, call("delete_file", `{}`), boxed).Answer)

	// A rule from inside the sandbox covers nothing outside.
	boxed.Mode = policy.ModeEverything
	v = policy.Evaluate(p, r("run_command"), boxed)
	require.NotNil(t, v.AlwaysOffer)
	in := under(t, ruleOf(t, r("run_command"), v))
	require.Equal(t, policy.Ask, policy.Evaluate(p, r("run_command"), in).Answer)
	in.Facts, in.Mode = boxed.Facts, boxed.Mode
	require.Equal(t, "rule.r1", policy.Evaluate(p, r("run_command"), in).PolicyID)

	l.Organisation.Ask = []policy.Force{{From: core.ClassMoney}}
	boxed.Mode = ""
	require.Equal(t, policy.Ask, policy.Evaluate(build(t, l), r("run_command"), boxed).Answer)
}

// R60: facts come from the registration; a request cannot state them.
func TestFactsAreNotStatedR60(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	r := call("run_command", `{"command":"ls","sandbox":"docker","facts":{"sandbox":"docker"}}`)
	r.Type = "sandbox:docker"
	require.Equal(t, policy.Ask, policy.Evaluate(p, r, inputs()).Answer)
}

// R65, R67, K15, K16: a grant without a question names its policy, and its trail says why.
func TestAutoGrantsNameTheirPolicyR67(t *testing.T) {
	t.Parallel()
	p, in := everything(t)
	in.Decline = nil
	for tool, id := range map[string]string{"post": "rule.r1", "note": "sandbox.test.v1", "mcp__home__lamp": "mcp.home.exempt"} {
		v := policy.Evaluate(p, call(tool, `{}`), in)
		require.Equal(t, policy.Auto, v.Answer, tool)
		require.Equal(t, id, v.PolicyID, tool)
		require.Equal(t, tool == "post", v.RuleID == "r1", tool)
		require.NotEmpty(t, v.Trail, tool)
		require.Nil(t, v.AlwaysOffer, tool)
	}
}

// R55: the organisation makes what it names ask; nothing below it changes that.
func TestOrganisationR55(t *testing.T) {
	t.Parallel()
	org := policy.Organisation{
		AlwaysAsk: []string{"publish"},
		Ask:       []policy.Force{{Runtimes: []string{"ci"}}, {Runtimes: []string{"lab"}, From: core.ClassSend}},
		Tools: []policy.Tool{
			{Names: []string{"internal_lookup"}, Class: core.ClassRead},
			{Names: []string{"Edit"}, Class: core.ClassSend},
		},
	}
	operator := policy.Table{
		DefaultMode: policy.ModeMoney,
		Tools: []policy.Tool{
			{Names: []string{"WebFetch", "Edit"}, Class: core.ClassRead, Loosens: true},
			{Names: []string{"other_lookup", "publish", "internal_lookup"}, Class: core.ClassRead},
			{Names: []string{"post"}, Class: core.ClassSend, ReachesNoOne: []policy.Predicate{{{Field: "quiet", Is: []string{"true"}}}}},
		},
	}
	p := build(t, policy.Layers{Starter: starter(t), Operator: []policy.Table{operator}, Organisation: org})
	in := inMode(policy.ModeMoney)
	answer := func(runtime, tool string) policy.Answer {
		r := call(tool, `{"quiet":true,"command":"ls"}`)
		r.Runtime = runtime
		return policy.Evaluate(p, r, in).Answer
	}
	for _, tool := range []string{"WebFetch", "Edit", "other_lookup", "publish", "post", "Write"} {
		require.Equal(t, policy.Ask, answer("ci", tool), tool)
	}
	for _, tool := range []string{"Read", "internal_lookup"} {
		require.Equal(t, policy.Allow, answer("ci", tool), tool)
	}
	require.Equal(t, policy.Ask, answer("lab", "WebFetch"))
	require.Equal(t, policy.Auto, answer("lab", "Write"), "only what the organisation names")
	require.Equal(t, policy.Ask, answer("elsewhere", "publish"), "its list holds everywhere")
	require.Equal(t, policy.Allow, answer("elsewhere", "WebFetch"), "elsewhere the operator's word counts")
	require.Equal(t, policy.Auto, answer("elsewhere", "Edit"), "but not below the floor")
	v := policy.Evaluate(p, policy.Request{Runtime: "elsewhere", Kind: core.KindPlugin, Tool: "Edit", Arguments: []byte(`{}`)}, in)
	require.Equal(t, core.ClassSend, v.Class)
	require.Equal(t, "organisation", v.ClassSource)
}
