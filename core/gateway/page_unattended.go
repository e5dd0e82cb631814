package gateway

import (
	"net/http"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// unattendedListed is one page of what ran without asking.
const unattendedListed = 100

// unattended lists what ran without asking, newest first, and under what (R67): of all
// that the person may see, or of one agent.
func (p *Pages) unattended(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok {
		return
	}
	place := listOf(r.URL.Query())
	q := core.ListQuery{Origin: core.OriginAuto, Limit: unattendedListed, Before: place.before}
	if place.one {
		q.Runtime, q.Agent, q.Unnamed = place.agent.runtime, place.agent.name, place.agent.name == ""
	}
	list, err := p.deps.Approvals.List(r.Context(), c, q)
	if err != nil {
		p.fail(w, r, c, err)
		return
	}
	base := p.cfg.Links.Base() + "/unattended"
	v := web.Unattended{Frame: p.frame(r.Context(), c, "What ran without asking", web.StateUnattended)}
	if place.one {
		v.Agent, v.All, v.One = place.agent.name, base, true
	}
	for i := range list.Approvals {
		v.Rows = append(v.Rows, p.ranRow(&list.Approvals[i], list.Now))
	}
	if n := len(list.Approvals); list.More && n > 0 {
		v.Older = base + place.after(list.Approvals[n-1].CreatedAt, list.Approvals[n-1].ID)
	}
	startHTML(w, http.StatusOK)
	p.show(r.Context(), p.deps.Renderer.Unattended(w, v, part(r)))
}

func (p *Pages) ranRow(a *core.Approval, now core.Millis) web.RanRow {
	card := presentation.For(*a, core.Detail{}, presentation.Place{Zone: p.cfg.Zone, Page: true})
	result, bad := presentation.ResultWords(a.Grant)
	return web.RanRow{
		Path: p.cfg.Links.Path(a.ID), Title: card.Title, Class: card.Class, Pill: card.Pill, Agent: a.Agent,
		Under: presentation.PolicyName(a.PolicyID), Result: result, Bad: bad,
		When: a.CreatedAt, WhenText: p.says(a.CreatedAt, now),
	}
}
