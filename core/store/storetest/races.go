package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func raceSpecs() []spec {
	return []spec{
		{"C15 R206 of 64 resolvers one wins and nobody is told pending", raceResolvers},
		{"C16 an answer against the deadline", raceDeadline},
		{"C32 R209 of many runners one claims", raceClaims},
		{"the same runner may retry in parallel", raceSameToken},
		{"a claim against an abort", raceClaimAbort},
		{"a claim against its lapse", raceClaimLapse},
		{"creating against a newer epoch", raceCreateEpoch},
		{"creating against an abort", raceCreateAbort},
		{"the same key from many callers is one row", raceKey},
		{"asking against the limit of open questions", raceLimit},
		{"C52 a click against disabling its person", raceDisable},
		{"two admins who disable each other", raceAdmins},
		{"a code and two redeemers", raceCode},
		{"a lease and many holders", raceLease},
		{"two boots of one instance get two epochs", raceBoots},
	}
}

// rounds bounds every race; each round makes its own rows.
const rounds = 20

// resolvers is the number of people who press at the same moment.
const resolvers = 64

func raceResolvers(k *kit) {
	for round := range rounds {
		made := k.create()
		got := make([]core.Decided, resolvers)
		errs := make([]error, resolvers)
		commands := make([]core.Decide, resolvers)
		for i := range commands {
			commands[i] = k.answer(made.ID, []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}[i%2])
			commands[i].To.ResolverID = fmt.Sprintf("person-%d", i)
		}
		together(resolvers, func(i int) { got[i], errs[i] = k.Decide(k.ctx, commands[i]) })
		truth := k.read(made.ID)
		winners := 0
		for i := range got {
			require.NoError(k.t, errs[i])
			require.NotEqual(k.t, core.StatusPending, got[i].Approval.Status, "round %d: a loser was told pending", round)
			require.Equal(k.t, truth.Resolution, got[i].Approval.Resolution)
			if got[i].Applied {
				winners++
				require.Equal(k.t, commands[i].AttemptID, truth.AttemptID)
			}
		}
		require.Equal(k.t, 1, winners, "round %d", round)
		require.Len(k.t, k.changes(made.ID), 2)
	}
}

func raceDeadline(k *kit) {
	for range rounds {
		made := k.create(expiresIn(core.MinExpiry))
		k.advanceTo(made.ExpiresAt - 1)
		answers := []core.Decide{k.answer(made.ID, core.DecisionAllowOnce), k.answer(made.ID, core.DecisionDeny)}
		got := make([]core.Decided, len(answers))
		errs := make([]error, len(answers)+2)
		together(len(answers)+2, func(i int) {
			switch {
			case i < len(answers):
				got[i], errs[i] = k.Decide(k.ctx, answers[i])
			case i == len(answers):
				k.advance(1)
				_, errs[i] = k.Sweep(k.ctx, 10)
			default:
				_, errs[i] = k.Approval(k.ctx, core.Lookup{ID: made.ID})
			}
		})
		for _, err := range errs {
			require.NoError(k.t, err)
		}
		truth := k.read(made.ID) // Check refuses an allow at or after the deadline.
		require.NotEqual(k.t, core.StatusPending, truth.Status)
		applied := 0
		for i := range got {
			require.Equal(k.t, truth.Resolution, got[i].Approval.Resolution)
			if got[i].Applied {
				applied++
				require.Less(k.t, truth.ResolvedAt, made.ExpiresAt)
			}
		}
		require.Equal(k.t, truth.Status != core.StatusExpired, applied == 1)
		require.Len(k.t, k.changes(made.ID), 2)
	}
}

func raceClaims(k *kit) {
	const runners = 16
	for range rounds {
		allowed := k.allow(k.create().ID)
		errs := make([]error, runners)
		together(runners, func(i int) { _, errs[i] = k.Claim(k.ctx, claimOf(allowed, fmt.Sprintf("token-%d", i))) })
		winner := -1
		for i, err := range errs {
			if err == nil {
				require.Equal(k.t, -1, winner, "two runners hold one grant")
				winner = i
				continue
			}
			require.ErrorIs(k.t, err, core.ErrAlreadyClaimed)
		}
		require.GreaterOrEqual(k.t, winner, 0)
		require.Equal(k.t, tokenHash(fmt.Sprintf("token-%d", winner)), k.read(allowed.ID).ClaimToken)
		require.Len(k.t, k.changes(allowed.ID), 3)
	}
}

func raceSameToken(k *kit) {
	allowed := k.allow(k.create().ID)
	errs := make([]error, 16)
	got := make([]core.Approval, 16)
	together(16, func(i int) { got[i], errs[i] = k.Claim(k.ctx, claimOf(allowed, "token")) })
	truth := k.read(allowed.ID)
	for i := range errs {
		require.NoError(k.t, errs[i])
		k.same(truth, got[i])
	}
	k.events(allowed.ID, core.EventRequested, core.EventGranted, core.EventConsumed)
}

func raceClaimAbort(k *kit) {
	for round := range rounds {
		run := fmt.Sprintf("run-%d", round)
		allowed := k.allow(k.create(withRun(run)).ID)
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Claim(k.ctx, claimOf(allowed, "token"))
				return
			}
			_, _, errs[i] = k.AbortRun(k.ctx, ownRuntime, run)
		})
		require.NoError(k.t, errs[1])
		k.claimedOrVoided(allowed.ID, errs[0], core.VoidRunAborted)
	}
}

func raceClaimLapse(k *kit) {
	for range rounds {
		allowed := k.allow(k.create().ID)
		k.advanceTo(allowed.ClaimBy - 1)
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Claim(k.ctx, claimOf(allowed, "token"))
				return
			}
			k.advance(1)
			_, errs[i] = k.Sweep(k.ctx, 10)
		})
		require.NoError(k.t, errs[1])
		k.claimedOrVoided(allowed.ID, errs[0], core.VoidLapsed)
	}
}

// claimedOrVoided requires that the runner was told what the record says.
func (k *kit) claimedOrVoided(id string, claimed error, reason core.VoidReason) {
	k.t.Helper()
	got := k.read(id)
	if claimed == nil {
		require.Equal(k.t, core.ExecutionClaimed, got.Execution)
	} else {
		require.ErrorIs(k.t, claimed, oneOf(claimed, core.ErrNotClaimable, core.ErrRunAborted))
		require.Equal(k.t, core.ExecutionVoided, got.Execution)
		require.Equal(k.t, reason, got.VoidReason)
	}
	require.Len(k.t, k.changes(id), 3)
}

// stopped races several creates with what stops them and requires that no row
// created before it is left pending, and none comes after it.
func (k *kit) stopped(asks []core.NewApproval, refusal error, reason core.Reason, stop func() error) {
	k.t.Helper()
	errs := make([]error, len(asks)+1)
	together(len(asks)+1, func(i int) {
		if i == len(asks) {
			errs[i] = stop()
			return
		}
		_, errs[i] = k.Create(k.ctx, asks[i])
	})
	require.NoError(k.t, errs[len(asks)])
	for i, c := range asks {
		if errs[i] != nil {
			require.ErrorIs(k.t, errs[i], refusal)
			k.gone(c.Approval.ID)
			continue
		}
		got := k.read(c.Approval.ID)
		require.Equal(k.t, core.StatusCancelled, got.Status, "a zombie's question still waits")
		require.Equal(k.t, reason, got.Reason)
	}
}

func raceCreateEpoch(k *kit) {
	one := k.register("instance", "boot-0")
	for round := range rounds {
		asks := make([]core.NewApproval, 6)
		for i := range asks {
			asks[i] = k.ask(withInstance("instance", one.Epoch))
		}
		boot := fmt.Sprintf("boot-%d", round+1)
		k.stopped(asks, core.ErrStaleEpoch, core.ReasonRuntimeRestart, func() error {
			_, _, err := k.RegisterInstance(k.ctx, core.RegisterInstance{Runtime: ownRuntime, Instance: "instance", BootID: boot})
			return err
		})
		one = k.register("instance", boot)
	}
}

func raceCreateAbort(k *kit) {
	for round := range rounds {
		run := fmt.Sprintf("run-%d", round)
		asks := make([]core.NewApproval, 6)
		for i := range asks {
			asks[i] = k.ask(withRun(run))
		}
		k.stopped(asks, core.ErrRunAborted, core.ReasonRunAborted, func() error {
			_, _, err := k.AbortRun(k.ctx, ownRuntime, run)
			return err
		})
	}
}

func raceKey(k *kit) {
	const callers = 16
	for round := range rounds {
		key := fmt.Sprintf("key-%d", round)
		got := make([]core.Created, callers)
		errs := make([]error, callers)
		asks := make([]core.NewApproval, callers)
		for i := range asks {
			asks[i] = k.ask(withKey(key, "content"), withCards("chat-1"))
		}
		together(callers, func(i int) { got[i], errs[i] = k.Create(k.ctx, asks[i]) })
		made := 0
		for i := range got {
			require.NoError(k.t, errs[i])
			require.Equal(k.t, got[0].Approval.ID, got[i].Approval.ID)
			if !got[i].Existing {
				made++
			}
		}
		require.Equal(k.t, 1, made)
		rows, err := k.DeliveriesOf(k.ctx, got[0].Approval.ID)
		require.NoError(k.t, err)
		require.Len(k.t, rows, 1)
	}
}

// Many callers ask at once: not one question more than the limit is open, and not one
// less; another runtime has a limit of its own.
func raceLimit(k *kit) {
	const callers, limit = 16, 5
	for range rounds {
		asks := make([]core.NewApproval, 2*callers)
		for i := range asks {
			asks[i] = k.ask(withCards("chat-1"), withRuntime([]string{ownRuntime, otherRuntime}[i%2]))
			asks[i].MaxPending = limit
		}
		errs := make([]error, len(asks))
		together(len(asks), func(i int) { _, errs[i] = k.Create(k.ctx, asks[i]) })
		made := map[string]int{}
		for i, err := range errs {
			if err == nil {
				made[asks[i].Approval.Runtime]++
				continue
			}
			require.ErrorIs(k.t, err, core.ErrPendingLimit)
			k.gone(asks[i].Approval.ID)
		}
		require.Equal(k.t, map[string]int{ownRuntime: limit, otherRuntime: limit}, made)
		for i, err := range errs {
			if err == nil {
				k.deny(asks[i].Approval.ID)
			}
		}
	}
}

// Disabling takes effect inside the next write: whichever came first, an answer
// after it is never applied.
func raceDisable(k *kit) {
	for round := range rounds {
		id := fmt.Sprintf("person-%d", round)
		p := k.person(id, core.RoleReviewer)
		made := k.create(withReviewers(id))
		c := guarded(k.answer(made.ID, core.DecisionAllowOnce), p)
		var got core.Decided
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				got, errs[i] = k.Decide(k.ctx, c)
				return
			}
			_, errs[i] = k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: id, Disabled: new(true)})
		})
		require.NoError(k.t, errs[1])
		truth := k.read(made.ID)
		if errs[0] == nil {
			require.True(k.t, got.Applied)
			require.Equal(k.t, core.StatusAllowed, truth.Status)
			continue
		}
		require.ErrorIs(k.t, errs[0], core.ErrNotFound)
		require.Equal(k.t, core.StatusPending, truth.Status)
	}
}

func raceAdmins(k *kit) {
	for round := range rounds {
		pair := []string{fmt.Sprintf("a-%d", round), fmt.Sprintf("b-%d", round)}
		for _, id := range pair {
			k.person(id, core.RoleAdmin)
		}
		if round > 0 {
			// Only this round's pair is enabled.
			for _, p := range k.enabledAdmins() {
				if p != pair[0] && p != pair[1] {
					k.disable(p)
				}
			}
		}
		errs := make([]error, 2)
		together(2, func(i int) {
			_, errs[i] = k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: pair[i], Disabled: new(true)})
		})
		require.Len(k.t, k.enabledAdmins(), 1, "round %d", round)
		failed := errs[0]
		if failed == nil {
			failed = errs[1]
		}
		require.ErrorIs(k.t, failed, core.ErrLastAdmin)
	}
}

func (k *kit) enabledAdmins() []string {
	k.t.Helper()
	all, err := k.ListPrincipals(k.ctx)
	require.NoError(k.t, err)
	var out []string
	for _, p := range all {
		if p.Role == core.RoleAdmin && !p.Disabled {
			out = append(out, p.ID)
		}
	}
	return out
}

func raceCode(k *kit) {
	k.person("bob", core.RoleReviewer)
	const redeemers = 4
	// A round costs three failures; the limit is over the deployment.
	for round := range (core.MaxCodeFailures - 1) / redeemers {
		c := k.code(fmt.Sprintf("code-%d", round), core.CodePair, "bob")
		errs := make([]error, redeemers)
		together(redeemers, func(i int) {
			_, _, errs[i] = k.RedeemPair(k.ctx, c.Hash, device(round*redeemers+i), core.SessionLife)
		})
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
				continue
			}
			require.ErrorIs(k.t, err, core.ErrCodeInvalid)
		}
		require.Equal(k.t, 1, won)
	}
}

func raceLease(k *kit) {
	const holders = 8
	fence := int64(0)
	for range rounds {
		got := make([]core.Lease, holders)
		errs := make([]error, holders)
		together(holders, func(i int) {
			got[i], errs[i] = k.Leases.Acquire(k.ctx, "job", fmt.Sprintf("holder-%d", i), core.DeliveryLease)
		})
		held := 0
		for i, err := range errs {
			if err != nil {
				require.ErrorIs(k.t, err, core.ErrLeaseLost)
				continue
			}
			held++
			require.Greater(k.t, got[i].Fence, fence)
			fence = got[i].Fence
		}
		require.Equal(k.t, 1, held)
		k.advance(lease)
	}
}

func raceBoots(k *kit) {
	const boots = 8
	got := make([]core.Instance, boots)
	errs := make([]error, boots)
	together(boots, func(i int) {
		got[i], _, errs[i] = k.RegisterInstance(k.ctx, core.RegisterInstance{
			Runtime: ownRuntime, Instance: "instance", BootID: fmt.Sprintf("boot-%d", i),
		})
	})
	seen := map[int64]bool{}
	for i := range got {
		require.NoError(k.t, errs[i])
		require.False(k.t, seen[got[i].Epoch], "two boots share an epoch")
		seen[got[i].Epoch] = true
	}
}
