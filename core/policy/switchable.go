package policy

import "github.com/saysohq/sayso/core"

// Switchable reports whether a switch for money of a tool could let any of its calls
// through (R73). It could not where the call asks before rules are looked at (a tool of
// a list, an organisation's word, a tool server's tool that nobody described), or runs
// whatever it is told: commands get rules for one exact text and nothing wider (R70).
// Tables that cannot be read say nothing against it: everything asks then.
func (p *Policy) Switchable(runtime, tool string) bool {
	if p == nil {
		return true
	}
	r := Request{Runtime: runtime, Kind: core.KindPlugin, Tool: tool, Arguments: []byte("{}")}
	e := evaluation{p: p, r: &r, in: &Inputs{}, j: p.judge(&r, nil)}
	e.j.class = core.ClassMoney
	return len(tool) <= MaxName && e.j.interpreter == nil && !e.identity() && !e.organisation() && !e.unlistedMCP()
}
