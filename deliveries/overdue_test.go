package deliveries_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/deliveries"
)

const overdueLine = `"msg":"delivery overdue`

// stuck asks in a chat whose bot has its credentials refused, with a way around
// over another messenger.
func (h *harness) stuck() *messenger {
	other := newMessenger(slackBot)
	h.channels = append(h.channels, other)
	h.router = &routes{next: []core.PlannedDelivery{{
		ID: "e", Channel: slackBot.Channel, Account: slackBot.Account, Destination: "chat:y", Address: "y",
	}}}
	h.channel.onSend(func(string, string) error { return h.channel.fails(core.FailureAuth) })
	h.store.ask("a", to("d", "x"))
	return other
}

// A card that does not get through is no failure for good; those who could be
// asked otherwise are asked before it gives up, once, and it is still tried.
func TestOverdueCardTakesTheNextRoute(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		other := h.stuck()
		h.start()
		h.pass(3 * time.Minute)
		require.Empty(t, other.ops(), "there is time")
		h.pass(3 * time.Minute)
		require.Equal(t, []string{"send"}, other.ops())
		h.pass(30 * time.Minute)
		require.Equal(t, []string{"send"}, other.ops())
		require.Equal(t, 1, h.logs.count(overdueLine))
		require.Equal(t, core.StatusPending, h.store.approvals["a"].Status)
		h.channel.onSend(func(string, string) error { return nil })
		h.pass(11 * time.Minute)
		require.Equal(t, core.DeliveryOpen, h.store.row("d").State)
	})
}

// Nobody is told of what was decided meanwhile, and a store that is away for a
// moment delays the plan to the next try.
func TestOverdueCardOfADecidedApproval(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		other := h.stuck()
		h.store.script(func(op string) error {
			if op == "plan" {
				return errors.New("away")
			}
			return nil
		})
		h.start()
		h.pass(6 * time.Minute)
		require.Empty(t, other.ops())
		h.store.script(func(string) error { return nil })
		h.pass(time.Minute)
		require.Equal(t, []string{"send"}, other.ops())

		h.store.ask("b", to("f", "x"))
		h.store.hint("b")
		h.pass(time.Second)
		h.store.decide("b")
		h.pass(30 * time.Minute)
		require.Equal(t, core.OutcomeSkipped, h.store.row("f").Outcome)
	})
}

// Conformance 103, K17: a revoked token in front of a chat with a fallback does not
// deny what people can still be asked.
func TestRevokedTokenFallsBack(t *testing.T) {
	t.Parallel()
	d := deploy(t, deliveries.Rule{To: chats("-1"), Fallback: true})
	d.telegram.onSend(func(string, string) error { return d.telegram.fails(core.FailureAuth) })
	asked := d.ask(push)
	require.Eventually(t, func() bool {
		rows := d.rows(asked.Approval.ID)
		return len(rows) == 1 && rows[0].LastError == core.FailureAuth
	}, 20*time.Second, 2*time.Millisecond)
	d.pass(5 * time.Minute)
	d.becomes(asked.Approval.ID, "telegram chat:-1 planned", "slack person:ann open", "telegram person:ann planned")
	require.Equal(t, core.StatusPending, d.read(asked.Approval.ID).Status)

	short := d.ask(func(a *approvals.Ask) {
		life := core.Millis(90_000)
		a.ExpiresIn, a.RequirePush = &life, true
	})
	d.pass(time.Minute)
	d.becomes(short.Approval.ID, "telegram chat:-1 planned", "slack person:ann open", "telegram person:ann planned")
}
