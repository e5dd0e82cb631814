package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core"
)

// RunModel lets random walks of commands, clock jumps and reopenings run against
// a model of the record, and compares every row after every step. All walks share
// one store that grows: each works in a runtime and with a bot of its own, as
// programs in one deployment do. The figures of rapid's own flags (100 walks of 30
// steps on average) take a few seconds.
func RunModel(t *testing.T, open Factory) {
	t.Helper()
	h := open(t)
	people := newKit(t, h)
	for _, id := range modelPeople {
		people.person(id, core.RoleReviewer)
	}
	walks := 0
	rapid.Check(t, func(rt *rapid.T) {
		walks++
		m := newModel(t, rt, h, walks)
		rt.Repeat(map[string]func(*rapid.T){
			"":         m.step(m.check),
			"abort":    m.step(m.abort),
			"adopt":    m.step(m.adopt),
			"advance":  m.step(m.advance),
			"answered": m.step(m.answered),
			"ask":      m.step(m.ask),
			"ask more": m.step(m.ask),
			"begin":    m.step(m.begin),
			"claim":    m.step(m.claim),
			"claim it": m.step(m.claim),
			"click":    m.step(m.click),
			"close":    m.step(m.close),
			"complete": m.step(m.complete),
			"lease":    m.step(m.lease),
			"lease it": m.step(m.lease),
			"register": m.step(m.register),
			"release":  m.step(m.release),
			"reopen":   m.step(m.reopen),
			"replan":   m.step(m.replan),
			"report":   m.step(m.report),
			"resolve":  m.step(m.resolve),
			"sweep":    m.step(m.sweep),
			"unseat":   m.step(m.unseat),
			"withdraw": m.step(m.withdraw),
		})
	})
	people.Store = h.Store() // The walks have opened it anew.
	people.toldOnce()
}

// The people who answer in the walks. None has a device: the page is no route.
var modelPeople = [...]string{"amy", "bob", "eve"} //nolint:gochecknoglobals // A constant list.

// maxRows bounds a walk, so that a step reads little.
const maxRows = 6

// modelRow is one approval as the model believes it to be.
type modelRow struct {
	want    core.Approval
	seen    core.Approval            // As read after the last step; its id is "" before.
	cards   map[string]core.Delivery // As read after the last step.
	token   string                   // The runner's token, once claimed.
	content string                   // What its key stands for.
}

// model is one walk.
type model struct {
	*kit
	rt      *rapid.T
	runtime string
	account string
	start   core.Millis

	rows     []*modelRow
	newest   map[string]*modelRow // By idempotency key.
	aborted  map[string]bool
	epoch    int64 // Of the one instance; 0 before it registered.
	boots    int
	held     []core.Work
	people   map[string]core.Principal
	outdated map[string]core.Principal
}

func newModel(t *testing.T, rt *rapid.T, h Harness, walk int) *model {
	k := &kit{t: rt, tb: t, ctx: t.Context(), h: h, Store: h.Store(), next: walk * 1_000_000}
	m := &model{
		kit: k, rt: rt, runtime: fmt.Sprintf("walk-%d", walk), account: fmt.Sprintf("bot-of-walk-%d", walk), start: k.now(),
		newest: map[string]*modelRow{}, aborted: map[string]bool{},
		people: map[string]core.Principal{}, outdated: map[string]core.Principal{},
	}
	for _, id := range modelPeople {
		m.people[id] = k.who(id)
	}
	return m
}

// step gives an action the rapid.T of its own call.
func (m *model) step(action func()) func(*rapid.T) {
	return func(rt *rapid.T) {
		m.rt, m.t = rt, rt
		action()
	}
}

func pick[T any](m *model, label string, from ...T) T {
	if len(from) == 0 {
		m.rt.Skip("nothing to choose from")
	}
	return rapid.SampledFrom(from).Draw(m.rt, label)
}

// chance is true in about one of n draws.
func (m *model) chance(label string, n int) bool {
	return rapid.IntRange(1, n).Draw(m.rt, label) == n
}

// row picks any row of the walk.
func (m *model) row() *modelRow {
	numbers := make([]int, len(m.rows))
	for i := range numbers {
		numbers[i] = i
	}
	return m.rows[pick(m, "row", numbers...)]
}

// lapsed reports that time has ended the grant, whether or not anybody has looked.
func (r *modelRow) lapsed(now core.Millis) bool {
	return r.want.Execution == core.ExecutionUnclaimed && r.want.ClaimBy.Reached(now)
}

// silent reports that the runner's time to report is over.
func (r *modelRow) silent(now core.Millis) bool {
	return r.want.Execution == core.ExecutionClaimed && r.want.OutcomeBy.Reached(now)
}

// end moves a pending row to a terminal state.
func (r *modelRow) end(now core.Millis, to core.Terminal) {
	r.want.Status, r.want.Decision, r.want.Reason = to.Status, to.Decision, to.Reason
	r.want.ResolverKind, r.want.ResolverID, r.want.ResolvedAt = to.ResolverKind, to.ResolverID, now
	if to.Status == core.StatusAllowed {
		r.want.Execution = core.ExecutionUnclaimed
		r.want.ClaimBy = now + r.want.Continuation.ClaimWindow()
	}
}

func (r *modelRow) void(reason core.VoidReason) {
	r.want.Execution, r.want.VoidReason = core.ExecutionVoided, reason
}

// expire applies the deadline in the model; every read of the store does.
func (r *modelRow) expire(now core.Millis) bool {
	if !r.want.Due(now) {
		return false
	}
	r.end(now, core.Terminal{Status: core.StatusExpired, Reason: core.ReasonTimeout, ResolverKind: core.ResolverSystem})
	return true
}

// took requires that the store's answer is the row as the model has it.
func (m *model) took(r *modelRow, got core.Approval) {
	m.t.Helper()
	require.Equal(m.t, r.want.Status, got.Status)
	require.Equal(m.t, r.want.Reason, got.Reason)
	require.Equal(m.t, r.want.Execution, got.Execution)
}
