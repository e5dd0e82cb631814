package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func agentRaceSpecs() []spec {
	return []spec{
		{"R139 once a pause has returned no claim succeeds any more", racePauseClaim},
		{"of many who pause and resume one at a time does", racePause},
		{"R141 a reset against claims and answers", raceResetClaim},
		{"R143 a reset against questions of its run", raceResetCreate},
		{"R75 a deletion against inserts under its rule", raceDeleteInsert},
		{"R73 of many who switch the same tool one does", raceSwitch},
	}
}

func racePauseClaim(k *kit) {
	revision := int64(0)
	for range rounds {
		const runners = 12
		grants := make([]core.Approval, runners)
		for i := range grants {
			grants[i] = k.allow(k.create().ID)
		}
		seen, errs := map[string]core.Execution{}, make([]error, runners+1)
		together(runners+1, func(i int) {
			if i < runners {
				_, errs[i] = k.Claim(k.ctx, claimOf(grants[i], "token"))
				return
			}
			if _, errs[i] = k.SetPaused(k.ctx, core.SetPaused{Runtime: ownRuntime, Agent: "agent-1", Paused: true, Revision: revision, By: "bob"}); errs[i] != nil {
				return
			}
			for _, a := range grants { // From here on nothing more is claimed.
				is, err := k.Approval(k.ctx, core.Lookup{ID: a.ID})
				if err != nil {
					errs[i] = err
				}
				seen[a.ID] = is.Execution
			}
		})
		require.NoError(k.t, errs[runners])
		for i, a := range grants {
			want := core.ExecutionClaimed
			if errs[i] != nil {
				require.ErrorIs(k.t, errs[i], core.ErrPaused)
				want = core.ExecutionUnclaimed
			}
			require.Equal(k.t, want, seen[a.ID])
			require.Equal(k.t, want, k.read(a.ID).Execution)
		}
		k.setPaused("agent-1", false, revision+1)
		revision += 2
	}
}

func racePause(k *kit) {
	for round := range int64(rounds) {
		errs := make([]error, 16)
		together(len(errs), func(i int) {
			_, errs[i] = k.SetPaused(k.ctx, core.SetPaused{Runtime: ownRuntime, Agent: "agent-1", Paused: i%2 == 0, Revision: round, By: fmt.Sprintf("person-%d", i)})
		})
		for _, err := range errs {
			if err != nil {
				require.ErrorIs(k.t, err, core.ErrConflict)
			}
		}
		a, err := k.ReadAgent(k.ctx, ownRuntime, "agent-1")
		require.NoError(k.t, err)
		require.Equal(k.t, round+1, a.PauseRevision, "one of them changed it, once")
		require.Equal(k.t, round%2 == 0, a.Paused())
	}
}

func raceResetClaim(k *kit) {
	for round := range rounds {
		run := withRun(fmt.Sprintf("run-%d", round))
		granted, pending := k.allow(k.create(run).ID), k.create(run)
		d := k.answer(pending.ID, core.DecisionAllowOnce)
		errs := make([]error, 3)
		together(3, func(i int) {
			switch i {
			case 0:
				_, errs[i] = k.Claim(k.ctx, claimOf(granted, "token"))
			case 1:
				_, errs[i] = k.Decide(k.ctx, d)
			default:
				_, _, errs[i] = k.ResetAgent(k.ctx, end("agent-1"))
			}
		})
		require.NoError(k.t, errs[1])
		require.NoError(k.t, errs[2])
		k.claimedOrVoided(granted.ID, errs[0], core.VoidRunAborted)
		if is := k.read(pending.ID); is.Status != core.StatusCancelled {
			require.Equal(k.t, core.ExecutionVoided, is.Execution, "allowed first, and taken back")
		}
	}
}

func raceResetCreate(k *kit) {
	for round := range rounds {
		run := withRun(fmt.Sprintf("run-%d", round))
		k.create(run)
		asks := []core.NewApproval{k.ask(run), k.ask(run), k.ask(run)}
		errs := make([]error, len(asks)+1)
		together(len(errs), func(i int) {
			if i == len(asks) {
				_, _, errs[i] = k.ResetAgent(k.ctx, end("agent-1"))
				return
			}
			_, errs[i] = k.Create(k.ctx, asks[i])
		})
		require.NoError(k.t, errs[len(asks)])
		for i := range asks {
			if errs[i] != nil {
				require.ErrorIs(k.t, errs[i], core.ErrRunAborted)
				continue
			}
			require.Equal(k.t, core.StatusCancelled, k.read(asks[i].Approval.ID).Status, "what slipped in before is ended with the rest")
		}
	}
}

func raceDeleteInsert(k *kit) {
	for range rounds {
		r := k.makeRule()
		generation := k.generation()
		commands, errs := make([]core.NewApproval, 6), make([]error, 7)
		for i := range commands {
			commands[i] = k.ask(under(r, generation))
		}
		together(len(errs), func(i int) {
			if i == len(commands) {
				_, _, errs[i] = k.DeleteAgent(k.ctx, end("agent-1"))
				return
			}
			_, errs[i] = k.Create(k.ctx, commands[i])
		})
		require.NoError(k.t, errs[len(commands)])
		for i := range commands {
			if errs[i] != nil {
				require.ErrorIs(k.t, errs[i], core.ErrPolicyChanged)
				continue
			}
			_, err := k.Claim(k.ctx, claimOf(k.read(commands[i].Approval.ID), "token"))
			require.ErrorIs(k.t, err, core.ErrNotClaimable)
		}
		k.refusesInsert(core.ErrPolicyChanged, under(r, k.generation()))
	}
}

func raceSwitch(k *kit) {
	for round := range rounds {
		tool := fmt.Sprintf("pay-%d", round)
		commands, got, errs := make([]core.NewRule, 8), make([]core.Rule, 8), make([]error, 8)
		for i := range commands {
			commands[i] = k.moneySwitch(tool)
		}
		together(len(commands), func(i int) { got[i], errs[i] = k.SwitchMoney(k.ctx, commands[i], core.Guard{}) })
		made := 0
		for i := range got {
			require.Equal(k.t, got[0].ID, got[i].ID, "everybody is told the one that is on")
			if errs[i] == nil {
				made++
				continue
			}
			require.ErrorIs(k.t, errs[i], core.ErrConflict)
		}
		require.Equal(k.t, 1, made)
		require.Len(k.t, k.rules(), round+1)
	}
}
