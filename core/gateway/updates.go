package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
)

func (g *Gateway) registerUpdates() {
	claim := g.operation("claim-updates", http.MethodPost, "/v1/agents/{key}/updates/claim",
		"Take what an agent of the runtime has not heard of yet")
	claim.Description = "Drafts that have their answer or their outcome, and requests for a new request, the oldest change first. " +
		"What is not acknowledged comes back after the lease; the same token gets the same batch, so a lost reply loses nothing."
	huma.Register(g.api, claim, g.claimUpdates)
	huma.Register(g.api, g.operation("ack-updates", http.MethodPost, "/v1/agents/{key}/updates/ack",
		"Say that the agent was told"), g.ackUpdates)
}

type claimUpdatesInput struct {
	Key  string `path:"key" doc:"The agent as the requests name it, percent-encoded; - for requests that name none."`
	Body api.ClaimUpdates
}

func (g *Gateway) claimUpdates(ctx context.Context, in *claimUpdatesInput) (*output[api.Updates], error) {
	agent, err := agentAt("path.key", in.Key)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	claim := approvals.ClaimUpdates{Agent: agent, Token: in.Body.Token, Limit: in.Body.Limit}
	if in.Body.Lease != "" {
		d, err := time.ParseDuration(in.Body.Lease)
		if err != nil || d <= 0 {
			return nil, g.fail(ctx, core.Invalid("lease", "must be a duration such as 1m"))
		}
		claim.Lease = max(1, core.Millis(d.Milliseconds())) // 0 would stand for the default.
	}
	b, err := g.deps.Approvals.ClaimUpdates(ctx, callOf(ctx).caller, claim)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.Updates{Updates: make([]api.Update, 0, len(b.Updates)), LeasedUntil: b.Until, More: b.More, ServerTime: b.Now}
	for i := range b.Updates {
		out.Updates = append(out.Updates, g.update(&b.Updates[i]))
	}
	return respond(out), nil
}

func (g *Gateway) update(u *core.Update) api.Update {
	a := &u.Approval
	return api.Update{
		Kind: u.Kind, ApprovalID: a.ID, Verdict: api.VerdictOf(a.Status), Status: a.Status, Execution: a.Execution,
		Revision: a.Revision, ActionHash: a.ActionHash,
		Operation: api.Operation{ID: a.Operation.ID, Type: a.Operation.Type, Tool: a.Operation.Tool, Name: a.Operation.Name},
		RunID:     a.RunID, SessionKey: a.SessionKey, ChangedAt: u.ChangedAt, Text: g.deps.UpdateText(*u),
	}
}

type ackUpdatesInput struct {
	Key  string `path:"key" doc:"The agent as in the claim."`
	Body api.AckUpdates
}

func (g *Gateway) ackUpdates(ctx context.Context, in *ackUpdatesInput) (*output[api.AckedUpdates], error) {
	agent, err := agentAt("path.key", in.Key)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	n, err := g.deps.Approvals.AckUpdates(ctx, callOf(ctx).caller, agent, in.Body.Token)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(api.AckedUpdates{Acked: n}), nil
}
