package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
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
	for pragma, want := range map[string]int64{"synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000} {
		got, err := write(t.Context(), s, record.Foreground, func(t *tx) (v int64, err error) {
			err = t.One("PRAGMA "+pragma, nil, &v)
			return v, err
		})
		require.NoError(t, err)
		require.Equal(t, want, got, pragma)
	}
	for pragma, want := range map[string]int64{"query_only": 1, "busy_timeout": 5000} {
		var got int64
		require.NoError(t, s.read(t.Context()).One("PRAGMA "+pragma, nil, &got))
		require.Equal(t, want, got, pragma)
	}
	var mode string
	require.NoError(t, s.read(t.Context()).One("PRAGMA journal_mode", nil, &mode))
	require.Equal(t, "wal", mode)
}

// alter changes a closed store behind its back.
func alter(t *testing.T, cfg Config, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+cfg.Path)
	require.NoError(t, err)
	_, err = db.Exec(statement)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

func made(t *testing.T, cfg Config) {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestOpenRefusesASealedStore(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newTestClock())
	made(t, cfg)
	alter(t, cfg, `UPDATE deployment SET sealed = 1`)
	_, err := Open(t.Context(), cfg)
	require.ErrorIs(t, err, core.ErrSealed)
	cfg.AllowSealed = true
	openStore(t, cfg)
}

// Each seal says what to do.
func TestOpenSaysWhyAStoreIsSealed(t *testing.T) {
	t.Parallel()
	for seal, says := range map[core.Seal]string{
		core.SealBackup: "restore it first", core.SealMoved: "serve from that one",
		core.SealArriving: "the same sayso migrate", core.SealRestoring: "the same sayso restore",
	} {
		cfg := testConfig(t, newTestClock())
		made(t, cfg)
		alter(t, cfg, `UPDATE deployment SET sealed = 1, sealed_as = '`+string(seal)+`'`)
		_, err := Open(t.Context(), cfg)
		require.ErrorIs(t, err, core.ErrSealed)
		require.ErrorContains(t, err, says)
	}
}

func TestLockKeepsTheStoreClosed(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newTestClock())
	lock, err := Lock(cfg.Path)
	require.NoError(t, err)
	_, err = Open(t.Context(), cfg)
	require.ErrorIs(t, err, ErrInUse)
	_, err = Lock(cfg.Path)
	require.ErrorIs(t, err, ErrInUse)
	require.NoFileExists(t, cfg.Path)
	require.NoError(t, lock.Close())
	openStore(t, cfg)
	_, err = Lock(cfg.Path)
	require.ErrorIs(t, err, ErrInUse)
}

func TestOpenRefusesANewerSchema(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newTestClock())
	made(t, cfg)
	alter(t, cfg, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)`)
	_, err := Open(t.Context(), cfg)
	require.ErrorIs(t, err, core.ErrNewerSchema)
}

// C54: no path in the text, also where the system's own error has one.
func TestOpenRefusesAReadOnlyFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.Chmod(folder, 0o500))
	if os.Geteuid() == 0 { // Permissions do not stop root; the system's own folder does.
		folder = "/sys/kernel"
	}
	cfg := testConfig(t, newTestClock())
	cfg.Path = filepath.Join(folder, "sayso.db")
	_, err := Open(t.Context(), cfg)
	require.ErrorIs(t, err, ErrReadOnly)
	require.NotContains(t, err.Error(), folder)
}

func TestOpenRefusesAFileThatIsNoStore(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newTestClock())
	cfg.Path = filepath.Join(t.TempDir(), "sayso.db")
	require.NoError(t, os.WriteFile(cfg.Path, bytes.Repeat([]byte("not a database\n"), 1_000), 0o600))
	_, err := Open(t.Context(), cfg)
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.NotContains(t, err.Error(), cfg.Path)
}

func TestOpenWantsItsConfig(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{})
	require.ErrorIs(t, err, core.ErrInvalid)
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newTestClock())
	openStore(t, cfg)
	folder, err := os.Stat(filepath.Dir(cfg.Path))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), folder.Mode().Perm())
	files, err := os.ReadDir(filepath.Dir(cfg.Path))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 3, "database, log and lock")
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), f.Name())
	}
}

func TestPathsNeedNoEscaping(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newTestClock())
	cfg.Path = filepath.Join(t.TempDir(), "100% safe? #1 & co", "sayso.db")
	openStore(t, cfg)
	_, err := os.Stat(cfg.Path)
	require.NoError(t, err)
}

// C26: a clock that was set back while the store was closed changes nothing.
func TestClockNeverGoesBack(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	cfg := testConfig(t, clock)
	s := openStore(t, cfg)
	jobs := enqueue(t, s, mark("0"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Run(ctx))
	require.NoError(t, <-jobs[0].done)
	last, err := s.Now(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close())

	clock.advance(-time.Hour)
	s = openStore(t, cfg)
	again, err := s.Now(t.Context())
	require.NoError(t, err)
	require.Equal(t, last, again)
	clock.advance(2 * time.Hour)
	later, err := s.Now(t.Context())
	require.NoError(t, err)
	require.Equal(t, last.Add(time.Hour), later)
}

// What a caller was told is on the disk: the files as they are at that moment,
// copied without any farewell, hold the write. It is what kill -9 leaves behind.
func TestAnsweredWritesSurviveAKill(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	cfg := testConfig(t, clock)
	s := runStore(t, cfg)
	for i := range 20 {
		name := fmt.Sprint(i)
		_, err := write(t.Context(), s, record.Foreground, func(t *tx) (struct{}, error) { return struct{}{}, mark(name)(t) })
		require.NoError(t, err)
		copied := testConfig(t, clock)
		require.NoError(t, os.MkdirAll(filepath.Dir(copied.Path), 0o700))
		for _, suffix := range []string{"", "-wal"} {
			b, err := os.ReadFile(cfg.Path + suffix)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(copied.Path+suffix, b, 0o600))
		}
		require.True(t, marks(t, openStore(t, copied))[name])
	}
}
