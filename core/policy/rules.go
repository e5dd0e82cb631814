package policy

import (
	"cmp"
	"slices"

	"github.com/saysohq/sayso/core"
)

// Rule is an always-allow rule: made by a person from a card, or as a money switch
// in the list (R70, R73).
type Rule struct {
	ID        string
	Runtime   string
	Agent     string // Within the runtime; "" for calls that name none.
	Tool      string // As the runtime spells it.
	Operation string // "" where the tool has none, and for ScopeTool.
	Scope     Scope
	// Value is the normalised recipient or host; for ScopeOperation the operation, or
	// the hash of one exact command ("sha256:..."); "" for ScopeTool.
	Value string
	// Class is that of the call from whose card the rule was made: it covers nothing
	// stricter. ClassMoney marks a money switch, which has ScopeTool and is never made
	// from a card.
	Class     core.Class
	ExpiresAt core.Millis // 0: never.
	Limited   bool        // Whether UsesLeft counts.
	UsesLeft  int64
}

// PolicyID is what a grant under the rule is recorded by.
func (r *Rule) PolicyID() string { return "rule." + r.ID }

// RuleOf is the rule that allow-always on this approval makes (K7): exactly what its
// card offered. The caller adds the id and, where a person asked for them, expiry
// and number of uses. Errors: ErrNotOffered when the card offered none.
func RuleOf(a *core.Approval) (Rule, error) {
	if a.AlwaysOffer == nil || a.Class == core.ClassMoney || !a.Offers(core.DecisionAllowAlways) {
		return Rule{}, core.ErrNotOffered
	}
	o := a.AlwaysOffer
	r := Rule{
		Runtime: a.Runtime, Agent: a.Agent, Tool: o.Tool, Operation: o.Operation,
		Scope: Scope(o.Scope), Value: o.Value, Class: a.Class,
	}
	if fault := r.fault(); fault != "" {
		return Rule{}, core.Invalid("always_offer", "%s", fault)
	}
	return r, nil
}

// Check refuses a rule that says two things at once. Errors: ErrInvalid (a
// FieldError on "rule").
func (r *Rule) Check() error {
	if fault := r.fault(); fault != "" {
		return core.Invalid("rule", "%s", fault)
	}
	return nil
}

func (r *Rule) fault() string {
	switch {
	case r.Tool == "":
		return "must name a tool"
	case !r.Scope.Valid():
		return "must have the scope recipient, host, operation or tool"
	case !r.Class.Valid(), r.Class == core.ClassRead:
		return "must be about the class write, send or money"
	case r.Class == core.ClassMoney && r.Scope != ScopeTool:
		return "about money must be a switch for the whole tool"
	case r.Scope == ScopeTool && (r.Value != "" || r.Operation != ""):
		return "for a whole tool must name neither operation nor value"
	case r.Scope != ScopeTool && r.Value == "":
		return "must have a value for its scope"
	case r.Scope == ScopeOperation && r.Value != r.Operation && !core.ValidHash(r.Value):
		return "for an operation must have that operation, or a command's hash, as its value"
	case r.Limited && r.UsesLeft < 0, r.ExpiresAt < 0:
		return "must have an expiry and a number of uses that are not negative"
	}
	return ""
}

// spent reports whether the rule covers nothing any more, and why. The moment of the
// expiry is already outside (R28).
func (r *Rule) spent(now core.Millis) bool {
	return r.ExpiresAt.Reached(now) || r.Limited && r.UsesLeft <= 0
}

type ruleKey struct {
	runtime, agent, tool, operation, value string
	scope                                  Scope
}

// Rules is an index over a snapshot of the rules. A look-up costs the same however
// many there are. It is never changed after NewRules.
type Rules struct {
	byKey map[ruleKey][]Rule
	count int
}

// NewRules builds the index. A rule that Check refuses is left out and reported, so
// that one damaged row cannot widen or stop the others; rules that cover the same
// are all kept, and reported.
func NewRules(rules []Rule) (*Rules, []Finding) {
	index := &Rules{byKey: make(map[ruleKey][]Rule, len(rules))}
	var findings []Finding
	for i := range rules {
		r := rules[i]
		if fault := r.fault(); fault != "" {
			findings = append(findings, Finding{Code: FindingRuleDead, Rule: r.ID, Tool: r.Tool, Text: "the rule " + fault})
			continue
		}
		k := r.key()
		if len(index.byKey[k]) > 0 {
			findings = append(findings, Finding{Code: FindingRuleDuplicate, Rule: r.ID, Tool: r.Tool, Text: "another rule covers the same"})
		}
		index.byKey[k] = append(index.byKey[k], r)
		index.count++
	}
	for _, same := range index.byKey { // Which of several is used does not depend on the order of a query.
		slices.SortFunc(same, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	}
	return index, findings
}

// Len is the number of rules in the index.
func (s *Rules) Len() int {
	if s == nil {
		return 0
	}
	return s.count
}

func (r *Rule) key() ruleKey {
	return ruleKey{runtime: r.Runtime, agent: r.Agent, tool: r.Tool, operation: r.Operation, value: r.Value, scope: r.Scope}
}

// find returns the first rule under the key that still covers a call of the class.
func (s *Rules) find(k ruleKey, c core.Class, now core.Millis) *Rule {
	if s == nil {
		return nil
	}
	same := s.byKey[k]
	for i := range same {
		if within(c, same[i].Class) && !same[i].spent(now) {
			return &same[i]
		}
	}
	return nil
}
