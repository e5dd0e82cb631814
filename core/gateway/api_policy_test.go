package gateway_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/gateway"
	"github.com/saysohq/sayso/core/policy"
)

// fakePolicy answers with what it was asked.
type fakePolicy struct {
	runtime string
	ask     approvals.Ask
	tools   []api.DeclaredTool
	adopted int
}

func (p *fakePolicy) Explain(_ context.Context, runtime string, ask approvals.Ask) (api.Explanation, error) {
	p.runtime, p.ask = runtime, ask
	if runtime == "" {
		return api.Explanation{}, core.Invalid("runtime", "must be the name of a runtime")
	}
	return api.Explanation{Answer: policy.Ask, Class: core.ClassSend, Mode: policy.ModeOutside, Steps: []policy.Step{{Name: "class", Reached: true}}}, nil
}

func (p *fakePolicy) Lint(_ context.Context, runtime string, declared []api.DeclaredTool) ([]api.PolicyFinding, error) {
	p.runtime, p.tools = runtime, declared
	return []api.PolicyFinding{{Code: "unlisted-tool", Tool: "x", Text: "no table lists the tool"}}, nil
}

func (p *fakePolicy) Status(context.Context) (api.PolicyStatus, error) {
	return api.PolicyStatus{Digest: "d", InForce: "d", Number: 1, Agrees: true}, nil
}

func (p *fakePolicy) Adopt(context.Context) (api.PolicyStatus, error) {
	p.adopted++
	return api.PolicyStatus{Digest: "d", InForce: "d", Number: 2, Agrees: true}, nil
}

// Tables and rules are explained to admins and to this machine's operator: whoever is
// judged by them, and whoever may only decide, need not know them.
func TestPolicyIsExplainedToAdmins(t *testing.T) {
	t.Parallel()
	p := &fakePolicy{}
	e := newEdge(t, func(_ *gateway.Config, d *gateway.Deps) { d.Policy = p })
	const explain = `{"runtime":"ci","request":{"kind":"plugin","agent":"helper","operation":{"tool":"mail","arguments":{"to":"a@b"}}}}`
	const lint = `{"runtime":"ci","tools":[{"name":"x","operations":["a"],"fields":{"to":["b"]}}]}`
	calls := []struct{ method, path, body string }{
		{http.MethodPost, "/v1/policy/explain", explain}, {http.MethodPost, "/v1/policy/lint", lint}, {http.MethodGet, "/v1/policy", ""},
	}
	for _, c := range calls {
		for _, bearer := range []string{machineBearer, reviewerBearer} {
			requireProblem(t, e.do(t, bearer, c.method, c.path, c.body), http.StatusForbidden, "forbidden")
		}
		requireProblem(t, e.do(t, "", c.method, c.path, c.body), http.StatusUnauthorized, "unauthenticated")
	}
	require.Empty(t, p.runtime)
	for _, bearer := range []string{machineBearer, reviewerBearer, adminBearer} {
		requireProblem(t, e.do(t, bearer, http.MethodPost, "/v1/policy/adopt", ""), http.StatusForbidden, "forbidden")
	}
	require.Zero(t, p.adopted)

	x := decodeInto[api.Explanation](t, e.do(t, adminBearer, http.MethodPost, "/v1/policy/explain", explain))
	require.Equal(t, policy.Ask, x.Answer)
	require.Equal(t, "ci", p.runtime)
	require.Empty(t, cmp.Diff(approvals.Ask{
		Kind: core.KindPlugin, Agent: "helper", Operation: approvals.AskOperation{Tool: "mail", Arguments: []byte(`{"to":"a@b"}`)},
	}, p.ask))
	requireProblem(t, e.do(t, adminBearer, http.MethodPost, "/v1/policy/explain", `{"runtime":"","request":{"kind":"plugin","operation":{"tool":"x","arguments":{}}}}`),
		http.StatusUnprocessableEntity, "invalid")
	found := decodeInto[api.Linted](t, e.do(t, adminBearer, http.MethodPost, "/v1/policy/lint", lint))
	require.Equal(t, "unlisted-tool", found.Findings[0].Code)
	require.Empty(t, cmp.Diff([]api.DeclaredTool{{Name: "x", Operations: []string{"a"}, Fields: map[string][]string{"to": {"b"}}}}, p.tools))
	require.True(t, decodeInto[api.PolicyStatus](t, e.do(t, adminBearer, http.MethodGet, "/v1/policy", "")).Agrees)
	adopted := decodeInto[api.PolicyStatus](t, serve(t, e.gateway.AdminHandler(), "", http.MethodPost, "/v1/policy/adopt", ""))
	require.Equal(t, int64(2), adopted.Number)
}

// Without a policy to explain nothing is there.
func TestNoPolicyToExplain(t *testing.T) {
	t.Parallel()
	requireProblem(t, newEdge(t).do(t, adminBearer, http.MethodGet, "/v1/policy", ""), http.StatusServiceUnavailable, "unavailable")
}
