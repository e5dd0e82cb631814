package gateway

import (
	"net/http"
	"net/url"
	"strconv"

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
	values := r.URL.Query()
	ref, one := agentOf(values), values.Has("runtime")
	q := core.ListQuery{Origin: core.OriginAuto, Limit: unattendedListed, Before: cursorOf(values)}
	if one {
		q.Runtime, q.Agent = ref.runtime, ref.name
	}
	list, err := p.deps.Approvals.List(r.Context(), c, q)
	if err != nil {
		p.fail(w, r, c, err)
		return
	}
	base := p.cfg.Links.Base() + "/unattended"
	v := web.Unattended{Frame: p.frame(r.Context(), c, "What ran without asking", web.StateUnattended)}
	if one {
		v.Agent, v.All = ref.name, base
	}
	for i := range list.Approvals {
		v.Rows = append(v.Rows, p.ranRow(&list.Approvals[i], list.Now))
	}
	if n := len(list.Approvals); list.More && n > 0 {
		last := &list.Approvals[n-1]
		older := url.Values{"before": {strconv.FormatInt(int64(last.CreatedAt), 10)}, "id": {last.ID}}
		if one {
			older.Set("runtime", ref.runtime)
			older.Set("name", ref.name)
		}
		v.Older = base + "?" + older.Encode()
	}
	startHTML(w, http.StatusOK)
	p.show(r.Context(), p.deps.Renderer.Unattended(w, v, part(r)))
}

// cursorOf is where a page of the list begins; nil for the newest, and for anything
// that is no such place.
func cursorOf(v url.Values) *core.ListCursor {
	at, err := strconv.ParseInt(v.Get("before"), 10, 64)
	if err != nil || v.Get("id") == "" {
		return nil
	}
	return &core.ListCursor{CreatedAt: core.Millis(at), ID: v.Get("id")}
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
