package redact

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Marker stands where something secret was.
const Marker = "[hidden]"

// span is a part of a string, in bytes.
type span struct{ from, to int }

// reading says how a string is to be taken.
type reading uint8

const (
	// asText hides the whole rest of the line after an authentication header.
	asText reading = iota
	// asScript hides no more of the line than looks like a value: what stands
	// behind may be the next command, and nobody may hide a command by writing
	// "Cookie:" in front of it.
	asScript
)

// Secrets replaces everything secret in one string by Marker and reports whether
// there was any. It looks through characters that nobody sees. The result is not
// yet safe to show: Visible is the next step.
func Secrets(s string) (string, bool) {
	spans := secretSpans(s, asText)
	return mask(s, spans), len(spans) > 0
}

// secretSpans returns the secret parts of raw in order, without overlaps.
func secretSpans(raw string, as reading) []span {
	text, offsets := seen(raw)
	sc := scanner{s: text, as: as}
	sc.run()
	if len(sc.found) == 0 {
		return nil
	}
	spans := merge(sc.found)
	if offsets != nil {
		for i, sp := range spans {
			spans[i] = span{offsets[sp.from], offsets[sp.to-1] + 1}
		}
	}
	return spans
}

// merge drops empty spans, sorts and joins what overlaps.
func merge(spans []span) []span {
	spans = slices.DeleteFunc(spans, func(sp span) bool { return sp.from >= sp.to })
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	out := spans[:0]
	for _, sp := range spans {
		if n := len(out); n > 0 && sp.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, sp.to)
			continue
		}
		out = append(out, sp)
	}
	return out
}

func mask(s string, spans []span) string {
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		b.WriteString(s[at:sp.from])
		b.WriteString(Marker)
		at = sp.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// seen is what a reader takes raw for: hidden characters dropped, odd spaces as
// spaces. The offsets lead from each byte back to raw; nil when nothing changed.
func seen(raw string) (string, []int) {
	plain := true
	for i := range len(raw) {
		if c := raw[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7F {
			plain = false
			break
		}
	}
	if plain || !strings.ContainsFunc(raw, unseen) {
		return raw, nil
	}
	b := make([]byte, 0, len(raw))
	offsets := make([]int, 0, len(raw))
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRuneInString(raw[i:])
		switch {
		case !unseen(r):
			for k := range size {
				b = append(b, raw[i+k])
				offsets = append(offsets, i+k)
			}
		case r == 0x2028, r == 0x2029, r == 0x85, r == '\v', r == '\f':
			b = append(b, '\n')
			offsets = append(offsets, i+size-1)
		case unicode.Is(unicode.Zs, r):
			b = append(b, ' ')
			offsets = append(offsets, i+size-1)
		}
		i += size
	}
	return string(b), offsets
}

func unseen(r rune) bool { return hidden(r) && r != '\n' && r != '\t' && r != '\r' }

// scanner walks once over a string. Every rule looks at bounded text around its
// place or moves the walk behind what it took, so that the time is linear.
type scanner struct {
	s     string
	as    reading
	depth int
	found []span
}

func (sc *scanner) run() {
	for i := 0; i < len(sc.s); {
		if end := shapeAt(sc.s, i); end > i {
			sc.add(i, end)
			i = end
			continue
		}
		i = max(i+1, sc.at(i))
	}
}

// at applies the rules that start at s[i] and returns where to go on.
func (sc *scanner) at(i int) int {
	switch sc.s[i] {
	case ':':
		if strings.HasPrefix(sc.s[i:], "://") {
			return sc.url(i)
		}
		return sc.assignment(i)
	case '=':
		return sc.assignment(i)
	case '-':
		return sc.flag(i)
	case ',':
		return sc.pair(i)
	case '>':
		return sc.element(i)
	case 'b', 'B':
		return sc.scheme(i)
	case 'p', 'P':
		return sc.sql(i, "password ", "with ", "set ", "encrypted ")
	case 'i', 'I':
		return sc.sql(i, "identified by ")
	}
	return i + 1
}

func (sc *scanner) add(from, to int) {
	if from < to {
		sc.found = append(sc.found, span{from, to})
	}
}

// scheme hides the value after "Bearer" and "Basic" anywhere.
func (sc *scanner) scheme(i int) int {
	if i > 0 && word.has(sc.s[i-1]) {
		return i + 1
	}
	name := ""
	switch {
	case foldPrefix(sc.s[i:], "bearer"):
		name = "bearer"
	case foldPrefix(sc.s[i:], "basic"):
		name = "basic"
	default:
		return i + 1
	}
	v := i + len(name)
	switch {
	case strings.HasPrefix(sc.s[v:], "%20"):
		v += 3
	case v < len(sc.s) && isBlank(sc.s[v]):
		v = skipBlanks(sc.s, v)
	default:
		return v
	}
	end := bareValue(sc.s, v)
	value := sc.s[v:end]
	if name == "basic" && !basicPair(value) || name == "bearer" && aboutBearer(value) || reference(value) {
		return v
	}
	sc.hide(v, end, true)
	return end
}

// aboutBearer lists words that follow "bearer" where people write about it.
func aboutBearer(v string) bool {
	switch strings.ToLower(strings.Trim(v, ".:?!")) {
	case "token", "tokens", "auth", "authentication", "authorization", "scheme", "schemes",
		"header", "headers", "credential", "credentials", "of", "is", "and", "or":
		return true
	}
	return false
}

// url hides the user information of a URL, and the paths of webhooks that are
// secrets as a whole. An @ behind the authority is not user information.
func (sc *scanner) url(colon int) int {
	start := colon + len("://")
	if colon == 0 || !alnum.has(sc.s[colon-1]) {
		return start
	}
	end := start
	for end < len(sc.s) && !strings.ContainsRune("/?#\\ \t\r\n\"'<>`", rune(sc.s[end])) {
		end++
	}
	if at := strings.LastIndexByte(sc.s[start:end], '@'); at > 0 {
		sc.hide(start, start+at, true)
		start += at + 1
	}
	path := ""
	switch host := strings.ToLower(sc.s[start:end]); host {
	case "hooks.slack.com":
		path = "/services/"
	case "discord.com", "discordapp.com", "canary.discord.com", "ptb.discord.com":
		path = "/api/webhooks/"
	default:
		return end
	}
	if strings.HasPrefix(sc.s[end:], path) {
		v := end + len(path)
		end = run(sc.s, v, base)
		sc.add(v, end)
	}
	return end
}

// sql hides the quoted literal behind a phrase, when one of the given words
// stands before it.
func (sc *scanner) sql(i int, phrase string, before ...string) int {
	v := i + len(phrase)
	if !foldPrefix(sc.s[i:], phrase) || v >= len(sc.s) || sc.s[v] != '\'' && sc.s[v] != '"' {
		return i + 1
	}
	ok := len(before) == 0
	for _, w := range before {
		ok = ok || i >= len(w) && strings.EqualFold(sc.s[i-len(w):i], w)
	}
	if !ok {
		return i + 1
	}
	return sc.value(v)
}

func foldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// skipBlanks skips blanks and line continuations.
func skipBlanks(s string, i int) int {
	for i < len(s) {
		switch {
		case isBlank(s[i]):
			i++
		case strings.HasPrefix(s[i:], "\\\n"):
			i += 2
		default:
			return i
		}
	}
	return i
}
