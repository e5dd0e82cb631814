package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// An explanation has all ten steps, in order; those behind the deciding one are there
// and not reached.
func TestExplainTellsAllSteps(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	r := operation("mail", "send", `{"to":"ann@example.com","body":"the secret plan"}`)
	got := policy.Explain(p, r, inputs())
	want := []policy.Step{
		{Number: 0, Name: "class", Reached: true, Subject: "starter", Why: "it reaches people or services", Change: "another class in the operator's table; with loosens where it is less strict"},
		{Number: 1, Name: "identity", Reached: true, Why: "no list says that this tool always asks", Change: "put the tool on the list of those that always ask"},
		{Number: 2, Name: "read", Reached: true, Why: "it does more than look things up", Change: "a table that gives the tool another class"},
		{Number: 3, Name: "sticky-decline", Reached: true, Why: "nobody has just declined this action"},
		{Number: 4, Name: "organisation", Reached: true, Why: "the organisation does not make it ask"},
		{Number: 5, Name: "unlisted-mcp", Reached: true, Why: "it is no tool of a tool server"},
		{Number: 6, Name: "always-allow", Reached: true, Why: "no rule covers it", Change: "a person allows it always, from a card that offers that"},
		{Number: 7, Name: "auto-policy", Reached: true, Why: "no automatic policy names this tool", Change: "an automatic policy that names the tool"},
		{Number: 8, Name: "mode", Reached: true, Matched: true, Subject: "before-anything-outside", Why: "the mode asks for this class", Change: "a mode that does not ask for this class, or the rule that the card offers"},
		{Number: 9, Name: "default"},
	}
	require.Empty(t, cmp.Diff(want, got.Steps))
	require.Equal(t, policy.Ask, got.Answer)
	require.Equal(t, policy.ModeOutside, got.Mode)
	require.True(t, got.Listed)
	require.False(t, got.MCP)
	b, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(b), "secret plan")
}

// Explain and Evaluate are one evaluation.
func TestExplainAgrees(t *testing.T) {
	t.Parallel()
	p, in := everything(t)
	open := in
	open.Decline = nil
	for _, tool := range []string{"confirm", "look", "note", "post", "pay", "mcp__crm__list", "mcp__home__lamp", "mcp__x__y", "never_heard_of"} {
		for _, in := range []policy.Inputs{in, open, inputs(), inMode(policy.ModeEverything), inMode("?")} {
			v, e := policy.Evaluate(p, call(tool, `{}`), in), policy.Explain(p, call(tool, `{}`), in)
			require.Equal(t, v.Answer, e.Answer, tool)
			require.Equal(t, v.Class, e.Class, tool)
			require.Equal(t, v.ClassSource, e.ClassSource, tool)
			require.Equal(t, v.PolicyID, e.PolicyID, tool)
			require.Equal(t, v.StickyOf, e.StickyOf, tool)
			require.Empty(t, cmp.Diff(v.AlwaysOffer, e.AlwaysOffer), tool)
			require.Equal(t, v.Answer == policy.Ask && v.AlwaysOffer == nil, e.NoOffer != "", tool)
			matched := 0
			for i, s := range e.Steps {
				require.Equal(t, i, s.Number)
				if s.Matched {
					matched++
					require.NotEmpty(t, s.Why)
					require.NotEmpty(t, s.Change, "%s: %s", tool, s.Name)
				}
			}
			require.Equal(t, 1, matched, tool)
		}
	}
}

// What would have to change is told for what it is.
func TestExplainSaysWhatWouldHelp(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{Servers: []policy.Server{{Name: "home", Exempt: true}}})
	boxed := inputs()
	boxed.Facts = policy.Facts{policy.FactNetwork: "on"}
	declined := inputs()
	declined.Decline = &policy.Decline{Approval: "a1", At: now}
	for _, c := range []struct {
		tool, step, change string
		in                 policy.Inputs
	}{
		{"never_heard_of", "class", "list the tool in the operator's table with what it does", inputs()},
		{"request_approval", "identity", "take the tool off the list of those that always ask", inputs()},
		{"deploy", "sticky-decline", "wait, or re-open the declined question", declined},
		{"mcp__x__y", "unlisted-mcp", "list the tool under its server, declare the server like a known one, or exempt it", inputs()},
		{"mcp__home__lamp", "always-allow", "end the server's exemption", inputs()},
		{"create_refund", "always-allow", "a money switch for this tool in the list of what is allowed without asking", inputs()},
		{"create_refund", "mode", "no mode lets money pass; a money switch for this tool does", inputs()},
		{"run_command", "auto-policy", "a runtime whose registration attests the missing fact", boxed},
		{"Edit", "default", "a stricter mode", inputs()},
	} {
		for _, s := range policy.Explain(p, call(c.tool, `{}`), c.in).Steps {
			if s.Name == c.step {
				require.Equal(t, c.change, s.Change, "%s: %s", c.tool, c.step)
			}
		}
	}
	e := policy.Explain(p, call("Bash", `{"command":"rm -rf /","folder":"/"}`), inputs())
	require.Equal(t, core.ClassMoney, e.Class)
	require.Equal(t, "nothing: commands that spend or delete always ask", e.Steps[6].Change)
	require.Equal(t, e.Steps[6].Change, e.Steps[8].Change)
	require.Equal(t, "sandbox.workspace.v1: sandbox", policy.Explain(p, call("run_command", `{}`), boxed).Steps[7].Subject)
}

// Trails go into the record as they are, so what is in them is bounded and plain.
func TestTrailIsBounded(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	v := policy.Evaluate(p, operation("mail", "send", `{"to":"ann@example.com"}`), inputs())
	b, err := json.Marshal(v.Trail)
	require.NoError(t, err)
	require.Less(t, len(b), 2<<10)
	require.NotContains(t, string(b), "ann@")
	require.Len(t, v.Trail, 9)
	for _, s := range v.Trail[1:8] {
		require.Equal(t, "next", s.Verdict)
		require.Empty(t, s.Change)
	}
}

// Where the organisation makes calls ask, an operator who is told to list the tool would
// do so in vain.
func TestExplainUnderAForce(t *testing.T) {
	t.Parallel()
	p := build(t, policy.Layers{
		Starter: starter(t), Operator: []policy.Table{{Tools: []policy.Tool{{Names: []string{"note_it"}, Class: core.ClassWrite}}}},
		Organisation: policy.Organisation{Ask: []policy.Force{{Runtimes: []string{"ci"}, From: core.ClassMoney}}},
	})
	x := policy.Explain(p, call("note_it", `{}`), inputs())
	require.Equal(t, core.ClassSend, x.Class, "it is unlisted there")
	require.Contains(t, x.Steps[0].Change, "only make it stricter")
	elsewhere := call("note_it", `{}`)
	elsewhere.Runtime = "laptop"
	x = policy.Explain(p, elsewhere, inputs())
	require.Equal(t, core.ClassWrite, x.Class)
	require.NotContains(t, x.Steps[0].Change, "only make it stricter")
}
