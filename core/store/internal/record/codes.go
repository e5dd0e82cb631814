package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Statements about one-time codes. A code is good while it is unused, before its
// deadline, and for the purpose it was issued for.
const (
	sqlIssueCode = `INSERT INTO codes (hash, purpose, principal_id, created_at, expires_at)
		VALUES (?, ?, nullif(?, ''), ?, ?) ON CONFLICT DO NOTHING`
	sqlReadCode       = `SELECT hash, purpose, coalesce(principal_id, ''), expires_at, used_at FROM codes WHERE hash = ?`
	sqlSpendCode      = "UPDATE codes SET used_at = ? WHERE hash = ? AND used_at = 0"
	sqlSpendBootstrap = "UPDATE codes SET used_at = ? WHERE purpose = 'bootstrap' AND used_at = 0"
	sqlBootstrapOpen  = `SELECT EXISTS (SELECT 1 FROM codes WHERE purpose = 'bootstrap' AND used_at = 0 AND expires_at > ?)
		AND NOT EXISTS (SELECT 1 FROM principals WHERE role = 'admin')`
	sqlCodeFailures = "SELECT failures, window_at FROM code_failures WHERE singleton = 1"
	sqlCountFailure = `UPDATE code_failures SET
		failures  = CASE WHEN window_at > ?1 THEN failures + 1 ELSE 1 END,
		window_at = CASE WHEN window_at > ?1 THEN window_at ELSE ?2 END
		WHERE singleton = 1`
)

// IssueCode implements core.Codes. Errors, besides those of the port:
// core.ErrNotFound when the person is unknown or disabled.
func (s *Store) IssueCode(ctx context.Context, c core.Code, life core.Millis) (core.Code, error) {
	return write(ctx, s, Foreground, func(t *tx) (core.Code, error) {
		issued, err := issueCode(t, c, life)
		if err != nil {
			return core.Code{}, fmt.Errorf("issue code: %w", err)
		}
		return issued, nil
	})
}

func issueCode(t *tx, c core.Code, life core.Millis) (core.Code, error) {
	if c.Purpose == core.CodeBootstrap {
		if err := openBootstrap(t); err != nil {
			return core.Code{}, err
		}
	} else if _, err := t.enabledPrincipal(c.PrincipalID, Share); err != nil {
		return core.Code{}, err
	}
	c.ExpiresAt = t.now + life
	n, err := t.Exec(sqlIssueCode, c.Hash, string(c.Purpose), c.PrincipalID, int64(t.now), int64(c.ExpiresAt))
	if err == nil && n == 0 {
		err = core.ErrIDTaken
	}
	return c, err
}

// openBootstrap makes room for a new bootstrap code: at most one is ever open, and
// none once there is an admin.
func openBootstrap(t *tx) error {
	if err := withoutAdmin(t, core.ErrForbidden); err != nil {
		return err
	}
	_, err := t.Exec(sqlSpendBootstrap, int64(t.now))
	return err
}

func withoutAdmin(t *tx, otherwise error) error {
	var exists bool
	if err := t.One(sqlAdminExists, nil, &exists); err != nil {
		return err
	}
	if exists {
		return otherwise
	}
	return nil
}

// PeekCode implements core.Codes.
func (s *Store) PeekCode(ctx context.Context, hash string, p core.CodePurpose) (core.Code, error) {
	r, err := useCode(ctx, s, hash, p, func(_ *tx, c core.Code) (core.Code, error) { return c, nil })
	if err != nil {
		return core.Code{}, fmt.Errorf("read code: %w", err)
	}
	return r, nil
}

// RedeemBootstrap implements core.Codes.
func (s *Store) RedeemBootstrap(ctx context.Context, hash string, first core.Principal, session core.Session, life core.Millis) (core.Principal, core.Session, error) {
	r, err := useCode(ctx, s, hash, core.CodeBootstrap, func(t *tx, c core.Code) (signedIn, error) {
		// An admin who came another way meanwhile ends the offer.
		if err := withoutAdmin(t, core.ErrCodeInvalid); err != nil {
			return signedIn{}, err
		}
		p, err := addPrincipal(t, first)
		if err != nil {
			return signedIn{}, err
		}
		return redeem(t, c, p, session, life)
	})
	if err != nil {
		return core.Principal{}, core.Session{}, fmt.Errorf("redeem bootstrap code: %w", err)
	}
	return r.person, r.session, nil
}

// RedeemPair implements core.Codes.
func (s *Store) RedeemPair(ctx context.Context, hash string, session core.Session, life core.Millis) (core.Principal, core.Session, error) {
	r, err := useCode(ctx, s, hash, core.CodePair, func(t *tx, c core.Code) (signedIn, error) {
		p, err := codePrincipal(t, c, Share)
		if err != nil {
			return signedIn{}, err
		}
		return redeem(t, c, p, session, life)
	})
	if err != nil {
		return core.Principal{}, core.Session{}, fmt.Errorf("redeem pairing code: %w", err)
	}
	return r.person, r.session, nil
}

// RedeemLink implements core.Codes. The identity's person is the code's, whatever
// the identity says.
func (s *Store) RedeemLink(ctx context.Context, hash string, i core.Identity) (core.Principal, error) {
	p, err := useCode(ctx, s, hash, core.CodeLink, func(t *tx, c core.Code) (core.Principal, error) {
		if _, err := codePrincipal(t, c, Update); err != nil {
			return core.Principal{}, err
		}
		if _, err := t.Exec(sqlSpendCode, int64(t.now), c.Hash); err != nil {
			return core.Principal{}, err
		}
		linked := i
		linked.PrincipalID = c.PrincipalID
		return linkIdentity(t, linked)
	})
	if err != nil {
		return core.Principal{}, fmt.Errorf("redeem linking code: %w", err)
	}
	return p, nil
}

type signedIn struct {
	person  core.Principal
	session core.Session
}

// redeem spends the code and signs the person in.
func redeem(t *tx, c core.Code, p core.Principal, session core.Session, life core.Millis) (signedIn, error) {
	if _, err := t.Exec(sqlSpendCode, int64(t.now), c.Hash); err != nil {
		return signedIn{}, err
	}
	session.PrincipalID = p.ID
	session, err := startSession(t, session, life)
	return signedIn{person: p, session: session}, err
}

// codePrincipal reads the code's person, who may have been disabled meanwhile.
func codePrincipal(t *tx, c core.Code, s Strength) (core.Principal, error) {
	p, err := t.enabledPrincipal(c.PrincipalID, s)
	if errors.Is(err, core.ErrNotFound) {
		return core.Principal{}, core.ErrCodeInvalid
	}
	return p, err
}

// useCode runs fn with a good code, in one transaction. A code that was never
// issued is counted as a failure, and after core.MaxCodeFailures of them in one
// core.CodeLife every code is refused for the rest of it: the answer is the same
// core.ErrCodeInvalid, so that a guesser cannot tell. A code that is known but used,
// burned, expired or for something else is no guess and is not counted: people open
// old links again.
func useCode[T any](ctx context.Context, s *Store, hash string, p core.CodePurpose, fn func(*tx, core.Code) (T, error)) (T, error) {
	type result struct {
		value   T
		refused bool // Not an error inside the write: the count must be recorded.
	}
	r, err := write(ctx, s, Foreground, func(t *tx) (result, error) {
		if locked, err := codesLocked(t); err != nil || locked {
			return result{refused: true}, err
		}
		c, used, err := t.codeOf(hash)
		if errors.Is(err, core.ErrNotFound) {
			_, err := t.Exec(sqlCountFailure, int64(windowStart(t)), int64(t.now))
			return result{refused: true}, err
		}
		if err != nil || used || c.ExpiresAt.Reached(t.now) || c.Purpose != p {
			return result{refused: true}, err
		}
		value, err := fn(t, c)
		return result{value: value}, err
	})
	if err == nil && r.refused {
		err = core.ErrCodeInvalid
	}
	return r.value, err
}

// codeOf locks a code, after its person: whoever is being disabled loses their
// codes, in that order.
func (t *tx) codeOf(hash string) (c core.Code, used bool, err error) {
	var usedAt core.Millis
	fields := []any{&c.Hash, (*string)(&c.Purpose), &c.PrincipalID, (*int64)(&c.ExpiresAt), (*int64)(&usedAt)}
	if err := t.One(sqlReadCode, []any{hash}, fields...); err != nil {
		return c, false, err
	}
	if c.PrincipalID != "" {
		s := Share
		if c.Purpose == core.CodeLink { // Linking raises the person's revision.
			s = Update
		}
		if err := t.hold(t.rows.person[s], c.PrincipalID); err != nil {
			return c, false, err
		}
	}
	err = t.lock(t.rows.code[Update], []any{hash}, func(scan Row) error { return scan(fields...) })
	return c, usedAt != 0, err
}

// codesLocked holds the count of failures, so that guesses come one after another.
func codesLocked(t *tx) (bool, error) {
	var failures int
	var window core.Millis
	err := t.lock(t.rows.failures[Update], nil, func(scan Row) error { return scan(&failures, (*int64)(&window)) })
	return window > windowStart(t) && failures >= core.MaxCodeFailures, err
}

// windowStart is the time that a window of failures must have begun after to be
// still open.
func windowStart(t *tx) core.Millis { return t.now - core.CodeLife }

// BurnCode implements core.CodeBurner.
func (s *Store) BurnCode(ctx context.Context, hash string) error {
	_, err := write(ctx, s, Foreground, func(t *tx) (int64, error) { return t.Exec(sqlSpendCode, int64(t.now), hash) })
	if err != nil {
		return fmt.Errorf("burn code: %w", err)
	}
	return nil
}

// BootstrapOpen implements core.CodeBurner.
func (s *Store) BootstrapOpen(ctx context.Context) (bool, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return false, fmt.Errorf("read bootstrap code: %w", err)
	}
	var open bool
	if err := s.read(ctx).One(sqlBootstrapOpen, []any{int64(now)}, &open); err != nil {
		return false, fmt.Errorf("read bootstrap code: %w", err)
	}
	return open, nil
}
