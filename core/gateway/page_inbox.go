package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// Sizes of the inbox: what a person can work through, and what they may look for.
// It reads the newest questions beside the waiting ones (R88); what ran without asking
// has a list of its own.
const (
	inboxWaiting = 100
	inboxNewest  = 100
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
	newest, err := p.deps.Approvals.List(r.Context(), c, core.ListQuery{Origin: core.OriginAsk, Limit: inboxNewest})
	if err != nil {
		p.fail(w, r, c, err)
		return
	}
	v := web.Inbox{
		Frame: p.frame(r.Context(), c, "Waiting for you", web.StateInbox),
		More:  waiting.More, Links: p.cfg.LinkHint,
	}
	shown := sha256.New()
	for i := range waiting.Approvals {
		a := &waiting.Approvals[i]
		v.Waiting = append(v.Waiting, p.row(c, a))
		fmt.Fprintln(shown, a.ID, a.Revision)
	}
	for i := range newest.Approvals {
		switch a := &newest.Approvals[i]; {
		case !a.Status.Terminal():
			continue
		case a.Dismissable():
			v.Doubt = append(v.Doubt, p.row(c, a))
		case len(v.Recent) < inboxRecent:
			v.Recent = append(v.Recent, p.row(c, a))
		default:
			continue
		}
		fmt.Fprintln(shown, newest.Approvals[i].ID, newest.Approvals[i].Revision)
	}
	v.Version = hex.EncodeToString(shown.Sum(nil)[:8])
	startHTML(w, http.StatusOK)
	p.show(r.Context(), p.deps.Renderer.Inbox(w, v, part(r)))
}

func (p *Pages) row(c core.Caller, a *core.Approval) web.Row {
	card := presentation.For(*a, core.Detail{}, presentation.Place{Zone: p.cfg.Zone, Person: c.Person.ID, Page: true})
	row := web.Row{
		Path: p.cfg.Links.Path(a.ID), Title: card.Title, Class: card.Class, Pill: card.Pill, Agent: a.Agent,
		Expires: a.ExpiresAt, ExpiresText: presentation.Clock(a.ExpiresAt, a.CreatedAt, p.cfg.Zone),
	}
	if card.Outcome != nil {
		row.Outcome, row.Allowed, row.Doubt = card.Outcome.Text, card.Outcome.Allowed, a.MayHaveHappened()
	}
	return row
}
