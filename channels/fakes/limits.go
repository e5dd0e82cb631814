package fakes

import (
	"slices"
	"sync"
	"time"
)

// Limit is one of a platform's figures: at most Calls in any span of length Per. The
// zero Limit is none.
type Limit struct {
	Calls int
	Per   time.Duration
}

// Limits are what a platform takes from one bot. They are a switch: with the zero
// Limits a fake says "too many requests" only where a Script wants it to; with others
// it does so of its own accord, by its process's clock, and watches that nobody comes
// back before the time it was told. Each fake knows its platform's DocumentedLimits.
type Limits struct {
	Account Limit // Posts and edits together.
	Direct  Limit // In one chat with one person.
	Shared  Limit // In one shared chat.
	Edits   Limit // Edits, where they have a limit of their own; then chats count posts only.

	Unit  time.Duration // A retry_after is a whole number of these.
	Whole bool          // Whoever reaches the account's limit is told that it is the account's.
}

// Faster makes time pass n times as fast. Unit stays: a retry_after is never scaled.
func (l Limits) Faster(n int) Limits {
	for _, one := range []*Limit{&l.Account, &l.Direct, &l.Shared, &l.Edits} {
		one.Per /= time.Duration(n)
	}
	return l
}

// Request is a call that posts or edits a message.
type Request struct {
	Chat    string // As the channel under test spells it.
	Direct  bool   // A chat with one person.
	Edit    bool
	At      time.Time
	Refused bool // It was told that there are too many.
}

// Traffic is what a fake with limits has seen.
type Traffic struct {
	Requests []Request // Oldest first.
	Refused  int       // Told "too many" of the fake's own accord.
	Early    int       // Came before a retry_after had passed, and were not under way when it was told.
}

// Limiter keeps Limits. It is safe for concurrent use; its zero value lets all in and
// notes nothing.
type Limiter struct {
	limits Limits

	mu      sync.Mutex
	taken   map[string][]time.Time // Of each limit, the requests within its last span.
	away    map[string]away        // Who was told to stay away.
	traffic Traffic
}

// away is what somebody was told.
type away struct{ told, until time.Time }

// underWay is how long a refusal may take until everybody knows of it: requests that
// come before are refused as well, but nobody is to blame.
const underWay = 100 * time.Millisecond

// NewLimiter makes a limiter.
func NewLimiter(l Limits) *Limiter {
	return &Limiter{limits: l, taken: map[string][]time.Time{}, away: map[string]away{}}
}

// What a request counts for, and what can be closed to it. A chat has its own name.
const (
	keyAccount = "account"
	keyEdits   = "edits"
	keyChat    = "chat "
)

// Admit notes a request and returns how long it must stay away, 0 when it may pass.
// scripted refuses it anyway, where it is more than 0. whole is set where the answer
// is about the whole account.
func (l *Limiter) Admit(r Request, scripted time.Duration) (wait time.Duration, whole bool) {
	if l == nil || l.limits == (Limits{}) {
		return scripted, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait, whole = l.early(r); wait == 0 {
		wait, whole = l.judge(r, scripted)
	}
	r.Refused = wait > 0
	l.traffic.Requests = append(l.traffic.Requests, r)
	return wait, whole
}

// Traffic reports what was seen so far.
func (l *Limiter) Traffic() Traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.traffic
	t.Requests = slices.Clone(t.Requests)
	return t
}

// closes names what a refusal closes that is not the account's.
func (l *Limiter) closes(r Request) string {
	if r.Edit && l.limits.Edits.Calls > 0 {
		return keyEdits
	}
	return keyChat + r.Chat
}

// early is how long the request should still have stayed away, and whether that is
// about the whole account.
func (l *Limiter) early(r Request) (wait time.Duration, whole bool) {
	key := l.closes(r)
	if l.away[keyAccount].until.After(l.away[key].until) {
		key = keyAccount
	}
	a := l.away[key]
	wait = a.until.Sub(r.At)
	if wait > 0 && r.At.Sub(a.told) > underWay {
		l.traffic.Early++
	}
	return max(wait, 0), key == keyAccount
}

// judge counts a request that may come, and notes from what it is told to stay away.
func (l *Limiter) judge(r Request, scripted time.Duration) (wait time.Duration, whole bool) {
	wait, key := l.over(r)
	if wait > 0 {
		l.traffic.Refused++
	} else {
		wait, key = scripted, l.closes(r)
	}
	if wait > 0 {
		l.away[key] = away{r.At, r.At.Add(wait)}
	}
	return wait, wait > 0 && key == keyAccount
}

// over counts the request, or returns how long it must stay away and what is closed.
func (l *Limiter) over(r Request) (time.Duration, string) {
	chat := l.limits.Shared
	if r.Direct {
		chat = l.limits.Direct
	}
	counts := []struct {
		key    string
		closes string
		limit  Limit
	}{{keyAccount, keyAccount, l.limits.Account}, {l.closes(r), l.closes(r), chat}}
	if !l.limits.Whole {
		counts[0].closes = l.closes(r)
	}
	if counts[1].key == keyEdits {
		counts[1].limit = l.limits.Edits
	}
	for _, c := range counts {
		if c.limit.Calls == 0 {
			continue
		}
		first := 0
		for _, at := range l.taken[c.key] {
			if r.At.Sub(at) >= c.limit.Per {
				first++
			}
		}
		within := l.taken[c.key][first:]
		l.taken[c.key] = within
		if len(within) >= c.limit.Calls {
			wait := within[len(within)-c.limit.Calls].Add(c.limit.Per).Sub(r.At)
			return l.units(wait), c.closes
		}
	}
	for _, c := range counts {
		l.taken[c.key] = append(l.taken[c.key], r.At)
	}
	return 0, ""
}

func (l *Limiter) units(d time.Duration) time.Duration {
	unit := max(l.limits.Unit, time.Millisecond)
	return (d + unit - 1) / unit * unit
}
