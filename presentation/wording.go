package presentation

import "github.com/saysohq/sayso/core"

// Every word that people read in a chat or on the page stands in this file, so
// that all surfaces say the same and a translation has one place to go. What the
// asking agent reads stands in agenttext.go.

// Labels of the controls, at most 64 code points each.
const (
	labelAllowOnce = "Allow once"
	labelAlways    = "Always allow "
	// labelAlwaysAbove is for a scope that does not fit on a button.
	labelAlwaysAbove = "Always allow (see above)"
	labelDeny        = "Deny"
	labelNote        = "Deny with a note"
	labelReview      = "Review"
	labelShowAll     = "Show all"
	labelConfirm     = "Yes, link me"
	labelDismiss     = "No"
)

// Labels of the facts.
const (
	factAgent       = "Agent"
	factTool        = "Tool"
	factFolder      = "Folder"     // As the detail of a command writes it.
	factExecutable  = "Executable" // As the detail of a command writes it.
	factAskedBy     = "Asked by"
	factRisk        = "Risk"
	factExpires     = "Expires"
	factFingerprint = "Fingerprint"
	factAlways      = "Always covers"
	factNowAllowed  = "Now allowed without asking"
	factResult      = "Result"
)

// Marks of a pending card.
const (
	markRedacted    = "Some values are hidden."
	markMixedScript = "Careful: a word mixes look-alike letters of several alphabets."
	markOmitted     = "%s bytes of this action cannot be shown here."
	markOmittedSome = "A part of this action cannot be shown here."
	markWaits       = "Waiting for your OK: nothing happens before it. The first answer counts, wherever it is given."
	markDraft       = "A draft: it happens later, and only with your OK. The first answer counts, wherever it is given."
	markCutReview   = "Not all of it fits here. Review it before you allow it."
	markCutShowAll  = "Not all of it fits here. Show all brings the rest to this chat."
	markCutShown    = "Not all of it fits here. The rest was sent to this chat."
)

// MarkMoney says why a card offers no rule (R72, R87). The page has it below its
// controls.
const MarkMoney = "Money and deletes ask every time, unless the list of what is allowed without asking has the tool."

// MarkMoneyCommand says the same of a command, which no list lets through (R70, R73).
const MarkMoneyCommand = "Commands that spend or delete ask every time."

// pills name what a class does; reading needs none (R83).
func pill(c core.Class) string {
	switch c {
	case core.ClassWrite:
		return "Makes changes"
	case core.ClassSend:
		return "Reaches out"
	case core.ClassMoney:
		return "Money or deletes"
	case core.ClassRead:
	}
	return ""
}

// surfaceWords say where somebody answered, as "allowed once by Alice on Slack".
func surfaceWords(s core.Surface) string {
	switch s {
	case core.SurfaceTelegram:
		return " on Telegram"
	case core.SurfaceSlack:
		return " on Slack"
	case core.SurfaceDiscord:
		return " on Discord"
	case core.SurfacePage:
		return " on the page"
	case core.SurfaceCLI:
		return " on the command line"
	case core.SurfaceAPI:
		return " through the API"
	case core.SurfaceNone:
	}
	return ""
}

// realmWords name the platform of an identity.
func realmWords(realm string) string {
	switch {
	case realm == "telegram":
		return "Telegram"
	case len(realm) >= 5 && realm[:5] == "slack":
		return "Slack"
	case realm == "discord":
		return "Discord"
	}
	return "chat"
}

const (
	wordsElsewhere = "Resolved elsewhere: "
	wordsYou       = "you"
	wordsSomebody  = "somebody"
	wordsPartial   = " A part was not shown."
	wordsVoided    = " It did not happen"
)

// decisionWords are what a person did, before "by Alice".
func decisionWords(a *core.Approval) string {
	switch a.Decision {
	case core.DecisionAllowOnce:
		return "allowed once"
	case core.DecisionAllowAlways:
		return "always allowed"
	case core.DecisionDeny, core.DecisionNone:
	}
	if a.ByMessage {
		return "declined with a message"
	}
	return "denied"
}

// whyWords say in plain words why a gate ended without a person's decision on it;
// "" where a person's own decision says it all.
func whyWords(r core.Reason) string {
	switch r {
	case core.ReasonMessage:
		return "a message came instead of an answer"
	case core.ReasonWithdrawn:
		return "whoever asked took it back"
	case core.ReasonAdmin:
		return "an admin closed it"
	case core.ReasonTimeout:
		return "nobody answered in time"
	case core.ReasonMalformedVerdict:
		return "no valid answer came"
	case core.ReasonHashMismatch:
		return "the answer was for another action"
	case core.ReasonNoRoute:
		return "nobody could be asked"
	case core.ReasonStickyDecline:
		return "the same action was declined shortly before"
	case core.ReasonRunAborted:
		return "the run was stopped"
	case core.ReasonRuntimeRestart:
		return "whoever asked was restarted"
	case core.ReasonSuperseded:
		return "a newer question replaced it"
	case core.ReasonStorageRestored:
		return "a backup was restored"
	case core.ReasonStorageCorrupt:
		return "its record was damaged"
	case core.ReasonPolicy:
		return "a rule decided it"
	case core.ReasonUser, core.ReasonNone:
	}
	return ""
}

// statusWords head an outcome that no person brought about.
func statusWords(s core.Status) string {
	switch s {
	case core.StatusAllowed:
		return "Allowed"
	case core.StatusDenied:
		return "Denied"
	case core.StatusExpired:
		return "Expired"
	case core.StatusCancelled:
		return "Cancelled"
	case core.StatusPending:
	}
	return "Pending"
}

// grantWords add what became of an allowed action where that must not be missed.
func grantWords(g core.Grant) string {
	switch g.Execution {
	case core.ExecutionUnknown:
		return " It may or may not have happened."
	case core.ExecutionVoided:
		return wordsVoided + ": " + voidWords(g.VoidReason) + "."
	case core.ExecutionNone, core.ExecutionUnclaimed, core.ExecutionClaimed,
		core.ExecutionSucceeded, core.ExecutionFailed:
	}
	return ""
}

// resultWords say on the page how far an allowed action got; "" where the outcome
// says it already.
func resultWords(g core.Grant) string {
	switch g.Execution {
	case core.ExecutionUnclaimed:
		return "not started yet"
	case core.ExecutionClaimed:
		return "started"
	case core.ExecutionSucceeded:
		return "succeeded"
	case core.ExecutionFailed:
		if g.OutcomeError != "" {
			return "failed: " + g.OutcomeError
		}
		return "failed"
	case core.ExecutionNone, core.ExecutionUnknown, core.ExecutionVoided:
	}
	return ""
}

func voidWords(v core.VoidReason) string {
	switch v {
	case core.VoidLapsed:
		return "the permission lapsed unused"
	case core.VoidRunAborted:
		return "the run was stopped"
	case core.VoidRuntimeRestart:
		return "whoever asked was restarted"
	case core.VoidSuperseded:
		return "a newer question replaced it"
	case core.VoidStorageRestored:
		return "a backup was restored"
	case core.VoidHashMismatch:
		return "another action came to use the permission"
	case core.VoidPolicyChanged:
		return "the rule or mode that allowed it has changed"
	case core.VoidNone:
	}
	return "the permission was taken back"
}
