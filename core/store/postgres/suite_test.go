package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/postgres/postgrestest"
	"github.com/saysohq/sayso/core/store/storetest"
)

// server is shared by all tests; each has a database of its own.
var server = postgrestest.New(postgrestest.Options{Prepare: prepare, Reset: reset}) //nolint:gochecknoglobals // TestMain ends it.

func TestMain(m *testing.M) {
	code := m.Run()
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// prepare makes the template: the schema, and a clock that stands still.
func prepare(ctx context.Context, dsn string) error {
	if err := Migrate(ctx, dsn); err != nil {
		return err
	}
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, `CREATE TABLE test_clock (at bigint NOT NULL); INSERT INTO test_clock VALUES (1790000000000)`); err != nil {
		return err
	}
	return c.Close(ctx)
}

// reset empties a database and sets its clock back.
func reset(ctx context.Context, dsn string) error {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, `SET session_replication_role = replica;
		DO $$ DECLARE name text; BEGIN
			FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('goose_db_version', 'test_clock')
			LOOP EXECUTE format('DELETE FROM %I', name); END LOOP;
		END $$;
		INSERT INTO code_failures (singleton) VALUES (1);
		UPDATE test_clock SET at = 1790000000000`)
	return errors.Join(err, c.Close(ctx))
}

const testClock = "(SELECT at FROM test_clock)"

func TestSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newHarness(t, PoolerNone) })
}

// The whole suite once more through a real PgBouncer in transaction mode: no session
// outlives its transaction, and nothing is prepared.
func TestSuiteThroughPgBouncer(t *testing.T) {
	t.Parallel()
	through := server.Bouncer(t)
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		return newHarness(t, PoolerTransaction, through)
	})
}

func TestModel(t *testing.T) {
	t.Parallel()
	storetest.RunModel(t, func(t *testing.T) storetest.Harness { return newHarness(t, PoolerNone) })
}

// harness runs the store over a database of its own.
type harness struct {
	cfg   Config
	ends  *storetest.Ends
	store *Store
	raw   *pgxpool.Pool // The database behind the store's back.
	spoil func()        // The database is not fit for another test.
}

func newHarness(t *testing.T, p Pooler, through ...func(dsn string) string) *harness {
	t.Helper()
	dsn, spoil := server.Lend(t)
	raw, err := pgxpool.New(context.Background(), dsn)
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	h := &harness{raw: raw, spoil: spoil, cfg: config(dsn), ends: storetest.NewEnds()}
	h.cfg.Ended = h.ends.Add
	h.cfg.Pooler, h.cfg.clock = p, testClock
	for _, by := range through {
		h.cfg.DSN = by(h.cfg.DSN)
	}
	h.open(t)
	t.Cleanup(func() { require.NoError(t, h.store.Close()) })
	return h
}

func config(dsn string) Config {
	return Config{DSN: dsn, Log: slog.New(slog.DiscardHandler)}
}

func (h *harness) open(t testing.TB) {
	t.Helper()
	store, err := Open(context.Background(), h.cfg)
	require.NoError(t, err)
	h.store = store
}

// Store lists the ports of the store as it is open now.
func (h *harness) Store() storetest.Store { return ports(h.store) }

func ports(s *Store) storetest.Store {
	records, ledger := s, s.Ledger()
	return storetest.Store{
		Clock: records, Approvals: records, Grants: records, Runs: records, Maintenance: records, Backlog: records, Watch: records, Takeover: records,
		Deliveries: ledger, Ledger: ledger, Cards: s, AnsweredCards: s, Convergence: ledger, Routes: s,
		Principals: s, Identities: s, Sessions: s, Tokens: s,
		Codes: s, CodeBurner: s, Prompts: s, Keys: s, Sequence: s, Restoration: s,
		Rules: s, AgentSettings: s, AgentLives: s, Policies: s, PolicyTables: s, Declines: s, Outcomes: s, Updates: s, Nudges: s,
		Leases: s.Leases(),
	}
}

// Advance moves the clock of the database.
func (h *harness) Advance(d time.Duration) {
	if _, err := h.raw.Exec(context.Background(), `UPDATE test_clock SET at = at + $1`, d.Milliseconds()); err != nil {
		panic(err) // The suite calls it from goroutines of its own.
	}
}

// Reopen opens the store again over the same database.
func (h *harness) Reopen(t testing.TB) {
	require.NoError(t, h.store.Close())
	h.open(t)
}

// Corrupt damages a row in ways that the schema would not let the store write.
func (h *harness) Corrupt(t testing.TB, id string, d storetest.Damage) {
	t.Helper()
	query := `UPDATE approvals SET fingerprint = 'aaaaaaaa' WHERE id = $1`
	switch d {
	case storetest.DamageContent:
	case storetest.DamageShape:
		query = `UPDATE approvals SET presentation = '[]', reviewers = CASE WHEN reviewers IS NULL THEN NULL ELSE '{}'::json END WHERE id = $1`
	case storetest.DamageOutcome:
		h.spoil()
		_, err := h.raw.Exec(t.Context(), `ALTER TABLE approvals DROP CONSTRAINT IF EXISTS terminal_has_a_resolver,
			DROP CONSTRAINT IF EXISTS only_a_person_or_a_policy_allows`)
		require.NoError(t, err)
		query = `UPDATE approvals SET status = 'allowed', reason = 'user', execution = 'unclaimed',
			claim_by = created_at + 600000, resolved_at = created_at WHERE id = $1`
	}
	tag, err := h.raw.Exec(t.Context(), query, id)
	require.NoError(t, err)
	require.Equal(t, int64(1), tag.RowsAffected())
}

// Ends is what was told.
func (h *harness) Ends() *storetest.Ends { return h.ends }

// Events lists the outbox of an approval.
func (h *harness) Events(t testing.TB, id string) []core.EventType {
	t.Helper()
	rows, err := h.raw.Query(context.Background(), `SELECT type FROM events WHERE approval_id = $1 ORDER BY revision, type`, id)
	require.NoError(t, err)
	events, err := pgx.CollectRows(rows, pgx.RowTo[core.EventType])
	require.NoError(t, err)
	return events
}

// Outbox lists the numbered events.
func (h *harness) Outbox(t testing.TB) []storetest.Numbered {
	t.Helper()
	rows, err := h.raw.Query(context.Background(),
		`SELECT seq, approval_id, revision, type, previous FROM events WHERE seq IS NOT NULL ORDER BY seq`)
	require.NoError(t, err)
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[storetest.Numbered])
	require.NoError(t, err)
	return events
}
