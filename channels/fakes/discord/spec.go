package discord

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Spec checks bodies against the platform's official description of its API. It is
// costly to load and safe for concurrent use: share one.
type Spec struct {
	schemas map[string]*jsonschema.Schema
}

// The bodies that are checked.
const (
	specSend     = "#/components/schemas/MessageCreateRequest"
	specEdit     = "#/components/schemas/MessageEditRequestPartial"
	specRespond  = "#/paths/~1interactions~1{interaction_id}~1{interaction_token}~1callback/post/requestBody/content/application~1json/schema"
	specFollow   = "#/components/schemas/IncomingWebhookRequestPartial"
	specOriginal = "#/components/schemas/IncomingWebhookUpdateRequestPartial"
	specThread   = "#/components/schemas/UpdateThreadRequestPartial"
	specOpen     = "#/components/schemas/CreatePrivateChannelRequest"
	specCommand  = "#/components/schemas/ApplicationCommandCreateRequest"
)

// LoadSpec reads discord/openapi.json below folder; "" gives nil, which checks
// nothing.
func LoadSpec(folder string) (*Spec, error) {
	if folder == "" {
		return nil, nil //nolint:nilnil // No folder means no second opinion.
	}
	raw, err := os.ReadFile(filepath.Join(folder, "discord", "openapi.json"))
	if err != nil {
		return nil, fmt.Errorf("read specification: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("decode specification: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	const name = "discord.json"
	if err := c.AddResource(name, doc); err != nil {
		return nil, fmt.Errorf("load specification: %w", err)
	}
	s := &Spec{schemas: map[string]*jsonschema.Schema{}}
	for _, ref := range []string{specSend, specEdit, specRespond, specFollow, specOriginal, specThread, specOpen, specCommand} {
		if s.schemas[ref], err = c.Compile(name + ref); err != nil {
			return nil, fmt.Errorf("compile specification: %w", err)
		}
	}
	return s, nil
}

// check names what is wrong with a body, "" for nothing.
func (s *Spec) check(ref string, body []byte) string {
	if s == nil || ref == "" {
		return ""
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return "no JSON"
	}
	if err := s.schemas[ref].Validate(v); err != nil {
		return err.Error()
	}
	return ""
}
