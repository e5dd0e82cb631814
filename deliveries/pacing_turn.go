package deliveries

import (
	"context"
	"time"

	"github.com/saysohq/sayso/core"
)

// reserve asks for a place in the budgets.
func (t *turn) reserve(ctx context.Context) Pause {
	s, final := t.next(), t.a.Status.Terminal()
	limit := cardHold
	if final {
		limit = finalHold
	}
	return t.w.deps.Pacer.Reserve(ctx, Call{
		Account: t.ref, Address: t.address, Direct: t.d.PersonID != "",
		Edit: s == stepEdit || s == stepDetail, Final: final,
	}, limit)
}

// turnedAway gives back a row for which the queue of its chat has no room, or the budget
// of the chat no place.
func (t *turn) turnedAway(ctx context.Context) {
	wait, shut := t.w.chats.comeBack(place{t.ref, t.address}, laneOf(&t.a))
	if shut {
		t.noPlace(ctx, wait, wait)
		return
	}
	t.giveBack(ctx, wait)
}

// noPlace gives back a row that has no place before wait has passed. Where nobody has
// one in this chat, whatever else waits for it need not be claimed either.
func (t *turn) noPlace(ctx context.Context, wait, chat time.Duration) {
	if chat > 0 {
		before := t.w.deps.Now()
		t.w.round.wait()
		took := t.w.deps.Now().Sub(before)
		wait, chat = max(wait-took, 0), max(chat-took, 0)
	}
	t.release(ctx, core.ReleaseDelivery{RetryIn: ceilMillis(wait), BlockFor: ceilMillis(chat)})
}

// early is when a row comes back for a place that is so long away: so much before it
// that it can book the place itself, however long the way back takes, and that the
// place is not lost to a bucket without a burst. A wait that a row could have sat out is
// none for a place: a refusal ends no sooner.
func early(wait time.Duration) time.Duration {
	if wait <= finalHold {
		return wait
	}
	return wait - min(wait/4, earlyMost)
}

const (
	// earlyMost is less than finalHold, or the row would be sent away again.
	earlyMost = 150 * time.Millisecond
	// cardHold and finalHold are how long a row may hold its slot for a budget; past
	// it the row is given back and due again when the budget allows. Final answers
	// book less far ahead: so a card finds a place at once in a bucket that is quick
	// (an account's), however many of them are coming.
	cardHold  = 250 * time.Millisecond
	finalHold = 200 * time.Millisecond
)
