package leases_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/leases"
)

// promised is how soon another replica must have taken over.
const promised = 15 * time.Second

// table keeps leases as a store does, on the clock of the bubble.
type table struct {
	mu            sync.Mutex
	rows          map[string]core.Lease
	down          bool          // Nobody is answered.
	before, after time.Duration // What a call takes on its way there and back.
}

func newTable() *table {
	return &table{rows: map[string]core.Lease{}}
}

var errDown = errors.New("the store is down")

func (s *table) Acquire(ctx context.Context, name, holder string, d time.Duration) (core.Lease, error) {
	s.mu.Lock()
	before, after := s.before, s.after
	s.mu.Unlock()
	rest(before)
	defer rest(after)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down || ctx.Err() != nil {
		return core.Lease{}, errDown
	}
	now, l := core.MillisOf(time.Now()), s.rows[name]
	free := l.Until.Reached(now) || l.Until == 0
	if l.Holder != holder && !free {
		return core.Lease{}, core.ErrLeaseLost
	}
	if l.Holder != holder || free {
		l.Fence++
	}
	l.Name, l.Holder, l.Until = name, holder, now.Add(d)
	s.rows[name] = l
	return l, nil
}

func (s *table) Release(_ context.Context, l core.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errDown
	}
	if is := s.rows[l.Name]; is.Holder == l.Holder && is.Fence == l.Fence {
		is.Until = 0
		s.rows[l.Name] = is
	}
	return nil
}

// heldUntil is when the store lets the next have it; the zero time for at once.
func (s *table) heldUntil(name string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows[name].Until == 0 {
		return time.Time{}
	}
	return s.rows[name].Until.Time()
}

// rest lets time pass in the bubble.
func rest(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}

func runner(s core.Leases, holder string) *leases.Runner {
	return leases.New(leases.Config{Holder: holder}, leases.Deps{
		Leases: s, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
}

// untilTold runs until its context ends.
func untilTold(ctx context.Context, _ core.Lease) error {
	<-ctx.Done()
	return nil
}

// A holder that is gone without a word, right after a renewal, is replaced within the
// promised time, whatever the standby's jitter is.
func TestStandbyTakesOverWithin15Seconds(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := newTable()
			dead, err := s.Acquire(t.Context(), "job", "dead", leases.DefaultTerm)
			require.NoError(t, err)
			died := time.Now()
			err = runner(s, "standby").Hold(t.Context(), "job", func(_ context.Context, l core.Lease) error {
				require.Greater(t, l.Fence, dead.Fence)
				require.GreaterOrEqual(t, time.Since(died), leases.DefaultTerm)
				require.LessOrEqual(t, time.Since(died), leases.DefaultTerm+1250*time.Millisecond, "less than %s are promised", promised)
				return nil
			})
			require.NoError(t, err)
		})
	}
}

// A graceful stop hands over at the standby's next look.
func TestStoppingHandsOverAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		ctx, stop := context.WithCancel(t.Context())
		var running atomic.Int32
		done := make(chan error, 1)
		go func() { done <- runner(s, "a").Hold(ctx, "job", untilTold) }()
		synctest.Wait()
		taken := make(chan time.Time, 1)
		go func() {
			_ = runner(s, "b").Hold(t.Context(), "job", func(context.Context, core.Lease) error {
				running.Add(1)
				taken <- time.Now()
				return nil
			})
		}()
		rest(time.Minute)
		require.Zero(t, running.Load(), "it is renewed for as long as its holder lives")
		stopped := time.Now()
		stop()
		require.NoError(t, <-done)
		require.LessOrEqual(t, (<-taken).Sub(stopped), 1250*time.Millisecond)
	})
}

// With a bus between them the standby has it in the same moment.
func TestStoppingIsToldThroughTheBus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, bus := newTable(), local.New()
		on := func(holder string) *leases.Runner {
			return leases.New(leases.Config{Holder: holder}, leases.Deps{
				Leases: s, Bus: bus, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
			})
		}
		standby := on("b")
		listening, end := context.WithCancel(t.Context())
		heard := make(chan error, 1)
		go func() { heard <- standby.Run(listening) }()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- on("a").Hold(ctx, "job", untilTold) }()
		synctest.Wait()
		taken := make(chan time.Time, 1)
		go func() {
			_ = standby.Hold(t.Context(), "job", func(context.Context, core.Lease) error {
				taken <- time.Now()
				return nil
			})
		}()
		rest(time.Minute)
		stopped := time.Now()
		stop()
		require.NoError(t, <-done)
		require.Equal(t, stopped, <-taken)
		end()
		require.NoError(t, <-heard)
	})
}

// Whatever the store does, a job never runs past the time until which the store keeps
// the lease for it.
func TestJobEndsBeforeItsLeaseDoes(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(s *table){
		"the store is gone":                 func(s *table) { s.down = true },
		"answers come late":                 func(s *table) { s.after = 30 * time.Second },
		"calls arrive late and are in vain": func(s *table) { s.before = 30 * time.Second },
		"somebody else has it": func(s *table) {
			s.rows["job"] = core.Lease{Holder: "other", Fence: 9, Until: core.MillisOf(time.Now().Add(time.Hour))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newTable()
				ctx, stop := context.WithCancel(t.Context())
				type end struct {
					at         time.Time
					err, cause error
				}
				ended := make(chan end, 100)
				done := make(chan error, 1)
				go func() {
					done <- runner(s, "a").Hold(ctx, "job", func(ctx context.Context, _ core.Lease) error {
						<-ctx.Done()
						ended <- end{time.Now(), ctx.Err(), context.Cause(ctx)}
						return errors.New("its own reason does not count")
					})
				}()
				rest(7 * time.Second) // It was renewed at least once.
				until := s.heldUntil("job")
				s.mu.Lock()
				fault(s)
				s.mu.Unlock()
				got := <-ended
				require.ErrorIs(t, got.cause, core.ErrLeaseLost)
				require.ErrorIs(t, got.err, context.Canceled)
				require.LessOrEqual(t, got.at.Sub(until), time.Millisecond-leases.DefaultTerm/10, "the store keeps whole milliseconds")
				synctest.Wait() // It waits for the lease again.
				stop()
				require.ErrorIs(t, <-done, context.Canceled)
				rest(2 * time.Minute) // Calls that are answered late.
			})
		})
	}
}

// A process that was suspended wakes up: the monotonic clock and all timers stood
// still meanwhile, the wall clock did not. The first look at the context tells.
func TestWakingUpLateEndsTheJobAtTheFirstLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		var asleep atomic.Int64 // For how long, in ns.
		r := leases.New(leases.Config{Holder: "a"}, leases.Deps{
			Leases: s, Logger: slog.New(slog.DiscardHandler),
			Now: func() time.Time { return time.Now().Add(time.Duration(asleep.Load())) },
		})
		var fences []int64
		err := r.Hold(t.Context(), "job", func(ctx context.Context, l core.Lease) error {
			if fences = append(fences, l.Fence); len(fences) == 2 {
				return nil
			}
			require.NoError(t, ctx.Err())
			asleep.Store(int64(leases.DefaultTerm))
			s.mu.Lock()
			s.rows["job"] = core.Lease{Name: "job", Holder: "b", Fence: l.Fence + 1}
			s.mu.Unlock()
			require.ErrorIs(t, ctx.Err(), context.Canceled)
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), core.ErrLeaseLost)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, []int64{1, 3}, fences)
	})
}

// Somebody who waits for Done alone learns of a suspension within a tenth of the term.
func TestWakingUpLateIsToldSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asleep atomic.Int64
		r := leases.New(leases.Config{Holder: "a"}, leases.Deps{
			Leases: newTable(), Logger: slog.New(slog.DiscardHandler),
			Now: func() time.Time { return time.Now().Round(0).Add(time.Duration(asleep.Load())) },
		})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		_ = r.Hold(ctx, "job", func(ctx context.Context, _ core.Lease) error {
			asleep.Store(int64(time.Hour))
			woke := time.Now()
			<-ctx.Done()
			require.LessOrEqual(t, time.Since(woke), leases.DefaultTerm/10)
			stop()
			return nil
		})
	})
}

// The lease had run out, and was ours again at the next renewal: somebody may have had
// it meanwhile, so the job starts anew with the new fence.
func TestAnotherFenceStartsTheJobAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		var fences []int64
		err := runner(s, "a").Hold(t.Context(), "job", func(ctx context.Context, l core.Lease) error {
			if fences = append(fences, l.Fence); len(fences) == 2 {
				return nil
			}
			l.Until = 1 // The store's clock was set forward.
			s.mu.Lock()
			s.rows["job"] = l
			s.mu.Unlock()
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), core.ErrLeaseLost)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, []int64{1, 2}, fences)
	})
}

// A job that is told to stop keeps its lease for as long as it takes.
func TestTheLeaseIsKeptWhileTheJobStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		ctx, stop := context.WithCancel(t.Context())
		err := runner(s, "a").Hold(ctx, "job", func(ctx context.Context, _ core.Lease) error {
			stop()
			<-ctx.Done()
			require.NotErrorIs(t, context.Cause(ctx), core.ErrLeaseLost)
			for range 60 {
				rest(time.Second)
				_, err := s.Acquire(context.WithoutCancel(ctx), "job", "b", time.Minute)
				require.ErrorIs(t, err, core.ErrLeaseLost)
			}
			return nil
		})
		require.NoError(t, err)
		_, err = s.Acquire(t.Context(), "job", "b", time.Minute)
		require.NoError(t, err, "and gives it up then")
	})
}

var errJob = errors.New("the job's own")

// What ends by itself gives the lease up, whatever it ends with.
func TestWhatTheJobReturnsIsReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		r := runner(s, "a")
		require.NoError(t, r.Hold(t.Context(), "job", func(context.Context, core.Lease) error { return nil }))
		require.True(t, s.heldUntil("job").IsZero())
		require.ErrorIs(t, r.Hold(t.Context(), "job", func(context.Context, core.Lease) error { return errJob }), errJob)
		require.True(t, s.heldUntil("job").IsZero())
		require.PanicsWithError(t, errJob.Error(), func() {
			_ = r.Hold(t.Context(), "job", func(context.Context, core.Lease) error { panic(errJob) })
		})
		require.True(t, s.heldUntil("job").IsZero())
		s.down = true // It cannot be given up, and the next call waits for nothing.
		s.rows["other"] = core.Lease{Name: "other", Holder: "a", Fence: 1, Until: core.MillisOf(time.Now().Add(time.Minute))}
		began := time.Now()
		time.AfterFunc(3*time.Second, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.down = false
		})
		require.NoError(t, r.Hold(t.Context(), "other", func(context.Context, core.Lease) error { return nil }))
		require.Less(t, time.Since(began), 5*time.Second)
	})
}

// Whoever waits ends with its context.
func TestWaitingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		_, err := s.Acquire(t.Context(), "job", "other", time.Hour)
		require.NoError(t, err)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		err = runner(s, "a").Hold(ctx, "job", func(context.Context, core.Lease) error {
			panic("somebody else has it")
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// Replicas that come and go, each with two calls for four slots: never do two hold
// one, and none stays free while somebody waits.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		names := []string{"slot/0", "slot/1", "slot/2", "slot/3"}
		var mu sync.Mutex
		holding, most, shared := map[string]int{}, 0, 0
		job := func(ctx context.Context, l core.Lease) error {
			mu.Lock()
			holding[l.Name]++
			shared = max(shared, holding[l.Name])
			most = max(most, len(holding))
			mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Second):
			}
			mu.Lock()
			delete(holding, l.Name)
			mu.Unlock()
			return nil
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		var all sync.WaitGroup
		turns := make([]int, 6)
		var r *leases.Runner
		for i := range turns {
			if i%2 == 0 {
				r = runner(s, string(rune('a'+i)))
			}
			r := r
			all.Go(func() {
				for r.HoldOne(ctx, names, job) == nil {
					turns[i]++
				}
			})
		}
		all.Wait()
		require.Equal(t, len(names), most)
		require.Equal(t, 1, shared)
		total := 0
		for _, n := range turns {
			total += n
		}
		require.GreaterOrEqual(t, total, 4*(600/25))
	})
}

// seen records what operators are told.
type seen struct {
	mu   sync.Mutex
	told []bool
}

func (o *seen) Held(_ string, held bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, held)
}

// Operators see who holds what.
func TestHoldingIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := &seen{}
		r := leases.New(leases.Config{Holder: "a"}, leases.Deps{
			Leases: newTable(), Logger: slog.New(slog.NewJSONHandler(&log, nil)), Now: time.Now, Observer: o,
		})
		require.NoError(t, r.Hold(t.Context(), "telegram/1/poll", func(context.Context, core.Lease) error { return nil }))
		require.Equal(t, []bool{true, false}, o.told)
		require.Contains(t, log.String(), `"msg":"job taken","job":"telegram/1/poll","fence":1`)
		require.Contains(t, log.String(), `"msg":"job given up"`)
	})
}
