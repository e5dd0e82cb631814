package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
)

// jsonType is the only content type of request bodies and answers.
const jsonType = "application/json"

// maxDepth bounds the nesting of a body, which recursive readers follow.
const maxDepth = 128

// errJSON is a body that is not the JSON that RFC 8259 asks for; its text never
// repeats a byte of it.
var errJSON = errors.New("expected JSON in UTF-8, with unique names and at most " + strconv.Itoa(maxDepth) + " levels")

// strictJSON is the format of the API. Two programs must not read one body in two
// ways, because a hash and a person's decision hang on it. So beyond
// encoding/json it refuses broken UTF-8, lone surrogates, repeated names and names
// in another case.
func strictJSON() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			return enc.Encode(v)
		},
		Unmarshal: decode,
	}
}

// decode is called twice for a body: with *any to validate it against the schema,
// then with the input's type. The first call checks the text.
func decode(data []byte, v any) error {
	if _, untyped := v.(*any); untyped {
		if err := checkText(data); err != nil {
			return err
		}
		if err := json.Unmarshal(data, v); err != nil {
			return errJSON
		}
		return nil
	}
	if err := exactNames(data, reflect.TypeOf(v)); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // A number beyond 64 bits; the schema saw the rest.
			return errors.New("expected a number of 64 bits at most")
		}
		return errJSON
	}
	return nil
}

func checkText(data []byte) error {
	if !utf8.Valid(data) || loneSurrogate(data) {
		return errJSON
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := uniqueNames(dec); err != nil {
		return errJSON
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errJSON
	}
	return nil
}

// loneSurrogate reports whether a \u escape names half a code point: decoders
// replace it silently, so that two of them may disagree about an id. In JSON a
// backslash stands in strings only.
func loneSurrogate(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(data[i:])
		if !ok {
			i++ // A two-byte escape: the byte after the backslash may be one itself.
			continue
		}
		i += 5
		switch {
		case unit >= 0xdc00 && unit < 0xe000:
			return true
		case unit >= 0xd800 && unit < 0xdc00:
			low, ok := escapedUnit(data[i+1:])
			if !ok || low < 0xdc00 || low >= 0xe000 {
				return true
			}
			i += 6
		}
	}
	return false
}

func escapedUnit(b []byte) (unit uint64, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return unit, err == nil
}

// uniqueNames walks one value without recursion and refuses an object that names
// a member twice.
func uniqueNames(dec *json.Decoder) error {
	var open []map[string]struct{} // One per open object; nil for an array.
	wantsName := false
	for {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				open, wantsName = append(open, map[string]struct{}{}), true
			case '[':
				open, wantsName = append(open, nil), false
			case '}', ']':
				open = open[:len(open)-1]
				wantsName = inObject(open)
			}
			if len(open) > maxDepth {
				return errJSON
			}
		case string:
			if !wantsName {
				wantsName = inObject(open)
				break
			}
			names := open[len(open)-1]
			if _, twice := names[t]; twice {
				return errJSON
			}
			names[t] = struct{}{}
			wantsName = false
		default:
			wantsName = inObject(open)
		}
		if len(open) == 0 {
			return nil
		}
	}
}

func inObject(open []map[string]struct{}) bool {
	return len(open) > 0 && open[len(open)-1] != nil
}

// exactNames refuses members whose name differs from a field's in case only:
// encoding/json would take them for the field. It follows our own structs and not
// what callers nest below raw JSON.
func exactNames(data []byte, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
		var items []json.RawMessage
		if json.Unmarshal(data, &items) != nil {
			return errJSON
		}
		for _, item := range items {
			if err := exactNames(item, t.Elem()); err != nil {
				return err
			}
		}
		return nil
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return errJSON
	}
	known := map[string]reflect.Type{}
	for f := range fieldsOf(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = f.Type
	}
	for name, raw := range members {
		field, ok := known[name]
		if !ok {
			return errors.New("expected names in the case of the documentation")
		}
		if err := exactNames(raw, field); err != nil {
			return err
		}
	}
	return nil
}

func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for f := range t.Fields() {
			if f.IsExported() && !yield(f) {
				return
			}
		}
	}
}

// validText refuses text of a path or query that no record can hold.
func validText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || (r >= 0x7f && r < 0xa0) })
}

// lookup reads the {id} of a path. What cannot be an id is as unknown as an id
// that does not exist (R155), and never reaches a store.
func lookup(id string) (core.Lookup, error) {
	if len(id) > core.MaxRuntimeName+1+core.MaxGivenID || !validText(id) || id == "" {
		return core.Lookup{}, core.ErrNotFound
	}
	return core.Lookup{ID: id}, nil
}

// lookupOrRef also takes a resolution reference, as resolve does (R176). Ids and
// references are disjoint by construction.
func lookupOrRef(idOrRef string) (core.Lookup, error) {
	if core.ValidRef(idOrRef) {
		return core.Lookup{Ref: idOrRef}, nil
	}
	return lookup(idOrRef)
}
