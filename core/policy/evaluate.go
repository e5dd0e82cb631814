package policy

import (
	"slices"
	"strings"

	"github.com/saysohq/sayso/core"
)

// step is a place in the order of evaluation.
type step uint8

// The order. Nothing but Evaluate knows it, and nothing decides elsewhere (R59).
const (
	stepClass        step = iota // 0: what would run.
	stepIdentity                 // 1
	stepRead                     // 2
	stepDecline                  // 3
	stepOrganisation             // 4
	stepUnlistedMCP              // 5
	stepAlwaysAllow              // 6
	stepAutoPolicy               // 7
	stepMode                     // 8
	stepDefault                  // 9
	steps            = iota
)

// taken is what one step came to.
type taken struct {
	reached bool
	matched bool
	why     string
	subject string // What matched: a name from the tables, a rule, a mode.
}

// evaluation walks the order once.
type evaluation struct {
	p  *Policy
	r  *Request
	in *Inputs
	j  judgement

	mode  Mode
	taken [steps]taken
	at    step // Where it ended.

	answer   Answer
	policyID string
	rule     *Rule
	sticky   string
	offer    *core.AlwaysOffer
	noOffer  string
}

// Evaluate judges one call. It never fails: whatever cannot be read makes it ask.
func Evaluate(p *Policy, r Request, in Inputs) Verdict {
	e := evaluate(p, &r, &in)
	v := Verdict{
		Answer: e.answer, Class: e.j.class, ClassSource: e.j.source, AlwaysOffer: e.offer,
		PolicyID: e.policyID, StickyOf: e.sticky, Generation: in.Generation, Digest: p.Digest(),
	}
	if e.rule != nil {
		v.RuleID = e.rule.ID
	}
	if e.answer != Allow {
		v.Trail = e.trail()
	}
	return v
}

func evaluate(p *Policy, r *Request, in *Inputs) evaluation {
	e := evaluation{p: p, r: r, in: in, answer: Ask}
	if p == nil {
		e.j = judgement{class: core.ClassSend, source: SourceUnreadable}
		e.end(stepClass, Ask, "no tables could be read")
		return e
	}
	if len(r.Tool) > MaxName || len(r.Operation) > MaxName {
		e.j = judgement{class: core.ClassMoney, source: SourceUnreadable}
		e.end(stepClass, Ask, "the name of the tool or its operation is too long to be looked up")
		return e
	}
	e.j = p.judge(r, in.Facts)
	e.mode = in.Mode
	if e.mode == "" {
		e.mode = p.mode
	}
	switch {
	case !e.j.readable:
		e.end(stepClass, Ask, "the arguments cannot be read")
		return e
	case in.Unreadable != "":
		e.end(stepClass, Ask, "what the decision depends on could not be read")
		e.taken[stepClass].subject = in.Unreadable
		return e
	case !e.mode.Valid():
		e.end(stepClass, Ask, "the agent's mode is unknown")
		return e
	}
	e.taken[stepClass] = taken{reached: true, subject: e.j.source, why: describe(e.j.class)}
	for s := stepIdentity; !e.take(s); s++ { // The last step always ends it.
		e.taken[s].reached = true
	}
	return e
}

// take goes one step, and reports whether the walk ends there.
func (e *evaluation) take(s step) bool {
	switch s {
	case stepIdentity:
		return e.identity()
	case stepRead:
		if e.j.class != core.ClassRead {
			return e.pass(s, "it does more than look things up")
		}
		return e.end(s, Allow, "reading never asks")
	case stepDecline:
		return e.declined()
	case stepOrganisation:
		return e.organisation()
	case stepUnlistedMCP:
		return e.unlistedMCP()
	case stepAlwaysAllow:
		return e.alwaysAllow()
	case stepAutoPolicy:
		return e.autoPolicy()
	case stepMode:
		if !e.mode.Asks(e.j.class) {
			return e.pass(s, "the mode does not ask for this class")
		}
		e.offer, e.noOffer = e.j.offer(e.r)
		e.taken[s].subject = string(e.mode)
		return e.end(s, Ask, "the mode asks for this class")
	case stepClass, stepDefault, steps:
	}
	e.taken[stepDefault].subject = e.mode.policyID()
	return e.auto(stepDefault, e.mode.policyID(), "nothing asked")
}

// pass leaves a step that did not match.
func (e *evaluation) pass(s step, why string) bool {
	e.taken[s].why = why
	return false
}

func (e *evaluation) end(s step, a Answer, why string) bool {
	e.at, e.answer = s, a
	e.taken[s].reached, e.taken[s].matched, e.taken[s].why = true, true, why
	return true
}

// auto lets the call run under a policy. Money passes here only with a person's
// switch, whatever led here: this is the one door, and it is guarded once more.
func (e *evaluation) auto(s step, id, why string) bool {
	if e.j.class == core.ClassMoney && (e.rule == nil || e.rule.Class != core.ClassMoney) || id == "" {
		e.rule = nil
		return e.end(s, Ask, "money asks unless a person has switched it on")
	}
	e.policyID = id
	return e.end(s, Auto, why)
}

// identity is step 1: tools that always ask, by whatever spelling (R58).
func (e *evaluation) identity() bool {
	name := &e.j.name
	listed, ok := e.p.always[skeleton(name.tool)]
	if !ok && name.server != "" { // A list may spell it out for one server.
		listed, ok = e.p.always[skeleton(mcpPrefix)+hintKey(name.server, name.tool)]
	}
	if !ok && (!e.j.listed || name.tool != name.full) {
		listed, ok = e.p.alwaysAtEnd(name.full)
	}
	if ok {
		e.taken[stepIdentity].subject = listed
		return e.end(stepIdentity, Ask, "this tool always asks")
	}
	if s := e.j.server; s != nil && slices.ContainsFunc(s.Require, func(t string) bool { return skeleton(t) == skeleton(name.tool) }) {
		e.taken[stepIdentity].subject = s.Name
		return e.end(stepIdentity, Ask, "the server's list says that this tool always asks")
	}
	return e.pass(stepIdentity, "no list says that this tool always asks")
}

// alwaysAtEnd finds a tool of step 1 behind whatever a runtime puts before the names
// of a server's tools.
func (p *Policy) alwaysAtEnd(full string) (string, bool) {
	if listed, ok := p.always[skeleton(full)]; ok {
		return listed, true
	}
	for i := 1; i < len(full); i++ {
		if strings.IndexByte("_.:/-", full[i-1]) < 0 {
			continue
		}
		if listed, ok := p.always[skeleton(full[i:])]; ok {
			return listed, true
		}
	}
	return "", false
}

// declined is step 3 (K34).
func (e *evaluation) declined() bool {
	d := e.in.Decline
	switch {
	case d == nil:
		return e.pass(stepDecline, "nobody has just declined this action")
	case e.p.sticky == 0, d.At.Add(e.p.sticky).Reached(e.in.Now):
		return e.pass(stepDecline, "the decline of this action is too old to count")
	case d.Approval == "":
		return e.end(stepDecline, Ask, "the decline of this action names no record")
	}
	e.sticky, e.taken[stepDecline].subject = d.Approval, d.Approval
	return e.end(stepDecline, Deny, "a person has just declined this action")
}

// organisation is step 4 (R55).
func (e *evaluation) organisation() bool {
	for i := range e.p.forces {
		if f := &e.p.forces[i]; f.in.covers(e.r.Runtime) && rank(e.j.class) >= f.from {
			return e.end(stepOrganisation, Ask, "the organisation makes this class ask")
		}
	}
	return e.pass(stepOrganisation, "the organisation does not make it ask")
}

// unlistedMCP is step 5 (K12).
func (e *evaluation) unlistedMCP() bool {
	switch {
	case !e.j.name.mcp:
		return e.pass(stepUnlistedMCP, "it is no tool of a tool server")
	case e.j.listed:
		return e.pass(stepUnlistedMCP, "a table lists the tool")
	case e.j.server != nil && e.j.server.Exempt:
		return e.pass(stepUnlistedMCP, "the server is exempt")
	}
	return e.end(stepUnlistedMCP, Ask, "nobody has said what this tool of a tool server does")
}

// alwaysAllow is step 6: a person's rule, or the server's exemption (R57, R62).
func (e *evaluation) alwaysAllow() bool {
	if e.rule = e.findRule(); e.rule != nil {
		e.taken[stepAlwaysAllow].subject = e.rule.PolicyID()
		return e.auto(stepAlwaysAllow, e.rule.PolicyID(), "a person allowed this always")
	}
	s := e.j.server
	if s == nil || !s.Exempt {
		return e.pass(stepAlwaysAllow, "no rule covers it")
	}
	if e.j.class == core.ClassMoney {
		return e.pass(stepAlwaysAllow, "no rule covers it, and an exempt server's money still asks")
	}
	e.taken[stepAlwaysAllow].subject = s.Name
	return e.auto(stepAlwaysAllow, "mcp."+s.Name+".exempt", "the server is exempt")
}

// findRule looks up the few rules that could cover the call. However many rules
// there are, it makes the same few look-ups.
func (e *evaluation) findRule() *Rule {
	if e.in.Rules.Len() == 0 {
		return nil
	}
	for _, t := range e.j.targets() {
		k := ruleKey{e.r.Runtime, e.r.Agent, e.j.name.full, t.operation, t.value, t.scope}
		if r := e.in.Rules.find(k, e.j.class, e.in.Now); r != nil {
			return r
		}
	}
	return nil
}

// autoPolicy is step 7 (R64, R66).
func (e *evaluation) autoPolicy() bool {
	switch {
	case e.mode == ModeEverything:
		return e.pass(stepAutoPolicy, "in this mode facts about the runtime do not count")
	case e.j.class == core.ClassMoney:
		return e.pass(stepAutoPolicy, "no automatic policy covers money")
	case e.j.name.mcp:
		return e.pass(stepAutoPolicy, "no automatic policy covers tools of tool servers")
	}
	why := "no automatic policy names this tool"
	for i := range e.p.auto {
		a := &e.p.auto[i]
		if _, named := a.tools[e.r.Tool]; !named {
			continue
		}
		if fact := a.missing(e.in.Facts); fact != "" {
			why, e.taken[stepAutoPolicy].subject = "the runtime has not attested what the policy needs", a.id+": "+string(fact)
			continue
		}
		e.taken[stepAutoPolicy].subject = a.id
		return e.auto(stepAutoPolicy, a.id, "the runtime attested all that the policy needs")
	}
	return e.pass(stepAutoPolicy, why)
}

// missing is the first fact that does not hold, or "".
func (a *autoPolicy) missing(facts Facts) Fact {
	for _, n := range a.needs {
		if !facts.hold(n) {
			return n.fact
		}
	}
	return ""
}

// confines reports whether the policy needs a sandbox.
func (a *autoPolicy) confines() bool {
	return slices.ContainsFunc(a.needs, func(n need) bool { return n.fact == FactSandbox })
}

func (f Facts) hold(n need) bool {
	v := f[n.fact]
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "", "none", "off", "no", "false", "0", "host", "disabled", "null", "unknown", "unconfined":
		return false
	}
	return len(n.values) == 0 || slices.Contains(n.values, v)
}
