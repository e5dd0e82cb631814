package pgserver

import (
	"context"
	"fmt"
	"time"
)

// Shutdown is how a server is stopped, as PostgreSQL calls it.
type Shutdown string

// The ways to stop a server.
const (
	// ShutdownFast breaks all connections, rolls their transactions back, and ends in
	// good order.
	ShutdownFast Shutdown = "INT"
	// ShutdownImmediate ends as a crash would: the next start recovers from the log.
	ShutdownImmediate Shutdown = "QUIT"
)

// again is the word that starts a server that has ended; the other words are signals.
const again = "again"

// Stop stops the server and returns once it takes no connections; Again starts it at
// the same address. A server that has ended by itself may be stopped too.
func (s *Server) Stop(ctx context.Context, how Shutdown) error {
	if _, err := fmt.Fprintln(s.leash, how); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	for s.Reach(ctx) == nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("stop PostgreSQL: %w", ctx.Err())
		case <-time.After(pollEvery): // A real process: there is no signal to wait for.
		}
	}
	return nil
}

// Again starts the server after Stop, or after it has ended by itself, and waits until
// it can be reached: at most a minute. One that runs, or recovers by itself from a crash of
// one of its processes, is only waited for. What was committed is there.
func (s *Server) Again(ctx context.Context) error {
	if _, err := fmt.Fprintln(s.leash, again); err != nil {
		return fmt.Errorf("start PostgreSQL again: %w", err)
	}
	ctx, end := context.WithTimeout(ctx, startLimit)
	defer end()
	for {
		failed := s.Reach(ctx)
		if failed == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("start PostgreSQL again: %w", failed)
		case <-time.After(pollEvery): // A real process: there is no signal to wait for.
		}
	}
}

// Reach tells whether the server takes connections. Errors: of the connection.
func (s *Server) Reach(ctx context.Context) error { return ping(ctx, s.DSN("postgres")) }
