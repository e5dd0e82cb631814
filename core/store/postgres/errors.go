package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/saysohq/sayso/core"
)

var (
	// ErrIsolation is a database whose default isolation is not read committed: the
	// locks of this store are made for that. It is also a core.ErrUnavailable.
	ErrIsolation = fmt.Errorf("the database's default_transaction_isolation must be read committed: %w", core.ErrUnavailable)
	// ErrOldSchema is a database that waits for its migrations. It is also a
	// core.ErrUnavailable.
	ErrOldSchema = fmt.Errorf("the database's schema is older than this version: migrate it first: %w", core.ErrUnavailable)
	// ErrStandby is a server that cannot write: the truth is never read from a
	// standby. It is also a core.ErrUnavailable.
	ErrStandby = fmt.Errorf("the database is a read-only standby: %w", core.ErrUnavailable)
)

// SQLSTATEs that mean something to this store.
const (
	stateSerialization = "40001"
	stateDeadlock      = "40P01"
	stateUnique        = "23505" // Somebody else wrote the same key at this moment: read again.
	stateLockTimeout   = "55P03"
	stateDiskFull      = "53100"
	stateNotText       = "22021" // A NUL or broken UTF-8 where text belongs.
	stateNotJSONText   = "22P05"
	stateShutdown      = "57P01" // The transaction was rolled back with the session.
	stateCrash         = "57P02"
	stateReadOnly      = "25006"
)

// dbError is a failure of the database in terms of the domain. It keeps the
// SQLSTATE for people and drops the server's text, which may hold values.
type dbError struct {
	class error // core.ErrStorageFull, core.ErrInvalid or core.ErrUnavailable.
	cause error // A context's error, or nil.
	state string
}

// Error implements error.
func (e *dbError) Error() string {
	if e.state != "" {
		return fmt.Sprintf("%v (SQLSTATE %s)", e.class, e.state)
	}
	if e.cause != nil {
		return fmt.Sprintf("%v (%v)", e.class, e.cause)
	}
	return e.class.Error()
}

// Unwrap makes both the class and a context's error visible to errors.Is.
func (e *dbError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.class}
	}
	return []error{e.class, e.cause}
}

// translate turns a failure of the driver into one of the domain. Errors of the
// domain pass as they are, however deeply they are wrapped.
func translate(err error) error {
	if err == nil || core.CodeOf(err) != "internal" {
		return err
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return core.ErrNotFound
	}
	failed := &dbError{class: core.ErrUnavailable, state: stateOf(err)}
	switch {
	case failed.state == stateDiskFull:
		failed.class = core.ErrStorageFull
	case failed.state == stateNotText, failed.state == stateNotJSONText:
		failed.class = core.ErrInvalid
	case failed.state != "":
	case errors.Is(err, context.Canceled):
		failed.cause = context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		failed.cause = context.DeadlineExceeded
	}
	return failed
}

// stateOf is the SQLSTATE of an error; "" when the server gave none.
func stateOf(err error) string {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Code
	}
	if known, ok := errors.AsType[*dbError](err); ok {
		return known.state
	}
	return ""
}

// worthRetrying reports whether the same transaction may succeed now. The caller
// knows that nothing of it was recorded.
func worthRetrying(err error) bool {
	switch stateOf(err) {
	case stateSerialization, stateDeadlock, stateUnique, stateLockTimeout, stateShutdown, stateCrash:
		return true
	}
	return false
}
