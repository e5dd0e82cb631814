package gateway

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/saysohq/sayso/core/api"
)

// transform is the one place that all bodies pass: it replaces the framework's
// errors, which repeat values, and stamps the request id on ours.
func (g *Gateway) transform(ctx huma.Context, _ string, v any) (any, error) {
	c := callOf(ctx.Context())
	switch e := v.(type) {
	case *huma.ErrorModel:
		p := g.fromFramework(ctx.Operation(), e)
		return g.stamp(c, p), nil
	case *problem:
		return g.stamp(c, e), nil
	}
	return v, nil
}

func (g *Gateway) stamp(c *call, p *problem) *problem {
	c.code = p.Code
	p.RequestID = c.id
	return p
}

// fromFramework keeps of an error of huma the place and the rule, and nothing that
// the caller wrote.
func (g *Gateway) fromFramework(op *huma.Operation, e *huma.ErrorModel) *problem {
	code := codeInternal
	switch e.Status {
	case http.StatusBadRequest:
		code = codeMalformed
	case http.StatusUnprocessableEntity:
		code = "invalid"
	case http.StatusRequestEntityTooLarge:
		code = codeTooLarge
	case http.StatusUnsupportedMediaType:
		code = codeMediaType
	case http.StatusRequestTimeout:
		code = codeTimeout
	}
	p := newProblem(code)
	p.header = nil // The framework has written its header already.
	for _, d := range e.Errors {
		p.Errors = append(p.Errors, faultOf(g.api.OpenAPI().Components.Schemas, op, d))
	}
	slices.SortFunc(p.Errors, func(a, b api.Fault) int {
		return strings.Compare(a.Field+"\x00"+a.Rule, b.Field+"\x00"+b.Rule)
	})
	p.Errors = slices.Compact(p.Errors)
	return p
}

// safeRules are the beginnings of the framework's rules that are built from the
// schema alone. A rule of another form, and what follows a colon, may hold a value.
var safeRules = [...]string{"expected ", "required ", "invalid integer", "invalid boolean"}

func faultOf(schemas huma.Registry, op *huma.Operation, d *huma.ErrorDetail) api.Fault {
	where, known := place(schemas, op, d.Location)
	if d.Message == validation.MsgUnexpectedProperty || d.Message == "unknown query parameter" {
		rule := "holds a field that this call does not know"
		if len(known) > 0 {
			rule += "; it knows " + strings.Join(known, ", ")
		}
		return api.Fault{Field: where, Rule: rule}
	}
	rule, _, _ := strings.Cut(d.Message, ": ")
	if missing, ok := strings.CutPrefix(rule, "expected required property "); ok {
		missing, _, _ = strings.Cut(missing, " ")
		return api.Fault{Field: strings.TrimPrefix(where+"."+missing, "body."), Rule: "is required"}
	}
	for _, safe := range safeRules {
		if strings.HasPrefix(rule, safe) {
			return api.Fault{Field: where, Rule: rule}
		}
	}
	return api.Fault{Field: where, Rule: "cannot be read"}
}

// place is the part of a location that the schema knows, and the names that it
// knows there. Names that the caller made up end it.
func place(schemas huma.Registry, op *huma.Operation, location string) (where string, known []string) {
	if inBody, ok := strings.CutPrefix(location, "body"); ok {
		if op.RequestBody == nil || op.RequestBody.Content[jsonType] == nil {
			return "body", nil
		}
		return walk(schemas, op.RequestBody.Content[jsonType].Schema, inBody)
	}
	where = "request"
	if strings.HasPrefix(location, "query.") {
		where = "query"
	}
	for _, p := range op.Parameters {
		if location == p.In+"."+p.Name {
			return location, nil
		}
		if where == p.In {
			known = append(known, p.Name)
		}
	}
	return where, known
}

// walk follows a location such as ".operation.tool" or ".audience[3]" as far as
// the schema does.
func walk(schemas huma.Registry, s *huma.Schema, rest string) (where string, known []string) {
	for {
		for s.Ref != "" {
			s = schemas.SchemaFromRef(s.Ref)
		}
		next, taken := step(s, rest)
		if taken == "" {
			break
		}
		s, where, rest = next, where+taken, rest[len(taken):]
	}
	known = slices.Sorted(maps.Keys(s.Properties))
	if where == "" {
		return "body", known
	}
	return strings.TrimPrefix(where, "."), known
}

// step takes one index or one known property from the front of a location.
func step(s *huma.Schema, rest string) (next *huma.Schema, taken string) {
	if end := strings.IndexByte(rest, ']'); end > 0 && rest[0] == '[' && s.Items != nil {
		if _, err := strconv.Atoi(rest[1:end]); err == nil {
			return s.Items, rest[:end+1]
		}
	}
	for name, property := range s.Properties {
		tail, ok := strings.CutPrefix(rest, "."+name)
		if ok && (tail == "" || tail[0] == '.' || tail[0] == '[') {
			return property, "." + name
		}
	}
	return nil, ""
}
