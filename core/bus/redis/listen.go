package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/saysohq/sayso/core"
)

// errSilent is a subscription on which our own beats are not heard any more.
var errSilent = errors.New("nothing is heard on the subscription")

// Pauses between two tries to subscribe.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Second
)

// listen keeps the one subscription of this replica.
func (b *Bus) listen(ctx context.Context) {
	for retry := firstRetry; ctx.Err() == nil; retry = min(2*retry, lastRetry) {
		began := b.deps.Now()
		err := b.subscription(ctx)
		if ctx.Err() != nil {
			return
		}
		b.down(ctx, err)
		if b.deps.Now().Sub(began) > lastRetry { // It had worked: try at once.
			retry = firstRetry
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// subscription is one subscription from its beginning to its end. The library would
// mend one by itself: but then nobody would be told that hints were lost.
func (b *Bus) subscription(ctx context.Context) error {
	ps := b.client.Subscribe(ctx)
	end := func() { _ = ps.Close() } // Closed twice is no fault.
	defer end()
	stop := context.AfterFunc(ctx, end) // A read ends with its connection only.
	defer stop()
	if err := b.confirm(ctx, ps); err != nil {
		return err
	}
	b.subscribed(ctx, end)
	for {
		got, err := ps.Receive(ctx)
		if err != nil {
			return fmt.Errorf("receive hints: %w", err)
		}
		if m, ok := got.(*goredis.Message); ok {
			b.hear(ctx, m.Payload)
		}
	}
}

// confirm subscribes and waits until Redis says that it did: from then on nothing is
// missed.
func (b *Bus) confirm(ctx context.Context, ps *goredis.PubSub) error {
	limited, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := ps.Subscribe(limited, b.channel); err != nil {
		return fmt.Errorf("subscribe to hints: %w", err)
	}
	if _, err := ps.ReceiveTimeout(limited, callTimeout); err != nil {
		return fmt.Errorf("await subscription to hints: %w", err)
	}
	return nil
}

// subscribed tells everybody to look at what happened before.
func (b *Bus) subscribed(ctx context.Context, end func()) {
	now := b.deps.Now()
	b.mu.Lock()
	b.link.began(now, end)
	b.peers.resubscribed(now)
	b.mu.Unlock()
	b.resync(ctx, now)
}

// hear takes one message from the channel, where anybody may write.
func (b *Bus) hear(ctx context.Context, text string) {
	m, err := decode(text)
	if err != nil {
		b.refuse(ctx, err)
		return
	}
	now := b.deps.Now()
	if m.sender == b.self { // What it says was dispatched when it was said.
		b.echo(ctx, now)
		return
	}
	b.mu.Lock()
	lost, known := b.peers.note(&m, now)
	b.mu.Unlock()
	if !known {
		b.deps.Metrics.refused(strangeSender)
		return
	}
	b.dispatch(ctx, m.hints)
	if lost {
		b.suspect(ctx)
	}
}

// echo records that our own beat came back.
func (b *Bus) echo(ctx context.Context, now time.Time) {
	b.mu.Lock()
	was := b.link.up()
	b.link.beat(now)
	is := b.link.up()
	b.mu.Unlock()
	if is && !was {
		b.back(ctx)
	}
}

// dispatch hands the hints of others to the subscribers. A zero hint takes its turn
// with our own suspicions: nobody makes everybody look more often than that.
func (b *Bus) dispatch(ctx context.Context, hints []core.Hint) {
	b.deps.Metrics.heard(len(hints))
	said := hints[:0]
	for _, h := range hints {
		if h.ApprovalID == "" {
			b.suspect(ctx)
			continue
		}
		said = append(said, h)
	}
	b.deps.Local.Publish(ctx, said...)
}

// refuse drops a message that is not ours. One of another version may be a replica's
// that is newer or older than this: what it says is lost on us.
func (b *Bus) refuse(ctx context.Context, err error) {
	switch {
	case errors.Is(err, errVersion):
		b.deps.Metrics.refused(strangeVersion)
		b.suspect(ctx)
	case errors.Is(err, errTooLarge):
		b.deps.Metrics.refused(strangeTooLarge)
	default:
		b.deps.Metrics.refused(strangeMalformed)
	}
}
