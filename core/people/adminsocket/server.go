package adminsocket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/saysohq/sayso/core"
)

// ErrInUse is a socket that another process answers on. It is also a core.ErrUnavailable.
var ErrInUse = fmt.Errorf("another process serves the admin socket: %w", core.ErrUnavailable)

// Config is what the server works on; all of it but Drain is required.
type Config struct {
	// Path is the socket, or on Windows the file with port and token. Its folder
	// must exist and be private. At most 103 bytes.
	Path    string
	Handler http.Handler
	Log     *slog.Logger
	// Drain is how long requests may go on after the stop; 0 means 5 s.
	Drain time.Duration
}

// Bounds of a conversation. There is no write time-out: an answer may be a stream.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 20 * time.Second
	idleTimeout   = 2 * time.Minute
	defaultDrain  = 5 * time.Second
	maxHeader     = 16 << 10
)

// Server serves the operator. Listen takes the socket, Run serves on it.
type Server struct {
	cfg      Config
	listener net.Listener
	handler  http.Handler
}

// New wires the server; it opens nothing.
func New(cfg Config) *Server {
	if cfg.Drain == 0 {
		cfg.Drain = defaultDrain
	}
	return &Server{cfg: cfg}
}

// Listen takes the socket, so that a start which cannot have it fails early. A
// socket that a dead process left behind is replaced. Errors: ErrInUse,
// core.ErrInvalid for a path that is too long or something other than a socket.
func (s *Server) Listen(ctx context.Context) error {
	listener, guard, err := listen(ctx, s.cfg.Path, s.cfg.Log)
	if err != nil {
		return fmt.Errorf("listen on admin socket: %w", err)
	}
	s.listener, s.handler = listener, guard(s.cfg.Handler)
	return nil
}

// Run serves until ctx ends, then lets requests finish within Drain, removes the
// socket and returns nil. It listens first if Listen was not called.
func (s *Server) Run(ctx context.Context) error {
	if s.listener == nil {
		if err := s.Listen(ctx); err != nil {
			return err
		}
	}
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn),
		ConnContext:       withPeer,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(s.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve admin socket: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Drain)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		_ = server.Close() // Streams do not end by themselves: cut them.
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve admin socket: %w", err)
	}
	return nil
}

// Close gives the socket up where Run was never reached.
func (s *Server) Close() error {
	if s.listener == nil {
		return nil
	}
	return s.listener.Close()
}

// Peer is the process at the other end, as the kernel knows it.
type Peer struct {
	UID int
	PID int // 0 where the system does not tell.
}

type peerKey struct{}

// PeerOf is the peer of the request whose context this is; false where the system
// cannot tell.
func PeerOf(ctx context.Context) (Peer, bool) {
	p, ok := ctx.Value(peerKey{}).(Peer)
	return p, ok
}

// withPeer hangs the connection's peer, found when it was accepted, on its context.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(peerConn); ok {
		return context.WithValue(ctx, peerKey{}, c.peer)
	}
	return ctx
}

// peerConn is a connection whose peer was checked.
type peerConn struct {
	net.Conn
	peer Peer
}
