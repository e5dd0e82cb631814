package redact

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/saysohq/sayso/core"
)

// Bounds of the projection (R91).
const (
	maxString  = 256 // Bytes of one string.
	maxKey     = 64  // Bytes of the name of a member.
	maxMembers = 32  // Members of an array or object, the mark of a cut included.
	maxLevels  = 6   // Nested arrays and objects.
	maxNumber  = 64  // Bytes of a number; a longer one is shown as cut text.
)

// fieldNames is room for the names of all fields and their punctuation.
const fieldNames = 192

// leastSize is the size in JSON of the mark of a cut as a string.
const leastSize = len(`"` + Cut + `"`)

// part is a piece of the projection whose size in JSON is known, so that a budget
// can be divided before anything is written.
type part struct {
	kind nodeKind
	name Safe   // As the member of an object.
	text Safe   // stringNode; the text of a literal or number.
	more int    // Bytes that belong to the part and cannot be cut.
	size int    // In JSON, without the name and with more.
	kids []part // arrayNode, objectNode.
	// solid containers lose no members: the lines of a card.
	solid bool
}

func stringPart(s Safe, more int) part {
	return part{kind: stringNode, text: s, more: more, size: sizeOf(s) + more}
}

// project bounds a redacted value: strings, members and levels.
func (s *subject) project(n *node, level int) part {
	switch n.kind {
	case literalNode:
		return part{kind: literalNode, text: Safe(n.text), size: len(n.text)}
	case numberNode:
		if len(n.text) <= maxNumber {
			return part{kind: numberNode, text: Safe(n.text), size: len(n.text)}
		}
		return stringPart(s.bound(Safe(n.text), maxNumber), 0)
	case stringNode:
		return stringPart(s.bound(Visible(n.text), maxString), 0)
	case arrayNode, objectNode:
	}
	if level > maxLevels {
		s.truncated = true
		return stringPart(Cut, 0)
	}
	p := part{kind: n.kind}
	kids := n.kids
	if len(kids) > maxMembers {
		kids = kids[:maxMembers-1]
	}
	p.kids = make([]part, 0, min(len(kids)+1, maxMembers))
	for i := range kids {
		kid := s.project(&kids[i], level+1)
		if n.kind == objectNode {
			kid.name = unique(p.kids, s.bound(Visible(kids[i].name), maxKey))
		}
		p.kids = append(p.kids, kid)
	}
	if left := len(n.kids) - len(kids); left > 0 {
		s.leftOut(&p, left)
	}
	p.measure()
	return p
}

func (s *subject) bound(t Safe, limit int) Safe {
	t, cut := t.LimitBytes(limit)
	s.truncated = s.truncated || cut
	return t
}

// leftOut shows in place that members are missing.
func (s *subject) leftOut(p *part, n int) {
	s.truncated = true
	kid := stringPart(Safe(strconv.Itoa(n)+" more")+Cut, 0)
	if p.kind == objectNode {
		kid.name = unique(p.kids, Cut)
	}
	p.kids = append(p.kids, kid)
}

// unique keeps names apart that a cut made equal.
func unique(before []part, name Safe) Safe {
	for n, base := 2, name; slices.ContainsFunc(before, func(p part) bool { return p.name == name }); n++ {
		name = base + Safe(" #"+strconv.Itoa(n))
	}
	return name
}

func (p *part) measure() {
	p.size = p.more + p.frame()
	for i := range p.kids {
		p.size += p.kids[i].size
	}
}

// frame is the size of the brackets, commas and names of a container.
func (p *part) frame() int {
	n := len("[]") + max(0, len(p.kids)-1)
	if p.kind == objectNode {
		for i := range p.kids {
			n += sizeOf(p.kids[i].name) + 1
		}
	}
	return n
}

// fit makes p take at most budget bytes: the largest values shrink first, all to
// one level, while names and small values stay; members go, from the end, only
// when even their names do not fit.
func (s *subject) fit(p *part, budget int) {
	if p.size <= budget {
		return
	}
	s.truncated = true
	if p.kind != arrayNode && p.kind != objectNode {
		p.kind, p.text = stringNode, cutJSON(p.text, budget-p.more)
		p.size = sizeOf(p.text) + p.more
		return
	}
	if least := p.least(); least > budget {
		s.dropMembers(p, budget)
		if p.least() > budget {
			*p = part{kind: stringNode, name: p.name, text: Cut, more: p.more, size: leastSize + p.more}
			return
		}
	}
	level := p.level(budget - p.more - p.frame())
	for i := range p.kids {
		s.fit(&p.kids[i], max(level, p.kids[i].floor()))
	}
	p.measure()
}

// level is the size to which larger members are cut so that all fit into room.
// Members that cannot shrink so far take what they need, and the others share the
// rest.
func (p *part) level(room int) int {
	for stuck := make([]bool, len(p.kids)); ; {
		var sizes []int
		for i := range p.kids {
			if !stuck[i] {
				sizes = append(sizes, p.kids[i].size)
			}
		}
		level, settled := waterLevel(sizes, room), true
		for i := range p.kids {
			if floor := p.kids[i].floor(); !stuck[i] && floor > level {
				stuck[i], settled = true, false
				room -= floor
			}
		}
		if settled {
			return level
		}
	}
}

// floor is the least that a part can be cut to.
func (p *part) floor() int {
	if p.solid {
		return p.least()
	}
	return min(p.size, leastSize+p.more)
}

// least is what a container takes when every member is cut as far as possible.
func (p *part) least() int {
	n := p.more + p.frame()
	for i := range p.kids {
		n += p.kids[i].floor()
	}
	return n
}

func (s *subject) dropMembers(p *part, budget int) {
	total := len(p.kids)
	for len(p.kids) > 0 {
		p.kids = p.kids[:len(p.kids)-1]
		trial := part{kind: p.kind, more: p.more, kids: slices.Clone(p.kids)}
		s.leftOut(&trial, total-len(p.kids))
		if trial.least() <= budget {
			p.kids = trial.kids
			return
		}
	}
}

// waterLevel is the largest size to which all larger ones can be cut so that the
// sum fits into room.
func waterLevel(sizes []int, room int) int {
	slices.Sort(sizes)
	for i, size := range sizes {
		if size*(len(sizes)-i) > room {
			return max(0, room/(len(sizes)-i))
		}
		room -= size
	}
	return room
}

// sizeOf is the size of s as a JSON string. Safe text of one line has no controls,
// so only quotes, backslashes and what encoding/json escapes for HTML grow.
func sizeOf(s Safe) int {
	n := len(s) + len(`""`)
	for i := range len(s) {
		n += growth(s[i])
	}
	return n
}

func growth(c byte) int {
	switch c {
	case '"', '\\':
		return 1
	case '<', '>', '&':
		return len(`\u003c`) - 1
	}
	return 0
}

// cutJSON cuts s so that it takes at most budget bytes as a JSON string.
func cutJSON(s Safe, budget int) Safe {
	room := budget - leastSize
	for i := range len(s) {
		if room -= 1 + growth(s[i]); room < 0 {
			return s[:wholeUnits(string(s), i)] + Cut
		}
	}
	return s + Cut
}

// appendJSON writes a part with the escapes that encoding/json would add to it.
func (p *part) appendJSON(b []byte) []byte {
	switch p.kind {
	case literalNode, numberNode:
		return append(b, p.text...)
	case stringNode:
		return appendJSONString(b, p.text)
	case arrayNode, objectNode:
	}
	open, closing := byte('['), byte(']')
	if p.kind == objectNode {
		open, closing = '{', '}'
	}
	b = append(b, open)
	for i := range p.kids {
		if i > 0 {
			b = append(b, ',')
		}
		if p.kind == objectNode {
			b = append(appendJSONString(b, p.kids[i].name), ':')
		}
		b = p.kids[i].appendJSON(b)
	}
	return append(b, closing)
}

func appendJSONString(b []byte, s Safe) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '<':
			b = append(b, `\u003c`...)
		case '>':
			b = append(b, `\u003e`...)
		case '&':
			b = append(b, `\u0026`...)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// presentation assembles the projection and divides the 4 KiB among its parts.
func (s *subject) presentation(a *core.RawAction) core.Presentation {
	title := s.title(a)
	description := s.description(a, title)
	s.mixed = s.mixed || MixedScript(a.Agent)
	all := part{kind: arrayNode, kids: []part{
		stringPart(description, 0),
		stringPart(s.bound(Visible(s.command), maxString), 0),
		stringPart(s.bound(s.folder, maxString), 0),
		stringPart(s.bound(s.executable, maxString), 0),
		s.linesPart(),
	}}
	if s.arguments != nil {
		all.kids = append(all.kids, s.project(s.arguments, 1))
	}
	all.measure()
	s.fit(&all, core.MaxPresentation-fieldNames-sizeOf(title))

	p := core.Presentation{
		Kind: a.Kind, Title: string(title), Description: string(all.kids[0].text),
		Command: string(all.kids[1].text), Folder: string(all.kids[2].text), Executable: string(all.kids[3].text),
		Lines: s.lines, Redacted: s.redacted, Truncated: s.truncated, MixedScript: s.mixed,
	}
	for i := range p.Lines {
		value := string(all.kids[4].kids[i].text)
		p.Lines[i].Cut = p.Lines[i].Cut || value != p.Lines[i].Value
		p.Lines[i].Value = value
	}
	if s.arguments != nil {
		p.Arguments = json.RawMessage(all.kids[5].appendJSON(nil))
	}
	return p
}

// linesPart measures the lines; labels and the names of fields cannot be cut.
func (s *subject) linesPart() part {
	p := part{kind: arrayNode, solid: true}
	for _, l := range s.lines {
		p.kids = append(p.kids, stringPart(Safe(l.Value), sizeOf(Safe(l.Label))+len(`{"label":,"value":,"cut":true}`)))
	}
	p.measure()
	return p
}
