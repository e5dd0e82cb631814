package gateway

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
)

func (g *Gateway) registerDecisions() {
	resolve := g.operation("resolve", http.MethodPost, "/v1/approvals/{id}/resolve", "Answer, as a person")
	resolve.Description = "Takes the id or the resolution reference. Whoever lost the race gets 200, applied false, and the winner."
	huma.Register(g.api, resolve, g.resolve)
	huma.Register(g.api, g.operation("cancel", http.MethodPost, "/v1/approvals/{id}/cancel",
		"Withdraw an approval: its own runtime, or an admin"), g.cancel)
	huma.Register(g.api, g.operation("deny-malformed", http.MethodPost, "/v1/approvals/{id}/malformed-verdict",
		"Deny because the runtime received a verdict that it cannot read"), g.denyMalformed)
	dismiss := g.operation("dismiss", http.MethodPost, "/v1/approvals/{id}/dismiss", "Say, as a person, that what may have happened was seen")
	dismiss.Description = "Only of an execution whose outcome is unknown. Repeating it changes nothing."
	huma.Register(g.api, dismiss, g.dismiss)
	again := g.operation("ask-again", http.MethodPost, "/v1/approvals/{id}/ask-again", "Ask the runtime, as a person, for a new request")
	again.Description = "It allows nothing: the runtime hears of it among the agent's updates, and what it then asks is asked like anything else. " +
		"not_offered: no runtime listens."
	huma.Register(g.api, again, g.askAgain)
}

type resolveInput struct {
	ID   string `path:"id" doc:"The id or the resolution reference of the approval, percent-encoded."`
	Body api.Resolve
}

func (g *Gateway) resolve(ctx context.Context, in *resolveInput) (*output[api.Resolved], error) {
	c := callOf(ctx).caller
	l, err := lookupOrRef(in.ID)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	b := &in.Body
	r, err := g.deps.Approvals.Resolve(ctx, approvals.Resolve{
		Caller: c, Lookup: l, Kind: b.Kind, Decision: b.Decision,
		OperationID: b.OperationID, ArgumentsHash: b.ArgumentsHash,
		Note: b.Note, DecisionKey: b.DecisionKey, ShownOf: g.shown(c, b),
	})
	return g.resolved(ctx, c, r, err)
}

// shown establishes what the person's client had been given of the action. The
// projection counts as shown where it is whole; where it was cut, only the view
// that the detail was served with proves more (K29). The view never stands in for
// the hash: a decision names the action that it is about (R99). A denial needs
// neither, and whom the service refuses anyway learns nothing here.
func (g *Gateway) shown(c core.Caller, b *api.Resolve) func(a *core.Approval) (approvals.Shown, error) {
	if c.Person == nil || !b.Decision.Allows() {
		return nil
	}
	return func(a *core.Approval) (approvals.Shown, error) {
		if c.Surface == core.SurfaceCLI && !g.cfg.CLIAllow { // Only who may see it learns that.
			return approvals.Shown{}, core.ErrForbidden
		}
		if b.View == "" {
			return approvals.Shown{Complete: !a.Presentation.Truncated}, nil
		}
		complete, ok := g.deps.Views.Verify(b.View, a.ID, a.CardRevision, a.ActionHash, c.Session)
		switch {
		case !ok || c.Session == "":
			return approvals.Shown{Complete: !a.Presentation.Truncated}, nil
		case complete:
			return approvals.Shown{Complete: true}, nil
		}
		return approvals.Shown{PartialView: b.PartialView}, nil
	}
}

// resolved is the answer of everything that ends an approval. The record comes
// with a refusal only where the service gave it to a caller that may see it.
func (g *Gateway) resolved(ctx context.Context, c core.Caller, r approvals.Resolved, err error) (*output[api.Resolved], error) {
	if err != nil {
		return nil, g.failWith(ctx, c, err, r.Approval)
	}
	p, err := g.projectResolved(ctx, c, &r)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(api.Resolved{Applied: r.Applied, Idempotent: r.Idempotent, Approval: p}), nil
}

// projectResolved is full for a record that has just been written or found. What this
// call has written carries the time: the clock need not be asked again.
func (g *Gateway) projectResolved(ctx context.Context, c core.Caller, r *approvals.Resolved) (api.Approval, error) {
	if r.Applied {
		return g.fullAt(ctx, c, &r.Approval, r.Approval.UpdatedAt), nil
	}
	return g.full(ctx, c, &r.Approval)
}

func (g *Gateway) cancel(ctx context.Context, in *idInput) (*output[api.Resolved], error) {
	return g.end(ctx, in.ID, g.deps.Approvals.Cancel)
}

func (g *Gateway) denyMalformed(ctx context.Context, in *idInput) (*output[api.Resolved], error) {
	return g.end(ctx, in.ID, g.deps.Approvals.DenyMalformed)
}

func (g *Gateway) end(ctx context.Context, id string,
	how func(context.Context, core.Caller, core.Lookup) (approvals.Resolved, error),
) (*output[api.Resolved], error) {
	c := callOf(ctx).caller
	l, err := lookup(id)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	r, err := how(ctx, c, l)
	return g.resolved(ctx, c, r, err)
}

func (g *Gateway) dismiss(ctx context.Context, in *idInput) (*output[api.Answer], error) {
	return g.grant(ctx, in.ID, func(c core.Caller, l core.Lookup) (core.Approval, error) { return g.deps.Approvals.Dismiss(ctx, c, l) })
}

func (g *Gateway) askAgain(ctx context.Context, in *idInput) (*output[api.Answer], error) {
	return g.grant(ctx, in.ID, func(c core.Caller, l core.Lookup) (core.Approval, error) { return g.deps.Approvals.AskAgain(ctx, c, l) })
}
