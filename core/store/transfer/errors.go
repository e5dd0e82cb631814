package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/saysohq/sayso/core"
)

// problem says all there is to say, and is of a class for those who decide by it.
type problem struct {
	text  string
	class error
}

// Error implements error.
func (p *problem) Error() string { return p.text }

// Unwrap gives the class.
func (p *problem) Unwrap() error { return p.class }

var (
	// ErrNotEmpty is a target that holds something already, or is already served
	// from. It is also a core.ErrConflict.
	ErrNotEmpty error = &problem{"the target is not empty: nothing was changed", core.ErrConflict}
	// ErrNoStore is a source where no store is. It is also a core.ErrInvalid.
	ErrNoStore error = &problem{"there is no store", core.ErrInvalid}
	// ErrNoBackup is a file that is no backup of ours. It is also a core.ErrInvalid.
	ErrNoBackup error = &problem{"the file is no backup of sayso", core.ErrInvalid}
	// ErrDamaged is a backup that is not as it was written: cut short, or changed. It
	// is also a core.ErrCorrupt.
	ErrDamaged error = &problem{"the backup is damaged: nothing was changed", core.ErrCorrupt}
	// ErrMismatch is a copy that is not what was copied. It is also a core.ErrCorrupt.
	ErrMismatch error = &problem{"the copy differs from its source", core.ErrCorrupt}
	// ErrMovedElsewhere is a source whose record went to another database than the
	// one that was named. It is also a core.ErrConflict.
	ErrMovedElsewhere error = &problem{"the record was moved to another database than this one", core.ErrConflict}
	// ErrOldSchema is a store of an older version. It is also a core.ErrUnavailable.
	ErrOldSchema error = &problem{"the store is of an older version: bring it up to date first (sayso migrate)", core.ErrUnavailable}
	// ErrOldBackup is a backup of an older version, which only a data folder can take:
	// restore it there, then move it. It is also a core.ErrConflict.
	ErrOldBackup error = &problem{
		"the backup is of an older version: restore it into a data folder, then move that with sayso migrate --from", core.ErrConflict,
	}
	// ErrServing is a database to which services are connected. It is also a
	// core.ErrUnavailable.
	ErrServing error = &problem{"services are connected to the database: stop all replicas first", core.ErrUnavailable}
)

// fault is a failure of a database in terms of the domain. It drops the texts of
// both drivers, which may hold values, and keeps their codes for people.
type fault struct {
	class  error
	detail string
	cause  error // A context's error, or nil.
}

// Error implements error.
func (e *fault) Error() string {
	if e.detail == "" {
		return e.class.Error()
	}
	return fmt.Sprintf("%v (%s)", e.class, e.detail)
}

// Unwrap makes both the class and a context's error visible to errors.Is.
func (e *fault) Unwrap() []error {
	if e.cause == nil {
		return []error{e.class}
	}
	return []error{e.class, e.cause}
}

// translate turns a failure of a driver into one of the domain. Errors of the domain
// pass as they are.
func translate(err error) error {
	if err == nil || core.CodeOf(err) != "internal" {
		return err
	}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return &fault{class: core.ErrUnavailable, detail: ended.Error(), cause: ended}
		}
	}
	if errors.Is(err, sql.ErrNoRows) || errors.Is(err, pgx.ErrNoRows) {
		return core.ErrNotFound
	}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fromPostgres(answer)
	}
	if result, ok := errors.AsType[*driver.Error](err); ok {
		return fromSQLite(result)
	}
	return &fault{class: core.ErrUnavailable}
}

func fromPostgres(answer *pgconn.PgError) error {
	f := &fault{class: core.ErrUnavailable, detail: "SQLSTATE " + answer.Code}
	switch {
	case answer.Code == "53100":
		f.class = core.ErrStorageFull
	case answer.Code[:2] == "23": // A row that the rules of the target refuse.
		f.class = core.ErrCorrupt
		f.detail += ", constraint " + answer.ConstraintName
	case answer.Code[:2] == "22": // A value that it cannot hold.
		f.class = core.ErrCorrupt
	}
	return f
}

func fromSQLite(result *driver.Error) error {
	f := &fault{class: core.ErrUnavailable, detail: fmt.Sprintf("sqlite result %d", result.Code())}
	switch result.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		f.class = core.ErrStorageFull
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT:
		f.class = core.ErrCorrupt
	case sqlite3.SQLITE_NOTADB:
		f.class = ErrNoStore
	}
	return f
}
