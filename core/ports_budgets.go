package core

import (
	"context"
	"time"
)

// Budgets are the send budgets that all replicas spend together. They live outside of
// the record and may be gone at any moment: whoever asks then goes on with a share of
// his own.
type Budgets interface {
	// Take charges a call to all of its budgets, if it may leave within its limit;
	// otherwise it notes in those that are short that somebody waits. Errors:
	// ErrUnavailable when the budgets cannot be reached now, which is known within
	// milliseconds; what was charged before that was noticed stays charged.
	Take(ctx context.Context, c BudgetCall) (BudgetAnswer, error)
	// Hold lets no call through a gate for d, at most 5 min: a platform asked for it. It
	// is best effort, for what is on its way already; the lasting copy is the store's.
	Hold(ctx context.Context, gate string, d time.Duration)
	// Replicas is how many replicas share the budgets, as last known; at least 1.
	Replicas() int
}

// BudgetCall is one call, and what it costs.
type BudgetCall struct {
	Charges []BudgetCharge
	Gates   []string      // Those given to Hold that stop this call too.
	Final   bool          // The call shows a final answer; otherwise it counts as a new card.
	Limit   time.Duration // The longest wait that the caller would accept.
	Grace   time.Duration // How late the caller may be who was told to come back.
}

// BudgetCharge is one budget that a call takes its place from.
type BudgetCharge struct {
	Name      string        // Of the budget, unique in the deployment.
	Interval  time.Duration // What one call costs: the budget has one place in each.
	Burst     int           // Calls that may leave at once after a rest; at least 1.
	CardEvery time.Duration // After a card the next one goes before final answers that wait.
}

// BudgetAnswer is what Take found. Times are to the microsecond.
type BudgetAnswer struct {
	Taken bool          // The budgets were charged; false when Wait is over the limit.
	Wait  time.Duration // Until the call may leave, or until asking again may help.
	Waits []BudgetWait  // Of each charge; none where a gate is shut. Over the limit is what was short.
}

// BudgetWait is the state of one budget before the call.
type BudgetWait struct {
	Call   time.Duration // Until there is a place for a call like this one, final or not.
	Anyone time.Duration // Until there is a place at all.
}
