package policy

import "github.com/saysohq/sayso/core"

// loosens reports an entry that is less strict than the one before, and does not say so.
func (c *compiler) loosens(at string, e, before *entry) {
	if e.loosens || !e.looser(before) {
		return
	}
	c.find(FindingLoosens, at, e.name, "is less strict than the %s table says: add loosens if that is meant", before.source)
}

// looser reports whether some call could come out less strict under e than before.
func (e *entry) looser(before *entry) bool {
	if len(e.quiet) > 0 && before.quietable() {
		return true
	}
	if e.class == "" && e.by == nil {
		return false
	}
	if e.by == nil || before.by == nil || e.by.field != before.by.field {
		return rank(e.mildest()) < rank(before.strictest())
	}
	for v := range before.by.values {
		if rank(e.by.of(v)) < rank(before.by.of(v)) {
			return true
		}
	}
	for v, class := range e.by.values {
		if rank(class) < rank(before.by.of(v)) {
			return true
		}
	}
	return rank(e.by.unset()) < rank(before.by.unset())
}

func (e *entry) quietable() bool {
	return rank(e.mildest()) <= rank(core.ClassSend) && rank(e.strictest()) >= rank(core.ClassSend)
}

// mildest is the least strict class that a call may have.
func (e *entry) mildest() core.Class {
	if e.by == nil {
		return e.class
	}
	m := e.by.unset()
	for _, class := range e.by.values {
		if rank(class) < rank(m) {
			m = class
		}
	}
	return m
}

func (e *entry) strictest() core.Class {
	if e.by == nil {
		return e.class
	}
	return e.by.worst
}

// of is the class of a value that is spelled as the table has it (R37).
func (m *mapping) of(value string) core.Class {
	if class, ok := m.values[value]; ok {
		return class
	}
	return core.ClassSend
}

// unset is the class where the field is not set: that of the tool's own default.
func (m *mapping) unset() core.Class {
	if m.fallback == "" {
		return core.ClassSend
	}
	return m.of(m.fallback)
}
