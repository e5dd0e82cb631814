package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// cardSpecs: a card that somebody asked for after the approval was made (K39).
func cardSpecs() []spec {
	return []spec{
		{"a card asked for later is due at once and settles with the rest", func(k *kit) {
			a := k.create(withCards("chat-1"))
			planned, hint, err := k.PlanCard(k.ctx, a.ID, planned("later", account, "chat-2"))
			require.NoError(k.t, err)
			require.True(k.t, planned)
			require.Equal(k.t, core.Hint{ApprovalID: a.ID, Revision: a.Revision, Deliveries: true}, hint)
			require.Len(k.t, k.due(2), 2)
			require.Equal(k.t, a, k.read(a.ID), "asking for a card changes nothing of the record")
		}},
		{"a chat that has a row gets no second one", func(k *kit) {
			a := k.create(withCards("chat-1"))
			planned, _, err := k.PlanCard(k.ctx, a.ID, planned("later", account, "chat-1"))
			require.NoError(k.t, err)
			require.False(k.t, planned)
			rows, err := k.DeliveriesOf(k.ctx, a.ID)
			require.NoError(k.t, err)
			require.Len(k.t, rows, 1)
		}},
		{"no card of what has its answer, or of nothing", func(k *kit) {
			a, b := k.create(), k.create(expiresIn(core.MinExpiry))
			k.allow(a.ID)
			k.advance(core.MinExpiry)
			for _, id := range []string{a.ID, b.ID} {
				_, _, err := k.PlanCard(k.ctx, id, planned("later-"+id, account, "chat-1"))
				require.ErrorIs(k.t, err, core.ErrConflict)
			}
			_, _, err := k.PlanCard(k.ctx, "unknown", planned("later", account, "chat-1"))
			require.ErrorIs(k.t, err, core.ErrNotFound)
		}},
	}
}
