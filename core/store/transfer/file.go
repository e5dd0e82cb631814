package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	// The driver registers itself under the name "sqlite".
	_ "modernc.org/sqlite"

	"github.com/saysohq/sayso/core"
)

// file is a SQLite file on one connection of its own, beside whoever else has it
// open.
type file struct {
	db   *sql.DB
	conn *sql.Conn
}

// How a file is opened, as the parameters of its address.
const (
	// asSnapshot reads beside a running service.
	asSnapshot = "mode=rw&_pragma=busy_timeout(5000)&_pragma=query_only(1)"
	// asIs reads a file that nobody writes to, and makes no other beside it. A damaged
	// row is part of a backup as it is.
	asIs = "mode=ro&immutable=1&_pragma=ignore_check_constraints(1)"
	// asOwner changes a file that nobody else has; what it commits is on the disk.
	asOwner = "mode=rw&_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)"
	// asDraft fills a file that counts for nothing before it is synced as a whole. A
	// damaged row is copied as it is: it could not be decided, and cannot be there.
	asDraft = "mode=rw&_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=foreign_keys(0)&_pragma=ignore_check_constraints(1)"
)

// openFile opens a file that exists. Errors: ErrNoStore, core.ErrUnavailable.
func openFile(ctx context.Context, path string, how string) (*file, error) {
	path, err := existing(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: how}).String())
	if err != nil {
		return nil, fmt.Errorf("open store: %w", translate(err))
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close() // The first error is the one to report.
		return nil, fmt.Errorf("open store: %w", translate(err))
	}
	return &file{db, conn}, nil
}

// existing is the absolute path of a file that exists.
func existing(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find store: %w", core.ErrUnavailable)
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("find store: %w", ErrNoStore)
	case err != nil:
		return "", fmt.Errorf("find store: %w", core.ErrUnavailable)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("find store: not a file: %w", ErrNoStore)
	}
	return path, nil
}

// close lets go of the file; a transaction that is open is rolled back.
func (f *file) close() error { return translate(errors.Join(f.conn.Close(), f.db.Close())) }

func (f *file) exec(ctx context.Context, query string, args ...any) error {
	_, err := f.conn.ExecContext(ctx, query, args...)
	return translate(err)
}

func (f *file) one(ctx context.Context, query string, dest ...any) error {
	return translate(f.conn.QueryRowContext(ctx, query).Scan(dest...))
}

// texts reads a column of text.
func (f *file) texts(ctx context.Context, query string, args ...any) ([]string, error) {
	found, err := f.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, translate(err)
	}
	defer found.Close()
	var list []string
	for found.Next() {
		var s string
		if err := found.Scan(&s); err != nil {
			return nil, translate(err)
		}
		list = append(list, s)
	}
	return list, translate(found.Err())
}

const (
	sqlFileTables  = `SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name`
	sqlFileColumns = `SELECT name || ':' || type FROM pragma_table_info(?) ORDER BY name`
	sqlFileParents = `SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)`
	sqlVersion     = `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`
	sqlLastEvent   = `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'`
)

// version is the number of the schema. Errors: ErrNoStore for a file of another kind.
func (f *file) version(ctx context.Context) (int64, error) {
	names, err := f.texts(ctx, sqlFileTables)
	if err != nil {
		return 0, fmt.Errorf("read schema: %w", err)
	}
	if !slices.Contains(names, "goose_db_version") || !slices.Contains(names, "deployment") {
		return 0, ErrNoStore
	}
	var version int64
	if err := f.one(ctx, sqlVersion, &version); err != nil {
		return 0, fmt.Errorf("read schema: %w", err)
	}
	return version, nil
}

// tables lists what travels, parents first.
func (f *file) tables(ctx context.Context) ([]table, error) {
	names, err := f.texts(ctx, sqlFileTables)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	var list []table
	for _, name := range names {
		if apart(name) {
			continue
		}
		t := table{name: name}
		columns, err := f.texts(ctx, sqlFileColumns, name)
		if err != nil {
			return nil, fmt.Errorf("list columns: %w", err)
		}
		for _, c := range columns {
			name, kind, _ := strings.Cut(c, ":")
			t.columns = append(t.columns, column{name, fileKind(kind)})
		}
		if t.parents, err = f.texts(ctx, sqlFileParents, name); err != nil {
			return nil, fmt.Errorf("list references: %w", err)
		}
		list = append(list, t)
	}
	return parentsFirst(list)
}

// fileKind is the kind of a column of a strict table.
func fileKind(declared string) kind {
	switch declared {
	case "INTEGER":
		return kindNumber
	case "BLOB":
		return kindBytes
	}
	return kindText
}

// deployment implements reader.
func (f *file) deployment(ctx context.Context) (deployment, error) {
	var d deployment
	err := f.one(ctx, sqlDeployment, d.dest()...)
	if err == nil {
		err = f.one(ctx, sqlLastEvent, &d.lastEvent)
	}
	if err != nil {
		return deployment{}, fmt.Errorf("read deployment: %w", err)
	}
	return d, nil
}

// count implements reader.
func (f *file) count(ctx context.Context, t table) (int64, error) {
	var n int64
	if err := f.one(ctx, "SELECT count(*) FROM "+quoted(t.name), &n); err != nil {
		return 0, fmt.Errorf("count rows: %w", err)
	}
	return n, nil
}

// quoted is a name of our own schema as an identifier.
func quoted(name string) string { return `"` + name + `"` }

func quotedAll(names []string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = quoted(n)
	}
	return strings.Join(list, ", ")
}

// read implements reader.
func (f *file) read(ctx context.Context, t table) rows {
	return func(yield func([]any, error) bool) {
		found, err := f.conn.QueryContext(ctx, "SELECT "+quotedAll(t.names())+" FROM "+quoted(t.name)) //nolint:gosec // Names of our own schema.
		if err != nil {
			yield(nil, translate(err))
			return
		}
		defer found.Close()
		for found.Next() {
			row, dest := make([]any, len(t.columns)), make([]any, len(t.columns))
			for i := range row {
				dest[i] = &row[i]
			}
			if err := found.Scan(dest...); err != nil {
				yield(nil, translate(err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := found.Err(); err != nil {
			yield(nil, translate(err))
		}
	}
}

// empty implements writer.
func (f *file) empty(ctx context.Context, t table) error {
	if err := f.exec(ctx, "DELETE FROM "+quoted(t.name)); err != nil {
		return fmt.Errorf("empty table: %w", err)
	}
	return nil
}

// write implements writer.
func (f *file) write(ctx context.Context, t table, in rows) error {
	places := strings.TrimSuffix(strings.Repeat("?, ", len(t.columns)), ", ")
	//nolint:gosec // Names of our own schema.
	insert, err := f.conn.PrepareContext(ctx, "INSERT INTO "+quoted(t.name)+" ("+quotedAll(t.names())+") VALUES ("+places+")")
	if err != nil {
		return translate(err)
	}
	defer insert.Close()
	return insertAll(ctx, insert, in)
}

func insertAll(ctx context.Context, insert *sql.Stmt, in rows) error {
	for row, err := range in {
		if err != nil {
			return err
		}
		if _, err := insert.ExecContext(ctx, row...); err != nil {
			return translate(err)
		}
	}
	return nil
}

const (
	sqlSetDeployment = `INSERT INTO deployment (singleton, id, incarnation, created_at, clock, batch, sealed, sealed_as, copy_id)
		VALUES (1, ?1, ?2, ?3, ?4, ?5, 1, ?6, ?7)
		ON CONFLICT (singleton) DO UPDATE SET id = ?1, incarnation = ?2, created_at = ?3, clock = ?4, batch = ?5,
			sealed = 1, sealed_as = ?6, copy_id = ?7`
	sqlNoLastEvent  = `DELETE FROM sqlite_sequence WHERE name = 'events'`
	sqlSetLastEvent = `INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)`
	sqlSeal         = `UPDATE deployment SET sealed = 1, sealed_as = ?, copy_id = ? WHERE singleton = 1`
)

// setDeployment writes the singleton row, sealed, and where events are numbered on.
func (f *file) setDeployment(ctx context.Context, d deployment) error {
	err := f.exec(ctx, sqlSetDeployment, d.id, d.incarnation, d.createdAt, d.clock, d.batch, string(d.seal), d.copyID)
	if err == nil {
		err = f.exec(ctx, sqlNoLastEvent)
	}
	if err == nil {
		err = f.exec(ctx, sqlSetLastEvent, d.lastEvent)
	}
	if err != nil {
		return fmt.Errorf("write deployment: %w", err)
	}
	return nil
}

// seal keeps the store from serving.
func (f *file) seal(ctx context.Context, as core.Seal, copyID string) error {
	if err := f.exec(ctx, sqlSeal, string(as), copyID); err != nil {
		return fmt.Errorf("seal store: %w", err)
	}
	return nil
}

// sound asks SQLite whether the file is what it wrote. Errors: core.ErrCorrupt.
func (f *file) sound(ctx context.Context) error {
	answers, err := f.texts(ctx, "PRAGMA integrity_check(1)")
	if err != nil {
		return fmt.Errorf("check integrity: %w", err)
	}
	if !slices.Equal(answers, []string{"ok"}) { // Names, pages and numbers of rows; no values.
		return fmt.Errorf("check integrity: %w", &fault{class: core.ErrCorrupt, detail: strings.Join(answers, "; ")})
	}
	return nil
}
