package sqlite

import (
	"context"
	"fmt"
	"sync"

	"github.com/saysohq/sayso/core"
)

// readers runs the store's reads on goroutines of its own, each with a connection of
// its own. SQLite's frames are deep, and a goroutine keeps the stack that it once
// needed: ten thousand callers that wait for a change, each having read its row,
// would hold tens of KiB each. The goroutines start when they are first needed and
// end with close.
type readers struct {
	open func() (*handle, error)
	most int
	jobs chan *readJob
	end  chan struct{}
	wg   sync.WaitGroup

	mu      sync.Mutex
	started int
	closed  bool
}

// readJob is one read; its caller waits for it.
type readJob struct {
	run      func(h *handle) error
	err      error
	panicked any
	done     chan struct{}
}

func newReaders(most int, open func() (*handle, error)) *readers {
	return &readers{open: open, most: most, jobs: make(chan *readJob), end: make(chan struct{})}
}

// do runs one read and waits for its end. ctx counts until the read begins: what
// fn fills in is its caller's, who must not go while it is being filled. A panic of
// fn is its caller's too. Errors: core.ErrUnavailable after close.
func (r *readers) do(ctx context.Context, fn func(h *handle) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &readJob{run: fn, done: make(chan struct{})}
	select {
	case r.jobs <- j: // Somebody is free.
	default:
		if !r.start(j) {
			select {
			case r.jobs <- j:
			case <-ctx.Done():
				return ctx.Err()
			case <-r.end:
				return fmt.Errorf("read: the store is closed: %w", core.ErrUnavailable)
			}
		}
	}
	<-j.done
	if j.panicked != nil {
		panic(j.panicked)
	}
	return j.err
}

// start begins another goroutine with a job; false when there are enough.
func (r *readers) start(j *readJob) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started == r.most || r.closed {
		return false
	}
	r.started++
	r.wg.Go(func() { r.serve(j) })
	return true
}

// serve runs jobs, one after another, until the end.
func (r *readers) serve(j *readJob) {
	var h *handle
	defer func() {
		if h != nil {
			_ = h.close() // It has only read: there is nothing to lose.
		}
	}()
	for {
		if h == nil { // Also after a failure: the next read tries again.
			h, j.err = r.open()
		}
		if h == nil {
			close(j.done)
		} else {
			j.serve(h)
		}
		select {
		case j = <-r.jobs:
		case <-r.end:
			return
		}
	}
}

// close ends the goroutines once they have served what they have begun. Later
// reads fail.
func (r *readers) close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.end)
	}
	r.mu.Unlock()
	r.wg.Wait()
}

func (j *readJob) serve(h *handle) {
	defer close(j.done)
	defer func() { j.panicked = recover() }()
	j.err = j.run(h)
}
