package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/pressly/goose/v3"
	// The driver registers itself under the name "sqlite".
	_ "modernc.org/sqlite"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/migrations"
)

// migrate brings the schema up to date, or refuses one that is ahead of us. The tool
// that does it speaks database/sql: it has a connection of its own, which ends with
// it.
func migrate(ctx context.Context, path string, pragmas []string) (err error) {
	db, err := sql.Open("sqlite", dataSource(path, append(writerPragmas(), pragmas...)))
	if err != nil {
		return translate(err)
	}
	defer func() { err = errors.Join(err, translate(db.Close())) }()
	db.SetMaxOpenConns(1)
	files, err := fs.Sub(migrations.SQLite, "sqlite")
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", translate(err))
	}
	if current > target {
		return core.ErrNewerSchema
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate schema: %w", translate(err))
	}
	return nil
}

// dataSource names a file and its pragmas to database/sql, in which they all must
// stand: one that is run on a pool reaches only one of its connections.
func dataSource(path string, pragmas []string) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}}
	for _, p := range pragmas {
		name, value, _ := strings.Cut(p, " = ")
		q.Add("_pragma", name+"("+value+")")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}
