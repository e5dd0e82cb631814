package deliveries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// open starts the worker with one open card of approval "a" in row "d", chat "x".
func (h *harness) open() {
	h.t.Helper()
	h.store.ask("a", to("d", "x"))
	h.start()
	h.pass(10 * time.Millisecond)
	require.Equal(h.t, core.DeliveryOpen, h.store.row("d").State)
}

// Conformance 113, R192: what cannot be edited gets exactly one follow-up with
// the final answer, and the row says why.
func TestUneditableMessageGetsOneFollowUp(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		outcome core.DeliveryOutcome
		class   core.FailureClass
		want    core.DeliveryOutcome
	}{
		"retired":     {outcome: core.OutcomeRetired, want: core.OutcomeRetired},
		"unsupported": {outcome: core.OutcomeUnsupported, want: core.OutcomeUnsupported},
		"gone":        {class: core.FailureGone, want: core.OutcomeRetired},
		"rejected":    {class: core.FailureRejected, want: core.OutcomeRetired},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				h.channel.onEdit(func(string) (core.DeliveryOutcome, error) {
					if test.class != core.FailureNone {
						return "", h.channel.fails(test.class)
					}
					return test.outcome, nil
				})
				h.open()
				h.store.decide("a")
				h.pass(time.Hour)
				require.Equal(t, []string{"send", "edit", "send"}, h.channel.ops())
				require.Equal(t, []string{pending, denied}, h.channel.texts())
				d := h.store.row("d")
				require.Equal(t, core.DeliveryClosed, d.State)
				require.Equal(t, test.want, d.Outcome)
				require.Equal(t, "m1", d.Locator, "clicks on the old card still find their row")
			})
		})
	}
}

func TestFollowUpStaysOpenUntilItIsSent(t *testing.T) {
	t.Parallel()
	for _, class := range []core.FailureClass{core.FailureTemporary, core.FailureAmbiguous, core.FailureRateLimited} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				h.channel.onEdit(func(string) (core.DeliveryOutcome, error) { return core.OutcomeRetired, nil })
				h.open()
				h.channel.onSend(func(string, string) error { return h.channel.fails(class) })
				h.store.decide("a")
				h.pass(time.Minute)
				require.Equal(t, core.DeliveryOpen, h.store.row("d").State)
				h.channel.onSend(func(string, string) error { return nil })
				h.pass(10 * time.Minute)
				require.Equal(t, core.OutcomeRetired, h.store.row("d").Outcome)
				require.Equal(t, []string{pending, denied}, h.channel.texts())
			})
		})
	}
}

func TestFollowUpIntoAClosedChatEndsFailed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.onEdit(func(string) (core.DeliveryOutcome, error) { return "", h.channel.fails(core.FailureGone) })
		h.open()
		h.channel.onSend(func(string, string) error { return h.channel.fails(core.FailureGone) })
		h.store.decide("a")
		h.pass(time.Second)
		d := h.store.row("d")
		require.Equal(t, core.OutcomeFailed, d.Outcome)
		require.Equal(t, core.FailureGone, d.LastError)
	})
}

// A card that was deleted while an answer is wanted is posted again, and that one
// is driven to the truth.
func TestPendingCardThatIsGoneIsPostedAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.cuts = true
		h.channel.onEdit(func(locator string) (core.DeliveryOutcome, error) {
			if locator == "m1" {
				return "", h.channel.fails(core.FailureGone)
			}
			return core.OutcomeReplaced, nil
		})
		h.open()
		h.store.requestView("d")
		h.pass(time.Second)
		require.Equal(t, "m2", h.store.row("d").Locator)
		h.store.decide("a")
		h.pass(time.Second)
		require.Equal(t, []string{pending, denied}, h.channel.texts())
	})
}

// Terminal edits that fail temporarily are retried for ever, with a backoff up to
// 10 minutes.
func TestTerminalEditIsRetriedUntilItIsShown(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.open()
		h.channel.onEdit(func(string) (core.DeliveryOutcome, error) { return "", h.channel.fails(core.FailureTemporary) })
		h.store.decide("a")
		h.pass(24 * time.Hour)
		calls := h.channel.made()
		last := calls[len(calls)-1].at.Sub(calls[len(calls)-2].at)
		require.GreaterOrEqual(t, last, 5*time.Minute)
		require.LessOrEqual(t, last, 10*time.Minute+time.Second)
		require.Equal(t, core.FailureTemporary, h.store.row("d").LastError)
		h.channel.onEdit(func(string) (core.DeliveryOutcome, error) { return core.OutcomeReplaced, nil })
		h.pass(11 * time.Minute)
		require.Equal(t, []string{denied}, h.channel.texts())
		require.Equal(t, core.OutcomeReplaced, h.store.row("d").Outcome)
	})
}

// A decision does not wait behind the backoff of an older card.
func TestDecisionOvertakesABackoff(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.latency = time.Second
		h.store.ask("a", to("d", "x"))
		h.store.change("d", func(d *core.Delivery) { d.Attempts = 12 })
		h.channel.onSend(func(string, string) error { return &channels.Error{Class: core.FailureTemporary, NotSent: true} })
		h.start()
		h.pass(500 * time.Millisecond)
		h.store.decide("a") // While the failing send is under way.
		h.pass(time.Second)
		require.Equal(t, core.OutcomeSkipped, h.store.row("d").Outcome)
	})
}

// A stale holder may paint after its lease was taken over: the row is edited once
// more after the call timeout + 30 s, and only then closes.
func TestTakenOverRowIsEditedOnceMore(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.messages["m1"] = &message{address: "x", text: pending}
		h.channel.n = 1
		d := to("d", "x")
		d.State, d.Locator, d.ShownRevision = core.DeliveryOpen, "m1", 1
		d.LeaseHolder, d.LeaseUntil, d.Fence = "stalled", now()+5_000, 1
		h.store.ask("a", d)
		h.store.decide("a")
		h.start()
		h.pass(6 * time.Second)
		require.Equal(t, []string{denied}, h.channel.texts())
		require.Equal(t, core.DeliveryOpen, h.store.row("d").State, "not settled yet")
		h.channel.paint("m1", "allowed by a stale holder")
		h.pass(core.CallTimeout + core.SettleMargin - 2*time.Second)
		require.NotEqual(t, []string{denied}, h.channel.texts())
		h.pass(2 * time.Second)
		require.Equal(t, []string{denied}, h.channel.texts())
		require.Equal(t, core.OutcomeReplaced, h.store.row("d").Outcome)
		require.Equal(t, []string{"edit", "edit"}, h.channel.ops())
	})
}

// A worker that wakes up after its lease was taken over records nothing.
func TestStaleHolderCannotRecord(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.latency = 5 * time.Second
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(time.Second)
		h.store.change("d", func(d *core.Delivery) { d.Fence++; d.LeaseHolder = "other" })
		h.pass(5 * time.Second)
		require.Empty(t, h.store.completes)
		require.Equal(t, 1, h.metric("sayso_deliveries_leases_lost_total", "channel", "telegram"))
	})
}

func TestShowAllBringsTheDetailThenTheCard(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.cuts = true
		h.open()
		d := h.store.row("d")
		require.False(t, d.ShownComplete)
		require.Equal(t, []core.Decision{core.DecisionDeny}, d.Offered)
		h.channel.onDetail(func() error {
			require.False(t, h.store.row("d").ShownComplete, "not claimed before the detail arrived")
			return nil
		})
		h.store.requestView("d")
		h.pass(time.Second)
		require.Equal(t, []string{"send", "detail", "edit"}, h.channel.ops())
		d = h.store.row("d")
		require.True(t, d.ShownComplete)
		require.EqualValues(t, 1, d.ShownView)
		require.Equal(t, []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}, d.Offered)
	})
}

func TestDetailThatDoesNotArriveGivesNoRight(t *testing.T) {
	t.Parallel()
	t.Run("refused for good", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, h *harness) {
			h.channel.cuts = true
			h.channel.onDetail(func() error { return h.channel.fails(core.FailureRejected) })
			h.open()
			h.store.requestView("d")
			h.pass(time.Hour)
			require.Equal(t, []string{"send", "detail"}, h.channel.ops(), "not repeated")
			require.False(t, h.store.row("d").ShownComplete)
		})
	})
	t.Run("temporary: repeated", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, h *harness) {
			h.channel.cuts = true
			h.channel.onDetail(func() error {
				if len(h.channel.made()) == 2 {
					return h.channel.fails(core.FailureTemporary)
				}
				return nil
			})
			h.open()
			h.store.requestView("d")
			h.pass(time.Minute)
			require.Equal(t, []string{"send", "detail", "detail", "edit"}, h.channel.ops())
			require.True(t, h.store.row("d").ShownComplete)
		})
	})
	t.Run("more than was kept (K29)", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, h *harness) {
			h.channel.cuts = true
			h.store.details["a"] = core.Detail{Text: "part", Omitted: 1}
			h.open()
			h.store.requestView("d")
			h.pass(time.Second)
			require.Equal(t, []string{"send", "detail", "edit"}, h.channel.ops())
			require.False(t, h.store.row("d").ShownComplete)
		})
	})
	t.Run("decided meanwhile: only the outcome", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, h *harness) {
			h.channel.cuts = true
			h.open()
			h.store.change("d", func(d *core.Delivery) { d.View = 1 })
			h.store.decide("a")
			h.pass(time.Second)
			require.Equal(t, []string{"send", "edit"}, h.channel.ops())
			require.Equal(t, core.OutcomeReplaced, h.store.row("d").Outcome)
		})
	})
}

func TestMovedChatIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.onSend(func(address, _ string) error {
			if address == "x" {
				return &channels.Error{Class: core.FailureMoved, Address: "y"}
			}
			return nil
		})
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(100 * time.Millisecond)
		require.Equal(t, []string{"send", "send"}, h.channel.ops())
		require.Equal(t, "y", h.store.row("d").Address)
		require.Equal(t, "y", h.store.aliases[chat{bot, "x"}])
	})
}

func TestMessageThatStayedBehindGetsItsFollowUpAtTheNewAddress(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.open()
		h.channel.onEdit(func(string) (core.DeliveryOutcome, error) {
			return "", &channels.Error{Class: core.FailureMoved, Address: "y"}
		})
		h.store.decide("a")
		h.pass(time.Second)
		calls := h.channel.made()
		require.Equal(t, "y", calls[len(calls)-1].address)
		require.Equal(t, []string{pending, denied}, h.channel.texts())
		require.Equal(t, core.OutcomeRetired, h.store.row("d").Outcome)
	})
}

func TestChatThatMovesInCirclesWaits(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.onSend(func(address, _ string) error {
			return &channels.Error{Class: core.FailureMoved, Address: address + "'"}
		})
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(time.Minute)
		require.Less(t, len(h.channel.ops()), 15)
	})
}

// One poisonous row, whatever part of it panics, holds up nothing behind it.
func TestPanicsAreContained(t *testing.T) {
	t.Parallel()
	tests := map[string]func(m *messenger){
		"send": func(m *messenger) {
			m.send = func(address, _ string) error {
				if address == "poison" {
					panic("send")
				}
				return nil
			}
		},
		"render": func(m *messenger) {
			m.render = func(c presentation.Card) error {
				if c.ApprovalID == "p" {
					panic("render")
				}
				return nil
			}
		},
	}
	for name, poison := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				h.cfg.Slots = 1
				poison(h.channel)
				h.store.ask("p", to("bad", "poison"))
				h.store.ask("a", to("good", "x"))
				h.start()
				h.pass(2 * time.Second)
				require.Equal(t, core.DeliveryOpen, h.store.row("good").State)
				require.NotEqual(t, core.DeliveryClosed, h.store.row("bad").State)
				require.GreaterOrEqual(t, h.metric("sayso_deliveries_panics_total", "channel", "telegram"), 1)
			})
		})
	}
}
