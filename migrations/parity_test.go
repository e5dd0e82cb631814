package migrations_test

import (
	"context"
	"io/fs"
	"maps"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/postgres/postgrestest"
	"github.com/saysohq/sayso/migrations"
)

// columns maps a table's columns to whether they may be NULL.
type columns map[string]bool

func sqliteTables(t *testing.T) map[string]columns {
	t.Helper()
	p, db := provider(t)
	_, err := p.Up(t.Context())
	require.NoError(t, err)
	// The columns of a primary key are never NULL in a strict table.
	rows, err := db.QueryContext(t.Context(), `SELECT t.name, c.name, c."notnull" = 0 AND c.pk = 0
		FROM sqlite_schema t JOIN pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name NOT LIKE 'goose%' AND t.name NOT LIKE 'sqlite%'`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	tables := map[string]columns{}
	for rows.Next() {
		var table, column string
		var null bool
		require.NoError(t, rows.Scan(&table, &column, &null))
		if tables[table] == nil {
			tables[table] = columns{}
		}
		tables[table][column] = null
	}
	require.NoError(t, rows.Err())
	return tables
}

func postgresTables(t *testing.T, dsn string) map[string]columns {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(context.Background())) }()
	rows, err := c.Query(t.Context(), `SELECT table_name, column_name, is_nullable = 'YES'
		FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE 'goose%'`)
	require.NoError(t, err)
	tables := map[string]columns{}
	var table, column string
	var null bool
	_, err = pgx.ForEachRow(rows, []any{&table, &column, &null}, func() error {
		if tables[table] == nil {
			tables[table] = columns{}
		}
		tables[table][column] = null
		return nil
	})
	require.NoError(t, err)
	return tables
}

// Both databases have the same tables with the same columns, and agree about what
// may be NULL, so that a record can move from one to the other.
func TestBothSchemasAreOne(t *testing.T) {
	t.Parallel()
	server := postgrestest.New(postgrestest.Options{Prepare: postgres.Migrate})
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	lite, big := sqliteTables(t), postgresTables(t, server.Database(t))
	// Numbered by the database itself there, by a sequencer here.
	require.False(t, lite["events"]["seq"])
	require.True(t, big["events"]["seq"])
	delete(lite["events"], "seq")
	delete(big["events"], "seq")
	require.Equal(t, slices.Sorted(maps.Keys(lite)), slices.Sorted(maps.Keys(big)))
	for table := range lite {
		require.Equal(t, lite[table], big[table], table)
	}
}

// A number means the same on both.
func TestBothSchemasTakeTheSameSteps(t *testing.T) {
	t.Parallel()
	lite, err := fs.Glob(migrations.SQLite, "sqlite/*.sql")
	require.NoError(t, err)
	big, err := fs.Glob(migrations.Postgres, "postgres/*.sql")
	require.NoError(t, err)
	require.Len(t, big, len(lite))
	for i := range lite {
		require.Equal(t, lite[i][len("sqlite/"):], big[i][len("postgres/"):])
	}
}

// Down leaves nothing behind, and the way up can be taken again.
func TestPostgresUpDownUp(t *testing.T) {
	t.Parallel()
	server := postgrestest.New(postgrestest.Options{Prepare: postgres.Migrate})
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	dsn := server.Database(t)
	up := postgresTables(t, dsn)
	down(t, dsn)
	require.Empty(t, postgresTables(t, dsn), "nothing is left behind")
	require.NoError(t, postgres.Migrate(t.Context(), dsn))
	require.Equal(t, up, postgresTables(t, dsn))
}

// down takes all steps back.
func down(t *testing.T, dsn string) {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	db := stdlib.OpenDB(*cfg)
	defer func() { require.NoError(t, db.Close()) }()
	files, err := fs.Sub(migrations.Postgres, "postgres")
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectPostgres, db, files)
	require.NoError(t, err)
	_, err = p.DownTo(t.Context(), 0)
	require.NoError(t, err)
}
