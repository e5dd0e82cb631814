package policy

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// maxDocument bounds the arguments that are read, in bytes (K29).
const maxDocument = 1 << 20

// maxLeaves bounds the values of one field that are looked at. A call with more is
// judged by the strictest reading.
const maxLeaves = 64

// document is JSON that readable has found valid: the walker relies on that, and
// reads it in place.
type document []byte

// readable checks the arguments once, so that walking them cannot fail.
func readable(arguments []byte) (document, bool) {
	if len(arguments) > maxDocument || !utf8.Valid(arguments) || !json.Valid(arguments) {
		return nil, false
	}
	return bytes.TrimLeft(arguments, " \t\r\n"), true
}

// leaf is one plain value: the text of a string, or a number or boolean as written.
type leaf struct {
	text   []byte
	quoted bool // A string: many a tool takes "false" for true.
}

// disguised reports whether a string reads like a number or a boolean. What a tool
// makes of it nobody knows, so it is none of the values that a table lists.
func (v leaf) disguised() bool {
	if !v.quoted {
		return false
	}
	switch string(v.text) {
	case "true", "false", "null":
		return true
	}
	return len(v.text) > 0 && (v.text[0] == '-' || isDigit(v.text[0])) && json.Valid(v.text)
}

// leaves are the values of a field, lists walked.
type leaves struct {
	values [maxLeaves]leaf
	n      int
	// unsure: readers of this document may see different values: a member that is
	// repeated or spelled in two ways, an object where a plain value belongs, or too
	// much of anything.
	unsure bool
}

func (l *leaves) all() []leaf { return l.values[:l.n] }

func (l *leaves) add(v leaf) {
	if l.n == maxLeaves {
		l.unsure = true
		return
	}
	l.values[l.n] = v
	l.n++
}

// collect adds the values that the path leads to. A null counts as not set, as do
// empty lists.
func (d document) collect(path []string, out *leaves) {
	const lists = 4 // Nested lists that are walked.
	collect(d, path, lists, out)
}

func collect(value []byte, path []string, lists int, out *leaves) {
	switch c := value[0]; {
	case c == '[':
		if lists == 0 {
			out.unsure = true
			return
		}
		for it := (iterator{rest: value[1:]}); it.element(); {
			if out.n == maxLeaves { // The rest would change nothing but the time it takes.
				out.unsure = true
				return
			}
			collect(it.value, path, lists-1, out)
		}
	case c == '{':
		if len(path) == 0 {
			out.unsure = true
			return
		}
		found := 0
		for it := (iterator{rest: value[1:]}); it.member(); {
			// Some readers of JSON ignore the case of names: what they would take for this
			// field counts, and that nobody can tell which counts, too.
			if !bytes.EqualFold(it.name, []byte(path[0])) {
				continue
			}
			if found++; found > 1 || string(it.name) != path[0] {
				out.unsure = true
			}
			collect(it.value, path[1:], lists, out)
		}
	case bytes.Equal(value, []byte("null")):
	case len(path) > 0:
		out.unsure = true
	default:
		out.add(leaf{text(value), value[0] == '"'})
	}
}

// iterator goes through the members of an object or the elements of a list.
type iterator struct {
	rest  []byte // Behind the opening bracket, or behind a value.
	name  []byte
	value []byte
}

// element moves to the next element of a list.
func (it *iterator) element() bool {
	it.skip()
	if len(it.rest) == 0 || it.rest[0] == ']' || it.rest[0] == '}' {
		return false
	}
	n := length(it.rest)
	it.value, it.rest = it.rest[:n], it.rest[n:]
	return true
}

// member moves to the next member of an object.
func (it *iterator) member() bool {
	if !it.element() {
		return false
	}
	it.name = text(it.value)
	return it.element() // The colon is skipped like a comma.
}

func (it *iterator) skip() {
	for len(it.rest) > 0 {
		switch it.rest[0] {
		case ' ', '\t', '\r', '\n', ',', ':':
			it.rest = it.rest[1:]
		default:
			return
		}
	}
}

// length is how many bytes the value at the beginning of b takes.
func length(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(b))
			}
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 { // The end of what surrounds a plain value.
				return i
			}
		case ',', ' ', '\t', '\r', '\n', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

// text is what a plain value says; without escapes it is a part of the document.
func text(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return value
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil { // Cannot be: it was found valid.
		return value
	}
	return []byte(s)
}
