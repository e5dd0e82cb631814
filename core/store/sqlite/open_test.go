package sqlite

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// testClock is the process clock of a test: it stands still until it is moved.
type testClock struct{ millis atomic.Int64 }

func newTestClock() *testClock {
	c := &testClock{}
	c.millis.Store(1_700_000_000_000)
	return c
}

func (c *testClock) now() time.Time          { return time.UnixMilli(c.millis.Load()) }
func (c *testClock) advance(d time.Duration) { c.millis.Add(d.Milliseconds()) }

func testConfig(t *testing.T, clock *testClock) Config {
	t.Helper()
	return Config{Path: filepath.Join(t.TempDir(), "data", "sayso.db"), Now: clock.now, Log: slog.New(slog.DiscardHandler)}
}

// openStore opens a store without running its writer.
func openStore(t *testing.T, cfg Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// runStore opens a store and runs it until the test ends.
func runStore(t *testing.T, cfg Config) *Store {
	t.Helper()
	s := openStore(t, cfg)
	start(t, s)
	return s
}

func start(t *testing.T, s *Store) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	failed := make(chan error, 1)
	go func() { failed <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-failed)
	})
}

func TestOpenRefusesASecondProcess(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newTestClock())
	openStore(t, cfg)
	_, err := Open(t.Context(), cfg)
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.NotContains(t, err.Error(), filepath.Dir(cfg.Path))
}

func TestPragmasHoldOnEveryConnection(t *testing.T) {
	t.Parallel()
	s := runStore(t, testConfig(t, newTestClock()))
	want := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"}
	for pragma, value := range want {
		var got string
		require.NoError(t, s.read(t.Context()).one("PRAGMA "+pragma, nil, &got))
		require.Equal(t, value, got, pragma)
		onWriter, err := write(t.Context(), s, foreground, func(t *tx) (string, error) {
			var v string
			err := t.one("PRAGMA "+pragma, nil, &v)
			return v, err
		})
		require.NoError(t, err)
		require.Equal(t, value, onWriter, pragma)
	}
}
