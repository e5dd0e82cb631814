package presentation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// R51: every mode has a name and says what it asks for; nothing else is a mode.
func TestModes_HaveWords(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range presentation.Modes() {
		require.True(t, core.ValidMode(m))
		require.NotEmpty(t, presentation.ModeName(m))
		require.Contains(t, presentation.ModeAsks(m), "spends or deletes", "no mode lets money pass")
		seen[presentation.ModeName(m)] = true
	}
	require.Len(t, seen, 3)
	require.Empty(t, presentation.ModeName("never"))
	require.Empty(t, presentation.ModeAsks(""))
}

// K15, R67: what ran without asking says under what, and how far it got.
func TestOutcome_RanWithoutAsking(t *testing.T) {
	t.Parallel()
	a := pluginApproval()
	a.Origin, a.Status, a.Offered, a.AlwaysOffer = core.OriginAuto, core.StatusAllowed, nil, nil
	a.Resolution = core.Resolution{
		Reason: core.ReasonPolicy, ResolverKind: core.ResolverPolicy, ResolverName: "policy", ResolvedAt: asked,
	}
	for _, c := range []struct {
		policy    string
		execution core.Execution
		void      core.VoidReason
		want      string
	}{
		{"mode.before-anything-outside.v1", core.ExecutionSucceeded, "", "Ran without asking under the mode “Before anything outside”, 14:00 UTC"},
		{"rule.0193a6f0-0000-7000-8000-00000000000a", core.ExecutionClaimed, "", "Ran without asking under a rule that a person made, 14:00 UTC"},
		{"mcp.wiki.exempt", core.ExecutionFailed, "", "Ran without asking under the exemption of the tool server wiki, 14:00 UTC"},
		{"sandbox.workspace.v1", core.ExecutionUnclaimed, "", "Allowed without asking under the policy sandbox.workspace.v1, 14:00 UTC"},
		{"mode.new.v1", core.ExecutionUnknown, "", "May have happened: allowed without asking under the policy mode.new.v1, 14:00 UTC"},
		{"mcp..exempt", core.ExecutionVoided, core.VoidPolicyChanged, "Allowed without asking under the policy mcp..exempt, 14:00 UTC. It did not happen: the rule or mode that allowed it has changed."},
	} {
		a.PolicyID, a.Execution, a.VoidReason = c.policy, c.execution, c.void
		out := presentation.For(a, core.Detail{}, presentation.Place{Page: true}).Outcome
		require.Equal(t, c.want, out.Text)
		require.False(t, out.ByPerson)
		require.Equal(t, c.execution != core.ExecutionVoided, out.Allowed)
	}
}

// The trail reads as sentences; steps that a newer version knows are shown as they are.
func TestTrailLines(t *testing.T) {
	t.Parallel()
	got := presentation.TrailLines([]core.TrailStep{
		{Step: "class", Matched: "starter", Verdict: "send", Why: "it reaches people or services"},
		{Step: "identity", Verdict: "next", Why: "no list says that this tool always asks"},
		{Step: "mode", Matched: "before-everything", Verdict: "ask", Why: "the mode asks for this class", Change: "a mode that does not ask for this class"},
		{Step: "oracle", Verdict: "perhaps"},
	})
	want := []presentation.TrailLine{
		{Name: "What it does", Result: "Reaches out", Why: "It reaches people or services.", Matched: "starter"},
		{Name: "Tools that always ask", Why: "No list says that this tool always asks."},
		{Name: "The agent’s mode", Result: "it asks", Why: "The mode asks for this class.", Matched: "Before everything", Change: "A mode that does not ask for this class."},
		{Name: "oracle", Result: "perhaps"},
	}
	require.Empty(t, cmp.Diff(want, got))
	require.Equal(t, "Only reads", presentation.TrailLines([]core.TrailStep{{Step: "class", Verdict: "read"}})[0].Result)

	a := pluginApproval()
	require.Equal(t, "Why this asks", presentation.TrailTitle(&a))
	a.Status = core.StatusDenied
	require.Equal(t, "Why this asked", presentation.TrailTitle(&a))
	a.Reason = core.ReasonStickyDecline
	require.Equal(t, "Why this was declined", presentation.TrailTitle(&a))
	a.Origin = core.OriginAuto
	require.Equal(t, "Why this did not ask", presentation.TrailTitle(&a))
}

// R76: the history names who, what and which rule.
func TestChangeLine(t *testing.T) {
	t.Parallel()
	ann := presentation.Place{Person: "ann"}
	for _, c := range []struct {
		change core.PolicyChange
		label  string
		want   string
	}{
		{core.PolicyChange{Kind: core.ChangeMode, By: "ann", Name: "Ann", After: core.ModeOnlyMoney}, "", "You changed when it asks, from the default to “Only money and deletes”"},
		{core.PolicyChange{Kind: core.ChangeMode, By: "bea", Name: "Bea", Before: core.ModeOnlyMoney, After: "odd"}, "", "Bea changed when it asks, from “Only money and deletes” to odd"},
		{core.PolicyChange{Kind: core.ChangeRuleMade, Name: "Bea"}, "mail to ann@example.com", "Bea allowed “mail to ann@example.com” without asking"},
		{core.PolicyChange{Kind: core.ChangeRuleRemoved, Name: "Bea"}, "", "Bea took back a rule that is not kept any more"},
		{core.PolicyChange{Kind: core.ChangeRuleSpent}, "one deploy", "“one deploy” was used for the last time"},
		{core.PolicyChange{Kind: core.ChangeRestored}, "", "A backup was restored: nothing is allowed without asking any more, and it asks “Before everything”"},
		{core.PolicyChange{Kind: core.ChangePaused, By: "ann"}, "", "You paused it"},
		{core.PolicyChange{Kind: core.ChangeResumed, Name: "Bea"}, "", "Bea let it go on"},
		{core.PolicyChange{Kind: core.ChangeReset, Name: "Bea"}, "", "Bea gave it a new start: what it had open was closed"},
		{core.PolicyChange{Kind: core.ChangeDeleted, Name: "Bea"}, "", "Bea deleted it, with its rules and its mode"},
		{core.PolicyChange{Kind: "renamed"}, "", "Somebody: renamed"},
	} {
		require.Equal(t, c.want, presentation.ChangeLine(c.change, c.label, ann))
	}
}
