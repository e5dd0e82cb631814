package sqlite

import (
	"context"
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	"zombiezen.com/go/sqlite"

	"github.com/saysohq/sayso/core"
)

var (
	// ErrInUse is a data folder that another process serves from. It is also an
	// ErrUnavailable.
	ErrInUse error = folderError("another process serves from this data folder")
	// ErrReadOnly is a data folder in which nothing can be written. It is also an
	// ErrUnavailable.
	ErrReadOnly error = folderError("the data folder cannot be written")
)

// folderError is a data folder that cannot be served from. It says all there is to
// say, and is a core.ErrUnavailable for those who decide by class.
type folderError string

// Error implements error.
func (e folderError) Error() string { return string(e) }

// Unwrap makes errors.Is(err, core.ErrUnavailable) true.
func (folderError) Unwrap() error { return core.ErrUnavailable }

// dbError is a failure of the database in terms of the domain. It keeps the
// result code for people and drops the driver's text, which may hold paths and
// values.
type dbError struct {
	class error // core.ErrStorageFull, ErrReadOnly or core.ErrUnavailable.
	cause error // A context's error, or nil.
	code  int   // SQLite's extended result code; 0 when the driver gave none.
}

// Error implements error.
func (e *dbError) Error() string {
	if e.code != 0 {
		return fmt.Sprintf("%v (sqlite result %d)", e.class, e.code)
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
	failed := &dbError{class: core.ErrUnavailable}
	code, ok := resultOf(err)
	switch {
	case ok:
		failed.code = int(code)
		switch code.ToPrimary() { //nolint:exhaustive // All others mean that it is not available now.
		case sqlite.ResultFull:
			failed.class = core.ErrStorageFull
		case sqlite.ResultReadOnly:
			failed.class = ErrReadOnly
		}
	case errors.Is(err, context.Canceled):
		failed.cause = context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		failed.cause = context.DeadlineExceeded
	}
	return failed
}

// resultOf finds SQLite's result code, which the migrations' driver and our own
// connections carry in types of their own.
func resultOf(err error) (sqlite.ResultCode, bool) {
	if migrating, ok := errors.AsType[*driver.Error](err); ok {
		return sqlite.ResultCode(migrating.Code()), true
	}
	switch code := sqlite.ErrCode(err); code {
	case sqlite.ResultOK, sqlite.ResultError: // Also what stands for errors without a code.
		return 0, false
	default:
		return code, true
	}
}

// gaveUp is the answer to a caller whose context ended while its write was still
// queued: nothing was recorded and nothing will be.
func gaveUp(ctx context.Context) error {
	return fmt.Errorf("queue write: %w", &dbError{class: core.ErrUnavailable, cause: ctx.Err()})
}
