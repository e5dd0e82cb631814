package app

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/inforce"
)

// policyDesk answers admins about policy. It implements gateway.Policy.
type policyDesk struct {
	service *approvals.Service
	by      approvals.Explainer
	tables  *inforce.Keeper
	rules   core.Rules
}

func (p *parts) policyDesk() *policyDesk {
	return &policyDesk{service: p.service, by: p.evaluator, tables: p.policy, rules: p.store}
}

// Explain implements gateway.Policy.
func (d *policyDesk) Explain(ctx context.Context, runtime string, ask approvals.Ask) (api.Explanation, error) {
	return d.service.Explain(ctx, d.by, runtime, ask)
}

// Lint implements gateway.Policy.
func (d *policyDesk) Lint(ctx context.Context, runtime string, declared []api.DeclaredTool) ([]api.PolicyFinding, error) {
	if !core.ValidRuntimeName(runtime) {
		return nil, core.Invalid("runtime", "must be the name of a runtime")
	}
	var rules []policy.Rule
	q := core.RuleQuery{Runtime: runtime, Live: true}
	for {
		page, err := d.rules.ListRules(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list rules: %w", err)
		}
		for i := range page {
			r := &page[i]
			rules = append(rules, policy.Rule{
				ID: r.ID, Runtime: r.Runtime, Agent: r.Agent, Tool: r.Tool, Operation: r.Operation,
				Scope: policy.Scope(r.Scope), Value: r.Value, Class: r.Class,
			})
		}
		if len(page) < core.MaxPage {
			return api.PolicyFindings(policy.Lint(d.tables.Current(), runtime, declared, rules)), nil
		}
		last := &page[len(page)-1]
		q.Before = &core.ListCursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

// Status implements gateway.Policy.
func (d *policyDesk) Status(ctx context.Context) (api.PolicyStatus, error) {
	return policyStatus(d.tables.LookNow(ctx)), nil
}

// Adopt implements gateway.Policy.
func (d *policyDesk) Adopt(ctx context.Context) (api.PolicyStatus, error) {
	s, err := d.tables.Adopt(ctx)
	return policyStatus(s), err
}

func policyStatus(s inforce.Status) api.PolicyStatus {
	out := api.PolicyStatus{
		Digest: s.Digest, InForce: s.InForce.Digest, Number: s.InForce.Number, By: s.InForce.By, At: s.InForce.At, Agrees: s.Agrees(),
	}
	if s.Refused != nil {
		out.Refused = s.Refused.Error()
	}
	return out
}
