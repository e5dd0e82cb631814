package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/saysohq/sayso/core"
)

// Roster is the wished-for state of people in a file. It names people by the ids it
// gives them, so that the same file applied twice changes nothing the second time.
// People who are not in it stay as they are, unless Exhaustive is set.
type Roster struct {
	People []RosterPerson `json:"people" yaml:"people"`
	Agents []RosterAgent  `json:"agents,omitempty" yaml:"agents,omitempty"`
	// Exhaustive disables everybody who is not in the file. Nobody is ever deleted:
	// the record names them.
	Exhaustive bool `json:"exhaustive,omitempty" yaml:"exhaustive,omitempty"`
}

// RosterPerson is one person of a Roster.
type RosterPerson struct {
	ID       string    `json:"id" yaml:"id"` // Chosen by the file; see ValidPrincipalID.
	Name     string    `json:"name" yaml:"name"`
	Role     core.Role `json:"role" yaml:"role"`
	Disabled bool      `json:"disabled,omitempty" yaml:"disabled,omitempty"`
	// Identities are all links of the person; nil leaves them as they are.
	Identities []RosterIdentity `json:"identities" yaml:"identities"`
}

// RosterIdentity is one chat account of a person.
type RosterIdentity struct {
	Realm string `json:"realm" yaml:"realm"` // telegram, discord, slack:<team id>.
	ID    string `json:"id" yaml:"id"`       // The platform's user id.
}

// RosterAgent names the owners of an agent; an empty list leaves it to the admins.
type RosterAgent struct {
	Runtime string   `json:"runtime" yaml:"runtime"`
	Agent   string   `json:"agent" yaml:"agent"`
	Owners  []string `json:"owners" yaml:"owners"`
}

// maxRoster bounds a roster file, in bytes.
const maxRoster = 1 << 20

// DecodeRoster reads a roster in JSON, at most 1 MiB; unknown fields are refused.
// Errors: core.ErrInvalid.
func DecodeRoster(r io.Reader) (Roster, error) {
	d := json.NewDecoder(io.LimitReader(r, maxRoster))
	d.DisallowUnknownFields()
	var roster Roster
	if err := d.Decode(&roster); err != nil {
		// The decoder's text repeats values: only its kind is told.
		return Roster{}, core.Invalid("roster", "must be JSON of known fields, at most %d bytes", maxRoster)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Roster{}, core.Invalid("roster", "must be one JSON object")
	}
	return roster, nil
}

// ChangeKind says what a step of Apply does.
type ChangeKind string

// The kinds of change, in the order in which Apply makes them: what adds comes
// before what takes away, so that there is an admin at every moment.
const (
	ChangeAdd     ChangeKind = "add"
	ChangeUnlink  ChangeKind = "unlink"
	ChangeLink    ChangeKind = "link"
	ChangeOwners  ChangeKind = "owners"
	ChangeUpdate  ChangeKind = "update"
	ChangeDisable ChangeKind = "disable"
)

// Change is one step from what is to what the roster says.
type Change struct {
	Kind     ChangeKind      `json:"kind"`
	PersonID string          `json:"person,omitempty"`
	Identity *RosterIdentity `json:"identity,omitempty"`
	Agent    *RosterAgent    `json:"agent,omitempty"`
	person   RosterPerson
}

// PlanRoster tells what Apply would change, and changes nothing. Errors as of Apply.
func (s *Service) PlanRoster(ctx context.Context, by core.Caller, r Roster) ([]Change, error) {
	if err := s.authorise(ctx, by, widen); err != nil {
		return nil, err
	}
	return s.plan(ctx, r)
}

// Apply makes the people be what the roster says and returns the changes it made.
// Each change is one guarded write; when one fails, those before it stand and are
// returned with the error, and applying the file again goes on from there. Errors:
// core.ErrForbidden, core.ErrInvalid, core.ErrLastAdmin, core.ErrIdentityTaken,
// core.ErrNotFound for unknown owners.
func (s *Service) Apply(ctx context.Context, by core.Caller, r Roster) ([]Change, error) {
	changes, err := s.PlanRoster(ctx, by, r)
	if err != nil {
		return nil, err
	}
	for n, c := range changes {
		if err := s.apply(ctx, by, c); err != nil {
			return changes[:n], fmt.Errorf("apply roster (%s): %w", c.Kind, err)
		}
	}
	return changes, nil
}

func (s *Service) apply(ctx context.Context, by core.Caller, c Change) error {
	if err := s.authorise(ctx, by, widen); err != nil {
		return err
	}
	switch c.Kind {
	case ChangeAdd:
		_, err := s.add(ctx, by, NewPerson{ID: c.PersonID, Name: c.person.Name, Role: c.person.Role})
		return err
	case ChangeUpdate:
		_, err := s.change(ctx, by, core.ChangePrincipal{
			ID: c.PersonID, Name: &c.person.Name, Role: &c.person.Role, Disabled: &c.person.Disabled,
		})
		return err
	case ChangeDisable:
		disabled := true
		_, err := s.change(ctx, by, core.ChangePrincipal{ID: c.PersonID, Disabled: &disabled})
		return err
	case ChangeLink:
		return s.link(ctx, by, core.Identity{Realm: c.Identity.Realm, ExternalID: c.Identity.ID, PrincipalID: c.PersonID})
	case ChangeUnlink:
		return s.unlink(ctx, by, c.PersonID, c.Identity.Realm, c.Identity.ID)
	case ChangeOwners:
		return s.own(ctx, by, c.Agent.Runtime, c.Agent.Agent, c.Agent.Owners)
	}
	return core.ErrInvalid
}

// plan compares the roster with what is.
func (s *Service) plan(ctx context.Context, r Roster) ([]Change, error) {
	if err := s.checkRoster(&r); err != nil {
		return nil, err
	}
	people, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[string]Person, len(people))
	for _, p := range people {
		known[p.ID] = p
	}
	var changes []Change
	for _, wanted := range r.People {
		changes = append(changes, compare(wanted, known[wanted.ID])...)
		delete(known, wanted.ID)
	}
	if r.Exhaustive {
		for _, p := range people {
			if _, left := known[p.ID]; left && !p.Disabled {
				changes = append(changes, Change{Kind: ChangeDisable, PersonID: p.ID})
			}
		}
	}
	for _, a := range r.Agents {
		owners, err := s.Identities.Owners(ctx, a.Runtime, s.agent(a.Agent))
		if err != nil {
			return nil, fmt.Errorf("list owners: %w", err)
		}
		if !sameSet(owners, a.Owners) {
			changes = append(changes, Change{Kind: ChangeOwners, Agent: &a})
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return a.order() - b.order() })
	return changes, nil
}

// compare lists what makes is into wanted; the zero Person is somebody new.
func compare(wanted RosterPerson, is Person) []Change {
	var changes []Change
	change := func(k ChangeKind, i *RosterIdentity) {
		changes = append(changes, Change{Kind: k, PersonID: wanted.ID, Identity: i, person: wanted})
	}
	if is.ID == "" {
		change(ChangeAdd, nil)
		is.Name, is.Role = wanted.Name, wanted.Role
	}
	if is.Name != wanted.Name || is.Role != wanted.Role || is.Disabled != wanted.Disabled {
		change(ChangeUpdate, nil)
	}
	if wanted.Identities == nil {
		return changes
	}
	has := make([]RosterIdentity, 0, len(is.Identities))
	for _, i := range is.Identities {
		has = append(has, RosterIdentity{Realm: i.Realm, ID: i.ExternalID})
	}
	for _, i := range has {
		if !slices.Contains(wanted.Identities, i) {
			change(ChangeUnlink, &i)
		}
	}
	for _, i := range wanted.Identities {
		if !slices.Contains(has, i) {
			change(ChangeLink, &i)
		}
	}
	return changes
}

// order puts promotions and enabling right after the additions, and demotions and
// disabling last.
func (c Change) order() int {
	switch c.Kind {
	case ChangeAdd:
		return 0
	case ChangeUpdate:
		if c.person.Role == core.RoleAdmin && !c.person.Disabled {
			return 1
		}
		return 5
	case ChangeUnlink:
		return 2
	case ChangeLink:
		return 3
	case ChangeOwners:
		return 4
	case ChangeDisable:
	}
	return 6
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// checkRoster checks the whole file before anything is changed, and cleans names
// so that they compare with what is stored.
func (s *Service) checkRoster(r *Roster) error {
	r.People = slices.Clone(r.People)
	ids := make(map[string]bool, len(r.People))
	links := make(map[RosterIdentity]bool)
	for n := range r.People {
		p := &r.People[n]
		if err := s.checkRosterPerson(p, links); err != nil {
			return fmt.Errorf("people[%d]: %w", n, err)
		}
		if ids[p.ID] {
			return fmt.Errorf("people[%d]: %w", n, core.Invalid("id", "must be in the file only once"))
		}
		ids[p.ID] = true
	}
	for n, a := range r.Agents {
		if err := checkAgent(a.Runtime, a.Agent); err != nil {
			return fmt.Errorf("agents[%d]: %w", n, err)
		}
		for _, owner := range a.Owners {
			if !ValidPrincipalID(owner) {
				return fmt.Errorf("agents[%d]: %w", n, core.Invalid("owners", "must be ids of people"))
			}
		}
	}
	return nil
}

func (s *Service) checkRosterPerson(p *RosterPerson, links map[RosterIdentity]bool) error {
	if p.ID == "" {
		return core.Invalid("id", "must be given in a roster")
	}
	checked, err := s.newPrincipal(NewPerson{ID: p.ID, Name: p.Name, Role: p.Role})
	if err != nil {
		return err
	}
	p.Name = checked.Name
	for _, i := range p.Identities {
		if _, err := s.identity(core.Identity{Realm: i.Realm, ExternalID: i.ID}); err != nil {
			return err
		}
		if links[i] {
			return core.Invalid("identities", "must name each account only once")
		}
		links[i] = true
	}
	return nil
}
