package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func maintenanceSpecs() []spec {
	return []spec{
		{"C22 a sweep expires all that is due and none of the future", sweepDue},
		{"a sweep keeps to its limit", sweepLimit},
		{"a sweep voids lapsed grants", sweepLapsed},
		{"a sweep marks the cards of expired rows due", sweepCards},
		{"C40 R203 only terminal rows outside retention are pruned", pruneTerminal},
		{"pruning takes cards, events and details along", pruneChildren},
		{"pruning keeps to its limit", pruneLimit},
		{"a pruned key asks anew", pruneKey},
		{"R202 what waits is counted, whoever asked and before any sweep", countPending},
	}
}

func (k *kit) sweep(limit int) map[string]bool {
	k.t.Helper()
	hints, err := k.Sweep(k.ctx, limit)
	require.NoError(k.t, err)
	require.LessOrEqual(k.t, len(hints), limit)
	return ids(hints)
}

func sweepDue(k *kit) {
	due := []core.Approval{k.create(expiresIn(1_000)), k.create(expiresIn(2_000)), k.create(expiresIn(3_000))}
	future := []core.Approval{k.create(expiresIn(3_001)), k.create()}
	require.Empty(k.t, k.sweep(10))
	k.advanceTo(due[2].ExpiresAt)
	require.Equal(k.t, map[string]bool{due[0].ID: true, due[1].ID: true, due[2].ID: true}, k.sweep(10))
	require.Empty(k.t, k.sweep(10))
	for _, a := range due {
		k.events(a.ID, core.EventRequested, core.EventExpired)
		require.Equal(k.t, core.StatusExpired, k.read(a.ID).Status)
	}
	for _, a := range future {
		k.same(a, k.read(a.ID))
	}
}

func sweepLimit(k *kit) {
	for range 5 {
		k.create(expiresIn(1_000))
	}
	k.advance(1_000)
	require.Len(k.t, k.sweep(3), 3)
	require.Len(k.t, k.sweep(3), 2)
	require.Empty(k.t, k.sweep(3))
}

func sweepLapsed(k *kit) {
	live, durable := k.allow(k.create().ID), k.allow(k.create(withContinuation(core.ContinuationDurable)).ID)
	auto := k.create(automatic)
	k.advanceTo(live.ClaimBy - 1)
	require.Empty(k.t, k.sweep(10))
	k.advanceTo(live.ClaimBy)
	require.Equal(k.t, map[string]bool{live.ID: true, auto.ID: true}, k.sweep(10))
	got := k.read(live.ID)
	require.Equal(k.t, core.ExecutionVoided, got.Execution)
	require.Equal(k.t, core.VoidLapsed, got.VoidReason)
	require.Equal(k.t, live.Resolution, got.Resolution)
	k.events(live.ID, core.EventRequested, core.EventGranted, core.EventVoided)
	k.claim(durable, "token")
}

func sweepCards(k *kit) {
	made := k.create(expiresIn(1_000), withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	require.Zero(k.t, k.delivery(made.ID, 0).DueAt)
	k.advance(1_000)
	hints, err := k.Sweep(k.ctx, 10)
	require.NoError(k.t, err)
	require.Len(k.t, hints, 1)
	require.True(k.t, hints[0].Deliveries)
	require.True(k.t, k.delivery(made.ID, 0).DueAt.Reached(k.now()))
}

// retention moves the clock just past the retention of what is terminal now.
func (k *kit) retention() { k.h.Advance(core.Retention*time.Millisecond + time.Second) }

func (k *kit) prune(limit int) int {
	k.t.Helper()
	n, err := k.Prune(k.ctx, limit)
	require.NoError(k.t, err)
	return n
}

func pruneTerminal(k *kit) {
	old := k.deny(k.create().ID)
	k.h.Advance(core.Retention*time.Millisecond - time.Second)
	younger := k.deny(k.create().ID)
	require.Zero(k.t, k.prune(10), "the month is not over")
	k.h.Advance(2 * time.Second)
	pending := k.create()
	require.Equal(k.t, 1, k.prune(10))
	k.gone(old.ID)
	k.same(younger, k.read(younger.ID))
	k.same(pending, k.read(pending.ID))
}

func pruneChildren(k *kit) {
	made := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	k.deny(made.ID)
	k.retention()
	require.Equal(k.t, 1, k.prune(10))
	k.gone(made.ID)
	_, err := k.Detail(k.ctx, made.ID)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	rows, err := k.DeliveriesOf(k.ctx, made.ID)
	require.NoError(k.t, err)
	require.Empty(k.t, rows)
	_, err = k.DeliveryAt(k.ctx, bot(account), "message-1")
	require.ErrorIs(k.t, err, core.ErrNotFound)
	require.Empty(k.t, k.h.Events(k.tb, made.ID))
	works, next := k.claimDue(10)
	require.Empty(k.t, works)
	require.Zero(k.t, next)
}

func pruneLimit(k *kit) {
	for range 5 {
		k.deny(k.create().ID)
	}
	k.retention()
	require.Equal(k.t, 3, k.prune(3))
	require.Equal(k.t, 2, k.prune(3))
	require.Zero(k.t, k.prune(3))
}

func pruneKey(k *kit) {
	first := k.create(withKey("key", "content"))
	k.deny(first.ID)
	k.retention()
	require.Equal(k.t, 1, k.prune(10))
	again := k.create(withKey("key", "content"))
	require.NotEqual(k.t, first.ID, again.ID)
}

func countPending(k *kit) {
	count := func() int {
		k.t.Helper()
		n, err := k.PendingApprovals(k.ctx)
		require.NoError(k.t, err)
		return n
	}
	require.Zero(k.t, count())
	short, answered := k.create(expiresIn(1_000)), k.create()
	k.create(withRuntime(otherRuntime))
	k.create(automatic)
	require.Equal(k.t, 3, count())
	k.deny(answered.ID)
	require.Equal(k.t, 2, count())
	k.advanceTo(short.ExpiresAt)
	require.Equal(k.t, 1, count(), "the deadline counts, and nobody has swept")
}
