package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
)

// The names of the layers, as findings and class sources spell them.
const (
	layerStarter      = "starter"
	layerOperator     = "operator"
	layerOrganisation = "organisation"
)

// toolKey finds a listed tool: "" as the runtime for entries that hold everywhere,
// "" as the server for built-ins.
type toolKey struct{ runtime, server, tool string }

type listing map[toolKey]*entry

// lookup prefers what is said for the runtime to what is said for all.
func (l listing) lookup(runtime string, n toolName) *entry {
	if n.mcp && n.server == "" {
		return nil
	}
	if e := l[toolKey{runtime, n.server, n.tool}]; e != nil {
		return e
	}
	return l[toolKey{"", n.server, n.tool}]
}

type serverKey struct{ runtime, server string }

// everywhere or only in some runtimes.
type extent []string

func (x extent) covers(runtime string) bool { return len(x) == 0 || slices.Contains(x, runtime) }

// each yields the runtimes of an extent as keys spell them.
func (x extent) each() []string {
	if len(x) == 0 {
		return []string{""}
	}
	return x
}

type prefix struct {
	prefix, server string
	in             extent
}

type autoPolicy struct {
	id    string
	tools map[string]struct{}
	needs []need // Sorted, so that the trail names the same fact every time.
}

type need struct {
	fact   Fact
	values []string
}

type program struct {
	words map[string]struct{} // Empty: by itself.
	class core.Class
}

type force struct {
	in   extent
	from int // The lowest rank that asks.
}

// compiler builds a Policy and gathers what is wrong with the tables.
type compiler struct {
	p        *Policy
	table    string
	findings []Finding
	profiles map[string]*Profile
}

func (c *compiler) find(code Code, at, tool, text string, args ...any) {
	c.findings = append(c.findings, Finding{Code: code, Table: c.table, At: at, Tool: tool, Text: fmt.Sprintf(text, args...)})
}

// New compiles the tables. Errors: an *InvalidError (ErrInvalid) with everything
// that is wrong with them; there is no half a policy.
func New(l Layers) (*Policy, error) {
	c := &compiler{
		p: &Policy{
			mode: ModeOutside, sticky: DefaultStickyWindow,
			tools: listing{}, starter: listing{}, floors: listing{}, hints: map[string][]*entry{},
			always: map[string]string{}, servers: map[serverKey]*Server{},
			words: map[string]struct{}{}, programs: map[string][]program{},
		},
		profiles: map[string]*Profile{},
	}
	c.add(layerStarter, &l.Starter)
	maps.Copy(c.p.starter, c.p.tools)
	c.add(layerOperator, &l.Operator)
	c.organisation(&l.Organisation)
	if len(c.findings) > 0 {
		return nil, &InvalidError{Findings: c.findings}
	}
	c.p.hintAll()
	b, err := json.Marshal(l)
	if err != nil { // Strings, numbers and booleans: it cannot fail.
		return nil, fmt.Errorf("digest tables: %w", err)
	}
	c.p.digest = core.HashOf(b)
	return c.p, nil
}

// add lays a table over those before it.
func (c *compiler) add(name string, t *Table) {
	c.table = name
	c.settings(t)
	c.alwaysAsk(t.AlwaysAsk)
	c.profilesOf(t)
	layer := listing{}
	for _, general := range []bool{true, false} { // What holds everywhere lies below what holds in one runtime.
		for i := range t.Tools {
			if (len(t.Tools[i].Runtimes) == 0) == general {
				c.tool(fmt.Sprintf("tools[%d]", i), &t.Tools[i], "", layer)
			}
		}
	}
	c.serversOf(t, layer)
	maps.Copy(c.p.tools, layer)
	c.autoPolicies(t)
	for i, w := range t.MoneyWords {
		if !c.word(fmt.Sprintf("money_words[%d]", i), w) {
			continue
		}
		c.p.words[w] = struct{}{}
	}
	c.programsOf(t)
}

func (c *compiler) settings(t *Table) {
	if t.DefaultMode != "" {
		if !t.DefaultMode.Valid() {
			c.find(FindingMode, "mode", "", "must be before-anything-outside, before-everything or only-money-and-deletes")
		}
		c.p.mode = t.DefaultMode
	}
	if t.StickyDecline != nil {
		if *t.StickyDecline < 0 || *t.StickyDecline > MaxStickyWindow || *t.StickyDecline%time.Millisecond != 0 {
			c.find(FindingDuration, "sticky_decline", "", "must be from 0 to 24 hours")
		}
		c.p.sticky = *t.StickyDecline
	}
	if len(t.Tools) > MaxTools || len(t.Servers) > MaxNames || len(t.Profiles) > MaxNames || len(t.AutoPolicies) > MaxNames ||
		len(t.Programs) > MaxNames || len(t.MoneyWords) > MaxNames {
		c.find(FindingTooMuch, "", "", "has more than %d tools or %d of something else", MaxTools, MaxNames)
	}
}

func (c *compiler) alwaysAsk(names []string) {
	for i, n := range names {
		if c.name(fmt.Sprintf("always_ask[%d]", i), n) {
			c.p.always[skeleton(n)] = n
		}
	}
}

func (c *compiler) profilesOf(t *Table) {
	for i := range t.Profiles {
		pr, at := &t.Profiles[i], fmt.Sprintf("profiles[%d]", i)
		if !c.name(at+".name", pr.Name) {
			continue
		}
		if c.profiles[pr.Name] != nil {
			c.find(FindingDuplicate, at, pr.Name, "a profile of this name is already there")
		}
		c.profiles[pr.Name] = pr
		scratch := listing{}
		for j := range pr.Tools {
			tool := pr.Tools[j]
			if tool.Server != "" || len(tool.Runtimes) > 0 {
				c.find(FindingContradicts, fmt.Sprintf("%s.tools[%d]", at, j), "", "a profile is not about one server or runtime")
			}
			c.tool(fmt.Sprintf("%s.tools[%d]", at, j), &tool, pr.Name, scratch)
		}
		for k, e := range scratch { // Until a server is like it, a profile only warns.
			c.p.hint(k, e)
		}
	}
}

func (c *compiler) serversOf(t *Table, layer listing) {
	for i := range t.Servers {
		s, at := &t.Servers[i], fmt.Sprintf("servers[%d]", i)
		if !c.serverName(at+".name", s.Name) || !c.runtimes(at, s.Runtimes) {
			continue
		}
		for _, runtime := range extent(s.Runtimes).each() {
			k := serverKey{runtime, s.Name}
			if c.p.servers[k] != nil {
				c.find(FindingDuplicate, at, s.Name, "the server is already there")
			}
			c.p.servers[k] = s
		}
		for j, x := range s.Prefixes {
			if len(x) < 2 || !wellNamed(x) || !strings.ContainsRune("_.:/-", rune(x[len(x)-1])) {
				c.find(FindingBadName, fmt.Sprintf("%s.prefixes[%d]", at, j), s.Name, "must be a name that ends in one of _ . : / -")
			}
			if slices.ContainsFunc(c.p.prefixes, func(y prefix) bool { return y.prefix == x && y.server != s.Name }) {
				c.find(FindingContradicts, fmt.Sprintf("%s.prefixes[%d]", at, j), s.Name, "the prefix is another server's")
			}
			c.p.prefixes = append(c.p.prefixes, prefix{x, s.Name, s.Runtimes})
		}
		for j, r := range s.Require {
			c.name(fmt.Sprintf("%s.require[%d]", at, j), r)
		}
		c.like(at, s, layer)
	}
}

// like gives a server the tools of its profile, below what the table itself lists.
func (c *compiler) like(at string, s *Server, layer listing) {
	if s.Like == "" {
		return
	}
	pr := c.profiles[s.Like]
	if pr == nil {
		c.find(FindingUnknownLike, at+".like", s.Name, "there is no such profile")
		return
	}
	described := listing{}
	for j := range pr.Tools {
		tool := pr.Tools[j]
		tool.Runtimes = s.Runtimes
		c.tool(fmt.Sprintf("%s.like.tools[%d]", at, j), &tool, s.Name, described)
	}
	for k, e := range described {
		if own := layer[k]; own != nil {
			own.over(e)
			c.loosens(at, own, e)
		} else {
			layer[k] = e
		}
	}
}

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

func (c *compiler) organisation(o *Organisation) {
	c.table = layerOrganisation
	c.alwaysAsk(o.AlwaysAsk)
	for i := range o.Tools {
		t, at := &o.Tools[i], fmt.Sprintf("tools[%d]", i)
		if len(t.ReachesNoOne) > 0 || len(t.Always) > 0 || t.NoAlways || t.Interpreter != nil || t.Loosens {
			c.find(FindingContradicts, at, "", "a floor has a class and what raises it, and nothing else")
		}
		c.tool(at, t, "", c.p.floors)
	}
	for i := range o.Ask {
		f, at := &o.Ask[i], fmt.Sprintf("ask[%d]", i)
		if !c.runtimes(at, f.Runtimes) {
			continue
		}
		from := f.From
		if from == "" {
			from = core.ClassWrite
		}
		if !from.Valid() || from == core.ClassRead {
			c.find(FindingClass, at+".from", "", "must be write, send or money")
		}
		c.p.forces = append(c.p.forces, force{in: f.Runtimes, from: rank(from)})
	}
}

// hint remembers an entry under the skeleton of its name.
func (p *Policy) hint(k toolKey, e *entry) {
	s := hintKey(k.server, k.tool)
	if !slices.Contains(p.hints[s], e) {
		p.hints[s] = append(p.hints[s], e)
	}
}

func (p *Policy) hintAll() {
	for _, l := range []listing{p.starter, p.tools, p.floors} {
		for k, e := range l {
			p.hint(k, e)
		}
	}
}

// hintKey joins what two spellings of one tool have in common. Server and tool are
// not kept apart: a name that leaves open where to cut it is found too.
func hintKey(server, tool string) string { return skeleton(server) + skeleton(tool) }
