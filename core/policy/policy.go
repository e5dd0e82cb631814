package policy

import (
	"context"
	"time"

	"github.com/saysohq/sayso/core"
)

// Request is what an evaluation looks at. Nothing in it is a caller's opinion on
// policy: class, mode and rules come from the operator's side alone (R60).
type Request struct {
	Runtime      string // From the token, never from the body.
	Agent        string
	Kind         core.Kind
	Type         string // The caller's own word; it decides nothing.
	Tool         string
	Operation    string
	Arguments    []byte // JSON; read, never kept.
	Continuation core.Continuation
	// ActionHash names the action where declines of it are looked up: from what the
	// service described, never from the caller. The evaluation itself does not read it.
	ActionHash string
	// Instance and Epoch name the boot whose facts count; they were registered, and the
	// insert checks that they are current. "" for a call without one, and without facts.
	Instance string
	Epoch    int64
}

// Inputs are what the evaluation is told about the world. All of it is read on the
// service's side under one generation of the rules, and nothing of it comes from
// the request.
type Inputs struct {
	Now        core.Millis // The deployment's time.
	Generation int64       // Of the rules and modes that were read; the insert is guarded by it.
	Mode       Mode        // The agent's; "" where it has none: the default of the tables (R53).
	Facts      Facts       // Attested by the runtime's registration.
	Decline    *Decline    // A person's newest explicit decline of the same action; nil for none.
	Rules      *Rules      // Of the runtime, or of all; nil for none.
	// TablesDigest is that of the tables in force in the whole deployment; "" where
	// nobody has put any. An Evaluator with others asks.
	TablesDigest string
	// Unreadable names what could not be read ("rules", "mode"): the call then asks
	// (R59), whatever it is. "" when all was read.
	Unreadable string
}

// Decline is a person's explicit no to the same action by the same agent. One that a
// person has re-opened is not given.
type Decline struct {
	Approval string      // The declined approval.
	At       core.Millis // When it was declined.
}

// Answer is what happens to the call.
type Answer string

// The answers.
const (
	Ask   Answer = "ask"   // A person is asked.
	Auto  Answer = "auto"  // It runs under a recorded policy.
	Allow Answer = "allow" // It runs; it only reads, and leaves no record but a count.
	Deny  Answer = "deny"  // A person has just declined it: the record points there.
)

// Verdict is the result of an evaluation.
type Verdict struct {
	Answer      Answer
	Class       core.Class
	ClassSource string // What the class came from: a table, "unlisted", or a guess from the name.
	AlwaysOffer *core.AlwaysOffer
	PolicyID    string           // Set with Auto.
	RuleID      string           // Set with Auto where a rule allowed it: the insert counts its use.
	StickyOf    string           // Set with Deny: the declined approval.
	Generation  int64            // Of the rules that were read; the insert is guarded by it.
	Digest      string           // Of the tables.
	Trail       []core.TrailStep // The steps that were taken; none with Allow, which leaves no record.
}

// Offered lists the decisions that the card may offer under this verdict (R79).
func (v Verdict) Offered() []core.Decision {
	if v.AlwaysOffer != nil {
		return []core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways, core.DecisionDeny}
	}
	return []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}
}

// Policy is a set of tables, compiled. It never changes; a new set is a new Policy.
// The nil Policy is an unreadable one: everything asks.
type Policy struct {
	digest string
	mode   Mode
	sticky time.Duration

	tools    listing             // The starter's and the operator's word.
	starter  listing             // The starter's alone: the ground under a Force.
	floors   listing             // The organisation's.
	hints    map[string][]*entry // By skeleton: for names that come close to a listed one.
	always   map[string]string   // Step 1: skeleton of a tool to the name that listed it.
	servers  map[serverKey]*Server
	prefixes []prefix
	auto     []autoPolicy
	words    map[string]struct{}
	programs map[string][]program
	forces   []force
}

// Digest identifies the tables, "sha256:" and 64 hex digits: two replicas with the
// same digest judge alike. "" for the nil Policy.
func (p *Policy) Digest() string {
	if p == nil {
		return ""
	}
	return p.digest
}

// DefaultMode is the mode of agents that have none of their own (R53).
func (p *Policy) DefaultMode() Mode {
	if p == nil {
		return ModeEverything
	}
	return p.mode
}

// StickyWindow is how long a decline answers the same action again; 0: it does not.
// Nobody needs to look for declines that are older.
func (p *Policy) StickyWindow() time.Duration {
	if p == nil {
		return 0
	}
	return p.sticky
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
			{Step: "mode", Matched: string(ModeOutside), Verdict: string(Ask)},
		},
	}, nil
}
