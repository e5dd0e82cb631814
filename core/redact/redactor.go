package redact

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
)

// Bounds of single texts in code points.
const (
	maxTitle       = 80  // Conformance 121.
	maxDescription = 512 // Conformance 121.
	maxAgentInLine = 36  // Of the agent's name in a default title.
	maxToolInLine  = 28  // Of the tool's name in a default title.
)

// Redactor implements core.Describer. It has no state: one serves all goroutines.
type Redactor struct{}

// New returns a Redactor.
func New() *Redactor { return &Redactor{} }

var _ core.Describer = (*Redactor)(nil)

// Text makes one piece of free text safe for one line: white space around it is
// dropped, secrets are replaced by Marker, hidden characters made visible, and
// only then it is cut to at most limit code points, the mark of the cut included
// (conformance 120). Blank text is "" (conformance 125).
func (*Redactor) Text(s string, limit int) string {
	var w walker
	t, _ := w.oneLine(s, limit)
	return string(t)
}

func (w *walker) oneLine(s string, limit int) (Safe, bool) {
	return Visible(w.text(strings.TrimSpace(s), asText)).Limit(limit)
}

// Describe implements core.Describer. Errors are FieldErrors (ErrInvalid) and name
// "kind", "operation.arguments", "operation.tool", "operation.operation" or
// "details".
func (*Redactor) Describe(a core.RawAction) (core.Described, error) {
	switch {
	case !a.Kind.Valid():
		return core.Described{}, core.Invalid("kind", "must be exec or plugin")
	case !utf8.ValidString(a.Tool):
		return core.Described{}, core.Invalid("operation.tool", "must be valid UTF-8")
	case !utf8.ValidString(a.Operation):
		return core.Described{}, core.Invalid("operation.operation", "must be valid UTF-8")
	}
	canon, args, err := canonical(a.Arguments)
	if err != nil {
		return core.Described{}, invalid("operation.arguments", err)
	}
	details, err := parseDetails(a.Details)
	if err != nil {
		return core.Described{}, err
	}
	d := core.Described{ArgumentsHash: core.HashOf(canon)}
	d.ActionHash = ActionHash(d.ArgumentsHash, a.Kind, a.Tool, a.Operation)

	var s subject
	if a.Kind == core.KindExec {
		err = s.exec(&args)
	} else {
		s.plugin(&args)
	}
	if err != nil {
		return core.Described{}, err
	}
	s.more(&details)
	tool, _ := s.oneLine(a.Tool, core.MaxShortText)
	operation, _ := s.oneLine(a.Operation, core.MaxShortText)
	d.Tool, d.Operation = string(tool), string(operation)
	d.Presentation = s.presentation(&a)
	d.Detail = s.detail
	return d, nil
}

// invalid names the field of a ruleError.
func invalid(field string, err error) error {
	if rule, ok := errors.AsType[ruleError](err); ok {
		return core.Invalid(field, "%s", string(rule))
	}
	return core.Invalid(field, "must be valid JSON")
}

func parseDetails(doc []byte) (node, error) {
	if len(doc) == 0 {
		return node{kind: objectNode}, nil
	}
	n, err := parse(string(doc))
	switch {
	case err != nil:
		return n, invalid("details", err)
	case n.kind == literalNode && n.text == "null":
		return node{kind: objectNode}, nil
	case n.kind != objectNode:
		return n, core.Invalid("details", "must be a JSON object")
	}
	return n, nil
}

// title is the given one, or the default of R80.
func (s *subject) title(a *core.RawAction) Safe {
	if t, cut := s.oneLine(a.Title, maxTitle); t != "" {
		s.truncated = s.truncated || cut
		return t
	}
	agent, _ := s.oneLine(a.Agent, maxAgentInLine)
	if agent == "" {
		agent = "An agent"
	}
	if a.Kind == core.KindExec {
		return agent + " wants to run a command"
	}
	tool, _ := s.oneLine(a.Tool, maxToolInLine)
	if tool == "" {
		tool = "a tool"
	}
	return agent + " wants to use " + tool
}

// description is the summary, unless it only repeats what the card says anyway
// (conformance 126).
func (s *subject) description(a *core.RawAction, title Safe) Safe {
	d, cut := s.oneLine(a.Summary, maxDescription)
	whole := Visible(strings.TrimSpace(s.command))
	if d == title || d == whole {
		return ""
	}
	s.truncated = s.truncated || cut
	return d
}
