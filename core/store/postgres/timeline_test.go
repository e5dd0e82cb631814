package postgres

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func TestHistoriesDiffer(t *testing.T) {
	t.Parallel()
	known := history{"1", 2}
	for h, differs := range map[history]bool{
		known: false, {"1", 3}: true, {"9", 2}: true, {"9", 0}: true, {"", 3}: true, {"", 2}: false, {"1", 0}: false, {}: false,
	} {
		require.Equal(t, differs, known.differs(h), h)
		require.Equal(t, differs, h.differs(known), h)
		if !differs {
			require.Equal(t, known, h.or(known))
		}
	}
}

// A server of another history than at the last start may have lost answers.
func TestOpenRefusesAfterAFailover(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"a standby took over":       `UPDATE deployment SET timeline = timeline + 1`,
		"a dump in another cluster": `UPDATE deployment SET cluster = '1'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t)
			cfg := config(s.pool.Config().ConnString())
			var noted history
			read := func() history {
				var h history
				require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT cluster, timeline FROM deployment`).Scan(&h.cluster, &h.timeline))
				return h
			}
			noted = read()
			require.NotEmpty(t, noted.cluster)
			require.Positive(t, noted.timeline)

			run(t, cfg.DSN, change)
			_, err := Open(t.Context(), cfg)
			require.ErrorIs(t, err, ErrFailover)
			require.ErrorIs(t, err, core.ErrUnavailable)
			_, err = Open(t.Context(), cfg)
			require.ErrorIs(t, err, ErrFailover, "a refusal notes nothing")

			// Who knows that nothing was lost goes on, and is not asked again.
			cfg.AfterFailover = FailoverContinue
			again, err := Open(t.Context(), cfg)
			require.NoError(t, err)
			require.NoError(t, again.Close())
			require.Equal(t, noted, read())
			cfg.AfterFailover = FailoverRefuse
			again, err = Open(t.Context(), cfg)
			require.NoError(t, err)
			require.NoError(t, again.Close())
		})
	}
}

// A restoration ends the doubt, and not before it is finished.
func TestARestorationKnowsItsServerAnew(t *testing.T) {
	t.Parallel()
	dsn := opened(t).pool.Config().ConnString()
	run(t, dsn, `UPDATE deployment SET timeline = timeline + 1`)
	cfg := config(dsn)
	cfg.AllowSealed = true
	s, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = Open(t.Context(), config(dsn))
	require.ErrorIs(t, err, ErrFailover)

	s, err = Open(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, s.BeginRestoration(t.Context()))
	_, err = s.FinishRestoration(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s, err = Open(t.Context(), config(dsn))
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// A service that runs meanwhile gets no connection to the new server, so that it
// answers nothing from it.
func TestConnectionsToAnotherServerAreRefused(t *testing.T) {
	t.Parallel()
	s := opened(t)
	s.timeline.Add(1)
	s.pool.Reset()
	_, err := s.Now(t.Context())
	require.ErrorIs(t, err, ErrFailover)
	s.failover = FailoverContinue
	_, err = s.Now(t.Context())
	require.NoError(t, err)
}

// A provider that tells nothing of its servers is served from all the same.
func TestAServerThatTellsNothing(t *testing.T) {
	t.Parallel()
	dsn := server.Database(t)
	run(t, dsn, `DO $$ BEGIN CREATE ROLE plain LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
		`GRANT ALL ON ALL TABLES IN SCHEMA public TO plain`,
		`REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC`,
		`REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC`)
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	q := u.Query()
	q.Set("user", "plain")
	u.RawQuery = q.Encode()
	for range 2 {
		s, err := Open(t.Context(), config(u.String()))
		require.NoError(t, err)
		_, err = s.Create(t.Context(), draft(1))
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	// What was known before stays known.
	run(t, dsn, `UPDATE deployment SET cluster = '1', timeline = 7`)
	s, err := Open(t.Context(), config(u.String()))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	var h history
	check := opened(t, func(c *Config) { c.DSN, c.AllowSealed = dsn, true })
	require.NoError(t, check.pool.QueryRow(t.Context(), `SELECT cluster, timeline FROM deployment`).Scan(&h.cluster, &h.timeline))
	require.Equal(t, history{"1", 7}, h)
}
