package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// readers runs the store's reads on goroutines of its own, at most as many as the
// pool has connections. SQLite's frames are deep, and a goroutine keeps the stack
// that it once needed: ten thousand callers that wait for a change, each having
// read its row, would hold tens of KiB each. The goroutines start when they are
// first needed and end with close.
type readers struct {
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
	run      func() error
	err      error
	panicked any
	done     chan struct{}
}

func newReaders(most int) *readers {
	return &readers{most: most, jobs: make(chan *readJob), end: make(chan struct{})}
}

// do runs one read and waits for its end. ctx counts until the read begins: what
// fn fills in is its caller's, who must not go while it is being filled. A panic of
// fn is its caller's too.
func (r *readers) do(ctx context.Context, fn func() error) error {
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
				return sql.ErrConnDone
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
	r.wg.Go(func() {
		j.serve()
		for {
			select {
			case next := <-r.jobs:
				next.serve()
			case <-r.end:
				return
			}
		}
	})
	return true
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

func (j *readJob) serve() {
	defer close(j.done)
	defer func() { j.panicked = recover() }()
	j.err = j.run()
}
