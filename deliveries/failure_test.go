package deliveries_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// routes is a router with one scripted answer.
type routes struct {
	next   []core.PlannedDelivery
	hasten []string
	err    error
	failed core.Delivery
	tried  []core.Delivery
}

func (r *routes) NextRoute(_ context.Context, _ *core.Approval, failed *core.Delivery, tried []core.Delivery) (deliveries.Next, error) {
	r.failed, r.tried = *failed, tried
	return deliveries.Next{Planned: r.next, Hasten: r.hasten}, r.err
}

// withPerson links "p" to the direct chat "dm" and makes sends there fail.
func (h *harness) withPerson(class core.FailureClass) {
	h.store.identities = []core.Identity{{
		PrincipalID: "p", Channel: bot.Channel, Account: bot.Account, DirectChat: "dm",
	}}
	h.channel.onSend(func(address, _ string) error {
		if address == "dm" {
			return &channels.Error{Class: class, Detail: "bot was blocked"}
		}
		return nil
	})
}

// Whoever was disabled after the card was planned does not get to read it.
func TestDisabledPeopleAreToldNothingNew(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.withPerson(core.FailureNone)
		h.store.people = []core.Principal{{ID: "p", Role: core.RoleAdmin, Disabled: true}}
		h.channel.onSend(func(string, string) error { return nil })
		h.store.ask("a", person("d", "p"))
		h.start()
		h.pass(time.Second)
		require.Empty(t, h.channel.made())
		require.Equal(t, core.OutcomeFailed, h.store.row("d").Outcome)
		require.Empty(t, h.store.identities[0].Broken, "the chat itself is not broken")
	})
}

// Field reports C: a closed direct chat is not the end of the request.
func TestPermanentFailurePlansTheNextRoute(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.withPerson(core.FailureGone)
		next := &routes{next: []core.PlannedDelivery{{
			ID: "e", Channel: bot.Channel, Account: bot.Account, Destination: "chat:y", Address: "y", PersonID: "",
		}}}
		h.router = next
		h.store.ask("a", person("d", "p"))
		h.start()
		h.pass(time.Second)
		d := h.store.row("d")
		require.Equal(t, core.OutcomeFailed, d.Outcome)
		require.Equal(t, core.FailureGone, d.LastError)
		require.Equal(t, "bot was blocked", d.LastErrorText)
		require.Equal(t, core.FailureGone, h.store.identities[0].Broken, "marked in the same write")
		require.Len(t, h.store.closes[0].Next, 1, "planned in the same write")
		require.Len(t, next.tried, 1)
		require.Equal(t, core.DeliveryOpen, h.store.row("e").State)
		require.Equal(t, core.StatusPending, h.store.approvals["a"].Status)
	})
}

// R188, conformance 68: the last route that fails denies, and everybody hears it.
func TestLastRouteThatFailsDenies(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.withPerson(core.FailureRejected)
		heard := make(chan core.Hint, 100)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = h.bus.Subscribe(ctx, func(x core.Hint) { heard <- x }) }()
		h.store.ask("a", person("d", "p"))
		h.start()
		h.pass(time.Second)
		require.Equal(t, core.ReasonNoRoute, h.store.approvals["a"].Reason)
		require.Empty(t, h.store.identities[0].Broken, "refused content breaks no chat")
		require.Equal(t, core.Hint{}, <-heard)
		require.Equal(t, "a", (<-heard).ApprovalID)
	})
}

func TestPersonWithoutDirectChatFailsWithoutACall(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.store.reachable = true
		h.store.ask("a", person("d", "p"))
		h.start()
		h.pass(time.Second)
		require.Empty(t, h.channel.ops())
		require.Equal(t, core.OutcomeFailed, h.store.row("d").Outcome)
		require.Equal(t, core.StatusPending, h.store.approvals["a"].Status, "the page remains")
	})
}

func TestWorkingDirectChatIsPreferred(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.withPerson(core.FailureGone)
		h.store.identities[0].Broken = core.FailureGone
		h.store.identities = append(h.store.identities, core.Identity{
			PrincipalID: "p", Channel: bot.Channel, Account: bot.Account, DirectChat: "dm2",
		})
		h.store.ask("a", person("d", "p"))
		h.start()
		h.pass(time.Second)
		require.Equal(t, "dm2", h.store.row("d").Address)
		require.Equal(t, core.DeliveryOpen, h.store.row("d").State)
	})
}

func TestUnreadableRoutesCloseNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.withPerson(core.FailureGone)
		h.router = &routes{err: errors.New("away")}
		h.store.ask("a", person("d", "p"))
		h.start()
		h.pass(time.Minute)
		require.Empty(t, h.store.closes)
		require.Equal(t, core.StatusPending, h.store.approvals["a"].Status)
	})
}

func TestRefusedCredentialsStopTheAccountAndAreReportedOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		other := newMessenger(core.AccountRef{Channel: core.SurfaceSlack, Account: "T"})
		h.channels = append(h.channels, other)
		h.channel.onSend(func(string, string) error { return h.channel.fails(core.FailureAuth) })
		rows := []core.Delivery{to("d1", "x1"), to("d2", "x2"), to("d3", "x3")}
		rows = append(rows, core.Delivery{ID: "s", Channel: core.SurfaceSlack, Account: "T", Destination: "chat:C", Address: "C"})
		h.cfg.Slots = 1
		h.store.ask("a", rows...)
		h.start()
		h.pass(59 * time.Second)
		require.Len(t, h.channel.ops(), 1, "the other rows make no call")
		require.Len(t, other.ops(), 1, "the other account works")
		require.Equal(t, 1, h.metric("sayso_deliveries_refused_accounts", "channel", "telegram"))
		h.pass(5 * time.Minute)
		require.Equal(t, 1, h.logs.count("credentials refused"))
		require.Equal(t, core.StatusPending, h.store.approvals["a"].Status, "not permanent")
		h.channel.onSend(func(string, string) error { return nil })
		h.pass(3 * time.Minute)
		require.Len(t, h.channel.texts(), 3)
		require.Equal(t, 0, h.metric("sayso_deliveries_refused_accounts", "channel", "telegram"))
	})
}

// Conformance: rate limit with retry-after, obeyed to the millisecond, for the
// chat or for the whole bot.
func TestRetryAfterIsNeverShortened(t *testing.T) {
	t.Parallel()
	const delay = 7*time.Second + 123*time.Millisecond
	for name, whole := range map[string]bool{"one chat": false, "whole account": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				h.channel.onSend(func(string, string) error {
					if len(h.channel.made()) == 1 {
						return &channels.Error{Class: core.FailureRateLimited, RetryAfter: delay, Whole: whole}
					}
					return nil
				})
				h.store.ask("a", to("d", "x"))
				h.start()
				h.pass(time.Second)
				h.store.ask("b", to("same", "x"), to("else", "y"))
				h.store.hint("b")
				h.pass(10 * time.Second)
				calls := h.channel.made()
				require.Len(t, calls, 4)
				for _, c := range calls[1:] {
					if c.address == "x" || whole {
						require.GreaterOrEqual(t, c.at.Sub(calls[0].at), delay)
						require.LessOrEqual(t, c.at.Sub(calls[0].at), delay+2*time.Second)
						continue
					}
					require.Less(t, c.at.Sub(calls[0].at), delay, "other chats go on")
				}
				require.Equal(t, core.Millis(7_123), h.store.releases[0].BlockFor)
				require.Equal(t, whole, h.store.releases[0].BlockAll)
			})
		})
	}
}

func TestFailedReadsGiveTheRowBack(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"detail", "identities", "begin"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				h.withPerson(core.FailureNone)
				h.channel.onSend(func(string, string) error { return nil })
				until := time.Now().Add(time.Second)
				h.store.script(func(o string) error {
					if o == op && time.Now().Before(until) {
						return core.ErrUnavailable
					}
					return nil
				})
				h.store.ask("a", person("d", "p"))
				h.start()
				h.pass(500 * time.Millisecond)
				require.Empty(t, h.store.row("d").LeaseHolder)
				h.pass(3 * time.Second)
				require.Equal(t, core.DeliveryOpen, h.store.row("d").State)
				require.Equal(t, []string{"send"}, h.channel.ops())
			})
		})
	}
}

func TestStoreThatIsAwayIsAskedAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		until := time.Now().Add(10 * time.Second)
		h.store.script(func(op string) error {
			if op == "claim" && time.Now().Before(until) {
				return core.ErrUnavailable
			}
			return nil
		})
		h.store.ask("a", to("d", "x"))
		h.start()
		h.pass(12 * time.Second)
		require.Equal(t, []string{"send"}, h.channel.ops())
		require.LessOrEqual(t, h.store.claims, 16, "no busy polling of a store that is away")
	})
}

// A limit that concerns one message alone (Discord's for old messages) is obeyed for
// that message; new cards of its chat do not wait for it.
func TestLimitOfOneMessageHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	const delay = 90 * time.Second
	bubble(t, func(t *testing.T, h *harness) {
		var refusedAt time.Time
		h.channel.onEdit(func(string) (core.DeliveryOutcome, error) {
			if refusedAt.IsZero() {
				refusedAt = time.Now()
				return "", &channels.Error{Class: core.FailureRateLimited, RetryAfter: delay, Single: true}
			}
			require.GreaterOrEqual(t, time.Since(refusedAt), delay)
			return core.OutcomeReplaced, nil
		})
		h.open()
		h.store.decide("a")
		h.pass(time.Second)
		require.False(t, refusedAt.IsZero())
		h.store.ask("b", to("same", h.store.row("d").Address))
		h.store.hint("b")
		h.pass(5 * time.Second)
		require.Equal(t, core.DeliveryOpen, h.store.row("same").State, "the chat takes new cards")
		require.Equal(t, core.DeliveryOpen, h.store.row("d").State)
		h.pass(2 * time.Minute)
		require.Equal(t, core.OutcomeReplaced, h.store.row("d").Outcome)
	})
}
