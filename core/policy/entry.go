package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/saysohq/sayso/core"
)

// entry is what the tables say of one tool, compiled.
type entry struct {
	source      string // The layer that its class comes from.
	name        string // As the table spells it, with its server.
	label       string
	class       core.Class // "" where a mapping judges.
	by          *mapping
	quiet       [][]condition
	raises      []raise
	scopes      []alwaysScope
	given       bool // Always was given, perhaps to say never.
	interpreter *interpreter
	loosens     bool
	once        bool
	delegates   bool
	borrowed    bool // From a profile, which knows more tools than any one server has.
}

type mapping struct {
	field     string
	path      []string // nil: by the request's operation.
	values    map[string]core.Class
	spellings map[string]string     // Lower-cased to listed, with ignoreCase.
	loose     map[string]core.Class // By skeleton: for values that come close.
	fallback  string
	worst     core.Class // The strictest that any value may have.
}

type raise struct {
	when  []condition
	class core.Class
}

type condition struct {
	path  []string
	empty bool
	is    []string
	isNot []string
	in    []string // Domains.
	parts []string // Contains.
}

type alwaysScope struct {
	scope Scope
	paths [][]string
	form  Form
}

type interpreter struct {
	text   [][]string
	folder [][]string
	ignore []string
}

// tool compiles one Tool and adds it to the layer under all of its names. A server
// that is given takes the place of the tool's own.
func (c *compiler) tool(at string, t *Tool, server string, layer listing) {
	if server == "" {
		server = t.Server
	}
	if len(t.Names) == 0 || len(t.Names) > MaxNames {
		c.find(FindingBadName, at+".names", "", "must name 1 to %d tools", MaxNames)
	}
	if server != "" && !c.serverName(at+".server", server) || !c.runtimes(at, t.Runtimes) {
		return
	}
	e := c.entry(at, t)
	for i, name := range t.Names {
		if !c.name(fmt.Sprintf("%s.names[%d]", at, i), name) {
			continue
		}
		if server == "" && looksLikeMCP(name) {
			c.find(FindingContradicts, fmt.Sprintf("%s.names[%d]", at, i), name, "is the name of a server's tool: say which server, and the name within it")
			continue
		}
		own := *e
		if own.name = name; server != "" {
			own.name = server + " " + name
		}
		for _, runtime := range extent(t.Runtimes).each() {
			c.place(at, own, toolKey{runtime, server, name}, layer)
		}
	}
}

// place puts an entry into its layer, over what was said before it.
func (c *compiler) place(at string, own entry, k toolKey, layer listing) {
	if layer[k] != nil {
		c.find(FindingDuplicate, at, k.tool, "the tool is listed twice in this table")
		return
	}
	n := toolName{mcp: k.server != "", server: k.server, tool: k.tool}
	before := c.p.tools.lookup(k.runtime, n)
	if c.table == SourceOrganisation {
		before = nil // Floors stand for themselves.
	}
	if before != nil {
		c.loosens(at, &own, before)
	}
	if same := layer.lookup(k.runtime, n); same != nil { // It lies over what was before.
		before = same
	}
	if before != nil {
		own.over(before)
	}
	if own.class == "" && own.by == nil {
		c.find(FindingClass, at, k.tool, "must have a class, or a field to judge by")
	}
	if own.class == core.ClassRead && own.once && !own.delegates {
		c.find(FindingReadOnce, at, k.tool, "runs unasked, so it must be safe to repeat, unless it is a trigger or an agent")
	}
	layer[k] = &own
}

// over completes e with what the entry before says.
func (e *entry) over(before *entry) {
	if e.class == "" && e.by == nil {
		e.class, e.by, e.source = before.class, before.by, before.source
	}
	e.quiet = append(slices.Clone(before.quiet), e.quiet...)
	e.raises = append(slices.Clone(before.raises), e.raises...)
	if !e.given {
		e.scopes, e.given = before.scopes, before.given
	}
	if before.interpreter != nil && e.interpreter == nil {
		e.interpreter = before.interpreter
	}
	if e.label == "" {
		e.label = before.label
	}
	e.once, e.delegates = e.once || before.once, e.delegates || before.delegates
}

// entry compiles what a Tool says of each of its names.
func (c *compiler) entry(at string, t *Tool) *entry {
	e := &entry{source: c.table, label: t.Label, class: t.Class, loosens: t.Loosens, once: t.Once, delegates: t.Delegates}
	name := ""
	if len(t.Names) > 0 {
		name = t.Names[0]
	}
	if t.Class != "" && !t.Class.Valid() {
		c.find(FindingClass, at+".class", name, "must be read, write, send or money")
	}
	if t.Class != "" && t.By != nil {
		c.find(FindingContradicts, at, name, "must have either a class or a field to judge by")
	}
	if t.Label != "" && (!wellNamed(t.Label) || len(t.Label) > 40) {
		c.find(FindingBadName, at+".label", name, "must be 1 to 40 bytes of plain text")
	}
	if t.By != nil {
		e.by = c.mapping(at+".by", t.By)
	}
	for i, p := range t.ReachesNoOne {
		e.quiet = append(e.quiet, c.predicate(fmt.Sprintf("%s.reaches_no_one[%d]", at, i), p))
	}
	for i, r := range t.Raise {
		where := fmt.Sprintf("%s.raise[%d]", at, i)
		if !r.Class.Valid() {
			c.find(FindingClass, where+".class", name, "must be read, write, send or money")
		}
		e.raises = append(e.raises, raise{c.predicate(where+".when", r.When), r.Class})
	}
	c.scopes(at, t, e)
	if x := t.Interpreter; x != nil {
		e.interpreter = &interpreter{text: c.paths(at+".interpreter.text", x.Text), folder: c.paths(at+".interpreter.folder", x.Folder), ignore: x.Ignore}
	}
	return e
}

func (c *compiler) scopes(at string, t *Tool, e *entry) {
	e.given = t.NoAlways || len(t.Always) > 0
	if t.NoAlways && len(t.Always) > 0 {
		c.find(FindingContradicts, at+".always", "", "must either have scopes or be never")
	}
	if t.Interpreter != nil && len(t.Always) > 0 {
		c.find(FindingContradicts, at+".always", "", "rules about an interpreter cover one exact command and nothing else")
	}
	for i, a := range t.Always {
		where := fmt.Sprintf("%s.always[%d]", at, i)
		if a.Form == "" {
			a.Form = FormEmail
		}
		aimed := a.Scope == ScopeRecipient || a.Scope == ScopeHost
		switch {
		case !a.Scope.Valid():
			c.find(FindingScope, where, "", "must be recipient, host, operation or tool")
		case !a.Form.Valid():
			c.find(FindingForm, where, "", "must be email, phone or name")
		case aimed != (len(a.Fields) > 0):
			c.find(FindingContradicts, where, "", "recipient and host name the fields where they stand, the others have none")
		}
		e.scopes = append(e.scopes, alwaysScope{a.Scope, c.paths(where+".fields", a.Fields), a.Form})
	}
}

func (c *compiler) mapping(at string, m *Mapping) *mapping {
	out := &mapping{
		field: m.Field, values: map[string]core.Class{}, loose: map[string]core.Class{}, fallback: m.Default, worst: core.ClassSend,
	}
	if m.Field != OperationField {
		out.path = c.path(at+".field", m.Field)
	}
	if m.IgnoreCase {
		out.spellings = map[string]string{}
	}
	for _, class := range []core.Class{core.ClassRead, core.ClassWrite, core.ClassSend, core.ClassMoney} {
		for _, v := range m.Values[class] {
			low := strings.ToLower(v)
			_, twice := out.values[v]
			if twice || out.spellings[low] != "" {
				c.find(FindingDuplicate, at+".values", v, "the value is listed twice")
			}
			if len(v) > MaxName || v == "" {
				c.find(FindingBadName, at+".values", "", "values have 1 to %d bytes", MaxName)
			}
			out.values[v] = class
			if m.IgnoreCase {
				out.spellings[low] = v
			}
			if s, near := out.loose[skeleton(v)]; !near || rank(class) > rank(s) {
				out.loose[skeleton(v)] = class
			}
			out.worst = Strictest(class, out.worst)
		}
	}
	for class := range m.Values {
		if !class.Valid() {
			c.find(FindingClass, at+".values", "", "are listed under read, write, send or money")
		}
	}
	if _, known := out.values[m.Default]; m.Default != "" && !known {
		c.find(FindingContradicts, at+".default", "", "must be one of the values")
	}
	if len(out.values) == 0 || len(out.values) > MaxNames {
		c.find(FindingTooMuch, at+".values", "", "must be 1 to %d", MaxNames)
	}
	return out
}

func (c *compiler) predicate(at string, p Predicate) []condition {
	if len(p) == 0 {
		c.find(FindingContradicts, at, "", "must have conditions")
	}
	out := make([]condition, 0, len(p))
	for i, x := range p {
		where := fmt.Sprintf("%s[%d]", at, i)
		tests := 0
		for _, set := range []bool{x.Empty, len(x.Is) > 0, len(x.IsNot) > 0, len(x.Domains) > 0, len(x.Contains) > 0} {
			if set {
				tests++
			}
		}
		if tests != 1 {
			c.find(FindingContradicts, where, "", "must have exactly one of empty, is, is_not, domains and contains")
		}
		domains := make([]string, 0, len(x.Domains))
		for _, d := range x.Domains {
			n, ok := normalName(d)
			if !ok {
				c.find(FindingBadName, where+".domains", "", "must be domains in plain spelling")
			}
			domains = append(domains, n)
		}
		out = append(out, condition{path: c.path(where+".field", x.Field), empty: x.Empty, is: x.Is, isNot: x.IsNot, in: domains, parts: x.Contains})
	}
	return out
}
