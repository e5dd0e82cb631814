package core

import "time"

// DeliveryState is the life of one planned card.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPlanned DeliveryState = "planned" // Nothing was sent yet.
	DeliverySending DeliveryState = "sending" // Written before the call: it may or may not have arrived.
	DeliveryOpen    DeliveryState = "open"    // The platform confirmed the message.
	DeliveryClosed  DeliveryState = "closed"
)

// Valid reports whether s is one of the closed set.
func (s DeliveryState) Valid() bool {
	switch s {
	case DeliveryPlanned, DeliverySending, DeliveryOpen, DeliveryClosed:
		return true
	}
	return false
}

// DeliveryOutcome says how a delivery ended.
type DeliveryOutcome string

// The outcomes. OutcomeNone is stored until the row is closed.
const (
	OutcomeNone           DeliveryOutcome = ""
	OutcomeReplaced       DeliveryOutcome = "replaced"        // The message shows the final state.
	OutcomeRetired        DeliveryOutcome = "retired"         // The message could not be edited; a follow-up told the truth.
	OutcomeUnsupported    DeliveryOutcome = "unsupported"     // The platform cannot edit; a follow-up told the truth.
	OutcomeFailed         DeliveryOutcome = "failed"          // Permanently impossible; the class says why.
	OutcomeSkipped        DeliveryOutcome = "skipped"         // Never sent: the approval was decided first.
	OutcomePossibleOrphan DeliveryOutcome = "possible-orphan" // An unconfirmed message may exist.
	OutcomeDuplicate      DeliveryOutcome = "duplicate"       // Another row reaches the same address.
	OutcomeMoved          DeliveryOutcome = "moved"           // Replaced by a row at the chat's new address.
)

// Valid reports whether o is one of the closed set, OutcomeNone included.
func (o DeliveryOutcome) Valid() bool {
	switch o {
	case OutcomeNone, OutcomeReplaced, OutcomeRetired, OutcomeUnsupported, OutcomeFailed,
		OutcomeSkipped, OutcomePossibleOrphan, OutcomeDuplicate, OutcomeMoved:
		return true
	}
	return false
}

// DeliveryStep tells the card from the follow-up that a card which cannot be
// edited gets.
type DeliveryStep string

// The steps.
const (
	StepCard     DeliveryStep = "card"
	StepFollowup DeliveryStep = "followup"
)

// Valid reports whether s is one of the closed set.
func (s DeliveryStep) Valid() bool {
	switch s {
	case StepCard, StepFollowup:
		return true
	}
	return false
}

// FailureClass sorts the errors of platforms by what must happen next.
type FailureClass string

// The classes of failure.
const (
	FailureNone        FailureClass = ""
	FailureTemporary   FailureClass = "temporary"    // Try again with backoff.
	FailureRateLimited FailureClass = "rate-limited" // Try again after the stated delay.
	FailureAuth        FailureClass = "auth"         // The account's credentials are refused: an admin must act.
	FailureRejected    FailureClass = "rejected"     // The platform refuses this content or action for good.
	FailureGone        FailureClass = "gone"         // The chat, thread or message is not there or closed to us.
	FailureMoved       FailureClass = "moved"        // The chat has a new address.
	FailureAmbiguous   FailureClass = "ambiguous"    // Bytes were written and no answer came.
	FailureNotEntitled FailureClass = "not-entitled" // The person may not decide any more: nothing was sent.
)

// Valid reports whether c is one of the closed set, FailureNone included.
func (c FailureClass) Valid() bool {
	switch c {
	case FailureNone, FailureTemporary, FailureRateLimited, FailureAuth, FailureRejected,
		FailureGone, FailureMoved, FailureAmbiguous, FailureNotEntitled:
		return true
	}
	return false
}

// Permanent reports whether repeating the same call can never help.
func (c FailureClass) Permanent() bool { return c == FailureRejected || c == FailureGone }

// MaxLocator bounds the private locator of a message, in bytes.
const MaxLocator = 1 << 10

// Delivery is one row of the ledger: one per approval, channel, account and
// destination, planned in the transaction that creates the approval.
//
// The row is level-triggered: it needs work while ShownRevision is behind the
// approval's CardRevision or ShownView is behind View. Nobody enqueues jobs.
type Delivery struct {
	ID          string
	ApprovalID  string
	Channel     Surface // telegram, slack, discord.
	Account     string  // The platform's own stable id of the bot.
	Destination string  // As asked for: "person:<id>" or "chat:<address>".
	PersonID    string  // Set when the destination is a person.
	Address     string  // As resolved just before the send; private to the channel.
	Locator     string  // The message, at most 1 KiB; private to the channel; "" until it is known.

	State         DeliveryState
	Outcome       DeliveryOutcome
	Step          DeliveryStep
	ClosesAs      DeliveryOutcome // With StepFollowup: the outcome that the row will close with; OutcomeNone before.
	ShownRevision int64           // Card revision that the message shows; 0 before the first receipt.
	View          int64           // 1 once somebody asked to show all.
	ShownView     int64

	// Written together with "sending", before the call: what the surface shows.
	ShownHash     string     // Action hash of the shown action.
	Offered       []Decision // Decisions that were rendered.
	ShownComplete bool       // The whole redacted action was rendered.
	KeyID         string     // Codec key that signed the buttons.

	Attempts      int64  // Calls begun since the last receipt; the backoff grows with it.
	Generation    int64  // Raised when an admin plans the row again.
	Ambiguous     bool   // A send of this row may have arrived without a receipt.
	Unsettled     bool   // A lease was taken over: one more edit before it may close.
	SettleAt      Millis // When that one more edit may run.
	DueAt         Millis // 0 while nothing is to be done.
	AnswerUntil   Millis // The answer to a click may still paint the final card: the row is left alone before; 0 without one.
	EditAfter     Millis // The platform takes no edit of this message before; 0 where it said nothing.
	ToldRevision  int64  // Card revision that a message beside the card told, because its edit takes long; 0 for none.
	GiveUpAt      Millis // Past this a row that never opened no longer counts as a route.
	LeaseHolder   string
	LeaseUntil    Millis
	Fence         int64
	LastError     FailureClass
	LastErrorText string // Content-free description for admins; at most 200 bytes.
	CreatedAt     Millis
	UpdatedAt     Millis
}

// NeedsWork states the level-triggered rule against the approval's record.
func (d *Delivery) NeedsWork(a *Approval) bool {
	if d.State == DeliveryClosed {
		return false
	}
	return d.ShownRevision < a.CardRevision || d.ShownView < d.View || d.Unsettled || d.Step == StepFollowup
}

// AnswerDelay is how long, in ms, a clicked row is left alone where the answer to the
// click itself may show the final card. Discord takes an answer for 3 s after the
// click, and the decision is later than the click: past this no answer can paint over
// a newer card.
const AnswerDelay Millis = 5_000

// TellAfter is how long, in ms, the edit of a terminal card may take before its chat
// is told the outcome beside it.
const TellAfter Millis = 60_000

// Telling reports whether the chat is to be told beside the card at a time: the
// record, whose card revision is given, is terminal, the platform takes no edit for
// more than TellAfter, and this revision was not told yet.
func (d *Delivery) Telling(at Millis, terminal bool, cardRevision int64) bool {
	return terminal && d.Step != StepFollowup && d.EditAfter-at > TellAfter && d.ToldRevision < cardRevision
}

// DueFrom is when work on the row that is wanted from a time on may be done: not while
// an answer may paint the card, and not before the platform takes an edit, unless what
// is to be done is no edit.
func (d *Delivery) DueFrom(at Millis, terminal bool, cardRevision int64) Millis {
	at = max(at, d.AnswerUntil)
	if d.Step == StepFollowup || d.Telling(at, terminal, cardRevision) {
		return at
	}
	return max(at, d.EditAfter)
}

// GiveUpAfter is how long, in ms, a delivery that never opened may keep the
// approval from being denied for want of a route.
const GiveUpAfter = 10 * 60 * 1_000

// Timing of the ledger. The platform call's timeout is well under the lease, and
// a stale holder may paint up to CallTimeout after it lost its lease.
const (
	DeliveryLease = 60 * time.Second
	CallTimeout   = 20 * time.Second
	SettleMargin  = 30 * time.Second
)

// PlannedDelivery is a row to be written with the approval.
type PlannedDelivery struct {
	ID          string
	Channel     Surface
	Account     string
	Destination string
	PersonID    string
	Address     string // "" until it is resolved just before the send.
	// After is how long the card waits before it is due, in ms, at most MaxExpiry:
	// the step of an escalation. An approval that ends before then is never told.
	After Millis
}
