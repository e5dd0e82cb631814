package transfer

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func backUp(t *testing.T, from Place) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup.db")
	made, err := Backup(t.Context(), BackupOptions{From: from, File: file, Now: time.Now})
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, info.Size(), made.Bytes)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	require.EqualValues(t, 1, made.Rows["principals"])
	require.Equal(t, []string{"backup.db"}, names(t, filepath.Dir(file)), "nothing else is left")
	refusesToServe(t, copied(t, file), "restore it first")
	return file
}

// copied is a copy of a file, for a test that harms it.
func copied(t *testing.T, file string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, copyFile(file, to))
	return to
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func restore(t *testing.T, file string, to Place) (Restored, error) {
	t.Helper()
	return Restore(t.Context(), RestoreOptions{File: file, To: to, Now: time.Now})
}

// tellsTheTruth requires of a restored store what a restore promises.
func tellsTheTruth(t *testing.T, s record, before view) {
	t.Helper()
	now := look(t, s)
	require.Equal(t, before.Deployment.ID, now.Deployment.ID)
	require.Greater(t, now.Deployment.Incarnation, before.Deployment.Incarnation)
	require.False(t, now.Deployment.Sealed)
	for i := range now.Approvals { // List has checked each of them.
		a := &now.Approvals[i]
		require.NotEqual(t, core.StatusPending, a.Status)
		require.NotContains(t, []core.Execution{core.ExecutionUnclaimed, core.ExecutionClaimed}, a.Execution)
	}
	require.Equal(t, core.ReasonStorageRestored, found(t, s, qPending).Reason)
	require.Equal(t, core.ReasonStorageRestored, found(t, s, qUnsent).Reason)
	require.Equal(t, core.VoidStorageRestored, found(t, s, qUnclaimed).VoidReason)
	require.Equal(t, core.ExecutionUnknown, found(t, s, qClaimed).Execution)
	require.Equal(t, core.ExecutionSucceeded, found(t, s, qReported).Execution)
	require.Equal(t, core.StatusDenied, found(t, s, qDenied).Status)

	works, _, err := s.ClaimDue(t.Context(), core.ClaimDue{
		Worker: "w", Accounts: []core.AccountRef{{Channel: core.SurfaceTelegram, Account: "bot"}}, Lease: 60_000, Limit: 100,
	})
	require.NoError(t, err)
	require.Len(t, works, 6, "every card is edited again, and what was not sent is settled")
	_, err = s.PeekCode(t.Context(), hashOf("code"), core.CodePair)
	require.ErrorIs(t, err, core.ErrCodeInvalid, "it may have been used")
	require.Empty(t, cmp.Diff(before.People, now.People))
	require.Empty(t, cmp.Diff(before.Keys, now.Keys))
	require.Empty(t, cmp.Diff(before.Details, now.Details, cmpopts.EquateEmpty()))
}

func found(t *testing.T, s record, n int) core.Approval {
	t.Helper()
	a, err := s.Approval(t.Context(), core.Lookup{ID: idOf(n)})
	require.NoError(t, err)
	return a
}

// Either store can be restored from a backup of either.
func TestRestoreTellsTheTruth(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(t *testing.T) (Place, view){
		"of a file": func(t *testing.T) (Place, view) {
			path := populated(t)
			var v view
			withFile(t, path, func(s record) { v = look(t, s) })
			return Place{Path: path}, v
		},
		"of a database": func(t *testing.T) (Place, view) {
			dsn := server.Database(t)
			var v view
			withDatabase(t, dsn, func(s record) {
				populate(t, s)
				v = look(t, s)
			})
			return Place{DSN: dsn}, v
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place, before := from(t)
			file := backUp(t, place)
			t.Run("to a file", func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "new", "sayso.db")
				done, err := restore(t, file, Place{Path: path})
				require.NoError(t, err)
				require.Equal(t, core.Disowned{Cancelled: 2, Voided: 1, Unknown: 1}, done.Disowned)
				require.EqualValues(t, 6, done.Rows["approvals"])
				require.Equal(t, []string{"sayso.db", "sayso.db.lock"}, names(t, filepath.Dir(path)))
				withFile(t, path, func(s record) { tellsTheTruth(t, s, before) })
				_, err = restore(t, file, Place{Path: path})
				require.ErrorIs(t, err, ErrNotEmpty, "once more in the same place")
				_, err = Backup(t.Context(), BackupOptions{From: Place{Path: path}, File: file + "2", Now: time.Now})
				require.NoError(t, err, "it is a store like any other")
			})
			t.Run("to a database", func(t *testing.T) {
				t.Parallel()
				dsn := server.Database(t)
				done, err := restore(t, file, Place{DSN: dsn})
				require.NoError(t, err)
				require.Equal(t, core.Disowned{Cancelled: 2, Voided: 1, Unknown: 1}, done.Disowned)
				withDatabase(t, dsn, func(s record) { tellsTheTruth(t, s, before) })
				_, err = restore(t, file, Place{DSN: dsn})
				require.ErrorIs(t, err, ErrNotEmpty, "once more in the same place")
			})
		})
	}
}

// A backup is one moment of a store that is being written to.
func TestBackupWhileItServes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "sayso.db")
	withFile(t, path, func(s record) {
		populate(t, s)
		file := filepath.Join(t.TempDir(), "backup.db")
		once := false
		_, err := Backup(t.Context(), BackupOptions{From: Place{Path: path}, File: file, Now: time.Now, Progress: func(string, int64, int64) {
			if !once { // The snapshot was taken; the store goes on.
				once = true
				answer(t, s, core.DecisionDeny, qPending)
			}
		}})
		require.NoError(t, err)
		require.True(t, once)
		require.Equal(t, []string{"pending"}, inFile(t, file, `SELECT status FROM approvals WHERE id = '`+idOf(qPending)+`'`))
	})
}

// What no sequencer has numbered yet is numbered behind the rest, in order.
func TestBackupNumbersEvents(t *testing.T) {
	t.Parallel()
	dsn := server.Database(t)
	withDatabase(t, dsn, func(s record) {
		ask(t, s, 1, 2)
		in(t, dsn, `UPDATE events SET seq = 40 WHERE approval_id = '`+idOf(1)+`' AND type = 'approval.requested' RETURNING ''`)
		answer(t, s, core.DecisionDeny, 2, 1)
	})
	file := filepath.Join(t.TempDir(), "backup.db")
	_, err := Backup(t.Context(), BackupOptions{From: Place{DSN: dsn}, File: file, Now: time.Now})
	require.NoError(t, err)
	require.Equal(t, []string{
		"40 approval.requested 1 0", "41 wait.started 1 40", "42 approval.requested 2 0", "43 wait.started 2 42",
		"44 approval.rejected 2 43", "45 wait.ended 2 44", "46 approval.rejected 1 41", "47 wait.ended 1 46",
	}, inFile(t, file, `SELECT seq || ' ' || type || ' ' || substr(approval_id, -1) || ' ' || previous FROM events ORDER BY seq`))
	require.Equal(t, []string{"47"}, inFile(t, file, `SELECT cast(seq AS text) FROM sqlite_sequence WHERE name = 'events'`))
}

// A damaged row neither stops a backup nor becomes a good one.
func TestBackupKeepsADamagedRow(t *testing.T) {
	t.Parallel()
	path := populated(t)
	alter(t, path, `UPDATE approvals SET execution = 'claimed' WHERE id = '`+idOf(qPending)+`'`)
	file := backUp(t, Place{Path: path})
	to := filepath.Join(t.TempDir(), "sayso.db")
	done, err := restore(t, file, Place{Path: to})
	require.NoError(t, err)
	require.Equal(t, 2, done.Disowned.Cancelled)
	withFile(t, to, func(s record) {
		a := found(t, s, qPending)
		require.Equal(t, core.StatusDenied, a.Status)
		require.Equal(t, core.ReasonStorageCorrupt, a.Reason)
	})
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	path := populated(t)
	file := backUp(t, Place{Path: path})
	for name, c := range map[string]struct {
		from Place
		file string
		want error
	}{
		"a file that exists":   {Place{Path: path}, file, ErrNotEmpty},
		"no store":             {Place{Path: path + "x"}, file + "1", ErrNoStore},
		"no folder":            {Place{Path: path}, filepath.Join(file, "x"), core.ErrUnavailable},
		"a backup":             {Place{Path: copied(t, file)}, file + "2", core.ErrSealed},
		"an empty database":    {Place{DSN: server.Database(t)}, file + "3", ErrNoStore},
		"no connection string": {Place{DSN: "postgres://u:hunter2@host:port/x"}, file + "4", core.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Backup(t.Context(), BackupOptions{From: c.from, File: c.file, Now: time.Now})
			require.ErrorIs(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}
