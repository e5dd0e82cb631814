package policy

import (
	"strings"

	"github.com/saysohq/sayso/core"
)

// judgedBy is the class that an entry gives a call, and the value of its mapped field.
type judgedBy struct {
	class  core.Class
	source string
	value  string // As the table spells it; "" where it is unlisted, unclear or more than one.
	single bool   // Value is the one thing that would run.
}

// judge applies one entry to a call. Read is nil where the arguments cannot be read.
func (e *entry) judge(r *Request, d document, p *Policy) judgedBy {
	out := judgedBy{class: e.class, source: e.source, value: r.Operation, single: true}
	if e.by != nil {
		out = e.by.judge(r, d, p)
		if out.source == "" {
			out.source = e.source
		}
	}
	if out.class == core.ClassSend {
		for _, p := range e.quiet {
			if holds(p, d) == yes {
				out.class, out.source = core.ClassWrite, SourceReachesNoOne
				break
			}
		}
	}
	for i := range e.raises {
		if r := &e.raises[i]; rank(r.class) > rank(out.class) && holds(r.when, d) != no {
			out.class, out.source = r.class, SourceRaised
		}
	}
	return out
}

// judge classifies by the mapped field: the strictest of all that it holds (R38).
func (m *mapping) judge(r *Request, d document, p *Policy) judgedBy {
	if m.path == nil {
		if r.Operation == "" {
			return m.unsetValue()
		}
		class, value := m.classify(leaf{text: []byte(r.Operation)}, p)
		return judgedBy{class: class, source: source(value), value: value, single: value != ""}
	}
	var l leaves
	if len(d) == 0 {
		l.unsure = true
	} else {
		d.collect(m.path, &l)
	}
	out := judgedBy{class: core.ClassRead}
	switch {
	case l.unsure:
		return judgedBy{class: m.worst, source: SourceUnclearValue}
	case l.n == 0:
		out = m.unsetValue()
	default:
		for i, v := range l.all() {
			class, value := m.classify(v, p)
			if i == 0 {
				out.value, out.single = value, value != ""
			} else if value != out.value {
				out.value, out.single = "", false
			}
			if rank(class) > rank(out.class) {
				out.class = class
			}
			if value == "" {
				out.source = SourceUnlistedValue
			}
		}
	}
	// A request that names a listed operation beside its arguments says it twice; where
	// the two differ, nobody knows which will run.
	if said, ok := m.listed(leaf{text: []byte(r.Operation)}); ok && said != out.value {
		out = judgedBy{class: Strictest(out.class, m.values[said]), source: SourceUnclearValue}
	}
	return out
}

func source(value string) string {
	if value == "" {
		return SourceUnlistedValue
	}
	return ""
}

func (m *mapping) unsetValue() judgedBy {
	return judgedBy{class: m.unset(), value: m.fallback, single: m.fallback != "", source: source(m.fallback)}
}

// listed finds a value, and how the table spells it.
func (m *mapping) listed(v leaf) (string, bool) {
	if v.disguised() {
		return "", false
	}
	if _, ok := m.values[string(v.text)]; ok {
		return string(v.text), true
	}
	if m.spellings != nil && len(v.text) <= MaxName && plainASCII(v.text) {
		s, ok := m.spellings[strings.ToLower(string(v.text))]
		return s, ok
	}
	return "", false
}

// classify is the class of one value, and its listed spelling or "". What is not
// listed is send, or stricter where it comes close to something stricter.
func (m *mapping) classify(v leaf, p *Policy) (core.Class, string) {
	if s, ok := m.listed(v); ok {
		return m.values[s], s
	}
	if len(v.text) > MaxName {
		return m.worst, ""
	}
	near, ok := m.loose[skeleton(string(v.text))]
	if !ok || rank(near) < rank(core.ClassSend) {
		near = core.ClassSend
	}
	if p.money(string(v.text)) {
		near = core.ClassMoney
	}
	return near, ""
}
