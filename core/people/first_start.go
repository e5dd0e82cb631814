package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/saysohq/sayso/core"
)

// IssuedCode is a one-time code, which is told once.
type IssuedCode struct {
	Code      Secret
	ExpiresAt core.Millis
}

// EnsureLocalToken registers the bearer of the runtime "local", which the wiring
// keeps in a 0600 file of the data folder: make the file first (NewTokenSecret),
// then call this at every start. Whatever dies in between, the next start repairs
// it, because the same bearer registers once; each call lets it live for so long from
// then on (0 for ever). A bearer that was revoked stays
// revoked: that is core.ErrForbidden, and no reason not to start. Errors:
// core.ErrInvalid for a file that holds no bearer of ours.
func (s *Service) EnsureLocalToken(ctx context.Context, bearer Secret, life time.Duration) (core.Token, error) {
	if !wellFormed(bearer.Reveal(), TokenPrefix) {
		return core.Token{}, core.Invalid("local token", "must be a bearer that this service made; remove the file to get a new one")
	}
	hash := hashOf(bearer.Reveal())
	t, err := s.Tokens.TokenByHash(ctx, hash)
	if err != nil || life > 0 || t.ExpiresAt != 0 { // Else nothing need be written.
		t, err = s.Tokens.RenewToken(ctx, hash, core.Millis(life.Milliseconds()))
	}
	if err == nil {
		t.Hash = ""
		return t, nil
	}
	if !errors.Is(err, core.ErrNotFound) {
		return core.Token{}, fmt.Errorf("renew local token: %w", err)
	}
	issued, err := s.issue(ctx, core.Caller{Operator: true}, NewToken{
		Runtime: LocalRuntime,
		Scopes:  []core.Scope{core.ScopeRequest, core.ScopeRead},
		Label:   "this machine",
		Life:    life,
	}, bearer)
	if errors.Is(err, core.ErrIDTaken) {
		return core.Token{}, fmt.Errorf("register local token: %w", core.ErrForbidden)
	}
	return issued.Token, err
}

// EnsureBootstrap issues the code that makes the first admin while there is none:
// open is false once there is. A new code replaces the one before it, so that at
// most one is good. The caller shows it on the terminal or keeps it in a 0600 file;
// it never belongs in a log.
func (s *Service) EnsureBootstrap(ctx context.Context, f CodeForm) (c IssuedCode, open bool, err error) {
	c, err = s.issueCode(ctx, core.CodeBootstrap, "", f)
	if errors.Is(err, core.ErrForbidden) {
		return IssuedCode{}, false, nil
	}
	return c, err == nil, err
}

// RenewBootstrap issues another first code to the operator, in the place of the one
// before it: the first start's may have run out unused. Errors: core.ErrForbidden
// (not the operator, or there is an admin), core.ErrInvalid.
func (s *Service) RenewBootstrap(ctx context.Context, by core.Caller, f CodeForm) (IssuedCode, error) {
	if !by.Operator {
		return IssuedCode{}, core.ErrForbidden
	}
	c, err := s.issueCode(ctx, core.CodeBootstrap, "", f)
	if err != nil {
		return IssuedCode{}, err
	}
	s.audit(ctx, by, "first code issued")
	return c, nil
}

// defaultAdmin is the first admin's name where neither they nor their machine said one.
const defaultAdmin = "Admin"

// RedeemBootstrap uses the bootstrap code: it adds the first admin and signs them
// in, both or neither. Of two redeemers one wins. An empty name becomes "Admin".
// Errors: core.ErrCodeInvalid, core.ErrInvalid (the code is still good then).
func (s *Service) RedeemBootstrap(ctx context.Context, code, name string, d Device) (SignedIn, error) {
	if name == "" {
		name = defaultAdmin
	}
	first, err := s.newPrincipal(NewPerson{Name: name, Role: core.RoleAdmin})
	if err != nil {
		return SignedIn{}, err
	}
	session, bearer, err := s.newSession(d)
	if err != nil {
		return SignedIn{}, err
	}
	hash, err := codeHash(code)
	if err != nil {
		return SignedIn{}, err
	}
	session.PrincipalID = first.ID
	p, session, err := s.Codes.RedeemBootstrap(ctx, hash, first, session, core.SessionLife)
	if err != nil {
		return SignedIn{}, fmt.Errorf("redeem bootstrap code: %w", err)
	}
	s.Log.InfoContext(ctx, "first admin added", "person", p.ID, "session", session.ID)
	return signedIn(p, session, bearer), nil
}

// issueCode draws and stores a code.
func (s *Service) issueCode(ctx context.Context, purpose core.CodePurpose, principalID string, f CodeForm) (IssuedCode, error) {
	if !f.Valid() {
		return IssuedCode{}, core.Invalid("form", "must be link or typed")
	}
	code := newCode(f)
	hash, err := codeHash(code.Reveal())
	if err != nil {
		return IssuedCode{}, err
	}
	life := core.Millis(core.CodeLife)
	if purpose == core.CodeBootstrap {
		life = core.BootstrapLife
	}
	c, err := s.Codes.IssueCode(ctx, core.Code{Hash: hash, Purpose: purpose, PrincipalID: principalID}, life)
	if err != nil {
		return IssuedCode{}, fmt.Errorf("issue %s code: %w", purpose, err)
	}
	return IssuedCode{Code: code, ExpiresAt: c.ExpiresAt}, nil
}
