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

// Source hands out the policy of this process; Holder is one.
type Source interface {
	// Current is the policy that this process holds; nil before the first that was good.
	Current() *Policy
	// Holding is the policy with this digest, which is in force elsewhere, after a look
	// at whether this process can have it too; nil where it cannot.
	Holding(ctx context.Context, digest string) *Policy
}

// Evaluator evaluates calls under the policy that is in force.
type Evaluator struct {
	source Source
	world  World
	fault  func(context.Context, error)
}

// NewEvaluator wires an Evaluator; it starts nothing. Fault is told of every World
// that could not be read; it must not block.
func NewEvaluator(s Source, w World, fault func(context.Context, error)) *Evaluator {
	return &Evaluator{source: s, world: w, fault: fault}
}

// Evaluate judges one call. It returns no error: what could not be read is named in
// the trail, and asks (R59). So do tables that are not those in force.
func (e *Evaluator) Evaluate(ctx context.Context, r Request) (Verdict, error) {
	p, in, err := e.read(ctx, r)
	if err != nil {
		e.fault(ctx, err)
		in = Inputs{Now: in.Now, Generation: in.Generation, Unreadable: "rules and modes"}
	}
	return Evaluate(p, r, in), nil
}

// Explain tells all of one evaluation, under what is in force now. Errors: those of
// the World; an explanation that leaves out what could not be read would mislead.
func (e *Evaluator) Explain(ctx context.Context, r Request) (Explanation, error) {
	p, in, err := e.read(ctx, r)
	if err != nil {
		return Explanation{}, fmt.Errorf("read rules and modes: %w", err)
	}
	return Explain(p, r, in), nil
}

// read takes the tables and the world of one evaluation: those that belong together.
func (e *Evaluator) read(ctx context.Context, r Request) (*Policy, Inputs, error) {
	p := e.source.Current()
	in, err := e.world.Inputs(ctx, r, p.StickyWindow())
	if err != nil || in.TablesDigest == "" || in.TablesDigest == p.Digest() {
		return p, in, err
	}
	newer := e.source.Holding(ctx, in.TablesDigest)
	if newer == nil { // They are known to exist, and cannot be read here.
		in.Unreadable = "the tables in force"
		return p, in, nil
	}
	if newer.StickyWindow() > p.StickyWindow() { // A decline may have been left out as too old.
		in, err = e.world.Inputs(ctx, r, newer.StickyWindow())
		if err == nil && in.TablesDigest != newer.Digest() {
			in.Unreadable = "the tables in force"
		}
	}
	return newer, in, err
}
