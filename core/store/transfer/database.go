package transfer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/saysohq/sayso/core"
)

// database is a PostgreSQL database on one connection of its own.
type database struct {
	conn *pgx.Conn
	// lastNumber is the greatest number of an event, as deployment found it.
	lastNumber int64
}

// applicationName tells a copy from the services on the same server.
const applicationName = "sayso-transfer"

// openDatabase connects. Errors: core.ErrInvalid (the DSN), core.ErrUnavailable.
func openDatabase(ctx context.Context, dsn string) (*database, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil { // The text of the error may hold the password.
		return nil, core.Invalid("dsn", "must be a PostgreSQL connection string")
	}
	cfg.RuntimeParams["application_name"] = applicationName
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("reach the database: %w", translate(err))
	}
	return &database{conn: conn}, nil
}

// close hangs up; a transaction that is open is rolled back.
func (d *database) close(ctx context.Context) { _ = d.conn.Close(context.WithoutCancel(ctx)) } // Nothing depends on it.

func (d *database) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := d.conn.Exec(ctx, query, args...)
	return tag.RowsAffected(), translate(err)
}

func (d *database) one(ctx context.Context, query string, dest ...any) error {
	return translate(d.conn.QueryRow(ctx, query).Scan(dest...))
}

const (
	sqlMade    = `SELECT to_regclass('goose_db_version') IS NOT NULL AND to_regclass('deployment') IS NOT NULL`
	sqlServing = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'sayso'`
)

// made reports whether the database has a schema of ours, and its number.
func (d *database) made(ctx context.Context) (bool, int64, error) {
	var made bool
	var version int64
	err := d.one(ctx, sqlMade, &made)
	if err == nil && made {
		err = d.one(ctx, sqlVersion, &version)
	}
	if err != nil {
		return false, 0, fmt.Errorf("read schema: %w", err)
	}
	return made, version, nil
}

// idle requires that no service is connected, as far as their names tell. Errors:
// ErrServing.
func (d *database) idle(ctx context.Context) error {
	var n int
	if err := d.one(ctx, sqlServing, &n); err != nil {
		return fmt.Errorf("look for services: %w", err)
	}
	if n > 0 {
		return ErrServing
	}
	return nil
}

const sqlDatabaseColumns = `SELECT column_name, data_type FROM information_schema.columns
	WHERE table_schema = current_schema() AND table_name = $1`

// like is what the database calls the given tables, in the same order. Errors:
// core.ErrCorrupt when it has other columns.
func (d *database) like(ctx context.Context, tables []table) ([]table, error) {
	list := make([]table, 0, len(tables))
	for _, t := range tables {
		found, err := d.conn.Query(ctx, sqlDatabaseColumns, t.name)
		if err != nil {
			return nil, fmt.Errorf("list columns: %w", translate(err))
		}
		own := table{name: t.name}
		var name, declared string
		_, err = pgx.ForEachRow(found, []any{&name, &declared}, func() error {
			k, err := databaseKind(declared)
			own.columns = append(own.columns, column{name, k})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list columns of %s: %w", t.name, translate(err))
		}
		slices.SortFunc(own.columns, func(a, b column) int { return strings.Compare(a.name, b.name) })
		if !slices.Equal(own.names(), t.names()) {
			return nil, fmt.Errorf("the two databases differ in table %s: %w", t.name, core.ErrCorrupt)
		}
		list = append(list, own)
	}
	return list, nil
}

func databaseKind(declared string) (kind, error) {
	switch declared {
	case "text":
		return kindText, nil
	case "bigint", "integer":
		return kindNumber, nil
	case "boolean":
		return kindFlag, nil
	case "json":
		return kindJSON, nil
	case "bytea":
		return kindBytes, nil
	}
	return 0, fmt.Errorf("a column is of a type that cannot be copied: %w", core.ErrCorrupt)
}

const (
	sqlNow        = `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint`
	sqlLastNumber = `SELECT greatest((SELECT last_event FROM deployment WHERE singleton = 1), coalesce(max(seq), 0)) FROM events`
	sqlUnnumbered = `SELECT count(*) FROM events WHERE seq IS NULL`
)

// deployment implements reader.
func (d *database) deployment(ctx context.Context) (deployment, error) {
	var found deployment
	err := d.one(ctx, sqlDeployment, found.dest()...)
	if errors.Is(err, core.ErrNotFound) {
		return deployment{}, err
	}
	if err == nil {
		err = d.one(ctx, sqlLastNumber, &found.lastEvent)
	}
	if err != nil {
		return deployment{}, fmt.Errorf("read deployment: %w", err)
	}
	d.lastNumber = found.lastEvent
	return found, nil
}

// moment is the deployment as a backup of now has it: by the server's clock, and
// with all events numbered.
func (d *database) moment(ctx context.Context) (deployment, error) {
	found, err := d.deployment(ctx)
	if err != nil {
		return deployment{}, err
	}
	var now, unnumbered int64
	err = d.one(ctx, sqlNow, &now)
	if err == nil {
		err = d.one(ctx, sqlUnnumbered, &unnumbered)
	}
	if err != nil {
		return deployment{}, fmt.Errorf("read deployment: %w", err)
	}
	found.clock, found.lastEvent = max(found.clock, now), found.lastEvent+unnumbered
	return found, nil
}

// count implements reader.
func (d *database) count(ctx context.Context, t table) (int64, error) {
	var n int64
	if err := d.one(ctx, "SELECT count(*) FROM "+quoted(t.name), &n); err != nil {
		return 0, fmt.Errorf("count rows: %w", err)
	}
	return n, nil
}

// read implements reader.
func (d *database) read(ctx context.Context, t table) rows {
	query, args := "SELECT "+selected(t, nil)+" FROM "+quoted(t.name), []any(nil)
	if t.name == "events" {
		query, args = numbered(t), []any{d.lastNumber}
	}
	return func(yield func([]any, error) bool) {
		found, err := d.conn.Query(ctx, query, args...)
		if err != nil {
			yield(nil, translate(err))
			return
		}
		defer found.Close()
		for found.Next() {
			row, err := found.Values()
			if !yield(row, translate(err)) || err != nil {
				return
			}
		}
		if err := found.Err(); err != nil {
			yield(nil, translate(err))
		}
	}
}

// selected lists the columns of a table as a row in flight has them, some of them as
// other expressions.
func selected(t table, other map[string]string) string {
	list := make([]string, len(t.columns))
	for i, c := range t.columns {
		list[i] = quoted(c.name)
		if expression, ok := other[c.name]; ok {
			list[i] = expression
		}
		switch c.kind {
		case kindFlag:
			list[i] += "::int::bigint"
		case kindJSON:
			list[i] += "::text"
		case kindNumber:
			list[i] += "::bigint"
		case kindText, kindBytes:
		}
	}
	return strings.Join(list, ", ")
}

// numbered reads the events with those that no sequencer has numbered yet behind the
// others, as it would have: a file numbers all of them. $1 is the greatest number.
func numbered(t table) string {
	return "SELECT " + selected(t, nil) + " FROM events WHERE seq IS NOT NULL UNION ALL SELECT " + selected(t, map[string]string{
		"seq": "number",
		"previous": `coalesce(lag(number) OVER (PARTITION BY approval_id ORDER BY number),
			(SELECT max(n.seq) FROM events n WHERE n.approval_id = e.approval_id), 0)`,
	}) + ` FROM (SELECT *, $1::bigint + row_number() OVER (ORDER BY created_at, approval_id, revision, type) AS number
		FROM events WHERE seq IS NULL) e`
}

// empty implements writer.
func (d *database) empty(ctx context.Context, t table) error {
	if _, err := d.exec(ctx, "DELETE FROM "+quoted(t.name)); err != nil {
		return fmt.Errorf("empty table: %w", err)
	}
	return nil
}

// write implements writer with COPY: rows go out as they come in.
func (d *database) write(ctx context.Context, t table, in rows) error {
	next, stop := iter.Pull2(in)
	defer stop()
	_, err := d.conn.CopyFrom(ctx, pgx.Identifier{t.name}, t.names(), pgx.CopyFromFunc(func() ([]any, error) {
		row, err, more := next()
		if !more || err != nil {
			return nil, err
		}
		for i, c := range t.columns {
			if flag, ok := row[i].(int64); ok && c.kind == kindFlag {
				row[i] = flag != 0
			}
		}
		return row, nil
	}))
	return translate(err)
}
