package deliveries_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
	"github.com/saysohq/sayso/presentation"
)

func TestErrorTextIsBoundedOnACharacter(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.onSend(func(string, string) error {
			return &channels.Error{Class: core.FailureGone, Detail: "x" + strings.Repeat("é", 150)}
		})
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(time.Second)
		text := h.store.row("d").LastErrorText
		require.Len(t, text, 199)
		require.True(t, utf8.ValidString(text))
	})
}

func TestCardNamesTheRequester(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.people = []core.Principal{{ID: "p", Name: "Alice"}}
		h.store.ask("a", to("d", "x"))
		h.store.approvals["a"].RequestedBy = "p"
		h.store.ask("b", to("e", "y"))
		h.store.approvals["b"].RequestedBy = "unknown"
		names := make(chan string, 2)
		h.card = func(a core.Approval, _ core.Detail, p presentation.Place) presentation.Card {
			names <- a.ID + p.Requester
			return presentation.Card{Status: a.Status}
		}
		h.start()
		h.pass(time.Second)
		require.ElementsMatch(t, []string{"aAlice", "b"}, []string{<-names, <-names})
	})
}

// The end of a turn that was not recorded is written again while the lease lasts, and
// not only when it has run out.
func TestLostCloseIsRepeated(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.ask("a", to("d", "x"))
		h.store.decide("a")
		until := time.Now().Add(time.Second)
		h.store.script(func(op string) error {
			if op == "close" && time.Now().Before(until) {
				return core.ErrUnavailable
			}
			return nil
		})
		h.start()
		h.pass(3 * time.Second)
		require.Equal(t, core.OutcomeSkipped, h.store.row("d").Outcome)
	})
}

func TestLostReleaseIsRepeated(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.ask("a", to("d", "x"))
		until := time.Now().Add(time.Second)
		h.store.script(func(op string) error {
			if op == "release" && time.Now().Before(until) {
				return core.ErrOutcomeUnknown
			}
			return nil
		})
		refused := time.Now().Add(time.Millisecond)
		h.channel.onSend(func(string, string) error {
			if time.Now().Before(refused) {
				return &channels.Error{Class: core.FailureTemporary}
			}
			return nil
		})
		h.start()
		h.pass(15 * time.Second)
		require.Equal(t, core.DeliveryOpen, h.store.row("d").State)
	})
}

// A turn whose end nobody can record does not keep a worker from stopping.
func TestStopDoesNotWaitForAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.ask("a", to("d", "x"))
		h.store.decide("a")
		h.store.script(func(op string) error {
			if op == "close" {
				return core.ErrUnavailable
			}
			return nil
		})
		h.start()
		h.pass(time.Second)
		began := time.Now()
		h.stop()
		require.Less(t, time.Since(began), time.Second)
	})
}

// brief is a channel that cannot bring long texts.
type brief struct{ channels.Channel }

func TestShowAllWhereTheChannelCannot(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.cuts = true
		h.wrap = func(c channels.Channel) channels.Channel { return brief{c} }
		h.open()
		h.store.requestView("d")
		h.pass(time.Minute)
		require.Equal(t, []string{"send"}, h.channel.ops())
		require.EqualValues(t, 1, h.store.row("d").ShownView, "answered, and not asked for ever")
		require.False(t, h.store.row("d").ShownComplete)
	})
}

// A restart finds everything that the process before it left, from the rows alone.
func TestRestartWithUnfinishedTerminalisation(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.open()
		h.stop()
		h.store.decide("a")
		h.metrics = prometheus.NewRegistry()
		h.start()
		h.pass(time.Second)
		require.Equal(t, []string{denied}, h.channel.texts())
	})
}

func TestNewStartsNothingAndServesNobodyWithoutChannels(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		m, err := deliveries.NewMetrics(prometheus.NewRegistry())
		require.NoError(t, err)
		w := deliveries.New(deliveries.Config{Name: "w"}, deliveries.Deps{
			Store: h.store, Convergence: h.store, Broken: h.store, Cards: h.store, Clock: h.store, Hints: h.bus, Publisher: h.bus,
			Metrics: m, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		})
		require.Zero(t, h.store.claims)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, w.Run(ctx), context.DeadlineExceeded)
		require.Zero(t, h.store.claims)
	})
}
