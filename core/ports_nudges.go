package core

import "context"

// Nudges are calls to the callbacks of approvals: "this record has changed, look
// again". Like a card, a nudge has no content of its own: it is due while the record
// has changed since its callback was last called, and every change that matters to the
// runtime makes it due in the transaction of the change. So none is lost with a process,
// and changes that come faster than calls become one.
type Nudges interface {
	// ClaimNudges leases due nudges, those that are due longest first, so that nobody
	// else calls them before the lease ends.
	ClaimNudges(ctx context.Context, c ClaimNudges) ([]Nudge, error)
	// SettleNudge records what came of a call. A nudge whose lease was taken over, or
	// whose record has changed since, stays due. Errors: ErrInvalid.
	SettleNudge(ctx context.Context, s SettleNudge) error
	// NudgeBacklog tells how many nudges are due or will be, and since when the oldest
	// is; 0 for none.
	NudgeBacklog(ctx context.Context) (due int, oldest Millis, err error)
}

// ClaimNudges is the command of the same name.
type ClaimNudges struct {
	Limit int    // 1 to 100.
	Lease Millis // ms; longer than a call takes at most.
}

// Nudge is one call that is to be made.
type Nudge struct {
	ApprovalID string
	Ref        string
	Runtime    string
	URL        string
	Revision   int64  // Of the change that is told.
	Since      Millis // When it was made.
	Attempts   int    // Calls that failed.
	Fence      int64
	Now        Millis // When it was claimed.
}

// SettleNudge is the command of the same name.
type SettleNudge struct {
	ApprovalID string
	Fence      int64
	Revision   int64
	Error      string // Why the call failed, in a word of ours; "" when it was taken.
	RetryIn    Millis // ms until the next call; 0 gives up, and keeps the reason.
}
