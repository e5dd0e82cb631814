package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options say where and how the server keeps its data.
type Options struct {
	// Dir is the folder in which the server's own folder is made; "" takes the
	// system's for temporary files. Another user must be able to enter it, and its
	// path must be short: that of a socket has a limit of about 100 bytes.
	Dir string
	// Durable forces every commit to the disk, for measuring. Otherwise nothing is,
	// which is enough for tests of logic.
	Durable bool
	// Settings are further settings of the server, name=value. They come last, so
	// they also replace those of this package.
	Settings []string
}

// Server is a running private server.
type Server struct {
	bin    string // Folder of the server's programs.
	folder string
	leash  io.WriteCloser // Closing it stops the server.
	ended  chan error
}

const (
	superuser = "sayso"
	// startLimit bounds initdb and the start together.
	startLimit = time.Minute
	// pollEvery is how often a process that is starting is asked for.
	pollEvery = 20 * time.Millisecond
)

// ErrMissing is the answer where PostgreSQL's server is not installed.
var ErrMissing = errors.New("PostgreSQL's server is not installed: install the package \"postgresql\" (Debian's name)")

// Start makes and starts a server. It stops with Close, and with this process at
// the latest. Errors: ErrMissing; any other is of the system or of initdb.
func Start(ctx context.Context, o Options) (*Server, error) { return start(ctx, o, "") }

// Standby starts another server that follows this one, asynchronously, until it is
// told to pg_promote or this one is gone. Its settings are those of the primary, or
// larger.
func (s *Server) Standby(ctx context.Context, o Options) (*Server, error) {
	return start(ctx, o, s.folder)
}

// start makes a server of its own, or one that follows the server in a folder.
func start(ctx context.Context, o Options, primary string) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin}
	// Short, because a socket's path has a limit.
	if s.folder, err = os.MkdirTemp(o.Dir, "sayso-pg-"); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	if err := handOver(s.folder); err != nil {
		return nil, err
	}
	ctx, end := context.WithTimeout(ctx, startLimit)
	defer end()
	if err := s.run(ctx, o, primary); err != nil {
		return nil, err
	}
	return s, nil
}

// DSN is the address of a database of the server.
func (s *Server) DSN(database string) string {
	q := url.Values{"host": {s.folder}, "user": {superuser}}
	return "postgres:///" + database + "?" + q.Encode()
}

// Create makes a database as a copy of a template; "" copies the server's own, which
// is empty. Names are plain identifiers.
func (s *Server) Create(ctx context.Context, name, template string) error {
	if template == "" {
		template = "template1"
	}
	return s.admin(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE "+pgx.Identifier{template}.Sanitize())
}

// Drop removes a database, and whoever is connected to it.
func (s *Server) Drop(ctx context.Context, name string) error {
	return s.admin(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)")
}

// Program is the path of one of PostgreSQL's own programs, such as pgbench, of the
// server's version. Errors: fs.ErrNotExist.
func (s *Server) Program(name string) (string, error) {
	path := filepath.Join(s.bin, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	return path, nil
}

// Close stops the server and removes its folder.
func (s *Server) Close() error {
	if err := s.leash.Close(); err != nil {
		return fmt.Errorf("let go of PostgreSQL: %w", err)
	}
	for range s.ended { // The shell's own verdict: a stopped server is what was asked for.
		continue
	}
	return nil
}

// binaries finds the newest installed server.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		if path, err := exec.LookPath("initdb"); err == nil {
			return filepath.Dir(path), nil
		}
		return "", ErrMissing
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // Zero for a folder of another name.
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

// leashed runs the arguments after it as a child, stops it when standard input
// ends, and removes the folder that is the first of them. Until then each line of the
// input is the name of a signal that stops the server, or asks for it again. To wait for
// a server that did not end would be to miss the end of the input.
const leashed = `folder=$1; shift; bin=$1; shift; primary=$1; shift
if [ -n "$primary" ]
then "$bin/pg_basebackup" -D "$folder/data" -h "$primary" -U ` + superuser + ` -R -c fast --no-sync
else "$bin/initdb" -D "$folder/data" -U ` + superuser + ` -A trust -E UTF8 --no-sync
fi >"$folder/log" 2>&1 || { cat "$folder/log" >&2; rm -rf "$folder"; exit 1; }
serve() { "$bin/postgres" -D "$folder/data" "$@" </dev/null >>"$folder/log" 2>&1 & server=$!; }
serve "$@"
while read -r word
do
	if [ "$word" != ` + again + ` ]
	then kill "-$word" "$server" 2>/dev/null; wait "$server"; continue
	fi
	case $(ps -o stat= -p "$server" 2>/dev/null) in
	[A-Y]*) ;; # It runs, or recovers by itself.
	*) wait "$server"; serve "$@" ;;
	esac
done
kill -QUIT "$server" 2>/dev/null
wait "$server"
rm -rf "$folder"`

// run starts the shell that holds the server, and waits for the server.
func (s *Server) run(ctx context.Context, o Options, primary string) error {
	settings := []string{
		"listen_addresses=", "unix_socket_directories=" + s.folder, "max_connections=300", "shared_buffers=64MB",
		"deadlock_timeout=100ms", "log_min_messages=fatal",
	}
	if !o.Durable {
		settings = append(settings, "fsync=off", "full_page_writes=off")
	}
	args := []string{"-c", leashed, "sh", s.folder, s.bin, primary}
	for _, setting := range append(settings, o.Settings...) {
		args = append(args, "-c", setting)
	}
	child, err := hang(ctx, args...)
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	s.leash, s.ended = child.leash, child.ended
	if err := child.await(ctx, func() error { return ping(ctx, s.DSN("postgres")) }); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	return nil
}

// child is a shell that ends with its leash.
type child struct {
	leash io.WriteCloser
	ended chan error
	told  *bytes.Buffer
}

// hang starts a shell whose standard input is its leash: it lives as long as that,
// whatever becomes of ctx.
func hang(ctx context.Context, args ...string) (*child, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", args...)
	cmd.Dir = "/"
	if err := asOther(cmd); err != nil {
		return nil, err
	}
	c := &child{ended: make(chan error, 1), told: &bytes.Buffer{}}
	cmd.Stderr = c.told
	leash, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make leash: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start shell: %w", err)
	}
	c.leash = leash
	go func() { c.ended <- cmd.Wait(); close(c.ended) }()
	return c, nil
}

// await waits until the child can be reached.
func (c *child) await(ctx context.Context, reached func() error) error {
	for {
		if reached() == nil {
			return nil
		}
		select {
		case err := <-c.ended:
			return fmt.Errorf("%w: %s", errors.Join(errors.New("it ended at once"), err), c.told.String())
		case <-ctx.Done():
			_ = c.leash.Close() // It is given up.
			return ctx.Err()
		case <-time.After(pollEvery): // A real process: there is no signal to wait for.
		}
	}
}

func ping(ctx context.Context, dsn string) error {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return c.Close(ctx)
}

// admin runs a statement outside of the databases in use.
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
