package api

// Problem is the body of every error: RFC 9457 with a stable code (core.CodeOf)
// and, where fields are at fault, the field and the rule. It never repeats a
// value of the request. Without a type member it is of the type about:blank.
type Problem struct {
	Title     string    `json:"title" doc:"The phrase of the status."`
	Status    int       `json:"status"`
	Code      string    `json:"code" doc:"Stable; decide by this."`
	Detail    string    `json:"detail,omitempty" doc:"One sentence about the code."`
	RequestID string    `json:"request_id,omitempty"`
	Errors    []Fault   `json:"errors,omitempty" nullable:"false"`
	Approval  *Approval `json:"approval,omitempty" doc:"On a conflict: the record as it is."`
	Agent     *Agent    `json:"agent,omitempty" doc:"On a conflict: the settings as they are."`
	Rule      *Rule     `json:"rule,omitempty" doc:"On a conflict: the switch that is on already."`
	AgentText string    `json:"agent_text,omitempty" doc:"On a refused claim or report: what to tell the agent; for the runtime that asked."`
}

// Fault is one field and the rule that it broke.
type Fault struct {
	Field string `json:"field" doc:"Path of the field, such as operation.tool, or query.limit."`
	Rule  string `json:"rule"`
}
