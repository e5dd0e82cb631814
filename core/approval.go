package core

import (
	"encoding/json"
	"slices"
)

// Times of the record. Figures: K2, R203.
const (
	MinExpiry     = 1_000                     // ms; a shorter wait cannot be answered.
	MaxExpiry     = 168 * 60 * 60 * 1_000     // ms; the cap, and the default of durable and draft.
	LiveExpiry    = 30 * 60 * 1_000           // ms; the default of live.
	LiveClaim     = 10 * 60 * 1_000           // ms an allowed live grant may stay unclaimed.
	DurableClaim  = 24 * 60 * 60 * 1_000      // ms an allowed durable or draft grant may stay unclaimed.
	OutcomeWindow = 24 * 60 * 60 * 1_000      // ms after a claim before a silent runner counts as unknown.
	Retention     = 30 * 24 * 60 * 60 * 1_000 // ms that terminal rows, deliveries and events are kept.
)

// Operation names what would be done. Tool and Name are safe text; ID and Type are
// the caller's own words, bounded and no more: no card shows them.
type Operation struct {
	ID   string // Stable id of the call, shared with later tool events (R14).
	Type string // Dotted type, free.
	Tool string // Name of the tool.
	Name string // Operation within the tool; "" when it has none.
}

// Presentation is the bounded, redacted projection of an action: at most 4 KiB
// of JSON, kept in the row, in events and in lists (R7, R91). It is a tagged
// union by Kind: exec has Command, Folder and Executable; plugin has Description
// and Arguments.
type Presentation struct {
	Kind        Kind            `json:"kind"`
	Title       string          `json:"title"`                  // At most 80 code points.
	Description string          `json:"description,omitempty"`  // At most 512 code points.
	Command     string          `json:"command,omitempty"`      // Exec: the command line as it would run, for eyes.
	Folder      string          `json:"folder,omitempty"`       // Exec: where it would run.
	Executable  string          `json:"executable,omitempty"`   // Exec: the resolved file.
	Arguments   json.RawMessage `json:"arguments,omitempty"`    // Plugin: bounded JSON.
	Lines       []Line          `json:"lines,omitempty"`        // At most six, for compact places (R81).
	Redacted    bool            `json:"redacted"`               // Something secret was replaced.
	Truncated   bool            `json:"truncated"`              // Something was left out of this projection.
	MixedScript bool            `json:"mixed_script,omitempty"` // A word mixes look-alike scripts (Latin with Cyrillic or Greek).
}

// Line is one argument as a compact card shows it: at most 300 code points of
// value, cut visibly.
type Line struct {
	Label string `json:"label"`
	Value string `json:"value"`
	Cut   bool   `json:"cut,omitempty"`
}

// Detail is the redacted full text of an action, for the page and for a chat on
// "Show all" only: never in events, lists or logs (K29).
type Detail struct {
	Text    string // At most 64 KiB (65,536 bytes) of valid UTF-8, cut on a rune boundary.
	Omitted int64  // Bytes of the redacted text that were not kept; 0 when Text is whole.
}

// MaxDetail is the bound of Detail.Text in bytes.
const MaxDetail = 64 << 10

// DamagedTitle stands for what was asked where nobody can read that any more.
const DamagedTitle = "A question whose record was damaged"

// AlwaysOffer is the rule that "always allow" would make. Tool and Operation are
// as the tables spell them: the rule is made from this row and nothing else (K7).
type AlwaysOffer struct {
	Label     string `json:"label"` // "GET requests to example.com".
	Scope     string `json:"scope"` // recipient | host | operation | tool.
	Value     string `json:"value"` // Normalised; "sha256:..." for one exact command; "" for a whole tool.
	Tool      string `json:"tool,omitempty"`
	Operation string `json:"operation,omitempty"`
}

// TrailStep is one step of the evaluation that led to the question (admins only).
type TrailStep struct {
	Step    string `json:"step"`
	Matched string `json:"matched,omitempty"` // What matched: a table, a rule, a mode.
	Verdict string `json:"verdict"`           // ask, auto, allow, deny; "next" where the walk went on; the class in the first step.
	Why     string `json:"why,omitempty"`     // One sentence, without anything from the arguments.
	Change  string `json:"change,omitempty"`  // What would have to change for another result.
}

// Resolution is the outcome of the gate. All of it is written by the one guarded
// write that wins and never changes afterwards.
type Resolution struct {
	Decision     Decision
	Reason       Reason
	Note         string // Redacted; at most 1,000 code points.
	ByMessage    bool   // The person wrote a message instead of pressing a button (R133).
	DecisionKey  string // Makes a retried note or reply harmless (K22).
	AttemptID    string // The write that won.
	ResolvedAt   Millis
	ResolverKind ResolverKind
	ResolverID   string // Principal, runtime or policy; never shown to reviewers (R156).
	ResolverName string // Display name when it happened, so that all places agree for ever.
	Surface      Surface
	DeliveryID   string // The clicked delivery; "" when no card was clicked.
	Proof        string // What the surface proved beyond a session; "" in this version.
	PartialView  bool   // Allowed with bytes not shown, behind an explicit tick (K29).
}

// Grant is the execution side of an allowed approval.
type Grant struct {
	Execution    Execution
	ClaimBy      Millis // Deadline of the claim; 0 unless allowed.
	ClaimToken   string // SHA-256 (hex) of the runner's fresh token; the token itself is never stored.
	ConsumedAt   Millis
	ConsumedBy   string // Runtime, and its instance when it has one.
	OutcomeBy    Millis // A silent runner counts as unknown from here on.
	OutcomeAt    Millis
	OutcomeError string // Redacted; at most 300 code points.
	VoidReason   VoidReason
}

// Approval is one durable record per gate (R1). Surfaces, waiters and workers
// hold no copy of its state; they read it again.
type Approval struct {
	// Identity.
	ID             string
	Ref            string // ResolutionRef(Kind, ID); unique.
	Kind           Kind
	Origin         Origin
	Runtime        string
	Instance       string // "" for a runtime that registers none.
	Epoch          int64
	IdempotencyKey string // Unique per runtime and generation; "" when none was given.
	KeyGeneration  int64
	RequestHash    string // Over every decision-relevant field.
	Supersedes     string // The approval that this one replaces.
	StickyOf       string // The declined approval that this denial points to.

	// What.
	Operation     Operation
	ArgumentsHash string // "sha256:" + hex of the canonical JSON of the unredacted arguments (R98).
	ActionHash    string // "sha256:" + hex over arguments hash, kind, operation and tool.
	Fingerprint   string // Eight characters of ActionHash, for eyes only.
	Class         Class
	ClassSource   string
	Risk          string // Shown; decides nothing (R50).
	Presentation  Presentation
	DetailBytes   int64 // Size of the kept detail.
	DetailOmitted int64 // Bytes of detail beyond 64 KiB that were not kept.

	// Policy.
	Offered          []Decision // Deny is always among them.
	AlwaysOffer      *AlwaysOffer
	PolicyID         string // Set exactly when Origin is auto (K16).
	PolicyGeneration int64
	Trail            []TrailStep
	Continuation     Continuation

	// Where from.
	Agent      string
	SessionKey string
	RunID      string
	FrameID    string
	Group      string
	CausedBy   string
	Audience   []string
	// CallbackURL is told that the record has changed, and no more than that; "" for
	// nobody (R129).
	CallbackURL string

	// Who.
	RequestedBy      string   // Principal that the runtime's token acts for; "" for nobody.
	Reviewers        []string // Principals; authoritative when present (R150).
	ExcludeRequester bool
	RequirePush      bool

	// Time, by the deployment's clock.
	CreatedAt Millis
	ExpiresAt Millis
	UpdatedAt Millis

	Status Status
	Resolution
	Grant
	Aftermath *Aftermath // What people did about the outcome; nil for nothing.

	Revision     int64 // Every change.
	CardRevision int64 // Only changes of visible text.
}

// Offers reports whether d may be given. Deny always may (conformance 24).
func (a *Approval) Offers(d Decision) bool {
	if d == DecisionDeny {
		return true
	}
	return slices.Contains(a.Offered, d)
}

// Due reports whether a pending approval's deadline has come.
func (a *Approval) Due(now Millis) bool {
	return a.Status == StatusPending && a.ExpiresAt.Reached(now)
}

// ClaimWindow is how long, in ms, an allowed grant of this continuation may stay
// unclaimed.
func (c Continuation) ClaimWindow() Millis {
	if c == ContinuationLive {
		return LiveClaim
	}
	return DurableClaim
}

// Waits reports whether something of the runtime rests until the answer: a turn in
// memory or one that survives a restart. A draft is carried out later, by whoever hears
// of its answer (R125).
func (c Continuation) Waits() bool { return c != ContinuationDraft }

// DefaultExpiry is the wait, in ms, when the request names none (K2).
func (c Continuation) DefaultExpiry() Millis {
	if c == ContinuationLive {
		return LiveExpiry
	}
	return MaxExpiry
}
