package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"
)

// errStopping is why the gateway is not ready any more.
var errStopping = errors.New("this replica is stopping")

// stopping is the state of a stop.
type stopping struct {
	ctx  context.Context
	stop context.CancelCauseFunc
}

func newStopping() *stopping {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &stopping{ctx: ctx, stop: cancel}
}

func (s *stopping) err() error { return context.Cause(s.ctx) }

// beginStop tells everything that holds a request open that the end has come.
func (g *Gateway) beginStop() {
	g.stop.stop(errStopping)
	g.deps.Approvals.Release()
}

// Stopping is closed once the server has begun to stop: streams that are mounted
// beside the API end then, because the drain waits for them.
func (g *Gateway) Stopping() <-chan struct{} { return g.stop.ctx.Done() }

// Listener is a place to serve at.
type Listener struct {
	net.Listener
	// Admin marks the socket whose peer was checked: requests without a bearer come
	// from this machine's operator there.
	Admin bool
}

// Run serves the listeners until ctx ends or one of them fails. Then it stops
// accepting, lets long polls answer with the record as it is, and waits for
// requests under way, at most Timeouts.Drain. It closes every listener. A gateway
// runs once. A stop that was asked for returns nil.
func (g *Gateway) Run(ctx context.Context, listeners ...Listener) error {
	defer g.beginStop()
	group, running := errgroup.WithContext(ctx)
	for _, l := range listeners {
		handler := g.Handler()
		if l.Admin {
			handler = g.AdminHandler()
		}
		server := g.server(handler)
		group.Go(func() error {
			if err := server.Serve(l.Listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", l.Addr().Network(), err)
			}
			return nil
		})
		group.Go(func() error {
			<-running.Done()
			g.beginStop()
			return g.drain(ctx, server)
		})
	}
	return group.Wait()
}

func (g *Gateway) server(h http.Handler) *http.Server {
	t := g.cfg.Timeouts
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: t.ReadHeader,
		ReadTimeout:       t.Read,
		WriteTimeout:      t.Write,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(contentFree{g.deps.Logger.Handler()}, slog.LevelDebug),
	}
}

// drain ends a server in good order. Requests that outlast the drain are cut: what
// they committed stands, and their callers ask again.
func (g *Gateway) drain(ctx context.Context, s *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.cfg.Timeouts.Drain)
	defer cancel()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		g.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "drain timed out: connections were cut")
		err = s.Close()
	}
	if err != nil {
		return fmt.Errorf("stop server: %w", err)
	}
	return nil
}

// contentFree keeps the text of net/http's own log out of ours: it may repeat what
// a client sent.
type contentFree struct{ slog.Handler }

// Handle replaces the message.
func (h contentFree) Handle(ctx context.Context, r slog.Record) error {
	return h.Handler.Handle(ctx, slog.NewRecord(r.Time, r.Level, "a connection failed", 0))
}
