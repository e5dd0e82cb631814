package local

import (
	"context"
	"sync"

	"github.com/saysohq/sayso/core"
)

// backlog is how many hints a slow subscriber may fall behind before they are
// folded into one zero hint.
const backlog = 1024

// Bus implements core.Publisher and core.Subscriber in one process.
type Bus struct {
	mu   sync.Mutex
	subs map[*subscription]struct{}
}

// New returns a bus without subscribers.
func New() *Bus { return &Bus{subs: make(map[*subscription]struct{})} }

type subscription struct {
	hints    []core.Hint
	overflow bool
	wake     chan struct{} // Capacity 1: "there is something".
}

// Publish hands the hints to every subscriber without waiting for any of them.
func (b *Bus) Publish(_ context.Context, hints ...core.Hint) {
	if len(hints) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		if len(s.hints)+len(hints) > backlog {
			s.hints, s.overflow = nil, true
		} else {
			s.hints = append(s.hints, hints...)
		}
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// Subscribe calls fn for every hint, one at a time, until ctx ends, and returns
// its error. The first call is a zero hint: what happened before the subscription
// was not heard.
func (b *Bus) Subscribe(ctx context.Context, fn func(core.Hint)) error {
	s := &subscription{wake: make(chan struct{}, 1), overflow: true}
	s.wake <- struct{}{}
	b.mu.Lock()
	b.subs[s] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.subs, s)
		b.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
		}
		for _, h := range b.take(s) {
			fn(h)
		}
	}
}

func (b *Bus) take(s *subscription) []core.Hint {
	b.mu.Lock()
	defer b.mu.Unlock()
	hints := s.hints
	if s.overflow {
		hints = append([]core.Hint{{}}, hints...)
	}
	s.hints, s.overflow = nil, false
	return hints
}
