package channeltest

import (
	"context"
	"slices"
	"sync"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
)

// Inbox is a channels.Inbound that remembers what came in and answers as told. Its
// zero value answers every click "ok" and says nothing to texts.
type Inbox struct {
	OnClick  func(ctx context.Context, c channels.Click) channels.Answer
	OnText   func(ctx context.Context, t channels.Text) channels.Answer
	OnPlaced func(ctx context.Context, promptID, locator string) error

	signal fakes.Signal
	mu     sync.Mutex
	clicks []channels.Click
	texts  []channels.Text
	placed map[string]string
	shown  []Shown
}

// Shown is what a channel said about a card that was its answer.
type Shown struct {
	DeliveryID   string
	CardRevision int64
}

var _ channels.Inbound = (*Inbox)(nil)

// Click implements channels.Inbound.
func (i *Inbox) Click(ctx context.Context, c channels.Click) channels.Answer {
	i.mu.Lock()
	i.clicks = append(i.clicks, c)
	i.mu.Unlock()
	i.signal.Notify()
	if i.OnClick == nil {
		return channels.Answer{Text: "ok"}
	}
	return i.OnClick(ctx, c)
}

// Text implements channels.Inbound.
func (i *Inbox) Text(ctx context.Context, t channels.Text) channels.Answer {
	i.mu.Lock()
	i.texts = append(i.texts, t)
	i.mu.Unlock()
	i.signal.Notify()
	if i.OnText == nil {
		return channels.Answer{}
	}
	return i.OnText(ctx, t)
}

// Placed implements channels.Inbound.
func (i *Inbox) Placed(ctx context.Context, promptID, locator string) error {
	if i.OnPlaced != nil {
		if err := i.OnPlaced(ctx, promptID, locator); err != nil {
			return err
		}
	}
	i.mu.Lock()
	if i.placed == nil {
		i.placed = map[string]string{}
	}
	i.placed[promptID] = locator
	i.mu.Unlock()
	i.signal.Notify()
	return nil
}

// Shown implements channels.Inbound.
func (i *Inbox) Shown(_ context.Context, deliveryID string, cardRevision int64) error {
	i.mu.Lock()
	i.shown = append(i.shown, Shown{deliveryID, cardRevision})
	i.mu.Unlock()
	i.signal.Notify()
	return nil
}

// AwaitShown waits for n words about cards that were answers.
func (i *Inbox) AwaitShown(ctx context.Context, n int) ([]Shown, error) {
	return fakes.Await(ctx, &i.signal, func() ([]Shown, bool) {
		i.mu.Lock()
		defer i.mu.Unlock()
		return slices.Clone(i.shown), len(i.shown) >= n
	})
}

// AwaitClicks waits for n clicks.
func (i *Inbox) AwaitClicks(ctx context.Context, n int) ([]channels.Click, error) {
	return fakes.Await(ctx, &i.signal, func() ([]channels.Click, bool) {
		i.mu.Lock()
		defer i.mu.Unlock()
		return slices.Clone(i.clicks), len(i.clicks) >= n
	})
}

// AwaitTexts waits for n texts.
func (i *Inbox) AwaitTexts(ctx context.Context, n int) ([]channels.Text, error) {
	return fakes.Await(ctx, &i.signal, func() ([]channels.Text, bool) {
		i.mu.Lock()
		defer i.mu.Unlock()
		return slices.Clone(i.texts), len(i.texts) >= n
	})
}

// PlacedAt is where a prompt was recorded, "" when it was not.
func (i *Inbox) PlacedAt(promptID string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.placed[promptID]
}
