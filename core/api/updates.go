package api

import "github.com/saysohq/sayso/core"

// ClaimUpdates is the body of POST /v1/agents/{key}/updates/claim.
type ClaimUpdates struct {
	Token string `json:"claim_token" doc:"Fresh randomness, 16 to 128 bytes. The same token again is the same batch."`
	Limit int    `json:"limit,omitempty" minimum:"1" maximum:"100" doc:"Default 20."`
	Lease string `json:"lease,omitempty" doc:"A Go duration from 5s to 10m until what was not acknowledged comes back. Default 1m."`
}

// Updates is a batch of what an agent has not heard of yet, the oldest change first.
type Updates struct {
	Updates     []Update    `json:"updates" nullable:"false"`
	LeasedUntil core.Millis `json:"leased_until,omitempty" doc:"What was not acknowledged until then comes back."`
	More        bool        `json:"more" doc:"Further updates can be claimed now, with another token or after an acknowledgement."`
	ServerTime  core.Millis `json:"server_time"`
}

// Update is one line for the agent, with what its program needs to act on it.
type Update struct {
	Kind       core.UpdateKind `json:"kind" enum:"draft,ask-again" doc:"draft: a draft has its answer, or something became of it. ask-again: a person asks for a new request, which should name this one in supersedes."`
	ApprovalID string          `json:"approval_id"`
	Verdict    Verdict         `json:"verdict" enum:"allow,ask,deny" doc:"allow: claim the grant, then run."`
	Status     core.Status     `json:"status"`
	Execution  core.Execution  `json:"execution"`
	Revision   int64           `json:"revision"`
	ActionHash string          `json:"action_hash"`
	Operation  Operation       `json:"operation"`
	RunID      string          `json:"run_id,omitempty"`
	SessionKey string          `json:"session_key,omitempty"`
	ChangedAt  core.Millis     `json:"changed_at"`
	Text       string          `json:"text" doc:"What to tell the agent: one line."`
}

// AckUpdates is the body of POST /v1/agents/{key}/updates/ack.
type AckUpdates struct {
	Token string `json:"claim_token" doc:"The token of the claim."`
}

// AckedUpdates is the answer to it.
type AckedUpdates struct {
	Acked int `json:"acked" doc:"How many updates that ends; 0 for a token that holds nothing any more."`
}
