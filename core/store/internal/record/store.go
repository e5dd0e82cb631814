package record

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/saysohq/sayso/core"
)

// MaxBackground is the number of rows that one background write touches at most,
// so that decisions pass between two of them.
const MaxBackground = 100

// Urgency says who waits for a write.
type Urgency int

// The urgencies.
const (
	Foreground Urgency = iota // Somebody waits for the answer.
	Background                // Sweeping, pruning and the deliveries.
)

// Row reads the current row of a result into dest.
type Row func(dest ...any) error

// Querier runs statements whose text comes from this package. Parameters are
// written "?" or "?1".
type Querier interface {
	// One reads a single row into dest. Errors: core.ErrNotFound.
	One(query string, args []any, dest ...any) error
	// Each reads rows; fn must not run statements on the same querier.
	Each(query string, args []any, fn func(scan Row) error) error
}

// Reader is a querier on what is committed.
type Reader interface {
	Querier
	// Dated is Each together with the deployment's time, as it was just before.
	Dated(query string, args []any, fn func(scan Row) error) (core.Millis, error)
}

// Conn is the inside of one write: a transaction that its store ends.
type Conn interface {
	Querier
	// Exec runs a statement that changes rows and returns how many.
	Exec(query string, args ...any) (int64, error)
	// Returning is Each for a statement that changes the rows which it returns.
	Returning(query string, args []any, fn func(scan Row) error) error
	// Lock is Each for a statement that may wait for a lock, together with the time
	// once the lock is held.
	Lock(query string, args []any, fn func(scan Row) error) (core.Millis, error)
	// Hold takes the lock of a name that need not have a row, until the write ends.
	Hold(s Strength, name string) (core.Millis, error)
}

// Strength tells the locks of readers from those of writers.
type Strength int

// The strengths.
const (
	Share  Strength = iota // Others may share it; nobody changes it.
	Update                 // Nobody else holds it.
)

// DB is what a store brings.
type DB interface {
	// Now is the deployment's time.
	Now(ctx context.Context) (core.Millis, error)
	// Read returns a querier outside of any write.
	Read(ctx context.Context) Reader
	// Write runs fn in one transaction, at the given time, and commits unless fn
	// fails. fn may run more than once and changes nothing but the database and its
	// own results. After core.ErrOutcomeUnknown fn may even be running still. rows
	// bounds what a background write touches.
	//
	// committed is called once, after the commit of the last run of fn, and before
	// Write returns unless its caller has gone. It is not called where nothing was
	// recorded, or where nobody can tell.
	Write(ctx context.Context, u Urgency, rows int, fn func(c Conn, now core.Millis) error, committed func()) error
}

// Dialect is what the SQL of a database calls by other names.
type Dialect struct {
	// Locks is true where writes run side by side and lock rows.
	Locks bool
	// Greatest and Least are the functions for the larger and smaller of values.
	Greatest, Least string
	// PairsIn and TextsIn list the members of the JSON array that stands at %s: pairs
	// of texts, or texts.
	PairsIn, TextsIn string
	// Lists is the condition that the JSON array in the column a.reviewers contains a
	// parameter.
	Lists string
	// PendingFrom is the source of a list of pending rows, LiveFrom that of a look
	// through the rows of deliveries that are not closed.
	PendingFrom, LiveFrom string
	// UpdateRows begins a change of several rows. A statement that fails dooms its whole
	// write, so it need not be able to undo its own first rows.
	UpdateRows string
	// InsertEvent writes an event: ?1 approval, ?2 revision, ?3 type, ?4 runtime,
	// ?5 cause, ?6 time, ?7 payload.
	InsertEvent string
}

// Store serves the ports of package core from a DB. Its methods are safe for
// concurrent use. Where two ports share the name of a method, or share it with the
// life of a store, it bears a longer one here; the views (Ledger, Leases) give it back.
type Store struct {
	db     DB
	rows   *Table
	ended  func(core.Approval)
	doubts doubts
}

// New returns the ports of a store. ended is told of every final answer that the
// store records, once, after its commit; nil tells nobody.
func New(db DB, d Dialect, ended func(core.Approval)) *Store {
	if ended == nil {
		ended = func(core.Approval) {}
	}
	return &Store{db: db, rows: newTable(d), ended: ended}
}

// Ended tells of a final answer that a store recorded in a way of its own.
func (s *Store) Ended(a core.Approval) { s.ended(a) }

// Table is the store's knowledge of its statements, for what a store does in a way
// of its own.
func (s *Store) Table() *Table { return s.rows }

func (s *Store) read(ctx context.Context) Reader { return s.db.Read(ctx) }

// Now is the deployment's time; it never goes back.
func (s *Store) Now(ctx context.Context) (core.Millis, error) { return s.db.Now(ctx) }

// tx is what a command sees of its transaction.
type tx struct {
	Conn
	rows *Table
	// now is the deployment's time, read after the last lock (conformance 20). All
	// that one transition stamps carries one time.
	now core.Millis
	// ended are the rows that this write brings their final answer.
	ended []core.Approval
}

// write runs fn in one transaction. Result and error are both returned, so that a
// refusal can carry the current row.
func write[T any](ctx context.Context, s *Store, u Urgency, fn func(*tx) (T, error)) (T, error) {
	return writeRows(ctx, s, u, 1, fn)
}

// writeRows is write for background work that touches many rows at once.
func writeRows[T any](ctx context.Context, s *Store, u Urgency, rows int, fn func(*tx) (T, error)) (T, error) {
	var result, none T
	var ended []core.Approval
	err := s.db.Write(ctx, u, rows, func(c Conn, now core.Millis) (err error) {
		t := &tx{Conn: c, rows: s.rows, now: now}
		result, err = fn(t)
		ended = t.ended
		return err
	}, func() {
		for i := range ended {
			s.ended(ended[i])
		}
	})
	if errors.Is(err, core.ErrOutcomeUnknown) { // fn may be writing its result still.
		return none, err
	}
	return result, err
}

// lock runs a statement that may wait, and moves the time of the write on.
func (t *tx) lock(query string, args []any, fn func(scan Row) error) error {
	now, err := t.Lock(query, args, fn)
	t.now = max(t.now, now)
	return err
}

// hold locks rows that the write only relies on. The lock is all that it wants:
// nothing happens where the writer is alone.
func (t *tx) hold(query string, args ...any) error {
	if !t.rows.Locks {
		return nil
	}
	return t.lock(query, args, func(Row) error { return nil })
}

// holdName locks a name.
func (t *tx) holdName(s Strength, kind string, parts ...string) error {
	if !t.rows.Locks {
		return nil
	}
	now, err := t.Hold(s, LockName(kind, parts...))
	t.now = max(t.now, now)
	return err
}

// LockName is the name under which a thing without a row is locked. Different
// things have different names, whatever their parts hold.
func LockName(kind string, parts ...string) string {
	var name strings.Builder
	name.WriteString(kind)
	for _, p := range parts {
		fmt.Fprintf(&name, ":%d:%s", len(p), p)
	}
	return name.String()
}
