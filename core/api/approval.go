package api

import "github.com/saysohq/sayso/core"

// Verdict is what an ask means for the caller right now.
type Verdict string

// The verdicts.
const (
	VerdictAllow Verdict = "allow" // Claim the grant, then run.
	VerdictAsk   Verdict = "ask"   // A person is asked: wait.
	VerdictDeny  Verdict = "deny"  // Do not run (R20).
)

// VerdictOf reads the verdict from a record: only "allowed" allows, and every
// other terminal status is a denial (R20).
func VerdictOf(s core.Status) Verdict {
	switch s {
	case core.StatusPending:
		return VerdictAsk
	case core.StatusAllowed:
		return VerdictAllow
	case core.StatusDenied, core.StatusExpired, core.StatusCancelled:
	}
	return VerdictDeny
}

// Asked is the answer to an ask. A call that only reads has no approval: it is
// unrecorded, with the verdict allow.
type Asked struct {
	Verdict    Verdict  `json:"verdict" enum:"allow,ask,deny"`
	Unrecorded bool     `json:"unrecorded,omitempty" doc:"The call only looks things up: it may run, there is no record of it and nothing to claim."`
	Approval   Approval `json:"approval,omitzero" doc:"Left out for a call that is unrecorded."`
	AgentText  string   `json:"agent_text,omitempty" doc:"What to tell the agent."`
	Hint       string   `json:"hint,omitempty" doc:"What to do where nobody can be asked, or can be asked yet."`
}

// Answer is one approval, as GET /v1/approvals/{id} and the calls of the grant
// return it.
type Answer struct {
	Verdict   Verdict  `json:"verdict" enum:"allow,ask,deny"`
	Approval  Approval `json:"approval"`
	AgentText string   `json:"agent_text,omitempty" doc:"What to tell the agent; for the runtime that asked."`
}

// List is one page of GET /v1/approvals, newest first.
type List struct {
	Approvals  []Approval  `json:"approvals" nullable:"false"`
	Truncated  bool        `json:"truncated" doc:"Older approvals match too: ask again with the cursor."`
	Cursor     string      `json:"cursor,omitempty" doc:"Opaque; holds for the same filters and caller."`
	Corrupt    int         `json:"corrupt,omitempty" doc:"Damaged records that were left out; admins only."`
	ServerTime core.Millis `json:"server_time"`
}

// Detail is the redacted full text of an action, for people.
type Detail struct {
	Approval     Approval `json:"approval"`
	Text         string   `json:"text"`
	OmittedBytes int64    `json:"omitted_bytes" doc:"Bytes that were not kept; an allow then needs partial_view."`
	View         string   `json:"view,omitempty" doc:"Present it with an allow: it proves that this session was shown the text."`
}

// Approval is the projection of one record. Which groups of fields are filled
// depends on who reads: everybody gets the first part; the runtime that asked
// gets Own; admins get Audit (R156, K24).
type Approval struct {
	ID               string            `json:"id"`
	Kind             core.Kind         `json:"kind"`
	Status           core.Status       `json:"status"`
	Origin           core.Origin       `json:"origin" doc:"ask: a person was asked. auto: a recorded policy allowed it."`
	Runtime          string            `json:"runtime"`
	Agent            string            `json:"agent,omitempty"`
	Group            string            `json:"group,omitempty"`
	Class            core.Class        `json:"class"`
	Risk             string            `json:"risk,omitempty"`
	Presentation     core.Presentation `json:"presentation"`
	Operation        Operation         `json:"operation"`
	ArgumentsHash    string            `json:"arguments_hash"`
	ActionHash       string            `json:"action_hash"`
	Fingerprint      string            `json:"fingerprint"`
	DetailBytes      int64             `json:"detail_bytes"`
	DetailOmitted    int64             `json:"detail_omitted,omitempty"`
	AllowedDecisions []core.Decision   `json:"allowed_decisions" nullable:"false"`
	AlwaysOffer      *core.AlwaysOffer `json:"always_offer,omitempty" doc:"The rule that allow-always would make; left out when none is offered."`
	Continuation     core.Continuation `json:"continuation"`
	Waits            bool              `json:"waits" doc:"Something waits for the answer; false for drafts."`
	Generic          bool              `json:"generic" doc:"The presentation lists arguments, because nothing better is known of the tool."`
	PolicyID         string            `json:"policy_id,omitempty"`
	StickyOf         string            `json:"sticky_of,omitempty" doc:"The declined approval that this denial repeats."`
	Supersedes       string            `json:"supersedes,omitempty"`

	Decision    core.Decision `json:"decision,omitempty"`
	Reason      core.Reason   `json:"terminal_reason,omitempty"`
	Note        string        `json:"note,omitempty"`
	ByMessage   bool          `json:"by_message,omitempty"`
	PartialView bool          `json:"partial_view,omitempty"`
	ResolvedAt  core.Millis   `json:"resolved_at,omitempty"`
	Resolver    *Resolver     `json:"resolver,omitempty"`

	Execution    core.Execution  `json:"execution"`
	ClaimBy      core.Millis     `json:"claim_by,omitempty"`
	ConsumedAt   core.Millis     `json:"consumed_at,omitempty"`
	OutcomeBy    core.Millis     `json:"outcome_by,omitempty"`
	OutcomeAt    core.Millis     `json:"outcome_at,omitempty"`
	OutcomeError string          `json:"outcome_error,omitempty"`
	VoidReason   core.VoidReason `json:"void_reason,omitempty"`

	Aftermath *Aftermath `json:"aftermath,omitempty" doc:"What people did about the outcome."`

	CreatedAt    core.Millis `json:"created_at"`
	ExpiresAt    core.Millis `json:"expires_at"`
	UpdatedAt    core.Millis `json:"updated_at"`
	Revision     int64       `json:"revision"`
	CardRevision int64       `json:"card_revision"`
	ServerTime   core.Millis `json:"server_time"`

	URLPath string `json:"url_path" doc:"Path of the page."`
	URL     string `json:"url,omitempty" doc:"Address of the page; only with a configured public address."`

	Deliveries []Delivery `json:"deliveries,omitempty" nullable:"false" doc:"Where it was shown; left out of lists."`

	Own   *Own   `json:"own,omitempty" doc:"For the runtime that asked."`
	Audit *Audit `json:"audit,omitempty" doc:"For admins."`
}

// Operation names what would be done.
type Operation struct {
	ID   string `json:"id,omitempty"`
	Type string `json:"type,omitempty"`
	Tool string `json:"tool"`
	Name string `json:"operation,omitempty"`
}

// Resolver says who brought the answer, by display name only (K24).
type Resolver struct {
	Kind    core.ResolverKind `json:"kind"`
	Name    string            `json:"name,omitempty"`
	Surface core.Surface      `json:"surface,omitempty"`
}

// Aftermath is what people did about an outcome, by display name only (K24).
type Aftermath struct {
	Dismissed  *Act `json:"dismissed,omitempty" doc:"Somebody has seen that the action may have happened."`
	AskedAgain *Act `json:"asked_again,omitempty" doc:"Somebody asks for a new request."`
}

// Act is one thing that a person did.
type Act struct {
	Name string      `json:"name"`
	At   core.Millis `json:"at"`
}

// Own is what only the runtime that asked reads about its request.
type Own struct {
	IdempotencyKey string   `json:"idempotency_key,omitempty"`
	SessionKey     string   `json:"session_key,omitempty"`
	RunID          string   `json:"run_id,omitempty"`
	FrameID        string   `json:"frame_id,omitempty"`
	CausedBy       string   `json:"caused_by,omitempty"`
	Audience       []string `json:"audience,omitempty" nullable:"false"`
	Instance       string   `json:"instance,omitempty"`
	Epoch          int64    `json:"epoch,omitempty"`
	CallbackURL    string   `json:"callback_url,omitempty"`
}

// Audit is what only admins read.
type Audit struct {
	RequestedBy string           `json:"requested_by,omitempty"`
	Reviewers   []string         `json:"reviewers,omitzero" nullable:"false"`
	ResolverID  string           `json:"resolver_id,omitempty"`
	ConsumedBy  string           `json:"consumed_by,omitempty"`
	ClassSource string           `json:"class_source,omitempty"`
	Trail       []core.TrailStep `json:"trail,omitempty" nullable:"false"`
	DeliveryID  string           `json:"delivery_id,omitempty" doc:"The card that was answered."`
}

// Delivery sums up one card. It holds no address and no person: those are the
// ledger's, for admins.
type Delivery struct {
	Channel core.Surface         `json:"channel"`
	State   core.DeliveryState   `json:"state"`
	Outcome core.DeliveryOutcome `json:"outcome,omitempty"`
	Class   core.FailureClass    `json:"class,omitempty" doc:"Class of the last failure."`
	Current bool                 `json:"current" doc:"The message shows the record as it is."`
}
