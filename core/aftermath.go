package core

import "context"

// Aftermath is what people did about an outcome, after it: nothing of it changes the
// outcome. Each act is done once, by whoever was first.
type Aftermath struct {
	// Dismissed says who has seen that the action may have happened, and needs to be
	// told no more (R86).
	Dismissed *Act `json:"dismissed,omitempty"`
	// AskedAgain says who asked the runtime for a new request (K3).
	AskedAgain *Act `json:"asked_again,omitempty"`
}

// Act is one thing that a person did.
type Act struct {
	By   string `json:"by"`   // The person; never shown to reviewers (R156).
	Name string `json:"name"` // Their name when it happened.
	At   Millis `json:"at"`
}

// MayHaveHappened reports whether nobody knows what became of the action (R108): its
// card stays until a person dismisses it.
func (a *Approval) MayHaveHappened() bool { return a.Execution == ExecutionUnknown }

// Dismissable reports whether there is something for a person to dismiss.
func (a *Approval) Dismissable() bool {
	return a.MayHaveHappened() && (a.Aftermath == nil || a.Aftermath.Dismissed == nil)
}

// AskableAgain reports whether a person may ask the runtime for a new request, as far
// as the record says: where the action may have happened, and for a draft that came to
// nothing. A call whose turn waited got its answer, and its turn went on with that
// (R109). Whether a runtime listens is another question (Outcomes.Listens).
func (a *Approval) AskableAgain() bool {
	if a.Aftermath != nil && a.Aftermath.AskedAgain != nil {
		return false
	}
	if a.MayHaveHappened() {
		return true
	}
	if a.Continuation != ContinuationDraft {
		return false
	}
	switch a.Status {
	case StatusExpired:
		return true
	case StatusDenied:
		return a.Reason == ReasonUser
	case StatusAllowed:
		return a.VoidReason == VoidLapsed
	case StatusPending, StatusCancelled:
	}
	return false
}

// Outcomes is what people do about outcomes. A repeated act changes nothing and comes
// back with whoever was first.
type Outcomes interface {
	// DismissOutcome records that a person has seen what may have happened. Errors:
	// ErrNotFound (no such approval, or the guarded person lost the right), ErrCorrupt,
	// ErrConflict with the current row (there is nothing to dismiss).
	DismissOutcome(ctx context.Context, c ActOn) (Approval, error)
	// AskAgain records that a person asks the runtime for a new request, and puts it
	// among the updates of the agent; of a decline it also ends the answer to the same
	// action (ReopenDecline). Errors: as above, and ErrNotOffered with the current row
	// where no runtime listens.
	AskAgain(ctx context.Context, c ActOn) (Approval, error)
	// Listens reports whether a runtime would hear of a request for a new request: the
	// approval names a callback, or the agent's updates were asked for within
	// ListenWindow.
	Listens(ctx context.Context, a *Approval) (bool, error)
}

// ListenWindow is how long, in ms, a runtime counts as listening after it has asked for
// an agent's updates: 24 hours.
const ListenWindow = 24 * 60 * 60 * 1_000

// ActOn is the command of a person who does something about an outcome.
type ActOn struct {
	ID    string
	By    string // The person.
	Name  string // Their name, for the record.
	Guard Guard
}
