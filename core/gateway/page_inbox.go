package gateway

import (
	"net/http"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// Sizes of the inbox: what a person can work through, and what they may look for.
const (
	inboxWaiting = 100
	inboxRecent  = 20
)

func (p *Pages) inbox(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok {
		return
	}
	waiting, err := p.deps.Approvals.List(r.Context(), c, core.ListQuery{Status: core.StatusPending, Limit: inboxWaiting})
	if err != nil {
		p.fail(w, r, c, err)
		return
	}
	all, err := p.deps.Approvals.List(r.Context(), c, core.ListQuery{Limit: inboxWaiting})
	if err != nil {
		p.fail(w, r, c, err)
		return
	}
	v := web.Inbox{
		Frame: p.frame(r.Context(), c, "Waiting for you", ""),
		More:  waiting.More, Links: p.cfg.LinkHint,
	}
	for i := range waiting.Approvals {
		v.Waiting = append(v.Waiting, p.row(c, &waiting.Approvals[i], waiting.Now))
	}
	for i := range all.Approvals {
		if a := &all.Approvals[i]; a.Status.Terminal() && len(v.Recent) < inboxRecent {
			v.Recent = append(v.Recent, p.row(c, a, all.Now))
		}
	}
	startHTML(w, http.StatusOK)
	p.show(r.Context(), p.deps.Renderer.Inbox(w, v, part(r)))
}

func (p *Pages) row(c core.Caller, a *core.Approval, now core.Millis) web.Row {
	card := presentation.For(*a, core.Detail{}, presentation.Place{Now: now, Zone: p.cfg.Zone, Person: c.Person.ID})
	row := web.Row{
		Path: p.cfg.Links.Path(a.ID), Title: card.Title, Pill: card.Pill, Agent: a.Agent,
		Expires: a.ExpiresAt, Asked: a.CreatedAt,
	}
	if card.Outcome != nil {
		row.Outcome = card.Outcome.Text
	}
	return row
}
