package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// cardsNow lists all cards of the walk, as the check after the last step read
// them, with the row that each belongs to.
func (m *model) cardsNow() (map[string]core.Delivery, map[string]*modelRow) {
	cards, owner := map[string]core.Delivery{}, map[string]*modelRow{}
	for _, r := range m.rows {
		for id, d := range r.cards {
			cards[id], owner[id] = d, r
		}
	}
	return cards, owner
}

// claimable reports whether a worker may lease the row now.
func claimable(d core.Delivery, now core.Millis) bool {
	if d.State == core.DeliveryClosed {
		return false
	}
	if d.LeaseHolder != "" {
		return d.LeaseUntil.Reached(now)
	}
	return d.DueAt.Reached(now)
}

// lease lets a worker take what is due.
func (m *model) lease() {
	limit := pick(m, "limit", 1, 2, 10)
	before, owner := m.cardsNow()
	now := m.now()
	free, urgent := 0, 0
	for id, d := range before {
		if claimable(d, now) {
			free++
			if owner[id].want.Status.Terminal() {
				urgent++
			}
		}
	}
	works, _ := m.claimDueAs(pick(m, "worker", worker, otherWorker), limit, m.account)
	require.Len(m.t, works, min(limit, free))
	for _, w := range works {
		was, known := before[w.Delivery.ID]
		require.True(m.t, known)
		require.True(m.t, claimable(was, now))
		require.Equal(m.t, was.LeaseHolder != "", w.TakenOver)
		require.Greater(m.t, w.Delivery.Fence, was.Fence)
		require.Equal(m.t, owner[w.Delivery.ID].want.Status, w.Approval.Status)
		if w.Approval.Status.Terminal() {
			urgent--
		} else {
			require.LessOrEqual(m.t, urgent, 0, "terminal edits come first")
		}
	}
	m.held = append(m.held, works...)
}

// work picks a lease that was taken some time, and says what it is worth now.
func (m *model) work() (i int, w core.Work, now core.Delivery, lost bool) {
	numbers := make([]int, len(m.held))
	for i := range numbers {
		numbers[i] = i
	}
	i = pick(m, "work", numbers...)
	w = m.held[i]
	cards, _ := m.cardsNow()
	now = cards[w.Delivery.ID]
	return i, w, now, now.Fence != w.Delivery.Fence || now.LeaseHolder == ""
}

// adoptedSince reports whether a message was pressed after its row was claimed, which
// the worker does not know: the row is given back, and due.
func (m *model) adoptedSince(w core.Work, d core.Delivery, err error) bool {
	if d.Locator == w.Delivery.Locator {
		return false
	}
	require.ErrorIs(m.t, err, core.ErrLeaseLost)
	after := m.reread(w)
	require.Equal(m.t, core.DeliveryOpen, after.State)
	require.Equal(m.t, d.Locator, after.Locator)
	require.Empty(m.t, after.LeaseHolder)
	require.NotZero(m.t, after.DueAt)
	return true
}

// dropped forgets a lease that was given back.
func (m *model) dropped(i int) { m.held = append(m.held[:i:i], m.held[i+1:]...) }

// overdue reports a lease that has run out although nobody took it: a store may
// honour or refuse it.
func (m *model) overdue(d core.Delivery) bool { return d.LeaseUntil.Reached(m.now()) }

func (m *model) begin() {
	i, w, d, lost := m.work()
	b := beginOf(w)
	err := m.Begin(m.ctx, b)
	if lost || d.LeaseUntil-m.now() < b.LeaseMargin {
		require.ErrorIs(m.t, err, core.ErrLeaseLost)
		return
	}
	if m.adoptedSince(w, d, err) {
		m.dropped(i)
		return
	}
	require.NoError(m.t, err)
}

func (m *model) complete() {
	i, w, d, lost := m.work()
	if !lost && d.State == core.DeliveryPlanned {
		m.rt.Skip("nothing was sent")
	}
	c := completeOf(w, "") // Of an edit; the row knows its message.
	if w.Delivery.Locator == "" {
		c.Locator = "message of " + w.Delivery.ID
	}
	switch {
	case m.chance("final", 2):
		c.Final = core.OutcomeReplaced
	case w.Delivery.Locator != "" && m.chance("told", 3):
		c.ShownRevision, c.Told = d.ShownRevision, w.Approval.CardRevision
	}
	err := m.Complete(m.ctx, c)
	if lost {
		require.ErrorIs(m.t, err, core.ErrLeaseLost)
		return
	}
	if m.overdue(d) && err != nil {
		require.ErrorIs(m.t, err, core.ErrLeaseLost)
		return
	}
	require.NoError(m.t, err)
	m.dropped(i)
}

func (m *model) release() {
	i, w, d, lost := m.work()
	r := releaseOf(w, pick(m, "retry", core.Millis(0), 1_000, 3_600_000), core.FailureTemporary)
	if d.State == core.DeliverySending && m.chance("ambiguous", 2) {
		r.Ambiguous, r.Class = true, core.FailureAmbiguous
	} else {
		r.NotSent = true
	}
	if m.chance("limit", 4) {
		r.EditFor = pick(m, "edit for", core.Millis(1_000), core.TellAfter, 2*core.TellAfter)
	}
	err := m.Release(m.ctx, r)
	if lost {
		require.ErrorIs(m.t, err, core.ErrLeaseLost)
		return
	}
	if m.overdue(d) && err != nil {
		require.ErrorIs(m.t, err, core.ErrLeaseLost)
		return
	}
	require.NoError(m.t, err)
	m.dropped(i)
}

// close ends a row as what became of it, and the approval with its last route.
func (m *model) close() {
	i, w, d, lost := m.work()
	_, owner := m.cardsNow()
	r := owner[w.Delivery.ID]
	outcome := core.OutcomeFailed
	if r.want.Status.Terminal() {
		switch {
		case d.State == core.DeliveryPlanned:
			outcome = core.OutcomeSkipped
		case w.Delivery.Locator == "":
			outcome = core.OutcomePossibleOrphan
		}
	}
	_, err := m.Close(m.ctx, closeOf(w, outcome))
	if lost {
		require.ErrorIs(m.t, err, core.ErrLeaseLost)
		return
	}
	if m.overdue(d) && err != nil {
		require.ErrorIs(m.t, err, core.ErrLeaseLost)
		return
	}
	if m.adoptedSince(w, d, err) {
		m.dropped(i)
		return
	}
	require.NoError(m.t, err)
	m.dropped(i)
	if r.want.Status == core.StatusPending && !r.want.Due(m.now()) && m.routeless(r) {
		r.end(m.now(), core.Terminal{
			Status: core.StatusDenied, Decision: core.DecisionDeny, Reason: core.ReasonNoRoute, ResolverKind: core.ResolverSystem,
		})
	}
}

// routeless states the rule: every card is closed, or has not opened in time.
func (m *model) routeless(r *modelRow) bool {
	m.t.Helper()
	rows, err := m.DeliveriesOf(m.ctx, r.want.ID)
	require.NoError(m.t, err)
	for _, d := range rows {
		waits := d.State != core.DeliveryClosed && !d.GiveUpAt.Reached(m.now())
		if waits || d.State == core.DeliveryOpen {
			return false
		}
	}
	return true
}

// replan lets an admin try a failed row again. A row that was never sent is not
// begun for a decided approval: nobody is told about what they never saw.
func (m *model) replan() {
	var failed []string
	cards, owner := m.cardsNow()
	for _, id := range m.cardIDs() {
		if cards[id].Outcome == core.OutcomeFailed {
			failed = append(failed, id)
		}
	}
	id := pick(m, "card", failed...)
	_, err := m.Replan(m.ctx, id)
	if owner[id].want.Status.Terminal() && cards[id].Locator == "" {
		require.ErrorIs(m.t, err, core.ErrConflict)
		return
	}
	require.NoError(m.t, err)
	after := m.reread(core.Work{Approval: owner[id].want, Delivery: cards[id]})
	require.Equal(m.t, cards[id].Generation+1, after.Generation)
	require.NotEqual(m.t, core.DeliveryClosed, after.State)
	a := m.read(after.ApprovalID)
	require.Equal(m.t, after.DueFrom(m.now(), a.Status.Terminal(), a.CardRevision), after.DueAt)
}

// cardIDs lists the cards that the walk can have planned, in a fixed order.
func (m *model) cardIDs() []string {
	var all []string
	for _, r := range m.rows {
		for _, n := range []int{1, 2} {
			all = append(all, fmt.Sprintf("%s-%s-%d", r.want.ID, m.account, n))
		}
	}
	return all
}

// adopt lets a person press a button of a message whose receipt was lost.
func (m *model) adopt() {
	var orphans []string
	cards, owner := m.cardsNow()
	for _, id := range m.cardIDs() {
		d, r := cards[id], owner[id]
		if r != nil && r.want.Status == core.StatusPending && d.State == core.DeliverySending && d.Locator == "" {
			orphans = append(orphans, id)
		}
	}
	d := cards[pick(m, "orphan", orphans...)]
	r := owner[d.ID]
	a := core.Adopt{Channel: d.Channel, Account: d.Account, Address: d.Address, Locator: "orphan of " + d.ID}
	can, err := m.Adoptable(m.ctx, r.want.ID, a)
	require.NoError(m.t, err)
	require.True(m.t, can)
	m.decided(r, m.adopting(r.want.ID, a))
	found, err := m.DeliveryAt(m.ctx, core.AccountRef{Channel: d.Channel, Account: d.Account}, a.Locator)
	require.NoError(m.t, err)
	require.Equal(m.t, d.ID, found.ID)
	require.Equal(m.t, core.DeliveryOpen, found.State)
}
