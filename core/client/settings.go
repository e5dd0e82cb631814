package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/saysohq/sayso/core/api"
)

// unnamed stands in a path for calls that name no agent.
const unnamed = "-"

// settingsPath is the path of an agent; "" is the agent of calls that name none.
func settingsPath(runtime, agent, rest string) string {
	if agent == "" {
		agent = unnamed
	}
	return path("/v1/runtimes/", runtime, "/agents/", agent, rest)
}

// Agents lists the agents that the caller may see. Errors: core.ErrForbidden.
func (c *Client) Agents(ctx context.Context) ([]api.Agent, error) {
	out, err := read[api.Agents](ctx, c, "/v1/agents", nil)
	return out.Agents, err
}

// Agent reads what people set for an agent. Errors: core.ErrNotFound (also for an agent
// of others), core.ErrInvalid.
func (c *Client) Agent(ctx context.Context, runtime, agent string) (api.Agent, error) {
	return read[api.Agent](ctx, c, settingsPath(runtime, agent, ""), nil)
}

// SetMode chooses what an agent asks before. Choosing what is chosen is the same
// success. Errors: core.ErrConflict (an *Error whose Agent are the settings as they are),
// core.ErrForbidden (core.ErrOnlyTightens for a looser mode from a terminal),
// core.ErrNotFound, core.ErrInvalid.
func (c *Client) SetMode(ctx context.Context, runtime, agent string, m api.SetMode) (api.Agent, error) {
	return repeat[api.Agent](ctx, c, http.MethodPut, settingsPath(runtime, agent, "/mode"), m)
}

// Pause lets no grant of an agent be claimed until Resume; revision is the PauseRevision
// that was seen. Pausing what is paused is the same success. Errors: core.ErrConflict (an
// *Error whose Agent are the settings as they are), core.ErrForbidden, core.ErrNotFound.
func (c *Client) Pause(ctx context.Context, runtime, agent string, revision int64) (api.Agent, error) {
	return repeat[api.Agent](ctx, c, http.MethodPost, settingsPath(runtime, agent, "/pause"), api.SetPaused{Revision: revision})
}

// Resume lets the grants of an agent be claimed again. Errors: those of Pause, and
// core.ErrOnlyTightens from a terminal.
func (c *Client) Resume(ctx context.Context, runtime, agent string, revision int64) (api.Agent, error) {
	return repeat[api.Agent](ctx, c, http.MethodPost, settingsPath(runtime, agent, "/resume"), api.SetPaused{Revision: revision})
}

// Reset ends the runs of an agent and all that it has open; what was set for it stays.
// Errors: core.ErrForbidden, core.ErrNotFound, core.ErrInvalid.
func (c *Client) Reset(ctx context.Context, runtime, agent string) (api.Agent, error) {
	return once[api.Agent](ctx, c, http.MethodPost, settingsPath(runtime, agent, "/reset"), nil)
}

// DeleteAgent resets an agent and forgets what was set for it. Errors: those of Reset.
func (c *Client) DeleteAgent(ctx context.Context, runtime, agent string) (api.Agent, error) {
	return once[api.Agent](ctx, c, http.MethodDelete, settingsPath(runtime, agent, ""), nil)
}

// History lists what people changed for an agent, newest first; limit 0 means 1,000.
// Errors: core.ErrForbidden, core.ErrNotFound, core.ErrInvalid.
func (c *Client) History(ctx context.Context, runtime, agent string, limit int) ([]api.SettingsChange, error) {
	query := url.Values{}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	out, err := read[api.History](ctx, c, settingsPath(runtime, agent, "/history"), query)
	return out.Changes, err
}

// SwitchMoney lets a tool of an agent spend and delete without asking. Errors:
// core.ErrConflict (an *Error whose Rule is the switch that the tool has already),
// core.ErrForbidden (core.ErrOnlyTightens from a terminal), core.ErrNotFound,
// core.ErrInvalid.
func (c *Client) SwitchMoney(ctx context.Context, runtime, agent string, m api.SwitchMoney) (api.Rule, error) {
	return once[api.Rule](ctx, c, http.MethodPost, settingsPath(runtime, agent, "/money"), m)
}

// RuleFilter filters a list of rules; empty fields do not filter.
type RuleFilter struct {
	Runtime string
	Agent   *string // Of the runtime; "" is the agent of calls that name none.
	Live    bool    // Only what covers something now.
	Limit   int     // 1 to 500; 0 means 100.
}

// Rules lists what runs without asking, newest first, a page at a time; the cursor is
// that of the page before, "" for the first. Errors: core.ErrForbidden, core.ErrNotFound
// (an agent of others), core.ErrInvalid.
func (c *Client) Rules(ctx context.Context, f RuleFilter, cursor string) (api.Rules, error) {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("runtime", f.Runtime)
	set("cursor", cursor)
	if f.Agent != nil {
		query.Set("agent", *f.Agent)
		if *f.Agent == "" {
			query.Set("agent", unnamed)
		}
	}
	if f.Live {
		query.Set("live", "true")
	}
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	return read[api.Rules](ctx, c, "/v1/rules", query)
}

// Rule reads one rule. Errors: core.ErrNotFound, core.ErrForbidden.
func (c *Client) Rule(ctx context.Context, id string) (api.Rule, error) {
	return read[api.Rule](ctx, c, path("/v1/rules/", id), nil)
}

// RemoveRule ends a rule for good. One that was removed comes back with whoever was
// first. Errors: core.ErrNotFound, core.ErrForbidden.
func (c *Client) RemoveRule(ctx context.Context, id string) (api.Rule, error) {
	return repeat[api.Rule](ctx, c, http.MethodDelete, path("/v1/rules/", id), nil)
}

// Reopen lets an action that was declined be asked again; whoever was first comes back.
// Errors: core.ErrNotFound, core.ErrForbidden, core.ErrConflict (it is no decline).
func (c *Client) Reopen(ctx context.Context, id string) (api.Reopened, error) {
	return repeat[api.Reopened](ctx, c, http.MethodPost, path("/v1/approvals/", id, "/reopen"), nil)
}
