package storetest

import (
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func brokenSpecs() []spec {
	return []spec{
		{"a chat is marked by the close that found it and survives a restart", brokenChat},
		{"a card that arrives mends the chat", brokenMended},
		{"a person's chat is mended with their identity", brokenPerson},
		{"a new link mends the person's route of that account", brokenLinked},
		{"the pause doubles with each try up to its limit", brokenBackoff},
		{"cards that fail together are one failure", brokenBurst},
		{"what nobody tries any more is forgotten", brokenPruned},
		{"a card planned for later waits and is told by then", laterWaits},
		{"a card planned for later is never told of what ended before", laterSkipped},
		{"a card planned for later counts as a route until it gives up", laterRoute},
		{"a failed card hastens the next", laterHastened},
	}
}

// broken lists the broken routes without their times.
func (k *kit) broken() []core.BrokenRoute {
	k.t.Helper()
	routes, err := k.BrokenRoutes(k.ctx)
	require.NoError(k.t, err)
	return routes
}

func (k *kit) breaks(w core.Work) {
	k.t.Helper()
	c := closeOf(w, core.OutcomeFailed)
	c.BreakRoute = true
	_, err := k.Close(k.ctx, c)
	require.NoError(k.t, err)
}

// breakChat lets one card to the address fail for good.
func (k *kit) breakChat(address string) {
	k.t.Helper()
	w, _ := k.claimOf(k.create(withCards(address)).ID)
	k.breaks(w)
}

func brokenChat(k *kit) {
	require.Empty(k.t, k.broken())
	k.breakChat("chat-2")
	k.breakChat("chat-1")
	k.reopen()
	want := []core.BrokenRoute{
		{Ref: bot(account), Destination: "chat:chat-1", Class: core.FailureGone, Failures: 1, BrokenAt: k.now(), RetryAt: k.now() + core.RouteRetryFirst},
		{Ref: bot(account), Destination: "chat:chat-2", Class: core.FailureGone, Failures: 1, BrokenAt: k.now(), RetryAt: k.now() + core.RouteRetryFirst},
	}
	require.Empty(k.t, cmp.Diff(want, k.broken()))
}

func brokenMended(k *kit) {
	k.breakChat("chat-1")
	k.breakChat("chat-2")
	made := k.create(withCards("chat-1"))
	w, _ := k.claimOf(made.ID)
	k.show(w, "message-1")
	require.Len(k.t, k.broken(), 1)
	require.Equal(k.t, "chat:chat-2", k.broken()[0].Destination)

	// An edit proves nothing about new cards, and says nothing.
	k.breakChat("chat-1")
	k.deny(made.ID)
	w, _ = k.claimOf(made.ID)
	k.finish(w)
	require.Len(k.t, k.broken(), 2)
}

// toPerson plans a card to somebody's direct chat.
func toPerson(id, person string) edit {
	return func(c *core.NewApproval) {
		c.Deliveries = []core.PlannedDelivery{{
			ID: id, Channel: core.SurfaceTelegram, Account: account, Destination: "person:" + person, PersonID: person,
		}}
	}
}

func (k *kit) brokenLink(person string) core.FailureClass {
	k.t.Helper()
	links, err := k.IdentitiesOf(k.ctx, person)
	require.NoError(k.t, err)
	require.Len(k.t, links, 1)
	return links[0].Broken
}

func brokenPerson(k *kit) {
	k.person("bob", core.RoleReviewer)
	k.link("bob", "42")
	k.create(toPerson("d-1", "bob"))
	k.breaks(k.due(1)[0])
	require.Equal(k.t, core.FailureGone, k.brokenLink("bob"))
	require.Equal(k.t, "bob", k.broken()[0].PersonID)
	w, _ := k.claimOf(k.create(toPerson("d-2", "bob")).ID)
	w.Delivery.Address = "42"
	k.show(w, "message-1")
	require.Equal(k.t, core.FailureNone, k.brokenLink("bob"))
	require.Empty(k.t, k.broken())
}

func brokenLinked(k *kit) {
	k.person("bob", core.RoleReviewer)
	k.person("eve", core.RoleReviewer)
	for _, p := range []string{"bob", "eve"} {
		k.link(p, p+"-42")
		w, _ := k.claimOf(k.create(toPerson("d-"+p, p)).ID)
		k.breaks(w)
	}
	require.Len(k.t, k.broken(), 2)
	k.link("bob", "bob-42")
	require.Len(k.t, k.broken(), 1)
	require.Equal(k.t, "eve", k.broken()[0].PersonID)
}

func brokenBackoff(k *kit) {
	k.breakChat("chat-1")
	since, pause := k.now(), core.RouteRetryFirst
	for range 12 {
		k.advanceTo(k.broken()[0].RetryAt)
		k.breakChat("chat-1")
		pause = min(2*pause, core.RouteRetryMax)
		require.Equal(k.t, k.now()+pause, k.broken()[0].RetryAt)
	}
	require.Equal(k.t, core.RouteRetryMax, pause)
	require.Equal(k.t, int64(13), k.broken()[0].Failures)
	require.Equal(k.t, since, k.broken()[0].BrokenAt)
}

func brokenBurst(k *kit) {
	for range 5 {
		k.create(withCards("chat-1"))
	}
	for _, w := range k.due(5) {
		k.breaks(w)
	}
	require.Len(k.t, k.broken(), 1)
	require.Equal(k.t, int64(1), k.broken()[0].Failures)
	require.Equal(k.t, k.now()+core.RouteRetryFirst, k.broken()[0].RetryAt)
}

func brokenPruned(k *kit) {
	k.person("bob", core.RoleReviewer)
	k.link("bob", "42")
	k.create(toPerson("d-1", "bob"))
	k.breaks(k.due(1)[0])
	k.breakChat("chat-1")
	require.NoError(k.t, k.UnlinkIdentity(k.ctx, "telegram", "42"))
	_, err := k.Prune(k.ctx, 10)
	require.NoError(k.t, err)
	require.Len(k.t, k.broken(), 1, "nobody can be told there")
	require.Equal(k.t, "chat:chat-1", k.broken()[0].Destination)
	k.advanceTo(k.broken()[0].RetryAt + core.Retention)
	_, err = k.Prune(k.ctx, 10)
	require.NoError(k.t, err)
	require.Empty(k.t, k.broken())
}

const later core.Millis = 5 * 60 * 1_000

// withLater plans a card for later beside those planned before.
func withLater(id, address string) edit {
	return func(c *core.NewApproval) {
		d := planned(id, otherAccount, address)
		d.After = later
		c.Deliveries = append(c.Deliveries, d)
	}
}

func laterWaits(k *kit) {
	made := k.create(withCards("chat-1"), withLater("d-later", "chat-2"))
	k.show(k.due(1)[0], "message-1")
	require.Equal(k.t, made.CreatedAt+later, k.nothingDue(), "the worker is told when to look again")
	count, _, err := k.Unconverged(k.ctx)
	require.NoError(k.t, err)
	require.Zero(k.t, count, "what is not due is not late")
	_, err = k.SweepDeliveries(k.ctx, core.Reachability{}, 10)
	require.NoError(k.t, err)
	k.nothingDue()
	k.reopen()
	k.advanceTo(made.CreatedAt + later - 1)
	k.nothingDue()
	k.advanceTo(made.CreatedAt + later)
	w := k.due(1)[0]
	require.Equal(k.t, "d-later", w.Delivery.ID)
	require.Equal(k.t, made.CreatedAt+later+core.GiveUpAfter, w.Delivery.GiveUpAt)
	require.Equal(k.t, core.DeliveryOpen, k.show(w, "message-2").State)
}

func laterSkipped(k *kit) {
	made := k.create(withLater("d-later", "chat-2"))
	k.nothingDue()
	k.deny(made.ID)
	w := k.due(1)[0]
	require.Equal(k.t, core.DeliveryPlanned, w.Delivery.State)
	require.Equal(k.t, core.StatusDenied, w.Approval.Status)
}

func laterRoute(k *kit) {
	made := k.create(withCards("chat-1"), withLater("d-later", "chat-2"), expiresIn(core.MaxExpiry))
	k.fail(k.due(1)[0], core.Reachability{})
	k.waits(made.ID)
	k.advanceTo(made.CreatedAt + later + core.GiveUpAfter - 1)
	_, err := k.SweepDeliveries(k.ctx, core.Reachability{}, 10)
	require.NoError(k.t, err)
	k.waits(made.ID)
	k.advance(1)
	_, err = k.SweepDeliveries(k.ctx, core.Reachability{}, 10)
	require.NoError(k.t, err)
	k.unrouted(made.ID)
}

func laterHastened(k *kit) {
	made := k.create(withCards("chat-1"), withLater("d-later", "chat-2"))
	other := k.create(withLater("d-other", "chat-2"))
	c := closeOf(k.due(1)[0], core.OutcomeFailed)
	c.Hasten = []string{"d-later", "d-other", "nobody"}
	_, err := k.Close(k.ctx, c)
	require.NoError(k.t, err)
	k.waits(made.ID)
	w := k.due(1)[0]
	require.Equal(k.t, "d-later", w.Delivery.ID, "another approval's row is left alone")
	require.Equal(k.t, k.now()+core.GiveUpAfter, w.Delivery.GiveUpAt)
	k.show(w, "message-2")
	k.waits(other.ID)
	require.Empty(k.t, cmp.Diff([]core.BrokenRoute{}, k.broken(), cmpopts.EquateEmpty()), "not every failure breaks a route")
}
