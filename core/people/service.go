package people

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
)

// Sanitizer makes free text safe to show; core.Describer has it.
type Sanitizer interface {
	// Text redacts, makes hidden characters visible, and cuts visibly at max code points.
	Text(s string, max int) string
}

// Deps is what the service works on. All of it is required.
type Deps struct {
	Principals core.Principals
	Identities core.Identities
	Sessions   core.Sessions
	Tokens     core.Tokens
	Codes      core.Codes
	Burner     core.CodeBurner
	Text       Sanitizer
	Log        *slog.Logger
}

// Service is the administration of people and machines. It keeps no state and is
// safe for concurrent use.
type Service struct {
	Deps
}

// New wires the service; it starts nothing. It panics when a dependency is
// missing, which is a mistake of the wiring and not of the operator.
func New(d Deps) *Service {
	if d.Principals == nil || d.Identities == nil || d.Sessions == nil || d.Tokens == nil ||
		d.Codes == nil || d.Burner == nil || d.Text == nil || d.Log == nil {
		panic("people: a dependency is missing")
	}
	return &Service{Deps: d}
}

// act is a kind of administration, by what it does to authority (K40).
type act int

const (
	widen   act = iota // May widen who or what may be allowed: an admin's browser session, or the operator.
	tighten            // Lists, or takes away: also a machine with the admin scope.
)

// authorise reads the caller's standing again, so that an action that begins after
// a demotion or disabling was committed is refused, whatever the caller was when
// the edge authenticated them. Errors: core.ErrUnauthenticated, core.ErrForbidden.
func (s *Service) authorise(ctx context.Context, c core.Caller, a act) error {
	switch {
	case c.Operator:
		return nil
	case c.Person != nil:
		p, err := s.standing(ctx, c, a)
		if err != nil {
			return err
		}
		if p.Role != core.RoleAdmin {
			return core.ErrForbidden
		}
		return nil
	case c.Token != nil:
		if a == tighten && slices.Contains(c.Token.Scopes, core.ScopeAdmin) {
			return nil
		}
		return core.ErrForbidden
	}
	return core.ErrUnauthenticated
}

// authoriseFor lets people act on what is their own, and everybody else as
// authorise has it.
func (s *Service) authoriseFor(ctx context.Context, c core.Caller, principalID string, a act) error {
	if c.Person != nil && c.Person.ID == principalID {
		_, err := s.standing(ctx, c, a)
		return err
	}
	return s.authorise(ctx, c, a)
}

// standing is the person as they are now. A terminal's session widens nothing, not
// even for its own person: an agent may be able to read its file, and with a code
// from it could make itself a session, or a chat account, that allows what a
// terminal may not.
func (s *Service) standing(ctx context.Context, c core.Caller, a act) (core.Principal, error) {
	p, err := s.Principals.Principal(ctx, c.Person.ID)
	switch {
	case errors.Is(err, core.ErrNotFound), err == nil && p.Disabled:
		return core.Principal{}, core.ErrUnauthenticated
	case err == nil && a == widen && c.Surface == core.SurfaceCLI:
		return core.Principal{}, core.ErrForbidden
	}
	return p, err
}

// audit writes the one line that says who changed what: ids only.
func (s *Service) audit(ctx context.Context, c core.Caller, action string, attrs ...slog.Attr) {
	by := slog.String("by", "operator")
	switch {
	case c.Person != nil:
		by = slog.String("by", c.Person.ID)
	case c.Token != nil:
		by = slog.String("by", "token "+c.Token.ID)
	}
	s.Log.LogAttrs(ctx, slog.LevelInfo, action, append(attrs, by)...)
}

// Bounds of text, in code points.
const (
	MaxName  = 64 // Display names.
	MaxLabel = 64 // Labels of devices, tokens and identities.
)

// name checks and cleans a display name.
func (s *Service) name(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	switch {
	case !utf8.ValidString(raw):
		return "", core.Invalid("name", "must be valid UTF-8")
	case raw == "":
		return "", core.Invalid("name", "must not be empty")
	case utf8.RuneCountInString(raw) > MaxName:
		return "", core.Invalid("name", "must be at most %d characters", MaxName)
	}
	return s.Text.Text(raw, MaxName), nil
}

// label cleans text that is for eyes only; it is cut rather than refused, because
// user agents and platform names come in any length.
func (s *Service) label(raw string) string {
	return s.Text.Text(strings.TrimSpace(strings.ToValidUTF8(raw, "\ufffd")), MaxLabel)
}
