package approvals

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// Explainer tells all of an evaluation; policy.Evaluator is one.
type Explainer interface {
	Explain(ctx context.Context, r policy.Request) (policy.Explanation, error)
}

// Explain says what would become of a call of the runtime, by the very request that Ask
// would have evaluated, and why. Nothing is asked and nothing is written. Who may know
// is the edge's to say. Errors: ErrInvalid (a FieldError), and those of the Explainer.
func (s *Service) Explain(ctx context.Context, by Explainer, runtime string, ask Ask) (policy.Explanation, error) {
	if !core.ValidRuntimeName(runtime) {
		return policy.Explanation{}, core.Invalid("runtime", "must be the name of a runtime")
	}
	if err := validateAsk(&ask); err != nil {
		return policy.Explanation{}, err
	}
	draft, _, err := s.describe(core.Caller{Token: &core.Token{Runtime: runtime}}, &ask)
	if err != nil {
		return policy.Explanation{}, err
	}
	x, err := by.Explain(ctx, judged(&ask, &draft))
	if err != nil {
		return policy.Explanation{}, fmt.Errorf("explain: %w", err)
	}
	return x, nil
}

// judged is what an evaluation looks at of a call.
func judged(ask *Ask, draft *core.Approval) policy.Request {
	return policy.Request{
		Runtime: draft.Runtime, Agent: draft.Agent, Kind: draft.Kind, Type: ask.Operation.Type,
		Tool: ask.Operation.Tool, Operation: ask.Operation.Name, Arguments: ask.Operation.Arguments,
		Continuation: draft.Continuation, ActionHash: draft.ActionHash, Instance: draft.Instance, Epoch: draft.Epoch,
	}
}
