package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/saysohq/sayso/core"
)

// DeclaredTool is a tool as its runtime declares it: what Lint compares the tables
// with (R48).
type DeclaredTool struct {
	Name       string              `json:"name"`                 // As requests spell it.
	Operations []string            `json:"operations,omitempty"` // The operations that requests may name.
	Fields     map[string][]string `json:"fields,omitempty"`     // Paths of its arguments, each with its literal values, if it has such.
}

// Lint compares the tables with the tools that a runtime declares, and with its
// rules: what is not listed, what is listed and gone, and rules that can never match
// again. The order of the findings is that of the declaration, then of names.
func Lint(p *Policy, runtime string, declared []DeclaredTool, rules []Rule) []Finding {
	if p == nil {
		return nil
	}
	l := &linter{p: p, runtime: runtime, seen: map[toolKey]bool{}, names: map[string]bool{}, servers: map[string]bool{}}
	for i := range declared {
		l.tool(&declared[i])
	}
	l.gone()
	l.rules(rules)
	return l.findings
}

type linter struct {
	p        *Policy
	runtime  string
	seen     map[toolKey]bool
	names    map[string]bool
	servers  map[string]bool // Of which it declares a tool.
	findings []Finding
}

func (l *linter) find(f Finding) { l.findings = append(l.findings, f) }

func (l *linter) tool(t *DeclaredTool) {
	l.names[t.Name] = true
	n := l.p.parseName(l.runtime, t.Name)
	e := l.p.tools.lookup(l.runtime, n)
	if e == nil {
		e = l.p.floors.lookup(l.runtime, n)
	}
	l.seen[toolKey{l.runtime, n.server, n.tool}] = true
	known := l.servers[n.server]
	if n.server != "" {
		l.servers[n.server] = true
	}
	switch server := l.p.serverOf(l.runtime, n); {
	case e != nil:
		l.values(t, e)
	case l.asksAnyway(t.Name):
	case n.mcp && server == nil:
		if !known {
			l.find(Finding{Code: FindingUnlistedServer, Tool: t.Name, Value: n.server, Text: "nothing is said of this server: its tools ask in every mode"})
		}
	case n.mcp && server.Exempt:
	case n.mcp:
		l.find(Finding{Code: FindingUnlistedTool, Tool: t.Name, Text: "no table lists this tool of the server: it asks in every mode"})
	default:
		l.find(Finding{Code: FindingUnlistedTool, Tool: t.Name, Text: "no table lists the tool: it is judged as send, or as its name says"})
	}
}

// asksAnyway reports whether step 1 names the tool, so that nothing else counts.
func (l *linter) asksAnyway(name string) bool {
	_, ok := l.p.alwaysAtEnd(name)
	return ok
}

// values compares a mapping with what the tool takes.
func (l *linter) values(t *DeclaredTool, e *entry) {
	if e.by == nil {
		return
	}
	declared := t.Operations
	if e.by.path != nil {
		var ok bool
		if declared, ok = t.Fields[e.by.field]; !ok && len(t.Fields) > 0 {
			l.find(Finding{Code: FindingGoneField, Table: e.source, Tool: t.Name, Value: e.by.field, Text: "the table judges by a field that the tool does not have"})
			return
		}
	}
	if len(declared) == 0 {
		return
	}
	taken := map[string]bool{}
	for _, v := range declared {
		s, listed := e.by.listed(leaf{text: []byte(v)})
		taken[s] = true
		if !listed {
			l.find(Finding{Code: FindingUnlistedValue, Table: e.source, Tool: t.Name, Value: v, Text: "the table does not know this value: it is judged as send, or as it says"})
		}
	}
	for _, v := range slices.Sorted(maps.Keys(e.by.values)) {
		if !taken[v] {
			l.find(Finding{Code: FindingGoneValue, Table: e.source, Tool: t.Name, Value: v, Text: "the tool does not take this value"})
		}
	}
}

// gone reports what was listed for this runtime in particular, or for a server that
// it declares, and is not declared any more.
func (l *linter) gone() {
	var findings []Finding
	for k, e := range l.p.tools {
		ours := !e.borrowed && (k.runtime == l.runtime || k.runtime == "" && l.servers[k.server])
		if ours && !l.seen[toolKey{l.runtime, k.server, k.tool}] {
			findings = append(findings, Finding{Code: FindingGoneTool, Table: e.source, Tool: e.name, Text: "is listed for this runtime, which does not declare it"})
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return strings.Compare(a.Tool, b.Tool) })
	l.findings = append(l.findings, findings...)
}

func (l *linter) rules(rules []Rule) {
	for i := range rules {
		r := &rules[i]
		if r.Runtime != l.runtime {
			continue
		}
		n := l.p.parseName(r.Runtime, r.Tool)
		e := l.p.tools.lookup(r.Runtime, n)
		switch {
		case !l.names[r.Tool]:
			l.find(Finding{Code: FindingRuleOfGoneTool, Rule: r.ID, Tool: r.Tool, Text: "the runtime does not declare the tool of this rule"})
		case r.fault() != "":
			l.find(Finding{Code: FindingRuleDead, Rule: r.ID, Tool: r.Tool, Text: "the rule " + r.fault()})
		case n.mcp && e == nil, e != nil && e.interpreter != nil && !core.ValidHash(r.Value):
			l.find(Finding{Code: FindingRuleDead, Rule: r.ID, Tool: r.Tool, Text: "the tables do not let a rule like this match any more"})
		case e != nil && rank(e.mildest()) > rank(r.Class):
			l.find(Finding{Code: FindingRuleDead, Rule: r.ID, Tool: r.Tool, Text: "the tables judge the tool stricter than the rule covers"})
		}
	}
}
