package record

import (
	"fmt"

	"github.com/saysohq/sayso/core"
)

// find locks a row and reads it, by id. The time of the write is never before the
// last change of the row. A damaged row that waits is ended, and returned so. Errors:
// core.ErrNotFound, core.ErrCorrupt.
func (t *tx) find(id string) (core.Approval, error) {
	a, err := findApproval(locking{t}, t.rows, t.rows.lockByID, id)
	switch {
	case waitsDamaged(&a, err):
		return t.bury(&a)
	case err == nil:
		t.now = max(t.now, a.UpdatedAt)
	}
	return a, err
}

// waitsDamaged reports whether a read found a damaged row that waits.
func waitsDamaged(a *core.Approval, err error) bool {
	return isCorrupt(err) && a.Status == core.StatusPending
}

// locking is the querier of a write's reads that may wait for a lock.
type locking struct{ *tx }

// Each implements Querier.
func (l locking) Each(query string, args []any, fn func(scan Row) error) error {
	return l.lock(query, args, fn)
}

// findApproval reads one row.
func findApproval(q Querier, rows *Table, query string, args ...any) (core.Approval, error) {
	var a core.Approval
	found := false
	var corrupt error
	err := q.Each(query, args, func(scan Row) (err error) {
		found = true
		a, err = rows.Scan(scan)
		if isCorrupt(err) {
			corrupt, err = err, nil
		}
		return err
	})
	switch {
	case err != nil:
		return core.Approval{}, err
	case !found:
		return core.Approval{}, core.ErrNotFound
	}
	return a, corrupt
}

// save writes what a transition made of a row: never an impossible tuple, never
// over a row that moved on. It stamps the revisions and the time, marks the
// deliveries due when the card changes, and records the event.
func (t *tx) save(a *core.Approval, c change, e core.EventType, card bool) error {
	done, err := t.put(a, c, card)
	if err == nil && !done {
		err = fmt.Errorf("change approval: %w", core.ErrConflict)
	}
	if err != nil {
		return err
	}
	return t.tell(a, e, card, "")
}

// put stamps a row and writes it, if it is still at its revision and whatever else
// the change asks for holds; guard has the parameters of that. It reports whether
// it was.
func (t *tx) put(a *core.Approval, c change, card bool, guard ...any) (bool, error) {
	before := a.Revision
	a.Revision++
	if card {
		a.CardRevision++
	}
	t.now = max(t.now, a.UpdatedAt)
	a.UpdatedAt = t.now
	if a.CheckChange() != nil { // What was asked for cannot be; the stored row is sound.
		return false, fmt.Errorf("change approval: %w", core.ErrInvalid)
	}
	b, done := t.rows.buffer()
	defer done()
	b.row.a = *a
	if err := b.row.encodeMoving(); err != nil {
		return false, fmt.Errorf("change approval: %w", core.ErrInvalid)
	}
	n, err := t.Exec(c.query, c.args(b, a.ID, before, guard)...)
	return n == 1, err
}

// tell marks the deliveries of a changed row due and records the event; see event.
func (t *tx) tell(a *core.Approval, e core.EventType, card bool, payload string) error {
	if card && !e.Ends() { // Chats were told how it ended, and there is more to tell.
		if _, err := t.Exec(sqlReopenShown, a.ID); err != nil {
			return err
		}
	}
	if card {
		if _, err := t.Exec(t.rows.markDue, int64(t.now), a.ID, int64(core.TellAfter)); err != nil {
			return err
		}
	}
	return t.event(a, e, payload)
}

// Expiry is how a row ends whose deadline has come. Nobody answered: there is no
// name, and no attempt that won.
func Expiry() core.Terminal {
	return core.Terminal{Status: core.StatusExpired, Reason: core.ReasonTimeout, ResolverKind: core.ResolverSystem}
}

// expire ends a pending row whose deadline has come.
func (t *tx) expire(a *core.Approval) error { return t.end(a, Expiry(), "") }

// end moves a pending row to its terminal state.
func (t *tx) end(a *core.Approval, to core.Terminal, attempt string) error {
	if a.Status != core.StatusPending || !to.Status.Terminal() {
		return fmt.Errorf("end approval: %w", core.ErrInvalid)
	}
	t.now = max(t.now, a.UpdatedAt)
	End(a, to, attempt, t.now)
	return t.save(a, t.rows.end, core.EventOf(a.Status, a.Origin), true)
}

// End makes of a pending row what a terminal state makes of it, revisions and the
// time of the change aside.
func End(a *core.Approval, to core.Terminal, attempt string, now core.Millis) {
	a.Status = to.Status
	a.Resolution = core.Resolution{
		Decision: to.Decision, Reason: to.Reason, Note: to.Note, ByMessage: to.ByMessage,
		DecisionKey: to.DecisionKey, AttemptID: attempt, ResolvedAt: now,
		ResolverKind: to.ResolverKind, ResolverID: to.ResolverID, ResolverName: to.ResolverName,
		Surface: to.Surface, DeliveryID: to.DeliveryID, Proof: to.Proof, PartialView: to.PartialView,
	}
	a.Grant = grantOf(a, now)
}

// grantOf is the grant of a row that has just become terminal, or is pending.
func grantOf(a *core.Approval, now core.Millis) core.Grant {
	if a.Status != core.StatusAllowed {
		return core.Grant{Execution: core.ExecutionNone}
	}
	return core.Grant{Execution: core.ExecutionUnclaimed, ClaimBy: now + a.Continuation.ClaimWindow()}
}

// cancel ends a pending row because of its own runtime.
func (t *tx) cancel(a *core.Approval, why core.Reason) error {
	if a.Due(t.now) { // Reached deadlines come first, whatever happens next.
		return t.expire(a)
	}
	return t.end(a, core.Terminal{
		Status: core.StatusCancelled, Reason: why,
		ResolverKind: core.ResolverRuntime, ResolverID: a.Runtime, ResolverName: a.Runtime,
	}, "")
}

// void takes an unclaimed grant back. The card says so: it did not happen.
func (t *tx) void(a *core.Approval, why core.VoidReason) error {
	if a.ClaimBy.Reached(t.now) {
		why = core.VoidLapsed
	}
	a.Execution, a.VoidReason = core.ExecutionVoided, why
	return t.save(a, t.rows.grant, core.EventVoided, true)
}

// withdraw takes back whatever of a row can still be taken back, and reports
// whether there was anything.
func (t *tx) withdraw(a *core.Approval, why core.Reason, void core.VoidReason) (bool, error) {
	switch {
	case a.Status == core.StatusPending:
		return true, t.cancel(a, why)
	case a.Execution == core.ExecutionUnclaimed:
		return true, t.void(a, void)
	}
	return false, nil
}

func hintOf(a *core.Approval) core.Hint {
	return core.Hint{ApprovalID: a.ID, Revision: a.Revision, Deliveries: true}
}
