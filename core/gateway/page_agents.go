package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// Sizes of an agent's page: what a person may want to look back on.
const (
	agentHistory = 30
	agentRules   = 200
)

// agents lists the agents that the person may see.
func (p *Pages) agents(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok {
		return
	}
	all, err := p.deps.Agents.Agents(r.Context(), c)
	if err != nil {
		p.fail(w, r, c, err)
		return
	}
	v := web.Agents{Frame: p.frame(r.Context(), c, "Agents", web.StateAgents)}
	for i := range all {
		a := &all[i]
		v.Agents = append(v.Agents, web.AgentRow{
			Path: p.agentPath(agentRef{a.Runtime, a.Name}), Name: a.Name, Runtime: a.Runtime,
			Mode: a.InForce.String(), Default: a.Default, Paused: a.Paused(), Rules: a.Rules,
		})
	}
	startHTML(w, http.StatusOK)
	p.show(r.Context(), p.deps.Renderer.Agents(w, v, part(r)))
}

func (p *Pages) agent(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok {
		return
	}
	p.fail(w, r, c, p.showAgent(w, r, c, agentOf(r.URL.Query()), agentShown{status: http.StatusOK}))
}

// agentShown is one rendering of an agent's page.
type agentShown struct {
	status int
	notice string
	tool   string // The tool that a switch for money is about.
	life   string // For how long, as the form says it.
	fault  string // What was wrong with it.
	sure   bool   // It waits for a second yes.
}

// showAgent reads the agent and renders it. An error means that nothing was written.
func (p *Pages) showAgent(w http.ResponseWriter, r *http.Request, c core.Caller, ref agentRef, as agentShown) error {
	ctx := r.Context()
	a, err := p.deps.Agents.Agent(ctx, c, ref.runtime, ref.name)
	if err != nil {
		return notThere(err)
	}
	rules, err := p.deps.Rules.Rules(ctx, c, core.RuleQuery{Runtime: ref.runtime, Agent: &ref.name, Live: true, Limit: agentRules})
	if err != nil {
		return err
	}
	changes, err := p.deps.Agents.History(ctx, c, ref.runtime, ref.name, agentHistory)
	if err != nil {
		return err
	}
	now, err := p.deps.Clock.Now(ctx)
	if err != nil {
		return err
	}
	title := a.Name
	if title == "" {
		title = "Calls of " + a.Runtime
	}
	may := c.Person.Role != core.RoleViewer
	v := web.Agent{
		Frame: p.frame(ctx, c, title, web.StateAgent), Path: p.agentPath(ref), Name: a.Name, Runtime: a.Runtime, Notice: as.notice, May: may,
		Action: p.cfg.Links.Base() + "/agent/mode?" + ref.query(), At: a.ModeRevision,
		Token: p.deps.Forms.Sign(c.Session, formMode+ref.subject(), a.ModeRevision),
		Modes: modesOf(&a), Paused: a.Paused(), Calls: p.cfg.Links.Base() + "/unattended?" + ref.query(),
	}
	for i := range rules {
		v.Rules = append(v.Rules, p.ruleRow(c, &rules[i], now, v.Path))
	}
	if len(rules) == agentRules {
		v.MoreRules = p.cfg.Links.Base() + "/rules?" + ref.query()
	}
	if v.History, err = p.historyOf(ctx, c, changes, rules, now); err != nil {
		return err
	}
	if may {
		v.Money, v.Pause = p.moneyForm(c, ref, as), p.pauseForm(c, ref, &a)
	}
	if a.Paused() {
		v.PausedBy = "Paused by " + nameOr(a.PausedName) + ", " + p.says(a.PausedAt, now)
	}
	startHTML(w, as.status)
	p.show(ctx, p.deps.Renderer.Agent(w, v, part(r)))
	return nil
}

// historyOf words an agent's history. The rules that it is about are those at hand, or
// are read one by one: most of them ended.
func (p *Pages) historyOf(ctx context.Context, c core.Caller, changes []core.PolicyChange, rules []settings.RuleView, now core.Millis) ([]web.Change, error) {
	labels := make(map[string]string, len(rules))
	for i := range rules {
		labels[rules[i].ID] = rules[i].Label
	}
	var lines []web.Change
	for i := range changes {
		id := changes[i].RuleID
		if _, known := labels[id]; id != "" && !known {
			rule, err := p.deps.Rules.Rule(ctx, c, id)
			if err != nil && !errors.Is(err, core.ErrNotFound) {
				return nil, err
			}
			labels[id] = rule.Label
		}
		lines = append(lines, web.Change{
			Text: presentation.ChangeLine(changes[i], labels[id], presentation.Place{Person: c.Person.ID}),
			When: changes[i].At, WhenText: p.says(changes[i].At, now),
		})
	}
	return lines, nil
}

// notThere makes names that no agent can have the same as agents that are not there.
func notThere(err error) error {
	if errors.Is(err, core.ErrInvalid) {
		return core.ErrNotFound
	}
	return err
}

// modesOf are the choices: the default first, then the three.
func modesOf(a *settings.AgentView) []web.Mode {
	usual := web.Mode{Value: settings.ModeDefault, Name: "The default", Asks: "As the operator has set it for all agents.", Now: a.Default}
	if a.Default {
		usual.Asks = "As the operator has set it for all agents, now “" + a.InForce.String() + "”."
	}
	modes := []web.Mode{usual}
	for _, m := range presentation.Modes() {
		modes = append(modes, web.Mode{
			Value: m, Name: presentation.ModeName(m), Asks: presentation.ModeAsks(m), Now: !a.Default && string(a.InForce) == m,
		})
	}
	return modes
}

// setMode changes a mode by compare-and-set: whoever was second learns what it is now
// and who changed it (R52).
func (p *Pages) setMode(w http.ResponseWriter, r *http.Request) {
	ref := agentOf(r.URL.Query())
	c, revision, ok := p.pressed(w, r, func(url.Values) string { return formMode + ref.subject() })
	if !ok {
		return
	}
	_, err := p.deps.Agents.SetMode(r.Context(), c, settings.ModeChange{
		Runtime: ref.runtime, Agent: ref.name, Mode: r.PostForm.Get("mode"), Revision: revision,
	})
	switch {
	case err == nil:
		p.after(w, r, p.agentPath(ref))
	case errors.Is(err, core.ErrConflict):
		as := agentShown{status: http.StatusConflict, notice: p.whoChanged(r.Context(), c, ref)}
		p.fail(w, r, c, p.showAgent(w, r, c, ref, as))
	default:
		p.refuse(w, r, c, ref, err)
	}
}

// whoChanged says who was faster. Where the history cannot be read it says no name: the
// page below shows what holds now in any case.
func (p *Pages) whoChanged(ctx context.Context, c core.Caller, ref agentRef) string {
	const kept = " Yours was not recorded. What holds now is chosen below."
	changes, err := p.deps.Agents.History(ctx, c, ref.runtime, ref.name, agentHistory)
	if err != nil {
		return "Somebody changed this while you looked at it." + kept
	}
	for i := range changes {
		if k := changes[i].Kind; k == core.ChangeMode || k == core.ChangeRestored {
			line := presentation.ChangeLine(changes[i], "", presentation.Place{Person: c.Person.ID})
			return line + ", while this page was open." + kept
		}
	}
	return "Somebody changed this while you looked at it." + kept
}

// pauseForm pauses an agent, or lets it go on (R139).
func (p *Pages) pauseForm(c core.Caller, ref agentRef, a *settings.AgentView) *web.Act {
	act := &web.Act{
		Label: "Pause", Sure: "Yes, pause it", Danger: true,
		Text: "While it is paused nothing that it was allowed starts, with or without asking. " +
			"Questions still come and can be answered; what you allow starts when it goes on.",
		Action: p.cfg.Links.Base() + "/agent/pause?" + ref.query(),
		Token:  p.deps.Forms.Sign(c.Session, formPause+ref.subject(), a.PauseRevision),
		Fields: []web.Field{{Name: "revision", Value: strconv.FormatInt(a.PauseRevision, 10)}},
	}
	if a.Paused() {
		act.Label, act.Sure, act.Danger = "Let it go on", "", false
		act.Text = "What was allowed meanwhile can start then."
		act.Action = p.cfg.Links.Base() + "/agent/resume?" + ref.query()
	}
	return act
}

func (p *Pages) pause(w http.ResponseWriter, r *http.Request) { p.setPaused(w, r, p.deps.Pauses.Pause) }
func (p *Pages) resume(w http.ResponseWriter, r *http.Request) {
	p.setPaused(w, r, p.deps.Pauses.Resume)
}

func (p *Pages) setPaused(w http.ResponseWriter, r *http.Request,
	set func(ctx context.Context, c core.Caller, runtime, agent string, revision int64) (settings.AgentView, error),
) {
	ref := agentOf(r.URL.Query())
	c, revision, ok := p.pressed(w, r, func(url.Values) string { return formPause + ref.subject() })
	if !ok {
		return
	}
	_, err := set(r.Context(), c, ref.runtime, ref.name, revision)
	switch {
	case err == nil:
		p.after(w, r, p.agentPath(ref))
	case errors.Is(err, core.ErrConflict):
		as := agentShown{status: http.StatusConflict, notice: "Somebody was faster: it was paused or let go on while this page was open. What holds now is shown below."}
		p.fail(w, r, c, p.showAgent(w, r, c, ref, as))
	default:
		p.refuse(w, r, c, ref, err)
	}
}

// refuse answers a press on an agent's page that changed nothing, or may have.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, c core.Caller, ref agentRef, err error) {
	var field *core.FieldError
	switch {
	case errors.Is(err, core.ErrForbidden):
		p.fail(w, r, c, p.showAgent(w, r, c, ref, agentShown{status: http.StatusForbidden, notice: "You may look at this, and not change it. Nothing was changed."}))
	case errors.As(err, &field) && field.Field == "mode":
		p.fail(w, r, c, p.showAgent(w, r, c, ref, agentShown{status: http.StatusUnprocessableEntity, notice: "There is no such mode. Nothing was changed."}))
	default:
		p.fail(w, r, c, notThere(err))
	}
}
