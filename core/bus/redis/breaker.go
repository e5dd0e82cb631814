package redis

import (
	"errors"
	"sync"
	"time"
)

// errAway is the answer while Redis is left alone.
var errAway = errors.New("redis is away")

// restFor is how long Redis is left alone after a call that failed.
const restFor = time.Second

// breaker keeps a dead Redis from costing every caller its time-out: after a failure
// nobody asks for a while, and then one does for all. The zero breaker lets calls
// through.
type breaker struct {
	mu      sync.Mutex
	until   time.Time // Zero while calls succeed.
	probing bool
}

// allow reports whether a call may be tried; done must follow.
func (b *breaker) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return true
	}
	if b.probing || now.Before(b.until) {
		return false
	}
	b.probing = true
	return true
}

// done records what became of a call, and reports whether this is news.
func (b *breaker) done(now time.Time, ok bool) (news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	news, b.probing = ok != b.until.IsZero(), false
	if ok {
		b.until = time.Time{}
	} else {
		b.until = now.Add(restFor)
	}
	return news
}
