package telegram

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errUnreadable = errors.New("the update is not in the platform's form")

// parallel is how many updates are worked on at once.
const parallel = 16

// window tracks the updates that the platform handed out and that are not
// confirmed: those under way, and those that ended behind one that has not. It
// keeps the updates of one person in order.
type window struct {
	mu      sync.Mutex
	next    int64                    // The offset when nothing is under way.
	ended   map[int64]bool           // By update id; false while under way.
	tails   map[string]chan struct{} // The last update of each person.
	slots   chan struct{}
	tasks   sync.WaitGroup
	changed chan struct{} // Holds a token after an update ended.
}

func newWindow() *window {
	return &window{
		ended: map[int64]bool{}, tails: map[string]chan struct{}{},
		slots: make(chan struct{}, parallel), changed: make(chan struct{}, 1),
	}
}

// start works on an update in the background, after the one before it of the same
// person. One that is known already is left alone: the platform hands out
// everything from the offset again.
func (w *window) start(id int64, key string, run func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.ended[id]; known {
		return
	}
	w.ended[id] = false
	before, mine := w.tails[key], make(chan struct{})
	w.tails[key] = mine
	w.tasks.Go(func() {
		if before != nil {
			<-before
		}
		w.slots <- struct{}{}
		defer func() {
			<-w.slots
			close(mine)
			w.finish(id, key, mine)
		}()
		run()
	})
}

// skip counts an update as ended that nobody can work on.
func (w *window) skip(id int64) {
	w.mu.Lock()
	w.ended[id] = false
	w.mu.Unlock()
	w.finish(id, "", nil)
}

func (w *window) finish(id int64, key string, mine chan struct{}) {
	w.mu.Lock()
	w.ended[id] = true
	if mine != nil && w.tails[key] == mine {
		delete(w.tails, key)
	}
	w.advance()
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// advance moves the offset to the first update that has not ended.
func (w *window) advance() {
	first, last := int64(0), int64(0)
	for id, ended := range w.ended {
		if !ended && (first == 0 || id < first) {
			first = id
		}
		last = max(last, id)
	}
	if first == 0 {
		w.next = last + 1
		clear(w.ended)
		return
	}
	w.next = first
	for id := range w.ended {
		if id < first {
			delete(w.ended, id)
		}
	}
}

// offset is what the next poll may confirm: everything below it has ended. 0
// confirms nothing.
func (w *window) offset() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, ended := range w.ended {
		if !ended && (w.next == 0 || id < w.next) {
			return 0 // Ids may start anew anywhere; nothing ended below this one.
		}
	}
	return w.next
}

// open reports whether an update is under way.
func (w *window) open() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ended) > 0
}

// settle waits until nothing is under way, or until limit has passed: then newer
// updates may be asked for behind a slow one.
func (w *window) settle(ctx context.Context, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for w.open() {
		select {
		case <-w.changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// wait blocks until nothing is under way.
func (w *window) wait() { w.tasks.Wait() }
