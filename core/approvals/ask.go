package approvals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// evaluations bounds how often Ask evaluates again because the rules changed
// between reading them and inserting the row.
const evaluations = 5

// Ask evaluates a call and, when it asks, writes the record with its planned
// cards. The same key with the same content returns the same row. A call that only
// reads is answered anew each time, whatever its key, and leaves no row (K15).
//
// Errors: ErrForbidden (not a machine with the scope "request"), ErrInvalid (a
// FieldError), ErrIdempotencyConflict, ErrIDTaken, ErrStaleEpoch, ErrRunAborted,
// ErrPendingLimit.
func (s *Service) Ask(ctx context.Context, c core.Caller, ask Ask) (Asked, error) {
	if err := s.machine(ctx, c, core.ScopeRequest); err != nil {
		return Asked{}, err
	}
	if err := validateAsk(&ask); err != nil {
		return Asked{}, err
	}
	if err := s.checkCallback(c, ask.CallbackURL); err != nil {
		return Asked{}, err
	}
	draft, detail, err := s.describe(c, &ask)
	if err != nil {
		return Asked{}, err
	}
	if err := s.checkReviewers(ctx, &draft); err != nil {
		return s.askedBefore(ctx, draft, err)
	}
	for range evaluations {
		asked, err := s.evaluateAndCreate(ctx, &ask, draft, detail)
		if errors.Is(err, core.ErrPolicyChanged) {
			continue
		}
		return asked, err
	}
	return Asked{}, fmt.Errorf("evaluate under changing rules: %w", core.ErrPolicyChanged)
}

// describe builds everything of the row that does not depend on policy. The raw
// arguments are not reachable from its result.
func (s *Service) describe(c core.Caller, ask *Ask) (core.Approval, core.Detail, error) {
	d, err := s.deps.Describer.Describe(core.RawAction{
		Kind: ask.Kind, Title: ask.Title, Summary: ask.Operation.Summary, Agent: ask.Agent,
		Tool: ask.Operation.Tool, Operation: ask.Operation.Name,
		Arguments: ask.Operation.Arguments, Details: ask.Details,
	})
	if err != nil {
		return core.Approval{}, core.Detail{}, fmt.Errorf("describe action: %w", err)
	}
	a := core.Approval{
		Kind: ask.Kind, Origin: core.OriginAsk,
		Runtime: c.Token.Runtime, Instance: ask.Instance, Epoch: ask.Epoch,
		IdempotencyKey: ask.IdempotencyKey, Supersedes: ask.Supersedes,
		Operation:     core.Operation{ID: ask.Operation.ID, Type: ask.Operation.Type, Tool: d.Tool, Name: d.Operation},
		ArgumentsHash: d.ArgumentsHash, ActionHash: d.ActionHash, Fingerprint: core.Fingerprint(d.ActionHash),
		Risk:         s.deps.Describer.Text(ask.Risk, maxRisk),
		Presentation: d.Presentation, DetailBytes: int64(len(d.Detail.Text)), DetailOmitted: d.Detail.Omitted,
		Continuation: ask.Continuation,
		Agent:        s.deps.Describer.Text(ask.Agent, core.MaxShortText),
		SessionKey:   ask.SessionKey, RunID: ask.RunID, FrameID: ask.FrameID, Group: ask.Group,
		CausedBy: ask.CausedBy, Audience: unique(ask.Audience),
		RequestedBy: c.Token.ActsFor, Reviewers: unique(ask.Reviewers),
		ExcludeRequester: ask.ExcludeRequester, RequirePush: ask.RequirePush,
		CallbackURL: ask.CallbackURL,
		Status:      core.StatusPending,
	}
	a.RequestHash = requestHash(&a, ask)
	if a.ID = s.deps.NewID(); ask.GivenID != "" {
		if a.ID, err = core.GivenID(a.Runtime, ask.GivenID); err != nil {
			return core.Approval{}, core.Detail{}, err
		}
	}
	a.Ref = core.ResolutionRef(a.Kind, a.ID)
	return a, d.Detail, nil
}

// askedBefore answers a call whose reviewers will not do: where the same was asked
// while they did, with the row that it made, so that no answer is lost because
// somebody has left since; otherwise with the fault.
func (s *Service) askedBefore(ctx context.Context, draft core.Approval, fault error) (Asked, error) {
	if !errors.Is(fault, core.ErrInvalid) {
		return Asked{}, fault
	}
	created, err := s.deps.Store.Create(ctx, core.NewApproval{Approval: draft, OnlyExisting: true})
	if err != nil {
		return Asked{}, fault
	}
	return Asked{Approval: created.Approval, Existing: true}, nil
}

// evaluateAndCreate is one attempt under one generation of the rules.
func (s *Service) evaluateAndCreate(ctx context.Context, ask *Ask, draft core.Approval, detail core.Detail) (Asked, error) {
	verdict, err := s.deps.Evaluator.Evaluate(ctx, judged(ask, &draft))
	if err != nil { // An unreadable policy asks (R59); it never decides and never refuses.
		s.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "policy could not be evaluated: asking", slog.Any("error", err))
		verdict = policy.Verdict{
			Answer: policy.Ask, Class: core.ClassSend, ClassSource: "unreadable-policy",
			Trail: []core.TrailStep{{Step: "error", Verdict: string(policy.Ask)}},
		}
	}
	if verdict.Answer == policy.Allow {
		return Asked{Unrecorded: true}, nil
	}
	a := draft
	a.Class, a.ClassSource, a.AlwaysOffer = verdict.Class, verdict.ClassSource, named(verdict.AlwaysOffer, &a.Presentation)
	a.Offered, a.PolicyGeneration, a.Trail = verdict.Offered(), verdict.Generation, verdict.Trail
	cmd := core.NewApproval{Detail: detail, ExpiresIn: *ask.ExpiresIn, MaxPending: s.cfg.MaxPending}
	hint := ""
	if !settle(&a, &cmd, &verdict) {
		if hint, err = s.plan(ctx, &a, &cmd); err != nil {
			return Asked{}, err
		}
	}
	cmd.Approval = a
	return s.create(ctx, cmd, hint)
}

// plan adds the cards, or turns the draft into a denial when nobody can be asked,
// and returns what to do about people who cannot be reached.
func (s *Service) plan(ctx context.Context, a *core.Approval, cmd *core.NewApproval) (string, error) {
	p, err := s.deps.Planner.Plan(ctx, a)
	if err != nil {
		return "", fmt.Errorf("plan deliveries: %w", err)
	}
	if len(p.Deliveries) > 0 || (p.PageReachable && !a.RequirePush) {
		cmd.Deliveries = p.Deliveries
		return p.Hint, nil
	}
	a.Status = core.StatusDenied
	a.Resolution = core.Resolution{
		Decision: core.DecisionDeny, Reason: core.ReasonNoRoute,
		ResolverKind: core.ResolverSystem, ResolverName: "sayso",
	}
	return p.Hint, nil
}

func (s *Service) create(ctx context.Context, cmd core.NewApproval, hint string) (Asked, error) {
	created, err := s.deps.Store.Create(ctx, cmd)
	if err != nil {
		// The conflicting row comes along for callers that may see it: it is their own.
		return Asked{Approval: created.Approval, Existing: created.Existing}, fmt.Errorf("create approval: %w", err)
	}
	if !created.Existing {
		a := &created.Approval
		s.deps.Observer.Requested(a, len(cmd.Deliveries))
		s.deps.Logger.LogAttrs(ctx, slog.LevelInfo, "approval requested",
			slog.String("approval", a.ID), slog.String("kind", string(a.Kind)),
			slog.String("status", string(a.Status)), slog.Int("cards", len(cmd.Deliveries)))
		s.publish(ctx, append(created.Hints, hintOf(a))...)
	}
	if s := created.Approval.Status; s != core.StatusPending && created.Approval.Reason != core.ReasonNoRoute {
		hint = "" // It has its answer.
	}
	return Asked{Approval: created.Approval, Existing: created.Existing, Hint: hint}, nil
}

// checkCallback keeps a callback within what the operator allows the runtime.
func (s *Service) checkCallback(c core.Caller, address string) error {
	switch {
	case address == "":
		return nil
	case len(address) > maxCallback:
		return core.Invalid("callback_url", "must be at most %d bytes", maxCallback)
	case s.deps.Callbacks == nil:
		return core.Invalid("callback_url", "must have a host that is configured for this runtime")
	}
	return s.deps.Callbacks.Allowed(c.Token.Runtime, address)
}

// checkReviewers keeps a caller's list within those who could decide anyway: a
// machine may narrow who decides, never widen it. Unknown and unentitled people
// get the same answer.
func (s *Service) checkReviewers(ctx context.Context, a *core.Approval) error {
	if len(a.Reviewers) == 0 {
		return nil
	}
	owners, err := s.deps.Owners.Owners(ctx, a.Runtime, a.Agent)
	if err != nil {
		return fmt.Errorf("read owners: %w", err)
	}
	open := *a
	open.Reviewers = nil
	for i, id := range a.Reviewers {
		p, err := s.deps.People.Principal(ctx, id)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return fmt.Errorf("read reviewer: %w", err)
		}
		if err != nil || !core.MaySee(&p, &open, owners) {
			return core.Invalid(fmt.Sprintf("reviewers[%d]", i), "must be a person who could decide for this agent")
		}
	}
	return nil
}
