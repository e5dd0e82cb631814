package record

import (
	"strings"

	"github.com/saysohq/sayso/core"
)

// What a change of an approval means for its runtime, written in the transaction of the
// change: that a run waits or waits no more (R31), that an agent has something to hear
// of (R130), that a callback is to be called (R129). Most approvals want none of it, and
// all of it is known from columns that never change.
const (
	// The condition behind ?1 is the store's own, where it cannot know whether it was its
	// change that was made.
	sqlUpdate = `INSERT INTO updates (approval_id, kind, runtime, agent, revision, changed_at)
		SELECT a.id, CAST(?2 AS text), a.runtime, a.agent, a.revision, a.updated_at FROM approvals a WHERE a.id = ?1%s
		ON CONFLICT (approval_id, kind) DO UPDATE SET revision = excluded.revision, changed_at = excluded.changed_at`
	sqlNudge = `INSERT INTO nudges (approval_id, revision, since, due_at)
		SELECT a.id, a.revision, a.updated_at, a.updated_at FROM approvals a WHERE a.id = ?1%s
		ON CONFLICT (approval_id) DO UPDATE SET revision = excluded.revision, since = excluded.since, due_at = excluded.due_at,
			attempts = 0, last_error = ''`
)

// beside records what a change means for the runtime.
func (t *tx) beside(a *core.Approval, e core.EventType) error {
	if w := WaitEvent(a, e); w != "" {
		body, err := WaitBody(a)
		if err != nil {
			return err
		}
		if _, err := t.Exec(t.rows.InsertEvent, a.ID, a.Revision, string(w), a.Runtime, a.CausedBy, int64(t.now), body); err != nil {
			return err
		}
	}
	for _, s := range Beside(a, e, "") {
		if _, err := t.Exec(s.Query, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

// Beside lists the statements that go with a change, behind the change itself. guard is
// a further condition on the approval, beginning with AND.
func Beside(a *core.Approval, e core.EventType, guard string) []Statement {
	var list []Statement
	if kind := updateOf(a, e); kind != "" {
		list = append(list, Statement{strings.Replace(sqlUpdate, "%s", guard, 1), []any{a.ID, string(kind)}})
	}
	if a.CallbackURL != "" && told(a, e) {
		list = append(list, Statement{strings.Replace(sqlNudge, "%s", guard, 1), []any{a.ID}})
	}
	return list
}

// told reports whether a change is news for the runtime. How a request was answered at
// once stands in the answer to the request, and what the runtime claimed it knows.
func told(a *core.Approval, e core.EventType) bool {
	switch e {
	case core.EventVoided, core.EventOutcome, core.EventAskedAgain:
		return true
	case core.EventAutoGranted, core.EventGranted, core.EventRejected, core.EventExpired, core.EventCancelled:
		return a.Revision > 1
	case core.EventRequested, core.EventConsumed, core.EventDismissed, core.EventWaitStarted, core.EventWaitEnded,
		core.EventSettings:
	}
	return false
}

// updateOf is what the agent is to hear of a change; "" for nothing.
func updateOf(a *core.Approval, e core.EventType) core.UpdateKind {
	switch {
	case e == core.EventAskedAgain:
		return core.UpdateAskAgain
	case a.Continuation == core.ContinuationDraft && told(a, e):
		return core.UpdateDraft
	}
	return ""
}

// WaitEvent is the event of a run that begins or ends to wait with a change; "" for
// none. Every approval that waits in a run has each of them once.
func WaitEvent(a *core.Approval, e core.EventType) core.EventType {
	switch {
	case a.RunID == "" || !a.Continuation.Waits():
		return ""
	case e == core.EventRequested:
		return core.EventWaitStarted
	case e.Ends() && a.Revision > 1:
		return core.EventWaitEnded
	}
	return ""
}

// WaitBody is the payload of such an event: names only. Errors: core.ErrInvalid.
func WaitBody(a *core.Approval) (string, error) {
	body, err := encodeJSON(struct {
		ID         string `json:"id"`
		Runtime    string `json:"runtime"`
		Agent      string `json:"agent,omitempty"`
		SessionKey string `json:"session_key,omitempty"`
		RunID      string `json:"run_id"`
		FrameID    string `json:"frame_id,omitempty"`
	}{a.ID, a.Runtime, a.Agent, a.SessionKey, a.RunID, a.FrameID})
	if err != nil {
		return "", core.Invalid("run_id", "must be text")
	}
	return *body, nil
}
