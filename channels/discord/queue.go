package discord

import "sync"

// Bounds of a queue.
const (
	parallel   = 16    // Events that are worked on at once.
	maxWaiting = 1_000 // Events that wait or are worked on.
)

// queue works on events in the background: those of one person in order, those of
// different people side by side.
type queue struct {
	mu      sync.Mutex
	tails   map[string]chan struct{} // The last event of each person.
	waiting int
	slots   chan struct{}
	tasks   sync.WaitGroup
}

func newQueue() *queue {
	return &queue{tails: map[string]chan struct{}{}, slots: make(chan struct{}, parallel)}
}

// start works on an event after the one before it of the same person. It reports
// false, and does nothing, when too many wait.
func (q *queue) start(person string, run func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == maxWaiting {
		return false
	}
	q.waiting++
	before, mine := q.tails[person], make(chan struct{})
	q.tails[person] = mine
	q.tasks.Go(func() {
		if before != nil {
			<-before
		}
		q.slots <- struct{}{}
		defer func() {
			<-q.slots
			close(mine)
			q.mu.Lock()
			defer q.mu.Unlock()
			q.waiting--
			if q.tails[person] == mine {
				delete(q.tails, person)
			}
		}()
		run()
	})
	return true
}

// wait blocks until nothing is under way.
func (q *queue) wait() { q.tasks.Wait() }
