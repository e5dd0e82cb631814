package core

import (
	"encoding/json"
	"fmt"
)

// MaxPresentation is the bound of the stored projection in bytes of JSON (R91).
const MaxPresentation = 4 << 10

// Check re-validates a decoded row. It returns an ErrCorrupt that names the
// first rule broken, so that a damaged or forged row can never be decided,
// claimed or shown as if it were true (conformance 27, 28).
func (a *Approval) Check() error {
	for _, check := range [...]func(*Approval) string{checkIdentity, checkWhat, checkPolicy} {
		if fault := check(a); fault != "" {
			return fmt.Errorf("%w: %s", ErrCorrupt, fault)
		}
	}
	return a.CheckChange()
}

// CheckChange is the part of Check that a change of a sound row can break: its times,
// revisions, outcome, grant and what came of it. What was asked never changes.
func (a *Approval) CheckChange() error {
	for _, check := range [...]func(*Approval) string{checkStamps, checkOutcome, checkGrant, checkAftermath} {
		if fault := check(a); fault != "" {
			return fmt.Errorf("%w: %s", ErrCorrupt, fault)
		}
	}
	return nil
}

func checkStamps(a *Approval) string {
	switch {
	case a.CreatedAt <= 0, a.ExpiresAt <= a.CreatedAt, a.UpdatedAt < a.CreatedAt:
		return "times out of order"
	case a.Revision < 1, a.CardRevision < 1, a.CardRevision > a.Revision:
		return "revisions out of order"
	}
	return ""
}

func checkIdentity(a *Approval) string {
	switch {
	case a.ID == "":
		return "no id"
	case !a.Kind.Valid():
		return "unknown kind"
	case a.Ref != ResolutionRef(a.Kind, a.ID):
		return "reference does not belong to the id"
	case !a.Origin.Valid():
		return "unknown origin"
	case !ValidRuntimeName(a.Runtime):
		return "unknown form of runtime"
	case !a.Continuation.Valid():
		return "unknown continuation"
	}
	return ""
}

func checkWhat(a *Approval) string {
	switch {
	case !ValidHash(a.ArgumentsHash):
		return "malformed arguments hash"
	case !ValidHash(a.ActionHash):
		return "malformed action hash"
	case a.Fingerprint != Fingerprint(a.ActionHash):
		return "fingerprint does not belong to the hash"
	case !a.Class.Valid():
		return "unknown class"
	case a.Presentation.Kind != a.Kind:
		return "presentation of another kind"
	case a.Presentation.Title == "":
		return "presentation without a title"
	}
	if a.Presentation.small() {
		return ""
	}
	if b, err := json.Marshal(a.Presentation); err != nil || len(b) > MaxPresentation {
		return "presentation over its bound"
	}
	return ""
}

// small reports whether the JSON of p is sound and within its bound for certain.
// Nearly all are, and to encode one only to see is the dearest part of the check.
func (p *Presentation) small() bool {
	const (
		names   = 256 // The names of all fields, with what stands around them.
		perLine = 64  // The same of a line.
		perByte = 6   // A byte becomes at most an escape.
	)
	text := len(p.Kind) + len(p.Title) + len(p.Description) + len(p.Command) + len(p.Folder) + len(p.Executable) + len(p.Arguments)
	for i := range p.Lines {
		text += len(p.Lines[i].Label) + len(p.Lines[i].Value)
	}
	return names+perLine*len(p.Lines)+perByte*text <= MaxPresentation && (len(p.Arguments) == 0 || json.Valid(p.Arguments))
}

func checkPolicy(a *Approval) string {
	if (a.Origin == OriginAuto) != (a.PolicyID != "") {
		return "origin and policy disagree"
	}
	for _, d := range a.Offered {
		if !d.Valid() {
			return "unknown offered decision"
		}
	}
	if a.AlwaysOffer == nil && a.Offers(DecisionAllowAlways) {
		return "always offered without a scope"
	}
	return ""
}

func checkOutcome(a *Approval) string {
	r := a.Resolution
	switch {
	case !a.Status.Valid(), !r.ResolverKind.Valid(), !r.Surface.Valid():
		return "unknown status, resolver or surface"
	case !r.Reason.Of(a.Status):
		return "reason and status disagree"
	case a.Status == StatusPending && r != (Resolution{}):
		return "pending with an outcome"
	case a.Status == StatusPending:
		return ""
	case r.ResolvedAt < a.CreatedAt, r.ResolverKind == ResolverNone:
		return "terminal without a resolver"
	}
	return checkDecision(a)
}

// checkDecision ties the decision to how the terminal state came about: only a
// person's explicit word allows, and a policy's row carries none (K15, K16).
func checkDecision(a *Approval) string {
	r := a.Resolution
	switch a.Status {
	case StatusAllowed:
		if a.Origin == OriginAuto {
			if r.Decision != DecisionNone || r.ResolverKind != ResolverPolicy || r.Reason != ReasonPolicy {
				return "automatic grant with a person's decision"
			}
			return ""
		}
		if !r.Decision.Allows() || r.ResolverKind != ResolverHuman || r.Reason != ReasonUser || r.ResolverID == "" {
			return "allowed without a person's explicit word"
		}
		if !a.Offers(r.Decision) {
			return "allowed with a decision that was not offered"
		}
		if !a.ExpiresAt.Reached(r.ResolvedAt) {
			return ""
		}
		return "allowed after the deadline"
	case StatusDenied:
		if r.Decision != DecisionDeny {
			return "denied with another decision"
		}
		if r.Reason == ReasonUser && (r.ResolverKind != ResolverHuman || r.ResolverID == "") {
			return "denied by nobody"
		}
	case StatusExpired, StatusCancelled:
		if r.Decision != DecisionNone {
			return "nobody decided, yet there is a decision"
		}
		if a.Status == StatusExpired && !a.ExpiresAt.Reached(r.ResolvedAt) {
			return "expired before the deadline"
		}
	case StatusPending:
	}
	return ""
}

func checkGrant(a *Approval) string {
	g := a.Grant
	if !g.Execution.Valid() || !g.VoidReason.Valid() {
		return "unknown execution or void reason"
	}
	if (a.Status == StatusAllowed) == (g.Execution == ExecutionNone) {
		return "status and execution disagree"
	}
	if (g.Execution == ExecutionVoided) != (g.VoidReason != VoidNone) {
		return "void reason and execution disagree"
	}
	claimed := false
	switch g.Execution {
	case ExecutionNone, ExecutionUnclaimed, ExecutionVoided:
	case ExecutionClaimed, ExecutionSucceeded, ExecutionFailed, ExecutionUnknown:
		claimed = true
	}
	switch {
	case claimed != (g.ConsumedAt != 0), claimed != (g.ClaimToken != ""), claimed != (g.OutcomeBy != 0):
		return "claim columns and execution disagree"
	case g.Execution.Reported() != (g.OutcomeAt != 0):
		return "outcome time and execution disagree"
	case (a.Status == StatusAllowed) != (g.ClaimBy != 0):
		return "claim deadline and status disagree"
	case claimed && g.ClaimBy.Reached(g.ConsumedAt):
		return "claimed after its deadline"
	}
	return ""
}

// checkAftermath ties what people did to an outcome that it can be done about.
func checkAftermath(a *Approval) string {
	is := a.Aftermath
	if is == nil {
		return ""
	}
	for _, act := range []*Act{is.Dismissed, is.AskedAgain} {
		if act != nil && (act.By == "" || act.At < a.ResolvedAt) {
			return "an act of nobody, or before the outcome"
		}
	}
	switch {
	case is.Dismissed == nil && is.AskedAgain == nil:
		return "an aftermath without an act"
	case is.Dismissed != nil && !a.MayHaveHappened():
		return "dismissed, but nothing was in doubt"
	case !a.Status.Terminal():
		return "asked again before the outcome"
	}
	return ""
}
