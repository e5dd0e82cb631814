package postgres

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/store/postgres/pgserver"
)

// A real failover: a standby takes over, and nobody knows what it had not received.
func TestAPromotedStandbyIsNotServedFromUnasked(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	primary, err := pgserver.Start(ctx, pgserver.Options{})
	require.NoError(t, err)
	stop := func(s *pgserver.Server) func() { return func() { require.NoError(t, s.Close()) } }
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			stop(primary)()
		}
	})
	require.NoError(t, primary.Create(ctx, "sayso", ""))
	cfg := config(primary.DSN("sayso"))
	cfg.Migrate = true
	s, err := Open(ctx, cfg)
	require.NoError(t, err)
	_, err = s.Create(ctx, draft(1))
	require.NoError(t, err)
	require.NoError(t, s.Close())

	standby, err := primary.Standby(ctx, pgserver.Options{})
	require.NoError(t, err)
	t.Cleanup(stop(standby))
	_, err = Open(ctx, config(standby.DSN("sayso")))
	require.ErrorIs(t, err, ErrStandby)

	// A replica that knows both of them runs meanwhile.
	both := bothHosts(t, primary.DSN("sayso"), standby.DSN("sayso"))
	running, err := Open(ctx, config(both))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, running.Close()) })
	_, err = running.Decide(ctx, denial(draft(1).Approval.ID, "alice"))
	require.NoError(t, err)

	stopped = true
	require.NoError(t, primary.Close())
	promote(t, standby.DSN("sayso"))
	require.Eventually(t, func() bool {
		_, err = running.Now(ctx)
		return errors.Is(err, ErrFailover)
	}, waitLimit, pollPause, "%v", err)
	_, err = running.Create(ctx, draft(2))
	require.ErrorIs(t, err, ErrFailover, "nothing is asked on a record that may be behind")
	_, err = Open(ctx, config(standby.DSN("sayso")))
	require.ErrorIs(t, err, ErrFailover)

	// Somebody says what was lost.
	cfg = config(standby.DSN("sayso"))
	cfg.AllowSealed = true
	s, err = Open(ctx, cfg)
	require.NoError(t, err)
	require.NoError(t, s.BeginRestoration(ctx))
	_, err = s.Disown(ctx, 100)
	require.NoError(t, err)
	_, err = s.FinishRestoration(ctx)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s, err = Open(ctx, config(standby.DSN("sayso")))
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// bothHosts leads to whichever of two servers writes.
func bothHosts(t *testing.T, a, b string) string {
	t.Helper()
	u, err := url.Parse(a)
	require.NoError(t, err)
	other, err := url.Parse(b)
	require.NoError(t, err)
	q := u.Query()
	q.Set("host", q.Get("host")+","+other.Query().Get("host"))
	q.Set("target_session_attrs", "read-write")
	u.RawQuery = q.Encode()
	return u.String()
}

func promote(t *testing.T, dsn string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), dsn)
	require.NoError(t, err)
	var done bool
	require.NoError(t, c.QueryRow(context.Background(), `SELECT pg_promote()`).Scan(&done))
	require.True(t, done)
	require.NoError(t, c.Close(context.Background()))
}
