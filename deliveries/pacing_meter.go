package deliveries

import (
	"slices"
	"time"

	"github.com/saysohq/sayso/core"
)

// BucketKind says what a bucket counts.
type BucketKind string

// The kinds of buckets.
const (
	BucketAccount BucketKind = "account" // All calls of an account.
	BucketChat    BucketKind = "chat"    // The calls to one chat.
	BucketEdits   BucketKind = "edits"   // All edits of an account.
)

// Bucket names one budget that is being spent.
type Bucket struct {
	Account core.AccountRef
	Address string // Of a chat; "" for the account's own.
	Kind    BucketKind
}

// Cost is one bucket out of which a call takes its place, and how that fills.
type Cost struct {
	Bucket
	Rate Rate
}

// Costs lists what a call costs, one place in each bucket: account, chat, and edits
// where the platform counts them apart. Budgets without limit are left out.
func (b Budget) Costs(c Call) []Cost {
	chat := b.Group
	if c.Direct {
		chat = b.Direct
	}
	costs := []Cost{
		{Bucket{Account: c.Account, Kind: BucketAccount}, b.Account},
		{Bucket{Account: c.Account, Address: c.Address, Kind: BucketChat}, chat},
	}
	if c.Edit {
		costs = append(costs, Cost{Bucket{Account: c.Account, Kind: BucketEdits}, b.Edits})
	}
	return slices.DeleteFunc(costs, func(k Cost) bool { return k.Rate.Events <= 0 })
}

// Meter is the state of one bucket. It is four points in time and nothing else, so
// that one atomic script can keep it for many processes. The zero Meter is a full
// bucket for which nobody waits.
type Meter struct {
	Full       time.Time // When the bucket is full again (generic cell rate algorithm).
	NextCard   time.Time // From then on a card goes before the final answers that wait.
	CardWaits  time.Time // Until then the next place is kept for a card that was told to come back.
	FinalWaits time.Time // Until then cards keep to NextCard.
}

// markGrace is how late somebody who was told to come back may be: the longest time
// between two looks for due rows. Longer, a place is kept for nobody; shorter, a
// card loses its place to whoever is quicker.
const markGrace = time.Second

// Until is when the meter is like the zero Meter again.
func (m *Meter) Until() time.Time {
	return slices.MaxFunc([]time.Time{m.Full, m.NextCard, m.CardWaits, m.FinalWaits}, time.Time.Compare)
}

// Spend is the rule of Pacer. It books one call, which shows a final answer or not, in
// all the buckets that it costs, if it may leave within limit from now; otherwise it
// notes in those that are short that somebody waits. meters belong to costs one by one
// and are changed in place. A shared pacer runs the same arithmetic where the meters are.
func Spend(meters []Meter, costs []Cost, final bool, limit time.Duration, now time.Time) Pause {
	var pause Pause
	waits := make([]time.Duration, len(costs))
	for i, k := range costs {
		waits[i] = meters[i].wait(k.Rate, final, now)
		pause.Wait = max(pause.Wait, waits[i])
	}
	if pause.Wait <= limit {
		pause.Booked = true
		for i, k := range costs {
			pause.taken(k, limit, k.Rate.wait(meters[i].Full, now))
			meters[i].spend(k.Rate, final, now.Add(pause.Wait))
		}
		return pause
	}
	for i, k := range costs {
		if waits[i] <= limit {
			continue
		}
		meters[i].mark(k.Rate, final, now, now.Add(pause.Wait+markGrace))
		pause.short(k.Kind, final, limit, waits[i], k.Rate.wait(meters[i].Full, now))
	}
	return pause
}

// taken notes what a place that was booked means for the chat; anyone is how long anybody
// had to wait for it.
func (p *Pause) taken(k Cost, limit, anyone time.Duration) {
	if k.Kind != BucketChat || anyone == 0 && k.Rate.Burst > 1 { // Then there may be another place.
		return
	}
	spare := time.Duration(max(k.Rate.Burst, 1)-1) * k.Rate.interval()
	if next := max(anyone, p.Wait-spare) + k.Rate.interval(); next > limit {
		p.Chat = next
	}
}

// short notes what one bucket that is short means for others: of the call's own kind
// until call has passed, and of any kind until anyone has.
func (p *Pause) short(kind BucketKind, final bool, limit, call, anyone time.Duration) {
	switch {
	case kind == BucketChat:
		if anyone > limit {
			p.Chat = anyone
		}
	case kind == BucketAccount || final: // Cards do not wait for the budget of edits.
		p.Lane = max(p.Lane, call)
	}
}

// wait is how long a call must wait for this bucket.
func (m *Meter) wait(r Rate, final bool, now time.Time) time.Duration {
	wait := r.wait(m.Full, now)
	switch {
	case final && m.CardWaits.After(now): // As if the card had left already.
		return r.wait(m.Full.Add(r.interval()), now)
	case !final && m.FinalWaits.After(now):
		return max(wait, m.NextCard.Sub(now))
	}
	return wait
}

// spend takes a place at the given moment.
func (m *Meter) spend(r Rate, final bool, at time.Time) {
	m.Full = r.spend(m.Full, at)
	if !final {
		m.CardWaits = time.Time{} // Others who wait will say so.
		m.NextCard = at.Add(r.cardEvery())
	}
}

// mark notes that somebody waits for this bucket. A card whose turn has not come has
// nothing kept for it.
func (m *Meter) mark(r Rate, final bool, now, until time.Time) {
	mark := &m.CardWaits
	if final {
		mark = &m.FinalWaits
	} else if m.NextCard.Sub(now) > r.wait(m.Full, now) {
		return
	}
	if until.After(*mark) {
		*mark = until
	}
}

// cardEvery is how long after a card the next one goes before final answers: every
// fourth place, less half a place, because rows come back a little late.
func (r Rate) cardEvery() time.Duration { return r.interval() * 7 / 2 }

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
