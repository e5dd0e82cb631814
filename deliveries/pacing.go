package deliveries

import (
	"context"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

// Rate is a budget of calls: Events per Per, of which Burst may come at once. In
// any window of length Per at most Events+Burst calls pass. The zero Rate is no
// limit.
type Rate struct {
	Events int
	Per    time.Duration
	Burst  int
}

// Budget is what one account of a channel may send. Edits spend the same budgets
// as sends; new cards keep a quarter of each.
type Budget struct {
	Account Rate // All calls of the account.
	Direct  Rate // Calls to one chat with one person.
	Group   Rate // Calls to one shared chat.
	Edits   Rate // All edits of the account, where the platform counts them apart.
}

// TelegramBudget keeps below the documented figures: about 1 message a second in
// one chat with bursts tolerated, 20 a minute in a group, 30 a second for the
// bot; edits count like sends.
func TelegramBudget() Budget {
	return Budget{
		Account: Rate{Events: 25, Per: time.Second, Burst: 5},
		Direct:  Rate{Events: 1, Per: time.Second, Burst: 3},
		Group:   Rate{Events: 15, Per: time.Minute, Burst: 5},
	}
}

// SlackBudget keeps below the documented figures: about 1 chat.postMessage a
// second for a channel, and chat.update in tier 3 (50 a minute for a workspace).
func SlackBudget() Budget {
	chat := Rate{Events: 1, Per: time.Second, Burst: 3}
	return Budget{Direct: chat, Group: chat, Edits: Rate{Events: 40, Per: time.Minute, Burst: 10}}
}

// DiscordBudget keeps below the documented 50 calls a second for a bot and the
// observed 5 in 5 seconds for a channel.
func DiscordBudget() Budget {
	chat := Rate{Events: 4, Per: 5 * time.Second, Burst: 1}
	return Budget{Account: Rate{Events: 40, Per: time.Second, Burst: 10}, Direct: chat, Group: chat}
}

// Call is what a budget is spent on.
type Call struct {
	Account core.AccountRef
	Address string
	Direct  bool // A chat with one person.
	Edit    bool // The call edits a message; otherwise it posts one.
	Final   bool // The call shows a final answer: it may not touch the quarter of new cards.
}

// Pause is the answer of a Pacer.
type Pause struct {
	Wait   time.Duration // Until the call may leave.
	Booked bool          // The budget is spent; false when Wait is over the limit asked for.
	Chat   bool          // Not booked: the chat's own budget is the cause, for both lanes.
}

// Pacer hands out send budgets. A shared one falls back to local budgets when it
// loses its server: it never fails and never blocks for long.
type Pacer interface {
	// Reserve books the next moment for the call, if that is at most limit away.
	Reserve(ctx context.Context, c Call, limit time.Duration) Pause
}

// LocalPacer keeps the budgets of one process. It is safe for concurrent use.
type LocalPacer struct {
	now     func() time.Time
	budgets map[core.Surface]Budget

	mu      sync.Mutex
	full    map[bucket]time.Time // When the bucket is full again; absent: full.
	pruneAt int
}

// bucket names one budget; lane is set for the part that final answers may use.
type bucket struct {
	place
	kind  bucketKind
	final bool
}

type bucketKind int

const (
	bucketAccount bucketKind = iota
	bucketChat
	bucketEdits
)

// pruneSize is the number of buckets that are kept before full ones are dropped.
const pruneSize = 1024

// NewLocalPacer returns a pacer with full budgets; channels without a budget are
// not paced.
func NewLocalPacer(budgets map[core.Surface]Budget, now func() time.Time) *LocalPacer {
	return &LocalPacer{now: now, budgets: budgets, full: make(map[bucket]time.Time), pruneAt: pruneSize}
}

// Reserve implements Pacer by the generic cell rate algorithm: each bucket is one
// point in time, and a booking moves it.
func (p *LocalPacer) Reserve(_ context.Context, c Call, limit time.Duration) Pause {
	b, ok := p.budgets[c.Account.Channel]
	if !ok {
		return Pause{Booked: true}
	}
	spends := b.spends(c)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	var pause Pause
	for _, s := range spends {
		if w := s.rate.wait(p.full[s.bucket], now); w > pause.Wait {
			pause.Wait, pause.Chat = w, s.kind == bucketChat && !s.final
		}
	}
	if pause.Wait > limit {
		return pause
	}
	for _, s := range spends {
		p.full[s.bucket] = s.rate.spend(p.full[s.bucket], now.Add(pause.Wait))
	}
	p.prune(now)
	return Pause{Wait: pause.Wait, Booked: true}
}

// prune drops buckets that are full again, so that the map holds the chats of the
// last moments only.
func (p *LocalPacer) prune(now time.Time) {
	if len(p.full) < p.pruneAt {
		return
	}
	for k, full := range p.full {
		if !full.After(now) {
			delete(p.full, k)
		}
	}
	p.pruneAt = max(pruneSize, 2*len(p.full))
}

type spending struct {
	bucket
	rate Rate
}

// spends lists what a call costs. A final answer pays twice: from the budget, and
// from three quarters of it, which leaves the rest to new cards.
func (b Budget) spends(c Call) []spending {
	chat := b.Group
	if c.Direct {
		chat = b.Direct
	}
	out := make([]spending, 0, 5)
	add := func(kind bucketKind, address string, r Rate, shared bool) {
		if r.Events <= 0 {
			return
		}
		k := bucket{place: place{c.Account, address}, kind: kind}
		out = append(out, spending{k, r})
		if shared && c.Final {
			k.final = true
			out = append(out, spending{k, r.threeQuarters()})
		}
	}
	add(bucketAccount, "", b.Account, true)
	add(bucketChat, c.Address, chat, true)
	if c.Edit {
		add(bucketEdits, "", b.Edits, false)
	}
	return out
}

func (r Rate) threeQuarters() Rate {
	return Rate{Events: 3 * r.Events, Per: 4 * r.Per, Burst: max(1, 3*r.Burst/4)}
}

// interval is the time that one call costs.
func (r Rate) interval() time.Duration { return r.Per / time.Duration(r.Events) }

// wait is how long a call must wait for a bucket that is full again at full.
func (r Rate) wait(full, now time.Time) time.Duration {
	spare := time.Duration(max(1, r.Burst)-1) * r.interval()
	return max(full.Add(-spare).Sub(now), 0)
}

// spend takes one call out of the bucket at the given moment.
func (r Rate) spend(full, at time.Time) time.Time {
	if full.Before(at) {
		full = at
	}
	return full.Add(r.interval())
}
