package policy

import (
	"fmt"
	"strings"

	"github.com/saysohq/sayso/core"
)

func (c *compiler) name(at, s string) bool {
	if wellNamed(s) {
		return true
	}
	c.find(FindingBadName, at, "", "must be 1 to %d bytes of text without hidden characters", MaxName)
	return false
}

// serverName refuses names that would leave open where a tool's own name begins.
func (c *compiler) serverName(at, s string) bool {
	if !wellNamed(s) || strings.Contains(s, mcpSeparator) || strings.HasSuffix(s, "_") {
		c.find(FindingBadName, at, "", "must be a name without two underscores in a row and without one at its end")
		return false
	}
	return true
}

func (c *compiler) runtimes(at string, names []string) bool {
	for i, n := range names {
		if !core.ValidRuntimeName(n) {
			c.find(FindingBadName, fmt.Sprintf("%s.runtimes[%d]", at, i), "", "must be the name of a runtime")
			return false
		}
	}
	return true
}

// word checks what is compared with the words of a name or of a command.
func (c *compiler) word(at, s string) bool {
	if s == "" || len(s) > maxWord || strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	}) {
		c.find(FindingBadName, at, "", "must be 1 to %d lower-case letters, digits and . - _", maxWord)
		return false
	}
	return true
}

// path checks and splits a path to an argument.
func (c *compiler) path(at, s string) []string {
	parts := strings.Split(s, ".")
	ok := len(parts) <= MaxPath
	for _, p := range parts {
		ok = ok && wellNamed(p) && !strings.HasPrefix(p, "$")
	}
	if !ok {
		c.find(FindingBadField, at, "", "must be the names of 1 to %d members with dots in between", MaxPath)
		return []string{""}
	}
	return parts
}

func (c *compiler) paths(at string, fields []string) [][]string {
	var out [][]string
	for i, f := range fields {
		out = append(out, c.path(fmt.Sprintf("%s[%d]", at, i), f))
	}
	return out
}
