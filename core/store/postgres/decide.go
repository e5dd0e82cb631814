package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// decide holds the statements of a decision, which are one round trip and one
// commit: the locks, and then all that changes. They are apart, because each has a
// snapshot of its own: what the first waited for is seen by the second.
type decide struct {
	// hold locks the row, and holdBoth the person before it. They tell what of the row may
	// have changed, behind its revision. Having waited, they tell the row as whoever held
	// it left it: a loser reads the winner here.
	hold, holdBoth string
	// end moves a pending row whose deadline has not come to the decision, marks its
	// deliveries due and records the event; endAs does so as long as the person is as
	// they were. Both return when. The locks have been waited for by a statement before,
	// so that nothing is decided by a clock read before the wait, and whatever was added
	// to the row before is seen, and nothing can be added.
	end, endAs string
	// await leaves the clicked delivery alone while the answer to the click may paint
	// it.
	await string
	// read reads the whole row.
	read string
}

const (
	// byUs is a row that this very transaction has written.
	byUs        = `a.id = $1 AND ` + writtenByUs
	writtenByUs = `a.xmin = pg_current_xact_id_if_assigned()::xid`
)

func newDecide(clock string, t *record.Table) decide {
	return decide{
		hold: `SELECT a.revision, ` + t.MovingNames() + ` FROM approvals a WHERE a.id = $1 FOR UPDATE`,
		// Locks are taken in the order of their clauses.
		holdBoth: `SELECT a.revision, ` + t.MovingNames() + ` FROM principals p, approvals a
			WHERE p.id = $2 AND a.id = $1 FOR SHARE OF p FOR UPDATE OF a`,
		end:   newEnd(clock, t, "", ""),
		endAs: newEnd(clock, t, ", principals p", " AND p.id = $23 AND p.revision = $24 AND NOT p.disabled"),
		await: `UPDATE deliveries d SET answer_until = a.updated_at + $3::bigint, due_at = a.updated_at + $3::bigint,
				settle_at = CASE WHEN d.lease_holder = '' THEN d.settle_at ELSE greatest(d.settle_at, a.updated_at + $3::bigint) END,
				unsettled = d.unsettled OR d.lease_holder <> ''
			FROM approvals a WHERE ` + byUs + ` AND d.id = $2 AND d.approval_id = a.id AND d.state <> 'closed'`,
		read: `SELECT ` + t.Names() + ` FROM approvals a WHERE a.id = $1`,
	}
}

func newEnd(clock string, t *record.Table, from, as string) string {
	return `WITH a AS (UPDATE approvals a SET
			updated_at = greatest(c.now, a.updated_at), resolved_at = greatest(c.now, a.updated_at),
			revision = a.revision + 1, card_revision = a.card_revision + 1,
			status = $6, decision = $7, reason = $8, note = $9, by_message = $10, decision_key = $11, attempt_id = $12,
			resolver_kind = $13, resolver_id = $14, resolver_name = $15, surface = $16, delivery_id = $17, proof = $18,
			partial_view = $19,
			execution = CASE WHEN $20::bigint > 0 THEN 'unclaimed' ELSE 'none' END,
			claim_by = CASE WHEN $20::bigint > 0 THEN greatest(c.now, a.updated_at) + $20::bigint ELSE 0 END
		FROM (SELECT greatest(` + clock + `, $5::bigint) AS now) c` + from + `
		WHERE a.id = $1 AND a.revision = $2 AND a.status = 'pending' AND a.expires_at > c.now
			AND a.action_hash = $3 AND a.fingerprint = $4` + as + `
		RETURNING a.id, a.revision, a.runtime, a.caused_by, a.updated_at),
	due AS (UPDATE deliveries d SET updated_at = a.updated_at, due_at = ` +
		t.DueFrom("a.updated_at", strconv.FormatInt(int64(core.TellAfter), 10)) + `,
			stale_since = CASE WHEN d.stale_since = 0 THEN a.updated_at ELSE d.stale_since END
		FROM a WHERE d.approval_id = a.id AND d.state <> 'closed')
	INSERT INTO events (approval_id, revision, type, runtime, caused_by, created_at, payload)
	SELECT a.id, a.revision, $21, a.runtime, a.caused_by, a.updated_at, $22::json FROM a
	RETURNING created_at`
}

// Decide is the one guarded write from pending to terminal: one round trip, one
// commit, whatever the caller had Seen. What comes back with the batch is believed
// only once all of it was answered, because the commit comes last. Errors:
// core.ErrNotFound, core.ErrCorrupt, core.ErrConflict (the click cannot be
// adopted), core.ErrInvalid (a state that this row cannot move to), none of which
// changed anything, and core.ErrOutcomeUnknown.
func (s *Store) Decide(ctx context.Context, d core.Decide) (core.Decided, error) {
	decided, err := s.decideOnce(ctx, d)
	if err != nil {
		return core.Decided{}, fmt.Errorf("decide approval: %w", err)
	}
	return decided, nil
}

func (s *Store) decideOnce(ctx context.Context, d core.Decide) (core.Decided, error) {
	if err := ctx.Err(); err != nil {
		return core.Decided{}, translate(err)
	}
	seen := d.Seen
	if seen == nil || seen.ID != d.ID || seen.Status.Terminal() {
		a, err := s.peek(ctx, d.ID)
		if errors.Is(err, core.ErrCorrupt) { // The long way ends it if it waits.
			return s.Store.Decide(ctx, d)
		}
		if err != nil {
			return core.Decided{}, err
		}
		seen = &a
	}
	if seen.Status.Terminal() && d.Adopt == nil { // Somebody was first: there is nothing to lock.
		return decidedBy(d, *seen, false), nil
	}
	ended, args, err := s.future(&d, seen)
	if err != nil || d.Adopt != nil { // More than one round trip can say.
		return s.Store.Decide(ctx, d)
	}
	var decided core.Decided
	err = s.retry(ctx, func() (err error) {
		decided, err = s.send(ctx, &d, seen, ended, args)
		return err
	})
	switch {
	case errors.Is(err, errMoved):
		return s.Store.Decide(ctx, d)
	case errors.Is(err, core.ErrOutcomeUnknown):
		return s.readBack(ctx, d)
	}
	return decided, err
}

// decidedBy is the answer of a row to an attempt; changed tells that the attempt
// made the change which the row shows.
func decidedBy(d core.Decide, a core.Approval, changed bool) core.Decided {
	return core.Decided{
		Approval: a,
		Applied:  d.AttemptID != "" && a.AttemptID == d.AttemptID || changed && a.Status != core.StatusExpired,
		Expired:  changed && a.Status == core.StatusExpired && d.To.Status != core.StatusExpired,
	}
}

// peek reads a row as it is, without applying its deadline.
func (s *Store) peek(ctx context.Context, id string) (core.Approval, error) {
	var a core.Approval
	found := false
	err := reader{ctx, s}.Each(s.sql.read, []any{id}, func(scan record.Row) (err error) {
		found = true
		a, err = s.Table().Scan(scan)
		return err
	})
	if err == nil && !found {
		err = core.ErrNotFound
	}
	return a, err
}

// future is the row as the decision will leave it, but for the time, and the arguments
// of the statement that does so. Errors: core.ErrInvalid for a state that the row cannot
// have.
func (s *Store) future(d *core.Decide, seen *core.Approval) (*core.Approval, []any, error) {
	if err := record.RuleFits(d, seen); err != nil {
		return nil, nil, err
	}
	to := *seen
	record.End(&to, d.To, d.AttemptID, seen.CreatedAt)
	to.Revision, to.CardRevision = seen.Revision+1, seen.CardRevision+1
	if !d.To.Status.Terminal() || d.To.Status == core.StatusExpired || to.Check() != nil {
		return nil, nil, core.ErrInvalid
	}
	told, err := record.EventBody(&to)
	if err != nil {
		return nil, nil, err
	}
	var claim int64
	if d.To.Status == core.StatusAllowed {
		claim = int64(seen.Continuation.ClaimWindow())
	}
	t := &d.To
	args := append(make([]any, 0, 24),
		d.ID, seen.Revision, seen.ActionHash, seen.Fingerprint, s.floor.get(),
		string(t.Status), string(t.Decision), string(t.Reason), t.Note, t.ByMessage, t.DecisionKey, d.AttemptID,
		string(t.ResolverKind), t.ResolverID, t.ResolverName, string(t.Surface), t.DeliveryID, t.Proof, t.PartialView, claim,
		string(core.EventOf(t.Status, seen.Origin)), told,
	)
	if d.Guard.PersonID != "" {
		args = append(args, d.Guard.PersonID, d.Guard.PersonRevision)
	}
	return &to, args, nil
}

// errMoved is a row that was not changed and tells no outcome: it is at another
// revision than the caller has seen, or its deadline has come, or it is damaged since or
// gone, or the person lost the right. The long way looks at each of them and finds out.
var errMoved = errors.New("the row has moved on")

// send runs the batch once. What is not as it was seen is not changed.
func (s *Store) send(ctx context.Context, d *core.Decide, seen, to *core.Approval, end []any) (core.Decided, error) {
	c, err := s.acquire(ctx)
	if err != nil {
		return core.Decided{}, err
	}
	defer c.Release()
	own, stop := s.own(ctx)
	defer stop()
	b := &pgx.Batch{}
	if s.pooled {
		b.Queue(sqlDurable)
	}
	queuePolicy(b, d)
	held := &moved{seen: seen}
	if d.Guard.PersonID != "" {
		s.queueHold(c.Conn(), b, held, s.sql.holdBoth, d.ID, d.Guard.PersonID)
	} else {
		s.queueHold(c.Conn(), b, held, s.sql.hold, d.ID)
	}
	at := s.queueEnd(b, d, end)
	queueRule(b, d)
	if err := s.queueBeside(b, to, core.EventOf(d.To.Status, seen.Origin)); err != nil {
		return core.Decided{}, err
	}
	if d.AnswerDelay > 0 && d.To.DeliveryID != "" {
		b.Queue(s.sql.await, d.ID, d.To.DeliveryID, int64(d.AnswerDelay))
	}
	// The commit is behind the last answer: until here nothing is believed.
	err = c.SendBatch(own, b).Close()
	if d.Rule != nil && stateOf(err) == stateUnique { // The rule's id was used before: the long way says so.
		return core.Decided{}, errMoved
	}
	if err := batchError(err); err != nil {
		return core.Decided{}, err
	}
	if *at == 0 {
		return s.lost(d, held)
	}
	s.floor.raise(int64(*at))
	record.End(to, d.To, d.AttemptID, *at)
	to.UpdatedAt = *at
	s.Ended(*to)
	return decidedBy(*d, *to, true), nil
}

// queueEnd adds the change; at stays 0 where nothing was changed.
func (s *Store) queueEnd(b *pgx.Batch, d *core.Decide, args []any) (at *core.Millis) {
	query := s.sql.end
	if d.Guard.PersonID != "" {
		query = s.sql.endAs
	}
	at = new(core.Millis)
	b.Queue(query, args...).Query(func(rows pgx.Rows) error {
		return each(rows, func(scan record.Row) error { return scan((*int64)(at)) })
	})
	return at
}

// lost is the answer of a batch that changed nothing: the winner, if there is one.
func (s *Store) lost(d *core.Decide, held *moved) (core.Decided, error) {
	if held.damaged != nil || !held.a.Status.Terminal() {
		return core.Decided{}, errMoved
	}
	s.floor.raise(int64(held.a.UpdatedAt))
	return decidedBy(*d, held.a, false), nil
}

// moved is a row as its lock found it. It is read only where it is not as it was seen.
type moved struct {
	seen    *core.Approval
	a       core.Approval // Empty where the row is as it was seen.
	damaged error
}

// queueHold adds a statement that locks a row that was seen.
func (s *Store) queueHold(c *pgx.Conn, b *pgx.Batch, held *moved, query string, args ...any) {
	b.Queue(query, args...).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := s.scanMoved(c, rows, held); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// scanMoved reads the row behind its revision. Most rows are as they were seen, and then
// the rest need not be read.
func (s *Store) scanMoved(c *pgx.Conn, rows pgx.Rows, held *moved) error {
	var revision int64
	first := &rows.FieldDescriptions()[0]
	if err := c.TypeMap().Scan(first.DataTypeOID, first.Format, rows.RawValues()[0], &revision); err != nil || revision == held.seen.Revision {
		return err
	}
	a, err := s.Table().ScanMoving(func(dest ...any) error { return rows.Scan(append([]any{&revision}, dest...)...) }, held.seen)
	if errors.Is(err, core.ErrCorrupt) {
		held.damaged, err = err, nil
	}
	held.a = a
	return err
}

// batchError sorts the failure of a batch that is its own transaction. With an
// SQLSTATE the server undid it; without one nobody knows, unless nothing was sent.
func batchError(err error) error {
	switch {
	case err == nil:
		return nil
	case worthRetrying(err), stateOf(err) == "" && pgconn.SafeToRetry(err):
		return &retryable{translate(err)}
	case stateOf(err) == "":
		return core.ErrOutcomeUnknown
	}
	return translate(err)
}

// readBack deals with a decision that was not answered. The row is read under its
// lock, which the lost transaction holds for as long as it lives. A terminal row is
// the truth, and the attempt in it tells whose. A pending one proves nothing,
// because the server may not have begun: it stays unknown and is not sent again.
func (s *Store) readBack(ctx context.Context, d core.Decide) (core.Decided, error) {
	s.log.WarnContext(ctx, "a decision was not answered: reading it back", "approval", d.ID)
	own, end := s.own(ctx)
	defer end()
	var a core.Approval
	err := db{s}.Write(own, record.Foreground, 1, func(c record.Conn, _ core.Millis) error {
		_, err := c.Lock(s.sql.read+" FOR UPDATE", []any{d.ID}, func(scan record.Row) (err error) {
			a, err = s.Table().Scan(scan)
			return err
		})
		return err
	}, nil)
	if err != nil || !a.Status.Terminal() {
		return core.Decided{}, core.ErrOutcomeUnknown
	}
	decided := decidedBy(d, a, false)
	if decided.Applied { // Recorded, and told to nobody yet.
		s.Ended(a)
	}
	return decided, nil
}
