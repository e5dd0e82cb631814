package redact

import "strings"

// argumentSpans are the secret parts of one element of an argument list; before
// is the element in front of it, program the first one. The element is literal
// text unless a shell gets it, so the cautious reading is used throughout.
func argumentSpans(before, arg, program string) []span {
	whole := func(from int) []span { return []span{{from, len(arg)}} }
	flag := strings.TrimLeft(before, "-")
	isFlag := len(flag) < len(before) && !strings.Contains(flag, "=")
	switch {
	case isFlag && SensitiveName(flag) && !looksLikeFlag(arg) && !harmlessValue(arg):
		return whole(0)
	case isFlag && headerFlag(flag):
		if name, _, ok := strings.Cut(arg, ":"); ok && (headerName(strings.TrimSpace(name)) || SensitiveName(name)) {
			return whole(skipBlanks(arg, len(name)+1))
		}
	case isFlag && userFlag(flag) && strings.HasSuffix(program, "curl"):
		if name, _, ok := strings.Cut(arg, ":"); ok {
			return whole(len(name) + 1)
		}
	}
	if name, value, ok := strings.Cut(arg, "="); ok && SensitiveName(name) && oneWord(arg) && !harmlessValue(value) {
		return whole(len(name) + 1)
	}
	return secretSpans(arg, asScript)
}

func headerFlag(name string) bool {
	return name == "H" || name == "header" || name == "proxy-header"
}

// oneWord reports whether a shell would take s for literal text.
func oneWord(s string) bool { return !strings.ContainsAny(s, " \t\r\n;|&<>()`$\"'") }

// commandLine writes argv as one would type it, with its secrets hidden, and
// reports whether there were any. The quoting is POSIX: single quotes around
// whatever is not plain, so that nothing in it has a meaning, and the reader sees
// where each argument begins and ends. The result is not yet made visible.
func commandLine(argv []string) (string, bool) {
	var b strings.Builder
	redacted := false
	for i, arg := range argv {
		var spans []span
		if i == 0 {
			spans = secretSpans(arg, asScript)
		} else {
			b.WriteByte(' ')
			spans = argumentSpans(argv[i-1], arg, argv[0])
		}
		redacted = redacted || len(spans) > 0
		writeQuoted(&b, arg, spans)
	}
	return b.String(), redacted
}

func writeQuoted(b *strings.Builder, arg string, spans []span) {
	at, ok := 0, arg != ""
	for _, sp := range spans {
		ok = ok && plain(arg[at:sp.from])
		at = sp.to
	}
	if ok && plain(arg[at:]) {
		b.WriteString(mask(arg, spans))
		return
	}
	b.WriteByte('\'')
	b.WriteString(strings.ReplaceAll(mask(arg, spans), "'", `'\''`))
	b.WriteByte('\'')
}

// plain reports whether no shell gives s a meaning beyond its letters.
func plain(s string) bool {
	for i := range len(s) {
		if !base.has(s[i]) && strings.IndexByte(":@%,", s[i]) < 0 {
			return false
		}
	}
	return true
}
