package people

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/saysohq/sayso/core"
)

// LocalRuntime is the runtime of the token that the first start creates.
const LocalRuntime = "local"

// NewToken is a token to be issued.
type NewToken struct {
	Runtime string
	Scopes  []core.Scope  // At least one; repeated ones count once.
	ActsFor string        // Principal recorded as the requester; "" for nobody.
	Label   string        // For eyes only.
	Life    time.Duration // 0 never expires; otherwise at least a second.
}

// IssuedToken is a token with its bearer, which is told once.
type IssuedToken struct {
	core.Token
	Bearer Secret
}

// IssueToken makes a machine's bearer. Errors: core.ErrForbidden, core.ErrInvalid,
// core.ErrNotFound when the person that it acts for is unknown.
func (s *Service) IssueToken(ctx context.Context, by core.Caller, n NewToken) (IssuedToken, error) {
	if err := s.authorise(ctx, by, widen); err != nil {
		return IssuedToken{}, err
	}
	return s.issue(ctx, by, n, NewTokenSecret())
}

func (s *Service) issue(ctx context.Context, by core.Caller, n NewToken, bearer Secret) (IssuedToken, error) {
	t, err := s.newToken(n)
	if err != nil {
		return IssuedToken{}, err
	}
	t.Hash = hashOf(bearer.Reveal())
	t, err = s.Tokens.IssueToken(ctx, t, core.Millis(n.Life.Milliseconds()))
	if err != nil {
		return IssuedToken{}, fmt.Errorf("issue token: %w", err)
	}
	t.Hash = ""
	s.audit(ctx, by, "token issued", slog.String("token", t.ID), slog.String("runtime", t.Runtime), slog.Any("scopes", t.Scopes))
	return IssuedToken{Token: t, Bearer: bearer}, nil
}

func (s *Service) newToken(n NewToken) (core.Token, error) {
	if !core.ValidRuntimeName(n.Runtime) {
		return core.Token{}, core.Invalid("runtime", "must be 1 to %d of a-z, 0-9 and '-', not beginning with '-'", core.MaxRuntimeName)
	}
	if n.Life != 0 && n.Life < time.Second {
		return core.Token{}, core.Invalid("expires_in", "must be at least a second, or 0 for never")
	}
	if n.ActsFor != "" && !ValidPrincipalID(n.ActsFor) {
		return core.Token{}, fmt.Errorf("issue token: %w", core.ErrNotFound)
	}
	scopes := slices.Clone(n.Scopes)
	slices.Sort(scopes)
	scopes = slices.Compact(scopes)
	if len(scopes) == 0 {
		return core.Token{}, core.Invalid("scopes", "must name at least one of request, read, admin")
	}
	for _, scope := range scopes {
		if !scope.Valid() {
			return core.Token{}, core.Invalid("scopes", "must be of request, read, admin")
		}
	}
	return core.Token{ID: newID(), Runtime: n.Runtime, Scopes: scopes, ActsFor: n.ActsFor, Label: s.label(n.Label)}, nil
}

// RevokeToken ends a token from the next call on. Errors: core.ErrForbidden,
// core.ErrNotFound.
func (s *Service) RevokeToken(ctx context.Context, by core.Caller, id string) error {
	if err := s.authorise(ctx, by, tighten); err != nil {
		return err
	}
	if err := s.Tokens.RevokeToken(ctx, id); err != nil {
		return fmt.Errorf("revoke token: %w", err)
	}
	s.audit(ctx, by, "token revoked", slog.String("token", id))
	return nil
}

// ListTokens lists all tokens, newest first, without their hashes. Errors:
// core.ErrForbidden.
func (s *Service) ListTokens(ctx context.Context, by core.Caller) ([]core.Token, error) {
	if err := s.authorise(ctx, by, tighten); err != nil {
		return nil, err
	}
	return s.Tokens.ListTokens(ctx)
}
