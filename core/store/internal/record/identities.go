package record

import (
	"context"
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
			label       = coalesce(nullif(excluded.label, ''), identities.label),
			channel     = excluded.channel,
			account     = coalesce(nullif(excluded.account, ''), identities.account),
			direct_chat = coalesce(nullif(excluded.direct_chat, ''), identities.direct_chat),
			linked_at   = excluded.linked_at,
			broken      = ''
		WHERE identities.principal_id = excluded.principal_id`
	sqlUnlinkIdentity = "DELETE FROM identities WHERE realm = ? AND external_id = ?"
	sqlAllIdentities  = "SELECT " + sqlIdentityColumns + " FROM identities ORDER BY principal_id, realm, external_id"
	sqlOwners         = "SELECT principal_id FROM agent_owners WHERE runtime = ? AND agent = ? ORDER BY principal_id"
	sqlAddOwner       = "INSERT INTO agent_owners (runtime, agent, principal_id) VALUES (?, ?, ?)"
	sqlRemoveOwner    = "DELETE FROM agent_owners WHERE runtime = ? AND agent = ? AND principal_id = ?"
)

// LinkIdentity implements core.Identities.
func (s *Store) LinkIdentity(ctx context.Context, i core.Identity) error {
	_, err := write(ctx, s, Foreground, func(t *tx) (core.Principal, error) { return linkIdentity(t, i) })
	return err
}

func linkIdentity(t *tx, i core.Identity) (core.Principal, error) {
	p, err := t.personLocked(i.PrincipalID, Update)
	if err != nil {
		return core.Principal{}, fmt.Errorf("link identity: %w", err)
	}
	var owner string
	err = t.One(sqlIdentityOwner, []any{i.Realm, i.ExternalID}, &owner)
	switch {
	case errors.Is(err, core.ErrNotFound):
	case err != nil:
		return core.Principal{}, fmt.Errorf("link identity: %w", err)
	case owner != i.PrincipalID:
		return core.Principal{}, fmt.Errorf("link identity: %w", core.ErrIdentityTaken)
	}
	if _, err := t.Exec(sqlMendLinked, string(i.Channel), i.Account, i.PrincipalID); err != nil {
		return core.Principal{}, fmt.Errorf("link identity: %w", err)
	}
	n, err := t.Exec(sqlLinkIdentity, i.Realm, i.ExternalID, i.PrincipalID, i.Label, string(i.Channel), i.Account, i.DirectChat, int64(t.now))
	if err == nil && n == 0 { // Somebody else was linked at this very moment.
		err = core.ErrIdentityTaken
	}
	if err != nil {
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
	_, err := write(ctx, s, Foreground, func(t *tx) (struct{}, error) {
		if err := unlinkIdentity(t, realm, externalID); err != nil {
			return struct{}{}, fmt.Errorf("unlink identity: %w", err)
		}
		return struct{}{}, nil
	})
	return err
}

func unlinkIdentity(t *tx, realm, externalID string) error {
	var owner string
	if err := t.One(sqlIdentityOwner, []any{realm, externalID}, &owner); err != nil {
		return err
	}
	if _, err := t.personLocked(owner, Update); err != nil {
		return err
	}
	if _, err := t.Exec(sqlUnlinkIdentity, realm, externalID); err != nil {
		return err
	}
	return raise(t, owner)
}

// IdentitiesOf implements core.Identities.
func (s *Store) IdentitiesOf(ctx context.Context, principalIDs ...string) ([]core.Identity, error) {
	query, args := sqlAllIdentities, []any(nil)
	if len(principalIDs) > 0 {
		ids, err := textsJSON(principalIDs)
		if err != nil {
			return nil, fmt.Errorf("list identities: %w", err)
		}
		query, args = s.rows.identitiesOf, []any{ids}
	}
	var list []core.Identity
	err := s.read(ctx).Each(query, args, func(scan Row) error {
		var i core.Identity
		if err := scan(&i.Realm, &i.ExternalID, &i.PrincipalID, &i.Label, (*string)(&i.Channel), &i.Account, &i.DirectChat, (*int64)(&i.LinkedAt), (*string)(&i.Broken)); err != nil {
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

func readOwners(q Querier, runtime, agent string) ([]string, error) {
	var owners []string
	err := q.Each(sqlOwners, []any{runtime, agent}, func(scan Row) error {
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
	_, err := write(ctx, s, Foreground, func(t *tx) (struct{}, error) {
		if err := setOwners(t, runtime, agent, principalIDs); err != nil {
			return struct{}{}, fmt.Errorf("set owners: %w", err)
		}
		return struct{}{}, nil
	})
	return err
}

func setOwners(t *tx, runtime, agent string, principalIDs []string) error {
	if err := t.holdName(Update, "agent", runtime, agent); err != nil {
		return err
	}
	has, err := readOwners(t, runtime, agent)
	if err != nil {
		return err
	}
	// Everybody who gains or loses, in id order.
	for _, id := range slices.Compact(slices.Sorted(slices.Values(append(has, principalIDs...)))) {
		owns, shall := slices.Contains(has, id), slices.Contains(principalIDs, id)
		if owns == shall {
			continue
		}
		if _, err := t.personLocked(id, Update); err != nil {
			return err
		}
		query := sqlAddOwner
		if owns {
			query = sqlRemoveOwner
		}
		if err := moveOwner(t, query, runtime, agent, id); err != nil {
			return err
		}
	}
	return nil
}

// moveOwner adds or removes one owner and raises their revision.
func moveOwner(t *tx, query, runtime, agent, id string) error {
	if _, err := t.Exec(query, runtime, agent, id); err != nil {
		return err
	}
	return raise(t, id)
}
