package core

import "context"

// Figures of updates.
const (
	MaxUpdates         = 100         // Updates in one batch.
	DefaultUpdates     = 20          // When the claim names no number.
	DefaultUpdateLease = 60_000      // ms until what was not acknowledged comes back.
	MinUpdateLease     = 5_000       // ms.
	MaxUpdateLease     = 10 * 60_000 // ms.
)

// UpdateKind says what an update is about.
type UpdateKind string

// The kinds of update.
const (
	UpdateDraft    UpdateKind = "draft"     // A draft has its answer, or something became of it (R130).
	UpdateAskAgain UpdateKind = "ask-again" // A person asks for a new request (K3).
)

// Valid reports whether k is one of the closed set.
func (k UpdateKind) Valid() bool {
	switch k {
	case UpdateDraft, UpdateAskAgain:
		return true
	}
	return false
}

// Updates are what an agent hears of on a later turn, because no turn waited for it:
// the drafts that have their answer, and requests for a new request.
//
// An update is a row that says "look at this approval". What it says is read when it is
// claimed, so it is never behind the record, and changes that nobody has claimed yet
// are told as one. It is gone once it was acknowledged; a claim whose reply got lost is
// repeated with its token and gets the same batch.
type Updates interface {
	// ClaimUpdates leases the oldest updates of the agent that nobody holds, at most
	// Limit, in the order of their changes. Claiming again with the same token returns
	// what is still held under it, and nothing new while there is any. Errors: ErrInvalid.
	ClaimUpdates(ctx context.Context, c ClaimUpdates) (UpdateBatch, error)
	// AckUpdates ends what is held under the token and returns how many updates those
	// were; what has changed since it was claimed comes again. A token that holds nothing
	// any more ends nothing.
	AckUpdates(ctx context.Context, c AckUpdates) (int, error)
}

// ClaimUpdates is the command of the same name.
type ClaimUpdates struct {
	Runtime   string
	Agent     string // Within the runtime; "" for the agent without a name.
	TokenHash string // Hex SHA-256 of the claimer's fresh token; required.
	Limit     int    // 1 to MaxUpdates; 0 means DefaultUpdates.
	Lease     Millis // ms; 0 means DefaultUpdateLease.
}

// AckUpdates is the command of the same name.
type AckUpdates struct {
	Runtime   string
	Agent     string
	TokenHash string
}

// UpdateBatch is the answer of ClaimUpdates.
type UpdateBatch struct {
	Updates []Update
	Until   Millis // When what was not acknowledged comes back; 0 of an empty batch.
	More    bool   // Further updates can be claimed now.
	Now     Millis
}

// Update is one of a batch.
type Update struct {
	Kind      UpdateKind
	Approval  Approval // As it is now.
	ChangedAt Millis   // When it last changed; the order of the batch.
}
