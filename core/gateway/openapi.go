package gateway

import (
	_ "embed"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core/api"
)

// spec is the committed description of the API; a test keeps it true.
//
//go:embed openapi.yaml
var spec []byte

// apiVersion is the version of the description, not of the program.
const apiVersion = "1"

// bearer names the security scheme of every call that is not public.
const bearer = "bearer"

func (g *Gateway) apiConfig() huma.Config {
	c := huma.DefaultConfig("sayso", apiVersion)
	c.CreateHooks = nil // They add $schema to every body.
	c.DocsPath, c.OpenAPIPath, c.SchemasPath = "", "", ""
	c.Formats = map[string]huma.Format{jsonType: strictJSON(), "json": strictJSON()} // The suffix: problem+json.
	c.DefaultFormat = jsonType
	c.RejectUnknownQueryParameters = true
	c.Transformers = []huma.Transformer{g.transform}
	c.Info.Description = "Ask a person before a machine acts. Every error is an RFC 9457 problem with a stable code."
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		bearer: {Type: "http", Scheme: bearer, Description: "A runtime's token, or the session of a person."},
	}
	return c
}

// finishSpec tidies the description once every call is registered. It forgets the
// framework's own error, which is never sent, and opens the documents that are
// only ever answered: they may get more fields, while requests stay closed.
func (g *Gateway) finishSpec() {
	oapi := g.api.OpenAPI()
	schemas := oapi.Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	closed := map[*huma.Schema]bool{}
	for _, item := range oapi.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op != nil && op.RequestBody != nil {
				reach(oapi.Components.Schemas, op.RequestBody.Content[jsonType].Schema, closed)
			}
		}
	}
	for _, s := range schemas {
		if !closed[s] {
			s.AdditionalProperties = nil
		}
	}
}

// reach marks everything that a schema is made of.
func reach(r huma.Registry, s *huma.Schema, seen map[*huma.Schema]bool) {
	for s != nil && s.Ref != "" {
		s = r.SchemaFromRef(s.Ref)
	}
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	reach(r, s.Items, seen)
	for _, p := range s.Properties {
		reach(r, p, seen)
	}
}

// Spec returns the OpenAPI 3.1 description as YAML, as the code has it.
func (g *Gateway) Spec() ([]byte, error) { return g.api.OpenAPI().YAML() }

// operation describes a call that needs a bearer.
func (g *Gateway) operation(id, method, path, summary string) huma.Operation {
	op := g.public(id, method, path, summary)
	op.Security = []map[string][]string{{bearer: {}}}
	return op
}

// public describes a call that proves itself by its body.
func (g *Gateway) public(id, method, path, summary string) huma.Operation {
	problems := g.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[api.Problem](), true, "Problem")
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		// readBody has read and bounded the body before the framework sees it.
		MaxBodyBytes: -1, BodyReadTimeout: -1,
		Responses: map[string]*huma.Response{
			"default": {
				Description: "Any error: decide by its code.",
				Content:     map[string]*huma.MediaType{problemType: {Schema: problems}},
			},
		},
	}
}

func (g *Gateway) serveSpec(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(spec)
}

// output is a body with its status.
type output[T any] struct {
	Status int
	Body   T
}

func respond[T any](body T) *output[T] { return &output[T]{Status: http.StatusOK, Body: body} }

// created describes a POST that answers 201.
func (g *Gateway) created(id, path, summary string) huma.Operation {
	op := g.operation(id, http.MethodPost, path, summary)
	op.DefaultStatus = http.StatusCreated
	return op
}

// empty describes a call that answers 204.
func (g *Gateway) empty(id, method, path, summary string) huma.Operation {
	op := g.operation(id, method, path, summary)
	op.DefaultStatus = http.StatusNoContent
	return op
}
