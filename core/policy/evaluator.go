package policy

import (
	"context"
	"fmt"
	"time"
)

// World reads what an evaluation depends on beside the tables and the request. A
// store implements it over its rules, modes, facts and declines.
type World interface {
	// Inputs reads everything for one evaluation under one generation of the rules:
	// the agent's mode, the facts that the runtime attested, its rules, and a person's
	// newest decline of the same action that is not older than window (0: none is
	// wanted). On an error the returned Inputs still carry the generation, if it is
	// known: the call then asks, and its insert is guarded by it.
	Inputs(ctx context.Context, r Request, window time.Duration) (Inputs, error)
}

// Evaluator evaluates calls under the policy that a Holder has in force.
type Evaluator struct {
	holder *Holder
	world  World
	fault  func(context.Context, error)
}

// NewEvaluator wires an Evaluator; it starts nothing. Fault is told of every World
// that could not be read; it must not block.
func NewEvaluator(h *Holder, w World, fault func(context.Context, error)) *Evaluator {
	return &Evaluator{holder: h, world: w, fault: fault}
}

// Evaluate judges one call. It returns no error: what could not be read is named in
// the trail, and asks (R59).
func (e *Evaluator) Evaluate(ctx context.Context, r Request) (Verdict, error) {
	p := e.holder.Current()
	in, err := e.world.Inputs(ctx, r, p.StickyWindow())
	if err != nil {
		e.fault(ctx, err)
		in = Inputs{Now: in.Now, Generation: in.Generation, Unreadable: "rules and modes"}
	}
	return Evaluate(p, r, in), nil
}

// Explain tells all of one evaluation, under what is in force now. Errors: those of
// the World; an explanation that leaves out what could not be read would mislead.
func (e *Evaluator) Explain(ctx context.Context, r Request) (Explanation, error) {
	p := e.holder.Current()
	in, err := e.world.Inputs(ctx, r, p.StickyWindow())
	if err != nil {
		return Explanation{}, fmt.Errorf("read rules and modes: %w", err)
	}
	return Explain(p, r, in), nil
}
