package core

import "context"

// Deliveries is the worker's side of the ledger. Whatever completes, releases or
// closes a row first locks the approval, then checks the fence.
type Deliveries interface {
	// ClaimDue leases due rows of the given accounts: at most limit of them,
	// terminal edits first. The second result is when the next row falls due (0:
	// nothing is due).
	ClaimDue(ctx context.Context, c ClaimDue) ([]Work, Millis, error)
	// Begin writes, before the call, that a send is under way and what it will
	// show. Errors: ErrLeaseLost, also for a row that has been adopted since (see
	// Close); ErrConflict with duplicate set when another row of the approval has the
	// address: this row was closed as duplicate.
	Begin(ctx context.Context, b BeginSend) error
	// Complete records what the message shows now; if the card moved on meanwhile
	// the row is due at once. Errors: ErrLeaseLost.
	Complete(ctx context.Context, c CompleteDelivery) error
	// Release gives the row back to be tried again. Errors: ErrLeaseLost.
	Release(ctx context.Context, r ReleaseDelivery) error
	// Close ends the row, plans Next, and denies the approval for want of a route
	// when that was its last one. Errors: ErrLeaseLost, also where somebody has pressed
	// a message meanwhile that the worker knew nothing of. The row follows that message
	// now: it is given back instead, and due.
	Close(ctx context.Context, c CloseDelivery) (Hint, error)
}

// ClaimDue is the command of the worker's turn.
type ClaimDue struct {
	Worker   string
	Accounts []AccountRef // Accounts that this process can serve.
	Lease    Millis       // Length in ms.
	Limit    int
	Lane     DeliveryLane // LaneAny takes both lanes, terminal edits first.
}

// DeliveryLane keeps terminal edits and everything else from starving each other.
type DeliveryLane string

// The lanes.
const (
	LaneAny   DeliveryLane = ""
	LaneEdits DeliveryLane = "edits" // Rows of approvals that are terminal.
	LaneCards DeliveryLane = "cards" // Rows of approvals that are pending.
)

// AccountRef names one bot of one channel by the platform's own stable id.
type AccountRef struct {
	Channel Surface
	Account string
}

// Work is one leased row with the record to be shown.
type Work struct {
	Delivery Delivery // Address follows chat aliases.
	Approval Approval
	// Damaged is true where the approval was ended, by somebody or something, and its
	// record can no longer be believed: Approval then has the id, the kind, some
	// terminal status and the card revision, and the card tells only that.
	Damaged   bool
	TakenOver bool // The lease of another holder had run out.
	Now       Millis
}

// BeginSend is written with the state "sending".
type BeginSend struct {
	Delivery      string
	Fence         int64
	Address       string
	ShownHash     string
	Offered       []Decision
	ShownComplete bool
	KeyID         string
	// LeaseMargin is the time in ms that must remain on the lease; else ErrLeaseLost.
	LeaseMargin Millis
	// Edit is true where the message exists already: the row stays open and only
	// what it will show is recorded.
	Edit bool
	// Locator is the message that the row followed when the worker claimed it.
	Locator string
}

// CompleteDelivery is the receipt.
type CompleteDelivery struct {
	Delivery      string
	Fence         int64
	Locator       string // "" leaves it as it is.
	ShownRevision int64
	ShownView     int64
	Step          DeliveryStep    // StepFollowup: the card could not be edited, the follow-up is due now.
	Then          DeliveryOutcome // With StepFollowup: the outcome that the row will close with.
	// Told is the card revision that a message beside the card told because the edit
	// takes long; 0 for none. The row stays due for the edit.
	Told int64
	// Final closes the row with this outcome if the message shows the newest card
	// of a terminal approval and the row is settled; otherwise the row stays open.
	Final DeliveryOutcome
}

// ReleaseDelivery gives a leased row back.
type ReleaseDelivery struct {
	Delivery string
	Fence    int64
	RetryIn  Millis // ms from the store's now.
	// SeenRevision is the card revision that the worker saw. When the card has
	// moved on since, the row is due at once instead (blocks are still obeyed), so
	// that a decision never waits behind the backoff of an older card.
	SeenRevision int64
	Class        FailureClass
	ErrorText    string
	Ambiguous    bool   // The send may have arrived.
	NotSent      bool   // Nothing left this machine: the state returns to what it was before Begin.
	Address      string // FailureMoved: the new address; also recorded as an alias.
	// BlockUntil in ms from now: no call to this (account, address) before; 0 for none.
	BlockFor Millis
	// BlockAll blocks the whole account instead of the address.
	BlockAll bool
	// EditFor is how long from now, in ms, the platform takes no edit of this one
	// message; 0 for none. The row is due then, or at once where the chat is to be told
	// beside the card (Delivery.Telling).
	EditFor Millis
}

// CloseDelivery ends a row.
type CloseDelivery struct {
	Delivery  string
	Fence     int64
	Outcome   DeliveryOutcome
	Locator   string // The message that the row followed when the worker claimed it.
	Class     FailureClass
	ErrorText string
	Next      []PlannedDelivery // The next route: the person's, or where the rule falls back to.
	Reachable Reachability
	// Hasten names rows of the same approval that were planned for later: they are
	// due at once. Rows that are not planned any more are left alone.
	Hasten []string
	// BreakRoute also records the destination as broken with Class (BrokenRoute),
	// in the same transaction, and, for a person, on their identity for this channel
	// and account (Identity.Broken). A card that arrives there and a new link clear
	// both.
	BreakRoute bool
}

// Routes is what is known of chats that cannot be reached.
type Routes interface {
	// BrokenRoutes lists the destinations that failed for good when they were last
	// tried, in the order of channel, account and destination.
	BrokenRoutes(ctx context.Context) ([]BrokenRoute, error)
}

// BrokenRoute is a destination that failed for good. Rows are planned for it
// again once RetryAt has come, or where there is nothing else.
type BrokenRoute struct {
	Ref         AccountRef
	Destination string // As in Delivery.Destination.
	PersonID    string // Set when the destination is a person.
	Class       FailureClass
	Failures    int64 // Tries that failed, each after the RetryAt of the one before; at least 1.
	BrokenAt    Millis
	RetryAt     Millis
}

// A broken route is tried again after 1 min; the pause doubles with each failure
// up to 6 h.
const (
	RouteRetryFirst Millis = 60 * 1_000
	RouteRetryMax   Millis = 6 * 60 * 60 * 1_000
)

// Reachability tells the no-route rule what only configuration knows.
type Reachability struct {
	PublicURL bool // The page has a configured public address.
}

// Ledger is the reading and clicking side of the deliveries.
type Ledger interface {
	// DeliveryAt finds the row of a message. Errors: ErrNotFound.
	DeliveryAt(ctx context.Context, ref AccountRef, locator string) (Delivery, error)
	// DeliveriesOf lists the rows of an approval in id order.
	DeliveriesOf(ctx context.Context, approvalID string) ([]Delivery, error)
	// Adoptable reports whether a click on an unknown message at the address could
	// be adopted: this approval has an ambiguous or lost send there and no other
	// row has the message.
	Adoptable(ctx context.Context, approvalID string, a Adopt) (bool, error)
	// RequestView asks the ledger to bring the whole detail to a delivery's chat.
	// Errors: ErrNotFound, ErrConflict when the row is not open.
	RequestView(ctx context.Context, deliveryID string) (Hint, error)
	// Replan makes closed, failed rows of an approval due again, generation + 1.
	Replan(ctx context.Context, deliveryID string) (Hint, error)
}

// Cards plans a card that somebody asked for after the approval was made.
type Cards interface {
	// PlanCard adds a row that is due at once, under the approval's lock, and
	// reports false when the approval has a row at that address already. Errors: ErrNotFound, ErrConflict (the approval is
	// not pending any more).
	PlanCard(ctx context.Context, approvalID string, d PlannedDelivery) (planned bool, hint Hint, err error)
}

// AnsweredCards are cards whose message was edited by the answer to a click. It is the
// one exception to the rule that only the ledger edits messages.
type AnsweredCards interface {
	// ShownByAnswer records that the platform took the final card of this revision as
	// its answer, and ends the delay of Decide.AnswerDelay. If that is the newest card,
	// the row closes as Complete would close it; if it is not, or if it is 0 because no
	// answer showed or will show the card, the row is due at once. A row that is not
	// waiting for an answer any more stays as it is. Errors: ErrNotFound.
	ShownByAnswer(ctx context.Context, deliveryID string, cardRevision int64) (Hint, error)
}

// Convergence is what operators watch.
type Convergence interface {
	// Unconverged counts open rows whose message does not show the record, and
	// the creation-independent age in ms of the one that has waited longest.
	Unconverged(ctx context.Context) (count int, oldest Millis, err error)
	// SweepDeliveries re-checks the level-triggered rule for rows that no change
	// marked due and marks them, and closes what no-route rules demand.
	SweepDeliveries(ctx context.Context, r Reachability, limit int) ([]Hint, error)
}
