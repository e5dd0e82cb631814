package policy

import (
	"context"

	"github.com/saysohq/sayso/core"
)

// Request is what an evaluation looks at. Nothing in it is a caller's opinion on
// policy: class, mode and rules come from the operator's side alone (R60).
type Request struct {
	Runtime      string
	Agent        string
	Kind         core.Kind
	Type         string
	Tool         string
	Operation    string
	Arguments    []byte // JSON; read, never kept.
	Continuation core.Continuation
}

// Answer is what happens to the call.
type Answer string

// The answers.
const (
	Ask  Answer = "ask"  // A person is asked.
	Auto Answer = "auto" // It runs under a recorded policy.
)

// Verdict is the result of an evaluation.
type Verdict struct {
	Answer      Answer
	Class       core.Class
	ClassSource string // Where the class came from: "default".
	AlwaysOffer *core.AlwaysOffer
	PolicyID    string // Set with Auto.
	Generation  int64  // Of the rules that were read; the insert is guarded by it.
	Trail       []core.TrailStep
}

// Offered lists the decisions that the card may offer under this verdict.
func (v Verdict) Offered() []core.Decision {
	if v.AlwaysOffer != nil {
		return []core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways, core.DecisionDeny}
	}
	return []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}
}

// AskAlways is the posture of a deployment without classes, modes and rules:
// every call is judged "send" and asks.
type AskAlways struct{}

// Evaluate implements the evaluation of this posture. It returns no error.
func (AskAlways) Evaluate(context.Context, Request) (Verdict, error) {
	return Verdict{
		Answer:      Ask,
		Class:       core.ClassSend,
		ClassSource: "default",
		Trail: []core.TrailStep{
			{Step: "class", Matched: "default", Verdict: string(core.ClassSend)},
			{Step: "mode", Matched: "before-anything-outside", Verdict: string(Ask)},
		},
	}, nil
}
