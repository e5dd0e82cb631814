package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// Statements of the writer's own.
const (
	sqlBegin       = "BEGIN IMMEDIATE"
	sqlCommit      = "COMMIT"
	sqlRollback    = "ROLLBACK"
	sqlSavepoint   = "SAVEPOINT w"
	sqlRelease     = "RELEASE w"
	sqlUndo        = "ROLLBACK TO w"
	sqlReadMarker  = "SELECT batch, clock FROM deployment WHERE singleton = 1"
	sqlWriteMarker = "UPDATE deployment SET batch = ?, clock = ? WHERE singleton = 1"
)

// faults lets tests stand between the writer and the database. The zero value
// does nothing.
type faults struct {
	// statement runs before each statement of a write; its error is the
	// statement's. exec reaches the connection, so that a test can also end the
	// transaction as a failing disk does.
	statement func(query string, exec func(query string) error) error
	// commit runs instead of a plain COMMIT.
	commit func(commit func() error) error
	// open runs before the writer's connection is opened, or opened again.
	open func() error
	// pragmas are added to the writer's connection.
	pragmas []string
}

// connection is the writer's one connection with its prepared statements.
type connection struct {
	conn   *sql.Conn
	stmts  *statements
	faults *faults
}

func connect(ctx context.Context, db *sql.DB, f *faults) (*connection, error) {
	if f.open != nil {
		if err := f.open(); err != nil {
			return nil, translate(err)
		}
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open writer's connection: %w", translate(err))
	}
	return &connection{conn: conn, stmts: newStatements(conn.PrepareContext), faults: f}, nil
}

// statement prepares a query once.
func (c *connection) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if c.faults.statement != nil {
		if err := c.faults.statement(query, func(q string) error { return c.run(ctx, q) }); err != nil {
			return nil, err
		}
	}
	return c.stmts.get(ctx, query)
}

// run executes one of the writer's own statements.
func (c *connection) run(ctx context.Context, query string, args ...any) error {
	stmt, err := c.stmts.get(ctx, query) //nolint:sqlclosecheck // Kept with the connection.
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx, args...)
	return err
}

func (c *connection) commit(ctx context.Context) error {
	if c.faults.commit != nil {
		return c.faults.commit(func() error { return c.run(ctx, sqlCommit) })
	}
	return c.run(ctx, sqlCommit)
}

// close really closes the connection: whatever transaction it was in is over.
func (c *connection) close() error {
	c.stmts.close()
	// ErrBadConn makes the pool throw the connection away instead of keeping it.
	_ = c.conn.Raw(func(any) error { return driver.ErrBadConn })
	if err := c.conn.Close(); err != nil && err != sql.ErrConnDone { //nolint:errorlint // The bare value is documented.
		return translate(err)
	}
	return nil
}
