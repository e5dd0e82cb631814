package leases

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

// DefaultTerm is how long a lease lasts without a renewal, unless it is configured:
// long enough to sit out a restart of the database, short enough for a standby to take
// over within 15 s.
const DefaultTerm = 10 * time.Second

const (
	// longestLook is the time between two looks of a standby, at most.
	longestLook = time.Second
	// releaseTime bounds the call that gives a lease up. One that fails costs the
	// standby the rest of the term.
	releaseTime = 2 * time.Second
)

// Observer is told which jobs this replica holds; it must not block.
type Observer interface {
	// Held is called when a job is taken and when it is not held any more.
	Held(job string, held bool)
}

// Config names the holder. The zero Term takes its default.
type Config struct {
	Holder string        // This replica, as no other replica and no earlier process is called; required.
	Term   time.Duration // Life of a lease without a renewal; at least 10 ms; default DefaultTerm.
}

// Bus tells others that a lease was given up, so that they need not wait for their next
// look.
type Bus interface {
	core.Publisher
	core.Subscriber
}

// Deps are what the runner is made of. Bus, Observer and Jitter may be nil.
type Deps struct {
	Leases   core.Leases
	Bus      Bus
	Logger   *slog.Logger
	Now      func() time.Time // The process clock, with its monotonic reading.
	Observer Observer
	Jitter   func(d time.Duration) time.Duration // d, give or take; nil gives or takes a quarter.
}

// Job is what one replica does at a time. Its context ends when the lease is lost
// (context.Cause is then core.ErrLeaseLost) or when it shall stop; it should return
// soon then. The lease's fence is valid for as long as the job runs.
type Job = func(ctx context.Context, l core.Lease) error

// Runner holds leases for one replica. It is safe for concurrent use.
type Runner struct {
	cfg  Config
	deps Deps

	mu   sync.Mutex
	here map[string]bool // Names that a call of this process has, or is asking for.
	free chan struct{}   // Closed, and made anew, when a lease may have become free.
}

// New wires a runner; it starts nothing.
func New(cfg Config, deps Deps) *Runner {
	if cfg.Term == 0 {
		cfg.Term = DefaultTerm
	}
	if deps.Jitter == nil {
		deps.Jitter = aboutAQuarter
	}
	if deps.Observer == nil {
		deps.Observer = nobody{}
	}
	return &Runner{cfg: cfg, deps: deps, here: map[string]bool{}, free: make(chan struct{})}
}

type nobody struct{}

func (nobody) Held(string, bool) {}

func aboutAQuarter(d time.Duration) time.Duration {
	return d - d/4 + rand.N(d/2+1) //nolint:gosec // Those who wait are to part; nothing is guessed.
}

// Hold runs the job whenever this replica has the lease of that name, until the job
// returns by itself or ctx ends. After a lost lease it waits for the job to return and
// then for the lease. It returns what the job returned, or ctx's error if ctx ended
// while the lease was not held. The lease is given up before it returns, also when
// the job panics.
func (r *Runner) Hold(ctx context.Context, name string, job Job) error {
	return r.HoldOne(ctx, []string{name}, job)
}

// HoldOne is Hold for a job of which as many run at a time as there are names: it
// takes whichever lease is free. Calls in one process share the names among them.
func (r *Runner) HoldOne(ctx context.Context, names []string, job Job) error {
	for {
		h, err := r.await(ctx, names)
		if err != nil {
			return err
		}
		again, err := r.work(ctx, h, job)
		if !again {
			return err
		}
	}
}

// await waits until one of the leases is free and takes it.
func (r *Runner) await(ctx context.Context, names []string) (*held, error) {
	failed := false
	for {
		free := r.freed() // Before the look: what is given up under it is not missed.
		for _, name := range names {
			if ctx.Err() != nil {
				break
			}
			h, err := r.take(ctx, name)
			switch {
			case err == nil:
				return h, nil
			case errors.Is(err, core.ErrLeaseLost), ctx.Err() != nil:
			case !failed: // Once in a row: the store's own trouble is reported elsewhere too.
				failed = true
				r.log(ctx, slog.LevelWarn, "a job could not be taken: trying again", name, slog.Any("error", err))
			}
		}
		if err := r.pause(ctx, min(longestLook, r.cfg.Term/3), free); err != nil {
			return nil, fmt.Errorf("wait for a lease: %w", err)
		}
	}
}

// take tries once. Errors: core.ErrLeaseLost when somebody has it, in this process or
// elsewhere.
func (r *Runner) take(ctx context.Context, name string) (*held, error) {
	if !r.enter(name) {
		return nil, core.ErrLeaseLost
	}
	sent := r.deps.Now()
	l, err := r.acquire(ctx, name)
	if err != nil {
		r.leave(name)
		return nil, err
	}
	h := newHeld(ctx, l, sent, r.cfg.Term, r.deps.Now)
	if h.lost() { // The answer took that long. The row is ours still: the next call renews it.
		r.leave(name)
		return nil, core.ErrLeaseLost
	}
	return h, nil
}

// acquire asks the store, for a third of the term at most: an answer that comes later
// is of no use, and the next call may be quicker.
func (r *Runner) acquire(ctx context.Context, name string) (core.Lease, error) {
	ctx, end := context.WithTimeout(ctx, r.cfg.Term/3)
	defer end()
	return r.deps.Leases.Acquire(ctx, name, r.cfg.Holder, r.cfg.Term)
}

func (r *Runner) enter(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.here[name] {
		return false
	}
	r.here[name] = true
	return true
}

func (r *Runner) leave(name string) {
	r.mu.Lock()
	delete(r.here, name)
	r.mu.Unlock()
}

// freed is closed when a lease may have become free.
func (r *Runner) freed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.free
}

// look makes all who wait look at once.
func (r *Runner) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.free)
	r.free = make(chan struct{})
}

// work runs the job under the lease. again is true where the lease was lost under it.
func (r *Runner) work(ctx context.Context, h *held, job Job) (again bool, err error) {
	name := h.lease.Name
	r.deps.Observer.Held(name, true)
	r.log(ctx, slog.LevelInfo, "job taken", name, slog.Int64("fence", h.lease.Fence))
	stop, renewing := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(renewing)
		r.renew(context.WithoutCancel(ctx), h, stop)
	}()
	defer func() { // Also when the job panics.
		close(stop)
		<-renewing
		h.end()
		r.deps.Observer.Held(name, false)
		if h.lost() { // Then what the job returned does not count.
			again, err = ctx.Err() == nil, ctx.Err()
			r.log(ctx, slog.LevelWarn, "job lost", name, slog.Int64("fence", h.lease.Fence))
		} else {
			r.release(ctx, h.lease)
		}
		r.leave(name)
		r.look()
		r.tell(ctx, name)
	}()
	return false, job(h, h.lease)
}

// release gives the lease up at once, so that a standby need not wait.
func (r *Runner) release(ctx context.Context, l core.Lease) {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer end()
	if err := r.deps.Leases.Release(ctx, l); err != nil {
		r.log(ctx, slog.LevelWarn, "a lease could not be given up: it runs out", l.Name, slog.Any("error", err))
		return
	}
	r.log(ctx, slog.LevelInfo, "job given up", l.Name, slog.Int64("fence", l.Fence))
}

// renew keeps the lease until stop is closed or the lease is lost. It goes on while a
// job that was told to stop is still at it.
func (r *Runner) renew(ctx context.Context, h *held, stop <-chan struct{}) {
	third := r.cfg.Term / 3
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() { // A call under way must not hold up the release.
		select {
		case <-stop:
			end()
		case <-ctx.Done():
		}
	}()
	for wait := third; r.pause(ctx, wait, nil) == nil; {
		if h.lost() {
			return
		}
		sent := r.deps.Now()
		l, err := r.acquire(ctx, h.lease.Name)
		switch {
		case err == nil && l.Fence == h.lease.Fence:
			h.renewed(sent)
			wait = third
		case err == nil, errors.Is(err, core.ErrLeaseLost):
			h.lose() // Another fence: it had run out, and somebody may have had it.
			return
		case ctx.Err() == nil:
			r.log(ctx, slog.LevelWarn, "a lease could not be renewed: trying again", h.lease.Name, slog.Any("error", err))
			wait = third / 3
		}
	}
}

// pause waits for about d, or until free is closed. It returns ctx's error.
func (r *Runner) pause(ctx context.Context, d time.Duration, free <-chan struct{}) error {
	t := time.NewTimer(r.deps.Jitter(d))
	defer t.Stop()
	select {
	case <-t.C:
	case <-free:
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (r *Runner) log(ctx context.Context, level slog.Level, text, job string, attrs ...slog.Attr) {
	r.deps.Logger.LogAttrs(ctx, level, text, append([]slog.Attr{slog.String("job", job)}, attrs...)...)
}
