package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// notesOf is what holds beside a question, what came of it since, and what the reader
// can do about it. What they may not see of it is left out; what cannot be read is an error: a page
// that leaves out that a rule was made would mislead.
func (p *Pages) notesOf(ctx context.Context, c core.Caller, a *core.Approval, now core.Millis) ([]web.Note, error) {
	var notes []web.Note
	for _, note := range []func(context.Context, core.Caller, *core.Approval, core.Millis) (*web.Note, error){
		p.outcomeNote, p.pausedNote, p.ruleNote, p.stickyNote, p.declineNote,
	} {
		n, err := note(ctx, c, a, now)
		switch {
		case errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrForbidden):
		case err != nil:
			return nil, err
		case n != nil:
			notes = append(notes, *n)
		}
	}
	return notes, nil
}

// pausedNote says why what is allowed does not start (R139).
func (p *Pages) pausedNote(ctx context.Context, c core.Caller, a *core.Approval, now core.Millis) (*web.Note, error) {
	if a.Status != core.StatusPending && a.Execution != core.ExecutionUnclaimed {
		return nil, nil
	}
	agent, err := p.deps.Agents.Agent(ctx, c, a.Runtime, a.Agent)
	if err != nil || !agent.Paused() {
		return nil, err
	}
	return &web.Note{
		Text: "The agent is paused, by " + nameOr(agent.PausedName) + ", " + p.says(agent.PausedAt, now) + ": what is allowed starts only when it goes on.",
		Path: p.agentPath(agentRef{a.Runtime, a.Agent}), PathText: "The agent",
	}, nil
}

// ruleNote names the rule that this answer made, or that let it run (R76).
func (p *Pages) ruleNote(ctx context.Context, c core.Caller, a *core.Approval, now core.Millis) (*web.Note, error) {
	rule, err := p.ruleOf(ctx, c, a)
	made := a.Decision == core.DecisionAllowAlways && a.AlwaysOffer != nil
	if err != nil {
		if made && (errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrForbidden)) {
			return &web.Note{Text: "This made a rule: " + a.AlwaysOffer.Label + "."}, nil // Of an agent that is not theirs.
		}
		return nil, err
	}
	if rule == nil {
		return nil, nil
	}
	n := &web.Note{
		Text: "From now on without asking: " + rule.Label + ".",
		Path: p.cfg.Links.Base() + "/rules#rule-" + rule.ID, PathText: "All rules",
	}
	if !made {
		n.Text = "The rule: " + rule.Label + ", made by " + nameOr(rule.CreatedName) + "."
	}
	if !rule.Live {
		n.Text = "The rule “" + rule.Label + "” does not hold any more. " + p.endOf(rule, now) + "."
	} else if c.Person.Role != core.RoleViewer {
		n.Acts = append(n.Acts, *p.removeForm(c, rule, p.cfg.Links.Path(a.ID)))
	}
	return n, nil
}

// ruleOf finds the rule that an approval made or ran under; nil for none.
func (p *Pages) ruleOf(ctx context.Context, c core.Caller, a *core.Approval) (*settings.RuleView, error) {
	if id, under := strings.CutPrefix(a.PolicyID, core.RulePolicy); under {
		rule, err := p.deps.Rules.Rule(ctx, c, id)
		return &rule, err
	}
	if a.Decision != core.DecisionAllowAlways {
		return nil, nil
	}
	rules, err := p.deps.Rules.Rules(ctx, c, core.RuleQuery{Runtime: a.Runtime, Agent: &a.Agent, ApprovalID: a.ID})
	switch {
	case err != nil:
		return nil, err
	case len(rules) == 0: // It was pruned.
		return nil, core.ErrNotFound
	}
	return &rules[0], nil
}

// stickyNote points from a denial to the decline that it repeats (K34).
func (p *Pages) stickyNote(ctx context.Context, c core.Caller, a *core.Approval, now core.Millis) (*web.Note, error) {
	if a.Reason != core.ReasonStickyDecline || a.StickyOf == "" {
		return nil, nil
	}
	first, err := p.deps.Approvals.Get(ctx, c, core.Lookup{ID: a.StickyOf})
	if err != nil {
		return nil, err
	}
	card := presentation.For(first, core.Detail{}, presentation.Place{Zone: p.cfg.Zone, Person: c.Person.ID, Page: true})
	n := &web.Note{Text: "Nobody was asked again.", Path: p.cfg.Links.Path(first.ID), PathText: "Open it"}
	if card.Outcome != nil {
		n.Text += " The first time: " + card.Outcome.Text + "."
	}
	again, err := p.declineNote(ctx, c, &first, now)
	if err != nil {
		return nil, err
	}
	if again != nil {
		n.Acts = append([]web.Act{{Text: again.Text}}, again.Acts...)
	}
	return n, nil
}

// declineNote says for how long a person's no answers the same action, and offers to
// end that; or says who has ended it.
func (p *Pages) declineNote(ctx context.Context, c core.Caller, a *core.Approval, now core.Millis) (*web.Note, error) {
	if a.Status != core.StatusDenied || a.Reason != core.ReasonUser {
		return nil, nil
	}
	if a.Aftermath != nil && a.Aftermath.AskedAgain != nil { // That has ended it, and says so.
		return nil, nil
	}
	by, ended, err := p.deps.Declines.Reopened(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	until := a.ResolvedAt
	if p.deps.Sticky != nil {
		until = until.Add(p.deps.Sticky())
	}
	switch {
	case ended:
		return &web.Note{Text: "Re-opened by " + nameOr(by.Name) + ", " + p.says(by.At, now) + ": the same action asks again."}, nil
	case until.Reached(now):
		return nil, nil
	}
	n := &web.Note{Text: "Until " + p.says(until, now) + " the same action is denied without asking anybody."}
	if c.Person.Role != core.RoleViewer {
		n.Acts = []web.Act{{
			Label: "Re-open", Action: p.cfg.Links.Path(a.ID) + "/reopen",
			Token: p.deps.Forms.Sign(c.Session, formReopen+a.ID, 0),
		}}
	}
	return n, nil
}

// outcomeNote says that nobody knows what became of the action, or what people did
// about its outcome, and offers what can still be done (R86, R108, K3).
func (p *Pages) outcomeNote(ctx context.Context, c core.Caller, a *core.Approval, now core.Millis) (*web.Note, error) {
	offer, err := p.deps.Outcomes.Aftermath(ctx, a)
	if err != nil {
		return nil, err
	}
	n := &web.Note{Warn: a.Dismissable()}
	if a.Dismissable() {
		n.Text = "It was started, and nobody has said how it ended. Look for yourself before it is asked again."
	}
	if is := a.Aftermath; is != nil {
		n.Text = strings.TrimSpace(n.Text + p.didWords(c, "Asked for again by ", is.AskedAgain, now) + p.didWords(c, "Dismissed by ", is.Dismissed, now))
	}
	if c.Person.Role != core.RoleViewer {
		n.Acts = p.outcomeActs(c, a, offer)
	}
	if n.Text == "" && len(n.Acts) == 0 {
		return nil, nil
	}
	return n, nil
}

func (p *Pages) outcomeActs(c core.Caller, a *core.Approval, offer approvals.AftermathOffer) []web.Act {
	var acts []web.Act
	if offer.Dismiss {
		acts = append(acts, web.Act{
			Label: "Dismiss", Action: p.cfg.Links.Path(a.ID) + "/dismiss", Token: p.deps.Forms.Sign(c.Session, formDismiss+a.ID, 0),
		})
	}
	if offer.AskAgain {
		text := "The agent is told that it may ask for this once more. Nothing is allowed by that: a new question comes."
		if a.MayHaveHappened() {
			text = "It may have happened already, and could then happen twice. " + text
		}
		acts = append(acts, web.Act{
			Label: "Ask again", Sure: "Yes, ask again", Text: text,
			Action: p.cfg.Links.Path(a.ID) + "/again", Token: p.deps.Forms.Sign(c.Session, formAgain+a.ID, 0),
		})
	}
	return acts
}

// didWords say who did something about an outcome, and when; "" for nobody.
func (p *Pages) didWords(c core.Caller, what string, act *core.Act, now core.Millis) string {
	if act == nil {
		return ""
	}
	by := nameOr(act.Name)
	if act.By == c.Person.ID {
		by = "you"
	}
	return " " + what + by + ", " + p.says(act.At, now) + "."
}

// dismiss records that a person has seen what may have happened.
func (p *Pages) dismiss(w http.ResponseWriter, r *http.Request) {
	p.act(w, r, formDismiss, p.deps.Outcomes.Dismiss)
}

// askAgain asks the runtime for a new request.
func (p *Pages) askAgain(w http.ResponseWriter, r *http.Request) {
	p.act(w, r, formAgain, p.deps.Outcomes.AskAgain)
}

func (p *Pages) act(w http.ResponseWriter, r *http.Request, form string, do func(context.Context, core.Caller, core.Lookup) (core.Approval, error)) {
	id := r.PathValue("id")
	c, _, ok := p.pressed(w, r, func(url.Values) string { return form + id })
	if !ok {
		return
	}
	_, err := do(r.Context(), c, core.Lookup{ID: id})
	p.afterAct(w, r, c, id, err)
}

// reopen lets a declined action be asked again.
func (p *Pages) reopen(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	c, _, ok := p.pressed(w, r, func(url.Values) string { return formReopen + id })
	if !ok {
		return
	}
	_, err := p.deps.Declines.Reopen(r.Context(), c, id)
	p.afterAct(w, r, c, id, err)
}

// afterAct leads back to an approval after something was done about it, or says why
// nothing was.
func (p *Pages) afterAct(w http.ResponseWriter, r *http.Request, c core.Caller, id string, err error) {
	var as shown
	switch {
	case err == nil:
		p.after(w, r, p.cfg.Links.Path(id))
		return
	case errors.Is(err, core.ErrForbidden):
		as = shown{status: http.StatusForbidden, notice: presentation.AnswerMayNotDecide}
	case errors.Is(err, core.ErrConflict), errors.Is(err, core.ErrNotOffered):
		as = shown{status: http.StatusConflict, notice: "There is nothing to do about it any more. Nothing was changed."}
	default:
		p.fail(w, r, c, err)
		return
	}
	l, err := lookup(id)
	if err == nil {
		err = p.showApproval(w, r, c, l, as)
	}
	p.fail(w, r, c, err)
}
