package deliveries

import (
	"context"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

// slots bounds the rows under way for each account and lane, so that neither a
// hanging platform nor a flood in one lane holds up what stands behind it.
type slots struct {
	mu    sync.Mutex
	refs  []core.AccountRef
	limit int
	used  map[slot]int
}

type slot struct {
	ref  core.AccountRef
	lane core.DeliveryLane
}

func newSlots(refs []core.AccountRef, limit int) *slots {
	return &slots{refs: refs, limit: limit, used: make(map[slot]int)}
}

// room lists the accounts that a claim of the lane is for, and how many rows it
// may return so that they fit even if all of them belong to one account. Each
// account is in exactly one list: LaneAny while both of its lanes have room, the
// other lane's while one is full. Blocked accounts are in none.
func (s *slots) room(lane core.DeliveryLane, b *blocks) ([]core.AccountRef, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var refs []core.AccountRef
	limit := 0
	for _, ref := range s.refs {
		edits := s.limit - s.used[slot{ref, core.LaneEdits}]
		cards := s.limit - s.used[slot{ref, core.LaneCards}]
		free := min(edits, cards)
		switch {
		case lane == core.LaneEdits && cards <= 0:
			free = edits
		case lane == core.LaneCards && edits <= 0:
			free = cards
		case lane != core.LaneAny:
			continue
		}
		if free <= 0 || b.remaining(ref, "") > 0 {
			continue
		}
		refs = append(refs, ref)
		if limit == 0 || free < limit {
			limit = free
		}
	}
	return refs, limit
}

// take occupies a slot and returns what gives it back.
func (s *slots) take(ref core.AccountRef, lane core.DeliveryLane) (release func()) {
	k := slot{ref, lane}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[k]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used[k]--
	}
}

// place is one chat of one account.
type place struct {
	ref     core.AccountRef
	address string
}

// queues lets one call at a time into each chat, first come, first served. At
// most limit rows may be inside or waiting, so that a chat which hangs never
// holds all the slots of its account.
type queues struct {
	mu     sync.Mutex
	limit  int
	queued map[place][]chan struct{} // Head: inside.
}

func newQueues(limit int) *queues {
	return &queues{limit: limit, queued: make(map[place][]chan struct{})}
}

// enter waits for the chat. It reports waited when others were ahead, and ok
// false when the queue was full or ctx ended; then leave is nil.
func (q *queues) enter(ctx context.Context, p place) (leave func(), waited, ok bool) {
	turn := make(chan struct{})
	q.mu.Lock()
	if len(q.queued[p]) >= q.limit {
		q.mu.Unlock()
		return nil, false, false
	}
	q.queued[p] = append(q.queued[p], turn)
	waited = len(q.queued[p]) > 1
	if !waited {
		close(turn)
	}
	q.mu.Unlock()
	select {
	case <-turn:
		return func() { q.leave(p, turn) }, waited, true
	case <-ctx.Done():
		q.leave(p, turn)
		return nil, waited, false
	}
}

// leave removes the row and, if it was inside, lets the next one in.
func (q *queues) leave(p place, turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.queued[p]
	for i, c := range waiting {
		if c != turn {
			continue
		}
		waiting = append(waiting[:i:i], waiting[i+1:]...)
		if i == 0 && len(waiting) > 0 {
			close(waiting[0])
		}
		break
	}
	if len(waiting) == 0 {
		delete(q.queued, p)
		return
	}
	q.queued[p] = waiting
}

// blocks remembers what the platform forbade for a while, for rows that this
// process had already leased when it was told. The store keeps the lasting copy.
type blocks struct {
	now   func() time.Time
	mu    sync.Mutex
	until map[place]time.Time
}

func newBlocks(now func() time.Time) *blocks {
	return &blocks{now: now, until: make(map[place]time.Time)}
}

// add forbids calls to the address, or to the whole account with "", for d.
func (b *blocks) add(ref core.AccountRef, address string, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for p, until := range b.until {
		if !until.After(now) {
			delete(b.until, p)
		}
	}
	p := place{ref, address}
	if until := now.Add(d); until.After(b.until[p]) {
		b.until[p] = until
	}
}

// remaining is how long the address, or its whole account, is still forbidden.
func (b *blocks) remaining(ref core.AccountRef, address string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	return max(b.until[place{ref, ""}].Sub(now), b.until[place{ref, address}].Sub(now), 0)
}

// refusals remembers which accounts have their credentials refused, so that this
// is reported once and not by every row.
type refusals struct {
	mu   sync.Mutex
	refs map[core.AccountRef]bool
}

func newRefusals() *refusals { return &refusals{refs: make(map[core.AccountRef]bool)} }

// set records the state and reports whether it changed.
func (r *refusals) set(ref core.AccountRef, refused bool) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed = r.refs[ref] != refused
	r.refs[ref] = refused
	return changed
}
