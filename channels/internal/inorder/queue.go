package inorder

import "sync"

// Queue works in the background. It is safe for concurrent use; New makes one.
type Queue struct {
	mu    sync.Mutex
	tails map[string]chan struct{} // The last work of each person.
	held  int
	most  int
	slots chan struct{}
	tasks sync.WaitGroup
}

// New makes a queue that works on parallel things at once and holds at most most,
// those that are worked on included.
func New(parallel, most int) *Queue {
	return &Queue{tails: map[string]chan struct{}{}, slots: make(chan struct{}, parallel), most: most}
}

// Start takes work in, to be done after what the same person did before. It reports
// false, and does nothing, when the queue is full. A panic of run is not caught.
func (q *Queue) Start(person string, run func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held >= q.most {
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

func (q *Queue) finish(person string, mine chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held--
	if q.tails[person] == mine {
		delete(q.tails, person)
	}
}

// Beside does something at once, outside of any order and bound, that Wait waits for.
func (q *Queue) Beside(run func()) { q.tasks.Go(run) }

// Wait blocks until nothing is under way.
func (q *Queue) Wait() { q.tasks.Wait() }
