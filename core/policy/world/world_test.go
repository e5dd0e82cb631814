package world_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/world"
	"github.com/saysohq/sayso/core/store/sqlite"
)

// scripted is a store that a test answers for.
type scripted struct {
	is           core.PolicyStanding
	rules        []core.Rule
	of           int64
	err, failing error
	asked        []core.PolicyQuery
	read         int
}

func (s *scripted) PolicyState(_ context.Context, q core.PolicyQuery) (core.PolicyStanding, error) {
	s.asked = append(s.asked, q)
	return s.is, s.err
}

func (s *scripted) LiveRules(context.Context, string, string) ([]core.Rule, int64, error) {
	s.read++
	return s.rules, s.of, s.failing
}

func rule(id string) core.Rule {
	return core.Rule{
		ID: id, Runtime: "builder", Agent: "agent", Tool: "mail", Operation: "send", Scope: core.RuleForRecipient,
		Value: id + "@example.com", Class: core.ClassSend,
	}
}

func request() policy.Request {
	return policy.Request{Runtime: "builder", Agent: "agent", Instance: "one", Epoch: 3, ActionHash: core.HashOf([]byte("action"))}
}

func silent(t *testing.T) func(context.Context, []policy.Finding) {
	t.Helper()
	return func(_ context.Context, found []policy.Finding) { require.Empty(t, found) }
}

// R52, R69, K34: everything comes from one read, and nothing from the request.
func TestInputs(t *testing.T) {
	t.Parallel()
	s := &scripted{of: 7, rules: []core.Rule{rule("ann")}, is: core.PolicyStanding{
		Now: 100_000, Generation: 7, Mode: core.ModeOnlyMoney, Facts: map[string]string{"sandbox": "docker", "weather": "fine"},
		Declined: "declined", DeclinedAt: 90_001,
	}}
	w := world.New(s, silent(t))
	in, err := w.Inputs(t.Context(), request(), 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, 1, in.Rules.Len())
	in.Rules = nil
	require.Equal(t, policy.Inputs{
		Now: 100_000, Generation: 7, Mode: policy.ModeMoney, Facts: policy.Facts{policy.FactSandbox: "docker"},
		Decline: &policy.Decline{Approval: "declined", At: 90_001},
	}, in)
	require.Equal(t, []core.PolicyQuery{{Runtime: "builder", Agent: "agent", Instance: "one", Epoch: 3, ActionHash: request().ActionHash}}, s.asked)

	s.is.DeclinedAt = 90_000
	in, err = w.Inputs(t.Context(), request(), 10*time.Second)
	require.NoError(t, err)
	require.Nil(t, in.Decline, "the end of the window is outside")
	_, err = w.Inputs(t.Context(), request(), 0)
	require.NoError(t, err)
	require.Empty(t, s.asked[2].ActionHash, "nobody asks for declines that do not count")
}

// R75: rules are read again when the generation is another one, and only then.
func TestRulesAreReadOncePerGeneration(t *testing.T) {
	t.Parallel()
	s := &scripted{}
	w := world.New(s, silent(t))
	inputs := func() policy.Inputs {
		in, err := w.Inputs(t.Context(), request(), 0)
		require.NoError(t, err)
		return in
	}
	require.Zero(t, inputs().Rules.Len())
	require.Zero(t, s.read, "before the first change there are none")

	s.is.Generation, s.of, s.rules = 1, 1, []core.Rule{rule("ann"), rule("bob")}
	for range 3 {
		require.Equal(t, 2, inputs().Rules.Len())
	}
	require.Equal(t, 1, s.read)

	// A change between the two reads: the rules are those of after it, the insert is
	// guarded by the generation before it, and fails.
	s.is.Generation, s.of, s.rules = 2, 3, []core.Rule{rule("bob")}
	in := inputs()
	require.Equal(t, int64(2), in.Generation)
	require.Equal(t, 1, in.Rules.Len())
	s.is.Generation = 3
	require.Equal(t, 1, inputs().Rules.Len())
	require.Equal(t, 2, s.read, "they were of this one already")

	s.is.Generation, s.of, s.rules = 4, 4, nil
	require.Zero(t, inputs().Rules.Len())
}

// R59: what cannot be read comes back as an error, with the generation where it is known.
func TestErrors(t *testing.T) {
	t.Parallel()
	s := &scripted{err: core.ErrUnavailable}
	w := world.New(s, silent(t))
	in, err := w.Inputs(t.Context(), request(), time.Minute)
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.Equal(t, policy.Inputs{}, in)

	s.err, s.failing = nil, errors.New("no rules")
	s.is = core.PolicyStanding{Now: 5, Generation: 2, Mode: core.ModeOnlyMoney}
	in, err = w.Inputs(t.Context(), request(), time.Minute)
	require.ErrorIs(t, err, s.failing)
	require.Equal(t, policy.Inputs{Now: 5, Generation: 2}, in)
	s.failing = nil
	s.of, s.rules = 2, []core.Rule{rule("ann")}
	in, err = w.Inputs(t.Context(), request(), time.Minute)
	require.NoError(t, err, "a failure is not remembered")
	require.Equal(t, 1, in.Rules.Len())
}

// A damaged rule is left out and reported once per generation; the others count.
func TestDamagedRule(t *testing.T) {
	t.Parallel()
	damaged := rule("eve")
	damaged.Class = core.ClassMoney
	s := &scripted{is: core.PolicyStanding{Generation: 1}, of: 1, rules: []core.Rule{damaged, rule("ann")}}
	var found []policy.Finding
	w := world.New(s, func(_ context.Context, f []policy.Finding) { found = append(found, f...) })
	for range 2 {
		in, err := w.Inputs(t.Context(), request(), 0)
		require.NoError(t, err)
		require.Equal(t, 1, in.Rules.Len())
	}
	require.Len(t, found, 1)
	require.Equal(t, "eve", found[0].Rule)
}

// However many agents call, memory is bounded, and everybody gets their own rules.
func TestBoundedMemory(t *testing.T) {
	t.Parallel()
	s := &scripted{is: core.PolicyStanding{Generation: 1}, of: 1, rules: []core.Rule{rule("ann")}}
	w := world.New(s, silent(t))
	for n := range world.MaxAgents + 10 {
		r := request()
		r.Agent = fmt.Sprintf("agent-%d", n)
		in, err := w.Inputs(t.Context(), r, 0)
		require.NoError(t, err)
		require.Equal(t, 1, in.Rules.Len())
	}
	require.Equal(t, world.MaxAgents+10, s.read)
	for n := range world.MaxAgents + 10 { // At most ten have been forgotten, and push others out.
		r := request()
		r.Agent = fmt.Sprintf("agent-%d", n)
		_, err := w.Inputs(t.Context(), r, 0)
		require.NoError(t, err)
	}
	require.Less(t, s.read, 2*(world.MaxAgents+10))
}

// The modes of the store are those of the policy.
func TestModesAgree(t *testing.T) {
	t.Parallel()
	for stored, mode := range map[string]policy.Mode{
		core.ModeBeforeOutside: policy.ModeOutside, core.ModeBeforeEverything: policy.ModeEverything, core.ModeOnlyMoney: policy.ModeMoney,
	} {
		require.Equal(t, stored, string(mode))
		require.True(t, mode.Valid())
		require.True(t, core.ValidMode(stored))
	}
	require.True(t, core.ValidMode(""))
	for _, scope := range []string{core.RuleForRecipient, core.RuleForHost, core.RuleForOperation, core.RuleForTool} {
		require.True(t, policy.Scope(scope).Valid())
	}
}

func opened(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{
		Path: filepath.Join(t.TempDir(), "sayso.db"), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
		require.NoError(t, s.Close())
	})
	return s
}

// R73, R75 over a real store: a switch lets money pass, its removal ends that with the
// next call, and the insert of an evaluation in between is refused.
func TestOverAStore(t *testing.T) {
	t.Parallel()
	s := opened(t)
	compiled, err := policy.New(policy.Layers{Operator: []policy.Table{{Tools: []policy.Tool{{Names: []string{"pay"}, Class: core.ClassMoney}}}}})
	require.NoError(t, err)
	var held policy.Holder
	_, err = held.Reload(func() (*policy.Policy, error) { return compiled, nil })
	require.NoError(t, err)
	e := policy.NewEvaluator(&held, world.New(s, silent(t)), func(_ context.Context, err error) { require.NoError(t, err) })
	r := policy.Request{Runtime: "builder", Agent: "agent", Kind: core.KindPlugin, Tool: "pay", Arguments: []byte(`{}`)}
	evaluate := func() policy.Verdict {
		v, err := e.Evaluate(t.Context(), r)
		require.NoError(t, err)
		return v
	}
	require.Equal(t, policy.Ask, evaluate().Answer)
	made, err := s.SwitchMoney(t.Context(), core.NewRule{Rule: core.Rule{
		ID: "switch", Runtime: "builder", Agent: "agent", Tool: "pay", Scope: core.RuleForTool, Class: core.ClassMoney, CreatedBy: "alice",
	}}, core.Guard{})
	require.NoError(t, err)
	v := evaluate()
	require.Equal(t, policy.Auto, v.Answer)
	require.Equal(t, made.ID, v.RuleID)
	require.Equal(t, made.PolicyID(), v.PolicyID)
	require.Equal(t, int64(1), v.Generation)
	_, err = s.RemoveRule(t.Context(), core.RemoveRule{ID: made.ID, By: "alice"})
	require.NoError(t, err)
	require.Equal(t, policy.Ask, evaluate().Answer)
}

// Ten thousand rules of one agent are read once.
func TestManyRules(t *testing.T) {
	t.Parallel()
	s := &scripted{is: core.PolicyStanding{Generation: 1}, of: 1}
	for n := range 10_000 {
		s.rules = append(s.rules, rule(fmt.Sprintf("person-%d", n)))
	}
	w := world.New(s, silent(t))
	for range 10 {
		in, err := w.Inputs(t.Context(), request(), 0)
		require.NoError(t, err)
		require.Equal(t, 10_000, in.Rules.Len())
	}
	require.Equal(t, 1, s.read)
}
