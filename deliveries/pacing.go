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
// as sends. Whatever is free may be used by anybody; how new cards and final answers
// share what is short is told at Pacer.
type Budget struct {
	Account Rate // All calls of the account.
	Direct  Rate // Calls to one chat with one person.
	Group   Rate // Calls to one shared chat.
	Edits   Rate // All edits of the account, where the platform counts them apart.
}

// The budgets keep so far below the platforms' figures that a call which is 100 ms late,
// between its place and its first byte, is not one too many for the platform.

// TelegramBudget keeps below the documented figures: about 1 message a second in
// one chat with bursts tolerated, 20 a minute in a group, 30 a second for the
// bot; edits count like sends.
func TelegramBudget() Budget {
	return Budget{
		Account: Rate{Events: 25, Per: time.Second, Burst: 3},
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
	return Budget{Account: Rate{Events: 40, Per: time.Second, Burst: 5}, Direct: chat, Group: chat}
}

// Call is what a budget is spent on.
type Call struct {
	Account core.AccountRef
	Address string
	Direct  bool // A chat with one person.
	Edit    bool // The call edits a message; otherwise it posts one.
	Final   bool // The call shows a final answer; otherwise it counts as a new card.
}

// Pause is the answer of a Pacer.
type Pause struct {
	Wait   time.Duration // Booked: until the call may leave. Otherwise: until asking again may help.
	Booked bool          // The budgets are spent; false when Wait is over the limit asked for.
	Chat   time.Duration // So long no call at all may go to the chat, and none after this one if it is booked.
	Lane   time.Duration // Not booked: so long no call of the account, final or not as this one, may leave.
}

// Pacer hands out send budgets. A shared one falls back to local budgets when it
// loses its server: it never fails and never blocks for long.
//
// Every bucket is shared by one rule, in which nothing is kept for anybody who does
// not ask:
//
//   - While no card waits, final answers may use all of it, and the other way round.
//   - A card that is told to come back has the next free place kept for it: final
//     answers book the one after that. So it leaves within about one interval.
//   - While final answers wait, this is so for every fourth place, and no card has
//     another. So a flood of cards leaves them three quarters, and one that comes into
//     it leaves next.
//
// A place is kept until a second after the time at which somebody was told to come
// back, whether they do or not.
type Pacer interface {
	// Reserve books the next moment for the call, if that is at most limit away.
	Reserve(ctx context.Context, c Call, limit time.Duration) Pause
	// Hold lets no call to the address, or with "" to none of the account, leave for d:
	// the platform asked for it. It spreads what the store records, and sooner.
	Hold(ctx context.Context, account core.AccountRef, address string, d time.Duration)
}

// LocalPacer keeps the budgets of one process. It is safe for concurrent use.
type LocalPacer struct {
	now     func() time.Time
	budgets map[core.Surface]Budget
	held    *blocks

	mu      sync.Mutex
	meters  map[Bucket]Meter // Absent: full, and nobody waits.
	pruneAt int
}

// pruneSize is the number of buckets that are kept before full ones are dropped.
const pruneSize = 1024

// NewLocalPacer returns a pacer with full budgets; channels without a budget are
// not paced.
func NewLocalPacer(budgets map[core.Surface]Budget, now func() time.Time) *LocalPacer {
	return &LocalPacer{
		now: now, budgets: budgets, held: newBlocks(now), meters: make(map[Bucket]Meter), pruneAt: pruneSize,
	}
}

// Reserve implements Pacer.
func (p *LocalPacer) Reserve(_ context.Context, c Call, limit time.Duration) Pause {
	b, ok := p.budgets[c.Account.Channel]
	if !ok {
		return Pause{Booked: true}
	}
	if d := p.held.remaining(c.Account, c.Address); d > 0 {
		return Pause{Wait: d}
	}
	costs := b.Costs(c)
	meters := make([]Meter, len(costs))
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, k := range costs {
		meters[i] = p.meters[k.Bucket]
	}
	now := p.now()
	pause := Spend(meters, costs, c.Final, limit, now)
	for i, k := range costs {
		p.meters[k.Bucket] = meters[i]
	}
	p.prune(now)
	return pause
}

// Hold implements Pacer.
func (p *LocalPacer) Hold(_ context.Context, account core.AccountRef, address string, d time.Duration) {
	p.held.add(account, address, d)
}

// prune drops buckets that are full again, so that the map holds the chats of the
// last moments only.
func (p *LocalPacer) prune(now time.Time) {
	if len(p.meters) < p.pruneAt {
		return
	}
	for k, m := range p.meters {
		if !m.Until().After(now) {
			delete(p.meters, k)
		}
	}
	p.pruneAt = max(pruneSize, 2*len(p.meters))
}
