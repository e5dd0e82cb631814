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
// commit. They are apart, because each has a snapshot of its own: what one waited
// for is seen by the next.
type decide struct {
	// hold locks the row and tells what of it may have changed. Having waited, it tells
	// the row as whoever held it left it: a loser reads the winner here.
	hold string
	// end moves a pending row to one of two futures, and the clock, read once, picks:
	// the deadline beats every answer. The lock has been waited for by a statement
	// before, so that nothing is decided by a clock read before the wait. It returns
	// what hold does.
	end string
	// tell marks the deliveries of a row that this transaction has just ended, and
	// records the event, once. The row's lock is held since two statements: whatever was
	// added to it before is seen, and nothing can be added.
	tell string
	// await leaves the clicked delivery alone while the answer to the click may paint
	// it, as long as the decision is the one that was asked for.
	await string
	// read reads the whole row.
	read string
}

const (
	sqlHoldPerson = `SELECT 1 FROM principals WHERE id = $1 FOR SHARE`

	// byUs is a row that this very transaction has written.
	byUs        = `a.id = $1 AND ` + writtenByUs
	writtenByUs = `a.xmin = pg_current_xact_id_if_assigned()::xid`
)

func newDecide(clock string, t *record.Table) decide {
	return decide{
		hold: `SELECT ` + t.MovingNames() + ` FROM approvals a WHERE a.id = $1 FOR UPDATE`,
		end: `WITH c AS MATERIALIZED (SELECT greatest(` + clock + `, $22::bigint) AS now)
			UPDATE approvals a SET
				updated_at = greatest(c.now, a.updated_at), resolved_at = greatest(c.now, a.updated_at),
				revision = a.revision + 1, card_revision = a.card_revision + 1,
				status = f.status, decision = f.decision, reason = f.reason, note = f.note, by_message = f.by_message,
				decision_key = f.decision_key, attempt_id = f.attempt_id, resolver_kind = f.resolver_kind,
				resolver_id = f.resolver_id, resolver_name = f.resolver_name, surface = f.surface,
				delivery_id = f.delivery_id, proof = f.proof, partial_view = f.partial_view,
				execution = CASE WHEN f.claim > 0 THEN 'unclaimed' ELSE 'none' END,
				claim_by = CASE WHEN f.claim > 0 THEN greatest(c.now, a.updated_at) + f.claim ELSE 0 END
			FROM c, (VALUES
				(true, 'expired', '', 'timeout', '', false, '', '', 'system', '', '', '', '', '', false, 0::bigint),
				(false, $5::text, $6::text, $7::text, $8::text, $9::boolean, $10::text, $11::text, $12::text, $13::text,
					$14::text, $15::text, $16::text, $17::text, $18::boolean, $19::bigint))
				AS f (due, status, decision, reason, note, by_message, decision_key, attempt_id, resolver_kind, resolver_id,
					resolver_name, surface, delivery_id, proof, partial_view, claim)
			WHERE a.id = $1 AND a.revision = $2 AND a.status = 'pending' AND f.due = (a.expires_at <= c.now)
				AND a.action_hash = $20 AND a.fingerprint = $21
				AND ($3::text = '' OR EXISTS (SELECT 1 FROM principals p
					WHERE p.id = $3::text AND NOT p.disabled AND p.revision = $4::bigint))
			RETURNING ` + t.MovingNames(),
		tell: `WITH a AS MATERIALIZED (SELECT a.id, a.revision, a.status = 'expired' AS late, a.runtime, a.caused_by, a.updated_at
				FROM approvals a WHERE ` + byUs + `),
			due AS (UPDATE deliveries d SET updated_at = a.updated_at, due_at = ` +
			t.DueFrom("a.updated_at", strconv.FormatInt(int64(core.TellAfter), 10)) + `,
				stale_since = CASE WHEN d.stale_since = 0 THEN a.updated_at ELSE d.stale_since END
				FROM a WHERE d.approval_id = a.id AND d.state <> 'closed')
			INSERT INTO events (approval_id, revision, type, runtime, caused_by, created_at, payload)
			SELECT a.id, a.revision, CASE WHEN a.late THEN $2::text ELSE $3::text END, a.runtime, a.caused_by,
				a.updated_at, CASE WHEN a.late THEN $4::json ELSE $5::json END FROM a`,
		await: `UPDATE deliveries d SET answer_until = a.updated_at + $3::bigint, due_at = a.updated_at + $3::bigint,
				settle_at = CASE WHEN d.lease_holder = '' THEN d.settle_at ELSE greatest(d.settle_at, a.updated_at + $3::bigint) END,
				unsettled = d.unsettled OR d.lease_holder <> ''
			FROM approvals a WHERE ` + byUs + ` AND a.status <> 'expired'
				AND d.id = $2 AND d.approval_id = a.id AND d.state <> 'closed'`,
		read: `SELECT ` + t.Names() + ` FROM approvals a WHERE a.id = $1`,
	}
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
	b, err := s.batch(d, seen)
	if err != nil || d.Adopt != nil { // More than one round trip can say.
		return s.Store.Decide(ctx, d)
	}
	var decided core.Decided
	err = s.retry(ctx, func() (err error) {
		decided, err = s.send(ctx, d, seen, b)
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

// parts are the arguments of the batch.
type parts struct{ end, event []any }

// batch prepares both futures of the row. Errors: core.ErrInvalid for one that it
// cannot have.
func (s *Store) batch(d core.Decide, seen *core.Approval) (parts, error) {
	to, expired := *seen, *seen
	record.End(&to, d.To, d.AttemptID, seen.CreatedAt)
	record.End(&expired, record.Expiry(), "", seen.ExpiresAt)
	to.Revision, expired.Revision = seen.Revision+1, seen.Revision+1
	if err := record.RuleFits(&d, seen); err != nil {
		return parts{}, err
	}
	if !d.To.Status.Terminal() || d.To.Status == core.StatusExpired || to.Check() != nil {
		return parts{}, core.ErrInvalid
	}
	told, err := record.EventBody(&to)
	if err != nil {
		return parts{}, err
	}
	late, err := record.EventBody(&expired)
	if err != nil {
		return parts{}, err
	}
	var claim int64
	if d.To.Status == core.StatusAllowed {
		claim = int64(seen.Continuation.ClaimWindow())
	}
	t := d.To
	return parts{
		end: []any{
			d.ID, seen.Revision, d.Guard.PersonID, d.Guard.PersonRevision, string(t.Status), string(t.Decision), string(t.Reason),
			t.Note, t.ByMessage, t.DecisionKey, d.AttemptID, string(t.ResolverKind), t.ResolverID, t.ResolverName,
			string(t.Surface), t.DeliveryID, t.Proof, t.PartialView, claim,
			seen.ActionHash, seen.Fingerprint,
		},
		event: []any{
			d.ID, string(core.EventOf(core.StatusExpired, seen.Origin)), string(core.EventOf(t.Status, seen.Origin)),
			late, told,
		},
	}, nil
}

// errMoved is a row that was not changed and tells no outcome: it is at another
// revision than the caller has seen, or is damaged since, or the person lost the
// right. The long way looks at each of them and finds out.
var errMoved = errors.New("the row has moved on")

// send runs the batch once.
func (s *Store) send(ctx context.Context, d core.Decide, seen *core.Approval, p parts) (core.Decided, error) {
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
	queuePolicy(b, &d)
	if d.Guard.PersonID != "" {
		b.Queue(sqlHoldPerson, d.Guard.PersonID)
	}
	held, ended := s.queueRow(b, seen, s.sql.hold, d.ID), s.queueRow(b, seen, s.sql.end, append(p.end, s.floor.get())...)
	b.Queue(s.sql.tell, p.event...)
	queueRule(b, &d)
	ending := *seen
	ending.Revision++
	if err := s.queueBeside(b, &ending, core.EventOf(d.To.Status, seen.Origin)); err != nil {
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
	row := held
	if ended.found {
		row = ended
	}
	s.floor.raise(int64(row.a.UpdatedAt))
	switch {
	case !row.found:
		return core.Decided{}, core.ErrNotFound
	case row.damaged != nil && ended.found:
		return core.Decided{}, row.damaged
	case row.damaged != nil, row.a.Status == core.StatusPending:
		return core.Decided{}, errMoved
	}
	if ended.found {
		s.Ended(row.a)
	}
	return decidedBy(d, row.a, ended.found), nil
}

// answer is a row that a statement of a batch returned, if it did.
type answer struct {
	a       core.Approval
	found   bool
	damaged error
}

// queueRow adds a statement that returns what may have changed of a row that was seen.
func (s *Store) queueRow(b *pgx.Batch, seen *core.Approval, query string, args ...any) *answer {
	got := &answer{}
	b.Queue(query, args...).Query(func(rows pgx.Rows) error {
		return each(rows, func(scan record.Row) (err error) {
			got.found = true
			if got.a, err = s.Table().ScanMoving(scan, seen); errors.Is(err, core.ErrCorrupt) {
				got.damaged, err = err, nil
			}
			return err
		})
	})
	return got
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
