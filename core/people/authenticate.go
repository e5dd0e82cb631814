package people

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/saysohq/sayso/core"
)

// Authenticate turns a bearer into the caller it stands for: a machine's token or
// the secret of a session. What is unknown, malformed, revoked, ended, expired or
// of a disabled person is the same core.ErrUnauthenticated. A store that cannot
// answer is not: its error passes through, so that nobody is signed out by a fault.
//
// A token whose ActsFor person is disabled goes on asking: the person is only
// named as the requester there and lends the token no right.
func (s *Service) Authenticate(ctx context.Context, bearer string) (core.Caller, error) {
	switch {
	case strings.HasPrefix(bearer, TokenPrefix):
		return s.machine(ctx, bearer)
	case strings.HasPrefix(bearer, SessionPrefix):
		return s.person(ctx, bearer)
	}
	return core.Caller{}, core.ErrUnauthenticated
}

func (s *Service) machine(ctx context.Context, bearer string) (core.Caller, error) {
	if !wellFormed(bearer, TokenPrefix) {
		return core.Caller{}, core.ErrUnauthenticated
	}
	t, err := s.Tokens.TokenByHash(ctx, hashOf(bearer))
	if err != nil {
		return core.Caller{}, unauthenticated("look up token", err)
	}
	t.Hash = "" // Not needed any more: what is not there is not logged.
	return core.Caller{Token: &t}, nil
}

func (s *Service) person(ctx context.Context, bearer string) (core.Caller, error) {
	if !wellFormed(bearer, SessionPrefix) {
		return core.Caller{}, core.ErrUnauthenticated
	}
	session, p, err := s.Sessions.SessionByHash(ctx, hashOf(bearer))
	if err != nil {
		return core.Caller{}, unauthenticated("look up session", err)
	}
	if p.Disabled { // The store answers "not found" for them; this is the second lock.
		return core.Caller{}, core.ErrUnauthenticated
	}
	return core.Caller{Person: &p, Surface: surfaceOf(session.Kind), Session: session.ID}, nil
}

// PrincipalByIdentity is the enabled person behind a user id that a messenger
// authenticated. Errors: core.ErrNotFound, for strangers and disabled people alike.
func (s *Service) PrincipalByIdentity(ctx context.Context, realm, externalID string) (core.Principal, error) {
	p, err := s.Principals.PrincipalByIdentity(ctx, realm, externalID)
	if err != nil {
		return core.Principal{}, fmt.Errorf("look up identity: %w", err)
	}
	if p.Disabled {
		return core.Principal{}, fmt.Errorf("look up identity: %w", core.ErrNotFound)
	}
	return p, nil
}

func unauthenticated(doing string, err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return core.ErrUnauthenticated
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func surfaceOf(k core.SessionKind) core.Surface {
	if k == core.SessionCLI {
		return core.SurfaceCLI
	}
	return core.SurfacePage
}
