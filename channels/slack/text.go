package slack

import (
	"strings"
	"unicode/utf16"

	"github.com/saysohq/sayso/channels/internal/text"
)

// cost is how much of a limit a character takes: the platform counts texts after
// escaping, in characters; UTF-16 units are the strictest reading of that word.
func cost(r rune) int {
	switch r {
	case '&':
		return len("&amp;")
	case '<', '>':
		return len("&lt;")
	}
	return utf16.RuneLen(r)
}

// size is the length of a text as limits count it.
func size(s string) int { return text.Cost(cost).Size(s) }

// cut bounds s to most with a visible cut.
func cut(s string, most int) (string, bool) { return text.Cost(cost).Cut(s, most) }

// split cuts s into parts of at most most.
func split(s string, most int) []string { return text.Cost(cost).Split(s, most) }

// clean makes visible what clients would not show, and replaces what is no text.
func clean(s string) string { return text.Visible(s, hidden) }

func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x2028 && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0xFEFF:
		return true
	}
	return false
}

// escape makes text that is markup to the platform mean itself.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// unescape is what a person typed, out of what the platform made of it.
func unescape(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}

func firstOf(s, otherwise string) string {
	if strings.TrimSpace(s) == "" {
		return otherwise
	}
	return s
}
