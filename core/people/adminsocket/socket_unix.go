//go:build unix

package adminsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/saysohq/sayso/core"
)

// maxPath is the shortest limit of the systems (macOS: 104 bytes with the final zero).
const maxPath = 103

// socketMode lets the owner connect, and nobody else.
const socketMode = 0o600

// probeTimeout is how long a living process has to accept a connection.
const probeTimeout = time.Second

func listen(ctx context.Context, path string, log *slog.Logger) (net.Listener, func(http.Handler) http.Handler, error) {
	if len(path) > maxPath {
		return nil, nil, core.Invalid("admin socket", "must have a path of at most %d bytes: choose a shorter data folder", maxPath)
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, nil, err
	}
	config := net.ListenConfig{Control: restrict}
	listener, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, nil, err
	}
	// Where restrict could not set the mode before the name appeared, the private
	// folder covers the moment until here.
	if err := os.Chmod(path, socketMode); err != nil {
		_ = listener.Close() // It must not serve.
		return nil, nil, err
	}
	checked := &peerListener{Listener: listener, log: log, uid: os.Geteuid()}
	return checked, func(h http.Handler) http.Handler { return h }, nil
}

// removeStale clears the name for a new socket. That two services start at once on
// one folder is prevented by the store's lock, which is taken first.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return core.Invalid("admin socket", "must not be the path of something else")
	}
	conn, err := (&net.Dialer{Timeout: probeTimeout}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // It was only a question.
		return ErrInUse
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("probe admin socket: %w", err)
	}
	return os.Remove(path)
}

// peerListener hands out only connections from the service's own user or root.
type peerListener struct {
	net.Listener
	log *slog.Logger
	uid int
}

// Accept implements net.Listener. A refused peer is closed without a word and does
// not end the listening.
func (l *peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer, known, err := peerOf(conn)
		if err == nil && !known {
			return conn, nil // This system does not tell: the mode has decided.
		}
		if err == nil && admitted(peer, l.uid) {
			return peerConn{Conn: conn, peer: peer}, nil
		}
		l.log.Warn("a connection to the admin socket was refused", "uid", peer.UID, "known", err == nil)
		_ = conn.Close() // Refused.
	}
}

// admitted: the same user could read the data folder anyway, and so could root.
func admitted(p Peer, uid int) bool { return p.UID == uid || p.UID == 0 }

// rawConn runs fn on the descriptor of a connection.
func rawConn(conn net.Conn, fn func(fd int) error) error {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return errors.ErrUnsupported
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = fn(int(fd)) }); err != nil {
		return err
	}
	return failed
}

func transport(path string) http.RoundTripper {
	dialer := &net.Dialer{Timeout: headerTimeout}
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		},
		MaxIdleConns:          1,
		IdleConnTimeout:       idleTimeout / 2, // Given up before the server does.
		ResponseHeaderTimeout: 0,               // Long polls answer late.
	}
}
