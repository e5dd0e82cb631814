package deliveries_test

import (
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
