package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/sqlite"
)

// record is what the parts ask of the store by the names of the ports.
type record interface {
	core.Clock
	core.Approvals
	core.Grants
	core.Runs
	core.Maintenance
	core.Watch
	core.Backlog
	core.Principals
	core.Identities
	core.Sessions
	core.Tokens
	core.Codes
	core.CodeBurner
	core.Prompts
	core.Keys
	core.Sequence
	core.AgentSettings
	core.AgentLives
	core.Rules
	core.Declines
	core.Outcomes
	core.Updates
	core.Policies
	core.PolicyTables
	core.Outcomes
	core.Updates
	core.Nudges
}

// keeper hands out single-holder jobs, and takes over from workers that have gone.
type keeper interface {
	core.Leases
	core.Takeover
}

// ledger is the store's side of the deliveries.
type ledger interface {
	core.Deliveries
	core.Ledger
	core.Cards
	core.AnsweredCards
	core.Convergence
	core.Routes
}

// storage is the opened store. Which one it is, openStore alone knows.
type storage struct {
	record
	ledger ledger
	leases keeper
	shared bool // Other replicas may use it too.

	run   func(ctx context.Context) error // The store's own work; blocks until ctx ends.
	close func() error
}

// SQLite is how the embedded store of this process is opened.
func (o *Options) SQLite() sqlite.Config {
	return sqlite.Config{Path: filepath.Join(o.Config.Data, DatabaseFile), Now: o.Now, Log: o.Logger.With("part", "store"), Ended: o.ended()}
}

// Postgres is how the shared store is opened; the configuration has one
// (config.Config.Shared).
func (o *Options) Postgres() postgres.Config {
	c := &o.Config.Postgres
	pooler := postgres.PoolerNone
	if c.Pooler == config.PoolerTransaction {
		pooler = postgres.PoolerTransaction
	}
	failover := postgres.FailoverRefuse
	if c.AfterFailover == config.FailoverContinue {
		failover = postgres.FailoverContinue
	}
	return postgres.Config{
		AfterFailover: failover, DSN: c.DSN.Reveal(), MigrateDSN: c.MigrateDSN.Reveal(), Migrate: o.Migrate, Pooler: pooler,
		MaxConns: c.MaxConns, Log: o.Logger.With("part", "store"), Ended: o.ended(),
	}
}

// openStore opens the configured store. The embedded one brings its schema up to date
// by itself: nobody else uses it. The shared one is only checked, unless Migrate says
// otherwise: replicas of the version before may be running on it.
func openStore(ctx context.Context, o *Options) (*storage, error) {
	if o.Config.Shared() {
		s, err := postgres.Open(ctx, o.Postgres())
		if err != nil {
			return nil, explain(err)
		}
		return &storage{record: s, ledger: s.Ledger(), leases: s.Leases(), shared: true, run: untilDone, close: s.Close}, nil
	}
	s, err := sqlite.Open(ctx, o.SQLite())
	if err != nil {
		return nil, err
	}
	return &storage{record: s, ledger: s.Ledger(), leases: s.Leases(), run: s.Run, close: s.Close}, nil
}

// untilDone is the work of a store that has none of its own.
func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// explain adds what to do about a database that cannot be used as it is.
func explain(err error) error {
	switch {
	case errors.Is(err, postgres.ErrOldSchema):
		return fmt.Errorf("%w (run sayso migrate, or serve --migrate)", err)
	case errors.Is(err, postgres.ErrIsolation), errors.Is(err, postgres.ErrStandby), errors.Is(err, postgres.ErrFailover):
		return err
	case errors.Is(err, core.ErrUnavailable):
		return fmt.Errorf("%w (is PostgreSQL there, and do user, password and database of postgres.dsn fit?)", err)
	}
	return err
}

// Migrate brings the schema of the configured database up to date without serving.
// Of several that migrate at once one does the work. Errors: sqlite.ErrInUse (a
// service runs on the embedded database, and has migrated it), core.ErrNewerSchema,
// core.ErrUnavailable.
func Migrate(ctx context.Context, o Options) error {
	if o.Config.Shared() {
		dsn := o.Config.Postgres.MigrateDSN
		if dsn == "" {
			dsn = o.Config.Postgres.DSN
		}
		return explain(postgres.Migrate(ctx, dsn.Reveal()))
	}
	if err := makeFolder(o.Config.Data); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, o.SQLite())
	if err != nil {
		return err
	}
	return s.Close()
}
