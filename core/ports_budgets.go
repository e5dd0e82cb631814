package core

import (
	"context"
	"time"
)

// Budgets are rates that all replicas spend together. They live outside of the
// record and may be gone at any moment: whoever asks then goes on with a share of
// his own.
type Budgets interface {
	// Take charges a call to all budgets of c, or to none: to none when the moment
	// that suits all of them is further away than c.Limit. Errors: ErrUnavailable when
	// the budgets cannot be reached now, which is known within milliseconds.
	Take(ctx context.Context, c BudgetCall) (BudgetAnswer, error)
	// Hold lets no call through the named gates for d: a platform asked for it. It is
	// best effort; the lasting copy is the store's.
	Hold(ctx context.Context, gate string, d time.Duration)
	// Replicas is how many replicas share the budgets, as last known; at least 1.
	Replicas() int
}

// BudgetCall is one call, and what it costs.
type BudgetCall struct {
	Charges []BudgetCharge
	Gates   []string      // Names given to Hold that stop this call too.
	Limit   time.Duration // The longest wait that the caller would accept.
}

// BudgetCharge is one budget that a call is charged to.
type BudgetCharge struct {
	Name     string        // Of the budget, unique in the deployment.
	Interval time.Duration // What one call costs: the budget allows one in each Interval.
	Burst    int           // Calls that may leave at once after a rest; at least 1.
}

// BudgetAnswer is what Take found.
type BudgetAnswer struct {
	Wait  time.Duration // Until the call may leave.
	Taken bool          // The budgets were charged; false when Wait is over the limit.
	// Cause is what the wait is for: the index of the charge, len(Charges) plus the
	// index of the gate, or -1 when there is no wait.
	Cause int
}
