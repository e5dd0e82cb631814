package deliveries_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

const (
	brokeLine  = `"msg":"route broken`
	mendedLine = `"msg":"route is whole again"`
)

// closed makes a chat one that is closed to the bot.
func (h *harness) closed(address string) {
	h.channel.onSend(func(to, _ string) error {
		if to == address {
			return h.channel.fails(core.FailureGone)
		}
		return nil
	})
}

// Field reports C: a chat that closed is marked and reported once, however many
// cards it costs, and counted until it works again.
func TestBrokenRouteIsReportedOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.reachable = true
		h.closed("x")
		for i := range 20 {
			h.store.ask(fmt.Sprintf("a%02d", i), to(fmt.Sprintf("d%02d", i), "x"))
		}
		h.start()
		h.pass(time.Minute)
		require.Equal(t, 1, h.logs.count(brokeLine))
		require.Zero(t, h.logs.count(`"level":"WARN"`))
		require.Equal(t, 1, h.metric("sayso_deliveries_broken_routes", "channel", "telegram"))
		for _, c := range h.store.closes {
			require.True(t, c.BreakRoute)
		}

		h.channel.onSend(func(string, string) error { return nil })
		h.store.ask("b", to("e", "x"))
		h.store.hint("b")
		h.pass(time.Minute)
		require.Equal(t, core.DeliveryOpen, h.store.row("e").State)
		require.Zero(t, h.metric("sayso_deliveries_broken_routes", "channel", "telegram"))
		require.Equal(t, 1, h.logs.count(mendedLine))

		h.closed("x")
		h.store.ask("c", to("f", "x"))
		h.store.hint("c")
		h.pass(time.Minute)
		require.Equal(t, 2, h.logs.count(brokeLine), "it broke again")
	})
}

// What was reported before a restart is no news after it.
func TestBrokenRouteIsKnownAfterARestart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.reachable = true
		h.closed("x")
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(time.Second)
		h.stop()
		require.Equal(t, 1, h.logs.count(brokeLine))
		h.metrics = prometheus.NewRegistry()
		h.store.ask("b", to("e", "x"))
		h.start()
		h.pass(time.Minute)
		require.Equal(t, core.OutcomeFailed, h.store.row("e").Outcome)
		require.Equal(t, 1, h.logs.count(brokeLine))
		require.Zero(t, h.logs.count(mendedLine))
		require.Equal(t, 1, h.metric("sayso_deliveries_broken_routes", "channel", "telegram"))
	})
}

// Refused content says nothing of the chat.
func TestRefusedContentBreaksNoRoute(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.reachable = true
		h.channel.onSend(func(string, string) error { return h.channel.fails(core.FailureRejected) })
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(time.Minute)
		require.Equal(t, core.OutcomeFailed, h.store.row("d").Outcome)
		require.Zero(t, h.logs.count(brokeLine))
		require.Zero(t, h.metric("sayso_deliveries_broken_routes", "channel", "telegram"))
	})
}

// Whoever has no link any more has no chat that could be broken.
func TestMissingLinkBreaksNoRoute(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.reachable = true
		h.store.ask("a", person("d", "p"))
		h.start()
		h.pass(time.Minute)
		require.Equal(t, core.FailureGone, h.store.row("d").LastError)
		require.False(t, h.store.closes[0].BreakRoute)
		require.Zero(t, h.logs.count(brokeLine))
	})
}

// A failed card takes the next step of an escalation at once, in the same write.
func TestFailedCardHastensTheNext(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.closed("x")
		h.router = &routes{hasten: []string{"e"}}
		h.store.ask("a", to("d", "x"), to("e", "y"))
		h.store.change("e", func(d *core.Delivery) { d.DueAt = now() + 300_000 })
		h.start()
		h.pass(time.Second)
		require.Equal(t, []string{"e"}, h.store.closes[0].Hasten)
		require.Equal(t, core.DeliveryOpen, h.store.row("e").State)
		require.Equal(t, core.StatusPending, h.store.approvals["a"].Status)
	})
}

func TestUnreadableBrokenRoutesStopNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.script(func(op string) error {
			if op == "broken" {
				return errors.New("away")
			}
			return nil
		})
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(time.Second)
		require.Equal(t, core.DeliveryOpen, h.store.row("d").State)
	})
}
