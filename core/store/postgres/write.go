package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// db is the store as package record wants it.
type db struct{ *Store }

// Now implements record.DB: the server's clock, in one round trip.
func (d db) Now(ctx context.Context) (core.Millis, error) {
	var now int64
	err := d.Read(ctx).One(d.sql.now, []any{d.floor.get()}, &now)
	d.floor.raise(now)
	return core.Millis(now), err
}

// Read implements record.DB.
func (d db) Read(ctx context.Context) record.Reader { return reader{ctx, d.Store} }

// Write implements record.DB. Urgencies need no care here: writes run side by side.
func (d db) Write(ctx context.Context, _ record.Urgency, _ int, fn func(record.Conn, core.Millis) error, committed func()) error {
	err := d.retry(ctx, func() error { return d.attempt(ctx, fn) })
	if err == nil && committed != nil {
		committed()
	}
	return err
}

// Pauses between two attempts: at least a millisecond, doubled each time.
const (
	firstPause = time.Millisecond
	longest    = 100 * time.Millisecond
)

// retry repeats what the server undid to let others pass, or what never reached a
// commit, until the caller's context ends or the store's limit is reached. It never
// repeats a write of unknown outcome.
func (s *Store) retry(ctx context.Context, attempt func() error) error {
	began := time.NewTimer(s.limit)
	defer began.Stop()
	for pause := firstPause; ; pause = min(2*pause, longest) {
		err := attempt()
		var again *retryable
		if !errors.As(err, &again) {
			return err
		}
		wait := time.NewTimer(pause + rand.N(pause)) //nolint:gosec // Two that met are to part; nothing is guessed.
		select {
		case <-wait.C:
			continue
		case <-ctx.Done():
		case <-began.C:
		}
		wait.Stop()
		return again.error
	}
}

// retryable marks a failure after which nothing was recorded and the same write may
// succeed.
type retryable struct{ error }

// Unwrap gives the failure itself.
func (r *retryable) Unwrap() error { return r.error }

// attempt runs fn in one transaction. If the process or the connection dies before
// COMMIT is sent, nothing was recorded; after it, the outcome is unknown and the
// caller reads the row again.
func (d db) attempt(ctx context.Context, fn func(record.Conn, core.Millis) error) error {
	c, err := d.acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release() // A connection inside a transaction is thrown away, so a panic commits nothing.
	own, end := d.own(ctx)
	defer end()
	t := &tx{ctx: own, conn: c, store: d.Store}
	now, err := t.begin()
	if err == nil {
		err = fn(t, now)
	}
	if t.failed != nil { // A write cannot shrug a failed statement off.
		return t.undo(t.failed)
	}
	if err != nil {
		return t.undo(err)
	}
	return t.commit()
}

// tx is one transaction on a connection of the pool.
type tx struct {
	ctx   context.Context //nolint:containedctx // The life of one transaction.
	conn  *pgxpool.Conn
	store *Store
	// failed is the first statement that failed: the server ignores all that follow.
	failed error
}

// begin opens the transaction and reads the clock, in one round trip.
func (t *tx) begin() (core.Millis, error) {
	var now int64
	b := &pgx.Batch{}
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	if t.store.pooled {
		b.Queue(sqlDurable)
	}
	t.store.queueNow(b, &now)
	return core.Millis(now), t.fail(t.conn.SendBatch(t.ctx, b).Close())
}

// commit makes it durable. An answer without an SQLSTATE is no answer.
func (t *tx) commit() error {
	tag, err := t.conn.Exec(t.ctx, "COMMIT")
	switch {
	case err != nil && stateOf(err) == "":
		return fmt.Errorf("commit: %w", core.ErrOutcomeUnknown)
	case err != nil:
		return t.settle(translate(err), err)
	case tag.String() != "COMMIT":
		return fmt.Errorf("commit: %w", core.ErrUnavailable)
	}
	return nil
}

// undo ends the transaction without a trace.
func (t *tx) undo(err error) error {
	if !t.conn.Conn().IsClosed() {
		// If this fails the connection is thrown away, and the transaction with it.
		_, _ = t.conn.Exec(t.ctx, "ROLLBACK")
	}
	return t.settle(translate(err), err)
}

// settle marks a failure that is worth another attempt.
func (t *tx) settle(err, cause error) error {
	if worthRetrying(cause) {
		return &retryable{err}
	}
	return err
}

// Exec implements record.Conn.
func (t *tx) Exec(query string, args ...any) (int64, error) {
	tag, err := t.conn.Exec(t.ctx, t.store.texts.of(query), args...)
	return tag.RowsAffected(), t.fail(err)
}

// One implements record.Querier.
func (t *tx) One(query string, args []any, dest ...any) error {
	err := t.conn.QueryRow(t.ctx, t.store.texts.of(query), args...).Scan(dest...)
	if errors.Is(err, pgx.ErrNoRows) {
		return core.ErrNotFound
	}
	return t.fail(err)
}

// Each implements record.Querier.
func (t *tx) Each(query string, args []any, fn func(scan record.Row) error) error {
	rows, err := t.conn.Query(t.ctx, t.store.texts.of(query), args...)
	if err != nil {
		return t.fail(err)
	}
	return t.finish(each(rows, fn))
}

// Returning implements record.Conn.
func (t *tx) Returning(query string, args []any, fn func(scan record.Row) error) error {
	return t.Each(query, args, fn)
}

// Lock implements record.Conn: the clock is read by a statement of its own, after
// the lock is held.
func (t *tx) Lock(query string, args []any, fn func(scan record.Row) error) (core.Millis, error) {
	var now int64
	b := &pgx.Batch{}
	b.Queue(t.store.texts.of(query), args...).Query(func(rows pgx.Rows) error { return each(rows, fn) })
	t.store.queueNow(b, &now)
	return core.Millis(now), t.finish(t.conn.SendBatch(t.ctx, b).Close())
}

// Hold implements record.Conn with an advisory lock of the transaction. Two names
// with one hash wait for each other, no more.
func (t *tx) Hold(s record.Strength, name string) (core.Millis, error) {
	query := `SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))::text`
	if s == record.Update {
		query = `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::text`
	}
	return t.Lock(query, []any{name}, func(record.Row) error { return nil })
}

// finish tells a failed statement from an answer of fn, which is its caller's.
func (t *tx) finish(err error) error {
	if err != nil && core.CodeOf(err) != "internal" {
		return err
	}
	return t.fail(err)
}

// fail remembers the first failure as the server told it.
func (t *tx) fail(err error) error {
	if err == nil {
		return nil
	}
	err = translate(err)
	if t.failed == nil {
		t.failed = err
	}
	return err
}
