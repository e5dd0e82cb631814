package core

import (
	"context"
	"time"
)

// The ports of the record. A store implements them all; each consumer asks for
// the role it needs. Every command is applied atomically in one transaction, or
// not at all: no transaction handle crosses a port. Every method may also return
// ErrUnavailable, ErrStorageFull (nothing was recorded) or ErrOutcomeUnknown.

// Clock is the one clock of the deployment.
type Clock interface {
	// Now is the deployment's time; it never goes back.
	Now(ctx context.Context) (Millis, error)
}

// Approvals is the record.
type Approvals interface {
	// Create writes the approval, its detail, its event and its planned
	// deliveries. A known idempotency key or id with the same RequestHash returns
	// the row as it is with Existing set. Errors: ErrIdempotencyConflict,
	// ErrIDTaken, ErrStaleEpoch, ErrRunAborted, ErrPendingLimit, ErrPolicyChanged.
	Create(ctx context.Context, c NewApproval) (Created, error)
	// Approval reads one row by id or by ref, after applying its deadline. A damaged
	// row that waits is denied (storage-corrupt), by this and by every write that meets
	// it; what was asked is gone from it. Errors: ErrNotFound (also outside the lookup's
	// restriction), ErrCorrupt (damaged, and answered before).
	Approval(ctx context.Context, l Lookup) (Approval, error)
	// Detail reads the redacted full text. Errors: ErrNotFound.
	Detail(ctx context.Context, id string) (Detail, error)
	// List pages through rows, newest first; pending rows past their deadline are
	// expired first. Corrupt rows are left out and counted in the page.
	List(ctx context.Context, q ListQuery) (ListPage, error)
	// Decide is the one guarded write from pending to terminal. Whoever loses gets
	// the current row with Applied false. Errors: ErrNotFound (no such row, or the
	// guarded person lost the right meanwhile), ErrCorrupt, ErrConflict (Adopt is
	// not possible; nothing was decided).
	Decide(ctx context.Context, d Decide) (Decided, error)
}

// Grants is the execution side of allowed approvals.
type Grants interface {
	// Claim takes the grant. The same token again is the same success. Errors,
	// each with the current row: ErrNotFound (unknown, or another runtime's),
	// ErrNotClaimable, ErrAlreadyClaimed, ErrStaleEpoch, ErrRunAborted.
	// An automatic grant whose rule was removed or has expired, or whose agent has
	// another mode since, is voided and ErrNotClaimable. A wrong
	// ActionHash from its own runtime voids the grant and returns ErrNotClaimable.
	Claim(ctx context.Context, c Claim) (Approval, error)
	// Report records what happened under the claim. The same report again is the
	// same success. Errors: ErrNotFound, ErrNotClaimable (never claimed),
	// ErrAlreadyClaimed (another token), ErrConflict (another outcome is recorded).
	Report(ctx context.Context, r Report) (Approval, error)
}

// Runs is the runtime's own bookkeeping that rows are guarded by.
type Runs interface {
	// RegisterInstance gives a boot its epoch; the same boot keeps it. A newer
	// epoch cancels the pending live rows of the instance and voids its unclaimed
	// live grants; the changes come back as hints.
	RegisterInstance(ctx context.Context, r RegisterInstance) (Instance, []Hint, error)
	// AbortRun stops a run for good: pending rows are cancelled, unclaimed grants
	// voided, later creates and claims refused. Repeating it changes nothing.
	AbortRun(ctx context.Context, runtime, run string) (Run, []Hint, error)
	// ReadRun reads a run. Errors: ErrNotFound when nothing was ever asked for it.
	ReadRun(ctx context.Context, runtime, run string) (Run, error)
}

// Maintenance is what nobody asks for and time brings.
type Maintenance interface {
	// Sweep expires due rows, denies damaged ones that were due, voids lapsed grants
	// and marks silent runners unknown: at most limit changes. Call again while it returns limit hints.
	Sweep(ctx context.Context, limit int) ([]Hint, error)
	// Prune deletes terminal rows past retention with their deliveries and events,
	// and ended sessions, codes and prompts: at most limit approvals.
	Prune(ctx context.Context, limit int) (int, error)
}

// Backlog is what operators watch of the questions themselves.
type Backlog interface {
	// PendingApprovals counts the approvals that wait and whose deadline has not come.
	PendingApprovals(ctx context.Context) (int, error)
}

// NewApproval is the command of Create. The store stamps CreatedAt, ExpiresAt,
// UpdatedAt, ResolvedAt, ClaimBy and the revisions.
type NewApproval struct {
	Approval   Approval // Status pending, allowed (origin auto) or denied (no-route, sticky-decline).
	Detail     Detail
	ExpiresIn  Millis
	Deliveries []PlannedDelivery
	MaxPending int // Per runtime; 0 for no limit.
	// OnlyExisting makes no row: it finds the one that the id or key stands for, and
	// is ErrNotFound where a new one would be made.
	OnlyExisting bool
	// Policy is what the evaluation relied on; nil for one without modes and rules. A
	// grant under a rule needs it.
	Policy *PolicyGuard
}

// Created is the answer of Create.
type Created struct {
	Approval Approval
	Existing bool   // The row was there before.
	Hints    []Hint // Rows changed beside it (superseded).
}

// Lookup finds one row: by exactly one of ID and Ref.
type Lookup struct {
	ID  string
	Ref string
	// Runtime and Viewer restrict it, as they do a list: a row of another runtime,
	// or one that this person may not see, is not read, so that it takes as long to
	// refuse as one that does not exist. "" and nil do not restrict.
	Runtime string
	Viewer  *Principal
	// Ended, when it is not nil, becomes true where this very read ended the approval,
	// because the deadline had come or the row was damaged: its caller then tells the
	// others.
	Ended *bool
}

// MaxPage is the largest page of a list (R165).
const MaxPage = 1000

// ListQuery filters a list; empty fields do not filter.
type ListQuery struct {
	Runtime string
	Status  Status
	Origin  Origin // OriginAuto lists what ran without asking (R67).
	Within  Millis // Only what was asked within this time, in ms, before now; 0 for any.
	Agent   string // "" for any.
	Unnamed bool   // Only calls that name no agent.
	Session string
	Run     string
	// DecisionKey finds what one note or message decided (K22).
	DecisionKey string
	Limit       int // 1 to MaxPage; 0 means MaxPage.
	// Before continues after the last row of the page before: rows strictly older
	// than (CreatedAt, ID).
	Before *ListCursor
	// Viewer restricts the list to what this person may see, applied before the
	// limit (conformance 45). Nil for a machine, which is restricted by Runtime.
	Viewer *Principal
}

// ListCursor is a keyset position.
type ListCursor struct {
	CreatedAt Millis
	ID        string
}

// ListPage is one page.
type ListPage struct {
	Approvals []Approval
	More      bool // Older rows match too.
	Corrupt   int  // Rows left out because they failed Check.
	Now       Millis
}

// Decide is the command that ends a pending approval. The store applies, in its
// one transaction: lock the guarded person, lock the approval; pending and due
// becomes expired, otherwise pending becomes To; mark the approval's deliveries
// due; write the event; read the row.
type Decide struct {
	ID        string
	AttemptID string // Fresh for every attempt.
	Guard     Guard
	To        Terminal
	Adopt     *Adopt
	// AnswerDelay is how long, in ms, nothing is done about the row To.DeliveryID (or
	// the adopted one), because the answer to the click may show its final card
	// (AnsweredCards); 0 for not at all. All other rows are due at once. It is part of
	// the decision: where that is not applied nothing is delayed.
	AnswerDelay Millis
	// Seen is the row as the caller has just read it, or nil. A row changes with its
	// revision only, so a store need not decode again what has not moved on.
	Seen *Approval
	// Rule is what allow-always makes, in the same transaction: whoever loses makes
	// none. Its Runtime, Agent and ApprovalID are those of the approval. Nil for none.
	Rule *NewRule
}

// Guard is the authority that must still hold inside the write. The zero Guard
// is the service's own authority (a runtime over its own rows, the system).
type Guard struct {
	PersonID       string
	PersonRevision int64
}

// Terminal is the state that a decision leads to.
type Terminal struct {
	Status       Status
	Decision     Decision
	Reason       Reason
	Note         string
	ByMessage    bool
	DecisionKey  string
	ResolverKind ResolverKind
	ResolverID   string
	ResolverName string
	Surface      Surface
	DeliveryID   string
	Proof        string
	PartialView  bool
}

// Adopt ties a message that we sent without a receipt to its delivery row,
// inside the decision that the click on it makes.
type Adopt struct {
	Channel Surface
	Account string
	Address string
	Locator string
}

// Decided is the answer of Decide.
type Decided struct {
	Approval Approval
	Applied  bool // This attempt made the change that its command asked for.
	Expired  bool // This attempt found the deadline reached and recorded that.
}

// Claim is the command that consumes a grant.
type Claim struct {
	ID         string
	Runtime    string
	Instance   string // For live rows: the instance that asked.
	Epoch      int64
	ActionHash string
	TokenHash  string // Hex SHA-256 of the runner's fresh token.
}

// Report is the command that records what happened.
type Report struct {
	ID        string
	Runtime   string
	TokenHash string // "" only with ExecutionUnknown, by a runner that lost its token.
	Outcome   Execution
	Error     string // Redacted; at most 300 code points.
}

// RegisterInstance is the command that gives a boot its epoch.
type RegisterInstance struct {
	Runtime  string
	Instance string
	BootID   string
	// Facts are what the runtime attests of this instance, such as its sandbox (R69):
	// at most MaxFacts. They hold for the calls of this boot, until a newer one
	// registers; registering again replaces them.
	Facts map[string]string
}

// Instance is a registered instance of a runtime.
type Instance struct {
	Runtime string
	Name    string
	Epoch   int64
}

// Run is a run of a runtime.
type Run struct {
	Runtime       string
	ID            string
	AbortedAt     Millis // 0 while it runs.
	Pending       int
	AcceptsReply  bool   // A row waits: a message may answer it (R138).
	WaitingMillis Millis // Time with at least one row pending that waits, up to now; overlap counts once (R31).
	LastDecidedAt Millis // A person's latest decision, ignoring automatic ones (R30).
	Now           Millis
}

// Hint says "look again": it carries no facts and may be dropped or repeated.
type Hint struct {
	ApprovalID string // Or "lease/" and the name of a lease that was given up, an AgentHint, or "policy/tables".
	Revision   int64
	Deliveries bool // Deliveries of this approval may be due.
}

// Publisher spreads hints. It never blocks for long and never fails a change.
type Publisher interface {
	Publish(ctx context.Context, hints ...Hint)
}

// Subscriber receives hints until its context ends. After a loss it calls fn with
// a zero Hint: everything may have changed.
type Subscriber interface {
	Subscribe(ctx context.Context, fn func(Hint)) error
}

// Lease is a single-holder job, kept by the store's clock.
type Lease struct {
	Name   string
	Holder string
	Fence  int64
	Until  Millis
}

// Leases hands out single-holder jobs.
type Leases interface {
	// Acquire takes or renews the lease for the holder. Errors: ErrLeaseLost when
	// another holder has it.
	Acquire(ctx context.Context, name, holder string, d time.Duration) (Lease, error)
	// Release gives it up; a lease that was lost meanwhile is left alone.
	Release(ctx context.Context, l Lease) error
}

// Sequence numbers events. Only events with a number are told to anybody.
type Sequence interface {
	// NumberEvents gives numbers to at most limit events that have none, without gaps
	// and behind all that were ever given, each approval's in the order of their
	// revisions, in one write that the holder of the lease alone can make. 0 numbered
	// means that there was nothing to do; a store that numbers each event as it is
	// recorded has nothing ever. Errors: ErrLeaseLost, also of a lease that has run
	// out; ErrInvalid for a limit below 1.
	NumberEvents(ctx context.Context, l Lease, limit int) (numbered int, err error)
}
