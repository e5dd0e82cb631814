package text

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Ellipsis marks a cut.
const Ellipsis = "…"

// Cost is how much of a limit a character takes, at least 1.
type Cost func(r rune) int

// UTF16 counts UTF-16 units: the strictest reading of a platform's "characters".
func UTF16(r rune) int { return utf16.RuneLen(r) }

// Size is the length of s as limits count it.
func (c Cost) Size(s string) int {
	n := 0
	for _, r := range s {
		n += c(r)
	}
	return n
}

// Cut bounds s to most with a visible cut, on a rune boundary, and never inside a
// visible escape such as \u{200B}.
func (c Cost) Cut(s string, most int) (shorter string, wasCut bool) {
	if c.Size(s) <= most {
		return s, false
	}
	n := 0
	for i, r := range s {
		if n += c(r); n > most-1 {
			s = s[:i]
			break
		}
	}
	const longest = len(`\u{10FFFF`)
	from := max(len(s)-longest, 0)
	if i := strings.LastIndex(s[from:], `\u{`); i >= 0 && !strings.Contains(s[from+i:], "}") {
		s = s[:from+i]
	}
	return strings.TrimSuffix(s, `\`) + Ellipsis, true
}

// Split cuts s into parts of at most most, at line ends where a part keeps at least
// half of its room that way. The parts together are s, which must be valid UTF-8; most
// must leave room for any one character.
func (c Cost) Split(s string, most int) []string {
	var parts []string
	for c.Size(s) > most {
		n, end, lineEnd := 0, 0, 0
		for i, r := range s {
			if n += c(r); n > most {
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
		parts = append(parts, s[:end])
		s = s[end:]
	}
	return append(parts, s)
}

// Visible replaces what is no text and writes out every character that hidden names,
// as \u{200B}.
func Visible(s string, hidden func(rune) bool) string {
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
