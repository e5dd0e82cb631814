package storetest

import (
	"cmp"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// outcomeView is what the model knows of a row. Times are counted from the start
// of the walk, so that a failure reads the same whenever it is repeated.
type outcomeView struct {
	Status     core.Status
	Reason     core.Reason
	Decision   core.Decision
	Resolver   core.ResolverKind
	Person     string
	Resolved   core.Millis
	Execution  core.Execution
	Void       core.VoidReason
	ClaimBy    core.Millis
	ClaimToken string
	Consumed   core.Millis
	OutcomeBy  core.Millis
	OutcomeAt  core.Millis
}

func (m *model) view(a core.Approval) outcomeView {
	since := func(at core.Millis) core.Millis {
		if at == 0 {
			return 0
		}
		return at - m.start
	}
	v := outcomeView{
		Status: a.Status, Reason: a.Reason, Decision: a.Decision, Resolver: a.ResolverKind, Resolved: since(a.ResolvedAt),
		Execution: a.Execution, Void: a.VoidReason, ClaimBy: since(a.ClaimBy), ClaimToken: a.ClaimToken,
		Consumed: since(a.ConsumedAt), OutcomeBy: since(a.OutcomeBy), OutcomeAt: since(a.OutcomeAt),
	}
	if a.Reason == core.ReasonUser {
		v.Person = a.ResolverID
	}
	if a.Status == core.StatusCancelled {
		v.Resolver = "" // Whether the runtime or the system cancelled is the store's to say.
	}
	return v
}

// check compares the whole walk with the store after a step.
func (m *model) check() {
	page, err := m.List(m.ctx, core.ListQuery{Runtime: m.runtime})
	require.NoError(m.t, err)
	require.Zero(m.t, page.Corrupt)
	require.Len(m.t, page.Approvals, len(m.rows))
	newest := slices.Clone(m.rows)
	slices.SortFunc(newest, func(a, b *modelRow) int {
		return cmp.Or(cmp.Compare(b.want.CreatedAt, a.want.CreatedAt), cmp.Compare(b.want.ID, a.want.ID))
	})
	now := m.now()
	for i, r := range newest {
		got := page.Approvals[i]
		require.Equal(m.t, r.want.ID, got.ID, "newest first")
		require.NoError(m.t, got.Check())
		r.expire(now)
		m.settle(r, got, now)
		require.Empty(m.t, gocmp.Diff(m.view(r.want), m.view(got)))
		m.checkHistory(r, got)
		m.checkCards(r, got)
		r.seen = got
	}
}

// settle accepts either answer where time has ended a grant or a claim and no
// sweep has said so yet.
func (m *model) settle(r *modelRow, got core.Approval, now core.Millis) {
	if r.lapsed(now) && got.Execution == core.ExecutionVoided {
		r.void(core.VoidLapsed)
	}
	if r.silent(now) && got.Execution == core.ExecutionUnknown {
		r.want.Execution, r.want.OutcomeAt = core.ExecutionUnknown, got.OutcomeAt
	}
}

// checkHistory requires that a terminal answer stays and revisions only rise, and
// that each transition wrote exactly one event.
func (m *model) checkHistory(r *modelRow, got core.Approval) {
	m.t.Helper()
	if r.seen.ID != "" {
		require.GreaterOrEqual(m.t, got.Revision, r.seen.Revision)
		require.GreaterOrEqual(m.t, got.CardRevision, r.seen.CardRevision)
		require.GreaterOrEqual(m.t, got.UpdatedAt, r.seen.UpdatedAt)
		if got.Revision == r.seen.Revision {
			require.True(m.t, gocmp.Equal(r.seen, got), "a change raises the revision")
			return
		}
		if r.seen.Status.Terminal() {
			require.Equal(m.t, r.seen.Status, got.Status)
			require.Equal(m.t, r.seen.Resolution, got.Resolution, "a terminal answer changed")
		} else {
			require.Greater(m.t, got.CardRevision, r.seen.CardRevision, "a card tells of the answer")
		}
	}
	require.Equal(m.t, eventsOf(got), m.changes(got.ID))
}

// eventsOf is the history that a row's state implies.
func eventsOf(a core.Approval) []core.EventType {
	events := []core.EventType{core.EventRequested}
	if a.Origin == core.OriginAuto {
		events = []core.EventType{core.EventAutoGranted}
	} else if a.Status != core.StatusPending {
		events = append(events, core.EventOf(a.Status, a.Origin))
	}
	switch a.Execution {
	case core.ExecutionVoided:
		events = append(events, core.EventVoided)
	case core.ExecutionClaimed:
		events = append(events, core.EventConsumed)
	case core.ExecutionSucceeded, core.ExecutionFailed, core.ExecutionUnknown:
		events = append(events, core.EventConsumed, core.EventOutcome)
	case core.ExecutionNone, core.ExecutionUnclaimed:
	}
	return events
}

// checkCards requires the level-triggered rule and that nothing goes backwards.
func (m *model) checkCards(r *modelRow, a core.Approval) {
	m.t.Helper()
	if a.Origin == core.OriginAuto {
		return
	}
	rows, err := m.DeliveriesOf(m.ctx, a.ID)
	require.NoError(m.t, err)
	for _, d := range rows {
		was, known := r.cards[d.ID]
		r.cards[d.ID] = d
		if known {
			require.GreaterOrEqual(m.t, d.Fence, was.Fence)
			require.GreaterOrEqual(m.t, d.Generation, was.Generation)
			if d.Generation == was.Generation {
				if d.State == core.DeliveryPlanned || d.State == core.DeliverySending { // A receipt starts them anew.
					require.GreaterOrEqual(m.t, d.Attempts, was.Attempts)
				}
				reopened := was.Outcome == core.OutcomeReplaced && a.CardRevision > was.ShownRevision
				require.True(m.t, was.State != core.DeliveryClosed || reopened || gocmp.Equal(was, d), "a closed row changed")
			}
		}
		if d.State == core.DeliveryClosed {
			require.NotEqual(m.t, core.OutcomeNone, d.Outcome)
			require.Zero(m.t, d.DueAt)
			require.Empty(m.t, d.LeaseHolder)
			if d.Outcome == core.OutcomeReplaced {
				require.Equal(m.t, a.CardRevision, d.ShownRevision, "a closed message shows something old")
			}
			continue
		}
		require.Equal(m.t, core.OutcomeNone, d.Outcome)
		if d.NeedsWork(&a) && d.LeaseHolder == "" {
			require.NotZero(m.t, d.DueAt, "a card that needs work would never be found")
			require.GreaterOrEqual(m.t, d.DueAt, d.AnswerUntil, "an answer may still paint it")
		}
	}
}
