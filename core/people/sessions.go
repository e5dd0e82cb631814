package people

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/saysohq/sayso/core"
)

// Device is where somebody signs in.
type Device struct {
	Kind  core.SessionKind
	Label string // User agent or host; for eyes only, cut at MaxLabel.
}

// SignedIn is a fresh session with its bearer, which is told once.
type SignedIn struct {
	Person  core.Principal
	Session core.Session
	Bearer  Secret
}

// newSession prepares a session whose bearer only the caller will know.
func (s *Service) newSession(d Device) (core.Session, Secret, error) {
	if !d.Kind.Valid() {
		return core.Session{}, Secret{}, core.Invalid("kind", "must be browser or cli")
	}
	bearer := newSecret(SessionPrefix)
	return core.Session{ID: newID(), Hash: hashOf(bearer.Reveal()), Kind: d.Kind, Label: s.label(d.Label)}, bearer, nil
}

func signedIn(p core.Principal, session core.Session, bearer Secret) SignedIn {
	session.Hash = ""
	return SignedIn{Person: p, Session: session, Bearer: bearer}
}

// SignInByIdentity signs in the enabled person behind a user id that a platform
// has authenticated to the page (never one that a client merely names). Errors:
// core.ErrUnauthenticated for strangers and disabled people.
func (s *Service) SignInByIdentity(ctx context.Context, realm, externalID string, d Device) (SignedIn, error) {
	p, err := s.PrincipalByIdentity(ctx, realm, externalID)
	if err != nil {
		return SignedIn{}, unauthenticated("sign in", err)
	}
	session, bearer, err := s.newSession(d)
	if err != nil {
		return SignedIn{}, err
	}
	session.PrincipalID = p.ID
	// The store refuses somebody who was disabled since the look-up.
	session, err = s.Sessions.StartSession(ctx, session, core.SessionLife)
	if err != nil {
		return SignedIn{}, unauthenticated("sign in", err)
	}
	s.Log.InfoContext(ctx, "signed in", "person", p.ID, "session", session.ID, "realm", realm)
	return signedIn(p, session, bearer), nil
}

// SignOut ends the session that the caller came with. Errors:
// core.ErrUnauthenticated when there is none.
func (s *Service) SignOut(ctx context.Context, by core.Caller) error {
	if by.Person == nil || by.Session == "" {
		return core.ErrUnauthenticated
	}
	if err := s.Sessions.EndSession(ctx, by.Session); err != nil {
		return unauthenticated("sign out", err)
	}
	s.audit(ctx, by, "session ended", slog.String("session", by.Session))
	return nil
}

// SessionsOf lists a person's devices, newest first, without hashes: their own, or
// anybody's for an admin. Errors: core.ErrForbidden.
func (s *Service) SessionsOf(ctx context.Context, by core.Caller, principalID string) ([]core.Session, error) {
	if err := s.authoriseFor(ctx, by, principalID, tighten); err != nil {
		return nil, err
	}
	sessions, err := s.Sessions.SessionsOf(ctx, principalID)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	for i := range sessions {
		sessions[i].Hash = ""
	}
	return sessions, nil
}

// EndSession signs a device of a person out: one's own, or anybody's for an admin.
// Errors: core.ErrForbidden, core.ErrNotFound.
func (s *Service) EndSession(ctx context.Context, by core.Caller, principalID, id string) error {
	sessions, err := s.SessionsOf(ctx, by, principalID)
	if err != nil {
		return err
	}
	for _, session := range sessions {
		if session.ID != id {
			continue
		}
		if err := s.Sessions.EndSession(ctx, id); err != nil {
			return fmt.Errorf("end session: %w", err)
		}
		s.audit(ctx, by, "session ended", slog.String("session", id), slog.String("person", principalID))
		return nil
	}
	return fmt.Errorf("end session: %w", core.ErrNotFound)
}
