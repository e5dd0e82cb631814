package tables

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxFaults bounds what is reported; a file with more is of another kind altogether.
const maxFaults = 50

// decoder walks a YAML document and gathers everything that is wrong with it. It
// does not unmarshal: the library's errors would repeat values and name no place.
type decoder struct {
	faults []Fault
	lines  map[string]int // Where each place begins; nil where nobody wants to know.
}

func (d *decoder) fault(n *yaml.Node, at, rule string) {
	if len(d.faults) < maxFaults {
		d.faults = append(d.faults, Fault{Line: n.Line, At: at, Rule: rule})
	}
}

func (d *decoder) err() error {
	if len(d.faults) == 0 {
		return nil
	}
	return &SyntaxError{Faults: d.faults}
}

// document parses exactly one YAML document whose root is a mapping.
func document(b []byte) (*yaml.Node, error) {
	if len(b) > MaxFile {
		return nil, &SyntaxError{Faults: []Fault{{Rule: fmt.Sprintf("must be at most %d bytes", MaxFile)}}}
	}
	var root, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&root); err != nil {
		return nil, syntax(err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, &SyntaxError{Faults: []Fault{{Rule: "must be one YAML document"}}}
	}
	if len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, &SyntaxError{Faults: []Fault{{Line: 1, Rule: "must be a mapping"}}}
	}
	return root.Content[0], nil
}

var lineOf = regexp.MustCompile(`line (\d+)`)

// syntax keeps of the library's error only where it was.
func syntax(err error) error {
	f := Fault{Rule: "must be YAML"}
	if errors.Is(err, io.EOF) {
		f.Rule = "must not be empty"
	}
	if m := lineOf.FindStringSubmatch(err.Error()); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
	}
	return &SyntaxError{Faults: []Fault{f}}
}

// plain refuses what makes a document larger than it is, or other than it looks.
func (d *decoder) plain(n *yaml.Node, at string) bool {
	if d.lines != nil && d.lines[at] == 0 {
		d.lines[at] = n.Line
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fault(n, at, "must not use anchors or aliases")
	case n.Tag == "!!merge":
		d.fault(n, at, "must not use merge keys")
	case n.Style&yaml.TaggedStyle != 0:
		d.fault(n, at, "must not use tags")
	default:
		return true
	}
	return false
}

// mapping calls take for each member in order; take reports whether it knows the key.
func (d *decoder) mapping(n *yaml.Node, at string, take func(key string, v *yaml.Node, at string) bool) {
	if !d.plain(n, at) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fault(n, at, "must be a mapping")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if !d.plain(k, at) || !d.plain(v, at) {
			continue
		}
		if k.Kind != yaml.ScalarNode || k.Tag == "!!null" {
			d.fault(k, at, "must have texts as keys")
			continue
		}
		if seen[k.Value] {
			d.fault(k, at, "has a key twice")
			continue
		}
		seen[k.Value] = true
		place := k.Value
		if at != "" {
			place = at + "." + place
		}
		if !take(k.Value, v, place) {
			d.fault(k, at, "has a key that is not known")
		}
	}
}

// list calls take for each element.
func (d *decoder) list(n *yaml.Node, at string, take func(v *yaml.Node, at string)) {
	if !d.plain(n, at) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.fault(n, at, "must be a list")
		return
	}
	for i, v := range n.Content {
		if place := fmt.Sprintf("%s[%d]", at, i); d.plain(v, place) {
			take(v, place)
		}
	}
}

// text is a scalar as it is written, whatever type YAML would see in it.
func (d *decoder) text(n *yaml.Node, at string) string {
	if !d.plain(n, at) {
		return ""
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.fault(n, at, "must be a text")
		return ""
	}
	return n.Value
}

func (d *decoder) texts(n *yaml.Node, at string) []string {
	var out []string
	d.list(n, at, func(v *yaml.Node, at string) { out = append(out, d.text(v, at)) })
	return out
}

func (d *decoder) flag(n *yaml.Node, at string) bool {
	if d.plain(n, at) && (n.Kind != yaml.ScalarNode || n.Tag != "!!bool") {
		d.fault(n, at, "must be true or false")
	}
	return n.Value == "true"
}

// version is that of the form; there is one so far.
func (d *decoder) version(n *yaml.Node, at string) {
	if d.text(n, at) != "1" {
		d.fault(n, at, "must be 1")
	}
}
