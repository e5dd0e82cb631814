package sqlite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// Bounds of one turn of the writer.
const (
	maxBatch      = 256                  // Writes in one commit.
	maxBackground = record.MaxBackground // Rows of background work in one commit.
	spareForLater = 32                   // Places of a full batch kept for background work, so that it is never starved.
)

// job is one queued write. Who wins the move of state away from queued owns it:
// the writer (it will be answered through done) or its caller, who gave up.
type job struct {
	run   func(*tx) error
	class record.Urgency
	rows  int // Rows that a background write may touch, at most maxBackground.
	state atomic.Int32
	done  chan error
	// committed is called once the writer has recorded the write; nil for nothing.
	committed func()
}

// answered passes the writer's answer on.
func (j *job) answered(err error) error {
	if err == nil && j.committed != nil {
		j.committed()
	}
	return err
}

const (
	jobQueued int32 = iota
	jobTaken
	jobAbandoned
)

// write queues fn and waits for the commit that carries it. fn runs on the
// writer's connection; an error undoes all that it did, and nothing else, and is
// handed to the caller as it is. fn may run more than once (a batch that was lost,
// or in which a write failed after a change, is run again), so it must not change
// anything but the database and its own results.
//
// The caller's context is honoured while the write is queued; later an ended
// context yields core.ErrOutcomeUnknown, because the write may well be recorded.
// Result and error are both returned, so that a refusal can carry the current row.
func write[T any](ctx context.Context, s *Store, c record.Urgency, fn func(*tx) (T, error)) (T, error) {
	return writeRows(ctx, s, c, 1, fn, nil)
}

// writeRows is write for background work that touches many rows at once. committed
// is called after the commit also where the caller has gone by then.
func writeRows[T any](ctx context.Context, s *Store, c record.Urgency, rows int, fn func(*tx) (T, error), committed func()) (T, error) {
	var result, none T
	j := &job{class: c, rows: rows, done: make(chan error, 1), committed: committed}
	j.run = func(t *tx) (err error) {
		result, err = fn(t)
		return err
	}
	if err := ctx.Err(); err != nil {
		return none, gaveUp(ctx)
	}
	if err := s.queue.push(j); err != nil {
		return none, err
	}
	select {
	case err := <-j.done:
		return result, j.answered(err)
	case <-ctx.Done():
	}
	if j.state.CompareAndSwap(jobQueued, jobAbandoned) {
		return none, gaveUp(ctx)
	}
	select {
	case err := <-j.done:
		return result, j.answered(err)
	default: // The writer still owns result: it must not be touched any more.
		go func() { _ = j.answered(<-j.done) }() // The caller has its answer.
		return none, fmt.Errorf("await commit: %w", core.ErrOutcomeUnknown)
	}
}

// queue holds the writes that wait for the writer.
type queue struct {
	mu     sync.Mutex
	urgent []*job
	later  []*job
	closed bool
	wake   chan struct{} // One slot: something was pushed.
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// errStopped is what a write gets that came before the end of the store.
func errStopped() error { return fmt.Errorf("queue write: %w", core.ErrUnavailable) }

func (q *queue) push(j *job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errStopped()
	}
	if j.class == record.Background {
		q.later = append(q.later, j)
	} else {
		q.urgent = append(q.urgent, j)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil
}

// take moves the writes of the next batch out of the queue. Writes whose callers
// gave up are dropped.
func (q *queue) take(into []*job) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	places := maxBatch
	if len(q.later) > 0 {
		places -= spareForLater
	}
	for len(q.urgent) > 0 && len(into) < places {
		into = pop(&q.urgent, into)
	}
	rows := 0
	for len(q.later) > 0 && len(into) < maxBatch {
		next := q.later[0]
		if rows > 0 && rows+next.rows > maxBackground {
			break
		}
		rows += next.rows
		into = pop(&q.later, into)
	}
	return into
}

// more adds the urgent writes that were queued while a batch ran to it, as far as it
// has places. Background work waits for the next batch, in which it has some of its own.
func (q *queue) more(into []*job) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.urgent) > 0 && len(into) < maxBatch-spareForLater {
		into = pop(&q.urgent, into)
	}
	return into
}

// pop moves the head of from to into, unless its caller gave up.
func pop(from *[]*job, into []*job) []*job {
	j := (*from)[0]
	(*from)[0] = nil
	*from = (*from)[1:]
	if !j.state.CompareAndSwap(jobQueued, jobTaken) {
		return into
	}
	return append(into, j)
}

// close refuses further writes. What is queued stays, to be taken or failed.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// fail answers everything that is still queued.
func (q *queue) fail() {
	for {
		jobs := q.take(nil)
		if len(jobs) == 0 {
			return
		}
		for _, j := range jobs {
			j.done <- errStopped()
		}
	}
}

// drained closes an empty queue; false when something is still queued. The check
// and the closing are one step, so that no write slips in between unanswered.
func (q *queue) drained() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.urgent)+len(q.later) > 0 {
		return false
	}
	q.closed = true
	return true
}
