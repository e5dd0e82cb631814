package deliveries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// A worker that holds a row whose send was in doubt knows of no message. Somebody presses
// it just before the worker sends again, or gives it up: neither happens, and that
// message is edited to the truth.
func TestAMessagePressedMeanwhileIsNotForgotten(t *testing.T) {
	t.Parallel()
	for op, decidedBefore := range map[string]bool{"begin": false, "close": true} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				var lost string
				h.channel.onSend(func(address, text string) error {
					lost = h.channel.arrived(address, text)
					return &channels.Error{Class: core.FailureAmbiguous}
				})
				h.store.ask("a", to("d", "x"))
				h.start()
				h.pass(0)
				require.Equal(t, []string{"send"}, h.channel.ops())
				pressed := false
				h.store.script(func(at string) error {
					if at == op && !pressed { // The store is locked: this is the decision that came first.
						pressed = true
						if !decidedBefore {
							h.store.end("a", core.StatusDenied, core.ReasonUser)
						}
						d := h.store.rows["d"]
						d.Locator, d.State, d.DueAt = lost, core.DeliveryOpen, now()
					}
					return nil
				})
				if decidedBefore {
					h.store.decide("a")
				}
				h.pass(5 * time.Second)
				require.True(t, pressed)
				require.Equal(t, []string{"send", "edit"}, h.channel.ops())
				require.Equal(t, []string{"denied"}, h.channel.texts())
				d := h.store.row("d")
				require.Equal(t, core.OutcomeReplaced, d.Outcome)
				require.Equal(t, lost, d.Locator)
			})
		})
	}
}
