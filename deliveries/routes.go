package deliveries

import (
	"context"
	"fmt"
	"slices"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// The forms of Delivery.Destination.
const (
	PersonPrefix = "person:"
	ChatPrefix   = "chat:"
)

// Account is one bot and the shared chats that it posts to.
type Account struct {
	Ref   core.AccountRef
	Chats []string // Addresses, private to the channel.
}

// RoutesConfig says where cards may go.
type RoutesConfig struct {
	Accounts  []Account // Of the whole deployment: every replica plans alike.
	PublicURL string    // "" when none is configured.
}

// Directory is the book of people as the planner reads it.
type Directory interface {
	// ListPrincipals lists everybody in id order.
	ListPrincipals(ctx context.Context) ([]core.Principal, error)
	// IdentitiesOf lists the links of the given people.
	IdentitiesOf(ctx context.Context, principalIDs ...string) ([]core.Identity, error)
	// Owners lists the principals that own an agent of a runtime.
	Owners(ctx context.Context, runtime, agent string) ([]string, error)
}

// RoutesDeps are what the planner reads.
type RoutesDeps struct {
	People   Directory
	Sessions Devices
	Codes    Bootstrap
	Clock    core.Clock
	NewID    func() string // UUIDv7, for delivery rows.
}

// Planner says where an approval is shown: in every linked direct chat of those
// who may decide it, and in the chats listed for each account. Being told and
// being allowed to decide are separate: a listed chat gives no rights.
type Planner struct {
	cfg  RoutesConfig
	deps RoutesDeps
}

// NewPlanner wires a planner; it keeps nothing.
func NewPlanner(cfg RoutesConfig, deps RoutesDeps) *Planner {
	return &Planner{cfg: cfg, deps: deps}
}

// Plan implements the service's need. Errors are those of the store.
func (p *Planner) Plan(ctx context.Context, a *core.Approval) (approvals.Plan, error) {
	people, err := p.eligible(ctx, a)
	if err != nil {
		return approvals.Plan{}, err
	}
	links, err := p.links(ctx, people)
	if err != nil {
		return approvals.Plan{}, err
	}
	plan := approvals.Plan{Deliveries: p.deliveries(people, links)}
	open, err := p.deps.Codes.BootstrapOpen(ctx)
	if err != nil {
		return approvals.Plan{}, fmt.Errorf("read bootstrap code: %w", err)
	}
	plan.PageReachable = open
	if !open {
		if plan.PageReachable, err = p.pageReachable(ctx, people, links); err != nil {
			return approvals.Plan{}, err
		}
	}
	if len(plan.Deliveries) == 0 && (!plan.PageReachable || a.RequirePush) {
		plan.Hint = p.hint(a, people, links)
	}
	return plan, nil
}

// NextRoute plans the person's chats that this approval has not tried: those
// linked meanwhile, and those that were left out because they had failed before.
// None is no error. Errors are those of the store.
func (p *Planner) NextRoute(ctx context.Context, personID string, tried []core.Delivery) ([]core.PlannedDelivery, error) {
	links, err := p.deps.People.IdentitiesOf(ctx, personID)
	if err != nil {
		return nil, fmt.Errorf("read identities: %w", err)
	}
	planned := newPlanned(p.deps.NewID)
	for i := range tried {
		planned.know(core.AccountRef{Channel: tried[i].Channel, Account: tried[i].Account}, tried[i].Destination, tried[i].Address)
	}
	for i := range links {
		if links[i].PrincipalID == personID && p.serves(&links[i]) {
			planned.person(&links[i])
		}
	}
	return planned.rows, nil
}

// eligible lists who may decide, in id order.
func (p *Planner) eligible(ctx context.Context, a *core.Approval) ([]core.Principal, error) {
	everybody, err := p.deps.People.ListPrincipals(ctx)
	if err != nil {
		return nil, fmt.Errorf("list people: %w", err)
	}
	owners, err := p.deps.People.Owners(ctx, a.Runtime, a.Agent)
	if err != nil {
		return nil, fmt.Errorf("read owners: %w", err)
	}
	return slices.DeleteFunc(everybody, func(person core.Principal) bool {
		return !core.MayDecide(&person, a, owners)
	}), nil
}

// links reads the identities of the given people; nobody has none. The port reads
// everybody's when it is given nobody, so it is not asked then.
func (p *Planner) links(ctx context.Context, people []core.Principal) ([]core.Identity, error) {
	if len(people) == 0 {
		return nil, nil
	}
	ids := make([]string, len(people))
	for i := range people {
		ids[i] = people[i].ID
	}
	links, err := p.deps.People.IdentitiesOf(ctx, ids...)
	if err != nil {
		return nil, fmt.Errorf("read identities: %w", err)
	}
	return links, nil
}

// deliveries plans one row for each direct chat and each listed chat. Chats that
// failed for good are used only where the person has no other: they may work
// again, and one failed call is all that it costs.
func (p *Planner) deliveries(people []core.Principal, links []core.Identity) []core.PlannedDelivery {
	planned := newPlanned(p.deps.NewID)
	for i := range people {
		works := p.chatsOf(people[i].ID, links, func(l *core.Identity) bool { return l.Broken == core.FailureNone })
		if len(works) == 0 {
			works = p.chatsOf(people[i].ID, links, func(*core.Identity) bool { return true })
		}
		for _, l := range works {
			planned.person(l)
		}
	}
	for _, account := range p.cfg.Accounts {
		for _, chat := range account.Chats {
			planned.chat(account.Ref, chat)
		}
	}
	return planned.rows
}

func (p *Planner) chatsOf(personID string, links []core.Identity, want func(*core.Identity) bool) []*core.Identity {
	var out []*core.Identity
	for i := range links {
		if l := &links[i]; l.PrincipalID == personID && p.serves(l) && want(l) {
			out = append(out, l)
		}
	}
	return out
}

// serves reports a direct chat with one of our bots.
func (p *Planner) serves(l *core.Identity) bool {
	return l.DirectChat != "" && slices.ContainsFunc(p.cfg.Accounts, func(a Account) bool {
		return a.Ref == core.AccountRef{Channel: l.Channel, Account: l.Account}
	})
}

// planned collects rows, each destination and each address once (conformance 104).
type planned struct {
	newID func() string
	rows  []core.PlannedDelivery
	known map[place]bool
}

func newPlanned(newID func() string) *planned {
	return &planned{newID: newID, known: make(map[place]bool)}
}

// know marks a destination and its address, and reports whether both are new.
// Addresses and destinations share the map: only the latter have our prefixes.
func (p *planned) know(ref core.AccountRef, destination, address string) bool {
	fresh := !p.known[place{ref, destination}] && (address == "" || !p.known[place{ref, ChatPrefix + address}])
	p.known[place{ref, destination}] = true
	if address != "" {
		p.known[place{ref, ChatPrefix + address}] = true
	}
	return fresh
}

// person plans a direct chat. Its address is left open: it is resolved just
// before the send, so that a link changed meanwhile is honoured.
func (p *planned) person(l *core.Identity) {
	ref := core.AccountRef{Channel: l.Channel, Account: l.Account}
	if p.know(ref, PersonPrefix+l.PrincipalID, l.DirectChat) {
		p.rows = append(p.rows, core.PlannedDelivery{
			ID: p.newID(), Channel: ref.Channel, Account: ref.Account,
			Destination: PersonPrefix + l.PrincipalID, PersonID: l.PrincipalID,
		})
	}
}

func (p *planned) chat(ref core.AccountRef, address string) {
	if address != "" && p.know(ref, ChatPrefix+address, address) {
		p.rows = append(p.rows, core.PlannedDelivery{
			ID: p.newID(), Channel: ref.Channel, Account: ref.Account,
			Destination: ChatPrefix + address, Address: address,
		})
	}
}
