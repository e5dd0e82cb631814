package sqlite

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// handle is one connection to the database with its prepared statements, for one
// goroutine at a time. It speaks to SQLite without database/sql in between, whose
// price for a row of an approval is a multiple of SQLite's own.
type handle struct {
	conn  *sqlite.Conn
	stmts map[string]*sqlite.Stmt // By the text as it was asked for; at rest, with old values bound.
}

// openHandle opens a file that exists and sets up the connection.
func openHandle(path string, pragmas []string) (*handle, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	conn.SetBusyTimeout(busyTimeout)
	h := &handle{conn: conn, stmts: map[string]*sqlite.Stmt{}}
	for _, p := range pragmas {
		if err := h.once("PRAGMA " + p); err != nil {
			_ = conn.Close() // The reason for closing is the error to report.
			return nil, fmt.Errorf("set up connection: %w", err)
		}
	}
	return h, nil
}

// close ends the connection, and with it whatever transaction it was in.
func (h *handle) close() error { return translate(h.conn.Close()) }

// once runs a statement that is not kept.
func (h *handle) once(query string) error {
	stmt, rest, err := h.conn.PrepareTransient(query)
	if err != nil {
		return err
	}
	if rest != 0 {
		return errors.Join(errors.New("more than one statement"), stmt.Finalize())
	}
	for more := true; more && err == nil; {
		more, err = stmt.Step()
	}
	return errors.Join(err, stmt.Finalize())
}

// prepared binds the arguments to a statement that is prepared once.
func (h *handle) prepared(query string, args []any) (*sqlite.Stmt, error) {
	stmt, ok := h.stmts[query]
	if !ok {
		var err error
		if stmt, err = h.conn.Prepare(unpeeked(query)); err != nil {
			return nil, err
		}
		h.stmts[query] = stmt
	}
	if n := stmt.BindParamCount(); n != len(args) {
		return nil, fmt.Errorf("statement has %d parameters, not %d", n, len(args))
	}
	for i, a := range args {
		if err := bind(stmt, i+1, a); err != nil {
			return nil, err
		}
	}
	return stmt, nil
}

// unpeeked puts a plus before every parameter, which changes no value. Without it the
// planner looks at the value where that might help (a LIMIT, a partial index), and
// prepares the statement anew whenever another is bound: several times the work of
// most statements. Our statements say which index they want.
func unpeeked(query string) string {
	var b strings.Builder
	quote := byte(0)
	for i := range len(query) {
		c := query[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '?':
			b.WriteByte('+')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// exec runs a statement and returns how many rows it changed. A statement that
// changes none by its nature may return any number.
func (h *handle) exec(query string, args ...any) (int64, error) {
	stmt, err := h.prepared(query, args)
	if err != nil {
		return 0, err
	}
	for more := true; more; {
		if more, err = stmt.Step(); err != nil {
			return 0, err // Step has reset the statement.
		}
	}
	n := h.conn.Changes()
	return int64(n), stmt.Reset()
}

// one reads a single row. Errors: core.ErrNotFound.
func (h *handle) one(query string, args []any, dest []any) error {
	found := false
	err := h.each(query, args, func(scan record.Row) error {
		if found {
			return nil
		}
		found = true
		return scan(dest...)
	})
	if err == nil && !found {
		return core.ErrNotFound
	}
	return err
}

// each reads all rows. The statement ends before it returns, also when fn fails or
// panics: a statement that is left open would hold its snapshot, and its lock.
func (h *handle) each(query string, args []any, fn func(scan record.Row) error) (err error) {
	stmt, err := h.prepared(query, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Reset()) }()
	scan := func(dest ...any) error { return scanRow(stmt, dest) }
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return err
		}
		if err := fn(scan); err != nil {
			return err
		}
	}
}

// bind gives a statement one argument: text, a whole number, yes or no, bytes, or
// nothing, or a pointer to it; one to text may be nil.
func bind(stmt *sqlite.Stmt, i int, arg any) error {
	switch v := arg.(type) {
	case nil:
		stmt.BindNull(i)
	case string:
		stmt.BindText(i, v)
	case int64:
		stmt.BindInt64(i, v)
	case int:
		stmt.BindInt64(i, int64(v))
	case bool:
		stmt.BindBool(i, v)
	case []byte:
		stmt.BindBytes(i, v)
	case *string:
		if v == nil {
			stmt.BindNull(i)
		} else {
			stmt.BindText(i, *v)
		}
	case **string:
		return bind(stmt, i, *v)
	case *int64:
		stmt.BindInt64(i, *v)
	case *bool:
		stmt.BindBool(i, *v)
	default:
		return bindKind(stmt, i, reflect.ValueOf(arg))
	}
	return nil
}

// bindKind binds values of types that are made of those above.
func bindKind(stmt *sqlite.Stmt, i int, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		stmt.BindText(i, v.String())
	case reflect.Int64, reflect.Int:
		stmt.BindInt64(i, v.Int())
	case reflect.Bool:
		stmt.BindBool(i, v.Bool())
	default:
		return fmt.Errorf("parameter %d cannot be of type %s", i, v.Type())
	}
	return nil
}

// scanRow reads the current row.
func scanRow(stmt *sqlite.Stmt, dest []any) error {
	if n := stmt.DataCount(); n != len(dest) {
		return fmt.Errorf("row has %d columns, not %d", n, len(dest))
	}
	for i, d := range dest {
		if err := scanColumn(stmt, i, d); err != nil {
			return err
		}
	}
	return nil
}

// scanColumn reads one column. Nothing is converted: a column that does not hold
// what its reader expects is damage, or a mistake in a statement.
func scanColumn(stmt *sqlite.Stmt, i int, dest any) error {
	kind := stmt.ColumnType(i)
	switch d := dest.(type) {
	case *string:
		if kind == sqlite.TypeText {
			*d = stmt.ColumnText(i)
			return nil
		}
	case *int64:
		if kind == sqlite.TypeInteger {
			*d = stmt.ColumnInt64(i)
			return nil
		}
	case *int:
		if kind == sqlite.TypeInteger {
			*d = stmt.ColumnInt(i)
			return nil
		}
	case *bool:
		if kind == sqlite.TypeInteger {
			*d = stmt.ColumnInt64(i) != 0
			return nil
		}
	case **string:
		return scanOptional(stmt, i, kind, d)
	case *[]byte:
		return scanBytes(stmt, i, kind, d)
	}
	return scanKind(stmt, i, kind, reflect.ValueOf(dest))
}

// scanKind reads a column into a type that is made of those above.
func scanKind(stmt *sqlite.Stmt, i int, kind sqlite.ColumnType, dest reflect.Value) error {
	if to := dest.Elem(); kind == sqlite.TypeInteger && to.Kind() == reflect.Int64 {
		to.SetInt(stmt.ColumnInt64(i))
		return nil
	} else if kind == sqlite.TypeText && to.Kind() == reflect.String {
		to.SetString(stmt.ColumnText(i))
		return nil
	}
	return fmt.Errorf("column %d holds a value of type %s, which a %s does not take", i, kind, dest.Type())
}

func scanOptional(stmt *sqlite.Stmt, i int, kind sqlite.ColumnType, dest **string) error {
	switch kind {
	case sqlite.TypeNull:
		*dest = nil
	case sqlite.TypeText:
		s := stmt.ColumnText(i)
		*dest = &s
	default:
		return fmt.Errorf("column %d holds a value of type %s instead of text", i, kind)
	}
	return nil
}

func scanBytes(stmt *sqlite.Stmt, i int, kind sqlite.ColumnType, dest *[]byte) error {
	switch kind {
	case sqlite.TypeNull:
		*dest = nil
	case sqlite.TypeText, sqlite.TypeBlob:
		*dest = make([]byte, stmt.ColumnLen(i))
		stmt.ColumnBytes(i, *dest)
	default:
		return fmt.Errorf("column %d holds a value of type %s instead of bytes", i, kind)
	}
	return nil
}
