package redact

import (
	"strings"

	"github.com/saysohq/sayso/core"
)

// continued marks the lines of a command behind its first one: the break belongs
// to the command, and is neither a wrap of the screen nor the end of the command.
const continued = "↵ "

// maxIndent bounds the blanks before a line of pretty-printed JSON, so that deep
// nesting does not multiply the size of the text.
const maxIndent = 16

// execDetail is the command, whole, then a blank line and one line each for where
// and how it runs. Only the command can have several lines, and all but its first
// are marked, so nothing in it can pass for one of the lines below it.
func execDetail(s *subject, env Safe, rest *node) core.Detail {
	t := bounded{limit: core.MaxDetail}
	t.add(strings.ReplaceAll(string(VisibleBlock(s.command)), "\n", "\n"+continued))
	gap := "\n\n"
	add := func(label string, value Safe) {
		if value != "" {
			t.add(gap + label + ": ")
			t.add(string(value))
			gap = "\n"
		}
	}
	add("Folder", s.folder)
	add("Executable", s.executable)
	add("Environment", env)
	if len(rest.kids) > 0 {
		add("Also given", notationOf(rest))
	}
	return t.detail()
}

// pluginDetail is the redacted arguments as indented JSON, in the order in which
// they were written. Inside strings, `\u{HEX}` is a hidden character and stands
// out: JSON has no such escape, and a backslash in the text is doubled.
func pluginDetail(args *node) core.Detail {
	t := bounded{limit: core.MaxDetail}
	pretty(&t, args, 1)
	return t.detail()
}

func pretty(t *bounded, n *node, level int) {
	if n.kind != arrayNode && n.kind != objectNode || isShortList(n) {
		notate(t, n)
		return
	}
	open, closing := "[", "]"
	if n.kind == objectNode {
		open, closing = "{", "}"
	}
	t.add(open)
	for i := range n.kids {
		if i > 0 {
			t.add(",")
		}
		t.newline(level)
		if n.kind == objectNode {
			t.quoted(n.kids[i].name)
			t.add(": ")
		}
		pretty(t, &n.kids[i], level+1)
	}
	t.newline(level - 1)
	t.add(closing)
}

// isShortList reports whether a container reads best on one line: an empty one,
// and a list of a few short scalars.
func isShortList(n *node) bool {
	const width = 72
	size := 0
	for i := range n.kids {
		if kid := &n.kids[i]; n.kind == objectNode || kid.kind == arrayNode || kid.kind == objectNode {
			return false
		}
		if size += len(n.kids[i].text) + len(`"", `); size > width {
			return false
		}
	}
	return true
}

// notationOf is a value as JSON on one line, cut far beyond any line's limit.
func notationOf(n *node) Safe {
	t := bounded{limit: core.MaxDetail}
	notate(&t, n)
	return Safe(t.detail().Text)
}

func notate(t *bounded, n *node) {
	switch n.kind {
	case literalNode, numberNode:
		t.add(n.text)
		return
	case stringNode:
		t.quoted(n.text)
		return
	case arrayNode, objectNode:
	}
	open, closing := "[", "]"
	if n.kind == objectNode {
		open, closing = "{", "}"
	}
	t.add(open)
	for i := range n.kids {
		if i > 0 {
			t.add(", ")
		}
		if n.kind == objectNode {
			t.quoted(n.kids[i].name)
			t.add(": ")
		}
		notate(t, &n.kids[i])
	}
	t.add(closing)
}

// bounded keeps the first limit bytes of what is written and counts the rest.
type bounded struct {
	kept  []byte
	total int64
	limit int
}

func (t *bounded) add(s string) {
	t.total += int64(len(s))
	// Somewhat more than the limit is kept, so that the cut can look ahead.
	if room := t.limit + 2*longestMark - len(t.kept); room > 0 {
		t.kept = append(t.kept, s[:min(room, len(s))]...)
	}
}

func (t *bounded) quoted(s string) {
	t.add(`"`)
	t.add(visible(s, notation))
	t.add(`"`)
}

func (t *bounded) newline(level int) {
	t.add("\n" + strings.Repeat("  ", min(level, maxIndent)))
}

func (t *bounded) detail() core.Detail {
	if t.total <= int64(t.limit) {
		return core.Detail{Text: string(t.kept)}
	}
	text, _ := Safe(t.kept).LimitBytes(t.limit)
	kept := strings.TrimSuffix(string(text), Cut)
	if oddBackslashes(kept) {
		kept = kept[:len(kept)-1] // Half of an escape.
	}
	return core.Detail{Text: kept + Cut, Omitted: t.total - int64(len(kept))}
}
