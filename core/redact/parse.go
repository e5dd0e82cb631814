package redact

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of JSON that is read.
const (
	MaxDocument = 1 << 20 // Bytes of one document (K29).
	MaxDepth    = 1_000   // Nested arrays and objects.
)

type nodeKind uint8

const (
	literalNode nodeKind = iota // true, false, null: text is the word.
	numberNode                  // text is the number as written.
	stringNode                  // text is the decoded string.
	arrayNode
	objectNode
)

// node is one JSON value. Members of objects keep the order they were written in.
type node struct {
	kind nodeKind
	name string // As the member of an object.
	text string
	kids []node
}

// ruleError is why a document was refused. It never repeats the input.
type ruleError string

// Error implements error.
func (e ruleError) Error() string { return string(e) }

// The rules of a document.
const (
	errEmpty     = ruleError("must be a JSON value")
	errSize      = ruleError("must be at most 1048576 bytes")
	errUTF8      = ruleError("must be valid UTF-8")
	errSyntax    = ruleError("must be one valid JSON value")
	errTrailing  = ruleError("must have nothing after the JSON value")
	errDepth     = ruleError("must not be nested deeper than 1000 levels")
	errSurrogate = ruleError("must not contain half of a surrogate pair")
	errDuplicate = ruleError("must not repeat a member of an object")
	errRange     = ruleError("must not contain a number beyond the range of a double")
)

// parser reads RFC 8259 JSON, more strictly than encoding/json does: half
// surrogates and repeated members are errors instead of being repaired.
type parser struct {
	src   string
	pos   int
	depth int
}

func parse(doc string) (node, error) {
	switch {
	case len(doc) > MaxDocument:
		return node{}, errSize
	case !utf8.ValidString(doc):
		return node{}, errUTF8
	}
	p := &parser{src: doc}
	if p.skipSpace(); p.pos == len(doc) {
		return node{}, errEmpty
	}
	n, err := p.value()
	if err != nil {
		return node{}, err
	}
	if p.skipSpace(); p.pos != len(doc) {
		return node{}, errTrailing
	}
	return n, nil
}

func (p *parser) skipSpace() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// next takes c, after white space, and reports whether it was there.
func (p *parser) next(c byte) bool {
	p.skipSpace()
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) value() (node, error) {
	p.skipSpace()
	if p.pos == len(p.src) {
		return node{}, errSyntax
	}
	switch c := p.src[p.pos]; {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		s, err := p.str()
		return node{kind: stringNode, text: s}, err
	case c == '-' || isDigit(c):
		return p.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(p.src[p.pos:], word) {
			p.pos += len(word)
			return node{kind: literalNode, text: word}, nil
		}
	}
	return node{}, errSyntax
}

func (p *parser) enter() error {
	p.pos++
	if p.depth++; p.depth > MaxDepth {
		return errDepth
	}
	return nil
}

func (p *parser) array() (node, error) {
	n := node{kind: arrayNode}
	if err := p.enter(); err != nil {
		return n, err
	}
	defer func() { p.depth-- }()
	if p.next(']') {
		return n, nil
	}
	for {
		kid, err := p.value()
		if err != nil {
			return n, err
		}
		n.kids = append(n.kids, kid)
		if p.next(']') {
			return n, nil
		}
		if !p.next(',') {
			return n, errSyntax
		}
	}
}

func (p *parser) object() (node, error) {
	n := node{kind: objectNode}
	if err := p.enter(); err != nil {
		return n, err
	}
	defer func() { p.depth-- }()
	if p.next('}') {
		return n, nil
	}
	var seen nameSet
	for {
		if p.skipSpace(); p.pos == len(p.src) || p.src[p.pos] != '"' {
			return n, errSyntax
		}
		name, err := p.str()
		if err != nil {
			return n, err
		}
		if !p.next(':') {
			return n, errSyntax
		}
		kid, err := p.value()
		if err != nil {
			return n, err
		}
		kid.name = name
		if !seen.add(n.kids, name) {
			return n, errDuplicate
		}
		n.kids = append(n.kids, kid)
		if p.next('}') {
			return n, nil
		}
		if !p.next(',') {
			return n, errSyntax
		}
	}
}

// nameSet finds repeated members: by looking through the few, by a map once they
// are many.
type nameSet map[string]struct{}

func (s *nameSet) add(before []node, name string) bool {
	const few = 12
	if len(before) < few {
		for i := range before {
			if before[i].name == name {
				return false
			}
		}
		return true
	}
	if *s == nil {
		*s = make(nameSet, 2*few)
		for i := range before {
			(*s)[before[i].name] = struct{}{}
		}
	}
	if _, ok := (*s)[name]; ok {
		return false
	}
	(*s)[name] = struct{}{}
	return true
}

// number takes the longest text of the grammar
// [ "-" ] ( "0" / 1-9 *digit ) [ "." 1*digit ] [ ( "e" / "E" ) [ "+" / "-" ] 1*digit ].
func (p *parser) number() (node, error) {
	start := p.pos
	if p.src[p.pos] == '-' {
		p.pos++
	}
	first := p.pos
	if n := p.digits(); n == 0 || n > 1 && p.src[first] == '0' {
		return node{}, errSyntax
	}
	if p.pos < len(p.src) && p.src[p.pos] == '.' {
		p.pos++
		if p.digits() == 0 {
			return node{}, errSyntax
		}
	}
	if p.pos < len(p.src) && p.src[p.pos]|0x20 == 'e' {
		p.pos++
		if p.pos < len(p.src) && (p.src[p.pos] == '+' || p.src[p.pos] == '-') {
			p.pos++
		}
		if p.digits() == 0 {
			return node{}, errSyntax
		}
	}
	return node{kind: numberNode, text: p.src[start:p.pos]}, nil
}

func (p *parser) digits() int {
	start := p.pos
	for p.pos < len(p.src) && isDigit(p.src[p.pos]) {
		p.pos++
	}
	return p.pos - start
}

// str reads a string; without escapes it is a part of the source, not a copy.
func (p *parser) str() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			p.pos++
			return p.src[start : p.pos-1], nil
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", errSyntax
		}
		p.pos++
	}
	return "", errSyntax
}

func (p *parser) escaped(start int) (string, error) {
	b := []byte(p.src[start:p.pos])
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		p.pos++
		switch {
		case c == '"':
			return string(b), nil
		case c < ' ':
			return "", errSyntax
		case c != '\\':
			b = append(b, c)
			continue
		}
		r, err := p.escape()
		if err != nil {
			return "", err
		}
		b = utf8.AppendRune(b, r)
	}
	return "", errSyntax
}

// escape reads what follows a backslash.
func (p *parser) escape() (rune, error) {
	if p.pos == len(p.src) {
		return 0, errSyntax
	}
	c := p.src[p.pos]
	p.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return p.unicodeEscape()
	}
	return 0, errSyntax
}

func (p *parser) unicodeEscape() (rune, error) {
	r, err := p.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if !strings.HasPrefix(p.src[p.pos:], `\u`) {
		return 0, errSurrogate
	}
	p.pos += 2
	low, err := p.hex4()
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, errSurrogate
	}
	return r, nil
}

func (p *parser) hex4() (rune, error) {
	if len(p.src)-p.pos < 4 {
		return 0, errSyntax
	}
	var r rune
	for _, c := range []byte(p.src[p.pos : p.pos+4]) {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, errSyntax
		}
	}
	p.pos += 4
	return r, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
