package transfer

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/sqlite"
)

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	path := populated(t)
	file := backUp(t, Place{Path: path})
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		spoil func(t *testing.T, file string)
		want  error
	}{
		"a file cut short": {func(t *testing.T, file string) { require.NoError(t, os.Truncate(file, int64(len(whole)/2))) }, ErrDamaged},
		"a file cut short by a page": {func(t *testing.T, file string) {
			require.NoError(t, os.Truncate(file, int64(len(whole)-4096)))
		}, ErrDamaged},
		"an empty file": {func(t *testing.T, file string) { require.NoError(t, os.Truncate(file, 0)) }, ErrNoBackup},
		"no file":       {func(t *testing.T, file string) { require.NoError(t, os.Remove(file)) }, ErrNoStore},
		"another file":  {func(t *testing.T, file string) { require.NoError(t, os.WriteFile(file, []byte("hello"), 0o600)) }, ErrNoBackup},
		"a store that is no backup": {func(t *testing.T, file string) {
			require.NoError(t, os.Remove(file))
			require.NoError(t, copyFile(path, file))
		}, ErrNoBackup},
		"a newer version": {func(t *testing.T, file string) {
			alter(t, file, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)`)
		}, core.ErrNewerSchema},
		"another value":    {func(t *testing.T, file string) { alter(t, file, `UPDATE principals SET role = 'viewer'`) }, ErrDamaged},
		"a row less":       {func(t *testing.T, file string) { alter(t, file, `DELETE FROM sessions`) }, ErrDamaged},
		"a table more":     {func(t *testing.T, file string) { alter(t, file, `CREATE TABLE more (a TEXT) STRICT`) }, ErrDamaged},
		"another seal":     {func(t *testing.T, file string) { alter(t, file, `UPDATE deployment SET sealed_as = 'moved'`) }, ErrDamaged},
		"another manifest": {func(t *testing.T, file string) { alter(t, file, `UPDATE backup_manifest SET rows = 7 WHERE name = ''`) }, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spoilt, to, dsn := copied(t, file), filepath.Join(t.TempDir(), "sayso.db"), server.Database(t)
			c.spoil(t, spoilt)
			_, err := restore(t, spoilt, Place{Path: to})
			require.ErrorIs(t, err, c.want)
			require.NotEqual(t, "internal", core.CodeOf(err))
			require.NoFileExists(t, to)
			require.Subset(t, []string{"sayso.db.lock"}, names(t, filepath.Dir(to)), "nothing is half done")
			_, err = restore(t, spoilt, Place{DSN: dsn})
			require.ErrorIs(t, err, c.want)
			require.Equal(t, []string{"no"}, in(t, dsn, `SELECT CASE WHEN to_regclass('deployment') IS NULL THEN 'no' ELSE 'yes' END`))
		})
	}
}

// Whichever byte of a backup is flipped, it is either found or it did not matter.
func TestRestoreFindsFlippedBytes(t *testing.T) {
	t.Parallel()
	file := backUp(t, Place{Path: populated(t)})
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	spoilt := filepath.Join(t.TempDir(), "spoilt.db")
	const tries = 150
	foundOut := 0
	for i := range tries {
		at := i * len(whole) / tries
		whole[at] ^= 0x41
		require.NoError(t, os.WriteFile(spoilt, whole, 0o600))
		whole[at] ^= 0x41
		content, err := verified(t.Context(), spoilt, nil)
		if err == nil {
			require.EqualValues(t, 6, content.rows()["approvals"])
			continue
		}
		foundOut++
		require.True(t, errors.Is(err, ErrDamaged) || errors.Is(err, ErrNoBackup) || errors.Is(err, core.ErrNewerSchema), "%d: %v", at, err)
	}
	require.Positive(t, foundOut)
}

// A store in the place, or a service that is about to make one, is left alone.
func TestRestoreWantsAnEmptyPlace(t *testing.T) {
	t.Parallel()
	path := populated(t)
	file := backUp(t, Place{Path: path})
	_, err := restore(t, file, Place{Path: path})
	require.ErrorIs(t, err, ErrNotEmpty)
	to := filepath.Join(t.TempDir(), "sayso.db")
	lock, err := sqlite.Lock(to)
	require.NoError(t, err)
	_, err = restore(t, file, Place{Path: to})
	require.ErrorIs(t, err, sqlite.ErrInUse)
	require.NoError(t, lock.Close())
	// What an earlier restore left behind is cleared away.
	left := filepath.Join(filepath.Dir(to), restoreDesk+"1")
	require.NoError(t, os.Mkdir(left, 0o700))
	_, err = restore(t, file, Place{Path: to})
	require.NoError(t, err)
	require.NoDirExists(t, left)

	dsn := server.Database(t)
	withDatabase(t, dsn, func(record) {})
	_, err = restore(t, file, Place{DSN: dsn})
	require.ErrorIs(t, err, ErrNotEmpty)
}

// A restore into a database that was cut off refuses to serve until the same restore
// has gone on.
func TestRestoreGoesOn(t *testing.T) {
	t.Parallel()
	file, dsn := backUp(t, Place{Path: populated(t)}), server.Database(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Restore(ctx, RestoreOptions{File: file, To: Place{DSN: dsn}, Now: time.Now, Progress: func(step string, _, _ int64) {
		if step == disowning {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	databaseRefuses(t, dsn, "the same sayso restore")
	_, err = restore(t, backUp(t, Place{Path: populated(t)}), Place{DSN: dsn})
	require.ErrorIs(t, err, ErrNotEmpty, "another backup")
	done, err := restore(t, file, Place{DSN: dsn})
	require.NoError(t, err)
	require.Nil(t, done.Rows, "it was copied before")
	require.Positive(t, done.Incarnation)
	withDatabase(t, dsn, func(s record) {
		require.Equal(t, core.StatusCancelled, found(t, s, qPending).Status)
	})
}

func TestRenewInPlace(t *testing.T) {
	t.Parallel()
	path := populated(t)
	done, err := Renew(t.Context(), Place{Path: path}, time.Now, nil)
	require.NoError(t, err)
	require.Equal(t, core.Disowned{Cancelled: 2, Voided: 1, Unknown: 1}, done.Disowned)
	again, err := Renew(t.Context(), Place{Path: path}, func() time.Time { return time.Now().Add(time.Minute) }, nil)
	require.NoError(t, err)
	require.Zero(t, again.Disowned)
	require.Greater(t, again.Incarnation, done.Incarnation)
	withFile(t, path, func(s record) {
		require.Equal(t, core.StatusCancelled, found(t, s, qPending).Status)
		_, err = Renew(t.Context(), Place{Path: path}, time.Now, nil)
		require.ErrorIs(t, err, sqlite.ErrInUse)
	})
	_, err = Renew(t.Context(), Place{Path: path + "x"}, time.Now, nil)
	require.ErrorIs(t, err, ErrNoStore)
	_, err = Renew(t.Context(), Place{Path: copied(t, backUp(t, Place{Path: path}))}, time.Now, nil)
	require.ErrorIs(t, err, core.ErrSealed, "a backup is restored elsewhere")
}

func TestRenewOfADatabase(t *testing.T) {
	t.Parallel()
	dsn := server.Database(t)
	s, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, Migrate: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	populate(t, s)
	_, err = Renew(t.Context(), Place{DSN: dsn}, time.Now, nil)
	require.ErrorIs(t, err, ErrServing)
	require.NoError(t, s.Close())
	var done Restored
	require.Eventually(t, func() bool { // The server notices late that a connection is gone.
		done, err = Renew(t.Context(), Place{DSN: dsn}, time.Now, nil)
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, core.Disowned{Cancelled: 2, Voided: 1, Unknown: 1}, done.Disowned)
	withDatabase(t, dsn, func(s record) { require.Equal(t, core.StatusCancelled, found(t, s, qPending).Status) })
}
