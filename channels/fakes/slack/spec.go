package slack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Specs are the official descriptions of the Web API and of blocks as a machine can
// read them. They never change and may be shared by many fakes; nil checks nothing.
type Specs struct {
	methods map[string]methodSpec
	common  map[string]string
	schema  *jsonschema.Schema // Of a message's blocks.
	modal   *jsonschema.Schema
}

type methodSpec struct {
	Args map[string]struct {
		Required bool `json:"required"`
	} `json:"args"`
	Errors map[string]string `json:"errors"`
}

// LoadSpecs reads slack/ below folder; "" loads nothing.
func LoadSpecs(folder string) (*Specs, error) {
	if folder == "" {
		return nil, nil //nolint:nilnil // No folder means no second opinion.
	}
	p := &Specs{methods: map[string]methodSpec{}}
	dir := filepath.Join(folder, "slack")
	for name := range methods() {
		var m methodSpec
		if err := readJSON(filepath.Join(dir, "methods", name+".json"), &m); err != nil {
			return nil, err
		}
		p.methods[name] = m
	}
	if err := readJSON(filepath.Join(dir, "methods", "_common_errors.json"), &p.common); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "blockkit.schema.json")
	c := jsonschema.NewCompiler()
	var err error
	if p.schema, err = c.Compile(file + "#/definitions/Blocks"); err != nil {
		return nil, fmt.Errorf("compile the schema of blocks: %w", err)
	}
	if p.modal, err = c.Compile(file + "#/definitions/SlackView"); err != nil {
		return nil, fmt.Errorf("compile the schema of dialogs: %w", err)
	}
	return p, nil
}

func readJSON(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read specification: %w", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decode specification: %w", err)
	}
	return nil
}

// arguments compares a call with the specification and names what is wrong.
func (p *Specs) arguments(q *request) []string {
	if p == nil {
		return nil
	}
	m := p.methods[q.method]
	var wrong []string
	for name := range q.args {
		if _, known := m.Args[name]; !known {
			wrong = append(wrong, "unknown argument "+name)
		}
	}
	for name, a := range m.Args {
		if _, given := q.args[name]; a.Required && !given {
			wrong = append(wrong, "missing argument "+name)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// documents reports whether a method may answer an error.
func (p *Specs) documents(method, name string) bool {
	if p == nil {
		return true
	}
	_, own := p.methods[method].Errors[name]
	_, common := p.common[name]
	return own || common
}

func (p *Specs) blocks(raw string) []string {
	if p == nil {
		return nil
	}
	return validate(p.schema, raw)
}

func (p *Specs) view(raw string) []string {
	if p == nil {
		return nil
	}
	return validate(p.modal, raw)
}

func validate(s *jsonschema.Schema, raw string) []string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(raw)))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		return strings.Split(err.Error(), "\n")
	}
	return nil
}
