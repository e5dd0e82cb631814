package people_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/saysohq/sayso/core"
)

// memory is the store's side of people in maps, with the semantics of the ports; the
// real stores prove theirs in their own tests.
type memory struct {
	mu         sync.Mutex
	now        core.Millis
	people     map[string]core.Principal
	identities map[[2]string]core.Identity
	owners     map[[2]string][]string
	sessions   map[string]core.Session // By id.
	tokens     map[string]core.Token   // By id.
	codes      map[string]core.Code    // By hash; good while they are there.
	failures   int
	broken     error // What every call answers, when set.
}

func newMemory() *memory {
	return &memory{
		now: 1_700_000_000_000, people: map[string]core.Principal{}, identities: map[[2]string]core.Identity{},
		owners: map[[2]string][]string{}, sessions: map[string]core.Session{}, tokens: map[string]core.Token{},
		codes: map[string]core.Code{},
	}
}

// open locks the store for one call, unless it is broken.
func (m *memory) open() (unlock func(), err error) {
	m.mu.Lock()
	return m.mu.Unlock, m.broken
}

func (m *memory) Principal(_ context.Context, id string) (core.Principal, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Principal{}, err
	}
	return m.principal(id)
}

func (m *memory) principal(id string) (core.Principal, error) {
	p, ok := m.people[id]
	if !ok {
		return core.Principal{}, core.ErrNotFound
	}
	return p, nil
}

func (m *memory) enabled(id string) (core.Principal, error) {
	p, err := m.principal(id)
	if err == nil && p.Disabled {
		return core.Principal{}, core.ErrNotFound
	}
	return p, err
}

func (m *memory) PrincipalByIdentity(_ context.Context, realm, externalID string) (core.Principal, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Principal{}, err
	}
	return m.principal(m.identities[[2]string{realm, externalID}].PrincipalID)
}

func (m *memory) ListPrincipals(context.Context) ([]core.Principal, error) {
	unlock, err := m.open()
	defer unlock()
	return slices.SortedFunc(maps.Values(m.people), func(a, b core.Principal) int { return cmp.Compare(a.ID, b.ID) }), err
}

func (m *memory) AddPrincipal(_ context.Context, p core.Principal) (core.Principal, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Principal{}, err
	}
	if _, taken := m.people[p.ID]; taken {
		return core.Principal{}, core.ErrIDTaken
	}
	p.Revision, p.CreatedAt, p.UpdatedAt = 1, m.now, m.now
	m.people[p.ID] = p
	return p, nil
}

func (m *memory) ChangePrincipal(_ context.Context, c core.ChangePrincipal) (core.Principal, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Principal{}, err
	}
	is, err := m.principal(c.ID)
	if err != nil {
		return is, err
	}
	if c.Revision != 0 && c.Revision != is.Revision {
		return is, core.ErrConflict
	}
	to := is
	if c.Name != nil {
		to.Name = *c.Name
	}
	if c.Role != nil {
		to.Role = *c.Role
	}
	if c.Disabled != nil {
		to.Disabled = *c.Disabled
	}
	to.Revision++
	m.people[to.ID] = to
	if !slices.ContainsFunc(slices.Collect(maps.Values(m.people)), func(p core.Principal) bool {
		return p.Role == core.RoleAdmin && !p.Disabled
	}) {
		m.people[is.ID] = is
		return is, core.ErrLastAdmin
	}
	if to.Disabled {
		maps.DeleteFunc(m.sessions, func(_ string, s core.Session) bool { return s.PrincipalID == to.ID })
	}
	return to, nil
}

func (m *memory) LinkIdentity(_ context.Context, i core.Identity) error {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return err
	}
	return m.link(i)
}

func (m *memory) link(i core.Identity) error {
	if _, err := m.principal(i.PrincipalID); err != nil {
		return err
	}
	key := [2]string{i.Realm, i.ExternalID}
	if has, ok := m.identities[key]; ok && has.PrincipalID != i.PrincipalID {
		return core.ErrIdentityTaken
	}
	i.LinkedAt = m.now
	m.identities[key] = i
	return nil
}

func (m *memory) UnlinkIdentity(_ context.Context, realm, externalID string) error {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return err
	}
	if _, ok := m.identities[[2]string{realm, externalID}]; !ok {
		return core.ErrNotFound
	}
	delete(m.identities, [2]string{realm, externalID})
	return nil
}

func (m *memory) IdentitiesOf(_ context.Context, ids ...string) ([]core.Identity, error) {
	unlock, err := m.open()
	defer unlock()
	var list []core.Identity
	for _, i := range m.identities {
		if len(ids) == 0 || slices.Contains(ids, i.PrincipalID) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b core.Identity) int { return cmp.Compare(a.Realm+a.ExternalID, b.Realm+b.ExternalID) })
	return list, err
}

func (m *memory) Owners(_ context.Context, runtime, agent string) ([]string, error) {
	unlock, err := m.open()
	defer unlock()
	return m.owners[[2]string{runtime, agent}], err
}

func (m *memory) SetOwners(_ context.Context, runtime, agent string, ids []string) error {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := m.principal(id); err != nil {
			return err
		}
	}
	m.owners[[2]string{runtime, agent}] = ids
	return nil
}

func (m *memory) StartSession(_ context.Context, s core.Session, life core.Millis) (core.Session, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Session{}, err
	}
	return m.start(s, life)
}

func (m *memory) start(s core.Session, life core.Millis) (core.Session, error) {
	if _, err := m.enabled(s.PrincipalID); err != nil {
		return core.Session{}, err
	}
	s.CreatedAt, s.ExpiresAt = m.now, m.now+life
	m.sessions[s.ID] = s
	return s, nil
}

func (m *memory) SessionByHash(_ context.Context, hash string) (core.Session, core.Principal, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Session{}, core.Principal{}, err
	}
	for _, s := range m.sessions {
		if s.Hash == hash && s.Live(m.now) {
			p, err := m.enabled(s.PrincipalID)
			return s, p, err
		}
	}
	return core.Session{}, core.Principal{}, core.ErrNotFound
}

func (m *memory) EndSession(_ context.Context, id string) error {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return err
	}
	s, ok := m.sessions[id]
	if !ok {
		return core.ErrNotFound
	}
	s.EndedAt = m.now
	m.sessions[id] = s
	return nil
}

func (m *memory) SessionsOf(_ context.Context, principalID string) ([]core.Session, error) {
	unlock, err := m.open()
	defer unlock()
	var list []core.Session
	for _, s := range m.sessions {
		if s.PrincipalID == principalID {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b core.Session) int { return cmp.Compare(b.ID, a.ID) })
	return list, err
}

func (m *memory) IssueToken(_ context.Context, t core.Token, life core.Millis) (core.Token, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Token{}, err
	}
	if t.ActsFor != "" {
		if _, err := m.principal(t.ActsFor); err != nil {
			return core.Token{}, err
		}
	}
	for _, has := range m.tokens {
		if has.Hash == t.Hash || has.ID == t.ID {
			return core.Token{}, core.ErrIDTaken
		}
	}
	t.CreatedAt = m.now
	if life > 0 {
		t.ExpiresAt = m.now + life
	}
	m.tokens[t.ID] = t
	return t, nil
}

func (m *memory) TokenByHash(_ context.Context, hash string) (core.Token, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Token{}, err
	}
	for _, t := range m.tokens {
		if t.Hash == hash && t.RevokedAt == 0 && !t.ExpiresAt.Reached(m.now) {
			return t, nil
		}
	}
	return core.Token{}, core.ErrNotFound
}

func (m *memory) RenewToken(_ context.Context, hash string, life core.Millis) (core.Token, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Token{}, err
	}
	for id, t := range m.tokens {
		if t.Hash == hash && t.RevokedAt == 0 {
			t.ExpiresAt = 0
			if life > 0 {
				t.ExpiresAt = m.now + life
			}
			m.tokens[id] = t
			return t, nil
		}
	}
	return core.Token{}, core.ErrNotFound
}

func (m *memory) RevokeToken(_ context.Context, id string) error {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return err
	}
	t, ok := m.tokens[id]
	if !ok {
		return core.ErrNotFound
	}
	t.RevokedAt = m.now
	m.tokens[id] = t
	return nil
}

func (m *memory) ListTokens(context.Context) ([]core.Token, error) {
	unlock, err := m.open()
	defer unlock()
	return slices.Collect(maps.Values(m.tokens)), err
}
