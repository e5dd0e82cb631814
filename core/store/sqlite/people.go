package sqlite

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Statements about people. Whatever changes a person's authority raises their
// revision in the same transaction: decisions are guarded by it.
const (
	sqlPrincipalColumns    = "p.id, p.name, p.role, p.disabled, p.revision, p.created_at, p.updated_at"
	sqlReadPrincipal       = "SELECT " + sqlPrincipalColumns + " FROM principals p WHERE p.id = ?"
	sqlListPrincipals      = "SELECT " + sqlPrincipalColumns + " FROM principals p ORDER BY p.id"
	sqlPrincipalByIdentity = "SELECT " + sqlPrincipalColumns + ` FROM identities i
		JOIN principals p ON p.id = i.principal_id WHERE i.realm = ? AND i.external_id = ?`
	sqlAddPrincipal = `INSERT INTO principals (id, name, role, disabled, revision, created_at, updated_at)
		VALUES (?, ?, ?, ?, 1, ?, ?) ON CONFLICT DO NOTHING`
	sqlChangePrincipal = `UPDATE principals SET name = ?, role = ?, disabled = ?, revision = revision + 1, updated_at = ?
		WHERE id = ?`
	sqlRaisePrincipal = "UPDATE principals SET revision = revision + 1, updated_at = ? WHERE id = ?"
	sqlAdminExists    = "SELECT EXISTS (SELECT 1 FROM principals WHERE role = 'admin')"
	sqlOtherAdmins    = "SELECT EXISTS (SELECT 1 FROM principals WHERE role = 'admin' AND disabled = 0 AND id <> ?)"
	sqlEndSessionsOf  = "UPDATE sessions SET ended_at = ? WHERE principal_id = ? AND ended_at = 0"
	sqlSpendCodesOf   = "UPDATE codes SET used_at = ? WHERE principal_id = ? AND used_at = 0"
)

// principalFields are the targets of sqlPrincipalColumns.
func principalFields(p *core.Principal) []any {
	return []any{&p.ID, &p.Name, &p.Role, &p.Disabled, &p.Revision, &p.CreatedAt, &p.UpdatedAt}
}

// Principal implements core.Principals.
func (s *Store) Principal(ctx context.Context, id string) (core.Principal, error) {
	return readPrincipal(s.read(ctx), id)
}

func readPrincipal(q querier, id string) (core.Principal, error) {
	var p core.Principal
	if err := q.one(sqlReadPrincipal, []any{id}, principalFields(&p)...); err != nil {
		return core.Principal{}, fmt.Errorf("read principal: %w", err)
	}
	return p, nil
}

// enabledPrincipal reads somebody who may still sign in; disabled people are
// core.ErrNotFound like strangers.
func enabledPrincipal(q querier, id string) (core.Principal, error) {
	p, err := readPrincipal(q, id)
	if err == nil && p.Disabled {
		return core.Principal{}, fmt.Errorf("read principal: %w", core.ErrNotFound)
	}
	return p, err
}

// PrincipalByIdentity implements core.Principals.
func (s *Store) PrincipalByIdentity(ctx context.Context, realm, externalID string) (core.Principal, error) {
	var p core.Principal
	if err := s.read(ctx).one(sqlPrincipalByIdentity, []any{realm, externalID}, principalFields(&p)...); err != nil {
		return core.Principal{}, fmt.Errorf("read principal by identity: %w", err)
	}
	return p, nil
}

// ListPrincipals implements core.Principals.
func (s *Store) ListPrincipals(ctx context.Context) ([]core.Principal, error) {
	var list []core.Principal
	err := s.read(ctx).each(sqlListPrincipals, nil, func(scan func(...any) error) error {
		var p core.Principal
		if err := scan(principalFields(&p)...); err != nil {
			return err
		}
		list = append(list, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list principals: %w", err)
	}
	return list, nil
}

// AddPrincipal implements core.Principals.
func (s *Store) AddPrincipal(ctx context.Context, p core.Principal) (core.Principal, error) {
	return write(ctx, s, foreground, func(t *tx) (core.Principal, error) { return addPrincipal(t, p) })
}

func addPrincipal(t *tx, p core.Principal) (core.Principal, error) {
	n, err := t.exec(sqlAddPrincipal, p.ID, p.Name, p.Role, p.Disabled, t.now, t.now)
	if err != nil {
		return core.Principal{}, fmt.Errorf("add principal: %w", err)
	}
	if n == 0 {
		return core.Principal{}, fmt.Errorf("add principal: %w", core.ErrIDTaken)
	}
	p.Revision, p.CreatedAt, p.UpdatedAt = 1, t.now, t.now
	return p, nil
}

// ChangePrincipal implements core.Principals.
func (s *Store) ChangePrincipal(ctx context.Context, c core.ChangePrincipal) (core.Principal, error) {
	return write(ctx, s, foreground, func(t *tx) (core.Principal, error) {
		p, err := changePrincipal(t, c)
		if err != nil {
			return p, fmt.Errorf("change principal: %w", err)
		}
		return p, nil
	})
}

func changePrincipal(t *tx, c core.ChangePrincipal) (core.Principal, error) {
	is, err := readPrincipal(t, c.ID)
	if err != nil {
		return core.Principal{}, err
	}
	if c.Revision != 0 && c.Revision != is.Revision {
		return is, core.ErrConflict
	}
	to := is
	set(&to.Name, c.Name)
	set(&to.Role, c.Role)
	set(&to.Disabled, c.Disabled)
	if to == is {
		return is, nil
	}
	if administers(is) && !administers(to) {
		var others bool
		if err := t.one(sqlOtherAdmins, []any{is.ID}, &others); err != nil {
			return is, err
		}
		if !others {
			return is, core.ErrLastAdmin
		}
	}
	if _, err := t.exec(sqlChangePrincipal, to.Name, to.Role, to.Disabled, t.now, to.ID); err != nil {
		return is, err
	}
	if to.Disabled && !is.Disabled {
		if err := signOut(t, to.ID); err != nil {
			return is, err
		}
	}
	to.Revision, to.UpdatedAt = is.Revision+1, t.now
	return to, nil
}

// signOut ends what a disabled person could come back with: sessions, and codes
// that have not been used.
func signOut(t *tx, id string) error {
	if _, err := t.exec(sqlEndSessionsOf, t.now, id); err != nil {
		return err
	}
	_, err := t.exec(sqlSpendCodesOf, t.now, id)
	return err
}

func administers(p core.Principal) bool { return p.Role == core.RoleAdmin && !p.Disabled }

func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}

// raise gives a person whose identities or agents changed a new revision.
func raise(t *tx, id string) error {
	_, err := t.exec(sqlRaisePrincipal, t.now, id)
	return err
}
