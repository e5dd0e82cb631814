package gateway

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
)

func (g *Gateway) registerGrants() {
	claim := g.operation("claim", http.MethodPost, "/v1/approvals/{id}/claim", "Take the single-use grant, before running")
	claim.Description = "Run only after 200. 409 carries the record: somebody else claimed, the grant lapsed, or there is none."
	huma.Register(g.api, claim, g.claim)
	huma.Register(g.api, g.operation("report", http.MethodPost, "/v1/approvals/{id}/outcome", "Say what happened"), g.report)
}

type claimInput struct {
	ID   string `path:"id"`
	Body api.Claim
}

func (g *Gateway) claim(ctx context.Context, in *claimInput) (*output[api.Answer], error) {
	return g.grant(ctx, in.ID, func(c core.Caller, l core.Lookup) (core.Approval, error) {
		return g.deps.Approvals.Claim(ctx, c, approvals.Claim{
			Lookup: l, Instance: in.Body.Instance, Epoch: in.Body.Epoch,
			ActionHash: in.Body.ActionHash, Token: in.Body.Token,
		})
	})
}

type reportInput struct {
	ID   string `path:"id"`
	Body api.Report
}

func (g *Gateway) report(ctx context.Context, in *reportInput) (*output[api.Answer], error) {
	return g.grant(ctx, in.ID, func(c core.Caller, l core.Lookup) (core.Approval, error) {
		return g.deps.Approvals.Report(ctx, c, approvals.Report{
			Lookup: l, Token: in.Body.Token, Outcome: in.Body.Outcome, Error: in.Body.Error,
		})
	})
}

// grant runs one call about what became of an approval and answers with the record.
func (g *Gateway) grant(ctx context.Context, id string, do func(core.Caller, core.Lookup) (core.Approval, error)) (*output[api.Answer], error) {
	c := callOf(ctx).caller
	l, err := lookup(id)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	a, err := do(c, l)
	if err != nil {
		return nil, g.refused(ctx, c, err, a)
	}
	got, err := g.answer(ctx, c, &a)
	if err != nil {
		// It is committed; repeating the call is the same success.
		return nil, g.fail(ctx, err)
	}
	return respond(got), nil
}
