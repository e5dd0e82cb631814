package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func decideSpecs() []spec {
	return []spec{
		{"C14 the first answer wins and stays", decideFirst},
		{"C14 the same answer again reads the winner", decideAgain},
		{"every column of the outcome is kept", decideColumns},
		{"an allow opens a grant", decideGrant},
		{"C16 C28 now equal to the deadline is expired", decideExact},
		{"a millisecond before the deadline still decides", decideJustBefore},
		{"C16 a later retry stays expired", decideLate},
		{"C17 C18 expiry beats every kind of answer", decideExpiryBeats},
		{"R29 a read applies the deadline", decideReadExpires},
		{"C26 the clock never goes back", decideRollback},
		{"C26 the clock does not go back over a reopen", decideRollbackReopen},
		{"the decision, its event and its cards are one write", decideOneWrite},
		{"a withdrawal cancels", decideWithdraw},
		{"C23 K9 a malformed verdict and a wrong hash deny", decideForced},
		{"C24 a denial needs no offer", decideDenyUnoffered},
		{"C21 an unknown id is not found", decideUnknown},
		{"C39 every terminal status survives a reopen", decideReopen},
		{"C25 a terminal row takes no further event", decideNoFurther},
	}
}

func decideFirst(k *kit) {
	made := k.create()
	k.advance(1_000)
	won := k.deny(made.ID)
	require.NoError(k.t, won.Check())
	for _, second := range []core.Decide{
		k.answer(made.ID, core.DecisionAllowOnce), k.withdrawal(made.ID), k.answer(made.ID, core.DecisionDeny),
	} {
		k.advance(1_000)
		lost, err := k.Decide(k.ctx, second)
		require.NoError(k.t, err)
		require.False(k.t, lost.Applied)
		require.False(k.t, lost.Expired)
		k.same(won, lost.Approval)
	}
	k.same(won, k.read(made.ID))
}

// The caller tells a repeated answer from another one by what comes back, and
// its own attempt from another's by the attempt's id (R22).
func decideAgain(k *kit) {
	made := k.create()
	first := k.answer(made.ID, core.DecisionAllowOnce)
	first.To.DecisionKey = "key-1"
	won, err := k.Decide(k.ctx, first)
	require.NoError(k.t, err)
	require.True(k.t, won.Applied)
	require.Equal(k.t, first.AttemptID, won.Approval.AttemptID)
	require.Equal(k.t, "key-1", won.Approval.DecisionKey)

	second := k.answer(made.ID, core.DecisionAllowOnce)
	lost, err := k.Decide(k.ctx, second)
	require.NoError(k.t, err)
	require.False(k.t, lost.Applied)
	require.Equal(k.t, core.DecisionAllowOnce, lost.Approval.Decision)
	require.Equal(k.t, first.AttemptID, lost.Approval.AttemptID)
}

func decideColumns(k *kit) {
	made := k.create(full, withCards("chat-1"))
	k.advance(2_000)
	c := k.answer(made.ID, core.DecisionAllowAlways)
	c.To.Note, c.To.DecisionKey = "only today \U0001F642", "chat:1"
	c.To.Surface, c.To.DeliveryID, c.To.PartialView = core.SurfaceTelegram, k.delivery(made.ID, 0).ID, true
	c.To.Proof = "passkey"
	got, err := k.Decide(k.ctx, c)
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	want := core.Resolution{
		Decision: core.DecisionAllowAlways, Reason: core.ReasonUser, Note: c.To.Note, DecisionKey: "chat:1",
		AttemptID: c.AttemptID, ResolvedAt: k.now(), ResolverKind: core.ResolverHuman, ResolverID: "alice",
		ResolverName: "Alice", Surface: core.SurfaceTelegram, DeliveryID: c.To.DeliveryID, Proof: "passkey", PartialView: true,
	}
	require.Equal(k.t, want, got.Approval.Resolution)
	require.Equal(k.t, k.now(), got.Approval.UpdatedAt)
	k.reopen()
	require.Equal(k.t, want, k.read(made.ID).Resolution)

	other := k.create()
	reply := k.answer(other.ID, core.DecisionDeny)
	reply.To.Reason, reply.To.ByMessage, reply.To.Note = core.ReasonMessage, true, "use the other branch"
	got, err = k.Decide(k.ctx, reply)
	require.NoError(k.t, err)
	require.True(k.t, got.Approval.ByMessage)
	require.Equal(k.t, core.ReasonMessage, got.Approval.Reason)
}

func decideGrant(k *kit) {
	for _, continuation := range []core.Continuation{
		core.ContinuationLive, core.ContinuationDurable, core.ContinuationDraft,
	} {
		got := k.allow(k.create(withContinuation(continuation)).ID)
		require.Equal(k.t, core.ExecutionUnclaimed, got.Execution)
		require.Equal(k.t, got.ResolvedAt+continuation.ClaimWindow(), got.ClaimBy)
	}
	denied := k.deny(k.create().ID)
	require.Equal(k.t, core.Grant{Execution: core.ExecutionNone}, denied.Grant)
}

func decideExact(k *kit) {
	made := k.create(expiresIn(core.MinExpiry))
	k.advanceTo(made.ExpiresAt)
	got, err := k.Decide(k.ctx, k.answer(made.ID, core.DecisionAllowOnce))
	require.NoError(k.t, err)
	require.False(k.t, got.Applied)
	require.True(k.t, got.Expired)
	require.NoError(k.t, got.Approval.Check())
	require.Equal(k.t, core.StatusExpired, got.Approval.Status)
	require.Equal(k.t, core.ReasonTimeout, got.Approval.Reason)
	require.Equal(k.t, core.DecisionNone, got.Approval.Decision)
	require.Empty(k.t, got.Approval.ResolverName, "nobody answered")
	require.Equal(k.t, core.ExecutionNone, got.Approval.Execution)
	k.events(made.ID, core.EventRequested, core.EventExpired)
}

func decideJustBefore(k *kit) {
	made := k.create()
	k.advanceTo(made.ExpiresAt - 1)
	require.Equal(k.t, core.StatusPending, k.read(made.ID).Status, "C19: an early look changes nothing")
	require.Equal(k.t, core.StatusAllowed, k.allow(made.ID).Status)
}

func decideLate(k *kit) {
	made := k.create()
	k.advanceTo(made.ExpiresAt + 1)
	first, err := k.Decide(k.ctx, k.answer(made.ID, core.DecisionAllowOnce))
	require.NoError(k.t, err)
	require.True(k.t, first.Expired)
	for range 2 {
		k.advance(60_000)
		again, err := k.Decide(k.ctx, k.answer(made.ID, core.DecisionAllowOnce))
		require.NoError(k.t, err)
		require.False(k.t, again.Applied)
		require.False(k.t, again.Expired, "only one attempt recorded the expiry")
		k.same(first.Approval, again.Approval)
	}
}

func decideExpiryBeats(k *kit) {
	forced := core.Terminal{
		Status: core.StatusDenied, Decision: core.DecisionDeny, Reason: core.ReasonMalformedVerdict,
		ResolverKind: core.ResolverRuntime, ResolverID: ownRuntime, Surface: core.SurfaceAPI,
	}
	mismatch := forced
	mismatch.Reason, mismatch.ResolverKind, mismatch.ResolverID = core.ReasonHashMismatch, core.ResolverHuman, "alice"
	for _, to := range []core.Terminal{
		forced, mismatch, k.answer("", core.DecisionDeny).To, k.withdrawal("").To,
	} {
		made := k.create(expiresIn(core.MinExpiry))
		k.advanceTo(made.ExpiresAt)
		got, err := k.Decide(k.ctx, core.Decide{ID: made.ID, AttemptID: "forced " + made.ID, To: to})
		require.NoError(k.t, err)
		require.True(k.t, got.Expired)
		require.Equal(k.t, core.StatusExpired, got.Approval.Status)
	}
}

func decideReadExpires(k *kit) {
	made := k.create(withCards("chat-1"))
	k.advanceTo(made.ExpiresAt)
	got := k.read(made.ID)
	require.Equal(k.t, core.StatusExpired, got.Status)
	require.Greater(k.t, got.Revision, made.Revision)
	require.Greater(k.t, got.CardRevision, made.CardRevision)
	require.True(k.t, k.delivery(made.ID, 0).DueAt.Reached(k.now()))
	k.events(made.ID, core.EventRequested, core.EventExpired)
	k.advance(1_000)
	k.same(got, k.read(made.ID))
	k.events(made.ID, core.EventRequested, core.EventExpired)
}

func decideRollback(k *kit) {
	made := k.create()
	k.advance(5_000)
	before := k.now()
	k.h.Advance(-time.Hour)
	require.GreaterOrEqual(k.t, k.now(), before)
	got := k.deny(made.ID)
	require.GreaterOrEqual(k.t, got.ResolvedAt, before)
	require.GreaterOrEqual(k.t, k.create().CreatedAt, before)
}

func decideRollbackReopen(k *kit) {
	k.advance(5_000)
	made := k.create()
	k.h.Advance(-time.Hour)
	k.reopen()
	require.GreaterOrEqual(k.t, k.now(), made.CreatedAt)
	require.GreaterOrEqual(k.t, k.deny(made.ID).ResolvedAt, made.CreatedAt)
}

func decideOneWrite(k *kit) {
	made := k.create(withCards("chat-1", "chat-2", "chat-3"))
	works := k.due(3)
	k.show(works[0], "message-1")
	k.show(works[1], "message-2")
	// The third is in flight: begun, without a receipt.
	k.begin(works[2])
	require.Zero(k.t, k.delivery(made.ID, 0).DueAt)
	k.advance(1_000)
	got := k.deny(made.ID)
	require.Greater(k.t, got.Revision, made.Revision)
	require.Greater(k.t, got.CardRevision, made.CardRevision)
	k.events(made.ID, core.EventRequested, core.EventRejected)
	rows, err := k.DeliveriesOf(k.ctx, made.ID)
	require.NoError(k.t, err)
	for _, d := range rows {
		require.Equal(k.t, got.UpdatedAt, d.DueAt, "%s is due with the decision", d.State)
		require.True(k.t, d.NeedsWork(&got))
	}
}

func decideWithdraw(k *kit) {
	made := k.create()
	got, err := k.Decide(k.ctx, k.withdrawal(made.ID))
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	require.NoError(k.t, got.Approval.Check())
	require.Equal(k.t, core.StatusCancelled, got.Approval.Status)
	require.Equal(k.t, core.ReasonWithdrawn, got.Approval.Reason)
	require.Equal(k.t, core.ResolverRuntime, got.Approval.ResolverKind)
	k.events(made.ID, core.EventRequested, core.EventCancelled)
}

func decideForced(k *kit) {
	for reason, by := range map[core.Reason]core.ResolverKind{
		core.ReasonMalformedVerdict: core.ResolverRuntime, core.ReasonHashMismatch: core.ResolverHuman,
	} {
		made := k.create()
		c := k.answer(made.ID, core.DecisionDeny)
		c.To.Reason, c.To.ResolverKind = reason, by
		got, err := k.Decide(k.ctx, c)
		require.NoError(k.t, err)
		require.True(k.t, got.Applied)
		require.NoError(k.t, got.Approval.Check())
		require.Equal(k.t, core.StatusDenied, got.Approval.Status)
		require.Equal(k.t, reason, got.Approval.Reason)
		k.events(made.ID, core.EventRequested, core.EventRejected)
	}
	// C17: a terminal state that no command may ask for changes nothing.
	made := k.create()
	for _, to := range []core.Terminal{
		{Status: core.StatusPending},
		{Status: core.StatusAllowed, Reason: core.ReasonUser, ResolverKind: core.ResolverHuman, ResolverID: "alice"},
		{Status: core.StatusAllowed, Decision: core.DecisionAllowOnce, Reason: core.ReasonUser, ResolverKind: core.ResolverRuntime, ResolverID: ownRuntime},
		{Status: core.StatusAllowed, Decision: core.DecisionAllowAlways, Reason: core.ReasonUser, ResolverKind: core.ResolverHuman, ResolverID: "alice"},
		{Status: core.StatusAllowed, Reason: core.ReasonPolicy, ResolverKind: core.ResolverPolicy, ResolverID: "rule"},
		{Status: core.StatusExpired, Reason: core.ReasonTimeout, ResolverKind: core.ResolverSystem},
	} {
		got, err := k.Decide(k.ctx, core.Decide{ID: made.ID, AttemptID: "impossible", To: to})
		require.Error(k.t, err)
		require.False(k.t, got.Applied)
		k.same(made, k.read(made.ID))
	}
	k.events(made.ID, core.EventRequested)
}

func decideDenyUnoffered(k *kit) {
	made := k.create(func(c *core.NewApproval) { c.Approval.Offered = []core.Decision{core.DecisionAllowOnce} })
	require.Equal(k.t, core.StatusDenied, k.deny(made.ID).Status)
}

func decideUnknown(k *kit) {
	for _, id := range []string{"nothing", "", "."} {
		got, err := k.Decide(k.ctx, k.answer(id, core.DecisionDeny))
		require.ErrorIs(k.t, err, core.ErrNotFound)
		require.False(k.t, got.Applied)
	}
	// C6: a ref is not an id here either.
	made := k.create()
	_, err := k.Decide(k.ctx, k.answer(made.Ref, core.DecisionAllowOnce))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	k.same(made, k.read(made.ID))
}

func decideReopen(k *kit) {
	pending := k.create(expiresIn(core.MaxExpiry))
	brief := k.create(expiresIn(core.MinExpiry))
	rows := []core.Approval{pending, k.allow(k.create().ID), k.deny(k.create().ID)}
	cancelled, err := k.Decide(k.ctx, k.withdrawal(k.create().ID))
	require.NoError(k.t, err)
	k.advanceTo(brief.ExpiresAt)
	rows = append(rows, cancelled.Approval, k.read(brief.ID))
	k.reopen()
	for _, want := range rows {
		k.same(want, k.read(want.ID))
	}
}

func decideNoFurther(k *kit) {
	made := k.create()
	k.deny(made.ID)
	_, err := k.Decide(k.ctx, k.answer(made.ID, core.DecisionAllowOnce))
	require.NoError(k.t, err)
	k.advanceTo(made.ExpiresAt)
	_, err = k.Sweep(k.ctx, 10)
	require.NoError(k.t, err)
	require.Equal(k.t, core.StatusDenied, k.read(made.ID).Status)
	k.events(made.ID, core.EventRequested, core.EventRejected)
}
