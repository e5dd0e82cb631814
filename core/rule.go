package core

import "slices"

// Rule is an always-allow rule as a store keeps it: made by a person from a card, or
// as a money switch in the list (R70, R73). Nothing of it changes after it was made
// but its uses and its end.
type Rule struct {
	ID        string // A UUID that was never used before.
	Runtime   string
	Agent     string // Within the runtime; "" for calls that name none.
	Tool      string
	Operation string
	Scope     string // recipient | host | operation | tool.
	Value     string // Normalised; "" for a whole tool.
	Class     Class  // It covers nothing stricter. Money marks a switch for a whole tool.
	Label     string // What it covers, as the card said; at most MaxShortText bytes.

	PolicyDigest     string // Of the tables under which it was made; "" where nobody said.
	PolicyGeneration int64  // Of the agent's rules and mode, with this rule among them.
	ApprovalID       string // Whose card it was made from; "" for a switch.
	CreatedBy        string // The person; never shown to reviewers (R156).
	CreatedName      string // Their name when it happened.
	CreatedAt        Millis
	ExpiresAt        Millis // The moment is already outside (R28); 0: never.
	UsesAllowed      int64  // 0: any number.

	Uses        int64  // Grants that were made under it.
	LastUsedAt  Millis // 0: never.
	RemovedAt   Millis // 0 while nobody has removed it.
	RemovedBy   string // The person; "" where a restoration ended it.
	RemovedName string
}

// Live reports whether the rule still covers anything: it was not removed, is not
// expired and not used up.
func (r *Rule) Live(now Millis) bool {
	return r.RemovedAt == 0 && (r.ExpiresAt == 0 || !r.ExpiresAt.Reached(now)) && (r.UsesAllowed == 0 || r.Uses < r.UsesAllowed)
}

// PolicyID is what a grant under the rule is recorded by (K15).
func (r *Rule) PolicyID() string { return RulePolicy + r.ID }

// RulePolicy begins the policy of every grant that a rule made; the rule's id
// follows.
const RulePolicy = "rule."

// The scopes that a rule can have (R70).
const (
	RuleForRecipient = "recipient"
	RuleForHost      = "host"
	RuleForOperation = "operation"
	RuleForTool      = "tool"
)

// Check refuses a rule that no card and no list can make: money is allowed by a
// switch for a whole tool, which no card makes, and a list makes nothing else (R72,
// R73). Errors: ErrInvalid (a FieldError on "rule").
func (r *Rule) Check() error {
	scopes := []string{RuleForRecipient, RuleForHost, RuleForOperation, RuleForTool}
	switch {
	case r.ID == "", r.Runtime == "", r.CreatedBy == "":
		return Invalid("rule", "must have an id, a runtime and a maker")
	case r.Tool == "":
		return Invalid("rule", "must name a tool")
	case !slices.Contains(scopes, r.Scope):
		return Invalid("rule", "must have the scope recipient, host, operation or tool")
	case (r.Scope == RuleForTool) != (r.Value == ""), r.Scope == RuleForTool && r.Operation != "":
		return Invalid("rule", "must have a value exactly where it is not for a whole tool")
	case !r.Class.Valid(), r.Class == ClassRead:
		return Invalid("rule", "must be about the class write, send or money")
	case (r.Class == ClassMoney) != (r.ApprovalID == ""):
		return Invalid("rule", "must come from a card, or be a switch for money")
	case r.Class == ClassMoney && r.Scope != RuleForTool:
		return Invalid("rule", "about money must be a switch for the whole tool")
	case len(r.Label) > MaxShortText:
		return Invalid("rule", "must have a label of at most %d bytes", MaxShortText)
	case r.UsesAllowed < 0:
		return Invalid("rule", "must have a number of uses that is not negative")
	}
	return nil
}

// ValidMode reports whether m is a mode that an agent can have; "" stands for the
// default of the tables (R51, R53).
func ValidMode(m string) bool {
	switch m {
	case "", ModeBeforeOutside, ModeBeforeEverything, ModeOnlyMoney:
		return true
	}
	return false
}

// The modes as they are stored. What they ask for is the policy's to say.
const (
	ModeBeforeOutside    = "before-anything-outside"
	ModeBeforeEverything = "before-everything"
	ModeOnlyMoney        = "only-money-and-deletes"
)

// Bounds of what a runtime attests when an instance registers (R69).
const (
	MaxFacts     = 16  // Facts per instance.
	MaxFactBytes = 200 // Of a name, and of a value.
)

// MadeFrom reports whether the rule is exactly what the approval's card offered (K7).
func (r *Rule) MadeFrom(a *Approval) bool {
	o := a.AlwaysOffer
	return o != nil && r.ApprovalID == a.ID && r.Runtime == a.Runtime && r.Agent == a.Agent && r.Class == a.Class &&
		r.Tool == o.Tool && r.Operation == o.Operation && r.Scope == o.Scope && r.Value == o.Value && r.Label == o.Label
}
