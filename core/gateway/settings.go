package gateway

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/settings"
)

// Modes reads and sets the modes of agents.
type Modes interface {
	Agents(ctx context.Context, c core.Caller) ([]settings.AgentView, error)
	Agent(ctx context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error)
	// SetMode returns the current settings together with a conflict.
	SetMode(ctx context.Context, c core.Caller, in settings.ModeChange) (settings.AgentView, error)
	History(ctx context.Context, c core.Caller, runtime, agent string, limit int) ([]core.PolicyChange, error)
	Reopen(ctx context.Context, c core.Caller, approvalID string) (core.Reopened, error)
}

// Lives stops agents: for a while, with a new start, or for good.
type Lives interface {
	// Pause returns the current settings together with a conflict.
	Pause(ctx context.Context, c core.Caller, runtime, agent string, revision int64) (settings.AgentView, error)
	// Resume returns the current settings together with a conflict.
	Resume(ctx context.Context, c core.Caller, runtime, agent string, revision int64) (settings.AgentView, error)
	Reset(ctx context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error)
	Delete(ctx context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error)
}

// Rules lists and ends what runs unasked.
type Rules interface {
	Rules(ctx context.Context, c core.Caller, q core.RuleQuery) ([]settings.RuleView, error)
	Rule(ctx context.Context, c core.Caller, id string) (settings.RuleView, error)
	RemoveRule(ctx context.Context, c core.Caller, id string) (settings.RuleView, error)
	// SwitchMoney returns the switch that is on together with a conflict.
	SwitchMoney(ctx context.Context, c core.Caller, in settings.MoneySwitch) (settings.RuleView, error)
}

// Settings is what people set for agents; core/settings satisfies it and decides who
// may do what.
type Settings interface {
	Modes
	Lives
	Rules
}

func (g *Gateway) registerSettings() {
	const agent = "/v1/runtimes/{runtime}/agents/{agent}"
	huma.Register(g.api, g.operation("agents", http.MethodGet, "/v1/agents", "List the agents that the caller may see"), g.agents)
	huma.Register(g.api, g.operation("agent", http.MethodGet, agent, "What people set for an agent"), g.agent)
	mode := g.operation("set-mode", http.MethodPut, agent+"/mode", "Choose what an agent asks before, as a person")
	mode.Description = "409 carries the settings as they are: somebody else was faster."
	huma.Register(g.api, mode, g.setMode)
	pause := g.operation("pause", http.MethodPost, agent+"/pause", "Hand out no grants of an agent until it is resumed, as a person")
	pause.Description = "Questions are recorded and answered meanwhile. 409 carries the settings as they are."
	huma.Register(g.api, pause, g.pause)
	huma.Register(g.api, g.operation("resume", http.MethodPost, agent+"/resume", "Hand out its grants again, as a person"), g.resume)
	reset := g.operation("reset", http.MethodPost, agent+"/reset", "End the runs of an agent and all that it has open, as a person")
	reset.Description = "Its mode, its rules and a pause stay."
	huma.Register(g.api, reset, g.reset)
	huma.Register(g.api, g.operation("delete-agent", http.MethodDelete, agent,
		"End all that an agent has open, and forget what was set for it, as an admin"), g.deleteAgent)
	huma.Register(g.api, g.operation("history", http.MethodGet, agent+"/history", "What people changed for an agent, newest first"), g.history)
	money := g.created("switch-money", agent+"/money", "Let a tool of an agent spend and delete without asking, as a person")
	money.Description = "409 carries the switch that the tool has already."
	huma.Register(g.api, money, g.switchMoney)
	huma.Register(g.api, g.operation("rules", http.MethodGet, "/v1/rules", "List what runs without asking, newest first"), g.rules)
	huma.Register(g.api, g.operation("rule", http.MethodGet, "/v1/rules/{rule}", "Read one rule"), g.rule)
	huma.Register(g.api, g.operation("remove-rule", http.MethodDelete, "/v1/rules/{rule}",
		"End a rule for good, from the next call on; the answer says who was first"), g.removeRule)
	huma.Register(g.api, g.operation("reopen", http.MethodPost, "/v1/approvals/{id}/reopen",
		"Let an action that was declined be asked again, as a person"), g.reopen)
}

func (g *Gateway) agents(ctx context.Context, _ *struct{}) (*output[api.Agents], error) {
	list, err := g.deps.Settings.Agents(ctx, callOf(ctx).caller)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.Agents{Agents: make([]api.Agent, 0, len(list))}
	for i := range list {
		out.Agents = append(out.Agents, agentDoc(&list[i]))
	}
	return respond(out), nil
}

func agentDoc(v *settings.AgentView) api.Agent {
	return api.Agent{
		Runtime: v.Runtime, Agent: v.Name, Mode: string(v.InForce), Default: v.Default, ModeRevision: v.ModeRevision,
		Paused: v.Paused(), PausedAt: v.PausedAt, PausedBy: v.PausedName, PauseRevision: v.PauseRevision,
		Rules: v.Rules, Generation: v.Generation, UpdatedAt: v.UpdatedAt, ResetAt: v.ResetAt,
	}
}

type settingsInput struct {
	Runtime string `path:"runtime"`
	Agent   string `path:"agent" doc:"As the requests name it, percent-encoded; - for requests that name none."`
}

func (g *Gateway) agent(ctx context.Context, in *settingsInput) (*output[api.Agent], error) {
	return g.onAgent(ctx, in.Runtime, in.Agent, g.deps.Settings.Agent)
}

func (g *Gateway) reset(ctx context.Context, in *settingsInput) (*output[api.Agent], error) {
	return g.onAgent(ctx, in.Runtime, in.Agent, g.deps.Settings.Reset)
}

func (g *Gateway) deleteAgent(ctx context.Context, in *settingsInput) (*output[api.Agent], error) {
	return g.onAgent(ctx, in.Runtime, in.Agent, g.deps.Settings.Delete)
}

// noAgent stands in a path for calls that name no agent.
const noAgent = "-"

// agentAt reads the name of an agent where a hyphen stands for calls that name none.
func agentAt(field, name string) (string, error) {
	if name == noAgent {
		return "", nil
	}
	if name == "" || !core.ValidAgentName(name) || !validText(name) {
		return "", core.Invalid(field, "must be 1 to %d characters of UTF-8, none of them a control character", core.MaxShortText)
	}
	return name, nil
}

// onAgent runs one call on an agent and answers with its settings, a conflict too.
func (g *Gateway) onAgent(ctx context.Context, runtime, key string,
	do func(ctx context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error),
) (*output[api.Agent], error) {
	agent, err := agentAt("path.agent", key)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	v, err := do(ctx, callOf(ctx).caller, runtime, agent)
	if err == nil {
		return respond(agentDoc(&v)), nil
	}
	p := g.fail(ctx, err)
	if p.Status == http.StatusConflict && v.Runtime != "" {
		is := agentDoc(&v)
		p.Agent = &is
	}
	return nil, p
}

type setModeInput struct {
	Runtime string `path:"runtime"`
	Agent   string `path:"agent" doc:"As the requests name it, percent-encoded; - for requests that name none."`
	Body    api.SetMode
}

func (g *Gateway) setMode(ctx context.Context, in *setModeInput) (*output[api.Agent], error) {
	return g.onAgent(ctx, in.Runtime, in.Agent, func(ctx context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error) {
		return g.deps.Settings.SetMode(ctx, c, settings.ModeChange{Runtime: runtime, Agent: agent, Mode: in.Body.Mode, Revision: in.Body.Revision})
	})
}

type setPausedInput struct {
	Runtime string `path:"runtime"`
	Agent   string `path:"agent" doc:"As the requests name it, percent-encoded; - for requests that name none."`
	Body    api.SetPaused
}

func (g *Gateway) pause(ctx context.Context, in *setPausedInput) (*output[api.Agent], error) {
	return g.onAgent(ctx, in.Runtime, in.Agent, func(ctx context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error) {
		return g.deps.Settings.Pause(ctx, c, runtime, agent, in.Body.Revision)
	})
}

func (g *Gateway) resume(ctx context.Context, in *setPausedInput) (*output[api.Agent], error) {
	return g.onAgent(ctx, in.Runtime, in.Agent, func(ctx context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error) {
		return g.deps.Settings.Resume(ctx, c, runtime, agent, in.Body.Revision)
	})
}

type historyInput struct {
	Runtime string `path:"runtime"`
	Agent   string `path:"agent" doc:"As the requests name it, percent-encoded; - for requests that name none."`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" doc:"Default 1000."`
}

func (g *Gateway) history(ctx context.Context, in *historyInput) (*output[api.History], error) {
	agent, err := agentAt("path.agent", in.Agent)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	list, err := g.deps.Settings.History(ctx, callOf(ctx).caller, in.Runtime, agent, in.Limit)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.History{Changes: make([]api.SettingsChange, 0, len(list))}
	for i := range list {
		c := &list[i]
		out.Changes = append(out.Changes, api.SettingsChange{
			Kind: c.Kind, RuleID: c.RuleID, Before: c.Before, After: c.After, By: c.Name, At: c.At, Generation: c.Generation,
		})
	}
	return respond(out), nil
}

type rulesInput struct {
	Runtime string `query:"runtime"`
	Agent   string `query:"agent" doc:"Of the runtime, as the requests name it; - for requests that name none."`
	Live    bool   `query:"live" doc:"Only what covers something now."`
	Limit   int    `query:"limit" minimum:"1" maximum:"500" doc:"Default 100."`
	Cursor  string `query:"cursor" doc:"The cursor of the page before, with the same filters."`
}

// rulesPage is how many rules a page holds where its caller does not say.
const rulesPage = 100

func (g *Gateway) rules(ctx context.Context, in *rulesInput) (*output[api.Rules], error) {
	c := callOf(ctx).caller
	q, scope, err := g.ruleQuery(c, in)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	now, err := g.deps.Clock.Now(ctx)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	list, err := g.deps.Settings.Rules(ctx, c, q)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.Rules{ServerTime: now}
	if len(list) == q.Limit { // One more than the page holds: there is another.
		list = list[:q.Limit-1]
		last := &list[len(list)-1]
		out.Cursor = g.cursors.encode(core.ListCursor{CreatedAt: last.CreatedAt, ID: last.ID}, scope)
	}
	out.Rules = make([]api.Rule, 0, len(list))
	for i := range list {
		out.Rules = append(out.Rules, ruleDoc(&list[i]))
	}
	return respond(out), nil
}

func (g *Gateway) ruleQuery(c core.Caller, in *rulesInput) (q core.RuleQuery, scope string, err error) {
	q = core.RuleQuery{Runtime: in.Runtime, Live: in.Live, Limit: in.Limit + 1}
	if in.Limit == 0 {
		q.Limit = rulesPage + 1
	}
	if in.Agent != "" {
		agent, err := agentAt("query.agent", in.Agent)
		switch {
		case err != nil:
			return q, "", err
		case in.Runtime == "":
			return q, "", core.Invalid("query.runtime", "is required with an agent")
		}
		q.Agent = &agent
	}
	scope = strings.Join([]string{"rules", scopeOf(c, core.ListQuery{}), in.Runtime, in.Agent, strconv.FormatBool(in.Live)}, "\x00")
	if in.Cursor != "" {
		q.Before, err = g.cursors.decode(in.Cursor, scope)
	}
	return q, scope, err
}

func ruleDoc(v *settings.RuleView) api.Rule {
	return api.Rule{
		ID: v.ID, Runtime: v.Runtime, Agent: v.Agent, Label: v.Label, Money: v.Class == core.ClassMoney, Class: v.Class,
		Tool: v.Tool, Operation: v.Operation, Scope: v.Scope, Value: v.Value, State: string(v.State), PolicyID: v.PolicyID(),
		ApprovalID: v.ApprovalID, CreatedBy: v.CreatedName, CreatedAt: v.CreatedAt, ExpiresAt: v.ExpiresAt,
		Uses: v.Uses, UsesAllowed: v.UsesAllowed, LastUsedAt: v.LastUsedAt, RemovedAt: v.RemovedAt, RemovedBy: v.RemovedName,
	}
}

type ruleInput struct {
	Rule string `path:"rule"`
}

func (g *Gateway) rule(ctx context.Context, in *ruleInput) (*output[api.Rule], error) {
	return g.onRule(ctx, in.Rule, g.deps.Settings.Rule)
}

func (g *Gateway) removeRule(ctx context.Context, in *ruleInput) (*output[api.Rule], error) {
	return g.onRule(ctx, in.Rule, g.deps.Settings.RemoveRule)
}

func (g *Gateway) onRule(ctx context.Context, id string,
	do func(context.Context, core.Caller, string) (settings.RuleView, error),
) (*output[api.Rule], error) {
	if _, err := segment("path.rule", id); err != nil {
		return nil, g.fail(ctx, core.ErrNotFound)
	}
	v, err := do(ctx, callOf(ctx).caller, id)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(ruleDoc(&v)), nil
}

type switchMoneyInput struct {
	Runtime string `path:"runtime"`
	Agent   string `path:"agent" doc:"As the requests name it, percent-encoded; - for requests that name none."`
	Body    api.SwitchMoney
}

func (g *Gateway) switchMoney(ctx context.Context, in *switchMoneyInput) (*output[api.Rule], error) {
	agent, err := agentAt("path.agent", in.Agent)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	change := settings.MoneySwitch{Runtime: in.Runtime, Agent: agent, Tool: in.Body.Tool, Uses: in.Body.Uses}
	if in.Body.ExpiresIn != "" {
		d, err := time.ParseDuration(in.Body.ExpiresIn)
		if err != nil || d < time.Second {
			return nil, g.fail(ctx, core.Invalid("expires_in", "must be a duration such as 24h, of at least 1s"))
		}
		change.Life = core.Millis(d.Milliseconds())
	}
	v, err := g.deps.Settings.SwitchMoney(ctx, callOf(ctx).caller, change)
	if err == nil {
		return &output[api.Rule]{Status: http.StatusCreated, Body: ruleDoc(&v)}, nil
	}
	p := g.fail(ctx, err)
	if p.Status == http.StatusConflict && v.ID != "" {
		is := ruleDoc(&v)
		p.Rule = &is
	}
	return nil, p
}

func (g *Gateway) reopen(ctx context.Context, in *idInput) (*output[api.Reopened], error) {
	l, err := lookup(in.ID)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	if l.ID == "" { // A reference is for clicks.
		return nil, g.fail(ctx, core.ErrNotFound)
	}
	r, err := g.deps.Settings.Reopen(ctx, callOf(ctx).caller, l.ID)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(api.Reopened{ApprovalID: r.ApprovalID, By: r.Name, At: r.At}), nil
}
