package policy

import (
	"bytes"
	"slices"
	"strings"
)

// certainty is the answer of a predicate. What lowers a class needs yes; what raises
// one does so on anything but no.
type certainty uint8

const (
	no certainty = iota
	unsure
	yes
)

// holds reports whether all conditions hold of the arguments.
func holds(conditions []condition, d document) certainty {
	if len(conditions) == 0 || len(d) == 0 {
		return unsure
	}
	all := yes
	for i := range conditions {
		all = min(all, conditions[i].holds(d))
	}
	return all
}

func (c *condition) holds(d document) certainty {
	var l leaves
	d.collect(c.path, &l)
	if l.unsure {
		return unsure
	}
	if c.empty {
		if slices.ContainsFunc(l.all(), func(v leaf) bool { return len(v.text) > 0 }) {
			return no
		}
		return yes
	}
	if l.n == 0 {
		return no
	}
	if len(c.isNot) > 0 {
		if slices.ContainsFunc(l.all(), func(v leaf) bool { return !among(v, c.isNot) }) {
			return yes
		}
		return no
	}
	if len(c.parts) > 0 {
		if slices.ContainsFunc(l.all(), func(v leaf) bool {
			return slices.ContainsFunc(c.parts, func(s string) bool { return bytes.Contains(v.text, []byte(s)) })
		}) {
			return yes
		}
		return no
	}
	for _, v := range l.all() {
		if len(c.is) > 0 && !among(v, c.is) || len(c.in) > 0 && !inDomains(v, c.in) {
			return no
		}
	}
	return yes
}

func among(v leaf, values []string) bool {
	return !v.disguised() && slices.ContainsFunc(values, func(s string) bool { return string(v.text) == s })
}

// inDomains reports whether v is one address in one of the domains.
func inDomains(v leaf, domains []string) bool {
	address, ok := NormalRecipient(string(v.text), FormEmail)
	if !ok {
		return false
	}
	_, domain, _ := strings.Cut(address, "@")
	return slices.Contains(domains, domain)
}
