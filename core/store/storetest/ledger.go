package storetest

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// lease is the length, in ms, of the leases that the suite takes.
const lease core.Millis = 60_000

// bot names an account of the usual messenger.
func bot(account string) core.AccountRef {
	return core.AccountRef{Channel: core.SurfaceTelegram, Account: account}
}

// delivery is the i-th card of an approval in id order.
func (k *kit) delivery(approvalID string, i int) core.Delivery {
	k.t.Helper()
	rows, err := k.DeliveriesOf(k.ctx, approvalID)
	require.NoError(k.t, err)
	require.Greater(k.t, len(rows), i)
	return rows[i]
}

func (k *kit) claimDueAs(holder string, limit int, bots ...string) ([]core.Work, core.Millis) {
	k.t.Helper()
	c := core.ClaimDue{Worker: holder, Lease: lease, Limit: limit}
	for _, b := range bots {
		c.Accounts = append(c.Accounts, bot(b))
	}
	works, next, err := k.ClaimDue(k.ctx, c)
	require.NoError(k.t, err)
	require.LessOrEqual(k.t, len(works), limit)
	return works, next
}

func (k *kit) claimDue(limit int) ([]core.Work, core.Millis) {
	k.t.Helper()
	return k.claimDueAs(worker, limit, account, otherAccount)
}

// due claims exactly n rows and returns them in id order.
func (k *kit) due(n int) []core.Work {
	k.t.Helper()
	works, _ := k.claimDue(n + 10)
	require.Len(k.t, works, n)
	slices.SortFunc(works, func(a, b core.Work) int { return strings.Compare(a.Delivery.ID, b.Delivery.ID) })
	return works
}

// nothingDue requires that no row can be claimed now and returns when one can.
func (k *kit) nothingDue() core.Millis {
	k.t.Helper()
	works, next := k.claimDueAs(otherWorker, 10, account, otherAccount)
	require.Empty(k.t, works)
	require.False(k.t, next.Reached(k.now()), "a worker that is told so would spin")
	return next
}

func beginOf(w core.Work) core.BeginSend {
	d, a := w.Delivery, w.Approval
	return core.BeginSend{
		Delivery: d.ID, Fence: d.Fence, Address: d.Address, ShownHash: a.ActionHash, Offered: a.Offered,
		ShownComplete: true, KeyID: "k", LeaseMargin: 20_000, Edit: d.Locator != "", Locator: d.Locator,
	}
}

func completeOf(w core.Work, locator string) core.CompleteDelivery {
	return core.CompleteDelivery{
		Delivery: w.Delivery.ID, Fence: w.Delivery.Fence, Locator: locator,
		ShownRevision: w.Approval.CardRevision, ShownView: w.Delivery.View, Step: core.StepCard,
	}
}

func releaseOf(w core.Work, retryIn core.Millis, class core.FailureClass) core.ReleaseDelivery {
	return core.ReleaseDelivery{
		Delivery: w.Delivery.ID, Fence: w.Delivery.Fence, RetryIn: retryIn, Class: class, ErrorText: "try again",
	}
}

func closeOf(w core.Work, outcome core.DeliveryOutcome) core.CloseDelivery {
	c := core.CloseDelivery{Delivery: w.Delivery.ID, Fence: w.Delivery.Fence, Outcome: outcome, Locator: w.Delivery.Locator}
	if outcome == core.OutcomeFailed {
		c.Class, c.ErrorText = core.FailureGone, "the chat is closed to us"
	}
	return c
}

func (k *kit) begin(w core.Work) {
	k.t.Helper()
	require.NoError(k.t, k.Begin(k.ctx, beginOf(w)))
}

// show sends the card of a claimed row and records the receipt.
func (k *kit) show(w core.Work, locator string) core.Delivery {
	k.t.Helper()
	k.begin(w)
	require.NoError(k.t, k.Complete(k.ctx, completeOf(w, locator)))
	return k.reread(w)
}

// finish edits the message of a claimed row to the final card.
func (k *kit) finish(w core.Work) core.Delivery {
	k.t.Helper()
	k.begin(w)
	c := completeOf(w, "")
	c.Final = core.OutcomeReplaced
	require.NoError(k.t, k.Complete(k.ctx, c))
	return k.reread(w)
}

func (k *kit) reread(w core.Work) core.Delivery {
	k.t.Helper()
	rows, err := k.DeliveriesOf(k.ctx, w.Approval.ID)
	require.NoError(k.t, err)
	i := slices.IndexFunc(rows, func(d core.Delivery) bool { return d.ID == w.Delivery.ID })
	require.GreaterOrEqual(k.t, i, 0)
	return rows[i]
}

// fail ends a claimed row as permanently impossible.
func (k *kit) fail(w core.Work, reach core.Reachability, next ...core.PlannedDelivery) core.Hint {
	k.t.Helper()
	c := closeOf(w, core.OutcomeFailed)
	c.Next, c.Reachable = next, reach
	hint, err := k.Close(k.ctx, c)
	require.NoError(k.t, err)
	return hint
}
