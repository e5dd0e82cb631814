package sqlite

import (
	"context"
	"database/sql"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// tx is what a write sees: the writer's connection inside a transaction. It is
// valid until the write returns.
type tx struct {
	ctx  context.Context
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
	stmt, err := t.conn.statement(t.ctx, query) //nolint:sqlclosecheck // Kept with the connection.
	if err != nil {
		return 0, t.fail(err)
	}
	result, err := stmt.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, t.fail(err)
	}
	n, err := result.RowsAffected()
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
	stmt, err := t.conn.statement(t.ctx, query) //nolint:sqlclosecheck // Kept with the connection.
	if err != nil {
		return t.fail(err)
	}
	err = stmt.QueryRowContext(t.ctx, args...).Scan(dest...)
	if err == sql.ErrNoRows { //nolint:errorlint // Row.Scan returns the bare value.
		return core.ErrNotFound
	}
	return t.fail(err)
}

// Each reads rows on the writer's connection. Rows are closed before it returns,
// also when fn panics: no open statement outlives its write.
func (t *tx) Each(query string, args []any, fn func(scan record.Row) error) error {
	stmt, err := t.conn.statement(t.ctx, query) //nolint:sqlclosecheck // Kept with the connection.
	if err != nil {
		return t.fail(err)
	}
	rows, err := stmt.QueryContext(t.ctx, args...)
	if err != nil {
		return t.fail(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err below has the verdict.
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return translate(err)
		}
	}
	return t.fail(rows.Err())
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
