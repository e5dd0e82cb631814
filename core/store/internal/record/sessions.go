package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Statements about sessions.
const (
	sqlSessionColumns = "s.id, s.hash, s.principal_id, s.kind, s.label, s.created_at, s.expires_at, s.ended_at"
	sqlStartSession   = `INSERT INTO sessions (id, hash, principal_id, kind, label, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlSessionByHash = "SELECT " + sqlSessionColumns + ", " + sqlPrincipalColumns + ` FROM sessions s
		JOIN principals p ON p.id = s.principal_id
		WHERE s.hash = ? AND s.ended_at = 0 AND NOT p.disabled`
	sqlSessionsOf    = "SELECT " + sqlSessionColumns + " FROM sessions s WHERE s.principal_id = ? ORDER BY s.created_at DESC, s.id DESC"
	sqlSessionExists = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?)"
	sqlEndSession    = "UPDATE sessions SET ended_at = ? WHERE id = ? AND ended_at = 0"
)

// sessionFields are the targets of sqlSessionColumns.
func sessionFields(s *core.Session) []any {
	return []any{&s.ID, &s.Hash, &s.PrincipalID, (*string)(&s.Kind), &s.Label, (*int64)(&s.CreatedAt), (*int64)(&s.ExpiresAt), (*int64)(&s.EndedAt)}
}

// StartSession implements core.Sessions. Errors: core.ErrNotFound for somebody
// unknown or disabled, core.ErrIDTaken for an id or secret that was used before.
func (s *Store) StartSession(ctx context.Context, session core.Session, life core.Millis) (core.Session, error) {
	return write(ctx, s, Foreground, func(t *tx) (core.Session, error) {
		if _, err := t.enabledPrincipal(session.PrincipalID, Share); err != nil {
			return core.Session{}, fmt.Errorf("start session: %w", err)
		}
		return startSession(t, session, life)
	})
}

func startSession(t *tx, session core.Session, life core.Millis) (core.Session, error) {
	session.CreatedAt, session.ExpiresAt, session.EndedAt = t.now, t.now+life, 0
	n, err := t.Exec(sqlStartSession, session.ID, session.Hash, session.PrincipalID, string(session.Kind), session.Label,
		int64(session.CreatedAt), int64(session.ExpiresAt))
	if err != nil {
		return core.Session{}, fmt.Errorf("start session: %w", err)
	}
	if n == 0 {
		return core.Session{}, fmt.Errorf("start session: %w", core.ErrIDTaken)
	}
	return session, nil
}

// SessionByHash implements core.Sessions.
func (s *Store) SessionByHash(ctx context.Context, hash string) (core.Session, core.Principal, error) {
	var session core.Session
	var p core.Principal
	dest := append(sessionFields(&session), principalFields(&p)...)
	now, err := s.read(ctx).Dated(sqlSessionByHash, []any{hash}, func(scan Row) error { return scan(dest...) })
	if err == nil && (session.ID == "" || !session.Live(now)) {
		err = core.ErrNotFound
	}
	if err != nil {
		return core.Session{}, core.Principal{}, fmt.Errorf("read session: %w", err)
	}
	return session, p, nil
}

// EndSession implements core.Sessions. A session that has ended stays as it is.
func (s *Store) EndSession(ctx context.Context, id string) error {
	return s.endOnce(ctx, "end session", sqlEndSession, sqlSessionExists, id)
}

// endOnce stamps an end into a row that has none. A row that ended before is left
// alone, so that a repeated call is the same success.
func (s *Store) endOnce(ctx context.Context, doing, end, exists, id string) error {
	_, err := write(ctx, s, Foreground, func(t *tx) (struct{}, error) {
		n, err := t.Exec(end, int64(t.now), id)
		if err != nil || n > 0 {
			return struct{}{}, err
		}
		var there bool
		if err := t.One(exists, []any{id}, &there); err != nil {
			return struct{}{}, err
		}
		if !there {
			return struct{}{}, core.ErrNotFound
		}
		return struct{}{}, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// SessionsOf implements core.Sessions. Ended sessions are listed until they are pruned.
func (s *Store) SessionsOf(ctx context.Context, principalID string) ([]core.Session, error) {
	var list []core.Session
	err := s.read(ctx).Each(sqlSessionsOf, []any{principalID}, func(scan Row) error {
		var session core.Session
		if err := scan(sessionFields(&session)...); err != nil {
			return err
		}
		list = append(list, session)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return list, nil
}
