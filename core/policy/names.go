package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mcpPrefix and mcpSeparator are how agents write the tools of tool servers:
// mcp__server__tool.
const (
	mcpPrefix    = "mcp__"
	mcpSeparator = "__"
)

// toolName is a tool as the tables look for it.
type toolName struct {
	full   string // As the request spells it: the key of rules.
	mcp    bool   // Of a tool server.
	server string // "" for built-ins, and where the spelling leaves it open.
	tool   string // Within its server, or full.
}

// parseName takes a name apart. Where the spelling leaves open which server a tool
// belongs to, the server is "": no listing and no exemption is then its.
func (p *Policy) parseName(runtime, full string) toolName {
	n := toolName{full: full, tool: full}
	if s, tool, ok := p.byPrefix(runtime, full); ok {
		n.mcp, n.server, n.tool = true, s, tool
		return n
	}
	if rest, ok := strings.CutPrefix(full, mcpPrefix); ok {
		n.mcp = true
		server, tool, ok := strings.Cut(rest, mcpSeparator)
		if ok && server != "" && tool != "" && !ambiguous(server, tool) {
			n.server, n.tool = server, tool
		}
		return n
	}
	n.mcp = looksLikeMCP(full)
	return n
}

// ambiguous reports whether server and tool could have been cut elsewhere. Three
// underscores in a row, or a second separator, leave it open.
func ambiguous(server, tool string) bool {
	return strings.HasSuffix(server, "_") || strings.HasPrefix(tool, "_") ||
		strings.Contains(tool, mcpSeparator) || strings.Contains(server, mcpSeparator)
}

// looksLikeMCP reports whether a name is, in whatever spelling, one of a tool server.
func looksLikeMCP(name string) bool {
	var b [4]byte
	n := 0
	for _, r := range name {
		if hidden(r) {
			continue
		}
		if r = unicode.ToLower(r); r > unicode.MaxASCII {
			return false
		}
		b[n] = byte(r)
		if n++; n == len(b) {
			break
		}
	}
	return n == len(b) && string(b[:3]) == "mcp" && strings.IndexByte("_.:/-", b[3]) >= 0
}

// byPrefix finds the declared server whose prefix a name has; the longest wins. A
// name that has a prefix but for its spelling is a server's, nobody knows whose.
func (p *Policy) byPrefix(runtime, full string) (server, tool string, ok bool) {
	longest := 0
	for i := range p.prefixes {
		x := &p.prefixes[i]
		if !x.in.covers(runtime) || len(full) <= len(x.prefix) || !strings.EqualFold(full[:len(x.prefix)], x.prefix) {
			continue
		}
		switch {
		case full[:len(x.prefix)] != x.prefix:
			if longest == 0 {
				server, tool, ok = "", full, true
			}
		case len(x.prefix) > longest:
			longest, server, tool, ok = len(x.prefix), x.server, full[len(x.prefix):], true
		}
	}
	return server, tool, ok
}

// skeleton is what remains of a name when everything is dropped by which two
// spellings of one name differ: case, separators, invisible characters.
func skeleton(name string) string {
	for i := range len(name) {
		if c := name[i]; !isDigit(c) && (c < 'a' || c > 'z') {
			return slowSkeleton(name)
		}
	}
	return name
}

func slowSkeleton(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	for _, r := range name {
		if hidden(r) || r == '_' || r == '-' || r == '.' || r == ' ' || r == '/' || r == ':' {
			continue
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// hidden reports whether a reader would not see r.
func hidden(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) || !unicode.IsPrint(r) && r != ' '
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func plainASCII(s []byte) bool {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wellNamed reports whether a table may use s as a name: 1 to MaxName bytes,
// printable, no blanks at the ends.
func wellNamed(s string) bool {
	return s != "" && len(s) <= MaxName && utf8.ValidString(s) && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, hidden)
}

// maxWord is the longest word that is looked up.
const maxWord = 32

// words calls found for each word of a text, lower-cased, until it returns false.
// Words are of letters and end where camelCase turns; with joined, as in names of
// programs, digits and "." "-" "_" belong to them and case ends nothing.
func words[T ~string | ~[]byte](s T, joined bool, found func(word []byte) bool) {
	var word [maxWord]byte
	n, fits, lower := 0, true, false
	flush := func() bool {
		ok := n == 0 || !fits || found(word[:n])
		n, fits = 0, true
		return ok
	}
	for i := range len(s) {
		c := s[i]
		upper := isUpper(c)
		switch {
		case upper || c >= 'a' && c <= 'z':
		case joined && (isDigit(c) || c == '.' || c == '-' || c == '_'):
		default:
			if !flush() {
				return
			}
			lower = false
			continue
		}
		turns := upper && (lower || n > 0 && i+1 < len(s) && s[i+1] >= 'a' && s[i+1] <= 'z') // fooBar, HTTPBar
		if turns && !joined && !flush() {
			return
		}
		if lower = !upper; upper {
			c |= 0x20
		}
		if n == maxWord {
			fits = false
			continue
		}
		word[n] = c
		n++
	}
	flush()
}
