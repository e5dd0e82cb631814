package telegram

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// spec is the official description of the Bot API as a machine can read it.
type spec struct {
	Methods map[string]specMethod `json:"methods"`
	Types   map[string]specType   `json:"types"`
}

type specMethod struct {
	Fields []specField `json:"fields"`
}

type specType struct {
	Fields   []specField `json:"fields"`
	Subtypes []string    `json:"subtypes"`
}

type specField struct {
	Name     string   `json:"name"`
	Types    []string `json:"types"`
	Required bool     `json:"required"`
}

// loadSpec reads telegram/bot-api.json below folder; "" loads nothing.
func loadSpec(folder string) (*spec, error) {
	if folder == "" {
		return nil, nil //nolint:nilnil // No folder means no second opinion.
	}
	raw, err := os.ReadFile(filepath.Join(folder, "telegram", "bot-api.json"))
	if err != nil {
		return nil, fmt.Errorf("read specification: %w", err)
	}
	s := new(spec)
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fmt.Errorf("decode specification: %w", err)
	}
	return s, nil
}

// check compares a request with the specification and names what is wrong.
func (s *spec) check(q *request) []string {
	if s == nil {
		return nil
	}
	m, ok := s.Methods[q.method]
	if !ok {
		return []string{"method is unknown"}
	}
	var wrong []string
	for name := range q.values {
		if !slices.ContainsFunc(m.Fields, func(f specField) bool { return f.Name == name }) {
			wrong = append(wrong, "unknown parameter "+name)
		}
	}
	for _, f := range m.Fields {
		text, given := q.values[f.Name]
		if _, file := q.files[f.Name]; file {
			if !slices.Contains(f.Types, "InputFile") {
				wrong = append(wrong, f.Name+": no file expected")
			}
			continue
		}
		switch {
		case !given && f.Required:
			wrong = append(wrong, "missing parameter "+f.Name)
		case given:
			wrong = append(wrong, s.checkTop(f, text)...)
		}
	}
	return wrong
}

// checkTop checks a parameter, which is text unless its type is a structure.
func (s *spec) checkTop(f specField, text string) []string {
	var first []string
	for _, t := range f.Types {
		wrong := s.checkText(f.Name, t, text)
		if len(wrong) == 0 {
			return nil
		}
		if first == nil || len(wrong) < len(first) {
			first = wrong
		}
	}
	return first
}

func (s *spec) checkText(path, typ, text string) []string {
	var err error
	switch typ {
	case "String", "InputFile":
		return nil
	case "Integer":
		_, err = strconv.ParseInt(text, 10, 64)
	case "Float":
		_, err = strconv.ParseFloat(text, 64)
	case "Boolean", "True":
		_, err = strconv.ParseBool(text)
	default:
		var v any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return []string{path + ": no JSON"}
		}
		return s.checkValue(path, typ, v)
	}
	if err != nil {
		return []string{path + ": no " + typ}
	}
	return nil
}

func (s *spec) checkValue(path, typ string, v any) []string {
	if item, ok := strings.CutPrefix(typ, "Array of "); ok {
		return s.checkArray(path, item, v)
	}
	var ok bool
	switch typ {
	case "String":
		_, ok = v.(string)
	case "Boolean", "True":
		_, ok = v.(bool)
	case "Integer":
		n, isNumber := v.(json.Number)
		_, err := n.Int64()
		ok = isNumber && err == nil
	case "Float":
		_, ok = v.(json.Number)
	default:
		return s.checkObject(path, typ, v)
	}
	if !ok {
		return []string{path + ": no " + typ}
	}
	return nil
}

func (s *spec) checkArray(path, item string, v any) []string {
	list, ok := v.([]any)
	if !ok {
		return []string{path + ": no array"}
	}
	var wrong []string
	for i, e := range list {
		wrong = append(wrong, s.checkValue(fmt.Sprintf("%s[%d]", path, i), item, e)...)
	}
	return wrong
}

func (s *spec) checkObject(path, typ string, v any) []string {
	t, known := s.Types[typ]
	object, ok := v.(map[string]any)
	if !known || !ok {
		return []string{path + ": no " + typ}
	}
	if len(t.Subtypes) > 0 {
		return s.checkAny(path, t.Subtypes, v)
	}
	var wrong []string
	for name := range object {
		if !slices.ContainsFunc(t.Fields, func(f specField) bool { return f.Name == name }) {
			wrong = append(wrong, path+": unknown field "+name)
		}
	}
	for _, f := range t.Fields {
		value, given := object[f.Name]
		switch {
		case !given && f.Required:
			wrong = append(wrong, path+": missing field "+f.Name)
		case given && !emptyCopyText(f.Name, value):
			wrong = append(wrong, s.checkAny(path+"."+f.Name, f.Types, value)...)
		}
	}
	return wrong
}

// emptyCopyText is what a widely used client puts into every button; the real
// server takes the fields before it.
func emptyCopyText(name string, v any) bool {
	object, ok := v.(map[string]any)
	return ok && name == "copy_text" && object["text"] == ""
}

func (s *spec) checkAny(path string, types []string, v any) []string {
	var best []string
	for _, t := range types {
		wrong := s.checkValue(path, t, v)
		if len(wrong) == 0 {
			return nil
		}
		if best == nil || len(wrong) < len(best) {
			best = wrong
		}
	}
	return best
}
