//go:build unix

package e2e_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// serve starts a replica that is expected to refuse.
func (r *replica) serve(flags ...string) *process {
	r.t.Helper()
	return r.launch(r.env, append([]string{"serve", "--config", r.config, "--listen", "127.0.0.1:0"}, flags...)...)
}

// A replica never changes the schema behind the back of those that run, and says what
// to do; once somebody has, it starts.
func TestFleetSchema(t *testing.T) {
	t.Parallel()
	f := unstarted(t, setup{noBots: true})
	f.empty()
	refused := f.a.serve()
	refused.ends(69)
	require.Contains(t, refused.err.String(), "run sayso migrate, or serve --migrate")

	migrated := f.a.cli("migrate", "--config", f.a.config)
	require.Equal(t, "the schema is up to date\n", migrated.ends(0))
	again := f.b.cli("migrate")
	require.Equal(t, "the schema is up to date\n", again.ends(0), "the environment is enough")
	f.a.start()
	f.b.start()
	require.NoFileExists(t, filepath.Join(f.a.folder, "sayso.db"))
}

// With --migrate replicas may start at once: one of them does it. And one of them, not
// the last, tells the link that makes the first admin.
func TestFleetStartsAtOnce(t *testing.T) {
	t.Parallel()
	f := unstarted(t, setup{noBots: true})
	f.empty()
	var starting []*process
	for _, r := range []*replica{f.a, f.b} {
		starting = append(starting, r.serve("--migrate", "--log-level", "debug"))
	}
	told, said := 0, ""
	for i, r := range []*replica{f.a, f.b} {
		out := starting[i].prints("Run it as a user of its own")
		link, err := os.ReadFile(filepath.Join(r.folder, "first-sign-in"))
		if err == nil {
			told++
			said = string(link)
			continue
		}
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.Contains(t, out, "the link of the replica that started before")
	}
	require.Equal(t, 1, told, "more than one was told")
	// It is good at either of them.
	f.b.url = readyAt.FindStringSubmatch(starting[1].out.String())[1]
	require.NoError(t, os.WriteFile(filepath.Join(f.b.folder, "first-sign-in"), []byte(said), 0o600))
	f.b.alice()
}

// The key file opens the keys in the database, which sign buttons, forms and views: a
// replica with another one would speak for another installation.
func TestFleetRefusesAnotherSecretKey(t *testing.T) {
	t.Parallel()
	f := unstarted(t, setup{noBots: true})
	f.a.start()
	text, err := os.ReadFile(f.b.config)
	require.NoError(t, err)

	// Without the file: one that is made now would not fit, so none is made.
	own := filepath.Join(f.b.work, "own.key")
	require.NoError(t, os.WriteFile(f.b.config, []byte(strings.ReplaceAll(string(text), "secret.key", "missing.key")), 0o600))
	missing := f.b.serve()
	missing.ends(1)
	require.Contains(t, missing.err.String(), "the file is missing, and only it opens the keys in the database")
	require.Contains(t, missing.err.String(), "every replica needs the same secret_key_file")

	require.NoError(t, os.WriteFile(own, bytes.Repeat([]byte{8}, 32), 0o600))
	with := "secret_key_file: \"" + own + "\"\npublic_url: " + f.front.url() + "\n"
	require.NoError(t, os.WriteFile(f.b.config, []byte(with), 0o600))
	other := f.b.serve()
	other.ends(1)
	require.Contains(t, other.err.String(), "does not open with the secret key file")
	require.Contains(t, other.err.String(), "every replica needs the same secret_key_file")
}

// Two replicas on one data folder would take each other's admin socket away. The one
// that is there keeps it, and everything else.
func TestFleetRefusesASharedDataFolder(t *testing.T) {
	t.Parallel()
	f := unstarted(t, setup{noBots: true})
	f.a.start()
	address, err := os.ReadFile(filepath.Join(f.a.folder, "address"))
	require.NoError(t, err)
	second := f.a.serve()
	second.ends(69)
	require.Contains(t, second.err.String(), "every replica needs a data folder of its own")
	kept, err := os.ReadFile(filepath.Join(f.a.folder, "address"))
	require.NoError(t, err)
	require.Equal(t, string(address), string(kept))
	f.a.cli("people").ends(0)
}

// A pooler that keeps no session changes nothing: the schema is brought up to date past
// it, and everything else goes through it.
func TestFleetThroughPgBouncer(t *testing.T) {
	t.Parallel()
	f := unstarted(t, setup{noBots: true})
	f.empty()
	through := databases.Bouncer(t)
	for _, r := range []*replica{f.a, f.b} {
		r.env = append(r.env, "SAYSO_POSTGRES__DSN="+through(f.dsn), "SAYSO_POSTGRES__MIGRATE_DSN="+f.dsn, "SAYSO_POSTGRES__POOLER=transaction")
	}
	f.a.cli("migrate").ends(0)
	f.a.start()
	f.b.start()
	page := f.a.alice()
	waits := f.a.cli("ask", secretWord)
	page.at(f.b).decide(f.b.idOfSoon(secretWord), "allow-once")
	waits.ends(0)
}

// What cannot work is refused at the start, in one sentence and without the password.
func TestFleetRefusesToStart(t *testing.T) {
	t.Parallel()
	f := unstarted(t, setup{noBots: true})
	for name, c := range map[string]struct {
		env  string
		code int
		says string
	}{
		"nobody there":          {"SAYSO_POSTGRES__DSN=postgres://u:hush@127.0.0.1:1/x", 69, "is PostgreSQL there"},
		"a database of another": {"SAYSO_POSTGRES__DSN=" + strings.Replace(f.dsn, "/test_", "/other_", 1), 69, "is PostgreSQL there"},
		"no connection string":  {"SAYSO_POSTGRES__DSN=postgres://u:hush@h:port/", 64, "postgres.dsn: must be"},
		"no pooler":             {"SAYSO_POSTGRES__POOLER=hush", 64, "postgres.pooler"},
		"no address of Redis":   {"SAYSO_REDIS__URL=hush", 64, "redis.url"},
		"an empty variable":     {"SAYSO_POSTGRES__DSN=", 64, "postgres.dsn: is required"},
	} {
		env := append(append([]string{}, f.a.env...), "SAYSO_REDIS__URL=redis://127.0.0.1:1", c.env)
		refused := f.a.launch(env, "serve", "--config", f.a.config, "--listen", "127.0.0.1:0")
		require.Equal(t, c.code, refused.code(), "%s: %s", name, refused.err.String())
		require.Contains(t, refused.err.String(), c.says, name)
		require.NotContains(t, refused.err.String(), "hush", name)
	}
}
