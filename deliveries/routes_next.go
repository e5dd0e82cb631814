package deliveries

import (
	"context"
	"slices"

	"github.com/saysohq/sayso/core"
)

// Next is what follows a card that failed for good.
type Next struct {
	Planned []core.PlannedDelivery
	Hasten  []string // Rows planned for later that are due at once now.
}

// NextRoute says where an approval goes after one of its rows failed for good,
// beside the rows already tried. A person gets the next step of their escalation,
// or else the chats that were not tried: those linked meanwhile, and those left out
// because they had failed before. A shared chat falls back to the approvers where
// its rule allows that. Where a person lost the right to decide, their remaining rows
// are due at once, to be closed for it, and those follow who have the right and were
// not told: the rule names approvers and not people. Nothing left is no error. Errors
// are those of the store.
func (p *Planner) NextRoute(ctx context.Context, a *core.Approval, failed *core.Delivery, tried []core.Delivery) (Next, error) {
	switch {
	case failed.PersonID == "":
		return p.fallBack(ctx, a, failed, tried)
	case failed.LastError == core.FailureNotEntitled:
		return p.succeed(ctx, a, failed, tried)
	}
	if id := soonest(failed, tried); id != "" {
		return Next{Hasten: []string{id}}, nil
	}
	q := &asked{a: a, rule: p.rule(a)}
	var err error
	if q.links, err = p.links(ctx, []core.Principal{{ID: failed.PersonID}}); err != nil {
		return Next{}, err
	}
	if q.broken, err = p.brokenNow(ctx); err != nil {
		return Next{}, err
	}
	planned := p.after(tried)
	works := p.directChats(q, failed.PersonID)
	planned.persons(works, q.rule)
	if len(planned.rows) == 0 { // What had failed before is better than nothing.
		q.broken = nil
		planned.persons(p.directChats(q, failed.PersonID), q.rule)
	}
	return Next{Planned: planned.rows}, nil
}

// soonest finds the person's next row of an escalation: planned, and due later
// than the failed one was.
func soonest(failed *core.Delivery, tried []core.Delivery) string {
	var next *core.Delivery
	for i := range tried {
		d := &tried[i]
		later := d.ID != failed.ID && d.PersonID == failed.PersonID &&
			d.State == core.DeliveryPlanned && d.Attempts == 0 && d.DueAt > d.CreatedAt
		if later && (next == nil || d.DueAt < next.DueAt) {
			next = d
		}
	}
	if next == nil {
		return ""
	}
	return next.ID
}

// fallBack tells the approvers directly, for want of a chat of the rule.
func (p *Planner) fallBack(ctx context.Context, a *core.Approval, failed *core.Delivery, tried []core.Delivery) (Next, error) {
	rule := p.rule(a)
	if !rule.Fallback || rule.To.Approvers {
		return Next{}, nil
	}
	q, err := p.read(ctx, a)
	if err != nil {
		return Next{}, err
	}
	chats, _ := p.chats(ctx, q)
	if !slices.ContainsFunc(chats, func(c Chat) bool { return isRowOf(failed, c) }) {
		return Next{}, nil // A card that somebody asked for elsewhere.
	}
	return Next{Planned: p.untold(q, tried)}, nil
}

// untold plans cards to the approvers who have no row yet. Whoever has rows has a next
// route of their own.
func (p *Planner) untold(q *asked, tried []core.Delivery) []core.PlannedDelivery {
	planned := p.after(tried)
	for i := range q.people {
		told := slices.ContainsFunc(tried, func(d core.Delivery) bool { return d.PersonID == q.people[i].ID })
		if !told {
			planned.persons(p.directChats(q, q.people[i].ID), q.rule)
		}
	}
	return planned.rows
}

// succeed tells the approvers of now in the place of one who is none any more.
func (p *Planner) succeed(ctx context.Context, a *core.Approval, failed *core.Delivery, tried []core.Delivery) (Next, error) {
	var next Next
	for i := range tried {
		d := &tried[i]
		if d.ID != failed.ID && d.PersonID == failed.PersonID && d.State == core.DeliveryPlanned {
			next.Hasten = append(next.Hasten, d.ID)
		}
	}
	rule := p.rule(a)
	if !rule.To.Approvers && !rule.Fallback {
		return next, nil
	}
	q, err := p.read(ctx, a)
	if err != nil {
		return Next{}, err
	}
	next.Planned = p.untold(q, tried)
	return next, nil
}

func isRowOf(d *core.Delivery, c Chat) bool {
	return d.Channel == c.Ref.Channel && d.Account == c.Ref.Account && d.Destination == ChatPrefix+c.Address
}

// after begins a plan in which nothing is tried twice.
func (p *Planner) after(tried []core.Delivery) *planned {
	planned := newPlanned(p.deps.NewID)
	for i := range tried {
		d := &tried[i]
		planned.know(core.AccountRef{Channel: d.Channel, Account: d.Account}, d.Destination, d.Address)
	}
	return planned
}
