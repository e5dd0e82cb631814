package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/presentation/web"
)

// Sizes of the list of rules: one page of those that hold, and the newest of those that
// ended.
const (
	rulesListed = 200
	endedLooked = 200
	endedListed = 50
)

// rules lists what is allowed without asking: of all agents that the person may see, or
// of one.
func (p *Pages) rules(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok {
		return
	}
	p.fail(w, r, c, p.showRules(w, r, c))
}

func (p *Pages) showRules(w http.ResponseWriter, r *http.Request, c core.Caller) error {
	ctx, list := r.Context(), listOf(r.URL.Query())
	q := core.RuleQuery{Live: true, Limit: rulesListed, Before: list.before}
	if list.one {
		q.Runtime, q.Agent = list.agent.runtime, &list.agent.name
	}
	live, err := p.deps.Rules.Rules(ctx, c, q)
	if err != nil {
		return notThere(err)
	}
	now, err := p.deps.Clock.Now(ctx)
	if err != nil {
		return err
	}
	base := p.cfg.Links.Base() + "/rules"
	v := web.Rules{Frame: p.frame(ctx, c, "Allowed without asking", web.StateRules)}
	if list.one {
		v.Agent, v.All, v.One = list.agent.name, base, true
	}
	back := base + list.query()
	for i := range live {
		v.Live = append(v.Live, p.listedRule(c, &live[i], now, back))
	}
	if n := len(live); n == rulesListed {
		v.Older = base + list.after(live[n-1].CreatedAt, live[n-1].ID)
	}
	if list.before == nil {
		if v.Ended, err = p.endedRules(ctx, c, q, now); err != nil {
			return err
		}
	}
	startHTML(w, http.StatusOK)
	p.show(ctx, p.deps.Renderer.Rules(w, v, part(r)))
	return nil
}

// endedRules are the newest rules that cover nothing any more.
func (p *Pages) endedRules(ctx context.Context, c core.Caller, q core.RuleQuery, now core.Millis) ([]web.RuleRow, error) {
	q.Live, q.Limit = false, endedLooked
	all, err := p.deps.Rules.Rules(ctx, c, q)
	if err != nil {
		return nil, err
	}
	var rows []web.RuleRow
	for i := range all {
		if !all[i].Live && len(rows) < endedListed {
			rows = append(rows, p.listedRule(c, &all[i], now, ""))
		}
	}
	return rows, nil
}

func (p *Pages) listedRule(c core.Caller, rule *settings.RuleView, now core.Millis, back string) web.RuleRow {
	row := p.ruleRow(c, rule, now, back)
	row.AgentPath = p.agentPath(agentRef{rule.Runtime, rule.Agent})
	return row
}

// ruleRow is a rule as a list shows it; back is where its form leads to.
func (p *Pages) ruleRow(c core.Caller, rule *settings.RuleView, now core.Millis, back string) web.RuleRow {
	row := web.RuleRow{
		ID: rule.ID, Label: rule.Label, Agent: rule.Agent, Runtime: rule.Runtime, Money: rule.Class == core.ClassMoney,
		By: "Made by " + nameOr(rule.CreatedName), Made: rule.CreatedAt, MadeText: p.says(rule.CreatedAt, now),
		Uses: usesOf(rule), Ended: p.endOf(rule, now),
	}
	if rule.ApprovalID != "" {
		row.Card = p.cfg.Links.Path(rule.ApprovalID)
	}
	if rule.Live && rule.ExpiresAt != 0 {
		row.Until, row.UntilText = rule.ExpiresAt, p.says(rule.ExpiresAt, now)
	}
	if rule.Live && c.Person.Role != core.RoleViewer {
		row.Remove = p.removeForm(c, rule, back)
	}
	return row
}

func nameOr(name string) string {
	if name == "" {
		return "somebody"
	}
	return name
}

// usesOf says how often a rule was used, and how often it may be.
func usesOf(rule *settings.RuleView) string {
	used := "used " + strconv.FormatInt(rule.Uses, 10) + " times"
	switch {
	case rule.UsesAllowed > 0:
		return "used " + strconv.FormatInt(rule.Uses, 10) + " of " + strconv.FormatInt(rule.UsesAllowed, 10) + " times"
	case rule.Uses == 0:
		return "never used"
	case rule.Uses == 1:
		return "used once"
	}
	return used
}

// endOf says how a rule ended; "" while it covers something.
func (p *Pages) endOf(rule *settings.RuleView, now core.Millis) string {
	switch rule.State {
	case settings.RuleLive:
	case settings.RuleRemoved:
		if rule.RemovedName == "" {
			return "Ended by the restoration of a backup, " + p.says(rule.RemovedAt, now)
		}
		return "Taken back by " + rule.RemovedName + ", " + p.says(rule.RemovedAt, now)
	case settings.RuleExpired:
		return "Ended by itself, " + p.says(rule.ExpiresAt, now)
	case settings.RuleUsedUp:
		return "Used up"
	}
	return ""
}

func (p *Pages) removeForm(c core.Caller, rule *settings.RuleView, back string) *web.Act {
	return &web.Act{
		Label: "Take it back", Sure: "Yes, ask again from now on", Danger: true,
		Text:   "From the next call on this asks again. What it has allowed and nobody has started yet is not started any more.",
		Action: p.cfg.Links.Base() + "/rules/" + url.PathEscape(rule.ID) + "/remove",
		Token:  p.deps.Forms.Sign(c.Session, formRemove+rule.ID, 0), Back: back,
	}
}

// removeRule ends a rule. One that was ended by somebody else is as good: the list then
// says by whom.
func (p *Pages) removeRule(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	c, _, ok := p.pressed(w, r, func(url.Values) string { return formRemove + id })
	if !ok {
		return
	}
	rule, err := p.deps.Rules.RemoveRule(r.Context(), c, id)
	switch {
	case errors.Is(err, core.ErrForbidden):
		p.say(w, r, http.StatusForbidden, web.Message{
			Frame: p.frame(r.Context(), c, "Not changed", web.StateRefused), Heading: "Not changed",
			Text: "You may look at this, and not change it.",
		})
	case err != nil:
		p.fail(w, r, c, err)
	default:
		back := r.PostForm.Get("back")
		if back == "" {
			back = p.agentPath(agentRef{rule.Runtime, rule.Agent})
		}
		p.after(w, r, back)
	}
}

func (p *Pages) moneyForm(c core.Caller, ref agentRef, as agentShown) *web.Money {
	return &web.Money{
		Action: p.cfg.Links.Base() + "/agent/money?" + ref.query(), Token: p.deps.Forms.Sign(c.Session, formMoney+ref.subject(), 0),
		Tool: as.tool, Life: as.life, Fault: as.fault, Sure: as.sure, Until: moneyLives[as.life],
	}
}

// moneyLives are how long a switch for money may hold, as its form says it.
var moneyLives = map[string]string{"": "until somebody takes it back", "1": "for one day", "7": "for seven days", "30": "for thirty days"}

// moneyLife reads the form's choice: days, or "" for no end. In ms; 0: no end.
func moneyLife(days string) (life core.Millis, known bool) {
	if _, known = moneyLives[days]; !known || days == "" {
		return 0, known
	}
	n, err := strconv.ParseInt(days, 10, 64)
	return core.Millis(n * 24 * 60 * 60 * 1000), err == nil
}

// switchMoney lets a tool spend and delete without asking, after a second yes (R73). It
// is the only place of the page where money is let through.
func (p *Pages) switchMoney(w http.ResponseWriter, r *http.Request) {
	ref := agentOf(r.URL.Query())
	c, _, ok := p.pressed(w, r, func(url.Values) string { return formMoney + ref.subject() })
	if !ok {
		return
	}
	as := agentShown{status: http.StatusOK, tool: r.PostForm.Get("tool"), life: r.PostForm.Get("life"), sure: true}
	life, known := moneyLife(as.life)
	if !known {
		p.unreadable(w, r)
		return
	}
	if r.PostForm.Get("sure") != "1" {
		p.fail(w, r, c, p.showAgent(w, r, c, ref, as))
		return
	}
	_, err := p.deps.Rules.SwitchMoney(r.Context(), c, settings.MoneySwitch{Runtime: ref.runtime, Agent: ref.name, Tool: as.tool, Life: life})
	var field *core.FieldError
	switch {
	case err == nil:
		p.after(w, r, p.agentPath(ref))
	case errors.Is(err, core.ErrConflict):
		as.status, as.sure, as.fault = http.StatusConflict, false, "This tool runs without asking already: it is in the list above."
		p.fail(w, r, c, p.showAgent(w, r, c, ref, as))
	case errors.As(err, &field) && field.Field == "tool":
		as.status, as.sure, as.fault = http.StatusUnprocessableEntity, false, "The tool's name "+field.Rule+". Nothing was changed."
		p.fail(w, r, c, p.showAgent(w, r, c, ref, as))
	default:
		p.refuse(w, r, c, ref, err)
	}
}
