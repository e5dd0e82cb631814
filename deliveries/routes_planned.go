package deliveries

import (
	"cmp"
	"slices"
	"time"

	"github.com/saysohq/sayso/core"
)

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

// person plans a direct chat and reports whether it is new. Its address is left
// open: it is resolved just before the send, so that a link changed meanwhile is
// honoured.
func (p *planned) person(l *core.Identity, after time.Duration) bool {
	ref := refOfLink(l)
	if !p.know(ref, PersonPrefix+l.PrincipalID, l.DirectChat) {
		return false
	}
	p.rows = append(p.rows, core.PlannedDelivery{
		ID: p.newID(), Channel: ref.Channel, Account: ref.Account,
		Destination: PersonPrefix + l.PrincipalID, PersonID: l.PrincipalID, After: ceilMillis(after),
	})
	return true
}

// persons plans a person's chats as the rule orders them: all at once, or one
// after the other.
func (p *planned) persons(links []*core.Identity, rule *Rule) {
	if len(rule.Order) > 0 {
		links = slices.Clone(links)
		slices.SortStableFunc(links, func(a, b *core.Identity) int {
			return cmp.Compare(rule.rank(a.Channel), rule.rank(b.Channel))
		})
	}
	after := time.Duration(0)
	for _, l := range links {
		if p.person(l, after) && len(rule.Order) > 0 {
			after += rule.EscalateAfter
		}
	}
}

// rank is a channel's place in the order; those not listed come last, together.
func (r *Rule) rank(s core.Surface) int {
	if i := slices.Index(r.Order, s); i >= 0 {
		return i
	}
	return len(r.Order)
}

func (p *planned) chat(c Chat) {
	if p.know(c.Ref, ChatPrefix+c.Address, c.Address) {
		p.rows = append(p.rows, core.PlannedDelivery{
			ID: p.newID(), Channel: c.Ref.Channel, Account: c.Ref.Account,
			Destination: ChatPrefix + c.Address, Address: c.Address,
		})
	}
}

func refOfLink(l *core.Identity) core.AccountRef {
	return core.AccountRef{Channel: l.Channel, Account: l.Account}
}
