package deliveries_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// A record that was damaged after the answer says nothing that could be believed; its
// cards say that, and lose their buttons. Nothing of it is read again, however long the
// chat is busy.
func TestCardsOfADamagedAnswerTellThat(t *testing.T) {
	t.Parallel()
	for name, uneditable := range map[string]bool{"edited": false, "told beside": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				var last presentation.Card
				h.channel.render = func(c presentation.Card) error {
					last = c
					return nil
				}
				h.open()
				h.channel.onEdit(func(string) (core.DeliveryOutcome, error) {
					if uneditable {
						return core.OutcomeRetired, nil
					}
					return core.OutcomeReplaced, nil
				})
				h.store.damaged = map[string]bool{"a": true}
				h.store.fail = func(op string) error {
					if op == "approval" || op == "detail" {
						return core.ErrCorrupt
					}
					return nil
				}
				h.store.decide("a")
				h.pass(time.Hour)
				d := h.store.row("d")
				require.Equal(t, core.DeliveryClosed, d.State)
				require.Empty(t, cmp.Diff(presentation.DamagedCard("a", h.store.approvals["a"].Kind, 2), last))
				if uneditable {
					require.Equal(t, []string{"send", "edit", "send"}, h.channel.ops())
					require.Equal(t, core.OutcomeRetired, d.Outcome)
					return
				}
				require.Equal(t, []string{"send", "edit"}, h.channel.ops())
				require.Equal(t, core.OutcomeReplaced, d.Outcome)
			})
		})
	}
}
