package approvals

import (
	"time"

	"github.com/saysohq/sayso/core"
)

// Ask is a request for an answer, as an edge decoded it.
type Ask struct {
	GivenID        string // The caller's own id; "" lets the service choose.
	IdempotencyKey string
	Kind           core.Kind
	Title          string
	Agent          string
	Operation      AskOperation
	Details        []byte // JSON object of display metadata, or nil.
	Risk           string
	Continuation   core.Continuation // "" means live.
	ExpiresIn      *core.Millis      // nil takes the continuation's default.

	SessionKey string
	RunID      string
	FrameID    string
	Group      string
	CausedBy   string
	Audience   []string
	Instance   string
	Epoch      int64

	Reviewers        []string // nil: not given. Empty: nobody but admins.
	ExcludeRequester bool
	RequirePush      bool
	Supersedes       string
	CallbackURL      string // Is told of changes; see Callbacks. "" for nobody.
}

// AskOperation is the action itself.
type AskOperation struct {
	ID        string
	Type      string
	Tool      string
	Name      string
	Summary   string
	Arguments []byte // JSON.
}

// Asked is the answer to Ask.
type Asked struct {
	Approval core.Approval
	Existing bool // The same key and content were asked before.
	// Unrecorded is a call that only reads: it may run, nothing is recorded of it, and
	// there is nothing to claim. Approval is empty then.
	Unrecorded bool
	Hint       string // What to do where nobody can be asked, or can be asked yet; "" otherwise.
}

// Shown is what the answering surface had shown, as established by trusted code
// (the delivery's row, or the page's own signed view), never by the client's word.
type Shown struct {
	Complete    bool            // The whole redacted action.
	PartialView bool            // The kept 64 KiB, and the person ticked that the rest is not shown.
	ActionHash  string          // What the surface showed; "" when it cannot tell.
	Offered     []core.Decision // Decisions that the surface had rendered; nil for all.
}

// Resolve is a person's answer.
type Resolve struct {
	Caller        core.Caller
	Lookup        core.Lookup
	Kind          core.Kind
	Decision      core.Decision
	OperationID   string // Optional; compared when given.
	ArgumentsHash string // For surfaces that name the hash themselves; compared when given.
	Note          string
	ByMessage     bool
	DecisionKey   string
	DeliveryID    string
	Shown         Shown
	// ShownOf establishes what had been shown for surfaces that need the record to tell,
	// so that it is read once; nil takes Shown. It is called for whoever may see the
	// record, before all other checks, and its error is that of Resolve.
	ShownOf     func(a *core.Approval) (Shown, error)
	Adopt       *core.Adopt
	AnswerDelay core.Millis // As in core.Decide.
}

// Resolved is the answer to Resolve: always with the record as it is.
type Resolved struct {
	Approval   core.Approval
	Applied    bool // This call made the decision.
	Idempotent bool // The same decision had been made before.
}

// WaitRequest asks to be told when the record differs from what the caller saw.
type WaitRequest struct {
	Lookup   core.Lookup
	Revision int64         // Return at once when the record's revision is higher.
	For      time.Duration // At most MaxWait; 0 answers at once.
	// Terminal waits for the final answer and ignores other changes.
	Terminal bool
}

// MaxWait is the longest single wait; callers ask again (R32).
const MaxWait = 60 * time.Second

// Claim asks for the single-use grant.
type Claim struct {
	Lookup     core.Lookup
	Instance   string
	Epoch      int64
	ActionHash string
	Token      string // The runner's fresh random token, 16 to 128 bytes; never stored.
}

// Report says what happened under a claim.
type Report struct {
	Lookup  core.Lookup
	Token   string
	Outcome core.Execution
	Error   string
}

// Registration is a start of an instance of the calling runtime.
type Registration struct {
	Name   string
	BootID string // Random, and fresh for every start; 16 to 256 bytes.
	// Facts are what the runtime attests of the instance, such as its sandbox (R69): at
	// most core.MaxFacts. They replace those of this boot, and are gone with it.
	Facts map[string]string
}

// Reply is a message instead of an answer (R133).
type Reply struct {
	Run       string
	MessageID string // The client's id of the message; the decision key is "chat:" plus it.
	Text      string
}

// Replied is the answer to Reply.
type Replied struct {
	Run      string
	Declined []string // Ids of the approvals that the message declined.
	// Now is whether a turn that goes on hears the message at once. Otherwise it is kept
	// for a caller that looks again.
	Now bool
}

// Plan is where an approval will be shown.
type Plan struct {
	Deliveries    []core.PlannedDelivery
	PageReachable bool   // Somebody eligible can reach the page.
	Hint          string // What to do when nobody can be asked, or can be asked yet.
}
