package postgres

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/tables"
	"github.com/saysohq/sayso/core/policy/world"
)

// replica is what one process of a fleet evaluates and records with: a store of its own,
// and rules that it keeps in memory.
type replica struct {
	store *Store
	world *world.World
	rules *policy.Policy
}

func replicas(t *testing.T, n int) []replica {
	t.Helper()
	cfg := config(server.Database(t))
	starter, err := tables.Load(tables.Files{})
	require.NoError(t, err)
	all := make([]replica, n)
	for i := range all {
		s, err := Open(t.Context(), cfg)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		all[i] = replica{s, world.New(s, func(context.Context, []policy.Finding) {}), starter}
	}
	return all
}

// call evaluates a call that deletes and, where that runs unasked, records and claims it.
// It reports whether it ran.
func (r *replica) call(ctx context.Context, n int) (bool, error) {
	c := draft(n)
	a := &c.Approval
	in, err := r.world.Inputs(ctx, policy.Request{Runtime: a.Runtime, Agent: a.Agent}, time.Minute)
	if err != nil {
		return false, err
	}
	v := policy.Evaluate(r.rules, policy.Request{
		Runtime: a.Runtime, Agent: a.Agent, Kind: core.KindPlugin, Tool: "delete_customer", Arguments: []byte(`{}`),
		Continuation: core.ContinuationLive,
	}, in)
	if v.Answer != policy.Auto {
		return false, nil
	}
	a.Origin, a.Status, a.PolicyID, a.PolicyGeneration = core.OriginAuto, core.StatusAllowed, v.PolicyID, v.Generation
	a.Resolution = core.Resolution{Reason: core.ReasonPolicy, ResolverKind: core.ResolverPolicy, ResolverID: v.PolicyID}
	a.Execution = core.ExecutionUnclaimed
	c.Policy = &core.PolicyGuard{Generation: v.Generation, RuleID: v.RuleID}
	if _, err := r.store.Create(ctx, c); err != nil {
		return false, err
	}
	_, err = r.store.Claim(ctx, core.Claim{ID: a.ID, Runtime: a.Runtime, ActionHash: a.ActionHash, TokenHash: "token"})
	return err == nil, err
}

// R75, R52: what one replica removes or pauses lets no call start on any other, from the
// moment at which the change was answered; whatever each of them has in memory.
func TestAChangeHoldsOnEveryReplica(t *testing.T) {
	t.Parallel()
	fleet := replicas(t, 2)
	mine, other := &fleet[0], &fleet[1]
	a := draft(0).Approval
	next := 1
	for round := range 5 {
		is, err := mine.store.ReadAgent(t.Context(), a.Runtime, a.Agent)
		require.NoError(t, err)
		rule, err := mine.store.SwitchMoney(t.Context(), core.NewRule{Rule: core.Rule{
			ID: fmt.Sprintf("rule-%d", round), Runtime: a.Runtime, Agent: a.Agent, Tool: "delete_customer", Scope: core.RuleForTool,
			Class: core.ClassMoney, CreatedBy: "ann",
		}}, core.Guard{})
		require.NoError(t, err)
		ran, err := other.call(t.Context(), next)
		require.NoError(t, err)
		require.True(t, ran, "the other has the rule in memory now")

		const calls = 8
		changed := make(chan struct{})
		before, after := make([]error, calls), make([]bool, calls)
		var work sync.WaitGroup
		for i := range calls {
			work.Go(func() {
				_, before[i] = other.call(t.Context(), next+1+i) // Beside the change: it runs or it does not.
				<-changed
				after[i], _ = other.call(t.Context(), next+1+calls+i)
			})
		}
		if round%2 == 0 {
			_, err = mine.store.RemoveRule(t.Context(), core.RemoveRule{ID: rule.ID, By: "ann"})
		} else {
			_, err = mine.store.SetPaused(t.Context(), core.SetPaused{Runtime: a.Runtime, Agent: a.Agent, Paused: true, Revision: is.PauseRevision, By: "ann"})
		}
		close(changed)
		work.Wait()
		require.NoError(t, err)
		for i := range calls {
			if before[i] != nil {
				require.Contains(t, []string{"policy_changed", "not_claimable", "agent_paused"}, core.CodeOf(before[i]))
			}
			require.False(t, after[i], "a call that began after the answer")
		}
		next += 1 + 2*calls
		if round%2 == 1 {
			_, err = mine.store.SetPaused(t.Context(), core.SetPaused{Runtime: a.Runtime, Agent: a.Agent, Revision: is.PauseRevision + 1, By: "ann"})
			require.NoError(t, err)
			_, err = mine.store.RemoveRule(t.Context(), core.RemoveRule{ID: rule.ID, By: "ann"})
			require.NoError(t, err)
		}
	}
}
