package presentation_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// agentCases are all outcomes an agent can be told of.
func agentCases() map[string]core.Approval {
	exec := execApproval()
	draft := exec
	draft.Continuation = core.ContinuationDraft
	noted := decided(exec, core.DecisionDeny)
	noted.Note = "Use the staging host."
	message := noted
	message.ByMessage = true
	bare := decided(exec, core.DecisionDeny)
	bare.Reason = core.ReasonMessage
	cases := map[string]core.Approval{
		"pending": exec, "draft": draft,
		"once":   decided(exec, core.DecisionAllowOnce),
		"always": decided(pluginApproval(), core.DecisionAllowAlways),
		"denied": decided(exec, core.DecisionDeny), "denied with note": noted,
		"message": message, "message without words": bare,
		"expired": ended(exec, core.StatusExpired, core.ReasonTimeout),
	}
	auto := decided(exec, core.DecisionAllowOnce)
	auto.Origin, auto.Decision, auto.PolicyID = core.OriginAuto, core.DecisionNone, "rule.1"
	cases["auto"] = auto
	for _, e := range []core.Execution{core.ExecutionClaimed, core.ExecutionSucceeded, core.ExecutionFailed, core.ExecutionUnknown} {
		a := cases["once"]
		a.Execution = e
		cases["once "+string(e)] = a
	}
	for _, v := range []core.VoidReason{
		core.VoidLapsed, core.VoidRunAborted, core.VoidRuntimeRestart, core.VoidSuperseded, core.VoidStorageRestored,
		core.VoidHashMismatch, core.VoidPolicyChanged,
	} {
		voided := cases["once"]
		voided.Execution, voided.VoidReason = core.ExecutionVoided, v
		cases["voided "+string(v)] = voided
	}
	later := cases["once"]
	later.Continuation = core.ContinuationDraft
	cases["once, a draft"] = later
	for _, r := range []core.Reason{
		core.ReasonMalformedVerdict, core.ReasonHashMismatch, core.ReasonNoRoute,
		core.ReasonStickyDecline, core.ReasonStorageCorrupt, core.ReasonPolicy,
	} {
		cases[string(r)] = ended(exec, core.StatusDenied, r)
	}
	for _, r := range []core.Reason{
		core.ReasonWithdrawn, core.ReasonAdmin, core.ReasonRunAborted,
		core.ReasonRuntimeRestart, core.ReasonSuperseded, core.ReasonStorageRestored,
	} {
		cases[string(r)] = ended(exec, core.StatusCancelled, r)
	}
	return cases
}

// R103-R110: all that an agent is ever told, side by side.
func TestAgentTextGolden(t *testing.T) {
	t.Parallel()
	cases := agentCases()
	all := map[string]string{}
	for name, a := range cases {
		all[name] = presentation.AgentText(a)
	}
	for _, name := range []string{"once", "always", "auto"} {
		all["claim while paused, "+name] = presentation.RefusalText(cases[name], fmt.Errorf("claim: %w", core.ErrPaused))
	}
	for _, name := range []string{"once, a draft", "denied with note", "expired"} {
		all["update, "+name] = presentation.UpdateText(core.Update{Kind: core.UpdateDraft, Approval: cases[name]})
	}
	all["update, ask again"] = presentation.UpdateText(core.Update{Kind: core.UpdateAskAgain, Approval: cases["once unknown"]})
	all["a call that only reads"] = presentation.AgentReads
	var page strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		require.NotContains(t, all[name], "\n", "%s is one line", name)
		fmt.Fprintf(&page, "%s\n\t%s\n", name, all[name])
	}
	compare(t, "agent_texts", page.String())
}

// A refused claim reads like the record, unless only a pause stands in the way (R119).
func TestRefusalText(t *testing.T) {
	t.Parallel()
	cases := agentCases()
	for name, a := range cases {
		require.Equal(t, presentation.AgentText(a), presentation.RefusalText(a, core.ErrNotClaimable), name)
	}
	require.Contains(t, presentation.RefusalText(cases["once"], core.ErrPaused), "Nothing happened.")
}

// Every outcome has words of its own: an allow (R103), each decline (R104, R105), expiry
// (R106), each cancellation (R107), a broken-off run (R108); see R110.
func TestAgentTextIsDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, a := range agentCases() {
		text := presentation.AgentText(a)
		require.NotEmpty(t, text, name)
		require.NotContains(t, text, "Alice", "the agent is not told who answered")
		require.NotContains(t, seen, text, "%s reads like %s", name, seen[text])
		seen[text] = name
	}
}

// Whatever was not allowed says that nothing happened; what broke off never does.
func TestAgentTextSaysWhetherItHappened(t *testing.T) {
	t.Parallel()
	for name, a := range agentCases() {
		text := presentation.AgentText(a)
		did := a.Status == core.StatusAllowed && a.Execution != core.ExecutionVoided
		require.Equal(t, !did, strings.Contains(text, "Nothing happened."), name)
		require.Equal(t, a.Execution == core.ExecutionUnknown, strings.Contains(text, "may or may not have happened"), name)
	}
}

// R104: only a decline without a note closes other ways; R105: a message says
// nothing about trying again; R106: a timeout is no decline.
func TestAgentTextOfDeclines(t *testing.T) {
	t.Parallel()
	cases := agentCases()
	require.Contains(t, presentation.AgentText(cases["denied"]), "Do not seek the same outcome in another way.")
	note := presentation.AgentText(cases["denied with note"])
	require.True(t, strings.HasSuffix(note, "They said: Use the staging host."))
	require.NotContains(t, note, "another way")
	message := presentation.AgentText(cases["message"])
	require.True(t, strings.HasSuffix(message, "The message: Use the staging host."))
	require.NotContains(t, message, "again")
	require.NotContains(t, message, "another way")
	require.NotContains(t, presentation.AgentText(cases["expired"]), "declined")

	failed := cases["once failed"]
	failed.OutcomeError = "exit status 1"
	require.True(t, strings.HasSuffix(presentation.AgentText(failed), "It ran and failed. exit status 1"))
	require.Equal(t, presentation.AgentText(core.Approval{Status: "odd"}), presentation.AgentText(core.Approval{Status: core.StatusCancelled}))
}
