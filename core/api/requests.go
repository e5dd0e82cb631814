package api

import (
	"encoding/json"

	"github.com/saysohq/sayso/core"
)

// Ask is the body of POST /v1/approvals.
type Ask struct {
	ID             string            `json:"id,omitempty" doc:"The caller's own id, 1 to 200 bytes; the record's id is then <runtime>:<id>. Usually an idempotency key is the better choice."`
	IdempotencyKey string            `json:"idempotency_key,omitempty" doc:"At most 256 bytes. The same key with the same content is the same request; with other content it is a conflict."`
	Kind           core.Kind         `json:"kind" enum:"exec,plugin" doc:"exec: a command that would run. plugin: a tool call or any other gate."`
	Title          string            `json:"title,omitempty" doc:"What a person reads first."`
	Agent          string            `json:"agent,omitempty" doc:"Which agent of the runtime asks; its owners decide."`
	Operation      AskOperation      `json:"operation"`
	Risk           string            `json:"risk,omitempty" doc:"Shown, decides nothing."`
	Continuation   core.Continuation `json:"continuation,omitempty" enum:"live,durable,draft" doc:"What holds the parked work. Default live."`
	ExpiresIn      string            `json:"expires_in,omitempty" doc:"A Go duration from 1s to 168h. Default 30m for live, 168h for durable and draft."`
	SessionKey     string            `json:"session_key,omitempty"`
	RunID          string            `json:"run_id,omitempty"`
	FrameID        string            `json:"frame_id,omitempty"`
	Group          string            `json:"group,omitempty" doc:"Joins a batch."`
	CausedBy       string            `json:"caused_by,omitempty"`
	Audience       []string          `json:"audience,omitempty" nullable:"false" doc:"At most 64 session keys that are told; gives no right to decide."`
	Instance       string            `json:"instance,omitempty" doc:"A registered instance of the runtime, together with its epoch."`
	Epoch          int64             `json:"epoch,omitempty"`
	// Reviewers is nil when not given, and empty for "nobody but admins".
	Reviewers        []string        `json:"reviewers,omitzero" nullable:"false" doc:"Narrows who may decide to these people; an empty list leaves the admins only."`
	ExcludeRequester bool            `json:"exclude_requester,omitempty" doc:"The person whom the token acts for may not decide."`
	RequirePush      bool            `json:"require_push,omitempty" doc:"The page alone does not count as a way to ask."`
	Supersedes       string          `json:"supersedes,omitempty" doc:"The id of an approval of this runtime that this one replaces."`
	CallbackURL      string          `json:"callback_url,omitempty" doc:"Is called, with ids only, whenever the record has changed; its host must be on the runtime's list. At most 2048 bytes."`
	Details          json.RawMessage `json:"details,omitempty" doc:"A JSON object of non-sensitive display metadata."`
}

// AskOperation is the action itself.
type AskOperation struct {
	ID        string          `json:"id,omitempty" doc:"Stable id of the call, shared with later tool events."`
	Type      string          `json:"type,omitempty" doc:"Dotted type."`
	Tool      string          `json:"tool" doc:"Name of the tool."`
	Name      string          `json:"operation,omitempty" doc:"Operation within the tool."`
	Summary   string          `json:"summary,omitempty"`
	Arguments json.RawMessage `json:"arguments" doc:"The exact arguments, any JSON. Hashed and projected, then forgotten."`
}

// Resolve is the body of POST /v1/approvals/{id}/resolve.
type Resolve struct {
	Kind          core.Kind     `json:"kind" enum:"exec,plugin"`
	Decision      core.Decision `json:"decision" enum:"allow-once,allow-always,deny"`
	OperationID   string        `json:"operation_id,omitempty" doc:"Compared when given."`
	ArgumentsHash string        `json:"arguments_hash,omitempty" doc:"The hash of what was shown. Required to allow; never needed to deny."`
	Note          string        `json:"note,omitempty" doc:"Told to the agent with a denial. At most 1000 characters."`
	DecisionKey   string        `json:"decision_key,omitempty" doc:"Makes a retry with a note harmless. At most 256 bytes."`
	View          string        `json:"view,omitempty" doc:"The view of GET /v1/approvals/{id}/detail: proof that this session was shown what the projection had to cut."`
	PartialView   bool          `json:"partial_view,omitempty" doc:"The person agreed that bytes beyond the kept detail are not shown; only with a view."`
}

// Resolved is the answer to Resolve and Cancel. Whoever lost the race gets
// applied false and the record with the winner (R27).
type Resolved struct {
	Applied    bool     `json:"applied" doc:"This call ended the approval."`
	Idempotent bool     `json:"idempotent" doc:"The same had been decided before."`
	Approval   Approval `json:"approval"`
}

// Claim is the body of POST /v1/approvals/{id}/claim.
type Claim struct {
	ActionHash string `json:"action_hash" doc:"The hash of the action about to run. Another hash voids the grant."`
	Token      string `json:"claim_token" doc:"Fresh randomness of the runner, 16 to 128 bytes, kept in memory. The same token again is the same success."`
	Instance   string `json:"instance,omitempty"`
	Epoch      int64  `json:"epoch,omitempty"`
}

// Report is the body of POST /v1/approvals/{id}/outcome.
type Report struct {
	Token   string         `json:"claim_token,omitempty" doc:"The token of the claim; left out only to report unknown."`
	Outcome core.Execution `json:"outcome" enum:"succeeded,failed,unknown"`
	Error   string         `json:"error,omitempty" doc:"At most 300 characters are kept."`
}

// Register is the body of PUT /v1/runtimes/self/instances/{name}.
type Register struct {
	BootID string            `json:"boot_id" doc:"Random, 16 to 256 bytes, fresh for every start of the instance."`
	Facts  map[string]string `json:"facts,omitempty" doc:"What the runtime attests of this start, such as sandbox, network, search_backend, browser_backend: at most 16, names and values of at most 200 bytes. They replace those given before."`
}

// Instance is the answer to Register.
type Instance struct {
	Name  string `json:"name"`
	Epoch int64  `json:"epoch"`
}

// Reply is the body of POST /v1/runs/{run}/reply: the person wrote instead of
// answering (R133).
type Reply struct {
	MessageID string `json:"message_id" doc:"The client's id of the message; repeating it changes nothing."`
	Text      string `json:"text"`
}

// Replied is the answer to Reply (R137).
type Replied struct {
	Declined Declined        `json:"declined"`
	Delivery MessageDelivery `json:"delivery" enum:"now,queued" doc:"now: a turn that waits hears the message as its answer. queued: whoever asked hears it when they look again."`
}

// MessageDelivery is when a message reaches the agent.
type MessageDelivery string

// When a message reaches the agent.
const (
	DeliveredNow    MessageDelivery = "now"
	DeliveredQueued MessageDelivery = "queued"
)

// Declined names what a message declined.
type Declined struct {
	RunID       string   `json:"run_id"`
	ApprovalIDs []string `json:"approval_ids" nullable:"false"`
}

// Run is the answer to GET /v1/runs/{run} and to an abort.
type Run struct {
	ID            string      `json:"id"`
	AbortedAt     core.Millis `json:"aborted_at,omitempty"`
	Pending       int         `json:"pending"`
	AcceptsReply  bool        `json:"accepts_reply" doc:"An approval waits in a turn: a message may answer it."`
	WaitingMillis core.Millis `json:"waiting_ms" doc:"Time with an approval pending that waits in a turn, up to now; it never counts against the run's own timeout."`
	LastDecidedAt core.Millis `json:"last_decided_at,omitempty" doc:"A person's latest decision, automatic ones ignored."`
	ServerTime    core.Millis `json:"server_time"`
}
