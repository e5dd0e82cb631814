package postgrestest

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// bouncerPort only names the socket file: nothing listens on a network.
const bouncerPort = 6543

// leashedBouncer is leashed for PgBouncer.
const leashedBouncer = `"$1" -q "$2" </dev/null >&2 &
bouncer=$!
cat >/dev/null
kill -KILL "$bouncer" 2>/dev/null
wait "$bouncer"`

// Bouncer starts a PgBouncer in transaction mode before the server, for the life of
// a test, and returns a function that turns a DSN of the server into one through
// it. A missing PgBouncer fails the test with the name of its package.
func (s *Server) Bouncer(t testing.TB) func(dsn string) string {
	t.Helper()
	require.NoError(t, s.start(), "start PostgreSQL")
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path = "/usr/sbin/pgbouncer"
	}
	_, err = os.Stat(path)
	require.NoError(t, err, "PgBouncer is not installed: install the package \"pgbouncer\" (Debian's name)")
	as, err := credential()
	require.NoError(t, err)
	config := filepath.Join(s.folder, "bouncer.ini")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `[databases]
* = host=%s user=%s
[pgbouncer]
pool_mode = transaction
listen_addr =
listen_port = %d
unix_socket_dir = %s
auth_type = any
default_pool_size = 4
max_client_conn = 500
`, s.folder, superuser, bouncerPort, s.folder), 0o644))
	cmd := exec.Command("/bin/sh", "-c", leashedBouncer, "sh", path, config) // It lives as long as its leash.
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
	var told bytes.Buffer
	cmd.Stderr = &told
	leash, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, leash.Close())
		_ = cmd.Wait() // It was killed, which is what it says.
		if t.Failed() {
			t.Log(told.String())
		}
	})
	through := func(dsn string) string { return bounced(t, dsn) }
	require.Eventually(t, func() bool {
		c, err := pgx.Connect(context.Background(), through(s.DSN("postgres")))
		return err == nil && c.Close(context.Background()) == nil
	}, startLimit, 20*time.Millisecond, "start PgBouncer")
	return through
}

// bounced names the bouncer's socket instead of the server's.
func bounced(t testing.TB, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	q := u.Query()
	q.Set("port", strconv.Itoa(bouncerPort))
	q.Set("default_query_exec_mode", "exec") // For whoever connects with pgx alone.
	u.RawQuery = q.Encode()
	return u.String()
}
