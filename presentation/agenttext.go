package presentation

import (
	"errors"

	"github.com/saysohq/sayso/core"
)

// What the asking agent reads. Every outcome has words of its own (R110): an
// agent that is told "declined" after a timeout draws the wrong conclusion. All
// that did not run say so; only a decline without a note asks the agent not to
// seek the same outcome in another way (R104), and nothing ever suggests asking
// again.
const (
	agentNothing = " Nothing happened."

	agentPending = "A person has been asked and has not answered yet." + agentNothing
	agentDraft   = "This waits for the owner's approval and is carried out later, if it is allowed. Do not call it again for this." + agentNothing

	agentAllowed     = "A person allowed this action."
	agentAlways      = "A person allowed this action, and it will not be asked about again: "
	agentAuto        = "A recorded policy allowed this action without asking a person."
	agentLater       = " It has not been carried out yet."
	agentClaimed     = " It has been started."
	agentSucceeded   = " It ran and succeeded."
	agentFailed      = " It ran and failed."
	agentUnknown     = " It was started, and what became of it is unknown: it may or may not have happened. Do not repeat it without checking first."
	agentPaused      = " A person has paused the agent, so it must not run now; it can run once the agent is resumed." + agentNothing
	agentVoided      = " The permission was not used and no longer holds ("
	agentDeclined    = "A person declined this action." + agentNothing + " Do not seek the same outcome in another way."
	agentNote        = "A person declined this action." + agentNothing + " They said: "
	agentMessage     = "The owner wrote a message instead of answering, which declines this action." + agentNothing + " The message: "
	agentMessageBare = "The owner wrote a message instead of answering, which declines this action." + agentNothing
	agentNoRoute     = "Nobody could be asked about this action, so it was denied." + agentNothing
	agentMismatch    = "This action was denied because the answer was given for another action than the one asked about." + agentNothing
	agentMalformed   = "This action was denied because no valid answer came back." + agentNothing
	agentSticky      = "A person declined this same action a short while ago, so nobody was asked." + agentNothing + " Do not seek the same outcome in another way."
	agentCorrupt     = "This action was denied because its record was damaged." + agentNothing
	agentForbidden   = "A recorded policy denied this action." + agentNothing
	agentExpired     = "Nobody answered in time, so this action was not allowed. This is no refusal." + agentNothing

	agentWithdrawn  = "This question was withdrawn before anybody answered." + agentNothing
	agentAdmin      = "An administrator closed this question before anybody answered." + agentNothing
	agentAborted    = "The run was stopped before anybody answered." + agentNothing
	agentRestarted  = "The program that asked was restarted before anybody answered." + agentNothing
	agentSuperseded = "A newer question replaced this one." + agentNothing
	agentRestored   = "This question was closed when the approval service was restored from a backup." + agentNothing
	agentCancelled  = "This question was closed before anybody answered." + agentNothing
)

// AgentReads is what the agent reads of a call that only looks things up: there is no
// record of it.
const AgentReads = "This only looks things up and needs no approval: go ahead. There is nothing to claim."

// AgentText is what the asking agent is told about an approval, distinct for each
// outcome (R103 to R108). It never names the person who answered.
func AgentText(a core.Approval) string {
	switch a.Status {
	case core.StatusPending:
		if a.Continuation == core.ContinuationDraft {
			return agentDraft
		}
		return agentPending
	case core.StatusAllowed:
		return agentAllowedText(&a)
	case core.StatusDenied:
		return agentDeniedText(&a)
	case core.StatusExpired:
		return agentExpired
	case core.StatusCancelled:
		return agentCancelledText(a.Reason)
	}
	return agentCancelled
}

// allowedBy says who allowed it, and for how long.
func allowedBy(a *core.Approval) string {
	switch {
	case a.Origin == core.OriginAuto:
		return agentAuto
	case a.Decision == core.DecisionAllowAlways && a.AlwaysOffer != nil:
		return agentAlways + closed(a.AlwaysOffer.Label)
	}
	return agentAllowed
}

func agentAllowedText(a *core.Approval) string {
	text := allowedBy(a)
	switch a.Execution {
	case core.ExecutionClaimed:
		return text + agentClaimed
	case core.ExecutionSucceeded:
		return text + agentSucceeded
	case core.ExecutionFailed:
		text += agentFailed
		if a.OutcomeError != "" {
			text += " " + a.OutcomeError
		}
		return text
	case core.ExecutionUnknown:
		return text + agentUnknown
	case core.ExecutionVoided:
		return text + agentVoided + voidWords(a.VoidReason) + ")." + agentNothing
	case core.ExecutionUnclaimed:
		if !a.Continuation.Waits() { // Whoever hears this does not carry it out themselves.
			return text + agentLater
		}
	case core.ExecutionNone:
	}
	return text
}

func agentDeniedText(a *core.Approval) string {
	switch a.Reason {
	case core.ReasonNoRoute:
		return agentNoRoute
	case core.ReasonHashMismatch:
		return agentMismatch
	case core.ReasonMalformedVerdict:
		return agentMalformed
	case core.ReasonStickyDecline:
		return agentSticky
	case core.ReasonStorageCorrupt:
		return agentCorrupt
	case core.ReasonPolicy:
		return agentForbidden
	case core.ReasonNone, core.ReasonUser, core.ReasonMessage, core.ReasonWithdrawn, core.ReasonAdmin,
		core.ReasonTimeout, core.ReasonRunAborted, core.ReasonRuntimeRestart, core.ReasonSuperseded,
		core.ReasonStorageRestored:
	}
	byMessage := a.ByMessage || a.Reason == core.ReasonMessage
	switch {
	case byMessage && a.Note != "":
		return agentMessage + a.Note
	case byMessage:
		return agentMessageBare
	case a.Note != "":
		return agentNote + a.Note
	}
	return agentDeclined
}

func agentCancelledText(r core.Reason) string {
	switch r {
	case core.ReasonWithdrawn:
		return agentWithdrawn
	case core.ReasonAdmin:
		return agentAdmin
	case core.ReasonRunAborted:
		return agentAborted
	case core.ReasonRuntimeRestart:
		return agentRestarted
	case core.ReasonSuperseded:
		return agentSuperseded
	case core.ReasonStorageRestored:
		return agentRestored
	case core.ReasonNone, core.ReasonUser, core.ReasonMessage, core.ReasonTimeout, core.ReasonMalformedVerdict,
		core.ReasonHashMismatch, core.ReasonNoRoute, core.ReasonStickyDecline, core.ReasonStorageCorrupt,
		core.ReasonPolicy:
	}
	return agentCancelled
}

// RefusalText is what the agent is told of a claim that was refused: how the approval
// stands, and that nothing ran where only the agent's pause stands in the way.
func RefusalText(a core.Approval, refusal error) string {
	if !errors.Is(refusal, core.ErrPaused) {
		return AgentText(a)
	}
	return allowedBy(&a) + agentPaused
}

// UpdateText is an update as the agent hears of it on a later turn: one line (R130).
func UpdateText(u core.Update) string {
	what := "“" + u.Approval.Presentation.Title + "” (" + u.Approval.Fingerprint + ")"
	if u.Kind == core.UpdateAskAgain {
		return "A person asks for a new request in place of " + what + ". Make one if it is still wanted; it is asked about like any other."
	}
	return "Draft " + what + ": " + AgentText(u.Approval)
}
