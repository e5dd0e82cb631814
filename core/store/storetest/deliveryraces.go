package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func deliveryRaceSpecs() []spec {
	return []spec{
		{"C110 a receipt against the decision misses no card", raceReceipt},
		{"a worker's claim against the decision misses no card", raceClaimDue},
		{"a final receipt against another worker's takeover", raceTakeover},
		{"two last routes that fail together deny once", raceLastRoutes},
		{"a next route planned against the decision is seen", raceNextRoute},
		{"a failing last route against an answer", raceRouteAnswer},
		{"workers never share a row", raceWorkers},
		{"two sends to one address leave one card", raceDuplicate},
		{"show all against a receipt is not lost", raceView},
		{"two adoptions of one message", raceAdopt},
		{"an adoption against a worker that gives the card up", raceAdoptGivenUp},
	}
}

// converges works off what is due until every card of the approval has closed,
// and requires that it takes no more than a few turns.
func (k *kit) converges(id string) {
	k.t.Helper()
	for range 8 {
		works, next := k.claimDue(100)
		for _, w := range works {
			switch {
			case w.Approval.Status == core.StatusPending:
				k.show(w, "message of "+w.Delivery.ID)
			case w.Delivery.State == core.DeliveryPlanned:
				_, err := k.Close(k.ctx, closeOf(w, core.OutcomeSkipped))
				require.NoError(k.t, err)
			case w.Delivery.Locator == "":
				_, err := k.Close(k.ctx, closeOf(w, core.OutcomePossibleOrphan))
				require.NoError(k.t, err)
			default:
				k.finish(w)
			}
		}
		if len(works) == 0 && next == 0 {
			break
		}
		if len(works) == 0 {
			k.advanceTo(max(next, k.now()+1))
		}
	}
	a := k.read(id)
	rows, err := k.DeliveriesOf(k.ctx, id)
	require.NoError(k.t, err)
	for _, d := range rows {
		require.Equal(k.t, core.DeliveryClosed, d.State, "a card was missed")
		if d.Outcome == core.OutcomeReplaced {
			require.Equal(k.t, a.CardRevision, d.ShownRevision)
		}
	}
}

func raceReceipt(k *kit) {
	for round := range rounds {
		made := k.create(withCards("chat-1", "chat-2", "chat-3"))
		works := k.due(3)
		for _, w := range works {
			k.begin(w)
		}
		answer := k.answer(made.ID, core.DecisionDeny)
		errs := make([]error, len(works)+1)
		together(len(works)+1, func(i int) {
			if i == len(works) {
				_, errs[i] = k.Decide(k.ctx, answer)
				return
			}
			errs[i] = k.Complete(k.ctx, completeOf(works[i], fmt.Sprintf("message-%d-%d", round, i)))
		})
		for _, err := range errs {
			require.NoError(k.t, err)
		}
		require.Len(k.t, k.dueOf(made.ID), 3, "round %d", round)
		k.converges(made.ID)
	}
}

// dueOf lists the rows of an approval that are marked due now.
func (k *kit) dueOf(id string) []core.Delivery {
	k.t.Helper()
	rows, err := k.DeliveriesOf(k.ctx, id)
	require.NoError(k.t, err)
	now := k.now()
	var due []core.Delivery
	for _, d := range rows {
		if d.State != core.DeliveryClosed && d.DueAt.Reached(now) {
			due = append(due, d)
		}
	}
	return due
}

func raceClaimDue(k *kit) {
	for round := range rounds {
		made := k.create(withCards("chat-1", "chat-2"))
		for i, w := range k.due(2) {
			k.show(w, fmt.Sprintf("message-%d-%d", round, i))
		}
		answer := k.answer(made.ID, core.DecisionDeny)
		var works []core.Work
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Decide(k.ctx, answer)
				return
			}
			works, _, errs[i] = k.ClaimDue(k.ctx, core.ClaimDue{
				Worker: worker, Accounts: []core.AccountRef{bot(account)}, Lease: lease, Limit: 10,
			})
		})
		require.NoError(k.t, errs[0])
		require.NoError(k.t, errs[1])
		for _, w := range works {
			require.Equal(k.t, core.StatusDenied, w.Approval.Status, "work comes with the record that made it due")
			k.finish(w)
		}
		k.converges(made.ID)
	}
}

func raceTakeover(k *kit) {
	for round := range rounds {
		made := k.create(withCards("chat-1"), expiresIn(core.MaxExpiry))
		k.show(k.due(1)[0], fmt.Sprintf("message-%d", round))
		k.deny(made.ID)
		w := k.due(1)[0]
		k.begin(w)
		k.advanceTo(w.Delivery.LeaseUntil)
		c := completeOf(w, "")
		c.Final = core.OutcomeReplaced
		errs := make([]error, 2)
		var taken []core.Work
		together(2, func(i int) {
			if i == 0 {
				errs[i] = k.Complete(k.ctx, c)
				return
			}
			taken, _, errs[i] = k.ClaimDue(k.ctx, core.ClaimDue{
				Worker: otherWorker, Accounts: []core.AccountRef{bot(account)}, Lease: lease, Limit: 10,
			})
		})
		require.NoError(k.t, errs[1])
		if len(taken) == 1 {
			require.ErrorIs(k.t, errs[0], core.ErrLeaseLost)
			k.finish(taken[0])
		}
		k.converges(made.ID)
	}
}

func raceLastRoutes(k *kit) {
	for round := range rounds {
		made := k.create(withCards("chat-1", "chat-2"))
		works := k.due(2)
		errs := make([]error, 2)
		together(2, func(i int) { _, errs[i] = k.Close(k.ctx, closeOf(works[i], core.OutcomeFailed)) })
		require.NoError(k.t, errs[0], "round %d", round)
		require.NoError(k.t, errs[1], "round %d", round)
		k.unrouted(made.ID)
	}
}

func raceNextRoute(k *kit) {
	for round := range rounds {
		made := k.create(withCards("chat-1"))
		c := closeOf(k.due(1)[0], core.OutcomeFailed)
		c.Next = []core.PlannedDelivery{planned(fmt.Sprintf("next-%d", round), account, "chat-2")}
		answer := k.answer(made.ID, core.DecisionDeny)
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Close(k.ctx, c)
				return
			}
			_, errs[i] = k.Decide(k.ctx, answer)
		})
		require.NoError(k.t, errs[0])
		require.NoError(k.t, errs[1])
		require.Equal(k.t, core.ReasonUser, k.read(made.ID).Reason)
		k.converges(made.ID)
	}
}

func raceRouteAnswer(k *kit) {
	for range rounds {
		made := k.create(withCards("chat-1"))
		c := closeOf(k.due(1)[0], core.OutcomeFailed)
		answer := k.answer(made.ID, core.DecisionAllowOnce)
		var got core.Decided
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Close(k.ctx, c)
				return
			}
			got, errs[i] = k.Decide(k.ctx, answer)
		})
		require.NoError(k.t, errs[0])
		require.NoError(k.t, errs[1])
		truth := k.read(made.ID)
		require.Equal(k.t, truth.Resolution, got.Approval.Resolution)
		require.Equal(k.t, got.Applied, truth.Status == core.StatusAllowed)
		require.Len(k.t, k.changes(made.ID), 2)
	}
}

func raceWorkers(k *kit) {
	const workers, cards = 6, 12
	for range rounds / 4 {
		var addresses []string
		for i := range cards {
			addresses = append(addresses, fmt.Sprintf("chat-%d", i))
		}
		made := k.create(withCards(addresses...))
		works := make([][]core.Work, workers)
		errs := make([]error, workers)
		together(workers, func(i int) {
			works[i], _, errs[i] = k.ClaimDue(k.ctx, core.ClaimDue{
				Worker: fmt.Sprintf("worker-%d", i), Accounts: []core.AccountRef{bot(account)}, Lease: lease, Limit: 3,
			})
		})
		seen := map[string]bool{}
		for i := range works {
			require.NoError(k.t, errs[i])
			for _, w := range works[i] {
				require.False(k.t, seen[w.Delivery.ID], "two workers hold one row")
				seen[w.Delivery.ID] = true
			}
		}
		rest, _ := k.claimDue(cards)
		require.Len(k.t, seen, cards-len(rest), "every row is held once or still due")
		for _, w := range rest {
			require.False(k.t, seen[w.Delivery.ID])
		}
		k.deny(made.ID)
		k.advance(lease)
		k.converges(made.ID)
	}
}

func raceDuplicate(k *kit) {
	for round := range rounds {
		made := k.create(func(c *core.NewApproval) {
			for i := range 2 {
				c.Deliveries = append(c.Deliveries, core.PlannedDelivery{
					ID: fmt.Sprintf("d-%d-%d", round, i), Channel: core.SurfaceTelegram, Account: account,
					Destination: fmt.Sprintf("person:%d", i),
				})
			}
		})
		works := k.due(2)
		errs := make([]error, 2)
		together(2, func(i int) {
			b := beginOf(works[i])
			b.Address = "chat-1"
			errs[i] = k.Begin(k.ctx, b)
		})
		require.NotEqual(k.t, errs[0] == nil, errs[1] == nil, "round %d", round)
		for i, err := range errs {
			d := k.reread(works[i])
			if err == nil {
				require.Equal(k.t, core.DeliverySending, d.State)
				continue
			}
			require.ErrorIs(k.t, err, core.ErrConflict)
			require.Equal(k.t, core.OutcomeDuplicate, d.Outcome)
		}
		require.Equal(k.t, core.StatusPending, k.read(made.ID).Status)
	}
}

func raceView(k *kit) {
	for round := range rounds {
		made := k.create(withCards("chat-1"), func(c *core.NewApproval) { c.Approval.Agent = "agent-2" })
		d := k.show(k.due(1)[0], fmt.Sprintf("message-%d", round))
		_, err := k.RequestView(k.ctx, d.ID)
		require.NoError(k.t, err)
		w := k.due(1)[0]
		k.begin(w)
		answer := k.answer(made.ID, core.DecisionDeny)
		errs := make([]error, 3)
		together(3, func(i int) {
			switch i {
			case 0:
				errs[i] = k.Complete(k.ctx, completeOf(w, ""))
			case 1:
				_, errs[i] = k.Decide(k.ctx, answer)
			default:
				_, errs[i] = k.RequestView(k.ctx, d.ID)
			}
		})
		for _, err := range errs {
			require.NoError(k.t, err)
		}
		require.Len(k.t, k.dueOf(made.ID), 1)
		k.converges(made.ID)
	}
}

func raceAdopt(k *kit) {
	for range rounds {
		first, second := k.orphaned(), k.orphaned()
		a := adopt("chat-1", "orphan of "+first.ID)
		commands := []core.Decide{k.adopting(first.ID, a), k.adopting(second.ID, a)}
		got := make([]core.Decided, 2)
		errs := make([]error, 2)
		together(2, func(i int) { got[i], errs[i] = k.Decide(k.ctx, commands[i]) })
		require.NotEqual(k.t, errs[0] == nil, errs[1] == nil, "one message belongs to one row: %v %v", errs[0], errs[1])
		for i, err := range errs {
			if err != nil {
				require.ErrorIs(k.t, err, core.ErrConflict)
				k.waits(commands[i].ID)
				k.deny(commands[i].ID)
				continue
			}
			require.True(k.t, got[i].Applied)
		}
	}
}

// raceAdoptGivenUp lets somebody press a message at the moment when its worker records
// that nobody knows of one. Whoever comes first, the message is driven to the truth.
func raceAdoptGivenUp(k *kit) {
	for range rounds {
		made := k.create(withCards("chat-1"))
		w := k.inDoubt(made.ID)
		k.deny(made.ID)
		late := k.adopting(made.ID, adopt("chat-1", "orphan of "+made.ID))
		errs := make([]error, 2)
		together(2, func(i int) {
			if i == 0 {
				_, errs[i] = k.Decide(k.ctx, late)
				return
			}
			_, errs[i] = k.Close(k.ctx, closeOf(w, core.OutcomePossibleOrphan))
		})
		require.NoError(k.t, errs[0])
		if errs[1] != nil {
			require.ErrorIs(k.t, errs[1], core.ErrLeaseLost)
		}
		k.converges(made.ID)
		d := k.reread(w)
		require.Equal(k.t, core.OutcomeReplaced, d.Outcome)
		require.Equal(k.t, late.Adopt.Locator, d.Locator)
	}
}
