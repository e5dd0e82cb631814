package storetest

import (
	"errors"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func policyRaceSpecs() []spec {
	return []spec{
		{"of many who allow always one makes a rule", raceAlways},
		{"allow-always against a no", raceAlwaysDeny},
		{"allow-always against the removal of another rule", raceAlwaysRemove},
		{"two uses of a rule with one use left", raceLastUse},
		{"many uses of one rule are all counted", raceUses},
		{"R52 of 32 who set a mode one does", raceMode},
		{"R75 an insert against the removal of its rule", raceInsertRemove},
		{"R75 a claim against the removal of its rule", raceClaimRemove},
		{"an insert against a change of mode", raceInsertMode},
		{"K34 a sticky denial against the re-opening", raceSticky},
		{"K34 two who re-open", raceReopen},
	}
}

func raceAlways(k *kit) {
	for round := range rounds {
		a := k.create(withAlways)
		got, errs, commands := make([]core.Decided, 16), make([]error, 16), make([]core.Decide, 16)
		for i := range commands {
			commands[i] = k.always(a)
			if i%2 == 0 {
				commands[i].Seen = &a
			}
		}
		together(len(commands), func(i int) { got[i], errs[i] = k.Decide(k.ctx, commands[i]) })
		winner := ""
		for i := range got {
			require.NoError(k.t, errs[i])
			if got[i].Applied {
				require.Empty(k.t, winner)
				winner = commands[i].Rule.Rule.ID
			}
		}
		rules := k.rules()
		require.Len(k.t, rules, round+1)
		require.Equal(k.t, a.ID, k.rule(winner).ApprovalID)
		require.Equal(k.t, int64(round+1), k.generation())
	}
}

func raceAlwaysDeny(k *kit) {
	made := 0
	for range rounds {
		a := k.create(withAlways)
		commands := []core.Decide{k.always(a), k.answer(a.ID, core.DecisionDeny)}
		errs := make([]error, 2)
		together(2, func(i int) { _, errs[i] = k.Decide(k.ctx, commands[i]) })
		require.NoError(k.t, errors.Join(errs...))
		if k.read(a.ID).Decision == core.DecisionAllowAlways {
			made++
		}
		require.Len(k.t, k.rules(), made)
		require.Equal(k.t, int64(made), k.generation())
	}
}

func raceAlwaysRemove(k *kit) {
	for range rounds {
		old, a, before := k.makeRule(), k.create(withAlways), k.generation()
		d := k.always(a)
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Decide(k.ctx, d)
				return
			}
			_, errs[i] = k.RemoveRule(k.ctx, removal(old.ID, "bob"))
		})
		require.NoError(k.t, errors.Join(errs...))
		require.Zero(k.t, k.rule(d.Rule.Rule.ID).RemovedAt)
		require.NotZero(k.t, k.rule(old.ID).RemovedAt)
		require.Equal(k.t, before+2, k.generation(), "each change has a generation of its own")
	}
}

// grants inserts grants of a rule at once, and counts those that were made.
func (k *kit) grants(n int, r core.Rule, generation int64) (made int) {
	k.t.Helper()
	errs, commands := make([]error, n), make([]core.NewApproval, n)
	for i := range commands {
		commands[i] = k.ask(under(r, generation))
	}
	together(n, func(i int) { _, errs[i] = k.Create(k.ctx, commands[i]) })
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		require.ErrorIs(k.t, err, core.ErrPolicyChanged)
	}
	return made
}

func raceLastUse(k *kit) {
	for range rounds {
		r := k.makeRule(func(c *core.NewRule) { c.Rule.UsesAllowed = 2 })
		k.create(under(r, r.PolicyGeneration))
		require.Equal(k.t, 1, k.grants(8, r, r.PolicyGeneration))
		require.Equal(k.t, int64(2), k.rule(r.ID).Uses)
		require.Equal(k.t, r.PolicyGeneration+1, k.generation())
	}
}

func raceUses(k *kit) {
	r := k.makeRule()
	for round := range int64(5) {
		require.Equal(k.t, 16, k.grants(16, r, 1))
		require.Equal(k.t, 16*(round+1), k.rule(r.ID).Uses)
	}
}

func raceMode(k *kit) {
	const callers = 32
	modes := []string{core.ModeBeforeEverything, core.ModeOnlyMoney}
	for round := range int64(5) {
		got, errs := make([]core.Agent, callers), make([]error, callers)
		together(callers, func(i int) {
			got[i], errs[i] = k.SetMode(k.ctx, core.SetMode{
				Runtime: ownRuntime, Agent: fmt.Sprintf("agent-%d", round), Mode: modes[i%2], By: fmt.Sprintf("person-%d", i),
			})
		})
		is, err := k.ReadAgent(k.ctx, ownRuntime, fmt.Sprintf("agent-%d", round))
		require.NoError(k.t, err)
		require.Equal(k.t, int64(1), is.ModeRevision)
		for i := range got {
			require.Equal(k.t, is, got[i], "everybody is told the current one")
			if modes[i%2] == is.Mode {
				require.NoError(k.t, errs[i])
				continue
			}
			require.ErrorIs(k.t, errs[i], core.ErrConflict)
		}
		changes, err := k.PolicyChanges(k.ctx, ownRuntime, is.Name, 0)
		require.NoError(k.t, err)
		require.Len(k.t, changes, 1)
	}
}

func raceInsertRemove(k *kit) {
	for range rounds {
		r := k.makeRule()
		generation := k.generation()
		const inserts = 8
		errs, commands := make([]error, inserts+1), make([]core.NewApproval, inserts)
		for i := range commands {
			commands[i] = k.ask(under(r, generation))
		}
		together(inserts+1, func(i int) {
			if i == inserts {
				_, errs[i] = k.RemoveRule(k.ctx, removal(r.ID, "bob"))
				return
			}
			_, errs[i] = k.Create(k.ctx, commands[i])
		})
		require.NoError(k.t, errs[inserts])
		made := int64(0)
		for i, err := range errs[:inserts] {
			if err != nil {
				require.ErrorIs(k.t, err, core.ErrPolicyChanged)
				continue
			}
			made++
			_, err = k.Claim(k.ctx, claimOf(k.read(commands[i].Approval.ID), "token"))
			require.ErrorIs(k.t, err, core.ErrNotClaimable, "what slipped in before the removal is not run after it")
		}
		require.Equal(k.t, made, k.rule(r.ID).Uses)
		k.refusesInsert(core.ErrPolicyChanged, under(r, generation))
	}
}

func raceClaimRemove(k *kit) {
	for range rounds {
		r := k.makeRule()
		granted := k.create(under(r, k.generation()))
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Claim(k.ctx, claimOf(granted, "token"))
				return
			}
			_, errs[i] = k.RemoveRule(k.ctx, removal(r.ID, "bob"))
		})
		require.NoError(k.t, errs[1])
		want := core.ExecutionClaimed
		if errs[0] != nil {
			require.ErrorIs(k.t, errs[0], core.ErrNotClaimable)
			want = core.ExecutionVoided
		}
		require.Equal(k.t, want, k.read(granted.ID).Execution)
	}
}

func raceInsertMode(k *kit) {
	for round := range int64(rounds) {
		modes := []string{core.ModeOnlyMoney, core.ModeBeforeEverything}
		c := k.ask(automatic, guardedBy(round))
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Create(k.ctx, c)
				return
			}
			_, errs[i] = k.SetMode(k.ctx, core.SetMode{Runtime: ownRuntime, Agent: "agent-1", Mode: modes[round%2], Revision: round, By: "bob"})
		})
		require.NoError(k.t, errs[1])
		if errs[0] != nil {
			require.ErrorIs(k.t, errs[0], core.ErrPolicyChanged)
			k.gone(c.Approval.ID)
			continue
		}
		_, err := k.Claim(k.ctx, claimOf(k.read(c.Approval.ID), "token"))
		require.ErrorIs(k.t, err, core.ErrNotClaimable)
	}
}

func raceSticky(k *kit) {
	for range rounds {
		first := k.deny(k.create().ID)
		c := k.ask(stickyOf(first, 0))
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Create(k.ctx, c)
				return
			}
			_, errs[i] = k.ReopenDecline(k.ctx, core.ReopenDecline{ApprovalID: first.ID, By: "bob"})
		})
		require.NoError(k.t, errs[1])
		if errs[0] != nil {
			require.ErrorIs(k.t, errs[0], core.ErrPolicyChanged)
			k.gone(c.Approval.ID)
		}
		k.refusesInsert(core.ErrPolicyChanged, stickyOf(first, 0))
	}
}

func raceReopen(k *kit) {
	for range rounds {
		first := k.deny(k.create().ID)
		got, errs := make([]core.Reopened, 8), make([]error, 8)
		together(len(got), func(i int) {
			got[i], errs[i] = k.ReopenDecline(k.ctx, core.ReopenDecline{ApprovalID: first.ID, By: fmt.Sprintf("person-%d", i)})
		})
		require.NoError(k.t, errors.Join(errs...))
		for i := range got {
			require.Equal(k.t, got[0], got[i])
		}
	}
}
