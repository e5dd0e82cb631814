package redact

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe is text that was made visible. It is a type of its own so that the step is
// taken exactly once: every function that makes text visible takes a plain
// string, and a Safe handed to it would not compile. A second pass would turn a
// mark into the mark of its own backslash.
type Safe string

// Cut is the visible mark of a cut, U+2026. It stands inside the limit that
// caused it.
const Cut = "…"

// maxMarks is how many combining marks may follow each other. No living script
// needs more; longer piles paint over the lines above and below.
const maxMarks = 4

// maxBlanks is how many blanks may follow each other. Nobody aligns so widely by hand,
// and whoever pads further pushes what follows out of sight.
const maxBlanks = 64

// Visible makes one line of text safe to look at. Control, format, bidirectional
// and zero-width characters, spaces other than U+0020, fillers, variation
// selectors, tags, private use, unassigned code points, U+FFFD, and from the
// fifth on combining marks in a row, from the 65th on blanks, become `\u{HEX}` with upper-case digits and
// no leading zeros. So do line feed and tab: what is shown on one line is one
// line.
//
// The result can be read back: a backslash that stands before "u{" in the input
// is itself shown as `\u{5C}`, so nobody can write a mark by hand. Bytes that are
// no UTF-8 are shown as `\u{FFFD}`; only they cannot be told apart. Emoji that are
// built with joiners or variation selectors show their parts. Which code points
// count as assigned is up to the Unicode tables of the Go release.
func Visible(s string) Safe { return Safe(visible(s, line)) }

// VisibleBlock is Visible for text of several lines: line feed and tab stay.
func VisibleBlock(s string) Safe { return Safe(visible(s, block)) }

// layout says what becomes of line feeds, tabs, quotes and backslashes.
type layout uint8

const (
	line     layout = iota // One line: line feed and tab are marks.
	block                  // Several lines: line feed and tab stay.
	notation               // Between the quotes of a JSON string.
)

func visible(s string, as layout) string {
	clean := cleanPrefix(s, as)
	if clean == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:clean])
	marks, blanks := 0, clean-len(strings.TrimRight(s[:clean], " \t"))
	for i := clean; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		marks, blanks = countMark(marks, r), countBlank(blanks, r)
		switch {
		case blanks > maxBlanks && (r == ' ' || as == block):
			writeMark(&b, r)
		case as == block && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case as == notation && strings.ContainsRune("\"\\\n\r\t", r):
			b.WriteByte('\\')
			b.WriteByte("\"\\nrt"[strings.IndexRune("\"\\\n\r\t", r)])
		case hidden(r), marks > maxMarks, r == '\\' && strings.HasPrefix(s[i+1:], "u{"):
			writeMark(&b, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// cleanPrefix is the length of the leading printable ASCII, which is most text.
func cleanPrefix(s string, as layout) int {
	blanks := 0
	for i := range len(s) {
		c := s[i]
		if blanks = countBlank(blanks, rune(c)); blanks > maxBlanks {
			return i
		}
		if as == block && (c == '\n' || c == '\t') {
			continue
		}
		if as == notation && c == '"' || c < ' ' || c > '~' || c == '\\' {
			return i
		}
	}
	return len(s)
}

func countBlank(before int, r rune) int {
	if r == ' ' || r == '\t' {
		return before + 1
	}
	return 0
}

func writeMark(b *strings.Builder, r rune) {
	b.WriteString(`\u{`)
	b.WriteString(strings.ToUpper(strconv.FormatInt(int64(r), 16)))
	b.WriteByte('}')
}

func countMark(before int, r rune) int {
	if r >= 0x300 && unicode.Is(unicode.M, r) {
		return before + 1
	}
	return 0
}

// hidden reports whether r is invisible, looks like an ordinary space or changes
// how its neighbours are drawn.
func hidden(r rune) bool {
	switch {
	case r >= ' ' && r <= '~':
		return false
	case !unicode.IsPrint(r): // Controls, format, odd spaces, private use, unassigned.
		return true
	case r < 0x34F:
		return false
	case r == utf8.RuneError, r == 0xFFFC: // Replacement and object replacement.
		return true
	case r == 0x2800, r == 0x1D159, r == 0x16FE4: // Letters and symbols with an empty glyph.
		return true
	}
	// Hangul fillers, grapheme joiner, Khmer inherent vowels and the like.
	return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
		unicode.Is(unicode.Variation_Selector, r)
}

// Limit cuts s to at most limit code points, the mark of the cut included, and
// reports whether it did. It never cuts inside `\u{HEX}` or a Marker. A limit
// below one gives "".
func (s Safe) Limit(limit int) (Safe, bool) {
	if len(s) <= limit {
		return s, false
	}
	if limit < 1 {
		return "", s != ""
	}
	at, n := 0, 0
	for i := range string(s) {
		if n == limit-1 {
			at = i
		}
		if n == limit {
			return s[:wholeUnits(string(s), at)] + Cut, true
		}
		n++
	}
	return s, false
}

// LimitBytes cuts s to at most limit bytes, the mark of the cut included, on a
// rune boundary. It never cuts inside `\u{HEX}` or a Marker. A limit too small
// for the mark gives "".
func (s Safe) LimitBytes(limit int) (Safe, bool) {
	if len(s) <= limit {
		return s, false
	}
	if limit < len(Cut) {
		return "", true
	}
	return s[:wholeUnits(string(s), limit-len(Cut))] + Cut, true
}

// longestMark is the length of `\u{10FFFF}`.
const longestMark = 10

// wholeUnits moves at back to where no rune, mark or Marker is split.
func wholeUnits(s string, at int) int {
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	for i := at - 1; i >= max(0, at-longestMark) && i < len(s); i-- {
		if s[i] == '}' {
			break
		}
		if s[i] == '\\' && strings.HasPrefix(s[i:], `\u{`) {
			at = i
			break
		}
	}
	for i := max(0, at-len(Marker)+1); i < at; i++ {
		if strings.HasPrefix(s[i:], Marker) {
			return i
		}
	}
	return at
}
