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
	decided, err := write(ctx, s, Foreground, func(t *tx) (core.Decided, error) { return t.decide(d) })
	if err != nil {
		return core.Decided{}, fmt.Errorf("decide approval: %w", err)
	}
	return decided, nil
}

func (t *tx) decide(d core.Decide) (core.Decided, error) {
	refusal := t.guard(d.Guard) // The person is locked before the approval.
	if refusal != nil && !errors.Is(refusal, core.ErrNotFound) {
		return core.Decided{}, refusal
	}
	a, err := t.unchanged(d.ID, d.Seen)
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
	err = t.end(&a, d.To, d.AttemptID)
	if err == nil && d.AnswerDelay > 0 && d.To.DeliveryID != "" {
		err = t.awaitAnswer(a.ID, d.To.DeliveryID, d.AnswerDelay)
	}
	return core.Decided{Approval: a, Applied: err == nil}, err
}

// unchanged is the row, taken from what the caller has seen if that is still its
// revision: the decoding of a row costs as much as the change of it.
func (t *tx) unchanged(id string, seen *core.Approval) (core.Approval, error) {
	if seen != nil && seen.ID == id && !t.rows.Locks {
		var revision int64
		if err := t.One(sqlRevision, []any{id}, &revision); err != nil {
			return core.Approval{}, err
		}
		if revision == seen.Revision {
			return *seen, nil
		}
	}
	return t.find(id)
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
