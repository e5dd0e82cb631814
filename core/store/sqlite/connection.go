package sqlite

import "fmt"

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

// connection is the writer's one connection, where tests can make it fail.
type connection struct {
	*handle

	faults *faults
}

// connect opens the writer's connection.
func connect(path string, f *faults) (*connection, error) {
	if f.open != nil {
		if err := f.open(); err != nil {
			return nil, translate(err)
		}
	}
	h, err := openHandle(path, append(writerPragmas(), f.pragmas...))
	if err != nil {
		return nil, fmt.Errorf("open writer's connection: %w", translate(err))
	}
	return &connection{handle: h, faults: f}, nil
}

// beforehand lets a test fail a statement of a write.
func (c *connection) beforehand(query string) error {
	if c.faults.statement == nil {
		return nil
	}
	return c.faults.statement(query, func(q string) error { return c.run(q) })
}

// run executes one of the writer's own statements.
func (c *connection) run(query string, args ...any) error {
	_, err := c.exec(query, args...)
	return err
}

func (c *connection) commit() error {
	if c.faults.commit != nil {
		return c.faults.commit(func() error { return c.run(sqlCommit) })
	}
	return c.run(sqlCommit)
}
