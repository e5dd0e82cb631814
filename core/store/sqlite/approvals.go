package sqlite

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
	created, err := write(ctx, s, foreground, func(t *tx) (core.Created, error) { return t.create(c) })
	if err != nil {
		return created, fmt.Errorf("create approval: %w", err)
	}
	return created, nil
}

func (t *tx) create(c core.NewApproval) (core.Created, error) {
	a := c.Approval
	if err := bounded(&c); err != nil {
		return core.Created{}, err
	}
	if err := t.admit(&a); err != nil {
		return core.Created{}, err
	}
	existing, err := t.existing(&a)
	if err != nil || existing.Existing {
		return existing, err
	}
	if c.OnlyExisting {
		return core.Created{}, core.ErrNotFound
	}
	if err := t.underLimit(&a, c.MaxPending); err != nil {
		return core.Created{}, err
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

// bounded checks what the record's own check does not know about.
func bounded(c *core.NewApproval) error {
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
	return nil
}

// admit registers the run, then checks run and epoch: neither an aborted run nor
// a replaced instance slips anything in (K1).
func (t *tx) admit(a *core.Approval) error {
	if a.RunID != "" {
		if _, err := t.exec(sqlInsertRun, a.Runtime, a.RunID, int64(t.now)); err != nil {
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
	err := t.one(sqlReadRun, []any{runtime, run}, &at)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	return at != 0, err
}

// epoch is the current epoch of an instance; 0 when it never registered.
func (t *tx) epoch(runtime, instance string) (int64, error) {
	var epoch int64
	err := t.one(sqlReadEpoch, []any{runtime, instance}, &epoch)
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
	if err := t.one(sqlIDSpent, []any{a.ID}, &spent); err != nil {
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
	newest, err := findApproval(t, t.conn.table, t.conn.table.byKey, a.Runtime, a.IdempotencyKey)
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
	if err != nil || !unanswered(&present.Approval) {
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

func (t *tx) underLimit(a *core.Approval, limit int) error {
	if limit <= 0 || a.Status != core.StatusPending {
		return nil
	}
	var pending int
	if err := t.one(sqlCountPending, []any{a.Runtime, int64(t.now)}, &pending); err != nil {
		return err
	}
	if pending >= limit {
		return core.ErrPendingLimit
	}
	return nil
}

// supersede takes back what the new row replaces, if it is the runtime's own and
// can still be taken back. Anything else is left alone, and nothing is said about
// it (R155).
func (t *tx) supersede(a *core.Approval) ([]core.Hint, error) {
	if a.Supersedes == "" {
		return nil, nil
	}
	old, err := t.find(a.Supersedes)
	if errors.Is(err, core.ErrNotFound) || isCorrupt(err) {
		return nil, nil
	}
	if err != nil || old.Runtime != a.Runtime {
		return nil, err
	}
	changed, err := t.withdraw(&old, core.ReasonSuperseded, core.VoidSuperseded)
	if err != nil || !changed {
		return nil, err
	}
	return []core.Hint{hintOf(&old)}, nil
}

// insert stamps the draft and writes it with everything that belongs to it.
func (t *tx) insert(a *core.Approval, c core.NewApproval) error {
	a.CreatedAt, a.UpdatedAt, a.ExpiresAt = t.now, t.now, t.now+c.ExpiresIn
	a.Revision, a.CardRevision = 1, 1
	a.DetailBytes, a.DetailOmitted = int64(len(c.Detail.Text)), c.Detail.Omitted
	if a.Status.Terminal() {
		a.ResolvedAt = t.now
	}
	a.Grant = grantOf(a, t.now)
	if a.Check() != nil {
		return core.Invalid("approval", "is not a state that a request can begin in")
	}
	row := approvalRow{a: *a}
	if err := row.encode(); err != nil {
		return err
	}
	if _, err := t.exec(t.conn.table.insert, values(t.conn.table.all, &row)...); err != nil {
		return err
	}
	if c.Detail.Text != "" || c.Detail.Omitted > 0 {
		if _, err := t.exec(sqlInsertDetail, a.ID, c.Detail.Text, c.Detail.Omitted); err != nil {
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
	return t.event(a, core.EventOf(a.Status, a.Origin))
}

// Approval reads one row by id or by reference, after applying its deadline: a
// due row is expired first and returned so. Errors: core.ErrNotFound (no such row,
// or outside the lookup's restriction), core.ErrCorrupt.
func (s *Store) Approval(ctx context.Context, l core.Lookup) (core.Approval, error) {
	query, args, err := s.lookup(l)
	if err != nil {
		return core.Approval{}, err
	}
	a, err := findApproval(s.read(ctx), s.rows, query, args...)
	if err == nil && a.Due(s.clock.now()) {
		a, err = s.overdue(ctx, a.ID, l.Expired)
	}
	if err != nil {
		return core.Approval{}, fmt.Errorf("read approval: %w", err)
	}
	return a, nil
}

// overdue reads a row whose deadline has come, and applies it. It says so in expired
// if nobody else was faster.
func (s *Store) overdue(ctx context.Context, id string, expired *bool) (core.Approval, error) {
	done, err := write(ctx, s, foreground, func(t *tx) (core.Decided, error) {
		a, err := t.find(id)
		if err != nil || !a.Due(t.now) {
			return core.Decided{Approval: a}, err
		}
		err = t.expire(&a)
		return core.Decided{Approval: a, Expired: err == nil}, err
	})
	if expired != nil && err == nil {
		*expired = done.Expired
	}
	return done.Approval, err
}

// lookup builds one of a bounded number of texts, so that each is prepared once.
// The restriction stands in the statement: what is outside of it is not decoded.
func (s *Store) lookup(l core.Lookup) (query string, args []any, err error) {
	query, args = s.rows.byID, []any{l.ID}
	switch {
	case (l.ID == "") == (l.Ref == ""):
		return "", nil, core.Invalid("lookup", "needs exactly one of id and reference")
	case l.Ref != "":
		query, args = s.rows.byRef, []any{l.Ref}
	}
	var where []string
	if l.Runtime != "" {
		where, args = append(where, "a.runtime = ?"), append(args, l.Runtime)
	}
	where, args = visibleTo(l.Viewer, where, args)
	for _, w := range where {
		query += " AND " + w
	}
	return query, args, nil
}

// fresh reads a row and applies its deadline.
func (t *tx) fresh(id string) (core.Approval, error) {
	a, err := t.find(id)
	if err == nil && a.Due(t.now) {
		err = t.expire(&a)
	}
	return a, err
}

// Detail reads the redacted full text. Errors: core.ErrNotFound (no such approval).
func (s *Store) Detail(ctx context.Context, id string) (core.Detail, error) {
	var d core.Detail
	if err := s.read(ctx).one(sqlReadDetail, []any{id}, &d.Text, &d.Omitted); err != nil {
		return core.Detail{}, fmt.Errorf("read detail: %w", err)
	}
	return d, nil
}
