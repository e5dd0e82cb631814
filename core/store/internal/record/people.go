package record

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
	sqlOtherAdmins    = "SELECT EXISTS (SELECT 1 FROM principals WHERE role = 'admin' AND NOT disabled AND id <> ?)"
	// Of two admins who disable each other one comes second: both hold all of them.
	sqlHoldAdmins    = "SELECT id FROM principals WHERE id = ? OR role = 'admin' ORDER BY id FOR UPDATE"
	sqlEndSessionsOf = "UPDATE sessions SET ended_at = ? WHERE principal_id = ? AND ended_at = 0"
	sqlSpendCodesOf  = "UPDATE codes SET used_at = ? WHERE principal_id = ? AND used_at = 0"
)

// principalFields are the targets of sqlPrincipalColumns.
func principalFields(p *core.Principal) []any {
	return []any{&p.ID, &p.Name, (*string)(&p.Role), &p.Disabled, &p.Revision, (*int64)(&p.CreatedAt), (*int64)(&p.UpdatedAt)}
}

// Principal implements core.Principals.
func (s *Store) Principal(ctx context.Context, id string) (core.Principal, error) {
	return readPrincipal(s.read(ctx), id)
}

func readPrincipal(q Querier, id string) (core.Principal, error) {
	var p core.Principal
	if err := q.One(sqlReadPrincipal, []any{id}, principalFields(&p)...); err != nil {
		return core.Principal{}, fmt.Errorf("read principal: %w", err)
	}
	return p, nil
}

// personLocked locks somebody: for share to rely on them, for update to change them.
// Errors: core.ErrNotFound.
func (t *tx) personLocked(id string, s Strength) (core.Principal, error) {
	var p core.Principal
	err := t.lock(t.rows.person[s], []any{id}, func(scan Row) error { return scan(principalFields(&p)...) })
	if err == nil && p.ID == "" {
		err = core.ErrNotFound
	}
	if err != nil {
		return core.Principal{}, fmt.Errorf("read principal: %w", err)
	}
	return p, nil
}

// enabledPrincipal locks somebody who may still sign in; disabled people are
// core.ErrNotFound like strangers.
func (t *tx) enabledPrincipal(id string, s Strength) (core.Principal, error) {
	p, err := t.personLocked(id, s)
	if err == nil && p.Disabled {
		return core.Principal{}, fmt.Errorf("read principal: %w", core.ErrNotFound)
	}
	return p, err
}

// PrincipalByIdentity implements core.Principals.
func (s *Store) PrincipalByIdentity(ctx context.Context, realm, externalID string) (core.Principal, error) {
	var p core.Principal
	if err := s.read(ctx).One(sqlPrincipalByIdentity, []any{realm, externalID}, principalFields(&p)...); err != nil {
		return core.Principal{}, fmt.Errorf("read principal by identity: %w", err)
	}
	return p, nil
}

// ListPrincipals implements core.Principals.
func (s *Store) ListPrincipals(ctx context.Context) ([]core.Principal, error) {
	var list []core.Principal
	err := s.read(ctx).Each(sqlListPrincipals, nil, func(scan Row) error {
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
	return write(ctx, s, Foreground, func(t *tx) (core.Principal, error) { return addPrincipal(t, p) })
}

func addPrincipal(t *tx, p core.Principal) (core.Principal, error) {
	n, err := t.Exec(sqlAddPrincipal, p.ID, p.Name, string(p.Role), p.Disabled, int64(t.now), int64(t.now))
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
	return write(ctx, s, Foreground, func(t *tx) (core.Principal, error) {
		p, err := changePrincipal(t, c)
		if err != nil {
			return p, fmt.Errorf("change principal: %w", err)
		}
		return p, nil
	})
}

func changePrincipal(t *tx, c core.ChangePrincipal) (core.Principal, error) {
	if c.Role != nil || c.Disabled != nil {
		if err := t.hold(sqlHoldAdmins, c.ID); err != nil {
			return core.Principal{}, err
		}
	}
	is, err := t.personLocked(c.ID, Update)
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
		if err := t.One(sqlOtherAdmins, []any{is.ID}, &others); err != nil {
			return is, err
		}
		if !others {
			return is, core.ErrLastAdmin
		}
	}
	if _, err := t.Exec(sqlChangePrincipal, to.Name, string(to.Role), to.Disabled, int64(t.now), to.ID); err != nil {
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
	if _, err := t.Exec(sqlEndSessionsOf, int64(t.now), id); err != nil {
		return err
	}
	_, err := t.Exec(sqlSpendCodesOf, int64(t.now), id)
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
	_, err := t.Exec(sqlRaisePrincipal, int64(t.now), id)
	return err
}
