package redact

import "strings"

// header hides the value of an authentication header. Inside quotes that open
// right before the name it ends with them; otherwise it is the rest of the line,
// or in a script what looks like a value.
func (sc *scanner) header(name, v int, cookie bool) int {
	s := sc.s
	if name > 0 && (s[name-1] == '"' || s[name-1] == '\'') {
		open := name - 1
		for open > 0 && s[open-1] == '\\' {
			open--
		}
		end := closedBy(s, v, s[open:name])
		if end < len(s) && s[end] != '\n' {
			switch {
			case reference(lastField(s[v:end])):
			case sc.as == asScript:
				stop := min(scriptHeader(s, v, cookie), end)
				sc.literal(v, stop, true)
				sc.hide(stop, end, true)
			default:
				sc.hide(v, end, s[name-1] == '"')
			}
			return end
		}
	}
	end := v
	if sc.as == asScript {
		end = scriptHeader(s, v, cookie)
	} else {
		for end < len(s) && s[end] != '\n' && s[end] != '\r' && !strings.HasPrefix(s[end:], `\r\n`) && !strings.HasPrefix(s[end:], `\n`) {
			end++
		}
	}
	if text := strings.TrimSpace(s[v:end]); text != "" && !reference(lastField(text)) {
		sc.literal(v, end, true)
	}
	return end
}

// lastField is what follows the scheme in "Bearer $TOKEN", when there are at most
// two words; longer values hold more than a reference.
func lastField(s string) string {
	f := strings.Fields(s)
	if len(f) == 0 || len(f) > 2 || len(f) == 2 && !identifier(f[0]) {
		return Marker
	}
	return f[len(f)-1]
}

// scriptHeader is the end of a scheme with its credentials, or of name=value
// pairs, at v. It crosses a semicolon only between cookies, and never to a word
// that another word follows: that would be a command.
func scriptHeader(s string, v int, cookie bool) int {
	end := scriptWord(s, v)
	if next := skipBlanks(s, end); !cookie && next > end && identifier(strings.ReplaceAll(s[v:end], "-", "_")) {
		end = max(end, scriptWord(s, next))
	}
	for end < len(s) {
		next := end
		if s[next] == ';' && cookie || s[next] == ',' && !cookie {
			next++
		} else if s[end-1] != ',' {
			return end
		}
		next = skipBlanks(s, next)
		stop := scriptWord(s, next)
		if name := run(s, next, urlish); name == next || name >= stop || s[name] != '=' {
			return end
		}
		if after := skipBlanks(s, stop); cookie && after < len(s) && strings.IndexByte(";\n\r\"'", s[after]) < 0 {
			return end
		}
		end = stop
	}
	return end
}

// scriptWord ends where a shell would see something else than literal text;
// parameters in double quotes belong to it.
func scriptWord(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \t\r\n;|&<>()`$\"',", s[i]) < 0 {
		i++
		if i < len(s) && s[i] == '"' && s[i-1] == '=' {
			if n := strings.IndexByte(s[i+1:], '"'); n >= 0 && !strings.ContainsAny(s[i+1:i+1+n], "$`\n") {
				i += n + 2
			}
		}
	}
	return i
}
