package world

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// Store is the part of a store that evaluations read.
type Store interface {
	// PolicyState implements core.Policies.
	PolicyState(ctx context.Context, q core.PolicyQuery) (core.PolicyStanding, error)
	// LiveRules implements core.Rules.
	LiveRules(ctx context.Context, runtime, agent string) (rules []core.Rule, generation int64, err error)
}

// MaxAgents is how many agents' rules are kept in memory. Beyond it one of them is
// forgotten, and read again when it calls.
const MaxAgents = 1_024

// World reads what an evaluation depends on. It is safe for concurrent use.
type World struct {
	store  Store
	report func(context.Context, []policy.Finding)

	mu    sync.Mutex
	rules map[agent]indexed
}

var _ policy.World = (*World)(nil)

type agent struct{ runtime, name string }

// indexed are the rules of one agent, of a generation or a later one.
type indexed struct {
	generation int64
	rules      *policy.Rules
}

// New wires a World; it starts nothing. Report is told, once per change of an agent's
// rules, of those that cannot be or that cover the same; it must not block.
func New(s Store, report func(context.Context, []policy.Finding)) *World {
	return &World{store: s, report: report, rules: map[agent]indexed{}}
}

// Inputs implements policy.World.
func (w *World) Inputs(ctx context.Context, r policy.Request, window time.Duration) (policy.Inputs, error) {
	q := core.PolicyQuery{Runtime: r.Runtime, Agent: r.Agent, Instance: r.Instance, Epoch: r.Epoch}
	if window > 0 {
		q.ActionHash = r.ActionHash
	}
	is, err := w.store.PolicyState(ctx, q)
	in := policy.Inputs{Now: is.Now, Generation: is.Generation, TablesDigest: is.TablesDigest}
	if err != nil {
		return in, fmt.Errorf("read policy state: %w", err)
	}
	rules, err := w.rulesOf(ctx, agent{r.Runtime, r.Agent}, is.Generation)
	if err != nil {
		return in, err
	}
	in.Mode, in.Rules, in.Facts = policy.Mode(is.Mode), rules, facts(is.Facts)
	if is.Declined != "" && !is.DeclinedAt.Add(window).Reached(is.Now) {
		in.Decline = &policy.Decline{Approval: is.Declined, At: is.DeclinedAt}
	}
	return in, nil
}

// rulesOf is the index of an agent's rules. It may be of a later generation than was
// asked for: the insert is guarded by the earlier one then, and fails.
func (w *World) rulesOf(ctx context.Context, a agent, generation int64) (*policy.Rules, error) {
	if generation == 0 { // Nobody ever made one.
		return nil, nil
	}
	w.mu.Lock()
	known := w.rules[a]
	w.mu.Unlock()
	if known.generation == generation {
		return known.rules, nil
	}
	stored, of, err := w.store.LiveRules(ctx, a.runtime, a.name)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	list := make([]policy.Rule, len(stored))
	for i := range stored {
		list[i] = ruleFrom(&stored[i])
	}
	rules, findings := policy.NewRules(list)
	if len(findings) > 0 {
		w.report(ctx, findings)
	}
	w.keep(a, indexed{of, rules})
	return rules, nil
}

// keep remembers an index, unless a later one is known.
func (w *World) keep(a agent, i indexed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rules[a].generation > i.generation {
		return
	}
	if _, known := w.rules[a]; !known && len(w.rules) >= MaxAgents {
		for other := range w.rules { // Any of them: it is read again when it is wanted.
			delete(w.rules, other)
			break
		}
	}
	w.rules[a] = i
}

func ruleFrom(r *core.Rule) policy.Rule {
	return policy.Rule{
		ID: r.ID, Runtime: r.Runtime, Agent: r.Agent, Tool: r.Tool, Operation: r.Operation,
		Scope: policy.Scope(r.Scope), Value: r.Value, Class: r.Class, ExpiresAt: r.ExpiresAt,
		Limited: r.UsesAllowed > 0, UsesLeft: max(r.UsesAllowed-r.Uses, 0),
	}
}

// facts are those that a table can name: a runtime may attest more.
func facts(attested map[string]string) policy.Facts {
	known := policy.Facts{}
	for name, value := range attested {
		if f := policy.Fact(name); f.Valid() {
			known[f] = value
		}
	}
	return known
}
