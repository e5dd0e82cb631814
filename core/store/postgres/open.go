package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// Pooler names what stands between the store and the server.
type Pooler string

// The poolers.
const (
	PoolerNone Pooler = "" // Nothing, or something that keeps a session per connection.
	// PoolerTransaction is PgBouncer in transaction mode, or its like: a connection
	// keeps nothing from one transaction to the next, no prepared statement either.
	PoolerTransaction Pooler = "transaction"
)

// Config says where the store is and what it lives from.
type Config struct {
	// DSN is the database, as a URL or in key=value form; required.
	DSN string
	// MigrateDSN is a direct connection for migrations; "" means DSN.
	MigrateDSN string
	// Migrate brings the schema up to date at Open. Otherwise Open only checks it.
	Migrate bool
	// Pooler says how connections behave.
	Pooler Pooler
	// MaxConns bounds the pool; 0 means 16.
	MaxConns int32
	// Limit is how long one read or write may take once it has begun; 0 means 15 s.
	// A caller's context counts until then.
	Limit time.Duration
	// Log takes content-free reports of faults; required.
	Log *slog.Logger
	// Dial connects to the server; nil takes the system's way.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Ended is told of every final answer that this store records, once, after the
	// commit; nil tells nobody. It may be called by many goroutines at once. An answer is
	// told by nobody where the process, or its connection, dies at the commit.
	Ended func(core.Approval)
	// AllowSealed opens a sealed backup, for the restore that unseals it.
	AllowSealed bool
	// AfterFailover says what to do when the server is another one than at the last
	// start. It is not asked where AllowSealed is set.
	AfterFailover Failover

	clock string // An expression in the place of the server's clock, for tests.
}

const (
	defaultConns = 16
	defaultLimit = 15 * time.Second
)

// Store is the record in one PostgreSQL database, shared with any number of other
// processes. All methods are safe for concurrent use.
type Store struct {
	*record.Store

	pool   *pgxpool.Pool
	log    *slog.Logger
	limit  time.Duration
	pooled bool
	texts  texts
	floor  floor
	// connections is how many the server had room for at the start.
	connections int64
	sql         statements

	failover Failover
	timeline atomic.Int64 // Of the server; 0 while it is not known.
}

// Open connects, checks the server and the schema, and starts nothing but the
// pool's own upkeep. Errors: core.ErrInvalid (the configuration), ErrIsolation,
// ErrOldSchema, ErrStandby, ErrFailover, core.ErrSealed, core.ErrNewerSchema,
// core.ErrUnavailable.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	pool, err := poolConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if cfg.Migrate {
		dsn := cfg.MigrateDSN
		if dsn == "" {
			dsn = cfg.DSN
		}
		if err := Migrate(ctx, dsn); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
	s := &Store{log: cfg.Log, limit: cfg.Limit, pooled: cfg.Pooler == PoolerTransaction, failover: cfg.AfterFailover}
	if !s.pooled { // A session keeps what is set here; the pool hands out no other.
		pool.AfterConnect = s.prepareSession
	}
	if s.limit <= 0 {
		s.limit = defaultLimit
	}
	if cfg.clock == "" {
		cfg.clock = clockSQL
	}
	s.Store = record.New(db{s}, dialect(), cfg.Ended)
	s.sql = newStatements(cfg.clock, s.Table())
	if s.pool, err = pgxpool.NewWithConfig(ctx, pool); err != nil {
		return nil, fmt.Errorf("open store: %w", translate(err))
	}
	if err := s.check(ctx, cfg); err != nil {
		s.pool.Close()
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

func poolConfig(cfg Config) (*pgxpool.Config, error) {
	if cfg.DSN == "" || cfg.Log == nil {
		return nil, core.Invalid("store", "needs a DSN and a log")
	}
	pool, err := pgxpool.ParseConfig(cfg.DSN)
	if err != nil { // The text of the error may hold the password.
		return nil, core.Invalid("dsn", "must be a PostgreSQL connection string")
	}
	if pool.MaxConns = cfg.MaxConns; pool.MaxConns <= 0 {
		pool.MaxConns = defaultConns
	}
	conn := pool.ConnConfig
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = "sayso"
	}
	if cfg.Dial != nil {
		conn.DialFunc = cfg.Dial
	}
	switch cfg.Pooler {
	case PoolerNone:
	case PoolerTransaction:
		conn.DefaultQueryExecMode = pgx.QueryExecModeExec
		conn.StatementCacheCapacity, conn.DescriptionCacheCapacity = 0, 0
	default:
		return nil, core.Invalid("pooler", "must be empty or transaction")
	}
	if cfg.AfterFailover != FailoverRefuse && cfg.AfterFailover != FailoverContinue {
		return nil, core.Invalid("after_failover", "must be empty or continue")
	}
	return pool, nil
}

// prepareSession makes every commit of a session reach the disk before it is
// answered, and has each statement planned once: all are found by their index
// whatever the parameters are, and the server would plan those with optional parts
// anew for each call, which took a fifth of its time.
func (s *Store) prepareSession(ctx context.Context, c *pgx.Conn) error {
	if err := s.sameServer(ctx, c); err != nil {
		return err
	}
	_, err := c.Exec(ctx, `SELECT set_config('plan_cache_mode', 'force_generic_plan', false),
		CASE WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN set_config('synchronous_commit', 'on', false) END`)
	return err
}

// Statements of the start.
const (
	sqlServer = `SELECT current_setting('default_transaction_isolation'), pg_is_in_recovery(), current_setting('max_connections')::bigint`
	sqlSchema = `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`
	sqlTables = `SELECT to_regclass('goose_db_version') IS NOT NULL`
	// The first process to come makes the deployment's row. Nobody begins below the
	// time that was handed out before: by a store that was closed, or for a row.
	sqlMakeDeployment = `INSERT INTO deployment (singleton, id, created_at) VALUES (1, $1, $2) ON CONFLICT DO NOTHING`
	sqlAdopt          = `SELECT sealed, greatest(clock, (SELECT coalesce(max(created_at), 0) FROM approvals)) FROM deployment WHERE singleton = 1`
	sqlKeepClock      = `UPDATE deployment SET clock = greatest(clock, $1) WHERE singleton = 1`
)

// check refuses a server or a schema that this store would not be safe on.
func (s *Store) check(ctx context.Context, cfg Config) error {
	q := reader{ctx, s}
	var isolation string
	var standby bool
	if err := q.One(sqlServer, nil, &isolation, &standby, &s.connections); err != nil {
		return fmt.Errorf("reach the server: %w", err)
	}
	switch {
	case isolation != "read committed":
		return ErrIsolation
	case standby:
		return ErrStandby
	}
	if err := checkSchema(q); err != nil {
		return err
	}
	return s.adopt(ctx, cfg)
}

func checkSchema(q reader) error {
	var made bool
	if err := q.One(sqlTables, nil, &made); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if !made {
		return ErrOldSchema
	}
	var current int64
	if err := q.One(sqlSchema, nil, &current); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	target, err := newest()
	switch {
	case err != nil:
		return err
	case current < target:
		return ErrOldSchema
	case current > target:
		return core.ErrNewerSchema
	}
	return nil
}

// adopt makes the deployment's row if nobody has, and reads whether the store may
// serve.
func (s *Store) adopt(ctx context.Context, cfg Config) error {
	now, err := s.history(ctx)
	if err != nil {
		return err
	}
	sealed, last := false, int64(0)
	err = db{s}.Write(ctx, record.Foreground, 1, func(c record.Conn, at core.Millis) error {
		if _, err := c.Exec(sqlMakeDeployment, rand.Text(), int64(at)); err != nil {
			return err
		}
		if err := c.One(sqlAdopt, nil, &sealed, &last); err != nil || sealed || cfg.AllowSealed {
			return err
		}
		return s.recognise(c, now, cfg.AfterFailover)
	}, nil)
	s.floor.raise(last)
	s.timeline.Store(now.timeline)
	if err != nil || !sealed || cfg.AllowSealed {
		return err
	}
	d, err := s.Deployment(ctx)
	if err != nil {
		return err
	}
	return d.Seal.Refusal()
}

// farewell bounds the last write of a store that closes.
const farewell = 2 * time.Second

// Close ends the store: it notes the time, waits for what is under way and closes
// the connections. It never fails: a time that cannot be noted is found in the rows.
func (s *Store) Close() error {
	ctx, end := context.WithTimeout(context.Background(), farewell)
	defer end()
	_, _ = s.pool.Exec(ctx, sqlKeepClock, s.floor.get()) // See above.
	s.pool.Close()
	return nil
}
