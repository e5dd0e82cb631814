package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/saysohq/sayso/core"
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
	number   int // Of the table, where an operator has several.
	findings []Finding
	profiles map[string]*Profile
}

func (c *compiler) find(code Code, at, tool, text string, args ...any) {
	c.findings = append(c.findings, Finding{Code: code, Table: c.table, Number: c.number, At: at, Tool: tool, Text: fmt.Sprintf(text, args...)})
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
	c.add(SourceStarter, &l.Starter)
	maps.Copy(c.p.starter, c.p.tools)
	for i := range l.Operator {
		c.number = i
		c.add(SourceOperator, &l.Operator[i])
	}
	c.number = 0
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

func (c *compiler) organisation(o *Organisation) {
	c.table = SourceOrganisation
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
