package deliveries_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/deliveries"
	"github.com/saysohq/sayso/presentation"
)

// The card for the answer to a click is laid out for the place where the ledger would
// show it; what fails there is an error, and no panic.
func TestFinalCard(t *testing.T) {
	t.Parallel()
	store := newMemory(local.New())
	store.people = []core.Principal{{ID: "ann", Name: "Ann"}}
	store.ask("a", to("d", "x"))
	store.details["a"] = core.Detail{Text: "everything"}
	store.end("a", core.StatusDenied, core.ReasonUser)
	var at presentation.Place
	lay := func(a core.Approval, d core.Detail, p presentation.Place) presentation.Card {
		at = p
		return presentation.For(a, d, p)
	}
	m, err := deliveries.NewMetrics(prometheus.NewRegistry(), core.SurfaceTelegram)
	require.NoError(t, err)
	w := deliveries.New(deliveries.Config{Name: "w", PublicURL: "https://sayso.example.com"}, deliveries.Deps{
		Store: store, Records: store, People: store, Channels: []channels.Channel{newMessenger(bot)}, Metrics: m,
		Card:   func(a core.Approval, d core.Detail, p presentation.Place) presentation.Card { return lay(a, d, p) },
		Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	a := *store.approvals["a"]
	a.RequestedBy, a.UpdatedAt = "ann", now()
	d := core.Delivery{ID: "d", ApprovalID: "a", PersonID: "ann", ShownView: 1, ShownComplete: true}
	card, err := w.FinalCard(t.Context(), a, d)
	require.NoError(t, err)
	require.NotNil(t, card.Outcome)
	require.Equal(t, presentation.Place{
		Now: a.UpdatedAt, PublicURL: "https://sayso.example.com", Delivery: "d", Person: "ann", WholeShown: true, Requester: "Ann",
	}, at)

	store.script(func(op string) error { return core.ErrUnavailable })
	_, err = w.FinalCard(t.Context(), a, d)
	require.ErrorIs(t, err, core.ErrUnavailable)
	store.script(func(string) error { return nil })
	lay = func(core.Approval, core.Detail, presentation.Place) presentation.Card { panic("a bug") }
	_, err = w.FinalCard(t.Context(), a, d)
	require.Error(t, err)
}

type listeners struct {
	hears bool
	err   error
	asked int
}

func (l *listeners) Listens(context.Context, *core.Approval) (bool, error) {
	l.asked++
	return l.hears, l.err
}

// R86, K34: what a card of an outcome can offer depends on who listens and on the policy in
// force; where that cannot be read it offers less.
func TestFinalCard_WhatItOffers(t *testing.T) {
	t.Parallel()
	store := newMemory(local.New())
	store.ask("a", to("d", "x"))
	store.end("a", core.StatusDenied, core.ReasonUser)
	m, err := deliveries.NewMetrics(prometheus.NewRegistry(), core.SurfaceTelegram)
	require.NoError(t, err)
	var sticky time.Duration
	hears := &listeners{hears: true}
	w := deliveries.New(deliveries.Config{Name: "w", Sticky: func() time.Duration { return sticky }}, deliveries.Deps{
		Store: store, Records: store, People: store, Channels: []channels.Channel{newMessenger(bot)}, Metrics: m,
		Listeners: hears, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	offers := func(a core.Approval) []core.CallbackValue {
		card, err := w.FinalCard(t.Context(), a, core.Delivery{ID: "d", ApprovalID: "a"})
		require.NoError(t, err)
		var list []core.CallbackValue
		for _, action := range card.Actions {
			list = append(list, action.Value)
		}
		return list
	}
	denied := *store.approvals["a"]
	denied.UpdatedAt = now()
	denied.ResolverKind, denied.Continuation = core.ResolverHuman, core.ContinuationLive
	require.Empty(t, offers(denied), "a decline answers nothing else here")
	require.Zero(t, hears.asked, "most cards need no look")
	sticky = 10 * time.Minute
	require.Equal(t, []core.CallbackValue{core.CallbackReopen}, offers(denied))

	unknown := denied
	unknown.Status, unknown.Decision, unknown.Execution = core.StatusAllowed, core.DecisionAllowOnce, core.ExecutionUnknown
	require.Equal(t, []core.CallbackValue{core.CallbackDismissOutcome, core.CallbackAskAgain}, offers(unknown))
	hears.hears = false
	require.Equal(t, []core.CallbackValue{core.CallbackDismissOutcome}, offers(unknown))
	hears.hears, hears.err = true, core.ErrUnavailable
	require.Equal(t, []core.CallbackValue{core.CallbackDismissOutcome}, offers(unknown))
}
