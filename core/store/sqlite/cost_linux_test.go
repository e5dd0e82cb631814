package sqlite

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// processor is the time that this thread has had a processor for: what others do on
// the machine does not count.
func processor(b *testing.B) time.Duration {
	b.Helper()
	const thisThread = 3 // CLOCK_THREAD_CPUTIME_ID.
	var t syscall.Timespec
	_, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, thisThread, uintptr(unsafe.Pointer(&t)), 0)
	require.Zero(b, failed)
	return time.Duration(t.Nano())
}

// BenchmarkDecideCost is what a decision costs the processor: the writer's part, of
// a full batch without its commit, and the reading of the row before it; the medians
// of many rounds.
//
//	go test -run '^$' -bench DecideCost -benchtime 1x ./core/store/sqlite
func BenchmarkDecideCost(b *testing.B) {
	const rounds = 40
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var committing time.Duration
	cfg := Config{Path: b.TempDir() + "/sayso.db", Now: time.Now, Log: discard()}
	cfg.faults.commit = func(commit func() error) error {
		begin := processor(b)
		defer func() { committing = processor(b) - begin }()
		return commit()
	}
	s, err := Open(b.Context(), cfg)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	h, err := openHandle(cfg.Path, readerPragmas())
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, h.close()) })
	within := &inside{db: db{s}, aside: h}
	records := record.New(within, dialect(), nil)
	batch := func(n int, run func(i int) error) time.Duration {
		jobs := make([]*job, n)
		for i := range jobs {
			jobs[i] = &job{rows: 1, done: make(chan error, 1), run: func(t *tx) error {
				within.t = t
				return run(i)
			}}
		}
		begin := processor(b)
		s.writer.serve(jobs, nil)
		took := processor(b) - begin - committing
		for _, err := range answers(jobs) {
			require.NoError(b, err)
		}
		return took
	}
	batch(1, func(int) error {
		_, err := records.AddPrincipal(b.Context(), core.Principal{ID: "alice", Name: "Alice", Role: core.RoleAdmin})
		return err
	})
	alice, err := s.Principal(b.Context(), "alice")
	require.NoError(b, err)

	made := 0
	for b.Loop() {
		var writing, reading [rounds]time.Duration
		for round := range rounds {
			var rows [maxBatch]core.Approval
			batch(maxBatch, func(i int) error {
				made++
				created, err := records.Create(b.Context(), draft(made))
				rows[i] = created.Approval
				return err
			})
			begin := processor(b)
			for i := range rows {
				rows[i], err = records.Approval(b.Context(), core.Lookup{ID: rows[i].ID})
				require.NoError(b, err)
			}
			reading[round] = processor(b) - begin
			writing[round] = batch(maxBatch, func(i int) error {
				done, err := records.Decide(b.Context(), core.Decide{
					ID: rows[i].ID, Seen: &rows[i], AttemptID: "attempt " + rows[i].ID,
					Guard: core.Guard{PersonID: alice.ID, PersonRevision: alice.Revision},
					To:    byAlice(),
				})
				if err == nil && !done.Applied {
					err = core.ErrConflict
				}
				return err
			})
		}
		for name, took := range map[string][]time.Duration{"us-writing": writing[:], "us-reading": reading[:]} {
			slices.Sort(took)
			b.ReportMetric(float64(took[rounds/2].Nanoseconds())/1000/maxBatch, name)
		}
	}
}
