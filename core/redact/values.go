package redact

import (
	"strings"
	"unicode/utf8"
)

// Bounds of looking back from ":" or "=".
const (
	maxName    = 64 // Bytes of the name.
	maxClosers = 20 // Quotes, escaped as often as they may be, and a bracket.
)

// assignment hides the value of NAME=value, name: value, "name": "value",
// env["NAME"] = value and the like; i is at the ":" or "=".
func (sc *scanner) assignment(i int) int {
	s := sc.s
	if strings.HasPrefix(s[i:], "::") {
		return i + 2
	}
	start, end := nameBefore(s, i)
	name := s[start:end]
	quoted := strings.ContainsAny(s[end:i], "\"'`")
	header := s[i] == ':' && !quoted && headerName(name)
	signed := s[i] == '=' && start > 0 && (s[start-1] == '?' || s[start-1] == '&') && signature(name)
	if !header && !signed && !SensitiveName(name[strings.LastIndexByte(name, '.')+1:]) {
		return i + 1
	}
	v := i + 1
	for v < len(s) && (s[v] == '=' || s[v] == '>') {
		v++
	}
	v = skipBlanks(s, v)
	if header {
		return sc.header(start, v, strings.HasSuffix(strings.ToLower(name), "cookie"))
	}
	return sc.value(v)
}

// signature reports whether a query parameter of this name makes its URL a
// credential: whoever has a presigned URL has the right. Elsewhere a signature is
// no secret.
func signature(name string) bool {
	name = strings.ToLower(name)
	return name == "sig" || name == "signature" || strings.HasSuffix(name, "-signature")
}

// pair hides the value of 'X-Api-Key', 'x' as calls that set a header have it; i is
// at the comma. The name must look like a header's: other arguments stay.
func (sc *scanner) pair(i int) int {
	start, end := nameBefore(sc.s, i)
	v := skipBlanks(sc.s, i+1)
	if end == i || v == len(sc.s) || strings.IndexByte("\"'", sc.s[v]) < 0 {
		return i + 1
	}
	if name := sc.s[start:end]; headerName(name) || strings.Contains(name, "-") && SensitiveName(name) {
		return sc.value(v)
	}
	return i + 1
}

// element hides the text of <password>x</password>; i is at the first ">". In a
// script only what a shell takes for literal text: there the brackets may be
// redirections, with a command between them.
func (sc *scanner) element(i int) int {
	s := sc.s
	from := max(0, i-2*maxName)
	open := strings.LastIndexByte(s[from:i], '<')
	if open < 0 {
		return i + 1
	}
	open += from
	end := run(s, open+1, dotted)
	name := s[open+1 : end]
	if end < i && !isBlank(s[end]) || !SensitiveName(name) {
		return i + 1
	}
	n := strings.IndexByte(s[i+1:], '<')
	if n < 0 || !strings.HasPrefix(s[i+1+n:], "</"+name+">") {
		return i + 1
	}
	text := s[i+1 : i+1+n]
	if harmlessValue(text) || sc.as == asScript && !oneWord(text) {
		return i + 1
	}
	sc.add(i+1, i+1+n)
	return i + 1 + n
}

// nameBefore finds the name that ends before s[i], over blanks, a closing quote
// and a closing bracket.
func nameBefore(s string, i int) (start, end int) {
	end = i
	for end > 0 && i-end < 4 && isBlank(s[end-1]) {
		end--
	}
	for n := 0; end > 0 && n < maxClosers && strings.IndexByte("\"'`]\\", s[end-1]) >= 0; n++ {
		end--
	}
	start = end
	for start > 0 && end-start < maxName && (urlish.has(s[start-1]) || s[start-1] == '.' || s[start-1] >= utf8.RuneSelf) {
		start--
	}
	for start < end && (s[start] == '-' || s[start] == '.') {
		start++
	}
	return start, end
}

// flag hides the argument after a sensitive flag: --password x, also in the text
// of a list: "--password", "x". For curl, -u hides what follows the colon.
func (sc *scanner) flag(i int) int {
	s := sc.s
	if i > 0 && strings.IndexByte(" \t\n\r\"'`([,", s[i-1]) < 0 {
		return i + 1
	}
	start := i
	for start < len(s) && s[start] == '-' && start-i < 2 {
		start++
	}
	end := run(s, start, urlish)
	name := s[start:end]
	next, attached := false, false
	if start-i == 1 {
		next, attached = shortFlag(headOf(s, i), name)
	}
	if attached {
		return sc.value(start + 1)
	}
	v := end
	if v < len(s) && (s[v] == '"' || s[v] == '\'') {
		v = skipBlanks(s, v+1)
		if v == len(s) || s[v] != ',' {
			return end
		}
		v++
	} else if v == len(s) || !isBlank(s[v]) && !strings.HasPrefix(s[v:], "\\\n") {
		return end
	}
	v = skipBlanks(s, v)
	switch {
	case v == len(s) || looksLikeFlag(s[v:]):
		return end
	case next, SensitiveName(name):
		return sc.value(v)
	case userFlag(name) && strings.Contains(s[max(0, i-512):i], "curl"):
		return sc.userValue(v)
	}
	return end
}

func looksLikeFlag(s string) bool {
	rest := strings.TrimLeft(s, "-")
	return len(rest) < len(s) && (rest == "" || alnum.has(rest[0]) && !isDigit(rest[0]))
}

// userFlag names curl's flags that take user:password.
func userFlag(name string) bool {
	switch name {
	case "u", "user", "U", "proxy-user":
		return true
	}
	return false
}

func (sc *scanner) userValue(v int) int {
	from, to, _ := valueAt(sc.s, v)
	switch colon := strings.IndexByte(sc.s[from:to], ':'); {
	case colon < 0:
	case from+colon+1 == to: // No password: the user is the key.
		sc.hide(from, to-1, true)
	default:
		sc.hide(from+colon+1, to, true)
	}
	return to
}

// value hides the value at v, quoted or bare, unless it is a word or a reference
// that is no secret.
func (sc *scanner) value(v int) int {
	from, to, quote := valueAt(sc.s, v)
	text := sc.s[from:to]
	if quote == '`' && (sc.as == asScript || !oneWord(text)) {
		return from // A shell runs what stands between backquotes.
	}
	if harmlessValue(text) || quote != '\'' && reference(text) {
		return max(v, to)
	}
	if quote == 0 && to < len(sc.s) && sc.s[to] == '(' && (sc.as == asScript || !strings.ContainsAny(text, "0123456789")) {
		return to // A call: code, not a literal. In a text, names with digits are rather secrets.
	}
	sc.hide(from, to, quote != '\'')
	if quote == 0 && (strings.EqualFold(text, "bearer") || strings.EqualFold(text, "basic")) {
		return from // The credentials come behind the scheme.
	}
	return to
}

// hide adds the span, without the parts that a shell would execute: a command
// substitution is no literal, and whoever decides must see it. In a script nobody
// can tell which shell reads a quoted text once more, here, behind eval or on
// another machine: there the value ends where another command could begin.
func (sc *scanner) hide(from, to int, substitutes bool) {
	if sc.as != asScript {
		sc.literal(from, to, substitutes)
		return
	}
	for i := from; i < to; i++ {
		if end := substitution(sc.s[:to], i); end > i {
			i = end - 1
			continue
		}
		if strings.IndexByte(";|&<>\n\r", sc.s[i]) >= 0 {
			sc.inner(i, to)
			to = i
		}
	}
	sc.literal(from, to, true)
}

// literal adds the span, without its command substitutions if a shell would see any.
func (sc *scanner) literal(from, to int, substitutes bool) {
	if substitutes {
		for i := from; i < to; i++ {
			if end := substitution(sc.s[:to], i); end > i {
				sc.add(from, i)
				sc.inner(i+1, end)
				from, i = end, end-1
			}
		}
	}
	sc.add(from, to)
}

// inner scans what is shown of a value. Deeper nesting than anybody writes is not
// scanned any more, which bounds the work: a text is hidden whole then, and a script
// shown, because whoever nests so deeply has something to hide.
func (sc *scanner) inner(from, to int) {
	const deepest = 8
	if sc.depth == deepest {
		if sc.as != asScript {
			sc.add(from, to)
		}
		return
	}
	in := scanner{s: sc.s[from:to], as: sc.as, depth: sc.depth + 1}
	in.run()
	for _, sp := range in.found {
		sc.add(from+sp.from, from+sp.to)
	}
}

// substitution is the end of the $( ), ${ }, backquoted, <( ) or >( ) part that
// starts at i, or 0.
func substitution(s string, i int) int {
	if s[i] == '`' {
		if n := strings.IndexByte(s[i+1:], '`'); n >= 0 {
			return i + n + 2
		}
		return 0
	}
	if i+1 >= len(s) {
		return 0
	}
	var opened, closed byte
	switch s[i : i+2] {
	case "$(", "<(", ">(":
		opened, closed = '(', ')'
	case "${":
		opened, closed = '{', '}'
	default:
		return 0
	}
	depth := 0
	for k := i + 1; k < len(s); k++ {
		switch s[k] {
		case opened:
			depth++
		case closed:
			if depth--; depth == 0 {
				return k + 1
			}
		}
	}
	return len(s)
}

// valueAt finds the value at v: what stands between quotes, or a bare run. The
// quote is 0 for a bare one.
func valueAt(s string, v int) (from, to int, quote byte) {
	open := v
	for open < len(s) && open-v < 2 && strings.IndexByte("bBrRuU$", s[open]) >= 0 {
		open++
	}
	for open < len(s) && s[open] == '\\' {
		open++
	}
	if open == len(s) || strings.IndexByte("\"'`", s[open]) < 0 {
		return v, bareValue(s, v), 0
	}
	quote = s[open]
	closing := strings.TrimLeft(s[v:open+1], "bBrRuU$")
	if triple := strings.Repeat(string(quote), 3); strings.HasPrefix(s[open:], triple) {
		closing, open = triple, open+2
	}
	from = open + 1
	return from, closedBy(s, from, closing), quote
}

// closedBy is where the closing quote begins; the end of the line without one.
func closedBy(s string, from int, closing string) int {
	for i := from; i < len(s); {
		n := strings.Index(s[i:], closing)
		if n < 0 {
			break
		}
		i += n
		if len(closing) > 1 || !oddBackslashes(s[from:i]) {
			return i
		}
		i++
	}
	if n := strings.IndexByte(s[from:], '\n'); n >= 0 {
		return from + n
	}
	return len(s)
}

func oddBackslashes(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

// bareValue is the end of an unquoted value. Brackets that open within it close
// within it; a comma ends it unless the value goes on behind.
func bareValue(s string, v int) int {
	depth, name := 0, true
	for i := v; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ':
			if !oddBackslashes(s[v:i]) {
				return i
			}
			name = false
		case '\t', '\n', '\r', '"', '\'', '`', ';', '|', '&', '<', '>':
			return trimBackslash(s, v, i)
		case '(', '[', '{':
			if i == v || c == '(' && name {
				return i
			}
			depth++
			name = false
		case ')', ']', '}':
			if depth--; depth < 0 {
				return trimBackslash(s, v, i)
			}
		case ',':
			if depth == 0 && listGoesOn(s[i+1:]) {
				return i
			}
			name = false
		default:
			name = name && (word.has(c) || c == '.') && (i > v || !isDigit(c))
		}
	}
	return len(s)
}

// trimBackslash leaves the backslashes of an escaped quote outside.
func trimBackslash(s string, v, end int) int {
	if s[end] != '"' && s[end] != '\'' {
		return end
	}
	for end > v && s[end-1] == '\\' {
		end--
	}
	return end
}

func identifier(s string) bool {
	for i := range len(s) {
		if !word.has(s[i]) && s[i] != '.' {
			return false
		}
	}
	return s != "" && !isDigit(s[0])
}

// listGoesOn reports whether what follows a comma is the next item of a list.
func listGoesOn(s string) bool {
	if s == "" || strings.IndexByte(" \t\r\n\"'`", s[0]) >= 0 {
		return true
	}
	end := run(s, 0, urlish)
	return end < len(s) && (s[end] == '=' || s[end] == ':')
}

// harmlessValue lists words that say something about a secret and are none.
func harmlessValue(v string) bool {
	switch strings.ToLower(v) {
	case "", "true", "false", "null", "none", "nil", "undefined", "str", "string", "int",
		"bool", "boolean", "bytes", "any", "number", "object", "required", "optional", Marker:
		return true
	}
	return false
}

// reference reports whether v as a whole names a secret that is kept elsewhere.
func reference(v string) bool {
	switch {
	case v == "":
		return true
	case strings.HasPrefix(v, "${") && strings.IndexByte(v, '}') == len(v)-1,
		strings.HasPrefix(v, "${{") && strings.HasSuffix(v, "}}"),
		strings.HasPrefix(v, "$env:") && identifier(v[len("$env:"):]):
		return true
	case v[0] == '$' && len(v) > 1:
		return identifier(v[1:]) && v == strings.ToUpper(v)
	}
	for _, source := range [...]string{"process.env.", "os.environ.", "secrets.", "vars."} {
		if strings.HasPrefix(v, source) && identifier(v) {
			return true
		}
	}
	return false
}
