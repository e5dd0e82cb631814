package core

import "slices"

// Kind picks the renderer of an approval. The pair is closed and is never read
// from the spelling of an id (R5, K4).
type Kind string

// The kinds of gate.
const (
	KindExec   Kind = "exec"   // A command that would run.
	KindPlugin Kind = "plugin" // A tool call or any other gate.
)

// Valid reports whether k is one of the closed set.
func (k Kind) Valid() bool {
	switch k {
	case KindExec, KindPlugin:
		return true
	}
	return false
}

// Status is the life of the gate (R16). Only pending moves; the rest are final.
type Status string

// The statuses.
const (
	StatusPending   Status = "pending"
	StatusAllowed   Status = "allowed"
	StatusDenied    Status = "denied"
	StatusExpired   Status = "expired"
	StatusCancelled Status = "cancelled"
)

// Valid reports whether s is one of the closed set.
func (s Status) Valid() bool {
	switch s {
	case StatusPending, StatusAllowed, StatusDenied, StatusExpired, StatusCancelled:
		return true
	}
	return false
}

// Terminal reports whether the gate has its final answer.
func (s Status) Terminal() bool { return s.Valid() && s != StatusPending }

// Decision is what a person answers (K5).
type Decision string

// The decisions. DecisionNone is stored where nobody decided.
const (
	DecisionNone        Decision = ""
	DecisionAllowOnce   Decision = "allow-once"
	DecisionAllowAlways Decision = "allow-always"
	DecisionDeny        Decision = "deny"
)

// Valid reports whether d is an answer a person can give; DecisionNone is not.
func (d Decision) Valid() bool {
	switch d {
	case DecisionAllowOnce, DecisionAllowAlways, DecisionDeny:
		return true
	case DecisionNone:
	}
	return false
}

// Allows reports whether d lets the action run.
func (d Decision) Allows() bool { return d == DecisionAllowOnce || d == DecisionAllowAlways }

// Status is the terminal status that a decision leads to.
func (d Decision) Status() Status {
	switch d {
	case DecisionAllowOnce, DecisionAllowAlways:
		return StatusAllowed
	case DecisionDeny, DecisionNone:
	}
	return StatusDenied
}

// Reason says why a gate became terminal (R21 and design).
type Reason string

// The terminal reasons.
const (
	ReasonNone             Reason = ""
	ReasonUser             Reason = "user"
	ReasonMessage          Reason = "message"
	ReasonWithdrawn        Reason = "withdrawn"
	ReasonAdmin            Reason = "admin"
	ReasonTimeout          Reason = "timeout"
	ReasonMalformedVerdict Reason = "malformed-verdict"
	ReasonHashMismatch     Reason = "hash-mismatch"
	ReasonNoRoute          Reason = "no-route"
	ReasonStickyDecline    Reason = "sticky-decline"
	ReasonRunAborted       Reason = "run-aborted"
	ReasonRuntimeRestart   Reason = "runtime-restart"
	ReasonSuperseded       Reason = "superseded"
	ReasonStorageRestored  Reason = "storage-restored"
	ReasonStorageCorrupt   Reason = "storage-corrupt"
	ReasonPolicy           Reason = "policy"
)

// Of lists the statuses that may carry the reason; a pair outside this table is
// corrupt.
func (r Reason) Of(s Status) bool {
	switch r {
	case ReasonNone:
		return s == StatusPending
	case ReasonUser:
		return s == StatusAllowed || s == StatusDenied
	case ReasonPolicy:
		return s == StatusAllowed || s == StatusDenied
	case ReasonMessage, ReasonMalformedVerdict, ReasonHashMismatch, ReasonNoRoute,
		ReasonStickyDecline, ReasonStorageCorrupt:
		return s == StatusDenied
	case ReasonTimeout:
		return s == StatusExpired
	case ReasonWithdrawn, ReasonAdmin, ReasonRunAborted, ReasonRuntimeRestart,
		ReasonSuperseded, ReasonStorageRestored:
		return s == StatusCancelled
	}
	return false
}

// Reasons lists the closed set, ReasonNone left out.
func Reasons() []Reason {
	return []Reason{
		ReasonUser, ReasonMessage, ReasonWithdrawn, ReasonAdmin, ReasonTimeout, ReasonMalformedVerdict,
		ReasonHashMismatch, ReasonNoRoute, ReasonStickyDecline, ReasonRunAborted, ReasonRuntimeRestart,
		ReasonSuperseded, ReasonStorageRestored, ReasonStorageCorrupt, ReasonPolicy,
	}
}

// Valid reports whether r is one of the closed set, ReasonNone included.
func (r Reason) Valid() bool {
	return slices.ContainsFunc([]Status{StatusPending, StatusAllowed, StatusDenied, StatusExpired, StatusCancelled}, r.Of)
}

// Execution is the second axis: what became of an allowed action (K6).
type Execution string

// The execution states.
const (
	ExecutionNone      Execution = "none"      // Not allowed: there is no grant.
	ExecutionUnclaimed Execution = "unclaimed" // Allowed; waits for its claim.
	ExecutionClaimed   Execution = "claimed"   // The runtime holds the single claim.
	ExecutionSucceeded Execution = "succeeded"
	ExecutionFailed    Execution = "failed"
	ExecutionUnknown   Execution = "unknown" // May or may not have happened.
	ExecutionVoided    Execution = "voided"  // The grant lapsed or was taken back.
)

// Valid reports whether e is one of the closed set.
func (e Execution) Valid() bool {
	switch e {
	case ExecutionNone, ExecutionUnclaimed, ExecutionClaimed, ExecutionSucceeded,
		ExecutionFailed, ExecutionUnknown, ExecutionVoided:
		return true
	}
	return false
}

// Reported reports whether e is an outcome a runner may report.
func (e Execution) Reported() bool {
	switch e {
	case ExecutionSucceeded, ExecutionFailed, ExecutionUnknown:
		return true
	case ExecutionNone, ExecutionUnclaimed, ExecutionClaimed, ExecutionVoided:
	}
	return false
}

// VoidReason says why a grant was taken back before it was claimed.
type VoidReason string

// The reasons of a voided grant.
const (
	VoidNone            VoidReason = ""
	VoidLapsed          VoidReason = "lapsed"
	VoidRunAborted      VoidReason = "run-aborted"
	VoidRuntimeRestart  VoidReason = "runtime-restart"
	VoidSuperseded      VoidReason = "superseded"
	VoidStorageRestored VoidReason = "storage-restored"
	VoidHashMismatch    VoidReason = "hash-mismatch"
	VoidPolicyChanged   VoidReason = "policy-changed" // The rule or the mode that allowed it does no more.
)

// Valid reports whether v is one of the closed set, VoidNone included.
func (v VoidReason) Valid() bool {
	switch v {
	case VoidNone, VoidLapsed, VoidRunAborted, VoidRuntimeRestart, VoidSuperseded,
		VoidStorageRestored, VoidHashMismatch, VoidPolicyChanged:
		return true
	}
	return false
}

// Origin says whether a person was asked.
type Origin string

// The origins.
const (
	OriginAsk  Origin = "ask"  // A person was asked.
	OriginAuto Origin = "auto" // A recorded policy allowed it (K15).
)

// Valid reports whether o is one of the closed set.
func (o Origin) Valid() bool {
	switch o {
	case OriginAsk, OriginAuto:
		return true
	}
	return false
}

// Continuation says what holds the parked work on the runtime's side (K1).
type Continuation string

// The continuations.
const (
	ContinuationLive    Continuation = "live"    // In memory of one instance: a newer epoch cancels it.
	ContinuationDurable Continuation = "durable" // Survives a restart of the runtime.
	ContinuationDraft   Continuation = "draft"   // Executed later; no turn waits.
)

// Valid reports whether c is one of the closed set.
func (c Continuation) Valid() bool {
	switch c {
	case ContinuationLive, ContinuationDurable, ContinuationDraft:
		return true
	}
	return false
}

// Class is the ladder that decides what asks (R35).
type Class string

// The classes, from harmless to dear.
const (
	ClassRead  Class = "read"
	ClassWrite Class = "write"
	ClassSend  Class = "send"
	ClassMoney Class = "money"
)

// Valid reports whether c is one of the closed set.
func (c Class) Valid() bool {
	switch c {
	case ClassRead, ClassWrite, ClassSend, ClassMoney:
		return true
	}
	return false
}

// ResolverKind says what kind of actor brought the terminal state about.
type ResolverKind string

// The kinds of resolver.
const (
	ResolverNone    ResolverKind = ""
	ResolverHuman   ResolverKind = "human"
	ResolverPolicy  ResolverKind = "policy"
	ResolverRuntime ResolverKind = "runtime"
	ResolverSystem  ResolverKind = "system"
)

// Valid reports whether r is one of the closed set, ResolverNone included.
func (r ResolverKind) Valid() bool {
	switch r {
	case ResolverNone, ResolverHuman, ResolverPolicy, ResolverRuntime, ResolverSystem:
		return true
	}
	return false
}

// Surface names the place where an answer was given.
type Surface string

// The surfaces.
const (
	SurfaceNone     Surface = ""
	SurfaceTelegram Surface = "telegram"
	SurfaceSlack    Surface = "slack"
	SurfaceDiscord  Surface = "discord"
	SurfacePage     Surface = "page"
	SurfaceCLI      Surface = "cli"
	SurfaceAPI      Surface = "api"
)

// Valid reports whether s is one of the closed set, SurfaceNone included.
func (s Surface) Valid() bool {
	switch s {
	case SurfaceNone, SurfaceTelegram, SurfaceSlack, SurfaceDiscord, SurfacePage, SurfaceCLI, SurfaceAPI:
		return true
	}
	return false
}

// EventType is the name of a recorded change.
type EventType string

// The events of the record; each is written in the transaction of its change.
const (
	EventRequested   EventType = "approval.requested"
	EventAutoGranted EventType = "approval.auto_granted"
	EventGranted     EventType = "approval.granted"
	EventRejected    EventType = "approval.rejected"
	EventExpired     EventType = "approval.expired"
	EventCancelled   EventType = "approval.cancelled"
	EventConsumed    EventType = "approval.consumed"
	EventVoided      EventType = "approval.voided"
	EventOutcome     EventType = "approval.outcome"
	EventDismissed   EventType = "approval.dismissed"   // A person has seen what may have happened.
	EventAskedAgain  EventType = "approval.asked_again" // A person asks for a new request.

	// A run waits for a person, and waits no more: once each for every approval that
	// waits in a run, so that its runtime can stop the clock of the run (R31).
	EventWaitStarted EventType = "wait.started"
	EventWaitEnded   EventType = "wait.ended"

	// EventSettings is a change of what people set for an agent, a rule that was made or
	// ended included. It is of no approval: in place of an id it has the AgentHint, in
	// place of a revision the agent's generation.
	EventSettings EventType = "settings.changed"
)

// Valid reports whether t is one of the closed set.
func (t EventType) Valid() bool {
	switch t {
	case EventRequested, EventAutoGranted, EventGranted, EventRejected, EventExpired,
		EventCancelled, EventConsumed, EventVoided, EventOutcome, EventDismissed, EventAskedAgain,
		EventWaitStarted, EventWaitEnded, EventSettings:
		return true
	}
	return false
}

// Ends reports whether t is the event of a final answer. Every approval has at most
// one such event.
func (t EventType) Ends() bool {
	switch t {
	case EventAutoGranted, EventGranted, EventRejected, EventExpired, EventCancelled:
		return true
	case EventRequested, EventConsumed, EventVoided, EventOutcome, EventDismissed, EventAskedAgain,
		EventWaitStarted, EventWaitEnded, EventSettings:
	}
	return false
}

// EventOf is the event that a gate entering the terminal status s writes.
func EventOf(s Status, o Origin) EventType {
	switch s {
	case StatusPending:
		return EventRequested
	case StatusAllowed:
		if o == OriginAuto {
			return EventAutoGranted
		}
		return EventGranted
	case StatusDenied:
		return EventRejected
	case StatusExpired:
		return EventExpired
	case StatusCancelled:
		return EventCancelled
	}
	return ""
}
