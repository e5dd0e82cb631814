package pgserver_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/store/postgres/pgserver"
)

// What was committed survives both ways to stop, and so does the address.
func TestRestart(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := pgserver.Start(ctx, pgserver.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	exec := func(query string) {
		c, err := pgx.Connect(ctx, s.DSN("postgres"))
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close(context.Background())) }()
		_, err = c.Exec(ctx, query)
		require.NoError(t, err)
	}
	exec("CREATE TABLE kept (id int PRIMARY KEY)")
	for _, how := range []pgserver.Shutdown{pgserver.ShutdownFast, pgserver.ShutdownImmediate} {
		exec("INSERT INTO kept SELECT count(*) FROM kept")
		require.NoError(t, s.Stop(ctx, how))
		require.Error(t, s.Reach(ctx))
		require.NoError(t, s.Again(ctx))
		require.NoError(t, s.Reach(ctx))
	}
	exec("INSERT INTO kept SELECT 2 WHERE (SELECT count(*) FROM kept) = 2")
	exec("DO $$ BEGIN ASSERT (SELECT count(*) FROM kept) = 3; END $$")
}

// A server that runs is not waited for until it ends: Close would hang behind that.
func TestAgainOfARunningServer(t *testing.T) {
	t.Parallel()
	s, err := pgserver.Start(t.Context(), pgserver.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Again(t.Context()))
	require.NoError(t, s.Stop(t.Context(), pgserver.ShutdownFast))
	require.NoError(t, s.Again(t.Context()))
	require.NoError(t, s.Again(t.Context()))
	require.NoError(t, s.Close())
}
