package people

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/saysohq/sayso/core"
)

// StartPair issues the code that signs a browser or CLI in as the person: for
// oneself (a second device), or by an admin or the operator for somebody else; never
// by a terminal's session. Errors: core.ErrForbidden, core.ErrInvalid, core.ErrNotFound for somebody unknown
// or disabled.
func (s *Service) StartPair(ctx context.Context, by core.Caller, principalID string, f CodeForm) (IssuedCode, error) {
	return s.startFor(ctx, by, core.CodePair, principalID, f)
}

// StartLink issues the code with which a chat account asks to decide as the person:
// for oneself, or by an admin or the operator for somebody else. Whoever presents
// it in a chat still confirms there. Errors as of StartPair.
func (s *Service) StartLink(ctx context.Context, by core.Caller, principalID string, f CodeForm) (IssuedCode, error) {
	return s.startFor(ctx, by, core.CodeLink, principalID, f)
}

func (s *Service) startFor(ctx context.Context, by core.Caller, purpose core.CodePurpose, principalID string, f CodeForm) (IssuedCode, error) {
	if err := s.authoriseFor(ctx, by, principalID, widen); err != nil {
		return IssuedCode{}, err
	}
	c, err := s.issueCode(ctx, purpose, principalID, f)
	if err != nil {
		return IssuedCode{}, err
	}
	s.audit(ctx, by, "code issued", slog.String("purpose", string(purpose)), slog.String("person", principalID))
	return c, nil
}

// PeekPair tells whom a pairing code would sign in, without using it, so that the
// page can ask before it replaces a session (K36). Errors: core.ErrCodeInvalid.
func (s *Service) PeekPair(ctx context.Context, code string) (core.Principal, error) {
	p, _, err := s.peek(ctx, code, core.CodePair)
	return p, err
}

// RedeemPair uses the code and signs its person in. Of two redeemers one wins.
// Errors: core.ErrCodeInvalid, core.ErrInvalid (the code is still good then).
func (s *Service) RedeemPair(ctx context.Context, code string, d Device) (SignedIn, error) {
	session, bearer, err := s.newSession(d)
	if err != nil {
		return SignedIn{}, err
	}
	hash, err := codeHash(code)
	if err != nil {
		return SignedIn{}, err
	}
	p, session, err := s.Codes.RedeemPair(ctx, hash, session, core.SessionLife)
	if err != nil {
		return SignedIn{}, fmt.Errorf("redeem pairing code: %w", err)
	}
	s.Log.InfoContext(ctx, "device paired", "person", p.ID, "session", session.ID, "kind", session.Kind)
	return signedIn(p, session, bearer), nil
}

// LinkRequest is a good linking code, presented in a chat and not used yet.
type LinkRequest struct {
	Person   core.Principal // Who issued it: "Let Telegram @x, id n, decide as <name>?"
	CodeHash string         // What the prompt keeps until the chat confirms.
}

// PeekLink reads a linking code that somebody presented in a direct chat, without
// using it; a wrong one counts as a failure of the whole deployment. Errors:
// core.ErrCodeInvalid.
func (s *Service) PeekLink(ctx context.Context, code string) (LinkRequest, error) {
	p, hash, err := s.peek(ctx, code, core.CodeLink)
	return LinkRequest{Person: p, CodeHash: hash}, err
}

// RedeemLink uses the code behind a confirmed prompt and links the identity, which
// the platform authenticated, to the code's person. Errors: core.ErrCodeInvalid,
// core.ErrIdentityTaken (the code is still good then), core.ErrInvalid.
func (s *Service) RedeemLink(ctx context.Context, hash string, i core.Identity) (core.Principal, error) {
	i, err := s.identity(i)
	if err != nil {
		return core.Principal{}, err
	}
	i.PrincipalID = "" // The store takes the person from the code, and from nowhere else.
	p, err := s.Codes.RedeemLink(ctx, hash, i)
	if err != nil {
		return core.Principal{}, fmt.Errorf("redeem linking code: %w", err)
	}
	s.Log.InfoContext(ctx, "identity linked", "person", p.ID, "realm", i.Realm, "by", p.ID)
	return p, nil
}

// BurnCode ends a code that was seen where others could read it, such as a group.
// What is no code changes nothing.
func (s *Service) BurnCode(ctx context.Context, entered string) error {
	hash, err := codeHash(entered)
	if err != nil {
		return nil //nolint:nilerr // Not a code: there is nothing to burn.
	}
	if err := s.Burner.BurnCode(ctx, hash); err != nil {
		return fmt.Errorf("burn code: %w", err)
	}
	s.Log.InfoContext(ctx, "code burned")
	return nil
}

// peek reads a code's enabled person without using it.
func (s *Service) peek(ctx context.Context, code string, purpose core.CodePurpose) (core.Principal, string, error) {
	hash, err := codeHash(code)
	if err != nil {
		return core.Principal{}, "", err
	}
	c, err := s.Codes.PeekCode(ctx, hash, purpose)
	if err != nil {
		return core.Principal{}, "", fmt.Errorf("read %s code: %w", purpose, err)
	}
	p, err := s.Principals.Principal(ctx, c.PrincipalID)
	if err != nil {
		return core.Principal{}, "", fmt.Errorf("read the code's person: %w", err)
	}
	if p.Disabled {
		return core.Principal{}, "", core.ErrCodeInvalid
	}
	return p, hash, nil
}
