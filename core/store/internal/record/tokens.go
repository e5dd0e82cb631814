package record

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Statements about tokens. Lists leave the hash out.
const (
	sqlTokenColumns = "id, runtime, scopes, coalesce(acts_for, ''), label, created_at, expires_at, revoked_at" //nolint:gosec // No credential.
	sqlIssueToken   = `INSERT INTO tokens (id, hash, runtime, scopes, acts_for, label, created_at, expires_at)
		VALUES (?, ?, ?, ?, nullif(?, ''), ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlTokenByHash = "SELECT " + sqlTokenColumns + ` FROM tokens
		WHERE hash = ? AND revoked_at = 0`
	sqlRenewToken  = "UPDATE tokens SET expires_at = ? WHERE hash = ? AND revoked_at = 0 RETURNING " + sqlTokenColumns
	sqlListTokens  = "SELECT " + sqlTokenColumns + " FROM tokens ORDER BY created_at DESC, id DESC"
	sqlTokenExists = "SELECT EXISTS (SELECT 1 FROM tokens WHERE id = ?)"                //nolint:gosec // No credential.
	sqlRevokeToken = "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at = 0" //nolint:gosec // No credential.
)

// scanToken reads sqlTokenColumns.
func scanToken(scan Row) (core.Token, error) {
	var t core.Token
	var scopes string
	if err := scan(&t.ID, &t.Runtime, &scopes, &t.ActsFor, &t.Label, (*int64)(&t.CreatedAt), (*int64)(&t.ExpiresAt), (*int64)(&t.RevokedAt)); err != nil {
		return core.Token{}, err
	}
	if err := json.Unmarshal([]byte(scopes), &t.Scopes); err != nil {
		return core.Token{}, fmt.Errorf("decode scopes: %w", core.ErrCorrupt)
	}
	return t, nil
}

// IssueToken implements core.Tokens.
func (s *Store) IssueToken(ctx context.Context, token core.Token, life core.Millis) (core.Token, error) {
	scopes, err := json.Marshal(token.Scopes)
	if err != nil {
		return core.Token{}, fmt.Errorf("issue token: %w", err)
	}
	return write(ctx, s, Foreground, func(t *tx) (core.Token, error) {
		issued := token
		issued.CreatedAt, issued.ExpiresAt, issued.RevokedAt = t.now, 0, 0
		if life > 0 {
			issued.ExpiresAt = t.now + life
		}
		if issued.ActsFor != "" {
			if _, err := t.personLocked(issued.ActsFor, Share); err != nil {
				return core.Token{}, fmt.Errorf("issue token: %w", err)
			}
		}
		n, err := t.Exec(sqlIssueToken, issued.ID, issued.Hash, issued.Runtime, string(scopes), issued.ActsFor, issued.Label,
			int64(issued.CreatedAt), int64(issued.ExpiresAt))
		if err != nil {
			return core.Token{}, fmt.Errorf("issue token: %w", err)
		}
		if n == 0 {
			return core.Token{}, fmt.Errorf("issue token: %w", core.ErrIDTaken)
		}
		return issued, nil
	})
}

// TokenByHash implements core.Tokens.
func (s *Store) TokenByHash(ctx context.Context, hash string) (core.Token, error) {
	var token core.Token
	now, err := s.read(ctx).Dated(sqlTokenByHash, []any{hash}, func(scan Row) (err error) {
		token, err = scanToken(scan)
		return err
	})
	if err == nil && (token.ID == "" || (token.ExpiresAt != 0 && token.ExpiresAt.Reached(now))) {
		err = core.ErrNotFound
	}
	if err != nil {
		return core.Token{}, fmt.Errorf("read token: %w", err)
	}
	token.Hash = hash
	return token, nil
}

// RenewToken implements core.Tokens.
func (s *Store) RenewToken(ctx context.Context, hash string, life core.Millis) (core.Token, error) {
	return write(ctx, s, Foreground, func(t *tx) (core.Token, error) {
		var until core.Millis
		if life > 0 {
			until = t.now + life
		}
		var token core.Token
		err := t.Returning(sqlRenewToken, []any{int64(until), hash}, func(scan Row) (err error) {
			token, err = scanToken(scan)
			return err
		})
		if err == nil && token.ID == "" {
			err = core.ErrNotFound
		}
		if err != nil {
			return core.Token{}, fmt.Errorf("renew token: %w", err)
		}
		token.Hash = hash
		return token, nil
	})
}

// RevokeToken implements core.Tokens. A token that was revoked stays as it is.
func (s *Store) RevokeToken(ctx context.Context, id string) error {
	return s.endOnce(ctx, "revoke token", sqlRevokeToken, sqlTokenExists, id)
}

// ListTokens implements core.Tokens.
func (s *Store) ListTokens(ctx context.Context) ([]core.Token, error) {
	var list []core.Token
	err := s.read(ctx).Each(sqlListTokens, nil, func(scan Row) error {
		token, err := scanToken(scan)
		if err != nil {
			return err
		}
		list = append(list, token)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return list, nil
}
