package approvals

import (
	"fmt"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// ruleFrom is what an answer makes beside the decision: for allow-always exactly what
// the card offered (K7), for every other answer nothing. Errors: ErrNotOffered and
// ErrInvalid, where the record offers no rule that can be made; nothing is decided then.
func (s *Service) ruleFrom(a *core.Approval, r *Resolve, mismatch bool) (*core.NewRule, error) {
	if r.Decision != core.DecisionAllowAlways || mismatch || a.Status.Terminal() {
		return nil, nil
	}
	made, err := policy.RuleOf(a)
	if err != nil {
		return nil, fmt.Errorf("allow always: %w", err)
	}
	return &core.NewRule{Rule: core.Rule{
		ID: s.deps.NewID(), Runtime: made.Runtime, Agent: made.Agent, Tool: made.Tool, Operation: made.Operation,
		Scope: string(made.Scope), Value: made.Value, Class: made.Class, Label: a.AlwaysOffer.Label, ApprovalID: a.ID,
		CreatedBy: r.Caller.Person.ID, CreatedName: r.Caller.Person.Name,
	}}, nil
}

// settle makes a draft what the policy says without asking anybody, and reports
// whether it did. The insert is guarded by what was evaluated: a rule that was removed
// meanwhile, or a decline that was re-opened, is evaluated again. Asking needs no such
// guard: it is right under any rules.
func settle(a *core.Approval, cmd *core.NewApproval, v *policy.Verdict) bool {
	switch v.Answer {
	case policy.Auto:
		a.Origin, a.PolicyID, a.Status = core.OriginAuto, v.PolicyID, core.StatusAllowed
		a.Resolution = core.Resolution{
			Reason: core.ReasonPolicy, ResolverKind: core.ResolverPolicy, ResolverID: v.PolicyID, ResolverName: "policy",
		}
	case policy.Deny:
		a.Status, a.StickyOf = core.StatusDenied, v.StickyOf
		a.Resolution = core.Resolution{
			Decision: core.DecisionDeny, Reason: core.ReasonStickyDecline, ResolverKind: core.ResolverPolicy, ResolverName: "policy",
		}
	case policy.Ask, policy.Allow: // What only reads never comes here.
		return false
	default:
		return false
	}
	cmd.Policy = &core.PolicyGuard{Generation: v.Generation, RuleID: v.RuleID}
	return true
}
