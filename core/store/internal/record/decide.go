package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Decide is the one guarded write from pending to terminal. It runs under the
// writer's lock, so the row that it reads is the row that it changes: guard, row,
// change, deliveries, event. Errors: core.ErrNotFound, core.ErrCorrupt,
// core.ErrConflict (the click cannot be adopted), core.ErrInvalid (a state that
// this row cannot move to); none of them changed anything.
func (s *Store) Decide(ctx context.Context, d core.Decide) (core.Decided, error) {
	seen, err := s.foresee(d)
	if err != nil {
		return core.Decided{}, fmt.Errorf("decide approval: %w", err)
	}
	decided, err := write(ctx, s, Foreground, func(t *tx) (core.Decided, error) { return t.decide(d, seen) })
	if err != nil {
		return core.Decided{}, fmt.Errorf("decide approval: %w", err)
	}
	return decided, nil
}

// foreseen is what comes of a row that still is as the caller saw it, as far as it can
// be made before the write: whatever is done inside of it, all others wait for.
type foreseen struct {
	possible bool
	event    string // The payload.
}

// foresee prepares decideAsSeen. Where rows are locked it is no gain: the locks are
// statements of their own.
func (s *Store) foresee(d core.Decide) (f foreseen, err error) {
	if s.rows.Locks || d.Seen == nil || d.Seen.ID != d.ID || d.Seen.Status != core.StatusPending ||
		d.Adopt != nil || !d.To.Status.Terminal() || RuleFits(&d, d.Seen) != nil {
		return f, nil
	}
	b, done := s.rows.buffer()
	defer done()
	a := &b.row.a
	*a = *d.Seen
	End(a, d.To, d.AttemptID, a.UpdatedAt) // The time is not part of the event's payload.
	a.Revision++
	f.event, err = EventBody(a)
	f.possible = err == nil
	return f, err
}

func (t *tx) decide(d core.Decide, f foreseen) (core.Decided, error) {
	if f.possible && !d.Seen.Due(t.now) {
		if a, done, err := t.decideAsSeen(d, f.event); done || err != nil {
			return core.Decided{Approval: a, Applied: done}, err
		}
	}
	if d.Rule != nil { // The policy is locked before the person.
		if err := t.holdPolicy(Update, d.Rule.Rule.Runtime, d.Rule.Rule.Agent); err != nil {
			return core.Decided{}, err
		}
	}
	refusal := t.guard(d.Guard) // The person is locked before the approval.
	if refusal != nil && !errors.Is(refusal, core.ErrNotFound) {
		return core.Decided{}, refusal
	}
	a, err := t.find(d.ID)
	if err != nil {
		return core.Decided{}, err
	}
	if a.Status.Terminal() { // Somebody was first; a repeated attempt finds its own.
		err := t.adoptAnyway(a.ID, d.Adopt)
		return core.Decided{Approval: a, Applied: d.AttemptID != "" && a.AttemptID == d.AttemptID}, err
	}
	if refusal != nil {
		return core.Decided{}, refusal
	}
	if a.Due(t.now) { // A deadline beats every answer, a denial too (conformance 17).
		if err := t.adoptAnyway(a.ID, d.Adopt); err != nil {
			return core.Decided{}, err
		}
		err := t.expire(&a)
		return core.Decided{Approval: a, Expired: err == nil}, err
	}
	if d.Adopt != nil {
		id, err := t.adopt(a.ID, d.Adopt)
		if err != nil {
			return core.Decided{}, err
		}
		d.To.DeliveryID = id
	}
	if err := RuleFits(&d, &a); err != nil {
		return core.Decided{}, err
	}
	err = t.end(&a, d.To, d.AttemptID)
	if err == nil {
		err = t.ownRule(d)
	}
	if err == nil {
		err = t.awaitAnswerOf(d)
	}
	return core.Decided{Approval: a, Applied: err == nil}, err
}

// decideAsSeen is the whole guard in the one statement that writes: the row, what it
// asks for and the person are as the caller saw them, which is how it nearly always is. Otherwise
// nothing is changed, and decide finds out why.
func (t *tx) decideAsSeen(d core.Decide, event string) (a core.Approval, done bool, err error) {
	a = *d.Seen
	End(&a, d.To, d.AttemptID, max(t.now, a.UpdatedAt))
	if d.Guard.PersonID == "" {
		done, err = t.put(&a, t.rows.endSeen, true, a.ActionHash, a.Fingerprint)
	} else {
		done, err = t.put(&a, t.rows.endBy, true, a.ActionHash, a.Fingerprint, d.Guard.PersonID, d.Guard.PersonRevision)
	}
	switch {
	case errors.Is(err, core.ErrInvalid): // Whoever came first is told before that.
		return core.Approval{}, false, nil
	case err != nil || !done:
		return core.Approval{}, false, err
	}
	if err = t.tell(&a, core.EventOf(a.Status, a.Origin), true, event); err == nil {
		err = t.ownRule(d)
	}
	if err == nil {
		err = t.awaitAnswerOf(d)
	}
	return a, err == nil, err
}

// ownRule makes the rule of a decision that won.
func (t *tx) ownRule(d core.Decide) error {
	if d.Rule == nil {
		return nil
	}
	_, err := t.makeRule(d.Rule)
	return err
}

// awaitAnswerOf leaves the clicked card alone if the answer to the click shows the
// outcome.
func (t *tx) awaitAnswerOf(d core.Decide) error {
	if d.AnswerDelay <= 0 || d.To.DeliveryID == "" {
		return nil
	}
	return t.awaitAnswer(d.ID, d.To.DeliveryID, d.AnswerDelay)
}

// adoptAnyway lets a click that decides nothing still tie its message to the
// ledger, so that the message is edited to the truth.
func (t *tx) adoptAnyway(approvalID string, a *core.Adopt) error {
	if a == nil {
		return nil
	}
	if _, err := t.adopt(approvalID, a); err != nil && !errors.Is(err, core.ErrConflict) {
		return err
	}
	return nil
}

// guard checks that the person still has the authority that the caller saw. Any
// change of role, enabling, identities or ownership raises the revision. Errors:
// core.ErrNotFound.
func (t *tx) guard(g core.Guard) error {
	if g.PersonID == "" {
		return nil
	}
	p, err := t.personLocked(g.PersonID, Share)
	if err == nil && (p.Disabled || p.Revision != g.PersonRevision) {
		err = core.ErrNotFound
	}
	return err
}
