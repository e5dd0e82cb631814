package deliveries

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

// slots bounds the rows under way for each account and lane, so that neither a
// hanging platform nor a flood in one lane holds up what stands behind it. A lane
// whose budget is spent is shut for a moment: its rows need not be claimed.
type slots struct {
	now   func() time.Time
	mu    sync.Mutex
	refs  []core.AccountRef
	limit int
	used  map[slot]int
	until map[slot]time.Time // Of the lanes that were shut.
}

type slot struct {
	ref  core.AccountRef
	lane core.DeliveryLane
}

func newSlots(refs []core.AccountRef, limit int, now func() time.Time) *slots {
	return &slots{now: now, refs: refs, limit: limit, used: make(map[slot]int), until: make(map[slot]time.Time)}
}

// shut claims nothing for the lane of the account until d has passed.
func (s *slots) shut(ref core.AccountRef, lane core.DeliveryLane, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := slot{ref, lane}
	if until := s.now().Add(d); until.After(s.until[k]) {
		s.until[k] = until
	}
}

// opens is how long until the next shut lane opens; limit when none does before.
func (s *slots) opens(limit time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for k, until := range s.until {
		if d := until.Sub(now); d > 0 {
			limit = min(limit, d)
		} else {
			delete(s.until, k)
		}
	}
	return limit
}

// free is how many rows of a lane may come. The caller holds the lock.
func (s *slots) free(k slot, now time.Time) int {
	if s.until[k].After(now) {
		return 0
	}
	return s.limit - s.used[k]
}

// room lists the accounts that a claim of the lane is for, and how many rows it
// may return so that they fit even if all of them belong to one account. Each
// account is in exactly one list: LaneAny while both of its lanes have room, the
// other lane's while one is full or shut. Blocked accounts are in none.
func (s *slots) room(lane core.DeliveryLane, b *blocks) ([]core.AccountRef, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var refs []core.AccountRef
	limit, now := 0, s.now()
	for _, ref := range s.refs {
		edits := s.free(slot{ref, core.LaneEdits}, now)
		cards := s.free(slot{ref, core.LaneCards}, now)
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

// round is one time of claiming for both lanes. A row closes its chat to others only
// between rounds: or those of one lane would close it again and again before those of
// the other lane are found.
type round struct {
	mu   sync.Mutex
	done chan struct{} // Of the round under way or the last one; nil before the first.
}

// begin starts a round; end ends it.
func (r *round) begin() (end func()) {
	done := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = done
	return func() { close(done) }
}

// wait returns when the round under way is over, with the context of its claims at the
// latest.
func (r *round) wait() {
	r.mu.Lock()
	done := r.done
	r.mu.Unlock()
	if done != nil {
		<-done
	}
}

// place is one chat of one account.
type place struct {
	ref     core.AccountRef
	address string
}

// queues lets one call at a time into each chat: the lanes take turns, each in the
// order of joining. At most
// limit rows of each lane may be inside or waiting, so that a chat which hangs never
// holds all the slots of its account, and one lane never keeps the other out. Rows
// that find the queue full come back one by one, at the pace of the chat. Where the
// row inside has taken the last place for a while, those of its lane are sent away at
// once; the other lane's first one may still say that it waits.
type queues struct {
	now   func() time.Time
	mu    sync.Mutex
	limit int
	lines map[place]*line // Of chats with at least one row.
}

// line is the queue of one chat.
type line struct {
	rows  []*ticket                       // Head: inside.
	since time.Time                       // When the head came in.
	pace  time.Duration                   // How long the row before it was inside; 0 when none was.
	next  map[core.DeliveryLane]time.Time // When the last of the rows that were turned away comes back.
	shut  map[core.DeliveryLane]time.Time // Until when there is no place for the lane.
}

// waiting counts the rows of a lane, the one inside included.
func (l *line) waiting(lane core.DeliveryLane) int {
	n := 0
	for _, t := range l.rows {
		if t.lane == lane {
			n++
		}
	}
	return n
}

// ticket is a row's position in the queue of a chat.
type ticket struct {
	place
	lane   core.DeliveryLane
	called chan struct{} // Closed when the row is inside, or sent away.
	away   bool          // It was sent away; set before called is closed.
	waited bool          // Others were ahead.
}

func newQueues(limit int, now func() time.Time) *queues {
	return &queues{now: now, limit: limit, lines: make(map[place]*line)}
}

// join queues for the chat without waiting; nil when the queue is full or shut.
func (q *queues) join(p place, lane core.DeliveryLane) *ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[p]
	if l == nil {
		l = &line{
			since: q.now(), next: make(map[core.DeliveryLane]time.Time), shut: make(map[core.DeliveryLane]time.Time),
		}
		q.lines[p] = l
	}
	if l.waiting(lane) >= q.limit || l.shut[lane].After(q.now()) {
		return nil
	}
	ahead := len(l.rows)
	t := &ticket{place: p, lane: lane, called: make(chan struct{}), waited: ahead > 0}
	l.rows = append(l.rows, t)
	if ahead == 0 {
		close(t.called)
	}
	return t
}

const (
	// crowdedLeast and crowdedMost bound the time after which a row comes back whose
	// chat had too many rows waiting.
	crowdedLeast = 10 * time.Millisecond
	crowdedMost  = time.Second
)

// comeBack is when a row that found the queue full should try again: after all that
// were turned away before it, each a call's length apart, so that a chat which works
// never idles while rows wait for it, and a row is seldom turned away twice. A chat
// that hangs looks slower with every try. Where the lane is shut, that is until when no
// row of the chat need come back.
func (q *queues) comeBack(p place, lane core.DeliveryLane) (wait time.Duration, shut bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, now := q.lines[p], q.now()
	if l == nil { // Emptied since.
		return 0, false
	}
	if d := l.shut[lane].Sub(now); d > 0 {
		return d, true
	}
	next := l.next[lane]
	if next.Before(now) {
		next = now
	}
	apart := max(l.pace, now.Sub(l.since), crowdedLeast)
	wait = min(next.Add(apart).Sub(now), crowdedMost)
	l.next[lane] = now.Add(wait)
	return wait, false
}

// shutBehind sends the rows of its lane away that wait behind the one inside, and lets
// none in until d has passed.
func (q *queues) shutBehind(t *ticket, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[t.place]
	l.shut[t.lane] = q.now().Add(d)
	l.rows = slices.DeleteFunc(l.rows, func(other *ticket) bool {
		if other == t || other.lane != t.lane {
			return false
		}
		other.away = true
		close(other.called)
		return true
	})
}

// wait reports whether the row is inside or was sent away; false when ctx ended or limit
// passed first.
func (t *ticket) wait(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.called:
		return true
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	}
}

// leave gives the position up and, if the row was inside, lets the next one in.
func (q *queues) leave(t *ticket) {
	if t == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[t.place]
	if l == nil || t.away {
		return
	}
	i := slices.Index(l.rows, t)
	l.rows = slices.Delete(l.rows, i, i+1)
	if len(l.rows) == 0 {
		delete(q.lines, t.place)
		return
	}
	if i == 0 {
		now := q.now()
		l.pace, l.since = now.Sub(l.since), now
		l.turnTo(t.lane)
		close(l.rows[0].called)
	}
}

// turnTo brings the next row to the head: the first of the lane that did not just have
// its turn, so that a card waits for one final answer at most, and the other way round.
func (l *line) turnTo(had core.DeliveryLane) {
	i := slices.IndexFunc(l.rows, func(t *ticket) bool { return t.lane != had })
	if i > 0 {
		next := l.rows[i]
		l.rows = slices.Insert(slices.Delete(l.rows, i, i+1), 0, next)
	}
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
