//go:build unix

package faults

import (
	"context"
	"regexp"
	"sync"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// cards is what a person sees of the messengers, found by the title of a question. The
// messengers list all of their messages, so that looking costs more the more there are:
// it is done as often as it takes a tenth of the time.
type cards struct {
	town *town

	mu      sync.Mutex
	changed chan struct{}
	open    map[cardKey]fakes.Message // With buttons.
	replies map[string]string         // Texts by the locator of the message that was answered.
}

// cardKey is where a card is and what it asks.
type cardKey struct {
	on    core.Surface
	title string
}

// titled finds the title of a campaign's question in the text of its card.
var titled = regexp.MustCompile(`Fault question [0-9]+\b`)

const (
	lookEvery = 100 * time.Millisecond
	lookShare = 9 // Pause this many times as long as a look took.
)

func newCards(t *town) *cards {
	return &cards{town: t, changed: make(chan struct{}), open: map[cardKey]fakes.Message{}, replies: map[string]string{}}
}

// watch looks until ctx ends.
func (c *cards) watch(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		c.look()
		if pause(ctx, max(lookEvery, lookShare*time.Since(began))) != nil {
			return
		}
	}
}

// messages lists what the bot has sent, on each messenger.
func (t *town) messages() map[core.Surface][]fakes.Message {
	return map[core.Surface][]fakes.Message{
		core.SurfaceTelegram: t.telegram.Messages(), core.SurfaceSlack: t.slack.Messages(), core.SurfaceDiscord: t.discord.Messages(),
	}
}

// message reads one as it is now.
func (t *town) message(on core.Surface, locator string) (fakes.Message, bool) {
	switch on {
	case core.SurfaceTelegram:
		return t.telegram.Message(locator)
	case core.SurfaceSlack:
		return t.slack.Message(locator)
	default:
		return t.discord.Message(locator)
	}
}

func (c *cards) look() {
	all := c.town.messages()
	c.mu.Lock()
	defer c.mu.Unlock()
	for on, list := range all {
		for i := range list {
			m := &list[i]
			if m.ReplyTo != "" {
				c.replies[m.ReplyTo] = m.Text
			}
			if title := titled.FindString(m.Text); title != "" && asks(m) && !m.Deleted {
				c.open[cardKey{on, title}] = *m
			}
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until find reports true or ctx ends.
func await[T any](ctx context.Context, c *cards, find func() (T, bool)) (T, bool) {
	for {
		c.mu.Lock()
		got, ok := find()
		changed := c.changed
		c.mu.Unlock()
		if ok {
			return got, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return got, false
		}
	}
}

// card waits for the newest card of a question with buttons.
func (c *cards) card(ctx context.Context, on core.Surface, title string) (fakes.Message, bool) {
	return await(ctx, c, func() (fakes.Message, bool) {
		m, ok := c.open[cardKey{on, title}]
		return m, ok
	})
}

// reply waits for the message that replies to another.
func (c *cards) reply(ctx context.Context, to string) (string, bool) {
	return await(ctx, c, func() (string, bool) {
		text, ok := c.replies[to]
		return text, ok
	})
}

// asks reports whether a message still asks for something: a settled card has at most
// the buttons of its outcome.
func asks(m *fakes.Message) bool {
	return len(m.ButtonsBut(presentation.OutcomeLabels()...)) > 0
}
