package api

import (
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// Explain is the body of POST /v1/policy/explain.
type Explain struct {
	Runtime string `json:"runtime" doc:"The runtime whose call it would be."`
	Request Ask    `json:"request" doc:"The body that the runtime would ask with. Nothing is asked."`
}

// Explanation is the answer to Explain: all ten steps, what matched, and what would
// have to change.
type Explanation = policy.Explanation

// Lint is the body of POST /v1/policy/lint.
type Lint struct {
	Runtime string         `json:"runtime" doc:"The runtime that declares these tools."`
	Tools   []DeclaredTool `json:"tools" nullable:"false" maxItems:"5000"`
}

// DeclaredTool is a tool as its runtime declares it.
type DeclaredTool = policy.DeclaredTool

// Linted is the answer to Lint.
type Linted struct {
	Findings []PolicyFinding `json:"findings" nullable:"false"`
}

// PolicyFinding is a fault of tables or rules, or something worth a look.
type PolicyFinding struct {
	Code  string `json:"code" doc:"Stable, such as unlisted-tool."`
	Table string `json:"table,omitempty" doc:"starter, operator or organisation."`
	At    string `json:"at,omitempty"`
	Tool  string `json:"tool,omitempty"`
	Value string `json:"value,omitempty"`
	Rule  string `json:"rule,omitempty" doc:"The id of the rule that it is about."`
	Text  string `json:"text"`
}

// PolicyFindings are the findings of a policy as documents.
func PolicyFindings(found []policy.Finding) []PolicyFinding {
	out := make([]PolicyFinding, len(found))
	for i, f := range found {
		out[i] = PolicyFinding{Code: string(f.Code), Table: f.Table, At: f.At, Tool: f.Tool, Value: f.Value, Rule: f.Rule, Text: f.Text}
	}
	return out
}

// PolicyStatus is the answer to GET /v1/policy and POST /v1/policy/adopt.
type PolicyStatus struct {
	Digest  string      `json:"digest" doc:"Of the tables that this replica has."`
	InForce string      `json:"in_force" doc:"The digest by which the whole deployment judges."`
	Number  int64       `json:"number" doc:"How often that has changed."`
	By      string      `json:"by" doc:"The replica whose files they are."`
	At      core.Millis `json:"at"`
	Agrees  bool        `json:"agrees" doc:"This replica judges by the tables in force; otherwise it asks about everything."`
	Refused string      `json:"refused,omitempty" doc:"What is wrong with the newest files, where they were refused."`
}
