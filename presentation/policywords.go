package presentation

import (
	"strings"

	"github.com/saysohq/sayso/core"
)

// The words of policy, for every surface that shows modes, rules and what ran
// without asking. What they stand for is decided elsewhere; these only say it.

// Modes are the modes in the order in which people choose: the default of most
// deployments first (R51).
func Modes() []string {
	return []string{core.ModeBeforeOutside, core.ModeBeforeEverything, core.ModeOnlyMoney}
}

// ModeName is a mode as people read it, "" for one that does not exist.
func ModeName(mode string) string {
	switch mode {
	case core.ModeBeforeOutside:
		return "Before anything outside"
	case core.ModeBeforeEverything:
		return "Before everything"
	case core.ModeOnlyMoney:
		return "Only money and deletes"
	}
	return ""
}

// ModeAsks says in one sentence what a mode asks for, "" for one that does not exist.
func ModeAsks(mode string) string {
	switch mode {
	case core.ModeBeforeOutside:
		return "Asks before it reaches out, spends or deletes."
	case core.ModeBeforeEverything:
		return "Asks before it makes changes, reaches out, spends or deletes."
	case core.ModeOnlyMoney:
		return "Asks only before it spends or deletes."
	}
	return ""
}

// AlwaysAllow is the whole label of the control that makes a rule, for places where a
// label of any length has room.
func AlwaysAllow(scope string) string { return labelAlways + scope }

// PolicyName says under what a call went on without asking, as the end of "Ran
// without asking under ..." (K15, R67).
func PolicyName(policyID string) string {
	if _, rule := strings.CutPrefix(policyID, core.RulePolicy); rule {
		return "a rule that a person made"
	}
	if mode, ok := strings.CutPrefix(policyID, "mode."); ok {
		if name := ModeName(strings.TrimSuffix(mode, ".v1")); name != "" {
			return "the mode “" + name + "”"
		}
	}
	if server, ok := strings.CutPrefix(policyID, "mcp."); ok {
		if name, exempt := strings.CutSuffix(server, ".exempt"); exempt && name != "" {
			return "the exemption of the tool server " + isolate(name)
		}
	}
	return "the policy " + policyID
}

// unaskedWords say how far a call got that nobody was asked about.
func unaskedWords(e core.Execution) string {
	switch e {
	case core.ExecutionClaimed, core.ExecutionSucceeded, core.ExecutionFailed:
		return "ran without asking under "
	case core.ExecutionNone, core.ExecutionUnclaimed, core.ExecutionUnknown, core.ExecutionVoided:
	}
	return "allowed without asking under "
}

// ChangeLine words one line of an agent's history; label is what the rule that it is
// about covers, "" where that is not known any more. Place.Person is who reads it.
func ChangeLine(c core.PolicyChange, label string, p Place) string {
	by := firstOf(isolate(c.Name), wordsSomebody)
	if p.Person != "" && c.By == p.Person {
		by = wordsYou
	}
	rule := "a rule that is not kept any more"
	if label != "" {
		rule = "“" + label + "”"
	}
	switch c.Kind {
	case core.ChangeMode:
		return capital(by) + " changed when it asks, from " + modeOrDefault(c.Before) + " to " + modeOrDefault(c.After)
	case core.ChangeRuleMade:
		return capital(by) + " allowed " + rule + " without asking"
	case core.ChangeRuleRemoved:
		return capital(by) + " took back " + rule
	case core.ChangeRuleSpent:
		return capital(rule) + " was used for the last time"
	case core.ChangePaused:
		return capital(by) + " paused it"
	case core.ChangeResumed:
		return capital(by) + " let it go on"
	case core.ChangeReset:
		return capital(by) + " gave it a new start: what it had open was closed"
	case core.ChangeDeleted:
		return capital(by) + " deleted it, with its rules and its mode"
	case core.ChangeRestored:
		return "A backup was restored: nothing is allowed without asking any more, and it asks " + modeOrDefault(core.ModeBeforeEverything)
	}
	return capital(by) + ": " + string(c.Kind)
}

func modeOrDefault(mode string) string {
	switch name := ModeName(mode); {
	case mode == "":
		return "the default"
	case name == "":
		return mode
	default:
		return "“" + name + "”"
	}
}

// ResultWords say how far an allowed action got, and whether that wants a look: it
// failed, may have happened, or did not happen at all.
func ResultWords(g core.Grant) (words string, bad bool) {
	switch g.Execution {
	case core.ExecutionUnknown:
		return "may or may not have happened", true
	case core.ExecutionVoided:
		return "did not happen: " + voidWords(g.VoidReason), true
	case core.ExecutionNone, core.ExecutionUnclaimed, core.ExecutionClaimed, core.ExecutionSucceeded, core.ExecutionFailed:
	}
	return resultWords(g), g.Execution == core.ExecutionFailed
}

// TrailLine is one step of an evaluation in words.
type TrailLine struct {
	Name    string // What was looked at.
	Result  string // What came of it; "" where the walk went on.
	Why     string // One sentence.
	Matched string // The list, rule, policy or mode; "" for none.
	Change  string // What would have to change for another result; "" where nothing is known.
}

// TrailLines words the trail of an approval. It is for admins: it names tables, rules
// and modes.
func TrailLines(trail []core.TrailStep) []TrailLine {
	lines := make([]TrailLine, 0, len(trail))
	for _, s := range trail {
		lines = append(lines, TrailLine{
			Name: stepWords(s.Step), Result: verdictWords(s.Verdict), Matched: firstOf(ModeName(s.Matched), s.Matched),
			Why: closedSentence(s.Why), Change: closedSentence(s.Change),
		})
	}
	return lines
}

// TrailTitle heads the trail: what it explains.
func TrailTitle(a *core.Approval) string {
	switch {
	case a.Origin == core.OriginAuto:
		return "Why this did not ask"
	case a.Reason == core.ReasonStickyDecline:
		return "Why this was declined"
	case a.Status.Terminal():
		return "Why this asked"
	}
	return "Why this asks"
}

func closedSentence(s string) string {
	if s == "" {
		return ""
	}
	return closed(capital(s))
}

// stepWords name the steps of the order of evaluation.
func stepWords(step string) string {
	switch step {
	case "class":
		return "What it does"
	case "identity":
		return "Tools that always ask"
	case "read":
		return "Only reading"
	case "sticky-decline":
		return "Declined just before"
	case "organisation":
		return "The organisation’s word"
	case "unlisted-mcp":
		return "Tool servers"
	case "always-allow":
		return "Allowed without asking"
	case "auto-policy":
		return "Facts about the runtime"
	case "mode":
		return "The agent’s mode"
	case "default":
		return "Nothing asked"
	case "error":
		return "The policy could not be read"
	}
	return step
}

// verdictWords say what a step came to.
func verdictWords(verdict string) string {
	switch verdict {
	case "next":
		return ""
	case "ask":
		return "it asks"
	case "auto":
		return "it runs, with a record"
	case "allow":
		return "it runs"
	case "deny":
		return "it is declined"
	}
	if words := pill(core.Class(verdict)); words != "" {
		return words
	}
	if core.Class(verdict) == core.ClassRead {
		return "Only reads"
	}
	return verdict
}
