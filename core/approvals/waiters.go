package approvals

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/saysohq/sayso/core"
)

// waiterShards keeps thousands of registrations from queueing for one lock.
const waiterShards = 64

// waiters is the register of who wants to look again at which approval. It holds
// no state of the approval, only channels to close.
type waiters struct {
	seed   maphash.Seed
	shards [waiterShards]waiterShard
}

type waiterShard struct {
	mu   sync.Mutex
	byID map[string]*waiter
}

// waiter is one registration, and a link in the chain of those of one approval. Its
// channel has room for one wake-up: more than one says nothing more.
type waiter struct {
	wake       chan struct{}
	seen       atomic.Int64 // The revision that was read last; 0 before the first.
	prev, next *waiter      // Guarded by the shard.
}

// poke wakes the waiter, now or when it comes to rest.
func (w *waiter) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func newWaiters() *waiters {
	w := &waiters{seed: maphash.MakeSeed()}
	for i := range w.shards {
		w.shards[i].byID = make(map[string]*waiter)
	}
	return w
}

func (w *waiters) shard(id string) *waiterShard {
	return &w.shards[maphash.String(w.seed, id)%waiterShards]
}

// register must come before the read it guards: what commits in between then
// wakes the waiter (R2).
func (w *waiters) register(id string, one *waiter) {
	sh := w.shard(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	first := sh.byID[id]
	if one.next = first; first != nil {
		first.prev = one
	}
	sh.byID[id] = one
}

// forget ends a registration under that id.
func (w *waiters) forget(id string, one *waiter) {
	sh := w.shard(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch {
	case one.prev != nil:
		one.prev.next = one.next
	case one.next != nil:
		sh.byID[id] = one.next
	default:
		delete(sh.byID, id)
	}
	if one.next != nil {
		one.next.prev = one.prev
	}
	one.prev, one.next = nil, nil
}

// look tells the waiters of a hint to read again; a zero hint tells everybody.
func (w *waiters) look(h core.Hint) {
	if h.ApprovalID == "" {
		for i := range w.shards {
			w.shards[i].wakeAll()
		}
		return
	}
	sh := w.shard(h.ApprovalID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	pokeAll(sh.byID[h.ApprovalID])
}

func (sh *waiterShard) wakeAll() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, first := range sh.byID {
		pokeAll(first)
	}
}

func pokeAll(first *waiter) {
	for one := first; one != nil; one = one.next {
		one.poke()
	}
}
