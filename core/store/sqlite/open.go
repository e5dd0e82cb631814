package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// Config says where the store is and what it lives from.
type Config struct {
	// Path is the database file. Its folder is made when it is missing.
	Path string
	// Now is the process clock; required. The store never hands out a time below
	// one that it has handed out before.
	Now func() time.Time
	// Log takes content-free reports of faults; required.
	Log *slog.Logger
	// Ended is told of every final answer that this store records, once, after the
	// commit, also where whoever asked for the write has gone; nil tells nobody. It may
	// be called by many goroutines at once. An answer is told by nobody where the
	// process dies behind the commit.
	Ended func(core.Approval)
	// AllowSealed opens a sealed backup, for the restore that unseals it.
	AllowSealed bool
	// ReadConns bounds the read pool; 0 means 4, or as many as there are processors.
	ReadConns int

	faults faults
}

// Store is the record on one SQLite file. All methods are safe for concurrent
// use; those that write need Run to be running.
type Store struct {
	*record.Store

	log     *slog.Logger
	lock    *os.File
	readers *readers
	clock   *clock
	queue   *queue
	writer  *writer

	mu      sync.Mutex
	running bool
	ended   chan struct{} // Closed when Run has returned, or never will begin.
	closing sync.Once
	closed  error // What Close found.
}

const (
	busyTimeout      = 5 * time.Second
	defaultReadConns = 4 // A read that finds its pages in memory needs a processor, not a place to wait.
)

// writerPragmas set up the writer's connection. Pragmas belong to a connection.
func writerPragmas() []string {
	return []string{
		"foreign_keys = 1",
		"journal_mode = WAL",
		"synchronous = FULL",
		"temp_store = MEMORY",           // Savepoints journal in memory, not in a temporary file.
		"cache_size = -4000",            // KiB: a full batch fits. Most commits look through all of it.
		"journal_size_limit = 67108864", // Bytes that the log keeps after a burst.
		"wal_autocheckpoint = 0",        // Not inside of a commit: see checkpointer.
	}
}

// readerPragmas set up a reading connection.
func readerPragmas() []string {
	return []string{
		"query_only = 1",
		"temp_store = MEMORY",
		"cache_size = -500", // KiB: the inner pages of the indexes. The system's cache has the rest, once for all.
	}
}

// Open opens the store and brings its schema up to date. It starts nothing: writes
// wait for Run. Errors: ErrInUse, ErrReadOnly, core.ErrSealed,
// core.ErrNewerSchema, core.ErrUnavailable, core.ErrStorageFull.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Path == "" || cfg.Now == nil || cfg.Log == nil {
		return nil, core.Invalid("store", "needs a path, a clock and a log")
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", core.ErrUnavailable)
	}
	cfg.Path = path
	lock, err := claimFolder(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s := &Store{log: cfg.Log, lock: lock, clock: &clock{process: cfg.Now}, queue: newQueue(), ended: make(chan struct{})}
	s.Store = record.New(db{s}, dialect(), cfg.Ended)
	if err := s.open(ctx, cfg); err != nil {
		_ = s.Close() // The reason for closing is the error to report.
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

// claimFolder makes the folder and the file, both for their owner alone, and
// takes the lock that keeps a second process away.
func claimFolder(path string) (*os.File, error) {
	lock, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	db, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		_ = lock.Close() // Gives the lock up.
		return nil, fileError(err)
	}
	if err := db.Close(); err != nil {
		_ = lock.Close() // Gives the lock up.
		return nil, fileError(err)
	}
	return lock, nil
}

// fileError drops the path that the system's errors carry.
func fileError(err error) error {
	if errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
		return ErrReadOnly
	}
	return fmt.Errorf("prepare the data folder: %w", core.ErrUnavailable)
}

func (s *Store) open(ctx context.Context, cfg Config) error {
	syncDataOnly()
	if err := migrate(ctx, cfg.Path, cfg.faults.pragmas); err != nil {
		return err
	}
	conns := cfg.ReadConns
	if conns <= 0 {
		conns = max(defaultReadConns, runtime.GOMAXPROCS(0))
	}
	s.readers = newReaders(conns, func() (*handle, error) { return openHandle(cfg.Path, readerPragmas()) })
	s.writer = &writer{path: cfg.Path, clock: s.clock, log: s.log, faults: &cfg.faults, checkpoints: newCheckpointer(cfg.Path, s.log)}
	var err error
	if s.writer.conn, err = connect(cfg.Path, s.writer.faults); err != nil {
		return err
	}
	return s.adopt(ctx, cfg.AllowSealed)
}

// adopt reads the deployment's row, or makes it in a new store, carries its clock
// and its marker on, and takes over what an earlier process had leased.
func (s *Store) adopt(ctx context.Context, allowSealed bool) error {
	var batch, last int64
	var sealed bool
	if err := s.writer.conn.run(sqlMakeDeployment, rand.Text(), int64(s.clock.now())); err != nil {
		return translate(err)
	}
	if err := s.writer.conn.one(sqlReadDeployment, nil, []any{&batch, &last, &sealed}); err != nil {
		return translate(err)
	}
	if sealed && !allowSealed {
		return s.refusal(ctx)
	}
	s.writer.batch = batch
	s.clock.raise(core.Millis(last))
	return s.voidLeases()
}

const (
	sqlMakeDeployment = `INSERT INTO deployment (singleton, id, created_at) VALUES (1, ?, ?) ON CONFLICT DO NOTHING`
	sqlReadDeployment = `SELECT batch, clock, sealed FROM deployment WHERE singleton = 1`
)

// Run runs the writer until ctx ends; then it finishes what is queued and returns
// nil. It can be called once. Writes before it wait within their contexts; writes
// after it get core.ErrUnavailable.
func (s *Store) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.running {
		s.mu.Unlock()
		return fmt.Errorf("run store: it ran before: %w", core.ErrUnavailable)
	}
	s.running = true
	s.mu.Unlock()
	defer close(s.ended)
	defer s.queue.fail()
	defer s.queue.close()

	var beside sync.WaitGroup
	defer beside.Wait()
	moving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	beside.Go(func() { s.writer.checkpoints.run(moving) })

	jobs := make([]*job, 0, maxBatch)
	for {
		jobs = s.queue.take(jobs[:0])
		if len(jobs) > 0 {
			s.writer.serve(jobs, s.queue.more)
			clear(jobs[:cap(jobs)]) // Those that were added meanwhile too.
			continue
		}
		select {
		case <-s.queue.wake:
		case <-ctx.Done():
			if s.queue.drained() {
				return nil
			}
		}
	}
}

// Close ends the store: it waits for Run to finish, so end Run's context first.
// Closing twice is closing once.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.shut() })
	return s.closed
}

func (s *Store) shut() error {
	s.queue.close()
	s.mu.Lock()
	running := s.running
	s.running = true // A store that is closed never runs again.
	s.mu.Unlock()
	if running {
		<-s.ended
	} else {
		s.queue.fail()
		close(s.ended)
	}
	var failures []error
	if s.readers != nil {
		s.readers.close()
	}
	if s.writer != nil && s.writer.conn != nil {
		failures = append(failures, s.writer.conn.close())
		s.writer.conn = nil
	}
	if err := s.lock.Close(); err != nil { // Gives the lock up, last of all.
		failures = append(failures, core.ErrUnavailable)
	}
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}
