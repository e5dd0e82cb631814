package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/presentation/web"
)

// rulesListed bounds the list of all rules; the page of an agent has its own.
const rulesListed = 500

// endedListed bounds the rules that cover nothing any more, newest first.
const endedListed = 50

func (p *Pages) rules(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok {
		return
	}
	p.fail(w, r, c, p.showRules(w, r, c))
}

func (p *Pages) showRules(w http.ResponseWriter, r *http.Request, c core.Caller) error {
	rules, err := p.deps.Rules.Rules(r.Context(), c, core.RuleQuery{Limit: rulesListed})
	if err != nil {
		return err
	}
	now, err := p.deps.Clock.Now(r.Context())
	if err != nil {
		return err
	}
	v := web.Rules{Frame: p.frame(r.Context(), c, "Allowed without asking", web.StateRules), More: len(rules) == rulesListed}
	for i := range rules {
		row := p.ruleRow(c, &rules[i], now, p.cfg.Links.Base()+"/rules")
		row.AgentPath = p.agentPath(agentRef{rules[i].Runtime, rules[i].Agent})
		switch {
		case rules[i].Live:
			v.Live = append(v.Live, row)
		case len(v.Ended) < endedListed:
			v.Ended = append(v.Ended, row)
		}
	}
	startHTML(w, http.StatusOK)
	p.show(r.Context(), p.deps.Renderer.Rules(w, v, part(r)))
	return nil
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
		Tool: as.tool, Fault: as.fault, Sure: as.sure,
	}
}

// switchMoney lets a tool spend and delete without asking, after a second yes (R73). It
// is the only place of the page where money is let through.
func (p *Pages) switchMoney(w http.ResponseWriter, r *http.Request) {
	ref := agentOf(r.URL.Query())
	c, _, ok := p.pressed(w, r, func(url.Values) string { return formMoney + ref.subject() })
	if !ok {
		return
	}
	as := agentShown{status: http.StatusOK, tool: r.PostForm.Get("tool"), sure: true}
	if r.PostForm.Get("sure") != "1" {
		p.fail(w, r, c, p.showAgent(w, r, c, ref, as))
		return
	}
	_, err := p.deps.Rules.SwitchMoney(r.Context(), c, settings.MoneySwitch{Runtime: ref.runtime, Agent: ref.name, Tool: as.tool})
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
