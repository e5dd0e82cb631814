package redact

import "strings"

// argumentSpans are the secret parts of argv[i], i > 0, of an argument list. An
// argument is literal text, so the one after a sensitive flag is hidden whole;
// unless the list holds a program that hands its arguments to a shell.
func argumentSpans(argv []string, i int, literal bool) []span {
	before, arg := argv[i-1], argv[i]
	whole := func(from int) []span { return []span{{from, len(arg)}} }
	flag := strings.TrimLeft(before, "-")
	isFlag := len(flag) < len(before) && !strings.Contains(flag, "=")
	next := false
	if len(before)-len(flag) == 1 {
		next, _ = shortFlag(headOfList(argv, i-1), flag)
	}
	if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && literal && oneWord(arg) {
		if _, attached := shortFlag(headOfList(argv, i), arg[1:]); attached {
			return whole(2)
		}
	}
	switch name, _, pair := strings.Cut(arg, ":"); {
	case !isFlag:
	case (next || SensitiveName(flag)) && !looksLikeFlag(arg) && !harmlessValue(arg):
		if literal || oneWord(arg) {
			return whole(0)
		}
		return behind(before+" ", arg)
	case !literal || !pair:
	case headerFlag(flag) && SensitiveName(name):
		return whole(skipBlanks(arg, len(name)+1))
	case userFlag(flag) && strings.HasSuffix(argv[0], "curl"):
		return whole(len(name) + 1)
	}
	if name, value, ok := strings.Cut(arg, "="); ok && SensitiveName(name) && oneWord(arg) && !harmlessValue(value) {
		return whole(len(name) + 1)
	}
	return secretSpans(arg, asScript)
}

// behind returns the secret spans of s as it reads behind a text.
func behind(text, s string) []span {
	var out []span
	for _, sp := range secretSpans(text+s, asScript) {
		if sp.to > len(text) {
			out = append(out, span{max(0, sp.from-len(text)), sp.to - len(text)})
		}
	}
	return out
}

// literalArguments reports whether no element names a program that puts its
// arguments together for a shell, here or on another machine. There a value may
// hold the next command, and must not hide it.
func literalArguments(argv []string) bool {
	for _, arg := range argv {
		switch strings.TrimSuffix(strings.ToLower(arg[strings.LastIndexAny(arg, `/\`)+1:]), ".exe") {
		case "ssh", "rsh", "mosh", "adb", "watch", "parallel", "eval", "su", "cmd", "powershell", "pwsh", "wsl", "xargs",
			"sh", "bash", "dash", "ash", "zsh", "ksh", "fish":
			return false
		}
	}
	return true
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
	redacted, literal := false, literalArguments(argv)
	for i, arg := range argv {
		var spans []span
		if i == 0 {
			spans = secretSpans(arg, asScript)
		} else {
			b.WriteByte(' ')
			spans = argumentSpans(argv, i, literal)
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
