package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/migrations"
)

// Migrate brings the schema of the database at dsn up to date. Of several that
// migrate at once one does the work, under a lock of its session, so dsn must be a
// direct connection and no pooler. Errors: core.ErrNewerSchema,
// core.ErrUnavailable, core.ErrInvalid (the DSN).
func Migrate(ctx context.Context, dsn string) error {
	err := withProvider(ctx, dsn, func(p *goose.Provider) error {
		current, target, err := versions(ctx, p)
		if err != nil {
			return err
		}
		if current > target {
			return core.ErrNewerSchema
		}
		if _, err := p.Up(ctx); err != nil {
			return translate(err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("migrate schema: %w", err)
	}
	return nil
}

// withProvider opens a connection of its own for fn.
func withProvider(ctx context.Context, dsn string, fn func(*goose.Provider) error) (err error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil { // The text of the error may hold the password.
		return core.Invalid("dsn", "must be a PostgreSQL connection string")
	}
	pool := stdlib.OpenDB(*cfg)
	defer func() {
		if closed := pool.Close(); err == nil {
			err = translate(closed)
		}
	}()
	if err := pool.PingContext(ctx); err != nil {
		return translate(err)
	}
	p, err := provider(pool)
	if err != nil {
		return err
	}
	return fn(p)
}

func provider(pool *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations.Postgres, "postgres")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, fmt.Errorf("make migration lock: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, pool, files, goose.WithSessionLocker(locker))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}

func versions(ctx context.Context, p *goose.Provider) (current, target int64, err error) {
	current, target, err = p.GetVersions(ctx)
	if err != nil {
		return 0, 0, translate(err)
	}
	return current, target, nil
}

// newest is the version of the schema that this program was made for.
func newest() (int64, error) {
	files, err := fs.Sub(migrations.Postgres, "postgres")
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("read migrations: %w", core.ErrUnavailable)
	}
	version, err := goose.NumericComponent(names[len(names)-1])
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	return version, nil
}
