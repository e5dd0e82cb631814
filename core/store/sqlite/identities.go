package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/saysohq/sayso/core"
)

// Statements about identities and ownership. Linking again keeps what the new link
// does not know, and forgets that the direct chat was broken: it is to be tried.
const (
	sqlIdentityColumns = `realm, external_id, principal_id, label, channel, account, direct_chat, linked_at, broken`
	sqlIdentityOwner   = "SELECT principal_id FROM identities WHERE realm = ? AND external_id = ?"
	sqlLinkIdentity    = "INSERT INTO identities (" + sqlIdentityColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')
		ON CONFLICT (realm, external_id) DO UPDATE SET
			label       = coalesce(nullif(excluded.label, ''), label),
			channel     = excluded.channel,
			account     = coalesce(nullif(excluded.account, ''), account),
			direct_chat = coalesce(nullif(excluded.direct_chat, ''), direct_chat),
			linked_at   = excluded.linked_at,
			broken      = ''`
	sqlUnlinkIdentity = "DELETE FROM identities WHERE realm = ? AND external_id = ?"
	sqlAllIdentities  = "SELECT " + sqlIdentityColumns + " FROM identities ORDER BY principal_id, realm, external_id"
	sqlIdentitiesOf   = "SELECT " + sqlIdentityColumns + ` FROM identities
		WHERE principal_id IN (SELECT value FROM json_each(?)) ORDER BY principal_id, realm, external_id`
	sqlOwners      = "SELECT principal_id FROM agent_owners WHERE runtime = ? AND agent = ? ORDER BY principal_id"
	sqlAddOwner    = "INSERT INTO agent_owners (runtime, agent, principal_id) VALUES (?, ?, ?)"
	sqlRemoveOwner = "DELETE FROM agent_owners WHERE runtime = ? AND agent = ? AND principal_id = ?"
)

// LinkIdentity implements core.Identities.
func (s *Store) LinkIdentity(ctx context.Context, i core.Identity) error {
	_, err := write(ctx, s, foreground, func(t *tx) (core.Principal, error) { return linkIdentity(t, i) })
	return err
}

func linkIdentity(t *tx, i core.Identity) (core.Principal, error) {
	p, err := readPrincipal(t, i.PrincipalID)
	if err != nil {
		return core.Principal{}, fmt.Errorf("link identity: %w", err)
	}
	var owner string
	err = t.one(sqlIdentityOwner, []any{i.Realm, i.ExternalID}, &owner)
	switch {
	case errors.Is(err, core.ErrNotFound):
	case err != nil:
		return core.Principal{}, fmt.Errorf("link identity: %w", err)
	case owner != i.PrincipalID:
		return core.Principal{}, fmt.Errorf("link identity: %w", core.ErrIdentityTaken)
	}
	if _, err := t.exec(sqlLinkIdentity, i.Realm, i.ExternalID, i.PrincipalID, i.Label, i.Channel, i.Account, i.DirectChat, t.now); err != nil {
		return core.Principal{}, fmt.Errorf("link identity: %w", err)
	}
	if _, err := t.exec(sqlMendLinked, i.Channel, i.Account, i.PrincipalID); err != nil {
		return core.Principal{}, fmt.Errorf("link identity: %w", err)
	}
	if err := raise(t, p.ID); err != nil {
		return core.Principal{}, fmt.Errorf("link identity: %w", err)
	}
	p.Revision, p.UpdatedAt = p.Revision+1, t.now
	return p, nil
}

// UnlinkIdentity implements core.Identities.
func (s *Store) UnlinkIdentity(ctx context.Context, realm, externalID string) error {
	_, err := write(ctx, s, foreground, func(t *tx) (struct{}, error) {
		if err := unlinkIdentity(t, realm, externalID); err != nil {
			return struct{}{}, fmt.Errorf("unlink identity: %w", err)
		}
		return struct{}{}, nil
	})
	return err
}

func unlinkIdentity(t *tx, realm, externalID string) error {
	var owner string
	if err := t.one(sqlIdentityOwner, []any{realm, externalID}, &owner); err != nil {
		return err
	}
	if _, err := t.exec(sqlUnlinkIdentity, realm, externalID); err != nil {
		return err
	}
	return raise(t, owner)
}

// IdentitiesOf implements core.Identities.
func (s *Store) IdentitiesOf(ctx context.Context, principalIDs ...string) ([]core.Identity, error) {
	query, args := sqlAllIdentities, []any(nil)
	if len(principalIDs) > 0 {
		ids, err := json.Marshal(principalIDs)
		if err != nil {
			return nil, fmt.Errorf("list identities: %w", err)
		}
		query, args = sqlIdentitiesOf, []any{string(ids)}
	}
	var list []core.Identity
	err := s.read(ctx).each(query, args, func(scan func(...any) error) error {
		var i core.Identity
		if err := scan(&i.Realm, &i.ExternalID, &i.PrincipalID, &i.Label, &i.Channel, &i.Account, &i.DirectChat, &i.LinkedAt, &i.Broken); err != nil {
			return err
		}
		list = append(list, i)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	return list, nil
}

// Owners implements core.Identities.
func (s *Store) Owners(ctx context.Context, runtime, agent string) ([]string, error) {
	return readOwners(s.read(ctx), runtime, agent)
}

func readOwners(q querier, runtime, agent string) ([]string, error) {
	var owners []string
	err := q.each(sqlOwners, []any{runtime, agent}, func(scan func(...any) error) error {
		var id string
		if err := scan(&id); err != nil {
			return err
		}
		owners = append(owners, id)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	return owners, nil
}

// SetOwners implements core.Identities. Errors: core.ErrNotFound when one of the
// people is unknown; nothing is changed then.
func (s *Store) SetOwners(ctx context.Context, runtime, agent string, principalIDs []string) error {
	_, err := write(ctx, s, foreground, func(t *tx) (struct{}, error) {
		if err := setOwners(t, runtime, agent, principalIDs); err != nil {
			return struct{}{}, fmt.Errorf("set owners: %w", err)
		}
		return struct{}{}, nil
	})
	return err
}

func setOwners(t *tx, runtime, agent string, principalIDs []string) error {
	has, err := readOwners(t, runtime, agent)
	if err != nil {
		return err
	}
	wanted := slices.Compact(slices.Sorted(slices.Values(principalIDs)))
	for _, id := range wanted {
		if slices.Contains(has, id) {
			continue
		}
		if _, err := readPrincipal(t, id); err != nil {
			return err
		}
		if err := moveOwner(t, sqlAddOwner, runtime, agent, id); err != nil {
			return err
		}
	}
	for _, id := range has {
		if slices.Contains(wanted, id) {
			continue
		}
		if err := moveOwner(t, sqlRemoveOwner, runtime, agent, id); err != nil {
			return err
		}
	}
	return nil
}

// moveOwner adds or removes one owner and raises their revision.
func moveOwner(t *tx, query, runtime, agent, id string) error {
	if _, err := t.exec(query, runtime, agent, id); err != nil {
		return err
	}
	return raise(t, id)
}
