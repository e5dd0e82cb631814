package deliveries_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

const (
	pending = string(core.StatusPending)
	denied  = string(core.StatusDenied)
)

// The promise: at 1 decision a second with 3 messages each, every message is
// terminal within a second on healthy platforms.
func TestDecisionReachesEveryMessageWithinASecond(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.latency = 100 * time.Millisecond
		h.start()
		for i := range 30 {
			id := fmt.Sprintf("a%02d", i)
			h.store.ask(id, to(id+"-1", id+"x"), to(id+"-2", id+"y"), to(id+"-3", id+"z"))
			h.store.hint(id)
			h.pass(500 * time.Millisecond)
			h.store.decide(id)
			h.pass(500 * time.Millisecond)
		}
		h.pass(500 * time.Millisecond)
		require.Len(t, h.channel.texts(), 90)
		for i, text := range h.channel.texts() {
			require.Equal(t, denied, text, "message %d", i)
		}
		require.Equal(t, 90, h.metric("sayso_deliveries_converge_seconds", "channel", "telegram"))
		require.Equal(t, 90, h.metric("sayso_deliveries_closed_total", "channel", "telegram", "outcome", "replaced"))
	})
}

func TestSilentBusMeansPollingSpeed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.hints = silent{}
		h.start()
		h.store.ask("a", to("d", "x"))
		h.pass(time.Second)
		require.Equal(t, []string{pending}, h.channel.texts())
		h.store.decide("a")
		h.pass(time.Second)
		require.Equal(t, []string{denied}, h.channel.texts())
	})
}

// broken is a bus whose subscription keeps failing.
type broken struct{}

func (broken) Subscribe(context.Context, func(core.Hint)) error {
	return errors.New("connection refused")
}

func TestBrokenBusMeansPollingSpeed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.hints = broken{}
		h.start()
		h.store.ask("a", to("d", "x"))
		h.pass(time.Second)
		require.Equal(t, []string{pending}, h.channel.texts())
	})
}

func TestIdleWorkerMakesOneQueryPerPoll(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.start()
		h.pass(time.Minute)
		require.LessOrEqual(t, h.store.claims, 62)
	})
}

func TestDueRowIsNotWaitedForByPolling(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.start()
		h.pass(10 * time.Millisecond)
		h.store.ask("a", to("d", "x"))
		h.store.change("d", func(d *core.Delivery) { d.DueAt = now() + 300 })
		h.store.hint("a")
		h.pass(299 * time.Millisecond)
		require.Empty(t, h.channel.ops())
		h.pass(time.Millisecond)
		require.Equal(t, []string{"send"}, h.channel.ops())
	})
}

func TestDecidedBeforeItWasSentIsSkipped(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.ask("a", to("d", "x"))
		h.store.decide("a")
		h.start()
		h.pass(time.Second)
		require.Empty(t, h.channel.ops())
		require.Equal(t, core.OutcomeSkipped, h.store.row("d").Outcome)
	})
}

// Conformance 16: exactly at the deadline nobody is asked any more, even if no
// sweep has noticed.
func TestPastDeadlineNothingIsSent(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.ask("a", to("d", "x"))
		h.store.approvals["a"].ExpiresAt = now()
		h.start()
		h.pass(time.Second)
		require.Empty(t, h.channel.ops())
		require.Equal(t, core.OutcomeSkipped, h.store.row("d").Outcome)
	})
}

// Conformance 110: resolve during send means immediate terminalisation (R190).
func TestDecisionWhileSending(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.latency = 3 * time.Second
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(time.Second)
		h.store.decide("a")
		h.pass(2 * time.Second)
		require.Equal(t, []string{pending}, h.channel.texts())
		h.pass(3 * time.Second)
		require.Equal(t, []string{denied}, h.channel.texts())
		require.Equal(t, core.OutcomeReplaced, h.store.row("d").Outcome)
	})
}

// Conformance 111: a stop lets the call finish and records its receipt.
func TestStopWhileSendingRecordsTheReceipt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.latency = 5 * time.Second
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(500 * time.Millisecond)
		h.store.ask("b", to("e", "x")) // Waits for the same chat.
		h.store.hint("b")
		h.pass(500 * time.Millisecond)
		begun := time.Now()
		h.stop()
		require.Equal(t, 4*time.Second, time.Since(begun))
		require.Equal(t, []string{"send"}, h.channel.ops())
		d, e := h.store.row("d"), h.store.row("e")
		require.Equal(t, core.DeliveryOpen, d.State)
		require.Equal(t, "m1", d.Locator)
		require.Empty(t, d.LeaseHolder)
		require.Equal(t, core.DeliveryPlanned, e.State)
		require.Empty(t, e.LeaseHolder, "a waiting row is given back")
	})
}

func TestBeginTellsWhatTheMessageWillShow(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.ask("a", to("d", "x"))
		seen := core.Delivery{}
		h.store.onBegin = func(d *core.Delivery) {
			seen = *d
			require.Empty(t, h.channel.ops(), "written before the first byte")
		}
		h.start()
		h.pass(time.Second)
		require.Equal(t, core.DeliverySending, seen.State)
		require.Equal(t, core.HashOf([]byte("a")), seen.ShownHash)
		require.Equal(t, []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}, seen.Offered)
		require.True(t, seen.ShownComplete)
		require.Equal(t, "k", seen.KeyID)
		require.GreaterOrEqual(t, h.store.begins[0].LeaseMargin.Time().Sub(core.Millis(0).Time()), core.CallTimeout)
	})
}

func TestLostLeaseMakesNoCall(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.ask("a", to("d", "x"))
		h.store.script(func(op string) error {
			if op == "begin" {
				return core.ErrLeaseLost
			}
			return nil
		})
		h.start()
		h.pass(time.Second)
		require.Empty(t, h.channel.ops())
		require.Equal(t, 1, h.metric("sayso_deliveries_leases_lost_total", "channel", "telegram"))
	})
}

// A worker that was frozen between the write and the first byte makes no call
// once too little of its lease is left.
func TestRemainingLeaseIsCheckedBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.ask("a", to("d", "x"))
		once := true
		h.store.onBegin = func(*core.Delivery) {
			if once {
				once = false
				<-time.After(45 * time.Second)
			}
		}
		h.start()
		h.pass(45 * time.Second)
		require.Equal(t, []string{"send"}, h.channel.ops())
		require.Len(t, h.store.begins, 2, "given back, claimed again, sent once")
		require.True(t, h.store.releases[0].NotSent)
	})
}

func TestTwoDestinationsOneChatIsOneCard(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.identities = []core.Identity{{PrincipalID: "p", Channel: bot.Channel, Account: bot.Account, DirectChat: "x"}}
		h.store.ask("a", to("d", "x"), person("e", "p"))
		h.start()
		h.pass(2 * time.Second)
		require.Equal(t, []string{pending}, h.channel.texts())
		require.Equal(t, core.OutcomeDuplicate, h.store.row("e").Outcome)
	})
}

func TestReceiptOutlivesAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.ask("a", to("d", "x"))
		away := time.Now().Add(10 * time.Second)
		h.store.script(func(op string) error {
			if op == "complete" && time.Now().Before(away) {
				return core.ErrUnavailable
			}
			return nil
		})
		h.start()
		h.pass(30 * time.Second)
		require.Equal(t, []string{"send"}, h.channel.ops(), "the card is not sent twice")
		require.Equal(t, core.DeliveryOpen, h.store.row("d").State)
	})
}

// + crash between send and recording the receipt.
func TestCrashBetweenBeginAndReceipt(t *testing.T) {
	t.Parallel()
	crashed := func(h *harness) {
		d := to("d", "x")
		d.State, d.LeaseHolder, d.LeaseUntil, d.Fence = core.DeliverySending, "dead", now()+5_000, 1
		h.store.ask("a", d)
	}
	t.Run("pending: sent again", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, h *harness) {
			crashed(h)
			h.start()
			h.pass(4 * time.Second)
			require.Empty(t, h.channel.ops(), "the lease still runs")
			h.pass(time.Second)
			require.Equal(t, []string{"send"}, h.channel.ops())
		})
	})
	t.Run("terminal: possible orphan", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, h *harness) {
			crashed(h)
			h.store.decide("a")
			h.start()
			h.pass(6 * time.Second)
			require.Empty(t, h.channel.ops())
			require.Equal(t, core.OutcomePossibleOrphan, h.store.row("d").Outcome)
			require.Equal(t, 1, h.metric("sayso_deliveries_closed_total", "channel", "telegram", "outcome", "possible-orphan"))
		})
	})
}

func TestSendFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err      error
		terminal core.DeliveryOutcome // What the row closes as when decided after one failure.
	}{
		"no answer":                {context.DeadlineExceeded, core.OutcomePossibleOrphan},
		"ambiguous":                {&channels.Error{Class: core.FailureAmbiguous}, core.OutcomePossibleOrphan},
		"5xx":                      {&channels.Error{Class: core.FailureTemporary}, core.OutcomePossibleOrphan},
		"unknown class":            {&channels.Error{Class: "new"}, core.OutcomePossibleOrphan},
		"known not sent":           {&channels.Error{Class: core.FailureTemporary, NotSent: true}, core.OutcomeSkipped},
		"dial":                     {&net.OpError{Op: "dial", Err: errors.New("refused")}, core.OutcomeSkipped},
		"dial, wrapped as unclear": {&channels.Error{Class: core.FailureAmbiguous, Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, core.OutcomeSkipped},
		"rate limited":             {&channels.Error{Class: core.FailureRateLimited, RetryAfter: time.Second}, core.OutcomeSkipped},
	}
	for name, test := range tests {
		t.Run(name+", pending: repeated", func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				h.channel.onSend(func(string, string) error {
					if len(h.channel.made()) == 1 {
						return test.err
					}
					return nil
				})
				h.store.ask("a", to("d", "x"))
				h.start()
				h.pass(5 * time.Second)
				require.Equal(t, []string{"send", "send"}, h.channel.ops())
				require.Equal(t, core.DeliveryOpen, h.store.row("d").State)
			})
		})
		t.Run(name+", terminal: closed", func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				h.channel.onSend(func(string, string) error { return test.err })
				h.store.ask("a", to("d", "x"))
				h.start()
				h.pass(0)
				h.store.decide("a")
				h.pass(5 * time.Second)
				require.Equal(t, []string{"send"}, h.channel.ops())
				require.Equal(t, test.terminal, h.store.row("d").Outcome)
			})
		})
	}
}

// A message in whose chat a later send is refused stays a possible orphan: the
// refusal says nothing about the earlier send.
func TestRefusedRepeatKeepsTheAmbiguityOfTheFirst(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.onSend(func(string, string) error {
			if len(h.channel.made()) == 1 {
				return context.DeadlineExceeded
			}
			return &channels.Error{Class: core.FailureRateLimited, RetryAfter: time.Minute}
		})
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(5 * time.Second)
		require.Len(t, h.channel.ops(), 2)
		h.store.decide("a")
		h.pass(2 * time.Minute)
		require.Equal(t, core.OutcomePossibleOrphan, h.store.row("d").Outcome)
	})
}
