package core

import "context"

// AgentLives are the ways in which a person stops an agent: for a while, with a new
// start, or for good.
type AgentLives interface {
	// SetPaused pauses or resumes an agent by compare-and-set (R139). While it is paused
	// no claim of its grants succeeds (ErrPaused), on any replica, from the moment at
	// which this returns; everything else goes on: questions are recorded, answered and
	// expire. The deadline of a grant stands still meanwhile: resuming moves it on by the
	// time of the pause. Setting what it is already changes nothing, whatever the revision. Errors:
	// ErrConflict with the current settings, ErrNotFound (the guarded person lost the
	// right).
	SetPaused(ctx context.Context, c SetPaused) (Agent, error)
	// ResetAgent ends the life of an agent (R141, R143): the runs in which something of it
	// is open are aborted, its pending rows are cancelled and its unclaimed grants voided.
	// Mode, rules, pause and owners stay. An idempotency key whose row was cancelled so
	// asks again in the next life. Errors: ErrNotFound (the guarded person lost the right).
	ResetAgent(ctx context.Context, c EndAgent) (Agent, []Hint, error)
	// DeleteAgent resets an agent and forgets what was set for it (R75): its rules are
	// removed, its mode is the default, and it is not paused. Owners and generation stay:
	// if it asks again it is the same agent with nothing set. Errors: ErrNotFound (the
	// guarded person lost the right).
	DeleteAgent(ctx context.Context, c EndAgent) (Agent, []Hint, error)
}

// SetPaused is the command of the same name.
type SetPaused struct {
	Runtime  string
	Agent    string
	Paused   bool
	Revision int64  // The PauseRevision that the change was made from.
	By       string // The person.
	Name     string // Their name, for the history.
	Guard    Guard
}

// EndAgent is the command of ResetAgent and DeleteAgent.
type EndAgent struct {
	Runtime string
	Agent   string
	By      string // The person; required.
	Name    string // Their name, for the cards and the history.
	Surface Surface
	Guard   Guard
}

// ListedAgent is an agent in a list.
type ListedAgent struct {
	Agent
	Rules int // That cover something now, switches for money included.
}

// AgentQuery filters a list of agents; empty fields do not filter.
type AgentQuery struct {
	Runtime string
	// Viewer restricts the list to what this person may see: admins see all, others
	// what they own.
	Viewer *Principal
}

// AgentHint is what a hint says in place of an approval's id when the settings or the
// rules of an agent changed. No approval has such an id: a UUID holds no slash, and a
// given id none before its colon.
func AgentHint(runtime, agent string) string { return "agent/" + runtime + "/" + agent }
