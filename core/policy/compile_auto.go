package policy

import (
	"fmt"
	"slices"
	"strings"
)

// autoPolicies compiles what facts let run (R64).
func (c *compiler) autoPolicies(t *Table) {
	for i := range t.AutoPolicies {
		a, at := &t.AutoPolicies[i], fmt.Sprintf("auto_policies[%d]", i)
		if !validPolicyID(a.ID) {
			c.find(FindingPolicyID, at+".id", "", "must be lower-case words with dots and a version, such as sandbox.team.v1, and begin with neither rule., mcp. nor mode.")
		}
		if slices.ContainsFunc(c.p.auto, func(o autoPolicy) bool { return o.id == a.ID }) {
			c.find(FindingDuplicate, at+".id", "", "the policy is already there")
		}
		if len(a.Tools) == 0 || len(a.Needs) == 0 {
			c.find(FindingContradicts, at, "", "must name tools, and facts that it needs")
		}
		out := autoPolicy{id: a.ID, tools: map[string]struct{}{}}
		for j, n := range a.Tools {
			if c.name(fmt.Sprintf("%s.tools[%d]", at, j), n) {
				out.tools[n] = struct{}{}
			}
		}
		for f, values := range a.Needs {
			if !f.Valid() {
				c.find(FindingFact, at+".needs", "", "must be sandbox, network, search_backend or browser_backend")
			}
			out.needs = append(out.needs, need{f, values})
		}
		slices.SortFunc(out.needs, func(a, b need) int { return strings.Compare(string(a.fact), string(b.fact)) })
		c.p.auto = append(c.p.auto, out)
	}
}

// validPolicyID reports whether an operator may give a policy this id. Those of
// rules, servers and modes are made by the evaluation alone.
func validPolicyID(id string) bool {
	parts := strings.Split(id, ".")
	last := parts[len(parts)-1]
	if len(parts) < 2 || len(id) > 64 || len(last) < 2 || last[0] != 'v' || slices.Contains([]string{"rule", "mcp", "mode"}, parts[0]) {
		return false
	}
	for _, part := range parts {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
		}) {
			return false
		}
	}
	return !strings.ContainsFunc(last[1:], func(r rune) bool { return r < '0' || r > '9' })
}

// programsOf compiles what makes a command stricter.
func (c *compiler) programsOf(t *Table) {
	for i := range t.Programs {
		pr, at := &t.Programs[i], fmt.Sprintf("programs[%d]", i)
		if !pr.Class.Valid() {
			c.find(FindingClass, at+".class", "", "must be read, write, send or money")
		}
		out := program{class: pr.Class, words: map[string]struct{}{}}
		for j, w := range pr.Words {
			if c.word(fmt.Sprintf("%s.words[%d]", at, j), w) {
				out.words[w] = struct{}{}
			}
		}
		if len(pr.Names) == 0 {
			c.find(FindingBadName, at+".names", "", "must name programs")
		}
		for j, n := range pr.Names {
			if c.word(fmt.Sprintf("%s.names[%d]", at, j), n) {
				c.p.programs[n] = append(c.p.programs[n], out)
			}
		}
	}
}
