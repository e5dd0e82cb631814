package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/store/postgres/pgserver"
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
	server  *pgserver.Server
	next    atomic.Int64

	mu   sync.Mutex
	free []string // DSNs of databases that are clean again.
}

// New returns a server that starts when its first database is asked for.
func New(o Options) *Server { return &Server{options: o} }

const template = "template_sayso"

// Database makes a copy of the template for one test and returns its DSN. It is
// dropped when the test ends.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	require.NoError(t, s.start(), "start PostgreSQL")
	name := "test_" + strconv.FormatInt(s.next.Add(1), 10)
	require.NoError(t, s.server.Create(context.Background(), name, template))
	t.Cleanup(func() {
		require.NoError(t, s.server.Drop(context.Background(), name))
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
		require.NoError(t, s.server.Create(context.Background(), name, template))
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

// Bouncer starts a PgBouncer in transaction mode before the server, for the life of
// a test, and returns a function that turns a DSN of the server into one through
// it. A missing PgBouncer fails the test with the name of its package.
func (s *Server) Bouncer(t testing.TB) func(dsn string) string {
	t.Helper()
	require.NoError(t, s.start(), "start PostgreSQL")
	b, err := s.server.Bounce(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, b.Close())
		if t.Failed() {
			t.Log(b.Told())
		}
	})
	return pgserver.Through
}

// DSN is the address of a database of the server, which has started.
func (s *Server) DSN(database string) string { return s.server.DSN(database) }

// Close stops the server and removes its folder. A server that never started is
// closed already.
func (s *Server) Close() error {
	s.once.Do(func() { s.failed = errors.New("the server is closed") })
	if s.server == nil {
		return nil
	}
	return s.server.Close()
}

func (s *Server) start() error {
	s.once.Do(func() { s.failed = s.launch(context.Background()) })
	return s.failed
}

// launch starts the server and makes the template.
func (s *Server) launch(ctx context.Context) (err error) {
	if s.server, err = pgserver.Start(ctx, pgserver.Options{Durable: s.options.Durable, Settings: s.options.Settings}); err != nil {
		return err
	}
	if err := s.server.Create(ctx, template, ""); err != nil || s.options.Prepare == nil {
		return err
	}
	if err := s.options.Prepare(ctx, s.server.DSN(template)); err != nil {
		return fmt.Errorf("prepare template: %w", err)
	}
	return nil
}
