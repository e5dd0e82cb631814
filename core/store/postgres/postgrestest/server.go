package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Options say how the server keeps its data. The zero Options are for tests of
// logic: nothing is forced to the disk.
type Options struct {
	// Durable forces every commit to the disk, for measuring.
	Durable bool
	// Settings are further settings of the server, name=value.
	Settings []string
	// Prepare makes the template database; nil leaves it empty.
	Prepare func(ctx context.Context, dsn string) error
	// Reset makes a database that was used as the template is; see Lend.
	Reset func(ctx context.Context, dsn string) error
}

// Server is a private server. The zero Server is not usable; see New.
type Server struct {
	options Options
	once    sync.Once
	failed  error
	folder  string
	leash   io.Closer // Closing it stops the server.
	ended   chan error
	next    atomic.Int64

	mu   sync.Mutex
	free []string // DSNs of databases that are clean again.
}

// New returns a server that starts when its first database is asked for.
func New(o Options) *Server { return &Server{options: o} }

const (
	superuser = "sayso"
	template  = "template_sayso"
	// startLimit bounds initdb and the start together.
	startLimit = time.Minute
)

// Missing is the answer where PostgreSQL is not installed.
var errMissing = errors.New("PostgreSQL's server is not installed: install the package \"postgresql\" (Debian's name)")

// Database makes a copy of the template for one test and returns its DSN. It is
// dropped when the test ends.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	require.NoError(t, s.start(), "start PostgreSQL")
	name := "test_" + strconv.FormatInt(s.next.Add(1), 10)
	require.NoError(t, s.admin(context.Background(), "CREATE DATABASE "+name+" TEMPLATE "+template))
	t.Cleanup(func() {
		require.NoError(t, s.admin(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"))
	})
	return s.DSN(name)
}

// Lend lends a database for one test and has it Reset for the next one, which takes
// milliseconds where a copy takes its tenth of a second. What Reset cannot undo
// spoils it: call spoil, and nobody gets it again. Its connections end before the test does.
func (s *Server) Lend(t testing.TB) (dsn string, spoil func()) {
	t.Helper()
	require.NoError(t, s.start(), "start PostgreSQL")
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		dsn, s.free = s.free[n-1], s.free[:n-1]
	}
	s.mu.Unlock()
	if dsn == "" {
		name := "lent_" + strconv.FormatInt(s.next.Add(1), 10)
		require.NoError(t, s.admin(context.Background(), "CREATE DATABASE "+name+" TEMPLATE "+template))
		dsn = s.DSN(name)
	}
	var spoiled atomic.Bool
	t.Cleanup(func() {
		if spoiled.Load() {
			return // It goes with the server.
		}
		require.NoError(t, s.options.Reset(context.Background(), dsn))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, dsn)
	})
	return dsn, func() { spoiled.Store(true) }
}

// DSN is the address of a database of the server.
func (s *Server) DSN(database string) string {
	q := url.Values{"host": {s.folder}, "user": {superuser}}
	return "postgres:///" + database + "?" + q.Encode()
}

// Close stops the server and removes its folder. A server that never started is
// closed already.
func (s *Server) Close() error {
	s.once.Do(func() { s.failed = errors.New("the server is closed") })
	if s.leash == nil {
		return nil
	}
	if err := s.leash.Close(); err != nil {
		return fmt.Errorf("let go of PostgreSQL: %w", err)
	}
	for range s.ended { // The shell's own verdict: a stopped server is what was asked for.
		continue
	}
	return nil
}

func (s *Server) start() error {
	s.once.Do(func() { s.failed = s.launch() })
	return s.failed
}

// binaries finds the newest installed server.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		if path, err := exec.LookPath("initdb"); err == nil {
			return filepath.Dir(path), nil
		}
		return "", errMissing
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // Zero for a folder of another name.
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

// credential is whom the server runs as; nil for ourselves.
func credential() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // Nobody else is an answer.
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("find a user for PostgreSQL: %w", err)
		}
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read user id: %w", err)
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read group id: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func (s *Server) launch() error {
	bin, err := binaries()
	if err != nil {
		return err
	}
	as, err := credential()
	if err != nil {
		return err
	}
	// Short, because a socket's path has a limit; not the test's own folder, which
	// another user cannot enter.
	if s.folder, err = os.MkdirTemp("", "sayso-pg-"); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if as != nil {
		if err := os.Chown(s.folder, int(as.Uid), int(as.Gid)); err != nil {
			return fmt.Errorf("hand folder over: %w", err)
		}
	}
	ctx, end := context.WithTimeout(context.Background(), startLimit)
	defer end()
	if err := s.run(ctx, bin, as); err != nil {
		return err
	}
	return s.prepare(ctx)
}

// leashed runs the arguments after it as a child, stops it when standard input
// ends, and removes the folder that is the first of them.
const leashed = `folder=$1; shift; bin=$1; shift
"$bin/initdb" -D "$folder/data" -U ` + superuser + ` -A trust -E UTF8 --no-sync >"$folder/log" 2>&1 || { cat "$folder/log" >&2; rm -rf "$folder"; exit 1; }
"$bin/postgres" -D "$folder/data" "$@" </dev/null >>"$folder/log" 2>&1 &
server=$!
cat >/dev/null
kill -QUIT "$server" 2>/dev/null
wait "$server"
rm -rf "$folder"`

// run starts the shell that holds the server.
func (s *Server) run(ctx context.Context, bin string, as *syscall.Credential) error {
	settings := []string{
		"listen_addresses=", "unix_socket_directories=" + s.folder, "max_connections=300", "shared_buffers=64MB",
		"deadlock_timeout=100ms", "log_min_messages=fatal",
	}
	if !s.options.Durable {
		settings = append(settings, "fsync=off", "full_page_writes=off")
	}
	args := []string{"-c", leashed, "sh", s.folder, bin}
	for _, setting := range append(settings, s.options.Settings...) {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command("/bin/sh", args...) // It lives as long as its leash.
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: as}
	var told bytes.Buffer
	cmd.Stderr = &told
	leash, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("make leash: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	s.leash, s.ended = leash, make(chan error, 1)
	go func() { s.ended <- cmd.Wait(); close(s.ended) }()
	for {
		if err := s.ping(ctx); err == nil {
			return nil
		}
		select {
		case err := <-s.ended:
			return fmt.Errorf("start PostgreSQL: %w: %s", err, told.String())
		case <-ctx.Done():
			return fmt.Errorf("await PostgreSQL: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond): // A real process: there is no signal to wait for.
		}
	}
}

func (s *Server) ping(ctx context.Context) error {
	c, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return c.Close(ctx)
}

// prepare makes the template.
func (s *Server) prepare(ctx context.Context) error {
	if err := s.admin(ctx, "CREATE DATABASE "+template); err != nil {
		return err
	}
	if s.options.Prepare == nil {
		return nil
	}
	if err := s.options.Prepare(ctx, s.DSN(template)); err != nil {
		return fmt.Errorf("prepare template: %w", err)
	}
	return nil
}

// admin runs a statement outside of the databases under test.
func (s *Server) admin(ctx context.Context, query string) error {
	c, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	_, failed := c.Exec(ctx, query)
	if err := errors.Join(failed, c.Close(ctx)); err != nil {
		return fmt.Errorf("administer: %w", err)
	}
	return nil
}
