package postgres

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// run executes statements behind the store's back.
func run(t testing.TB, dsn string, queries ...string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(context.Background())) }()
	for _, q := range queries {
		_, err := c.Exec(context.Background(), q)
		require.NoError(t, err, q)
	}
}

func database(dsn string) string {
	cfg, _ := pgx.ParseConfig(dsn) // The harness made it.
	return cfg.Database
}

func TestOpenRefusesWhatItWouldNotBeSafeOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(dsn string) string
		want   error
	}{
		"another isolation": {func(dsn string) string {
			return "ALTER DATABASE " + database(dsn) + " SET default_transaction_isolation = 'repeatable read'"
		}, ErrIsolation},
		"no schema":    {func(string) string { return "DROP TABLE goose_db_version" }, ErrOldSchema},
		"old schema":   {func(string) string { return "DELETE FROM goose_db_version WHERE version_id > 0" }, ErrOldSchema},
		"newer schema": {func(string) string { return "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)" }, core.ErrNewerSchema},
		"sealed": {func(string) string {
			return "INSERT INTO deployment (singleton, id, sealed) VALUES (1, 'x', true)"
		}, core.ErrSealed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := server.Database(t)
			run(t, dsn, c.damage(dsn))
			_, err := Open(t.Context(), config(dsn))
			require.ErrorIs(t, err, c.want)
			require.NotEqual(t, "internal", core.CodeOf(err))
		})
	}
}

func TestOpenOfASealedBackupForItsRestore(t *testing.T) {
	t.Parallel()
	dsn := server.Database(t)
	run(t, dsn, "INSERT INTO deployment (singleton, id, sealed) VALUES (1, 'x', true)")
	cfg := config(dsn)
	cfg.AllowSealed = true
	s, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// Errors of the configuration never repeat it: it holds a password.
func TestOpenRefusesABadConfiguration(t *testing.T) {
	t.Parallel()
	good := config("postgres://u:hunter2@localhost/x")
	for name, change := range map[string]func(*Config){
		"no dsn":         func(c *Config) { c.DSN = "" },
		"no log":         func(c *Config) { c.Log = nil },
		"broken dsn":     func(c *Config) { c.DSN = "postgres://u:hunter2@host:port/x?sslmode=maybe" },
		"unknown pooler": func(c *Config) { c.Pooler = "hunter2" },
		"broken direct":  func(c *Config) { c.Migrate, c.MigrateDSN = true, "postgres://u:hunter2@host:port/x" },
	} {
		cfg := good
		change(&cfg)
		_, err := Open(t.Context(), cfg)
		require.ErrorIs(t, err, core.ErrInvalid, name)
		require.NotContains(t, err.Error(), "hunter2", name)
	}
	cfg := config("postgres://u:hunter2@localhost/x?host=" + t.TempDir())
	_, err := Open(t.Context(), cfg)
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.NotContains(t, err.Error(), "hunter2")
}

// Several replicas that start at once: one migrates, all serve one deployment.
func TestManyMigrateAtOnce(t *testing.T) {
	t.Parallel()
	dsn := server.Database(t)
	run(t, dsn, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
	const replicas = 4
	errs, ids := make([]error, replicas), make([]string, replicas)
	var all sync.WaitGroup
	for i := range replicas {
		all.Go(func() {
			cfg := config(dsn)
			cfg.Migrate = true
			s, err := Open(context.Background(), cfg)
			if errs[i] = err; err != nil {
				return
			}
			d, err := s.Deployment(context.Background())
			ids[i], errs[i] = d.ID, err
			_ = s.Close() // It never fails.
		})
	}
	all.Wait()
	for i := range replicas {
		require.NoError(t, errs[i])
		require.NotEmpty(t, ids[i])
		require.Equal(t, ids[0], ids[i], "one deployment")
	}
}

// Commits reach the disk whatever the database's own setting says.
func TestCommitsAreDurable(t *testing.T) {
	t.Parallel()
	for _, pooler := range []Pooler{PoolerNone, PoolerTransaction} {
		dsn := server.Database(t)
		run(t, dsn, "ALTER DATABASE "+database(dsn)+" SET synchronous_commit = off",
			`CREATE TABLE seen (setting text)`,
			`CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$`,
			`CREATE TRIGGER see AFTER INSERT OR UPDATE ON approvals FOR EACH ROW EXECUTE FUNCTION see()`,
			`CREATE TRIGGER see AFTER INSERT ON principals FOR EACH ROW EXECUTE FUNCTION see()`)
		cfg := config(dsn)
		cfg.Pooler = pooler
		s, err := Open(t.Context(), cfg)
		require.NoError(t, err)
		made, err := s.Create(t.Context(), draft(1))
		require.NoError(t, err)
		_, err = s.Decide(t.Context(), denial(made.Approval.ID, "a"))
		require.NoError(t, err)
		_, err = s.AddPrincipal(t.Context(), core.Principal{ID: "bob", Name: "Bob", Role: core.RoleReviewer})
		require.NoError(t, err)
		var settings string
		require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT string_agg(setting, ' ') FROM seen`).Scan(&settings))
		require.Equal(t, strings.TrimSpace(strings.Repeat("on ", 3)), settings, "pooler %q", pooler)
		require.NoError(t, s.Close())
	}
}
