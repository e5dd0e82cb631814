package migrations_test

import (
	"context"
	"database/sql"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/saysohq/sayso/migrations"
)

func provider(t *testing.T) (*goose.Provider, *sql.DB) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "schema.db")+"?_pragma=foreign_keys(1)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fs.Sub(migrations.SQLite, "sqlite")
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	require.NoError(t, err)
	return p, db
}

// schema lists every object as SQLite keeps it, goose's own aside.
func schema(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT name, coalesce(sql, '') FROM sqlite_schema
		WHERE name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%'`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	objects := map[string]string{}
	for rows.Next() {
		var name, text string
		require.NoError(t, rows.Scan(&name, &text))
		objects[name] = text
	}
	require.NoError(t, rows.Err())
	return objects
}

func TestSQLiteUpDownUp(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p, db := provider(t)
	_, err := p.Up(ctx)
	require.NoError(t, err)
	first := schema(t, db)
	require.Contains(t, first, "approvals")
	_, err = p.DownTo(ctx, 0)
	require.NoError(t, err)
	require.Empty(t, schema(t, db), "nothing is left behind")
	_, err = p.Up(ctx)
	require.NoError(t, err)
	require.Equal(t, first, schema(t, db))
}

// Every table is strict: a column holds what it says or the write fails.
func TestSQLiteTablesAreStrict(t *testing.T) {
	t.Parallel()
	p, db := provider(t)
	_, err := p.Up(t.Context())
	require.NoError(t, err)
	for name, text := range schema(t, db) {
		if strings.HasPrefix(text, "CREATE TABLE") {
			require.Regexp(t, `STRICT`, text[len(text)-30:], name)
		}
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	entries, err := fs.ReadDir(migrations.SQLite, "sqlite")
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for i, e := range entries {
		require.Regexp(t, `^\d{5}_[a-z_]+\.sql$`, e.Name())
		require.Equal(t, byte('1'+i), e.Name()[4], "numbers follow each other")
	}
}
