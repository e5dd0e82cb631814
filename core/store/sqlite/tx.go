package sqlite

import (
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// tx is what a write sees: the writer's connection inside a transaction. It is
// valid until the write returns.
type tx struct {
	conn *connection
	// now is the deployment's time, read after the lock was taken (conformance 20).
	// All that one write stamps carries this time.
	now core.Millis
	// failed is the first statement that failed. It dooms the write even if fn
	// went on: SQLite may have rolled the whole transaction back.
	failed error
	// changed tells that there is something to commit.
	changed bool
}

// Exec runs a statement that changes rows and returns how many.
func (t *tx) Exec(query string, args ...any) (int64, error) {
	if err := t.conn.beforehand(query); err != nil {
		return 0, t.fail(err)
	}
	n, err := t.conn.exec(query, args...)
	if err != nil {
		return 0, t.fail(err)
	}
	if n > 0 {
		t.changed = true
	}
	return n, nil
}

// One reads a single row. Errors: core.ErrNotFound.
func (t *tx) One(query string, args []any, dest ...any) error {
	if err := t.conn.beforehand(query); err != nil {
		return t.fail(err)
	}
	err := t.conn.one(query, args, dest)
	if err == core.ErrNotFound { //nolint:errorlint // No row is no failure of the statement.
		return err
	}
	return t.fail(err)
}

// Each reads rows on the writer's connection. The statement is over before it
// returns, also when fn panics: no open statement outlives its write. A failure of
// fn is its own and not the statement's.
func (t *tx) Each(query string, args []any, fn func(scan record.Row) error) error {
	if err := t.conn.beforehand(query); err != nil {
		return t.fail(err)
	}
	var own error
	err := t.conn.each(query, args, func(scan record.Row) error {
		own = fn(scan)
		return own
	})
	if own != nil {
		return translate(own)
	}
	return t.fail(err)
}

// Returning runs a statement that changes rows and reads what it returns. Every
// row is read, so that the statement runs to its end.
func (t *tx) Returning(query string, args []any, fn func(scan record.Row) error) error {
	return t.Each(query, args, func(scan record.Row) error {
		t.changed = true
		return fn(scan)
	})
}

// Lock reads like Each: the writer has the database to itself, and its time stands
// still while it writes.
func (t *tx) Lock(query string, args []any, fn func(scan record.Row) error) (core.Millis, error) {
	return t.now, t.Each(query, args, fn)
}

// Hold does nothing: nobody else writes.
func (t *tx) Hold(record.Strength, string) (core.Millis, error) { return t.now, nil }

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
