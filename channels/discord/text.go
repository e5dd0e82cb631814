package discord

import (
	"strings"

	"github.com/saysohq/sayso/channels/internal/text"
)

const (
	maxContent = 2000 // UTF-16 units of a message: the strictest reading of "characters".
	ellipsis   = text.Ellipsis
	fence      = "```"
	// fenceUnits is what a code block adds to its text.
	fenceUnits = 2*len(fence) + 2
)

// units is the length of s as the platform counts it.
func units(s string) int { return text.Cost(text.UTF16).Size(s) }

// cut bounds s to most units with a visible cut.
func cut(s string, most int) (string, bool) { return text.Cost(text.UTF16).Cut(s, most) }

// split cuts s into parts of at most most units.
func split(s string, most int) []string { return text.Cost(text.UTF16).Split(s, most) }

// fit bounds s so that its encoded form has at most most UTF-16 units.
func fit(s string, most int, encode func(string) string) (encoded string, wasCut bool) {
	if e := encode(s); units(e) <= most {
		return e, false
	}
	low, high := 1, min(units(s), max(most, 1)) // An encoded text is never shorter than the text.
	for low < high {
		middle := (low + high + 1) / 2
		if shorter, _ := cut(s, middle); units(encode(shorter)) <= most {
			low = middle
		} else {
			high = middle - 1
		}
	}
	shorter, _ := cut(s, low)
	return encode(shorter), true
}

// clean makes visible what clients would not show: control characters, and marks
// that change the direction of a line.
func clean(s string) string { return text.Visible(s, unseen) }

func unseen(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x200b && r <= 0x200f && r != 0x200d,
		r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff:
		return true
	}
	return false
}

// live are the characters out of which clients make markup: emphasis, code, spoilers,
// quotes, headings, lists, links, mentions, dates, emoji and addresses (which need
// their colon). A backslash before any of them shows the character alone.
const live = "\\*_~`|><#-+[]@:."

// escape makes s plain text for the clients.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(live, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// block sets s in a code block, in which clients leave all alone; where it could
// break out of one, it is escaped text.
func block(s string) string {
	if breaksFence(s) {
		return escape(s)
	}
	return fence + "\n" + s + "\n" + fence
}

// breaksFence reports whether s would end a code block or make none.
func breaksFence(s string) bool {
	return strings.Contains(s, fence) || strings.Trim(s, "\n") == ""
}

// code sets s in monospaced type where it can.
func code(s string) string {
	if strings.ContainsAny(s, "`\n") || strings.TrimSpace(s) == "" {
		return escape(s)
	}
	return "`" + s + "`"
}

// bold and italic set escaped text; white space at an end would break the marks.
func bold(s string) string   { return "**" + s + "**" }
func italic(s string) string { return "*" + s + "*" }

func firstOf(s, otherwise string) string {
	if strings.TrimSpace(s) == "" {
		return otherwise
	}
	return s
}
