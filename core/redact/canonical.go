package redact

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/saysohq/sayso/core"
)

// Canonical returns the one spelling of a JSON document: RFC 8785 (JCS), except
// that integers keep all their digits. A number that is written as an integer,
// without fraction and exponent, is the digits as written ("-0" is "0"); up to
// 2^53 that is what JCS writes too. JCS turns larger ones into doubles, so that
// 9007199254740993 and 9007199254740992 would be one action under one hash. All
// other numbers are doubles in the spelling of JCS.
//
// It refuses, with a FieldError (ErrInvalid) on the field "json": more than
// MaxDocument bytes, no JSON value or something after it, text that is not UTF-8,
// a byte order mark, half of a surrogate pair, a member that an object repeats,
// nesting beyond MaxDepth, and a number with fraction or exponent beyond the
// range of a double.
func Canonical(doc []byte) ([]byte, error) {
	b, _, err := canonical(doc)
	if err != nil {
		return nil, core.Invalid("json", "%s", err.Error())
	}
	return b, nil
}

func canonical(doc []byte) ([]byte, node, error) {
	n, err := parse(string(doc))
	if err != nil {
		return nil, node{}, err
	}
	b, err := appendCanonical(make([]byte, 0, len(doc)), &n)
	return b, n, err
}

// ArgumentsHash is "sha256:" and the hex SHA-256 of the canonical JSON of the
// whole arguments (R98). Errors: as Canonical.
func ArgumentsHash(arguments []byte) (string, error) {
	b, err := Canonical(arguments)
	if err != nil {
		return "", err
	}
	return core.HashOf(b), nil
}

// ActionHash is "sha256:" and the hex SHA-256 of the canonical JSON
// {"arguments_hash","kind","operation","tool"}: what a decision is bound to and
// what the runner presents at its claim. Tool and operation are the caller's own
// text, which must be valid UTF-8.
func ActionHash(argumentsHash string, kind core.Kind, tool, operation string) string {
	b := make([]byte, 0, 256)
	for _, member := range [...][2]string{
		{`{"arguments_hash":`, argumentsHash},
		{`,"kind":`, string(kind)},
		{`,"operation":`, operation},
		{`,"tool":`, tool},
	} {
		b = append(b, member[0]...)
		b = appendCanonicalString(b, member[1])
	}
	return core.HashOf(append(b, '}'))
}

func appendCanonical(b []byte, n *node) ([]byte, error) {
	var err error
	switch n.kind {
	case literalNode:
		return append(b, n.text...), nil
	case numberNode:
		return appendNumber(b, n.text)
	case stringNode:
		return appendCanonicalString(b, n.text), nil
	case arrayNode:
		b = append(b, '[')
		for i := range n.kids {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendCanonical(b, &n.kids[i]); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case objectNode:
		b = append(b, '{')
		for i, kid := range sortedKids(n) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendCanonicalString(b, kid.name), ':')
			if b, err = appendCanonical(b, kid); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return nil, errSyntax
}

// sortedKids leaves n as it is: people are shown the order that was written.
func sortedKids(n *node) []*node {
	kids := make([]*node, len(n.kids))
	for i := range n.kids {
		kids[i] = &n.kids[i]
	}
	slices.SortFunc(kids, func(a, b *node) int { return compareUTF16(a.name, b.name) })
	return kids
}

// compareUTF16 orders as RFC 8785 3.2.3 asks, by UTF-16 code units. That is the
// order of the bytes of UTF-8, but for runes beyond U+FFFF: their surrogates
// stand below U+E000.
func compareUTF16(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	const fourBytes, privateUse = 0xF0, 0xEE // Lead bytes of runes from U+10000, and of U+E000 on.
	switch x, y := a[i], b[i]; {
	case x >= fourBytes && y >= privateUse && y < fourBytes:
		return -1
	case y >= fourBytes && x >= privateUse && x < fourBytes:
		return 1
	default:
		return cmp.Compare(x, y)
	}
}

func appendNumber(b []byte, text string) ([]byte, error) {
	if !strings.ContainsAny(text, ".eE") {
		if text == "-0" {
			text = "0"
		}
		return append(b, text...), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errRange
	}
	s, err := jcs.NumberToJSON(f)
	if err != nil {
		return nil, errRange
	}
	return append(b, s...), nil
}

// appendCanonicalString escapes what JSON makes us escape, and nothing else.
func appendCanonicalString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			b = append(b, c)
			continue
		}
		b = appendEscape(b, c)
	}
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	const hexDigits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
