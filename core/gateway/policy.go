package gateway

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
)

// Policy says why calls ask or run, and which tables are in force.
type Policy interface {
	// Explain evaluates a call of the runtime and tells all of it; nothing is asked.
	Explain(ctx context.Context, runtime string, ask approvals.Ask) (api.Explanation, error)
	// Lint compares the tables in force, and the runtime's rules, with its tools.
	Lint(ctx context.Context, runtime string, declared []api.DeclaredTool) ([]api.PolicyFinding, error)
	// Status tells what this replica has and what is in force.
	Status(ctx context.Context) (api.PolicyStatus, error)
	// Adopt puts the files of this replica in force.
	Adopt(ctx context.Context) (api.PolicyStatus, error)
}

func (g *Gateway) registerPolicy() {
	huma.Register(g.api, g.operation("explain", http.MethodPost, "/v1/policy/explain",
		"Why a call would ask or run, step by step; for admins"), g.explain)
	huma.Register(g.api, g.operation("lint", http.MethodPost, "/v1/policy/lint",
		"Compare the tables in force with a runtime's tools; for admins"), g.lint)
	huma.Register(g.api, g.operation("policy-status", http.MethodGet, "/v1/policy",
		"Which policy tables are in force; for admins"), g.policyStatus)
	huma.Register(g.api, g.operation("adopt-policy", http.MethodPost, "/v1/policy/adopt",
		"Put the policy files of this replica in force; for this machine's operator"), g.adoptPolicy)
}

// policy is the part that explains. Errors: core.ErrForbidden for everybody but admins
// and the operator: whoever is judged by tables and rules need not know them.
// core.ErrUnavailable where there is none.
func (g *Gateway) policy(ctx context.Context) (Policy, error) {
	switch c := callOf(ctx).caller; {
	case !c.Admin() && !c.Operator:
		return nil, core.ErrForbidden
	case g.deps.Policy == nil:
		return nil, core.ErrUnavailable
	}
	return g.deps.Policy, nil
}

type explainInput struct {
	Body api.Explain
}

func (g *Gateway) explain(ctx context.Context, in *explainInput) (*output[api.Explanation], error) {
	p, err := g.policy(ctx)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	ask, err := askOf(&in.Body.Request)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	x, err := p.Explain(ctx, in.Body.Runtime, ask)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(x), nil
}

type lintInput struct {
	Body api.Lint
}

func (g *Gateway) lint(ctx context.Context, in *lintInput) (*output[api.Linted], error) {
	p, err := g.policy(ctx)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	found, err := p.Lint(ctx, in.Body.Runtime, in.Body.Tools)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(api.Linted{Findings: found}), nil
}

func (g *Gateway) policyStatus(ctx context.Context, _ *struct{}) (*output[api.PolicyStatus], error) {
	p, err := g.policy(ctx)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	s, err := p.Status(ctx)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(s), nil
}

func (g *Gateway) adoptPolicy(ctx context.Context, _ *struct{}) (*output[api.PolicyStatus], error) {
	if !callOf(ctx).caller.Operator {
		return nil, g.fail(ctx, core.ErrForbidden)
	}
	p, err := g.policy(ctx)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	s, err := p.Adopt(ctx)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(s), nil
}
