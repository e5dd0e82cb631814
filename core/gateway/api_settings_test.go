package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/gateway"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/settings"
)

// fakeSettings answers every call with what it has, and keeps what it was asked.
type fakeSettings struct {
	agent settings.AgentView
	rules []settings.RuleView
	err   error

	mu    sync.Mutex
	calls []string
}

var _ gateway.Settings = (*fakeSettings)(nil)

// called notes a call, in the words of its arguments.
func (f *fakeSettings) called(c core.Caller, what string, args ...any) {
	who := "nobody"
	switch {
	case c.Person != nil:
		who = c.Person.ID
	case c.Token != nil:
		who = c.Token.Runtime
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, who+" "+what+fmt.Sprintf(" %+v", args))
}

// take empties the list of calls.
func (f *fakeSettings) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

func (f *fakeSettings) Agents(_ context.Context, c core.Caller) ([]settings.AgentView, error) {
	f.called(c, "agents")
	return []settings.AgentView{f.agent}, f.err
}

func (f *fakeSettings) Agent(_ context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error) {
	f.called(c, "agent", runtime, agent)
	return f.agent, f.err
}

func (f *fakeSettings) SetMode(_ context.Context, c core.Caller, in settings.ModeChange) (settings.AgentView, error) {
	f.called(c, "set mode", in)
	return f.agent, f.err
}

func (f *fakeSettings) History(_ context.Context, c core.Caller, runtime, agent string, limit int) ([]core.PolicyChange, error) {
	f.called(c, "history", runtime, agent, limit)
	return []core.PolicyChange{
		{Runtime: "bot", Agent: "mail", Generation: 4, Kind: core.ChangeMode, Before: core.ModeOnlyMoney, By: "hidden-id", Name: "Bob", At: 7},
	}, f.err
}

func (f *fakeSettings) Reopen(_ context.Context, c core.Caller, id string) (core.Reopened, error) {
	f.called(c, "reopen", id)
	return core.Reopened{ApprovalID: id, By: "hidden-id", Name: "Bob", At: 9}, f.err
}

func (f *fakeSettings) Pause(_ context.Context, c core.Caller, runtime, agent string, revision int64) (settings.AgentView, error) {
	f.called(c, "pause", runtime, agent, revision)
	return f.agent, f.err
}

func (f *fakeSettings) Resume(_ context.Context, c core.Caller, runtime, agent string, revision int64) (settings.AgentView, error) {
	f.called(c, "resume", runtime, agent, revision)
	return f.agent, f.err
}

func (f *fakeSettings) Reset(_ context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error) {
	f.called(c, "reset", runtime, agent)
	return f.agent, f.err
}

func (f *fakeSettings) Delete(_ context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error) {
	f.called(c, "delete", runtime, agent)
	return f.agent, f.err
}

func (f *fakeSettings) Rules(_ context.Context, c core.Caller, q core.RuleQuery) ([]settings.RuleView, error) {
	agent := "all"
	if q.Agent != nil {
		agent = *q.Agent
	}
	before := core.ListCursor{}
	if q.Before != nil {
		before = *q.Before
	}
	f.called(c, "rules", q.Runtime, agent, q.Live, q.Limit, before)
	return f.rules[:min(len(f.rules), q.Limit)], f.err
}

func (f *fakeSettings) Rule(_ context.Context, c core.Caller, id string) (settings.RuleView, error) {
	f.called(c, "rule", id)
	return f.first(), f.err
}

func (f *fakeSettings) RemoveRule(_ context.Context, c core.Caller, id string) (settings.RuleView, error) {
	f.called(c, "remove rule", id)
	return f.first(), f.err
}

func (f *fakeSettings) SwitchMoney(_ context.Context, c core.Caller, in settings.MoneySwitch) (settings.RuleView, error) {
	f.called(c, "switch money", in)
	return f.first(), f.err
}

func (f *fakeSettings) first() settings.RuleView {
	if len(f.rules) == 0 {
		return settings.RuleView{}
	}
	return f.rules[0]
}

// sampleSettings is an agent with everything that can be set.
func (e *edge) sampleSettings() {
	e.set.agent = settings.AgentView{
		Agent: core.Agent{
			Runtime: "bot", Name: "mail", Mode: core.ModeBeforeEverything, ModeRevision: 3, Generation: 8, UpdatedAt: 5,
			PausedAt: 4, PausedBy: "hidden-id", PausedName: "Bob", PauseRevision: 1, ResetAt: 2,
		},
		InForce: policy.ModeEverything, Rules: 2,
	}
	for i := range 3 {
		e.set.rules = append(e.set.rules, settings.RuleView{State: settings.RuleLive, Live: true, Rule: core.Rule{
			ID: fmt.Sprintf("rule-%d", i), Runtime: "bot", Agent: "mail", Tool: "pay", Scope: core.RuleForTool, Class: core.ClassMoney,
			Label: "every use of pay", CreatedBy: "hidden-id", CreatedName: "Bob", CreatedAt: core.Millis(30 - i), UsesAllowed: 9, Uses: 1,
		}})
	}
}

var (
	agentDocument = api.Agent{
		Runtime: "bot", Agent: "mail", Mode: "before-everything", ModeRevision: 3, Paused: true, PausedAt: 4, PausedBy: "Bob", PauseRevision: 1,
		Rules: 2, Generation: 8, UpdatedAt: 5, ResetAt: 2,
	}
	ruleDocument = api.Rule{
		ID: "rule-0", Runtime: "bot", Agent: "mail", Label: "every use of pay", Money: true, Class: core.ClassMoney, Tool: "pay", Scope: "tool",
		State: "live", PolicyID: "rule.rule-0", CreatedBy: "Bob", CreatedAt: 30, UsesAllowed: 9, Uses: 1,
	}
)

// Each call reaches the service as its caller meant it, and is answered with the
// settings as they are; people stand in it by name only (R156).
func TestSettingsCalls(t *testing.T) {
	t.Parallel()
	const agent = "/v1/runtimes/bot/agents/a%2Fb"
	for _, x := range []struct{ method, target, body, call string }{
		{"GET", agent, "", "bob agent [bot a/b]"},
		{"GET", "/v1/runtimes/bot/agents/-", "", "bob agent [bot ]"},
		{"PUT", agent + "/mode", `{"mode":"strict","revision":3}`, "bob set mode [{Runtime:bot Agent:a/b Mode:strict Revision:3}]"},
		{"POST", agent + "/pause", `{"revision":2}`, "bob pause [bot a/b 2]"},
		{"POST", agent + "/resume", `{"revision":2}`, "bob resume [bot a/b 2]"},
		{"POST", agent + "/reset", "", "bob reset [bot a/b]"},
		{"DELETE", agent, "", "bob delete [bot a/b]"},
	} {
		t.Run(x.method+" "+x.target, func(t *testing.T) {
			t.Parallel()
			e := newEdge(t)
			e.sampleSettings()
			w := e.do(t, reviewerBearer, x.method, x.target, x.body)
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
			require.NotContains(t, w.Body.String(), "hidden-id")
			require.Empty(t, cmp.Diff(agentDocument, decodeInto[api.Agent](t, w)))
			require.Equal(t, []string{x.call}, e.set.take())

			e.set.err = core.ErrConflict
			p := requireProblem(t, e.do(t, reviewerBearer, x.method, x.target, x.body), http.StatusConflict, "conflict")
			require.Equal(t, agentDocument, *p.Agent, "a conflict carries the settings as they are")
			e.set.err = core.ErrOnlyTightens
			p = requireProblem(t, e.do(t, reviewerBearer, x.method, x.target, x.body), http.StatusForbidden, "only_tightens")
			require.Nil(t, p.Agent)
		})
	}
	e := newEdge(t)
	e.sampleSettings()
	w := e.do(t, machineBearer, http.MethodGet, "/v1/agents", "")
	require.Equal(t, api.Agents{Agents: []api.Agent{agentDocument}}, decodeInto[api.Agents](t, w))
	w = e.do(t, reviewerBearer, http.MethodGet, "/v1/runtimes/bot/agents/mail/history?limit=5", "")
	require.NotContains(t, w.Body.String(), "hidden-id")
	require.Equal(t, api.History{Changes: []api.SettingsChange{
		{Kind: core.ChangeMode, Before: core.ModeOnlyMoney, By: "Bob", At: 7, Generation: 4},
	}}, decodeInto[api.History](t, w))
	w = e.do(t, reviewerBearer, http.MethodPost, "/v1/approvals/bot:a%2Fb/reopen", "")
	require.Equal(t, api.Reopened{ApprovalID: "bot:a/b", By: "Bob", At: 9}, decodeInto[api.Reopened](t, w))
	require.Equal(t, []string{"bot agents []", "bob history [bot mail 5]", "bob reopen [bot:a/b]"}, e.set.take())
}

// R73, R75: rules are listed in pages, read and removed; a switch is made with its end.
func TestRuleCalls(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.sampleSettings()
	get := func(query string) api.Rules {
		t.Helper()
		w := e.do(t, reviewerBearer, http.MethodGet, "/v1/rules"+query, "")
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.NotContains(t, w.Body.String(), "hidden-id")
		return decodeInto[api.Rules](t, w)
	}
	all := get("")
	require.Len(t, all.Rules, 3)
	require.Empty(t, all.Cursor)
	require.Equal(t, ruleDocument, all.Rules[0])
	page := get("?runtime=bot&agent=-&live=true&limit=2")
	require.Len(t, page.Rules, 2)
	get("?runtime=bot&agent=-&live=true&limit=2&cursor=" + page.Cursor)
	require.Equal(t, []string{
		"bob rules [ all false 101 {CreatedAt:0 ID:}]", "bob rules [bot  true 3 {CreatedAt:0 ID:}]", "bob rules [bot  true 3 {CreatedAt:29 ID:rule-1}]",
	}, e.set.take())
	p := requireProblem(t, e.do(t, reviewerBearer, http.MethodGet, "/v1/rules?runtime=other&agent=-&live=true&limit=2&cursor="+page.Cursor, ""), http.StatusUnprocessableEntity, "invalid")
	require.Equal(t, "query.cursor", p.Errors[0].Field)
	p = requireProblem(t, e.do(t, reviewerBearer, http.MethodGet, "/v1/rules?agent=mail", ""), http.StatusUnprocessableEntity, "invalid")
	require.Equal(t, "query.runtime", p.Errors[0].Field)

	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		require.Equal(t, ruleDocument, decodeInto[api.Rule](t, e.do(t, reviewerBearer, method, "/v1/rules/rule-0", "")))
	}
	const money = "/v1/runtimes/bot/agents/mail/money"
	w := e.do(t, reviewerBearer, http.MethodPost, money, `{"tool":"pay","expires_in":"24h","uses":9}`)
	require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	require.Equal(t, ruleDocument, decodeInto[api.Rule](t, w))
	require.Equal(t, []string{
		"bob rule [rule-0]", "bob remove rule [rule-0]", "bob switch money [{Runtime:bot Agent:mail Tool:pay Life:86400000 Uses:9}]",
	}, e.set.take())
	e.set.err = core.ErrConflict
	p = requireProblem(t, e.do(t, reviewerBearer, http.MethodPost, money, `{"tool":"pay"}`), http.StatusConflict, "conflict")
	require.Equal(t, ruleDocument, *p.Rule, "the switch that is on")
	for _, life := range []string{"0s", "-1h", "10ms", "for ever"} {
		p = requireProblem(t, e.do(t, reviewerBearer, http.MethodPost, money, `{"tool":"pay","expires_in":"`+life+`"}`), http.StatusUnprocessableEntity, "invalid")
		require.Equal(t, "expires_in", p.Errors[0].Field)
	}
}

// A body that leaves out the revision is no change from nothing: a person has seen one.
func TestSettingsNeedTheirRevision(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for target, body := range map[string]string{"mode": `{"mode":"strict"}`, "pause": `{}`, "resume": `{}`} {
		method := http.MethodPost
		if target == "mode" {
			method = http.MethodPut
		}
		p := requireProblem(t, e.do(t, reviewerBearer, method, "/v1/runtimes/bot/agents/mail/"+target, body), http.StatusUnprocessableEntity, "invalid")
		require.Equal(t, []api.Fault{{Field: "revision", Rule: "is required"}}, p.Errors, target)
	}
	require.Empty(t, e.set.take())
}
