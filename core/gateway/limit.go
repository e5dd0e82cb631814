package gateway

import (
	"sync"
	"time"
)

// maxBuckets bounds the limiter's memory. Names come from authenticated tokens, so
// only an operator with that many runtimes ever meets it.
const maxBuckets = 4096

// limiter is a token bucket per runtime, in this process: a fleet of n replicas
// allows n times the rate.
type limiter struct {
	perSecond float64
	burst     float64

	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	tokens float64
	filled time.Time
}

func newLimiter(perSecond float64, burst int) *limiter {
	return &limiter{perSecond: perSecond, burst: float64(burst), buckets: map[string]*bucket{}}
}

// take takes one token of a name, or says how long to wait for one.
func (l *limiter) take(name string, now time.Time) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[name]
	if b == nil {
		l.makeRoom(now)
		b = &bucket{tokens: l.burst, filled: now}
		l.buckets[name] = b
	}
	l.fill(b, now)
	if b.tokens < 1 {
		return time.Duration((1 - b.tokens) / l.perSecond * float64(time.Second)), false
	}
	b.tokens--
	return 0, true
}

func (l *limiter) fill(b *bucket, now time.Time) {
	if passed := now.Sub(b.filled).Seconds(); passed > 0 {
		b.tokens = min(l.burst, b.tokens+passed*l.perSecond)
		b.filled = now
	}
}

// makeRoom forgets full buckets: a fresh one is full as well.
func (l *limiter) makeRoom(now time.Time) {
	if len(l.buckets) < maxBuckets {
		return
	}
	for name, b := range l.buckets {
		if l.fill(b, now); b.tokens >= l.burst {
			delete(l.buckets, name)
		}
	}
}
