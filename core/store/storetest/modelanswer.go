package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// click lets a person press a button of a card that stands, where the answer may show
// the final card.
func (m *model) click() {
	var shown []string
	cards, owner := m.cardsNow()
	for _, id := range m.cardIDs() {
		if owner[id] != nil && owner[id].want.Status == core.StatusPending && cards[id].State == core.DeliveryOpen {
			shown = append(shown, id)
		}
	}
	d := cards[pick(m, "card", shown...)]
	r := owner[d.ID]
	c := m.answer(r.want.ID, core.DecisionDeny)
	c.To.DeliveryID, c.AnswerDelay = d.ID, core.AnswerDelay
	m.decided(r, c)
	after := m.reread(core.Work{Approval: r.want, Delivery: d})
	if r.want.Status == core.StatusExpired {
		require.Zero(m.t, after.AnswerUntil)
		return
	}
	require.Equal(m.t, m.now()+core.AnswerDelay, after.AnswerUntil)
	require.Equal(m.t, after.AnswerUntil, after.DueAt)
	require.True(m.t, d.LeaseHolder == "" || after.Unsettled, "somebody may be painting an older card")
}

// answered records the answer to a click: with the newest card, an older one, or none.
func (m *model) answered() {
	var waiting []string
	cards, owner := m.cardsNow()
	for _, id := range m.cardIDs() {
		if d := cards[id]; d.State == core.DeliveryOpen && d.AnswerUntil > m.now() {
			waiting = append(waiting, id)
		}
	}
	d := cards[pick(m, "card", waiting...)]
	w := core.Work{Approval: owner[d.ID].want, Delivery: d}
	newest := m.read(d.ApprovalID).CardRevision
	revision := pick(m, "revision", newest, newest, newest-1, 0)
	_, err := m.ShownByAnswer(m.ctx, d.ID, revision)
	require.NoError(m.t, err)
	after := m.reread(w)
	closes := revision == newest && d.LeaseHolder == "" && !d.Unsettled
	require.Equal(m.t, closes, after.State == core.DeliveryClosed)
	require.Zero(m.t, after.AnswerUntil)
}
