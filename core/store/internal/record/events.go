package record

import (
	"github.com/saysohq/sayso/core"
)

// payload is what an event tells: ids, states, hashes and, where the question is
// asked, the bounded projection. Never the detail, a note, a token or the ids of
// people (R7, R156, R169).
type payload struct {
	ID           string             `json:"id"`
	Kind         core.Kind          `json:"kind"`
	Runtime      string             `json:"runtime"`
	Status       core.Status        `json:"status"`
	Decision     core.Decision      `json:"decision,omitempty"`
	Reason       core.Reason        `json:"reason,omitempty"`
	ResolverKind core.ResolverKind  `json:"resolver_kind,omitempty"`
	Resolver     string             `json:"resolver,omitempty"`
	Surface      core.Surface       `json:"surface,omitempty"`
	PolicyID     string             `json:"policy_id,omitempty"`
	Execution    core.Execution     `json:"execution"`
	VoidReason   core.VoidReason    `json:"void_reason,omitempty"`
	OperationID  string             `json:"operation_id,omitempty"`
	ActionHash   string             `json:"action_hash"`
	Agent        string             `json:"agent,omitempty"`
	SessionKey   string             `json:"session_key,omitempty"`
	RunID        string             `json:"run_id,omitempty"`
	FrameID      string             `json:"frame_id,omitempty"`
	Group        string             `json:"group,omitempty"`
	Supersedes   string             `json:"supersedes,omitempty"`
	Revision     int64              `json:"revision"`
	ExpiresAt    core.Millis        `json:"expires_at"`
	Presentation *core.Presentation `json:"presentation,omitempty"`
}

// event records a change in the transaction of the change (R168). Its parents are
// the caller's own cause and the approval's event before it (R170). An empty payload
// is made from the row.
func (t *tx) event(a *core.Approval, e core.EventType, payload string) (err error) {
	if payload == "" {
		if payload, err = EventBody(a); err != nil {
			return err
		}
	}
	if e.Ends() {
		t.ended = append(t.ended, *a)
	}
	_, err = t.Exec(t.rows.InsertEvent, a.ID, a.Revision, string(e), a.Runtime, a.CausedBy, int64(t.now), payload)
	if err != nil {
		return err
	}
	return t.beside(a, e)
}

// EventBody is the payload of the event that brought a to where it is, as JSON.
// Errors: core.ErrInvalid.
func EventBody(a *core.Approval) (string, error) {
	p := payload{
		ID: a.ID, Kind: a.Kind, Runtime: a.Runtime, Status: a.Status,
		Decision: a.Decision, Reason: a.Reason, ResolverKind: a.ResolverKind, Resolver: a.ResolverName,
		Surface: a.Surface, PolicyID: a.PolicyID, Execution: a.Execution, VoidReason: a.VoidReason,
		OperationID: a.Operation.ID, ActionHash: a.ActionHash,
		Agent: a.Agent, SessionKey: a.SessionKey, RunID: a.RunID, FrameID: a.FrameID, Group: a.Group,
		Supersedes: a.Supersedes, Revision: a.Revision, ExpiresAt: a.ExpiresAt,
	}
	if a.Revision == 1 {
		p.Presentation = &a.Presentation
	}
	body, err := encodeJSON(p)
	if err != nil {
		return "", core.Invalid("presentation", "must be JSON of its type")
	}
	return *body, nil
}
