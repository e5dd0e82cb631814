package api

import "github.com/saysohq/sayso/core"

// Agents is the answer to GET /v1/agents.
type Agents struct {
	Agents []Agent `json:"agents" nullable:"false"`
}

// Agent is what people set for an agent of a runtime.
type Agent struct {
	Runtime       string      `json:"runtime"`
	Agent         string      `json:"agent" doc:"Empty for calls that name none; a hyphen in a path."`
	Mode          string      `json:"mode" doc:"What is in force for its next call: before-anything-outside, before-everything or only-money-and-deletes."`
	Default       bool        `json:"default" doc:"Nobody chose the mode: it is that of the tables."`
	ModeRevision  int64       `json:"mode_revision" doc:"What a change of the mode is compared with."`
	Paused        bool        `json:"paused" doc:"Its grants are not handed out."`
	PausedAt      core.Millis `json:"paused_at,omitempty"`
	PausedBy      string      `json:"paused_by,omitempty" doc:"A display name."`
	PauseRevision int64       `json:"pause_revision" doc:"What pausing and resuming are compared with."`
	Rules         int         `json:"rules" doc:"Always-allow rules and switches for money that cover something now."`
	Generation    int64       `json:"generation" doc:"Rises with every change."`
	UpdatedAt     core.Millis `json:"updated_at,omitempty"`
	ResetAt       core.Millis `json:"reset_at,omitempty" doc:"When its present life began; absent in the first."`
}

// SetMode is the body of PUT /v1/runtimes/{runtime}/agents/{agent}/mode.
type SetMode struct {
	Mode     string `json:"mode" doc:"before-anything-outside (also autonomous, auto, monitored), before-everything (also strict, prompt, manual, tools), only-money-and-deletes, or default."`
	Revision int64  `json:"revision" minimum:"0" doc:"The mode_revision that was seen; 0 where no mode was ever chosen."`
}

// SetPaused is the body of pause and resume.
type SetPaused struct {
	Revision int64 `json:"revision" minimum:"0" doc:"The pause_revision that was seen; 0 where it was never paused."`
}

// Rules is the answer to GET /v1/rules.
type Rules struct {
	Rules      []Rule      `json:"rules" nullable:"false"`
	Cursor     string      `json:"cursor,omitempty" doc:"For the next page; absent on the last."`
	ServerTime core.Millis `json:"server_time"`
}

// Rule is what an agent may do without asking: an always-allow rule, or a switch for
// money.
type Rule struct {
	ID          string      `json:"id"`
	Runtime     string      `json:"runtime"`
	Agent       string      `json:"agent" doc:"Empty for calls that name none."`
	Label       string      `json:"label" doc:"What it covers, in words."`
	Money       bool        `json:"money" doc:"A switch for a whole tool, money and deletes included."`
	Class       core.Class  `json:"class" doc:"It covers nothing stricter."`
	Tool        string      `json:"tool"`
	Operation   string      `json:"operation,omitempty"`
	Scope       string      `json:"scope" enum:"recipient,host,operation,tool"`
	Value       string      `json:"value,omitempty"`
	State       string      `json:"state" enum:"live,removed,expired,used-up"`
	PolicyID    string      `json:"policy_id" doc:"What grants under it are recorded by."`
	ApprovalID  string      `json:"approval_id,omitempty" doc:"Whose card it was made from."`
	CreatedBy   string      `json:"created_by,omitempty" doc:"A display name."`
	CreatedAt   core.Millis `json:"created_at"`
	ExpiresAt   core.Millis `json:"expires_at,omitempty"`
	Uses        int64       `json:"uses"`
	UsesAllowed int64       `json:"uses_allowed,omitempty" doc:"Absent for any number."`
	LastUsedAt  core.Millis `json:"last_used_at,omitempty"`
	RemovedAt   core.Millis `json:"removed_at,omitempty"`
	RemovedBy   string      `json:"removed_by,omitempty" doc:"A display name; absent where a restored backup ended it."`
}

// SwitchMoney is the body of POST /v1/runtimes/{runtime}/agents/{agent}/money.
type SwitchMoney struct {
	Tool      string `json:"tool" doc:"As the runtime spells it, 1 to 200 bytes; everything that it does is allowed, spending and deleting included."`
	ExpiresIn string `json:"expires_in,omitempty" doc:"A Go duration; left out, until somebody removes it."`
	Uses      int64  `json:"uses,omitempty" minimum:"0" doc:"How many calls it is good for; left out, any number."`
}

// History is the answer to GET /v1/runtimes/{runtime}/agents/{agent}/history.
type History struct {
	Changes []SettingsChange `json:"changes" nullable:"false"`
}

// SettingsChange is one change of what people set for an agent.
type SettingsChange struct {
	Kind       core.ChangeKind `json:"kind" enum:"mode-set,rule-made,rule-removed,rule-spent,restored,paused,resumed,reset,deleted"`
	RuleID     string          `json:"rule_id,omitempty"`
	Before     string          `json:"before,omitempty" doc:"The mode before; absent for the default."`
	After      string          `json:"after,omitempty" doc:"The mode since; absent for the default."`
	By         string          `json:"by,omitempty" doc:"A display name."`
	At         core.Millis     `json:"at"`
	Generation int64           `json:"generation"`
}

// Reopened is the answer to POST /v1/approvals/{id}/reopen.
type Reopened struct {
	ApprovalID string      `json:"approval_id" doc:"The decline that was re-opened."`
	By         string      `json:"by" doc:"A display name: whoever was first."`
	At         core.Millis `json:"at"`
}
