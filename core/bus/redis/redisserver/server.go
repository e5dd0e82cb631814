package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// ErrMissing is the answer where Redis is not installed.
var ErrMissing = errors.New("the program redis-server is not installed: install the package \"redis-server\" (Debian's name)")

// Server is a private server. It is not safe for concurrent use.
type Server struct {
	program  string
	folder   string
	settings []string
	leash    io.Closer // Closing it kills the server; nil while it is dead.
	ended    chan error
	told     bytes.Buffer
}

const (
	startLimit = 30 * time.Second
	// pollEvery is how often a server that is starting is asked for.
	pollEvery = 5 * time.Millisecond
)

// Start starts a server. It ends with Close, and with this process at the latest.
// Settings are further arguments of redis-server, such as "--requirepass", "secret".
// Errors: ErrMissing; any other is of the system.
func Start(ctx context.Context, settings ...string) (*Server, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, ErrMissing
	}
	folder, err := os.MkdirTemp("", "sayso-redis-") // Short, because a socket's path has a limit.
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	s := &Server{program: program, folder: folder, settings: settings}
	if err := s.run(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Socket is the path of its Unix socket.
func (s *Server) Socket() string { return filepath.Join(s.folder, "s") }

// URL is its address.
func (s *Server) URL() string { return "unix://" + s.Socket() }

// Kill ends the server at once; what it held is lost. Killing it twice is no error.
func (s *Server) Kill() error {
	if s.leash == nil {
		return nil
	}
	err := s.leash.Close()
	s.leash = nil
	if err != nil {
		return fmt.Errorf("let go of Redis: %w", err)
	}
	for range s.ended { // The shell's own verdict: a killed server is what was asked for.
		continue
	}
	return nil
}

// Again starts an empty server at the same address, after Kill.
func (s *Server) Again(ctx context.Context) error {
	if err := os.Mkdir(s.folder, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	return s.run(ctx)
}

// Close kills the server and removes its folder.
func (s *Server) Close() error {
	return errors.Join(s.Kill(), os.RemoveAll(s.folder))
}

// leashed runs the arguments after it as a child, kills it when standard input ends,
// and removes the folder that is the first of them.
const leashed = `folder=$1; shift
"$@" </dev/null >&2 &
server=$!
cat >/dev/null
kill -KILL "$server" 2>/dev/null
wait "$server" 2>/dev/null
rm -rf "$folder"`

func (s *Server) run(ctx context.Context) error {
	args := append([]string{
		"-c", leashed, "sh", s.folder, s.program, "--port", "0", "--unixsocket", s.Socket(), "--dir", s.folder,
		"--save", "", "--appendonly", "no", "--loglevel", "warning",
	}, s.settings...)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", args...) // It lives as long as its leash.
	cmd.Dir = "/"
	if err := apart(cmd); err != nil {
		return err
	}
	s.told.Reset()
	cmd.Stderr = &s.told
	leash, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("make leash: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	s.leash, s.ended = leash, make(chan error, 1)
	go func() { s.ended <- cmd.Wait(); close(s.ended) }()
	return s.await(ctx)
}

// await waits until the server answers.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		if s.answers(ctx) == nil {
			return nil
		}
		select {
		case err := <-s.ended:
			return fmt.Errorf("start Redis: %w: %s", errors.Join(errors.New("it ended at once"), err), s.told.String())
		case <-ctx.Done():
			return fmt.Errorf("start Redis: %w", ctx.Err())
		case <-time.After(pollEvery): // A real process: there is no signal to wait for.
		}
	}
}

// answers reports whether the server takes a connection and says anything, were it
// that it wants a password.
func (s *Server) answers(ctx context.Context) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", s.Socket())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return fmt.Errorf("limit wait: %w", err)
		}
	}
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("await answer: %w", err)
	}
	return nil
}
