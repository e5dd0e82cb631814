package slack

import "sync"

// Bounds of the work under way.
const (
	parallel   = 16  // Payloads worked on at once.
	maxWaiting = 512 // Payloads taken in; beyond it people are told to try again.
)

// queue works on payloads in the background: those of one person in order, those of
// different people side by side.
type queue struct {
	mu    sync.Mutex
	tails map[string]chan struct{} // The last payload of each person.
	held  int
	slots chan struct{}
	tasks sync.WaitGroup
}

func newQueue() *queue {
	return &queue{tails: map[string]chan struct{}{}, slots: make(chan struct{}, parallel)}
}

// start takes work in. It reports false when there is too much already.
func (q *queue) start(person string, run func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held >= maxWaiting {
		return false
	}
	q.held++
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
			q.finish(person, mine)
		}()
		run()
	})
	return true
}

func (q *queue) finish(person string, mine chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held--
	if q.tails[person] == mine {
		delete(q.tails, person)
	}
}

// wait blocks until nothing is under way.
func (q *queue) wait() { q.tasks.Wait() }
