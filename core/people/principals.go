package people

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"github.com/saysohq/sayso/core"
)

// MaxPrincipalID bounds a person's id, in bytes.
const MaxPrincipalID = 64

// ValidPrincipalID reports whether s matches [a-z0-9][a-z0-9._-]{0,63}. Ids that
// the service chooses are UUIDs; a roster file may choose its own.
func ValidPrincipalID(s string) bool {
	if s == "" || len(s) > MaxPrincipalID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

// NewPerson is somebody to be added.
type NewPerson struct {
	ID   string // "" lets the service choose.
	Name string // 1 to MaxName code points.
	Role core.Role
}

// Person is somebody with their chat identities.
type Person struct {
	core.Principal
	Identities []core.Identity
}

// AddPerson adds somebody; they can sign in once they redeem a pairing code, and
// answer in chats once an identity is linked. Errors: core.ErrForbidden,
// core.ErrInvalid, core.ErrIDTaken.
func (s *Service) AddPerson(ctx context.Context, by core.Caller, n NewPerson) (core.Principal, error) {
	if err := s.authorise(ctx, by, widen); err != nil {
		return core.Principal{}, err
	}
	return s.add(ctx, by, n)
}

func (s *Service) add(ctx context.Context, by core.Caller, n NewPerson) (core.Principal, error) {
	p, err := s.newPrincipal(n)
	if err != nil {
		return core.Principal{}, err
	}
	added, err := s.Principals.AddPrincipal(ctx, p)
	if err != nil {
		return core.Principal{}, fmt.Errorf("add person: %w", err)
	}
	s.audit(ctx, by, "person added", slog.String("person", added.ID), slog.String("role", string(added.Role)))
	return added, nil
}

func (s *Service) newPrincipal(n NewPerson) (core.Principal, error) {
	name, err := s.name(n.Name)
	if err != nil {
		return core.Principal{}, err
	}
	switch {
	case !n.Role.Valid():
		return core.Principal{}, core.Invalid("role", "must be admin, reviewer or viewer")
	case n.ID != "" && !ValidPrincipalID(n.ID):
		return core.Principal{}, core.Invalid("id", "must be 1 to %d of a-z, 0-9, '.', '_', '-', and begin with a letter or digit", MaxPrincipalID)
	case n.ID == "":
		n.ID = newID()
	}
	return core.Principal{ID: n.ID, Name: name, Role: n.Role}, nil
}

// newID is a UUIDv7: it sorts by time, which keeps the indexes small. NewV7 fails
// only when crypto/rand does, which ends the process first.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// ChangePerson renames, changes the role, disables or enables; nil fields stay. A
// machine with the admin scope may disable and nothing else. Disabling ends the
// person's sessions and holds from the next write on. On core.ErrConflict the
// person as they are comes back. Errors: core.ErrForbidden, core.ErrInvalid,
// core.ErrNotFound, core.ErrConflict, core.ErrLastAdmin.
func (s *Service) ChangePerson(ctx context.Context, by core.Caller, c core.ChangePrincipal) (core.Principal, error) {
	a := widen
	if c.Disabled != nil && *c.Disabled && c.Name == nil && c.Role == nil {
		a = tighten
	}
	if err := s.authorise(ctx, by, a); err != nil {
		return core.Principal{}, err
	}
	return s.change(ctx, by, c)
}

func (s *Service) change(ctx context.Context, by core.Caller, c core.ChangePrincipal) (core.Principal, error) {
	if c.Name != nil {
		name, err := s.name(*c.Name)
		if err != nil {
			return core.Principal{}, err
		}
		c.Name = &name
	}
	if c.Role != nil && !c.Role.Valid() {
		return core.Principal{}, core.Invalid("role", "must be admin, reviewer or viewer")
	}
	p, err := s.Principals.ChangePrincipal(ctx, c)
	if err != nil {
		return p, fmt.Errorf("change person: %w", err)
	}
	s.audit(ctx, by, "person changed", slog.String("person", p.ID), slog.String("role", string(p.Role)),
		slog.Bool("disabled", p.Disabled), slog.Int64("revision", p.Revision))
	return p, nil
}

// ListPeople lists everybody with their identities, in id order. Errors:
// core.ErrForbidden.
func (s *Service) ListPeople(ctx context.Context, by core.Caller) ([]Person, error) {
	if err := s.authorise(ctx, by, tighten); err != nil {
		return nil, err
	}
	return s.list(ctx)
}

func (s *Service) list(ctx context.Context) ([]Person, error) {
	principals, err := s.Principals.ListPrincipals(ctx)
	if err != nil {
		return nil, fmt.Errorf("list people: %w", err)
	}
	identities, err := s.Identities.IdentitiesOf(ctx)
	if err != nil {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	of := make(map[string][]core.Identity, len(principals))
	for _, i := range identities {
		of[i.PrincipalID] = append(of[i.PrincipalID], i)
	}
	people := make([]Person, 0, len(principals))
	for _, p := range principals {
		people = append(people, Person{Principal: p, Identities: of[p.ID]})
	}
	return people, nil
}
