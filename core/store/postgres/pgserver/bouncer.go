package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// bouncerPort only names the socket file: nothing listens on a network.
const bouncerPort = 6543

// leashedBouncer is leashed for PgBouncer.
const leashedBouncer = `"$1" -q "$2" </dev/null >&2 &
bouncer=$!
cat >/dev/null
kill -KILL "$bouncer" 2>/dev/null
wait "$bouncer"`

// ErrNoBouncer is the answer where PgBouncer is not installed.
var ErrNoBouncer = errors.New("PgBouncer is not installed: install the package \"pgbouncer\" (Debian's name)")

// Bouncer is a running PgBouncer in transaction mode before a server.
type Bouncer struct{ child *child }

// Bounce starts a PgBouncer before the server. It stops with its own Close, and with
// this process at the latest. Errors: ErrNoBouncer; any other is of the system.
func (s *Server) Bounce(ctx context.Context) (*Bouncer, error) {
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path = "/usr/sbin/pgbouncer"
	}
	if _, err := os.Stat(path); err != nil {
		return nil, ErrNoBouncer
	}
	config := filepath.Join(s.folder, "bouncer.ini")
	settings := fmt.Appendf(nil, `[databases]
* = host=%s user=%s
[pgbouncer]
pool_mode = transaction
listen_addr =
listen_port = %d
unix_socket_dir = %s
auth_type = any
default_pool_size = 4
max_client_conn = 500
`, s.folder, superuser, bouncerPort, s.folder)
	if err := os.WriteFile(config, settings, 0o644); err != nil { //nolint:gosec // Another user reads it, and it holds no secret.
		return nil, fmt.Errorf("write settings of PgBouncer: %w", err)
	}
	b := &Bouncer{}
	if b.child, err = hang(ctx, "-c", leashedBouncer, "sh", path, config); err != nil {
		return nil, fmt.Errorf("start PgBouncer: %w", err)
	}
	ctx, end := context.WithTimeout(ctx, startLimit)
	defer end()
	if err := b.child.await(ctx, func() error { return ping(ctx, Through(s.DSN("postgres"))) }); err != nil {
		return nil, fmt.Errorf("start PgBouncer: %w: %s", err, b.child.told.String())
	}
	return b, nil
}

// Close stops it.
func (b *Bouncer) Close() error {
	err := b.child.leash.Close()
	for range b.child.ended { // It was killed, which is what it says.
		continue
	}
	return err
}

// Told is what PgBouncer had to say. It is complete once it is closed.
func (b *Bouncer) Told() string { return b.child.told.String() }

// Through turns a DSN of a server into one through the Bouncer before it. For
// whoever connects with pgx alone it asks for the mode that keeps no session.
func Through(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn // It is none of a server: connecting fails and says so.
	}
	q := u.Query()
	q.Set("port", strconv.Itoa(bouncerPort))
	q.Set("default_query_exec_mode", "exec")
	u.RawQuery = q.Encode()
	return u.String()
}
