package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// errInjected is what a fault of a test answers.
var errInjected = errors.New("injected fault")

// sqlMark is the write of these tests: a row named after its position.
const sqlMark = `INSERT INTO spent_ids (id) VALUES (?)`

const batchSize = 5

func mark(name string) func(*tx) error {
	return func(t *tx) error {
		_, err := t.Exec(sqlMark, name)
		return err
	}
}

// enqueue puts writes into the queue of a store that does not run yet, so that
// they all end up in one batch, in this order.
func enqueue(t *testing.T, s *Store, runs ...func(*tx) error) []*job {
	t.Helper()
	jobs := make([]*job, len(runs))
	for i, run := range runs {
		jobs[i] = &job{run: run, rows: 1, done: make(chan error, 1)}
		require.NoError(t, s.queue.push(jobs[i]))
	}
	return jobs
}

func answers(jobs []*job) []error {
	errs := make([]error, len(jobs))
	for i, j := range jobs {
		errs[i] = <-j.done
	}
	return errs
}

func marks(t *testing.T, s *Store) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := s.read(t.Context()).Each(`SELECT id FROM spent_ids`, nil, func(scan record.Row) error {
		var id string
		err := scan(&id)
		found[id] = true
		return err
	})
	require.NoError(t, err)
	return found
}

func batchOf(t *testing.T, s *Store) int64 {
	t.Helper()
	var batch int64
	require.NoError(t, s.read(t.Context()).One(`SELECT batch FROM deployment`, nil, &batch))
	return batch
}

// requireTruth requires that everybody was told what is so: a row exactly for
// those who were told success.
func requireTruth(t *testing.T, s *Store, errs []error) {
	t.Helper()
	found := marks(t, s)
	for i, err := range errs {
		require.Equal(t, err == nil, found[fmt.Sprint(i)], "write %d was answered %v", i, err)
	}
}

func TestWritesShareACommit(t *testing.T) {
	t.Parallel()
	s := openStore(t, testConfig(t, newTestClock()))
	before := batchOf(t, s)
	runs := make([]func(*tx) error, maxBatch+1)
	for i := range runs {
		runs[i] = mark(fmt.Sprint(i))
	}
	jobs := enqueue(t, s, runs...)
	start(t, s)
	for _, err := range answers(jobs) {
		require.NoError(t, err)
	}
	require.Equal(t, before+2, batchOf(t, s), "256 in one commit and one in the next")
	require.Len(t, marks(t, s), len(runs))
}

func TestBackgroundWorkIsBoundedAndNeverStarved(t *testing.T) {
	t.Parallel()
	q := newQueue()
	for range 2 * maxBatch {
		require.NoError(t, q.push(&job{rows: 1}))
		require.NoError(t, q.push(&job{class: record.Background, rows: 40}))
	}
	rows, urgent := 0, 0
	for _, j := range q.take(nil) {
		if j.class == record.Background {
			rows += j.rows
		} else {
			urgent++
		}
	}
	require.Equal(t, maxBatch-spareForLater, urgent)
	require.Equal(t, 80, rows, "a third of 40 would make more than 100")
}

// TestWritesThatComeMeanwhileShareTheCommit: whoever is queued while a batch runs goes
// along with it, up to its bound; background work waits for its own places.
func TestWritesThatComeMeanwhileShareTheCommit(t *testing.T) {
	t.Parallel()
	s := openStore(t, testConfig(t, newTestClock()))
	before := batchOf(t, s)
	var late []*job
	jobs := enqueue(t, s, func(in *tx) error {
		for i := range maxBatch {
			late = append(late, enqueue(t, s, mark(fmt.Sprint("late ", i)))...)
		}
		background := &job{run: mark("background"), class: record.Background, rows: 1, done: make(chan error, 1)}
		late = append(late, background)
		return errors.Join(s.queue.push(background), mark("first")(in))
	})
	start(t, s)
	for _, err := range append(answers(jobs), answers(late)...) {
		require.NoError(t, err)
	}
	require.Equal(t, before+2, batchOf(t, s), "one is full, and the rest is the next")
	require.Len(t, marks(t, s), maxBatch+2)
}

// TestAFaultOfOneThatCameMeanwhile: a batch is run again with those that came while
// it ran, and with nobody else.
func TestAFaultOfOneThatCameMeanwhile(t *testing.T) {
	t.Parallel()
	s := openStore(t, testConfig(t, newTestClock()))
	before := batchOf(t, s)
	var late []*job
	var runs atomic.Int64
	jobs := enqueue(t, s, func(in *tx) error {
		if runs.Add(1) == 1 {
			late = enqueue(t, s,
				func(in *tx) error { return errors.Join(mark("undone")(in), core.ErrConflict) }, mark("neighbour"))
		} else {
			late = append(late, enqueue(t, s, mark("next"))...)
		}
		return mark("first")(in)
	})
	start(t, s)
	require.NoError(t, answers(jobs)[0])
	errs := answers(late)
	require.ErrorIs(t, errs[0], core.ErrConflict)
	require.NoError(t, errs[1])
	require.NoError(t, errs[2])
	require.Equal(t, map[string]bool{"first": true, "neighbour": true, "next": true}, marks(t, s))
	require.Equal(t, before+2, batchOf(t, s))
	require.EqualValues(t, 2, runs.Load())
}

func TestRefusalsCommitNothing(t *testing.T) {
	t.Parallel()
	s := openStore(t, testConfig(t, newTestClock()))
	before := batchOf(t, s)
	refuse := func(*tx) error { return core.ErrNotFound }
	jobs := enqueue(t, s, refuse, refuse)
	start(t, s)
	for _, err := range answers(jobs) {
		require.ErrorIs(t, err, core.ErrNotFound)
	}
	require.Equal(t, before, batchOf(t, s))
}

// TestAWriteIsUndoneAlone: a refusal that changed nothing costs its neighbours
// nothing; one that comes after a change makes them run once more, and only once.
func TestAWriteIsUndoneAlone(t *testing.T) {
	t.Parallel()
	refuse := func(*tx) error { return core.ErrConflict }
	late := func(t *tx) error { return errors.Join(mark("late")(t), core.ErrConflict) }
	for name, c := range map[string]struct {
		run  func(*tx) error
		runs int64 // Of the two neighbours; the second had not had its turn when the batch was undone.
	}{"before a change": {refuse, 2}, "after a change": {late, 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, testConfig(t, newTestClock()))
			before := batchOf(t, s)
			var ran atomic.Int64
			neighbour := func(name string) func(*tx) error {
				return func(t *tx) error {
					ran.Add(1)
					return mark(name)(t)
				}
			}
			jobs := enqueue(t, s, neighbour("0"), c.run, neighbour("2"), c.run)
			start(t, s)
			errs := answers(jobs)
			require.Equal(t, []bool{true, false, true, false}, []bool{errs[0] == nil, errs[1] == nil, errs[2] == nil, errs[3] == nil})
			require.ErrorIs(t, errs[1], core.ErrConflict)
			require.Equal(t, map[string]bool{"0": true, "2": true}, marks(t, s))
			require.Equal(t, before+1, batchOf(t, s), "one commit")
			require.Equal(t, c.runs, ran.Load())
		})
	}
}

// TestFaultAtEachPosition lets one write of a batch go wrong in each way that we
// know of: no neighbour is lost, and nobody is told what is not so.
func TestFaultAtEachPosition(t *testing.T) {
	t.Parallel()
	faults := map[string]struct {
		run   func(name string) func(*tx) error
		class error
	}{
		"constraint": {func(name string) func(*tx) error {
			return func(t *tx) error {
				if err := mark(name)(t); err != nil {
					return err
				}
				return mark(name)(t) // The same key again.
			}
		}, core.ErrUnavailable},
		"shrugged off": {func(name string) func(*tx) error {
			return func(t *tx) error {
				_ = mark(name)(t)
				_ = mark(name)(t)
				return nil
			}
		}, core.ErrUnavailable},
		"refusal after a change": {func(name string) func(*tx) error {
			return func(t *tx) error { return errors.Join(mark(name)(t), core.ErrConflict) }
		}, core.ErrConflict},
		"panic": {func(name string) func(*tx) error {
			return func(t *tx) error {
				_ = mark(name)(t)
				panic("secret value")
			}
		}, core.ErrUnavailable},
		"panic while reading": {func(name string) func(*tx) error {
			return func(t *tx) error {
				_ = mark(name)(t)
				return t.Each(`SELECT id FROM spent_ids`, nil, func(record.Row) error { panic("secret value") })
			}
		}, core.ErrUnavailable},
		"transaction gone": {func(name string) func(*tx) error {
			return func(t *tx) error { // As after an I/O error: SQLite has rolled everything back.
				_ = mark(name)(t)
				_ = t.conn.run(sqlRollback)
				return t.fail(errInjected)
			}
		}, core.ErrUnavailable},
		"transaction gone and another begun": {func(name string) func(*tx) error {
			return func(t *tx) error { // The hazard: a savepoint opens a transaction of its own.
				_ = t.conn.run(sqlRollback)
				_ = t.conn.run("SAVEPOINT stray")
				_ = mark(name)(t)
				return t.fail(errInjected)
			}
		}, core.ErrUnavailable},
		"interrupt": {func(name string) func(*tx) error {
			return func(t *tx) error {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
				defer cancel()
				t.conn.conn.SetInterrupt(ctx.Done())
				_, err := t.Exec(`INSERT INTO spent_ids (id) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
					SELECT ? || '-' || i FROM n`, name)
				t.conn.conn.SetInterrupt(nil)
				return t.fail(err)
			}
		}, core.ErrUnavailable},
	}
	for name, fault := range faults {
		for at := range batchSize {
			t.Run(fmt.Sprintf("%s at %d", name, at), func(t *testing.T) {
				t.Parallel()
				s := openStore(t, testConfig(t, newTestClock()))
				runs := make([]func(*tx) error, batchSize)
				for i := range runs {
					runs[i] = mark(fmt.Sprint(i))
				}
				runs[at] = fault.run(fmt.Sprint(at))
				jobs := enqueue(t, s, runs...)
				start(t, s)
				errs := answers(jobs)
				for i, err := range errs {
					if i != at {
						require.NoError(t, err, "neighbour %d", i)
						continue
					}
					require.ErrorIs(t, err, fault.class)
					require.NotContains(t, err.Error(), "secret")
					require.NotContains(t, err.Error(), "spent_ids")
				}
				requireTruth(t, s, errs)
				require.Len(t, marks(t, s), batchSize-1)
			})
		}
	}
}

// TestTransientFault lets a statement fail once, taking the transaction along: the
// replay brings everybody through.
func TestTransientFault(t *testing.T) {
	t.Parallel()
	for at := range batchSize {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(t, newTestClock())
			var calls atomic.Int64
			cfg.faults.statement = func(query string, exec func(string) error) error {
				if query != sqlMark || calls.Add(1) != int64(at+1) {
					return nil
				}
				return errors.Join(exec(sqlRollback), errInjected)
			}
			s := openStore(t, cfg)
			runs := make([]func(*tx) error, batchSize)
			for i := range runs {
				runs[i] = mark(fmt.Sprint(i))
			}
			jobs := enqueue(t, s, runs...)
			start(t, s)
			errs := answers(jobs)
			for _, err := range errs {
				require.NoError(t, err)
			}
			requireTruth(t, s, errs)
		})
	}
}

// TestDiskFull fills the file for one write of a batch: it is told so, and its
// neighbours are recorded.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	for at := range batchSize {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(t, newTestClock())
			cfg.faults.pragmas = []string{"max_page_count = 120"}
			s := openStore(t, cfg)
			runs := make([]func(*tx) error, batchSize)
			for i := range runs {
				runs[i] = mark(fmt.Sprint(i))
			}
			runs[at] = func(t *tx) error {
				for i := range 200 {
					if _, err := t.Exec(`INSERT INTO spent_ids (id) VALUES (? || hex(zeroblob(4096)))`, fmt.Sprint(at, "-", i)); err != nil {
						return err
					}
				}
				return nil
			}
			jobs := enqueue(t, s, runs...)
			start(t, s)
			errs := answers(jobs)
			require.ErrorIs(t, errs[at], core.ErrStorageFull)
			requireTruth(t, s, errs)
			require.Len(t, marks(t, s), batchSize-1)
		})
	}
}

// TestCommitWithoutAnAnswer: the marker tells what became of it.
func TestCommitWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		commit func(call int, commit func() error) error
		open   func(call int) error
		class  error // nil: everybody is told success.
		runs   int64 // How often the writes ran.
	}{
		"committed": {
			commit: func(call int, commit func() error) error {
				if call == 1 {
					return errors.Join(commit(), errInjected)
				}
				return commit()
			},
			runs: batchSize,
		},
		"not committed, then replayed": {
			commit: func(call int, commit func() error) error {
				if call == 1 {
					return errInjected
				}
				return commit()
			},
			runs: 2 * batchSize,
		},
		"never committed": {
			commit: func(int, func() error) error { return errInjected },
			class:  core.ErrUnavailable,
			runs:   2 * batchSize,
		},
		"committed, and the file cannot be opened": {
			commit: func(call int, commit func() error) error { return errors.Join(commit(), errInjected) },
			open: func(call int) error {
				if call == 2 {
					return errInjected
				}
				return nil
			},
			class: core.ErrOutcomeUnknown,
			runs:  batchSize,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(t, newTestClock())
			var commits, opens int
			cfg.faults.commit = func(commit func() error) error {
				commits++
				return c.commit(commits, commit)
			}
			cfg.faults.open = func() error {
				opens++
				if c.open == nil {
					return nil
				}
				return c.open(opens)
			}
			s := openStore(t, cfg)
			var ran atomic.Int64
			runs := make([]func(*tx) error, batchSize)
			for i := range runs {
				runs[i] = func(t *tx) error {
					ran.Add(1)
					return mark(fmt.Sprint(i))(t)
				}
			}
			jobs := enqueue(t, s, runs...)
			start(t, s)
			errs := answers(jobs)
			for _, err := range errs {
				require.ErrorIs(t, err, c.class)
			}
			require.Equal(t, c.runs, ran.Load())
			if errors.Is(c.class, core.ErrOutcomeUnknown) {
				require.NotErrorIs(t, errs[0], core.ErrUnavailable, "that would promise that nothing was recorded")
				require.Len(t, marks(t, s), batchSize)
				return
			}
			requireTruth(t, s, errs)
		})
	}
}

// TestStoreRecoversAfterALostConnection: a later write opens it again.
func TestStoreRecoversAfterALostConnection(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newTestClock())
	var broken atomic.Bool
	cfg.faults.commit = func(commit func() error) error {
		if broken.Load() {
			return errInjected
		}
		return commit()
	}
	cfg.faults.open = func() error {
		if broken.Load() {
			return errInjected
		}
		return nil
	}
	s := runStore(t, cfg)
	put := func(name string) error {
		_, err := write(t.Context(), s, record.Foreground, func(t *tx) (struct{}, error) { return struct{}{}, mark(name)(t) })
		return err
	}
	broken.Store(true)
	require.ErrorIs(t, put("0"), core.ErrOutcomeUnknown)
	require.ErrorIs(t, put("1"), core.ErrUnavailable)
	broken.Store(false)
	require.NoError(t, put("2"))
	require.Equal(t, map[string]bool{"2": true}, marks(t, s))
}

// TestUnknownBatchKeepsItsNumber: a batch that was recorded without anybody hearing
// of it must not speak for the next one, whose COMMIT failed.
func TestUnknownBatchKeepsItsNumber(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newTestClock())
	commits, opens := 0, 0
	cfg.faults.commit = func(commit func() error) error {
		commits++
		if commits == 1 {
			return errors.Join(commit(), errInjected) // Recorded; the answer is lost.
		}
		return errInjected // Not recorded.
	}
	cfg.faults.open = func() error {
		opens++
		if opens == 2 { // The first time that it is opened again.
			return errInjected
		}
		return nil
	}
	s := runStore(t, cfg)
	put := func(name string) error {
		_, err := write(t.Context(), s, record.Foreground, func(t *tx) (struct{}, error) { return struct{}{}, mark(name)(t) })
		return err
	}
	require.ErrorIs(t, put("0"), core.ErrOutcomeUnknown)
	require.ErrorIs(t, put("1"), core.ErrUnavailable, "nothing of it was recorded")
	require.Equal(t, map[string]bool{"0": true}, marks(t, s))
}

func TestContextEndsWhileQueued(t *testing.T) {
	t.Parallel()
	s := openStore(t, testConfig(t, newTestClock())) // Nobody takes it out of the queue.
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := write(ctx, s, record.Foreground, func(t *tx) (struct{}, error) { return struct{}{}, mark("0")(t) })
		answered <- err
	}()
	<-s.queue.wake // It was pushed.
	s.queue.wake <- struct{}{}
	cancel()
	err := <-answered
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.NotErrorIs(t, err, core.ErrOutcomeUnknown)
	start(t, s)
	_, err = write(t.Context(), s, record.Foreground, func(t *tx) (struct{}, error) { return struct{}{}, mark("1")(t) })
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"1": true}, marks(t, s), "a write whose caller gave up is not made")
}

func TestContextEndsWhileWriting(t *testing.T) {
	t.Parallel()
	s := runStore(t, testConfig(t, newTestClock()))
	ctx, cancel := context.WithCancel(t.Context())
	running, release := make(chan struct{}), make(chan struct{})
	answered := make(chan error, 1)
	go func() {
		_, err := write(ctx, s, record.Foreground, func(t *tx) (struct{}, error) {
			close(running)
			<-release
			return struct{}{}, mark("0")(t)
		})
		answered <- err
	}()
	<-running
	cancel()
	err := <-answered
	require.ErrorIs(t, err, core.ErrOutcomeUnknown)
	require.NotErrorIs(t, err, context.Canceled, "the write goes on")
	close(release)
	_, err = write(t.Context(), s, record.Foreground, func(t *tx) (struct{}, error) { return struct{}{}, mark("1")(t) })
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"0": true, "1": true}, marks(t, s))
}

func TestWritesOutsideTheLifeOfRun(t *testing.T) {
	t.Parallel()
	s := openStore(t, testConfig(t, newTestClock()))
	put := func(ctx context.Context) error {
		_, err := write(ctx, s, record.Foreground, func(t *tx) (struct{}, error) { return struct{}{}, mark("0")(t) })
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, put(ctx), core.ErrUnavailable, "before")

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	require.NoError(t, put(t.Context()))
	stop()
	require.NoError(t, <-ended)
	require.ErrorIs(t, put(t.Context()), core.ErrUnavailable, "after")
	require.ErrorIs(t, s.Run(t.Context()), core.ErrUnavailable, "a second time")
}

func TestRunFinishesWhatIsQueued(t *testing.T) {
	t.Parallel()
	s := openStore(t, testConfig(t, newTestClock()))
	jobs := enqueue(t, s, mark("0"), mark("1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Run(ctx))
	for _, err := range answers(jobs) {
		require.NoError(t, err)
	}
}

func TestCloseAnswersWhatNeverRan(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), testConfig(t, newTestClock()))
	require.NoError(t, err)
	jobs := enqueue(t, s, mark("0"))
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-jobs[0].done, core.ErrUnavailable)
	require.NoError(t, s.Close())
}
