package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/transfer"
)

// place reads what a command calls a store:
//
//	""               the configured one
//	sqlite           the database in the data folder
//	sqlite:PATH      the database in another folder, or that file
//	postgres         the configured PostgreSQL database
//	postgres://...   that one; the list of processes shows it, with its password
func place(text string, cfg *config.Config) (transfer.Place, error) {
	kind, path, given := strings.Cut(text, ":")
	switch {
	case text == "" && cfg.Shared(), text == "postgres":
		return configuredDatabase(cfg)
	case text == "", text == "sqlite":
		return transfer.Place{Path: filepath.Join(cfg.Data, app.DatabaseFile)}, nil
	case kind == "sqlite" && given && path != "":
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			path = filepath.Join(path, app.DatabaseFile)
		}
		return transfer.Place{Path: path}, nil
	case kind == "postgres", kind == "postgresql":
		if err := postgres.CheckDSN(text); err != nil {
			return transfer.Place{}, usage("%w", err)
		}
		return transfer.Place{DSN: text}, nil
	}
	return transfer.Place{}, usage("a store is sqlite, sqlite:PATH, postgres (as configured) or postgres://user@host/database")
}

// configuredDatabase is PostgreSQL past a pooler, where there is a way past it.
func configuredDatabase(cfg *config.Config) (transfer.Place, error) {
	switch {
	case cfg.Postgres.MigrateDSN != "":
		return transfer.Place{DSN: cfg.Postgres.MigrateDSN.Reveal()}, nil
	case cfg.Shared():
		return transfer.Place{DSN: cfg.Postgres.DSN.Reveal()}, nil
	}
	return transfer.Place{}, usage("no PostgreSQL is configured: give --postgres-dsn-file, or postgres.dsn in the configuration")
}

// copying shows how far a copy is, on a terminal.
func (c *connection) copying() (tell transfer.Progress, done func()) {
	p := newProgress(c.env.stderr, time.Now)
	if p.out == nil {
		return nil, p.done
	}
	return func(step string, done, total int64) {
		if total == 0 {
			p.draw(fmt.Sprintf("%s: %d", step, done))
			return
		}
		p.draw(fmt.Sprintf("%s: %d of %d rows", step, done, total))
	}, p.done
}

// counted sums up what was copied, the tables that people have a word for by name.
func counted(rows map[string]int64) string {
	var all int64
	for _, n := range rows {
		all += n
	}
	return fmt.Sprintf("%d rows in %d tables, among them %d approvals, %d deliveries and %d events",
		all, len(rows), rows["approvals"], rows["deliveries"], rows["events"])
}

// secretKey is where the key lies that opens the sealed keys of the database, and
// whether it is there.
func secretKey(cfg *config.Config) (path string, there bool) {
	if path = cfg.SecretKeyFile; path == "" {
		path = filepath.Join(cfg.Data, app.SecretKeyFile)
	}
	_, err := os.Stat(path)
	return path, !errors.Is(err, fs.ErrNotExist)
}
