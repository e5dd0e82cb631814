package gateway

import (
	"context"
	"log/slog"
	"slices"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// project builds what the caller may read of a record. The service has decided
// that they may read it at all; here it is which parts.
func (g *Gateway) project(c core.Caller, a *core.Approval, now core.Millis) api.Approval {
	p := api.Approval{
		ID: a.ID, Kind: a.Kind, Status: a.Status, Origin: a.Origin,
		Runtime: a.Runtime, Agent: a.Agent, Group: a.Group, Class: a.Class, Risk: a.Risk,
		Presentation:  a.Presentation,
		Operation:     api.Operation{ID: a.Operation.ID, Type: a.Operation.Type, Tool: a.Operation.Tool, Name: a.Operation.Name},
		ArgumentsHash: a.ArgumentsHash, ActionHash: a.ActionHash, Fingerprint: a.Fingerprint,
		DetailBytes: a.DetailBytes, DetailOmitted: a.DetailOmitted,
		AllowedDecisions: offered(a), AlwaysOffer: a.AlwaysOffer,
		Continuation: a.Continuation, Waits: a.Continuation.Waits(), Generic: len(a.Presentation.Lines) > 0,
		PolicyID: a.PolicyID, StickyOf: a.StickyOf, Supersedes: a.Supersedes,
		Execution: a.Execution, ClaimBy: a.ClaimBy, ConsumedAt: a.ConsumedAt,
		OutcomeBy: a.OutcomeBy, OutcomeAt: a.OutcomeAt, OutcomeError: a.OutcomeError, VoidReason: a.VoidReason,
		CreatedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt, UpdatedAt: a.UpdatedAt,
		Revision: a.Revision, CardRevision: a.CardRevision, ServerTime: now,
		URLPath: g.links.Path(a.ID), URL: g.links.URL(a.ID),
	}
	projectOutcome(&p, a)
	projectAftermath(&p, a.Aftermath)
	switch {
	case c.Token != nil && c.Token.Runtime == a.Runtime:
		p.Own = own(a)
	case c.Admin():
		p.Audit = audit(a)
	}
	return p
}

// offered lists what may be answered; deny always may (conformance 24).
func offered(a *core.Approval) []core.Decision {
	list := slices.Clone(a.Offered)
	if !slices.Contains(list, core.DecisionDeny) {
		list = append(list, core.DecisionDeny)
	}
	return list
}

func projectOutcome(p *api.Approval, a *core.Approval) {
	if !a.Status.Terminal() {
		return
	}
	p.Decision, p.Reason = a.Decision, a.Reason
	p.Note, p.ByMessage, p.PartialView = a.Note, a.ByMessage, a.PartialView
	p.ResolvedAt = a.ResolvedAt
	p.Resolver = &api.Resolver{Kind: a.ResolverKind, Name: a.ResolverName, Surface: a.Surface}
}

func projectAftermath(p *api.Approval, is *core.Aftermath) {
	if is == nil {
		return
	}
	act := func(of *core.Act) *api.Act {
		if of == nil {
			return nil
		}
		return &api.Act{Name: of.Name, At: of.At}
	}
	p.Aftermath = &api.Aftermath{Dismissed: act(is.Dismissed), AskedAgain: act(is.AskedAgain)}
}

func own(a *core.Approval) *api.Own {
	return &api.Own{
		IdempotencyKey: a.IdempotencyKey, SessionKey: a.SessionKey, RunID: a.RunID, FrameID: a.FrameID,
		CausedBy: a.CausedBy, Audience: a.Audience, Instance: a.Instance, Epoch: a.Epoch, CallbackURL: a.CallbackURL,
	}
}

func audit(a *core.Approval) *api.Audit {
	return &api.Audit{
		RequestedBy: a.RequestedBy, Reviewers: a.Reviewers, ResolverID: a.ResolverID, ConsumedBy: a.ConsumedBy,
		ClassSource: a.ClassSource, Trail: a.Trail, DeliveryID: a.DeliveryID,
	}
}

// full is the projection of one record with the summary of its cards.
func (g *Gateway) full(ctx context.Context, c core.Caller, a *core.Approval) (api.Approval, error) {
	now, err := g.deps.Clock.Now(ctx)
	if err != nil {
		return api.Approval{}, err
	}
	return g.fullAt(ctx, c, a, now), nil
}

// fullAt is full at a time that is known. Without the summary the answer is still
// true, so a ledger that cannot be read costs that part only.
func (g *Gateway) fullAt(ctx context.Context, c core.Caller, a *core.Approval, now core.Millis) api.Approval {
	p := g.project(c, a, now)
	rows, err := g.deps.Ledger.DeliveriesOf(ctx, a.ID)
	if err != nil {
		g.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "read deliveries", slog.String("approval", a.ID), slog.Any("error", err))
		return p
	}
	for i := range rows {
		d := &rows[i]
		p.Deliveries = append(p.Deliveries, api.Delivery{
			Channel: d.Channel, State: d.State, Outcome: d.Outcome, Class: d.LastError,
			Current: d.ShownRevision > 0 && d.ShownRevision >= a.CardRevision,
		})
	}
	return p
}

// answer is the projection with its verdict and, for the runtime, the text for the
// agent.
func (g *Gateway) answer(ctx context.Context, c core.Caller, a *core.Approval) (api.Answer, error) {
	p, err := g.full(ctx, c, a)
	if err != nil {
		return api.Answer{}, err
	}
	out := api.Answer{Verdict: api.VerdictOf(a.Status), Approval: p}
	if c.Token != nil {
		out.AgentText = g.deps.AgentText(*a)
	}
	return out, nil
}
