package discord

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// seen is what a client makes of a text.
type seen struct {
	text  strings.Builder
	pings []string
}

var (
	token    = regexp.MustCompile(`^<(@[!&]?\d+|#\d+|a?:\w+:\d+|/[^:>]+:\d+|id:\w+|t:-?\d+(:[tTdDfFR])?|https?://[^>]+)>`)
	address  = regexp.MustCompile(`^(https?|discord|steam)://[^\s<]+`)
	emoji    = regexp.MustCompile(`^:[^\s:]+:`)
	masked   = regexp.MustCompile(`^\[[^\]]+\]\([^)]+\)`)
	everyone = regexp.MustCompile(`^@(everyone|here)`)
	language = regexp.MustCompile(`^[A-Za-z0-9_+\-.#]+\n`)
	lineMark = regexp.MustCompile(`^(#{1,3} |-# |>>> |> |[-*+] |\d+\. )`)
)

// Show reads a text as a client does: the text without its markup, and whatever
// would become a mention, link or emoji.
func Show(s string) (text string, pings []string) {
	var v seen
	v.read(s)
	return v.text.String(), v.pings
}

func (v *seen) read(s string) {
	lineStart := true
	for s != "" {
		n := v.step(s, lineStart)
		lineStart = strings.HasSuffix(s[:n], "\n")
		s = s[n:]
	}
}

// step takes one token off s and returns its length.
func (v *seen) step(s string, lineStart bool) int {
	if n := v.code(s); n > 0 {
		return n
	}
	if s[0] == '\\' && len(s) > 1 && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[1]) >= 0 {
		v.text.WriteByte(s[1])
		return 2
	}
	for _, live := range []*regexp.Regexp{token, address, masked, everyone, emoji} {
		m := live.FindString(s)
		switch {
		case m == "":
			continue
		case strings.HasPrefix(m, "<t:"):
			v.text.WriteString("(a date)")
		default:
			v.pings = append(v.pings, m)
			v.text.WriteString("(" + strings.Trim(m, "<>[]") + ")")
		}
		return len(m)
	}
	if lineStart {
		if m := lineMark.FindString(s); m != "" {
			return len(m)
		}
	}
	r, n := utf8.DecodeRuneInString(s)
	if !strings.ContainsRune("*_~|", r) {
		v.text.WriteRune(r)
	}
	return n
}

// code reads a code block or a code span; 0 when there is none.
func (v *seen) code(s string) int {
	if strings.HasPrefix(s, "```") {
		end := strings.Index(s[3:], "```")
		if end > 0 {
			inner := s[3 : 3+end]
			inner = strings.TrimPrefix(inner, language.FindString(inner))
			if inner = strings.Trim(inner, "\n"); inner != "" {
				v.text.WriteString("\n" + inner + "\n")
				return end + 6
			}
		}
	}
	run := len(s) - len(strings.TrimLeft(s, "`"))
	if run == 0 {
		return 0
	}
	marks := s[:run]
	for from := run; from < len(s); {
		i := strings.Index(s[from:], marks)
		if i < 0 {
			break
		}
		at := from + i
		closing := len(s[at:]) - len(strings.TrimLeft(s[at:], "`"))
		if closing == run && at > run {
			v.text.WriteString(s[run:at])
			return at + run
		}
		from = at + closing
	}
	v.text.WriteString(marks) // Stands for itself.
	return run
}
