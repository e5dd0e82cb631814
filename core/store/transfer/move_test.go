package transfer

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/sqlite"
)

// view is what people and programs could see of a store.
type view struct {
	Approvals  []core.Approval
	Deliveries [][]core.Delivery
	Details    []core.Detail
	People     []core.Principal
	Identities []core.Identity
	Sessions   []core.Session
	Tokens     []core.Token
	Keys       []core.SealedKey
	Deployment core.Deployment
}

func look(t *testing.T, s record) view {
	t.Helper()
	var v view
	page, err := s.List(t.Context(), core.ListQuery{})
	require.NoError(t, err)
	require.Zero(t, page.Corrupt)
	v.Approvals = page.Approvals
	for i := range v.Approvals {
		rows, err := s.DeliveriesOf(t.Context(), v.Approvals[i].ID)
		require.NoError(t, err)
		detail, err := s.Detail(t.Context(), v.Approvals[i].ID)
		require.NoError(t, err)
		v.Deliveries, v.Details = append(v.Deliveries, rows), append(v.Details, detail)
	}
	v.People, err = s.ListPrincipals(t.Context())
	require.NoError(t, err)
	v.Identities, err = s.IdentitiesOf(t.Context())
	require.NoError(t, err)
	v.Sessions, err = s.SessionsOf(t.Context(), "alice")
	require.NoError(t, err)
	v.Tokens, err = s.ListTokens(t.Context())
	require.NoError(t, err)
	v.Keys, err = s.SealedKeys(t.Context(), "page")
	require.NoError(t, err)
	v.Deployment, err = s.Deployment(t.Context())
	require.NoError(t, err)
	return v
}

func moveTo(t *testing.T, path, dsn string) (Moved, error) {
	t.Helper()
	return Move(t.Context(), MoveOptions{Path: path, DSN: dsn})
}

func refusesToServe(t *testing.T, path string, says string) {
	t.Helper()
	_, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	require.ErrorIs(t, err, core.ErrSealed)
	require.ErrorContains(t, err, says)
}

func TestMoveCarriesEverythingOver(t *testing.T) {
	t.Parallel()
	path, dsn := populated(t), server.Database(t)
	var before, after view
	var policy policyOf
	withFile(t, path, func(s record) { before, policy = look(t, s), readPolicy(t, s) })
	require.Equal(t, map[string]string{"sandbox": "docker"}, policy.Facts)
	require.Len(t, policy.Changes, 2)
	events := inFile(t, path, `SELECT seq || ' ' || type || ' ' || approval_id || ' ' || previous || payload FROM events ORDER BY seq`)
	moved, err := moveTo(t, path, dsn)
	require.NoError(t, err)
	require.False(t, moved.Before)
	require.EqualValues(t, 6, moved.Rows["approvals"])
	require.EqualValues(t, len(events), moved.Rows["events"])
	refusesToServe(t, path, "serve from that one")

	withDatabase(t, dsn, func(s record) {
		after = look(t, s)
		require.Empty(t, cmp.Diff(policy, readPolicy(t, s)), "rules and modes go on as they were")
		// Whoever was signed in still is, and so is every machine.
		_, who, err := s.SessionByHash(t.Context(), hashOf("session"))
		require.NoError(t, err)
		require.Equal(t, "alice", who.ID)
		_, err = s.TokenByHash(t.Context(), hashOf("token"))
		require.NoError(t, err)
		_, err = s.PeekCode(t.Context(), hashOf("code"), core.CodePair)
		require.NoError(t, err)
		// Open questions are answered, and a runner reports under its claim.
		answer(t, s, core.DecisionDeny, qPending)
		_, err = s.Report(t.Context(), core.Report{
			ID: idOf(qClaimed), Runtime: "builder", TokenHash: hashOf("runner"), Outcome: core.ExecutionFailed,
		})
		require.NoError(t, err)
		_, _, err = s.RegisterInstance(t.Context(), core.RegisterInstance{Runtime: "builder", Instance: "i", BootID: "b"})
		require.NoError(t, err)
	})
	require.Empty(t, cmp.Diff(before, after, cmpopts.EquateEmpty()))
	require.Equal(t, events, in(t, dsn, `SELECT seq || ' ' || type || ' ' || approval_id || ' ' || previous || payload FROM events WHERE seq IS NOT NULL ORDER BY seq`))

	again, err := moveTo(t, path, dsn)
	require.NoError(t, err)
	require.True(t, again.Before, "repeating it changes nothing")
	withDatabase(t, dsn, func(s record) {
		a, err := s.Approval(t.Context(), core.Lookup{ID: idOf(qPending)})
		require.NoError(t, err)
		require.Equal(t, core.StatusDenied, a.Status)
	})
}

// The numbers of events go on where they were, also where all events were pruned.
func TestMoveRemembersTheNewestNumber(t *testing.T) {
	t.Parallel()
	path, dsn := populated(t), server.Database(t)
	newest := inFile(t, path, `SELECT cast(max(seq) AS text) FROM events`)
	alter(t, path, `DELETE FROM events`)
	_, err := moveTo(t, path, dsn)
	require.NoError(t, err)
	require.Equal(t, newest, in(t, dsn, `SELECT last_event::text FROM deployment`))
}

// Whatever the command was cut off after, repeating it finishes the move, and at no
// time both places serve.
func TestMoveIsFinishedFromAnywhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cut  func(t *testing.T, path, dsn string)
		want core.Status
	}{
		"before the copy was committed": {func(t *testing.T, _, dsn string) {
			require.NoError(t, postgres.Migrate(t.Context(), dsn))
		}, core.StatusPending},
		"before the source was sealed": {func(t *testing.T, path, dsn string) {
			cutOff(t, path, dsn, 0)
			databaseRefuses(t, dsn, "the same sayso migrate")
		}, core.StatusPending},
		"before the copy was unsealed": {func(t *testing.T, path, dsn string) {
			cutOff(t, path, dsn, 1)
			refusesToServe(t, path, "serve from that one")
			databaseRefuses(t, dsn, "the same sayso migrate")
		}, core.StatusPending},
		"while the source served on": {func(t *testing.T, path, dsn string) {
			cutOff(t, path, dsn, 0)
			withFile(t, path, func(s record) { answer(t, s, core.DecisionAllowOnce, qPending) })
			databaseRefuses(t, dsn, "the same sayso migrate")
		}, core.StatusAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, dsn := populated(t), server.Database(t)
			c.cut(t, path, dsn)
			moved, err := moveTo(t, path, dsn)
			require.NoError(t, err)
			require.EqualValues(t, 6, moved.Rows["approvals"])
			refusesToServe(t, path, "serve from that one")
			withDatabase(t, dsn, func(s record) {
				a, err := s.Approval(t.Context(), core.Lookup{ID: idOf(qPending)})
				require.NoError(t, err)
				require.Equal(t, c.want, a.Status)
			})
		})
	}
}

func databaseRefuses(t *testing.T, dsn, says string) {
	t.Helper()
	_, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	require.ErrorIs(t, err, core.ErrSealed)
	require.ErrorContains(t, err, says)
}

// cutOff runs a move up to the given line of the handing over.
func cutOff(t *testing.T, path, dsn string, lines int) {
	t.Helper()
	ctx := t.Context()
	src, err := openFile(ctx, path, asOwner)
	require.NoError(t, err)
	defer func() { require.NoError(t, src.close()) }()
	origin, err := leaving(ctx, src)
	require.NoError(t, err)
	dst, err := openDatabase(ctx, dsn)
	require.NoError(t, err)
	defer dst.close(ctx)
	copied, err := (&landing{src: src, origin: origin, dst: dst, seal: core.SealArriving}).land(ctx, dsn)
	require.NoError(t, err)
	if lines > 0 {
		require.NoError(t, src.seal(ctx, core.SealMoved, copied.copyID))
	}
}

func TestMoveRefuses(t *testing.T) {
	t.Parallel()
	served := func(t *testing.T, dsn string) { withDatabase(t, dsn, func(record) {}) }
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path, dsn string)
		want    error
	}{
		"a database that was served from": {func(t *testing.T, _, dsn string) { served(t, dsn) }, ErrNotEmpty},
		"a database with rows": {func(t *testing.T, _, dsn string) {
			served(t, dsn)
			in(t, dsn, `DELETE FROM deployment RETURNING id`)
			in(t, dsn, `INSERT INTO spent_ids (id) VALUES ('x') RETURNING id`)
		}, ErrNotEmpty},
		"a newer database": {func(t *testing.T, _, dsn string) {
			require.NoError(t, postgres.Migrate(t.Context(), dsn))
			in(t, dsn, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true) RETURNING ''`)
		}, core.ErrNewerSchema},
		"a newer source": {func(t *testing.T, path, _ string) {
			alter(t, path, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)`)
		}, core.ErrNewerSchema},
		"an older source": {func(t *testing.T, path, _ string) {
			alter(t, path, `DELETE FROM goose_db_version WHERE version_id > 0`)
		}, ErrOldSchema},
		"a backup": {func(t *testing.T, path, _ string) {
			alter(t, path, `UPDATE deployment SET sealed = 1, sealed_as = 'backup'`)
		}, core.ErrSealed},
		"no source": {func(t *testing.T, path, _ string) { require.NoError(t, os.Remove(path)) }, ErrNoStore},
		"a folder": {func(t *testing.T, path, _ string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		}, ErrNoStore},
		"another file": {func(t *testing.T, path, _ string) {
			require.NoError(t, os.WriteFile(path, []byte("not a database, but long enough to be read as the header of one, which is a hundred bytes long or so"), 0o600))
		}, ErrNoStore},
		"a service on the source": {func(t *testing.T, path, _ string) {
			lock, err := sqlite.Lock(path)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, lock.Close()) })
		}, sqlite.ErrInUse},
		"a row that cannot be": {func(t *testing.T, path, _ string) {
			alter(t, path, `UPDATE approvals SET execution = 'claimed' WHERE id = '`+idOf(qPending)+`'`)
		}, core.ErrCorrupt},
		"a row that refers to nothing": {func(t *testing.T, path, _ string) {
			alter(t, path, `DELETE FROM principals`)
		}, core.ErrCorrupt},
		"text that the database cannot hold": {func(t *testing.T, path, _ string) {
			alter(t, path, `UPDATE principals SET name = 'a' || char(0)`)
		}, core.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, dsn := populated(t), server.Database(t)
			c.prepare(t, path, dsn)
			_, err := moveTo(t, path, dsn)
			require.ErrorIs(t, err, c.want)
			require.NotEqual(t, "internal", core.CodeOf(err))
			require.NotContains(t, err.Error(), filepath.Dir(path))
			if errors.Is(c.want, core.ErrCorrupt) { // The source serves as before.
				require.Equal(t, []string{""}, inFile(t, path, `SELECT sealed_as FROM deployment`))
			}
		})
	}
}

func TestMoveGoesToOnePlaceOnly(t *testing.T) {
	t.Parallel()
	path, first, second, third := populated(t), server.Database(t), server.Database(t), server.Database(t)
	cutOff(t, path, first, 0) // Then somebody changes their mind.
	_, err := moveTo(t, path, second)
	require.NoError(t, err)
	for _, dsn := range []string{first, third} {
		_, err = moveTo(t, path, dsn)
		require.ErrorIs(t, err, ErrMovedElsewhere)
	}
	databaseRefuses(t, first, "the same sayso migrate")
	require.Empty(t, in(t, third, `SELECT id FROM deployment`))
	moved, err := moveTo(t, path, second)
	require.NoError(t, err)
	require.True(t, moved.Before)

	_, err = moveTo(t, populated(t), second)
	require.ErrorIs(t, err, ErrNotEmpty, "another record")
}

func TestMoveWantsAConnectionString(t *testing.T) {
	t.Parallel()
	_, err := moveTo(t, populated(t), "postgres://u:hunter2@host:port/x")
	require.ErrorIs(t, err, core.ErrInvalid)
	require.NotContains(t, err.Error(), "hunter2")
	_, err = moveTo(t, populated(t), "postgres://u:hunter2@localhost/x?host="+t.TempDir())
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.NotContains(t, err.Error(), "hunter2")
}
