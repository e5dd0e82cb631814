package policy

import "github.com/saysohq/sayso/core"

// Explanation is an evaluation with all of its steps: what `sayso policy explain`
// and the API show. It holds names and normalised values from tables and rules, and
// of the arguments at most the recipient or host that a rule would be about.
type Explanation struct {
	Answer      Answer            `json:"answer"`
	Class       core.Class        `json:"class"`
	ClassSource string            `json:"class_source"`
	Listed      bool              `json:"listed"`           // A table lists the tool in exactly this spelling.
	MCP         bool              `json:"mcp"`              // It is a tool of a tool server.
	Server      string            `json:"server,omitempty"` // Which; "" where its name leaves that open.
	Mode        Mode              `json:"mode"`             // The one that counted.
	PolicyID    string            `json:"policy_id,omitempty"`
	StickyOf    string            `json:"sticky_of,omitempty"`
	AlwaysOffer *core.AlwaysOffer `json:"always_offer,omitempty"`
	NoOffer     string            `json:"no_offer,omitempty"` // Why a card of this question offers no rule.
	Generation  int64             `json:"policy_generation"`
	Digest      string            `json:"digest,omitempty"`
	Steps       []Step            `json:"steps"` // All ten, in order.
}

// Step is one step of an evaluation.
type Step struct {
	Number  int    `json:"number"` // 0 to 9.
	Name    string `json:"step"`
	Reached bool   `json:"reached"`           // False: an earlier step had ended the walk.
	Matched bool   `json:"matched"`           // This step ended the walk.
	Subject string `json:"subject,omitempty"` // The list, rule, policy or mode that it is about.
	Why     string `json:"why,omitempty"`
	Change  string `json:"change,omitempty"` // What would have to change for this step to come out otherwise.
}

// Explain evaluates as Evaluate does, and tells all of it.
func Explain(p *Policy, r Request, in Inputs) Explanation {
	e := evaluate(p, &r, &in)
	out := Explanation{
		Answer: e.answer, Class: e.j.class, ClassSource: e.j.source, Listed: e.j.listed, MCP: e.j.name.mcp, Server: e.j.name.server,
		Mode: e.mode, PolicyID: e.policyID, StickyOf: e.sticky, AlwaysOffer: e.offer, NoOffer: e.noOffer,
		Generation: in.Generation, Digest: p.Digest(), Steps: make([]Step, steps),
	}
	if e.answer == Ask && e.offer == nil && e.noOffer == "" {
		out.NoOffer = "it would ask again all the same"
	}
	for s := range step(steps) {
		t := &e.taken[s]
		out.Steps[s] = Step{
			Number: int(s), Name: s.String(), Reached: t.reached, Matched: t.matched,
			Subject: t.subject, Why: t.why,
		}
		if t.reached {
			out.Steps[s].Change = e.change(s)
		}
	}
	return out
}

// trail is the part of the explanation that stands on the record, for admins.
func (e *evaluation) trail() []core.TrailStep {
	out := make([]core.TrailStep, 0, e.at+1)
	for s := stepClass; s <= e.at; s++ {
		t := &e.taken[s]
		line := core.TrailStep{Step: s.String(), Matched: t.subject, Verdict: "next", Why: t.why}
		if s == stepClass {
			line.Verdict = string(e.j.class)
		}
		if s == e.at {
			line.Verdict, line.Change = string(e.answer), e.change(s)
		}
		out = append(out, line)
	}
	return out
}

// String is the step's name in trails and explanations.
func (s step) String() string {
	switch s {
	case stepClass:
		return "class"
	case stepIdentity:
		return "identity"
	case stepRead:
		return "read"
	case stepDecline:
		return "sticky-decline"
	case stepOrganisation:
		return "organisation"
	case stepUnlistedMCP:
		return "unlisted-mcp"
	case stepAlwaysAllow:
		return "always-allow"
	case stepAutoPolicy:
		return "auto-policy"
	case stepMode:
		return "mode"
	case stepDefault:
		return "default"
	}
	return ""
}

// change says what would have to change for the step to come out otherwise.
func (e *evaluation) change(s step) string {
	matched := e.taken[s].matched
	switch s {
	case stepClass:
		if matched {
			return "repair what could not be read"
		}
		return e.changeOfClass()
	case stepIdentity:
		if matched {
			return "take the tool off the list of those that always ask"
		}
		return "put the tool on the list of those that always ask"
	case stepRead:
		return "a table that gives the tool another class"
	case stepDecline:
		if matched {
			return "wait, or re-open the declined question"
		}
	case stepOrganisation:
		if matched {
			return "only the organisation's own policy changes this"
		}
	case stepUnlistedMCP:
		if matched {
			return "list the tool under its server, declare the server like a known one, or exempt it"
		}
	case stepAlwaysAllow:
		return e.changeOfRules(matched)
	case stepAutoPolicy:
		return e.changeOfFacts(matched)
	case stepMode:
		return e.changeOfMode(matched)
	case stepDefault:
		return "a stricter mode"
	}
	return ""
}

func (e *evaluation) changeOfClass() string {
	switch {
	case e.j.source == SourceOrganisation:
		return "only the organisation's own policy changes this"
	case e.p.forced(e.r.Runtime):
		return "an operator's table can only make it stricter here; the rest is the organisation's own policy"
	case !e.j.listed:
		return "list the tool in the operator's table with what it does"
	}
	return "another class in the operator's table; with loosens where it is less strict"
}

func (e *evaluation) changeOfRules(matched bool) string {
	switch {
	case matched && e.rule != nil:
		return "remove the rule"
	case matched:
		return "end the server's exemption"
	case e.j.class == core.ClassMoney && e.j.interpreter != nil:
		return "nothing: commands that spend or delete always ask"
	case e.j.class == core.ClassMoney:
		return "a money switch for this tool in the list of what is allowed without asking"
	case e.j.name.mcp && !e.j.listed:
		return "an exemption of the server"
	}
	return "a person allows it always, from a card that offers that"
}

func (e *evaluation) changeOfFacts(matched bool) string {
	switch {
	case matched:
		return "the mode before-everything, or a runtime that does not attest the facts"
	case e.mode == ModeEverything, e.j.class == core.ClassMoney, e.j.name.mcp:
		return ""
	case e.taken[stepAutoPolicy].subject != "":
		return "a runtime whose registration attests the missing fact"
	}
	return "an automatic policy that names the tool"
}

func (e *evaluation) changeOfMode(matched bool) string {
	switch {
	case !matched:
		return "a stricter mode"
	case e.j.class == core.ClassMoney && e.j.interpreter == nil:
		return "no mode lets money pass; a money switch for this tool does"
	case e.j.class == core.ClassMoney:
		return "nothing: commands that spend or delete always ask"
	case e.offer != nil:
		return "a mode that does not ask for this class, or the rule that the card offers"
	}
	return "a mode that does not ask for this class"
}
