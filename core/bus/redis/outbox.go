package redis

import (
	"sync"

	"github.com/saysohq/sayso/core"
)

// outboxSize bounds the hints that wait for the network. At a thousand decisions a
// second it is several seconds' worth.
const outboxSize = 8192

// outbox holds the hints that wait for the network. It never grows over its bound and
// takes nothing while the network is known to be gone: what it drops is made up for
// by a gap in the sequence, which tells the others to look at everything.
type outbox struct {
	wake chan struct{} // Capacity 1: "there is something".

	mu     sync.Mutex
	hints  []core.Hint
	lost   bool // Hints were dropped since the last message.
	closed bool // Nobody can be reached: dead network, or not running.
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1), closed: true} }

// add queues hints and returns how many were dropped.
func (o *outbox) add(hints []core.Hint) (dropped int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, h := range hints {
		if o.closed || len(o.hints) >= outboxSize || !sendable(h) {
			dropped++
			continue
		}
		o.hints = append(o.hints, h)
	}
	o.lost = o.lost || dropped > 0
	if len(o.hints) > 0 {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	return dropped
}

// take removes what fits into one message, and reports whether hints were dropped
// before.
func (o *outbox) take() (hints []core.Hint, lost bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(o.hints), maxHints)
	hints = append(hints, o.hints[:n]...)
	o.hints = append(o.hints[:0], o.hints[n:]...)
	lost, o.lost = o.lost, false
	return hints, lost
}

// reaches reports whether the network took the last message.
func (o *outbox) reaches() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.closed
}

// open takes hints from now on.
func (o *outbox) open() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = false
}

// close drops all that waits and takes nothing from now on. It returns how many were
// dropped.
func (o *outbox) close() (dropped int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	dropped = len(o.hints)
	o.hints, o.closed, o.lost = nil, true, true
	return dropped
}
