package approvals

import (
	"hash/maphash"
	"sync"

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
	byID map[string]map[*waiter]struct{}
}

// waiter is one registration. Its channel has room for one wake-up: more than one
// says nothing more.
type waiter struct {
	wake chan struct{}
}

func newWaiters() *waiters {
	w := &waiters{seed: maphash.MakeSeed()}
	for i := range w.shards {
		w.shards[i].byID = make(map[string]map[*waiter]struct{})
	}
	return w
}

func (w *waiters) shard(id string) *waiterShard {
	return &w.shards[maphash.String(w.seed, id)%waiterShards]
}

// register must come before the read it guards: what commits in between then
// wakes the waiter (R2).
func (w *waiters) register(id string) (*waiter, func()) {
	one := &waiter{wake: make(chan struct{}, 1)}
	sh := w.shard(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	set := sh.byID[id]
	if set == nil {
		set = make(map[*waiter]struct{}, 1)
		sh.byID[id] = set
	}
	set[one] = struct{}{}
	return one, func() {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		if delete(set, one); len(set) == 0 {
			delete(sh.byID, id)
		}
	}
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
	wakeSet(sh.byID[h.ApprovalID])
}

func (sh *waiterShard) wakeAll() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, set := range sh.byID {
		wakeSet(set)
	}
}

func wakeSet(set map[*waiter]struct{}) {
	for one := range set {
		select {
		case one.wake <- struct{}{}:
		default:
		}
	}
}
