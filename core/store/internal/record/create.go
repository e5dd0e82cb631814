package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
)

func isCorrupt(err error) bool { return errors.Is(err, core.ErrCorrupt) }

// Create writes the approval, its detail, its event and its planned deliveries,
// all or nothing. See core.Approvals for its answers; it also returns
// core.ErrInvalid for a draft that the state machine cannot produce. With
// core.ErrIdempotencyConflict and core.ErrIDTaken the row in the way comes along.
func (s *Store) Create(ctx context.Context, c core.NewApproval) (core.Created, error) {
	created, err := write(ctx, s, Foreground, func(t *tx) (core.Created, error) { return t.create(c) })
	if err != nil {
		return created, fmt.Errorf("create approval: %w", err)
	}
	return created, nil
}

func (t *tx) create(c core.NewApproval) (core.Created, error) {
	a := c.Approval
	if err := Bounded(&c); err != nil {
		return core.Created{}, err
	}
	if err := t.holdGrounds(&c); err != nil {
		return core.Created{}, err
	}
	if err := t.admit(&a); err != nil {
		return core.Created{}, err
	}
	limited := c.MaxPending > 0 && a.Status == core.StatusPending && !c.OnlyExisting
	if limited { // Until then nobody else of the runtime asks: the count is exact.
		if err := t.holdName(Update, pendingKind, a.Runtime); err != nil {
			return core.Created{}, err
		}
	}
	if err := t.hold(sqlHoldPredecessors, a.ID, a.Supersedes, a.Runtime, a.IdempotencyKey, a.StickyOf); err != nil {
		return core.Created{}, err
	}
	existing, err := t.existing(&a)
	if err != nil || existing.Existing {
		return existing, err
	}
	if c.OnlyExisting {
		return core.Created{}, core.ErrNotFound
	}
	if limited {
		if err := t.underLimit(&a, c.MaxPending); err != nil {
			return core.Created{}, err
		}
	}
	if c.Policy != nil {
		if err := t.relies(c.Policy, &a); err != nil {
			return core.Created{}, err
		}
	}
	hints, err := t.supersede(&a)
	if err != nil {
		return core.Created{}, err
	}
	hints = append(existing.Hints, hints...)
	if err := t.insert(&a, c); err != nil {
		return core.Created{}, err
	}
	return core.Created{Approval: a, Hints: hints}, nil
}

// holdGrounds locks what a request relies on and no row stands for: its agent's policy,
// then its instance.
func (t *tx) holdGrounds(c *core.NewApproval) error {
	a := &c.Approval
	if c.Policy != nil {
		strength, err := t.ruleStrength(c.Policy)
		if err != nil {
			return err
		}
		if err := t.holdPolicy(strength, a.Runtime, a.Agent); err != nil {
			return err
		}
	}
	if a.Instance == "" {
		return nil
	}
	return t.holdName(Share, "instance", a.Runtime, a.Instance)
}

// Bounded checks what the record's own check does not know about.
func Bounded(c *core.NewApproval) error {
	switch {
	case core.ValidRef(c.Approval.ID): // It could collide with one (R6).
		return core.Invalid("id", "must not have the form of a reference")
	case len(c.Detail.Text) > core.MaxDetail:
		return core.Invalid("detail", "must be at most %d bytes", core.MaxDetail)
	case len(c.Approval.Audience) > core.MaxAudience:
		return core.Invalid("audience", "must be at most %d session keys", core.MaxAudience)
	case len(c.Approval.Reviewers) > core.MaxReviewers:
		return core.Invalid("reviewers", "must be at most %d people", core.MaxReviewers)
	}
	return guarded(c)
}

// admit registers the run, then checks run and epoch: neither an aborted run nor
// a replaced instance slips anything in (K1).
func (t *tx) admit(a *core.Approval) error {
	if a.RunID != "" {
		if _, err := t.Exec(sqlInsertRun, a.Runtime, a.RunID, int64(t.now)); err != nil {
			return err
		}
		aborted, err := t.runAborted(a.Runtime, a.RunID)
		if err != nil {
			return err
		}
		if aborted {
			return core.ErrRunAborted
		}
	}
	if a.Instance == "" {
		return nil
	}
	epoch, err := t.epoch(a.Runtime, a.Instance)
	if err != nil {
		return err
	}
	if a.Epoch != epoch {
		return core.ErrStaleEpoch
	}
	return nil
}

func (t *tx) runAborted(runtime, run string) (bool, error) {
	var at int64
	err := t.lock(t.rows.run[Share], []any{runtime, run}, func(scan Row) error { return scan(&at) })
	return at != 0, err
}

// epoch is the current epoch of an instance; 0 when it never registered.
func (t *tx) epoch(runtime, instance string) (int64, error) {
	var epoch int64
	err := t.One(sqlReadEpoch, []any{runtime, instance}, &epoch)
	return epoch, err
}

// existing finds the row that an id or an idempotency key already stands for. It
// prepares a as the successor of a row that nobody answered; hints of what it
// changed on the way come back with Existing false.
func (t *tx) existing(a *core.Approval) (core.Created, error) {
	found, err := t.find(a.ID)
	switch {
	case err == nil && found.Runtime != a.Runtime: // No runtime ever sees another's row (R155).
		return core.Created{}, core.ErrIDTaken
	case err == nil && found.RequestHash == a.RequestHash:
		return t.present(found)
	case err == nil:
		return core.Created{Approval: found, Existing: true}, core.ErrIDTaken
	case isCorrupt(err):
		return core.Created{}, core.ErrIDTaken
	case !errors.Is(err, core.ErrNotFound):
		return core.Created{}, err
	}
	var spent int64
	if err := t.One(sqlIDSpent, []any{a.ID}, &spent); err != nil {
		return core.Created{}, err
	}
	if spent > 0 { // Pruned long ago, taken for ever (K33).
		return core.Created{}, core.ErrIDTaken
	}
	if a.IdempotencyKey == "" {
		return core.Created{}, nil
	}
	return t.existingByKey(a)
}

func (t *tx) existingByKey(a *core.Approval) (core.Created, error) {
	newest, err := findApproval(t, t.rows, t.rows.byKey, a.Runtime, a.IdempotencyKey)
	if waitsDamaged(&newest, err) {
		newest, err = t.find(newest.ID)
	}
	switch {
	case errors.Is(err, core.ErrNotFound):
		a.KeyGeneration = 1
		return core.Created{}, nil
	case err != nil:
		return core.Created{}, err
	case newest.RequestHash != a.RequestHash:
		return core.Created{Approval: newest, Existing: true}, core.ErrIdempotencyConflict
	}
	present, err := t.present(newest)
	if err != nil {
		return present, err
	}
	before, err := t.livedBefore(&present.Approval)
	if err != nil || !before && !unanswered(&present.Approval) {
		return present, err
	}
	a.KeyGeneration = present.Approval.KeyGeneration + 1
	a.Supersedes = present.Approval.ID
	return core.Created{Hints: present.Hints}, nil
}

// present is an existing row with its deadline applied.
func (t *tx) present(a core.Approval) (core.Created, error) {
	c := core.Created{Existing: true}
	if a.Due(t.now) {
		if err := t.expire(&a); err != nil {
			return core.Created{}, err
		}
		c.Hints = []core.Hint{hintOf(&a)}
	}
	c.Approval = a
	return c, nil
}

// unanswered reports whether a repeated call deserves a new question: nobody
// answered the one before, and its runtime has lost it.
func unanswered(a *core.Approval) bool {
	switch a.Status {
	case core.StatusExpired:
		return true
	case core.StatusCancelled:
		return a.Reason == core.ReasonRuntimeRestart || a.Reason == core.ReasonStorageRestored
	case core.StatusPending, core.StatusAllowed, core.StatusDenied:
	}
	return false
}

// pendingKind is the kind of name under which the number of a runtime's open questions
// is locked.
const pendingKind = "pending"

// PendingName is the name under which the number of a runtime's open questions is
// locked: shared by writes that need not know it to the last one, alone by others.
func PendingName(runtime string) string { return LockName(pendingKind, runtime) }

func (t *tx) underLimit(a *core.Approval, limit int) error {
	var pending int
	if err := t.One(sqlCountPending, []any{a.Runtime, int64(t.now)}, &pending); err != nil {
		return err
	}
	if pending >= limit {
		return core.ErrPendingLimit
	}
	return nil
}

// supersede takes back what the new row replaces, if it is of the same agent of the
// same runtime and can still be taken back. Anything else is left alone, and nothing is said about
// it (R155).
func (t *tx) supersede(a *core.Approval) ([]core.Hint, error) {
	if a.Supersedes == "" {
		return nil, nil
	}
	old, err := t.find(a.Supersedes)
	if errors.Is(err, core.ErrNotFound) || isCorrupt(err) {
		return nil, nil
	}
	if err != nil || old.Runtime != a.Runtime || old.Agent != a.Agent {
		return nil, err
	}
	changed, err := t.withdraw(&old, core.ReasonSuperseded, core.VoidSuperseded)
	if err != nil || !changed {
		return nil, err
	}
	return []core.Hint{hintOf(&old)}, nil
}

// Stamp gives a draft its times and revisions and checks what it has become. Errors:
// core.ErrInvalid.
func Stamp(a *core.Approval, c core.NewApproval, now core.Millis) error {
	a.CreatedAt, a.UpdatedAt, a.ExpiresAt = now, now, now+c.ExpiresIn
	a.Revision, a.CardRevision = 1, 1
	a.DetailBytes, a.DetailOmitted = int64(len(c.Detail.Text)), c.Detail.Omitted
	if a.Status.Terminal() {
		a.ResolvedAt = now
	}
	a.Grant = grantOf(a, now)
	if a.Check() != nil {
		return core.Invalid("approval", "is not a state that a request can begin in")
	}
	return nil
}

// insert stamps the draft and writes it with everything that belongs to it.
func (t *tx) insert(a *core.Approval, c core.NewApproval) error {
	if err := Stamp(a, c, t.now); err != nil {
		return err
	}
	row, err := t.rows.Values(a)
	if err != nil {
		return err
	}
	if _, err := t.Exec(t.rows.insert, row...); err != nil {
		return err
	}
	if c.Detail.Text != "" || c.Detail.Omitted > 0 {
		if _, err := t.Exec(sqlInsertDetail, a.ID, c.Detail.Text, c.Detail.Omitted); err != nil {
			return err
		}
	}
	if a.Status == core.StatusPending {
		for i := range c.Deliveries {
			if err := t.plan(a, &c.Deliveries[i]); err != nil {
				return err
			}
		}
	}
	return t.event(a, core.EventOf(a.Status, a.Origin), "")
}
