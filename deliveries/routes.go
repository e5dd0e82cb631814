package deliveries

import (
	"context"
	"fmt"
	"log/slog"
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
	// Origins are the chats that requests may name as their own; each stands for
	// its topics and threads too.
	Origins []string
	// Canonical turns an address into its one spelling, so that two spellings are
	// one chat; false when it is no address of the channel. Nil takes any text
	// without spaces and control characters as it is.
	Canonical func(address string) (string, bool)
}

// RoutesConfig says where cards may go.
type RoutesConfig struct {
	Accounts  []Account // Of the whole deployment: every replica plans alike.
	Rules     []Rule    // The first that fits wins; DefaultRule stands behind them.
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
	Broken   core.Routes
	Clock    core.Clock
	NewID    func() string // UUIDv7, for delivery rows.
	Logger   *slog.Logger
}

// Planner says where an approval is shown, by the routing table. Being told and
// being allowed to decide are separate: a chat gives no rights.
type Planner struct {
	cfg  RoutesConfig
	deps RoutesDeps
}

// NewPlanner wires a planner; it keeps nothing.
func NewPlanner(cfg RoutesConfig, deps RoutesDeps) *Planner {
	return &Planner{cfg: cfg, deps: deps}
}

// asked is everything that planning one request reads.
type asked struct {
	a      *core.Approval
	rule   *Rule
	people []core.Principal // Who may decide, in id order.
	links  []core.Identity  // Theirs.
	broken map[place]bool   // Destinations that are not to be tried yet.
}

// Plan implements the service's need. Errors are those of the store.
func (p *Planner) Plan(ctx context.Context, a *core.Approval) (approvals.Plan, error) {
	q, err := p.read(ctx, a)
	if err != nil {
		return approvals.Plan{}, err
	}
	var plan approvals.Plan
	if plan.PageReachable, err = p.reachable(ctx, q); err != nil {
		return approvals.Plan{}, err
	}
	pageWillDo := plan.PageReachable && !a.RequirePush
	chats, noOrigin := p.chats(ctx, q)
	plan.Deliveries = p.deliveries(q, chats, noOrigin != "", pageWillDo)
	switch {
	case len(plan.Deliveries) > 0:
	case !pageWillDo:
		plan.Hint = p.hint(q, noOrigin)
	case len(q.people) == 0: // The bootstrap code alone keeps the question open.
		plan.Hint = hintFirst
	}
	return plan, nil
}

// read gathers what planning needs.
func (p *Planner) read(ctx context.Context, a *core.Approval) (*asked, error) {
	q := &asked{a: a, rule: p.rule(a)}
	var err error
	if q.people, err = p.eligible(ctx, a); err != nil {
		return nil, err
	}
	if q.links, err = p.links(ctx, q.people); err != nil {
		return nil, err
	}
	q.broken, err = p.brokenNow(ctx)
	return q, err
}

// rule is the first that fits.
func (p *Planner) rule(a *core.Approval) *Rule {
	for i := range p.cfg.Rules {
		if p.cfg.Rules[i].Match.Fits(a) {
			return &p.cfg.Rules[i]
		}
	}
	rule := DefaultRule()
	return &rule
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

// brokenNow lists the destinations that failed for good and whose next try has
// not come.
func (p *Planner) brokenNow(ctx context.Context) (map[place]bool, error) {
	routes, err := p.deps.Broken.BrokenRoutes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read broken routes: %w", err)
	}
	if len(routes) == 0 {
		return nil, nil
	}
	now, err := p.deps.Clock.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read clock: %w", err)
	}
	broken := make(map[place]bool, len(routes))
	for i := range routes {
		if !routes[i].RetryAt.Reached(now) {
			broken[place{routes[i].Ref, routes[i].Destination}] = true
		}
	}
	return broken, nil
}

// chats lists the shared chats of the rule, and why a wanted origin is none of
// them ("" when it is, or is not wanted).
func (p *Planner) chats(ctx context.Context, q *asked) (chats []Chat, noOrigin string) {
	add := func(c Chat) {
		if account := p.account(c.Ref); account != nil {
			if address, ok := account.canonical(c.Address); ok {
				chats = append(chats, Chat{Ref: c.Ref, Address: address})
			}
		}
	}
	for _, c := range q.rule.To.Chats {
		add(c)
	}
	if q.rule.To.Listed {
		for _, account := range p.cfg.Accounts {
			for _, address := range account.Chats {
				add(Chat{Ref: account.Ref, Address: address})
			}
		}
	}
	if !q.rule.To.Origin {
		return chats, ""
	}
	origin, why := p.origin(q.a.SessionKey)
	if why != "" {
		p.deps.Logger.InfoContext(ctx, "origin chat not used", slog.String("approval", q.a.ID),
			slog.String("rule", q.rule.Name), slog.String("reason", why))
		return chats, why
	}
	return append(chats, origin), ""
}

// deliveries plans one row for each place of the rule. Places that failed for good
// are left out until they are due to be tried again, unless nobody could be asked
// then: one failed call is all that it costs, and a denial on hearsay costs more.
func (p *Planner) deliveries(q *asked, chats []Chat, noOrigin, pageWillDo bool) []core.PlannedDelivery {
	planned := newPlanned(p.deps.NewID)
	works := slices.DeleteFunc(slices.Clone(chats), func(c Chat) bool {
		return q.broken[place{c.Ref, ChatPrefix + c.Address}]
	})
	if q.rule.To.Approvers || (q.rule.Fallback && (noOrigin || len(works) < len(chats))) {
		for i := range q.people {
			planned.persons(p.directChats(q, q.people[i].ID), q.rule)
		}
	}
	for _, c := range works {
		planned.chat(c)
	}
	if len(planned.rows) == 0 && !pageWillDo {
		for _, c := range chats {
			planned.chat(c)
		}
	}
	return planned.rows
}

// directChats lists a person's chats with our bots: those that work, or else those
// that failed before.
func (p *Planner) directChats(q *asked, personID string) []*core.Identity {
	var all, works []*core.Identity
	for i := range q.links {
		l := &q.links[i]
		if l.PrincipalID != personID || l.DirectChat == "" || p.account(refOfLink(l)) == nil {
			continue
		}
		all = append(all, l)
		if !q.broken[place{refOfLink(l), PersonPrefix + personID}] {
			works = append(works, l)
		}
	}
	if len(works) == 0 {
		return all
	}
	return works
}
