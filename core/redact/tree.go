package redact

import (
	"strconv"
	"strings"
)

// maxEmbedded is how many layers of JSON inside strings are opened.
const maxEmbedded = 4

// walker redacts a tree of JSON in place and remembers what it met.
type walker struct {
	redacted bool
	mixed    bool
	embedded int // Layers of JSON inside strings around this tree.
}

// text redacts one string. A string that is itself a JSON document is redacted as
// one; it keeps its own spelling unless something in it was secret.
func (w *walker) text(s string, as reading) string {
	w.mixed = w.mixed || MixedScript(s)
	if doc, ok := w.document(s); ok {
		return doc
	}
	spans := secretSpans(s, as)
	w.redacted = w.redacted || len(spans) > 0
	return mask(s, spans)
}

func (w *walker) document(s string) (string, bool) {
	t := strings.TrimSpace(s)
	if w.embedded == maxEmbedded || len(t) < 2 || (t[0] != '{' || t[len(t)-1] != '}') && (t[0] != '[' || t[len(t)-1] != ']') {
		return "", false
	}
	n, err := parse(t)
	if err != nil {
		return "", false
	}
	in := walker{embedded: w.embedded + 1}
	in.walk(&n, asText)
	if !in.redacted {
		return s, true
	}
	w.redacted = true
	return string(appendPlain(nil, &n)), true
}

// appendPlain writes compact JSON in the order that was written.
func appendPlain(b []byte, n *node) []byte {
	switch n.kind {
	case literalNode, numberNode:
		return append(b, n.text...)
	case stringNode:
		return appendCanonicalString(b, n.text)
	case arrayNode, objectNode:
	}
	open, closing := byte('['), byte(']')
	if n.kind == objectNode {
		open, closing = '{', '}'
	}
	b = append(b, open)
	for i := range n.kids {
		if i > 0 {
			b = append(b, ',')
		}
		if n.kind == objectNode {
			b = append(appendCanonicalString(b, n.kids[i].name), ':')
		}
		b = appendPlain(b, &n.kids[i])
	}
	return append(b, closing)
}

func (w *walker) walk(n *node, as reading) {
	switch n.kind {
	case stringNode:
		n.text = w.text(n.text, as)
	case arrayNode:
		w.array(n, as)
	case objectNode:
		w.object(n, as)
	case literalNode, numberNode:
	}
}

func (w *walker) object(n *node, as reading) {
	if name, value := namedValue(n.kids); name != nil && SensitiveName(name.text) {
		w.hide(value)
	}
	var names map[string]int
	for i := range n.kids {
		kid := &n.kids[i]
		if SensitiveName(kid.name) {
			w.hide(kid)
		} else {
			w.walk(kid, readingOf(kid.name, as))
		}
		if clean := w.text(kid.name, asText); clean != kid.name {
			if names == nil {
				names = make(map[string]int)
			}
			if names[clean]++; names[clean] > 1 {
				clean += " #" + strconv.Itoa(names[clean]) // Two hidden names stay two.
			}
			kid.name = clean
		}
	}
}

// array also knows the forms of lists that carry names: a flag with its argument
// in the next element, and a header as a pair.
func (w *walker) array(n *node, as reading) {
	strs := make([]string, 0, min(len(n.kids), 64))
	for i := range n.kids {
		if n.kids[i].kind != stringNode {
			strs = nil
			break
		}
		strs = append(strs, n.kids[i].text)
	}
	pair := len(strs) == 2 && (headerName(strs[0]) || strings.Contains(strs[0], "-") && strs[0][0] != '-' && SensitiveName(strs[0]))
	literal := literalArguments(strs)
	for i := range n.kids {
		kid := &n.kids[i]
		switch {
		case i == 1 && pair:
			w.hide(kid)
		case i > 0 && len(strs) > 1 && strings.HasPrefix(strs[i-1], "-"):
			spans := argumentSpans(strs, i, literal)
			if len(spans) == 0 {
				w.walk(kid, as)
				continue
			}
			w.redacted, w.mixed = true, w.mixed || MixedScript(kid.text)
			kid.text = mask(kid.text, spans)
		default:
			w.walk(kid, as)
		}
	}
}

// hide replaces a value. null, true, false and what is empty are no secrets.
func (w *walker) hide(n *node) {
	switch {
	case n.kind == literalNode, n.kind == stringNode && n.text == "":
		return
	case (n.kind == arrayNode || n.kind == objectNode) && len(n.kids) == 0:
		return
	}
	w.redacted = true
	*n = node{kind: stringNode, name: n.name, text: Marker}
}

// namedValue recognises {"name": ..., "value": ...}, the form of headers,
// variables and form fields.
func namedValue(kids []node) (name, value *node) {
	for i := range kids {
		switch strings.ToLower(kids[i].name) {
		case "name", "key", "header", "field", "variable":
			if kids[i].kind == stringNode {
				name = &kids[i]
			}
		case "value", "val", "content":
			value = &kids[i]
		}
	}
	if value == nil {
		return nil, nil
	}
	return name, value
}

// readingOf says how the strings under a member are read: those that somebody
// may run are scripts.
func readingOf(name string, around reading) reading {
	for _, w := range nameWords(name) {
		switch w {
		case "command", "commands", "cmd", "cmds", "script", "scripts", "code", "shell", "bash",
			"exec", "run", "argv", "args", "source", "program", "snippet", "expression", "input":
			return asScript
		}
	}
	return around
}
