package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func routeSpecs() []spec {
	return []spec{
		{"C68 R188 the last route that fails denies", routeLast},
		{"a route of somebody who lost the right says so", routeLost},
		{"an open card keeps the question", routeOpen},
		{"a card still to be sent keeps the question until it gives up", routeGiveUp},
		{"a sweep gives up on what never opened", routeSweep},
		{"a sweep spares what can still be answered", routeSweepSpares},
		{"the next route is planned in the same write", routeNext},
		{"K17 a session makes the page a route", routeSession},
		{"K17 a linked person reaches a public page", routeLinked},
		{"K17 require_push wants a push", routePush},
		{"only the eligible count", routeEligible},
		{"an open bootstrap code counts for its admin", routeBootstrap},
		{"a decided row is not denied again", routeDecided},
	}
}

// unrouted requires that the row was denied for want of a route, once.
func (k *kit) unrouted(id string) {
	k.t.Helper()
	got := k.read(id)
	require.Equal(k.t, core.StatusDenied, got.Status)
	require.Equal(k.t, core.ReasonNoRoute, got.Reason)
	require.Equal(k.t, core.DecisionDeny, got.Decision)
	require.Equal(k.t, core.ResolverSystem, got.ResolverKind)
	k.events(id, core.EventRequested, core.EventRejected)
}

func (k *kit) waits(id string) {
	k.t.Helper()
	require.Equal(k.t, core.StatusPending, k.read(id).Status)
	k.events(id, core.EventRequested)
}

func routeLast(k *kit) {
	made := k.create(withCards("chat-1", "chat-2"))
	works := k.due(2)
	hint := k.fail(works[0], core.Reachability{PublicURL: true})
	require.Equal(k.t, made.ID, hint.ApprovalID)
	k.waits(made.ID)
	hint = k.fail(works[1], core.Reachability{PublicURL: true})
	require.Equal(k.t, made.ID, hint.ApprovalID)
	require.Greater(k.t, hint.Revision, made.Revision)
	k.unrouted(made.ID)
	d := k.delivery(made.ID, 1)
	require.Equal(k.t, core.OutcomeFailed, d.Outcome)
	require.Equal(k.t, core.FailureGone, d.LastError)
	require.Equal(k.t, "the chat is closed to us", d.LastErrorText)
}

func routeLost(k *kit) {
	made := k.create(withCards("chat-1"))
	c := closeOf(k.due(1)[0], core.OutcomeFailed)
	c.Class, c.ErrorText = core.FailureNotEntitled, "this person may not decide it any more"
	_, err := k.Close(k.ctx, c)
	require.NoError(k.t, err)
	k.unrouted(made.ID)
	d := k.delivery(made.ID, 0)
	require.Equal(k.t, core.FailureNotEntitled, d.LastError)
	require.Equal(k.t, c.ErrorText, d.LastErrorText)
	routes, err := k.BrokenRoutes(k.ctx)
	require.NoError(k.t, err)
	require.Empty(k.t, routes, "the chat is not broken")
}

func routeOpen(k *kit) {
	made := k.create(withCards("chat-1", "chat-2"))
	works := k.due(2)
	k.show(works[0], "message-1")
	k.fail(works[1], core.Reachability{})
	k.waits(made.ID)
	k.h.Advance(core.GiveUpAfter * 1_000_000)
	_, err := k.SweepDeliveries(k.ctx, core.Reachability{}, 10)
	require.NoError(k.t, err)
	k.waits(made.ID)
}

func routeGiveUp(k *kit) {
	made := k.create(withCards("chat-1", "chat-2"))
	works := k.due(2)
	require.NoError(k.t, k.Release(k.ctx, releaseOf(works[0], 3_600_000, core.FailureAuth)))
	k.advanceTo(works[0].Delivery.GiveUpAt)
	again, _ := k.claimDue(10)
	require.Len(k.t, again, 1, "its lease ran out")
	k.fail(again[0], core.Reachability{})
	k.unrouted(made.ID)
}

func routeSweep(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	require.NoError(k.t, k.Release(k.ctx, releaseOf(w, 3_600_000, core.FailureAuth)))
	k.advanceTo(w.Delivery.GiveUpAt - 1)
	hints, err := k.SweepDeliveries(k.ctx, core.Reachability{}, 10)
	require.NoError(k.t, err)
	require.Empty(k.t, hints, "an auth error is not permanent before that")
	k.waits(made.ID)
	k.advanceTo(w.Delivery.GiveUpAt)
	hints, err = k.SweepDeliveries(k.ctx, core.Reachability{}, 10)
	require.NoError(k.t, err)
	require.True(k.t, ids(hints)[made.ID])
	k.unrouted(made.ID)
	require.True(k.t, k.delivery(made.ID, 0).DueAt.Reached(k.now()))
}

func routeSweepSpares(k *kit) {
	k.person("root", core.RoleAdmin)
	k.signIn("root")
	reachable := k.create(withCards("chat-1"))
	pushed := k.create(withCards("chat-2"), func(c *core.NewApproval) { c.Approval.RequirePush = true })
	k.h.Advance(core.GiveUpAfter * 1_000_000)
	_, err := k.SweepDeliveries(k.ctx, core.Reachability{}, 10)
	require.NoError(k.t, err)
	k.waits(reachable.ID)
	k.unrouted(pushed.ID)
}

func routeNext(k *kit) {
	made := k.create(withCards("chat-1"))
	k.advance(1_000)
	hint := k.fail(k.due(1)[0], core.Reachability{}, planned("next-1", otherAccount, "chat-7"))
	require.True(k.t, hint.Deliveries)
	k.waits(made.ID)
	rows, err := k.DeliveriesOf(k.ctx, made.ID)
	require.NoError(k.t, err)
	require.Len(k.t, rows, 2)
	w := k.due(1)[0]
	require.Equal(k.t, "next-1", w.Delivery.ID)
	require.Equal(k.t, core.DeliveryPlanned, w.Delivery.State)
	require.Equal(k.t, otherAccount, w.Delivery.Account)
	require.Equal(k.t, "chat-7", w.Delivery.Address)
	require.Positive(k.t, w.Delivery.GiveUpAt)
	k.fail(w, core.Reachability{})
	k.unrouted(made.ID)

	// A route that was planned for a decided row is not begun in the dark: it is
	// due at once, so that the worker can skip it.
	late := k.create(withCards("chat-1"))
	w = k.due(1)[0]
	k.deny(late.ID)
	k.fail(w, core.Reachability{}, planned("next-2", account, "chat-8"))
	rows, err = k.DeliveriesOf(k.ctx, late.ID)
	require.NoError(k.t, err)
	for _, d := range rows {
		require.True(k.t, d.State == core.DeliveryClosed || d.DueAt.Reached(k.now()))
	}
}

func routeSession(k *kit) {
	k.person("root", core.RoleAdmin)
	k.person("boss", core.RoleAdmin)
	s := k.signIn("root")
	made := k.create(withCards("chat-1"))
	k.fail(k.due(1)[0], core.Reachability{})
	k.waits(made.ID)
	require.NoError(k.t, k.EndSession(k.ctx, s.ID))
	other := k.create(withCards("chat-1"))
	k.fail(k.due(1)[0], core.Reachability{})
	k.unrouted(other.ID)
}

func routeLinked(k *kit) {
	k.person("root", core.RoleAdmin)
	k.link("root", "42")
	private := k.create(withCards("chat-1"))
	k.fail(k.due(1)[0], core.Reachability{PublicURL: false})
	k.unrouted(private.ID)
	public := k.create(withCards("chat-1"))
	w, _ := k.claimOf(public.ID)
	k.fail(w, core.Reachability{PublicURL: true})
	k.waits(public.ID)
}

// claimOf claims all that is due and returns the first row of one approval.
func (k *kit) claimOf(approvalID string) (core.Work, []core.Work) {
	k.t.Helper()
	works, _ := k.claimDue(100)
	for _, w := range works {
		if w.Approval.ID == approvalID {
			return w, works
		}
	}
	require.Fail(k.t, "no row of the approval was due")
	return core.Work{}, nil
}

func routePush(k *kit) {
	k.person("root", core.RoleAdmin)
	k.signIn("root")
	made := k.create(withCards("chat-1"), func(c *core.NewApproval) { c.Approval.RequirePush = true })
	k.fail(k.due(1)[0], core.Reachability{PublicURL: true})
	k.unrouted(made.ID)
}

func routeEligible(k *kit) {
	k.person("root", core.RoleAdmin)
	k.person("bob", core.RoleReviewer)
	k.person("eve", core.RoleReviewer)
	k.person("vic", core.RoleViewer)
	require.NoError(k.t, k.SetOwners(k.ctx, ownRuntime, "agent-2", []string{"bob"}))
	k.signIn("bob")
	k.signIn("vic")
	ofAgent := func(agent string) edit { return func(c *core.NewApproval) { c.Approval.Agent = agent } }
	cases := []struct {
		name string
		edit edit
		kept bool
	}{
		{"bob is listed", withReviewers("bob"), true},
		{"eve is listed and has no device", withReviewers("eve"), false},
		{"a viewer is listed", withReviewers("vic"), false},
		{"nobody is listed", withReviewers(), false},
		{"bob owns the agent", ofAgent("agent-2"), true},
		{"nobody owns the agent", ofAgent("agent-3"), false},
		{"bob asked and may not answer", func(c *core.NewApproval) {
			withReviewers("bob")(c)
			c.Approval.RequestedBy, c.Approval.ExcludeRequester = "bob", true
		}, false},
	}
	for _, c := range cases {
		made := k.create(withCards("chat-1"), c.edit)
		w, _ := k.claimOf(made.ID)
		k.fail(w, core.Reachability{PublicURL: true})
		got := k.read(made.ID)
		require.Equal(k.t, c.kept, got.Status == core.StatusPending, c.name)
	}
	k.disable("bob")
	made := k.create(withCards("chat-1"), withReviewers("bob"))
	w, _ := k.claimOf(made.ID)
	k.fail(w, core.Reachability{PublicURL: true})
	k.unrouted(made.ID)
}

func routeBootstrap(k *kit) {
	_, err := k.IssueCode(k.ctx, core.Code{Hash: tokenHash("code"), Purpose: core.CodeBootstrap}, core.BootstrapLife)
	require.NoError(k.t, err)
	made := k.create(withCards("chat-1"))
	k.fail(k.due(1)[0], core.Reachability{})
	k.waits(made.ID)
	k.advance(core.BootstrapLife)
	late := k.create(withCards("chat-1"))
	w, _ := k.claimOf(late.ID)
	k.fail(w, core.Reachability{})
	k.unrouted(late.ID)
}

func routeDecided(k *kit) {
	made := k.create(withCards("chat-1"))
	w := k.due(1)[0]
	allowed := k.allow(made.ID)
	k.fail(w, core.Reachability{})
	k.same(allowed, k.read(made.ID))
	k.events(made.ID, core.EventRequested, core.EventGranted)
}
