package slack

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const ellipsis = "…"

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
func size(s string) int {
	n := 0
	for _, r := range s {
		n += cost(r)
	}
	return n
}

// cut bounds s with a visible cut, on a rune boundary, and never inside a visible
// escape such as \u{200B}.
func cut(s string, most int) (string, bool) {
	if size(s) <= most {
		return s, false
	}
	n := 0
	for i, r := range s {
		if n += cost(r); n > most-1 {
			s = s[:i]
			break
		}
	}
	const longest = len(`\u{10FFFF`)
	from := max(len(s)-longest, 0)
	if i := strings.LastIndex(s[from:], `\u{`); i >= 0 && !strings.Contains(s[from+i:], "}") {
		s = s[:from+i]
	}
	return strings.TrimSuffix(s, `\`) + ellipsis, true
}

// split cuts text into parts of at most most, at line ends where a part keeps at
// least half of its room that way.
func split(text string, most int) []string {
	var parts []string
	for size(text) > most {
		n, end, lineEnd := 0, 0, 0
		for i, r := range text {
			if n += cost(r); n > most {
				break
			}
			end = i + utf8.RuneLen(r)
			if r == '\n' && n > most/2 {
				lineEnd = end
			}
		}
		if lineEnd > 0 {
			end = lineEnd
		}
		parts = append(parts, text[:end])
		text = text[end:]
	}
	return append(parts, text)
}

// clean makes visible what clients would not show, and replaces what is no text.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, `\u{%X}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

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
