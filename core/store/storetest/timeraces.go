package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// timeRaceSpecs let what nobody asks for meet what somebody does.
func timeRaceSpecs() []spec {
	return []spec{
		{"C61 several sweepers change every row once", raceSweepers},
		{"a sweep of routes against an answer", raceRouteSweep},
		{"an answer against a successor", raceSupersede},
		{"a claim against a newer epoch", raceClaimEpoch},
		{"a right claim against a wrong hash", raceClaimHash},
		{"an answer against lost ownership", raceOwners},
		{"pruning against a repeated key", racePruneKey},
		{"pages stay whole while rows are made", racePages},
	}
}

func raceSweepers(k *kit) {
	const sweepers, due = 6, 24
	for range rounds / 4 {
		var rows []core.Approval
		for range due {
			rows = append(rows, k.create(expiresIn(1_000)))
		}
		k.advance(1_000)
		hints := make([][]core.Hint, sweepers)
		errs := make([]error, sweepers)
		together(sweepers, func(i int) {
			if i == 0 {
				_, errs[i] = k.List(k.ctx, core.ListQuery{Status: core.StatusPending})
				return
			}
			hints[i], errs[i] = k.Sweep(k.ctx, due)
		})
		told := map[string]bool{}
		for i := range hints {
			require.NoError(k.t, errs[i])
			for _, h := range hints[i] {
				require.False(k.t, told[h.ApprovalID], "one change was told twice")
				told[h.ApprovalID] = true
			}
		}
		for _, a := range rows {
			k.events(a.ID, core.EventRequested, core.EventExpired)
		}
	}
}

func raceRouteSweep(k *kit) {
	for range rounds {
		made := k.create(withCards("chat-1"), expiresIn(core.MaxExpiry))
		k.advance(core.GiveUpAfter)
		answer := k.answer(made.ID, core.DecisionAllowOnce)
		var got core.Decided
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				got, errs[i] = k.Decide(k.ctx, answer)
				return
			}
			_, errs[i] = k.SweepDeliveries(k.ctx, core.Reachability{}, 10)
		})
		require.NoError(k.t, errs[0])
		require.NoError(k.t, errs[1])
		truth := k.read(made.ID)
		require.Equal(k.t, truth.Resolution, got.Approval.Resolution)
		require.Equal(k.t, got.Applied, truth.Status == core.StatusAllowed)
		require.Len(k.t, k.changes(made.ID), 2)
	}
}

// Whichever comes first, what was replaced can never run.
func raceSupersede(k *kit) {
	for range rounds {
		old := k.create()
		answer, next := k.answer(old.ID, core.DecisionAllowOnce), k.ask(supersedes(old.ID))
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Decide(k.ctx, answer)
				return
			}
			_, errs[i] = k.Create(k.ctx, next)
		})
		require.NoError(k.t, errs[0])
		require.NoError(k.t, errs[1])
		truth := k.read(old.ID)
		if truth.Status == core.StatusAllowed {
			require.Equal(k.t, core.VoidSuperseded, truth.VoidReason)
		} else {
			require.Equal(k.t, core.ReasonSuperseded, truth.Reason)
		}
		k.refuseClaim(claimOf(truth, "token"))
	}
}

func raceClaimEpoch(k *kit) {
	one := k.register("instance", "boot-0")
	for round := range rounds {
		allowed := k.allow(k.create(withInstance("instance", one.Epoch)).ID)
		boot := core.RegisterInstance{Runtime: ownRuntime, Instance: "instance", BootID: fmt.Sprintf("boot-%d", round+1)}
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Claim(k.ctx, claimOf(allowed, "token"))
				return
			}
			_, _, errs[i] = k.RegisterInstance(k.ctx, boot)
		})
		require.NoError(k.t, errs[1])
		truth := k.read(allowed.ID)
		if errs[0] == nil {
			require.Equal(k.t, core.ExecutionClaimed, truth.Execution)
		} else {
			require.ErrorIs(k.t, errs[0], oneOf(errs[0], core.ErrStaleEpoch, core.ErrNotClaimable))
			require.Equal(k.t, core.VoidRuntimeRestart, truth.VoidReason)
		}
		one = k.register("instance", boot.BootID)
	}
}

func raceClaimHash(k *kit) {
	for range rounds {
		allowed := k.allow(k.create().ID)
		wrong := claimOf(allowed, "other")
		wrong.ActionHash = core.HashOf([]byte("something else"))
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Claim(k.ctx, claimOf(allowed, "token"))
				return
			}
			_, errs[i] = k.Claim(k.ctx, wrong)
		})
		require.Error(k.t, errs[1])
		k.claimedOrVoided(allowed.ID, errs[0], core.VoidHashMismatch)
	}
}

func raceOwners(k *kit) {
	k.person("bob", core.RoleReviewer)
	for range rounds {
		require.NoError(k.t, k.SetOwners(k.ctx, ownRuntime, "agent-1", []string{"bob"}))
		made := k.create()
		c := guarded(k.answer(made.ID, core.DecisionAllowOnce), k.who("bob"))
		var got core.Decided
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				got, errs[i] = k.Decide(k.ctx, c)
				return
			}
			errs[i] = k.SetOwners(k.ctx, ownRuntime, "agent-1", nil)
		})
		require.NoError(k.t, errs[1])
		truth := k.read(made.ID)
		require.Equal(k.t, errs[0] == nil, truth.Status == core.StatusAllowed)
		require.Equal(k.t, errs[0] == nil, got.Applied)
		if errs[0] != nil {
			require.ErrorIs(k.t, errs[0], core.ErrNotFound)
			require.Equal(k.t, core.StatusPending, truth.Status)
		}
	}
}

// A repeated call gets the denial or, once that is pruned, a row of its own: never
// a row that is gone.
func racePruneKey(k *kit) {
	for round := range rounds {
		key := fmt.Sprintf("key-%d", round)
		old := k.deny(k.create(withKey(key, "content")).ID)
		k.retention()
		next := k.ask(withKey(key, "content"))
		var made core.Created
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				made, errs[i] = k.Create(k.ctx, next)
				return
			}
			_, errs[i] = k.Prune(k.ctx, 100)
		})
		require.NoError(k.t, errs[0])
		require.NoError(k.t, errs[1])
		if made.Existing {
			require.Equal(k.t, old.ID, made.Approval.ID)
			k.gone(old.ID)
			continue
		}
		require.Equal(k.t, core.StatusPending, k.read(next.Approval.ID).Status)
	}
}

func racePages(k *kit) {
	var want []string
	for range 40 {
		want = append([]string{k.create().ID}, want...)
	}
	const makers = 4
	asks := make([][]core.NewApproval, makers)
	for i := range asks {
		for range 10 {
			asks[i] = append(asks[i], k.ask(withRuntime(otherRuntime)))
		}
	}
	errs := make([]error, makers+1)
	var got []string
	together(makers+1, func(i int) {
		if i < makers {
			for _, c := range asks[i] {
				if _, err := k.Create(k.ctx, c); err != nil {
					errs[i] = err
				}
			}
			return
		}
		q := core.ListQuery{Limit: 7}
		for {
			page, err := k.List(k.ctx, q)
			if err != nil {
				errs[i] = err
				return
			}
			for _, a := range page.Approvals {
				if a.Runtime == ownRuntime {
					got = append(got, a.ID)
				}
			}
			if !page.More {
				return
			}
			last := page.Approvals[len(page.Approvals)-1]
			q.Before = &core.ListCursor{CreatedAt: last.CreatedAt, ID: last.ID}
		}
	})
	for _, err := range errs {
		require.NoError(k.t, err)
	}
	require.Equal(k.t, want, got, "what was there before is told once and in order")
}
