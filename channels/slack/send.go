package slack

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// Send implements channels.Channel. The locator holds the ids that the platform
// answered: posting to a person opens the direct chat, which has an id of its own.
// Errors: *channels.Error.
func (c *Channel) Send(ctx context.Context, to string, r channels.Rendered) (string, error) {
	a, err := parseAddress(to)
	if err != nil {
		return "", err
	}
	m, ok := r.Payload.(message)
	if !ok {
		return "", foreignPayload(opSend)
	}
	return c.send(ctx, opSend, a, m)
}

func foreignPayload(op string) error {
	return notOurs(op, "the card was rendered by another channel")
}

// send posts a message; where the platform does not take its layout it is posted once
// more in the plainest one.
func (c *Channel) send(ctx context.Context, op string, to address, m message) (string, error) {
	at, failed := c.post(ctx, op, to, m)
	if failed != nil && failed.Class == core.FailureRejected && slices.Contains(layoutCodes(), failed.Detail) {
		at, failed = c.post(ctx, op, to, m.plain())
	}
	if failed != nil {
		return "", failed
	}
	return at.String(), nil
}

func (c *Channel) post(ctx context.Context, op string, to address, m message) (locator, *channels.Error) {
	options := append(m.options(), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl())
	if to.thread != "" {
		options = append(options, slack.MsgOptionTS(to.thread))
	}
	a, failed := c.call(ctx, op, func(ctx context.Context) error {
		_, _, err := c.api.PostMessageContext(ctx, to.channel, options...)
		return err
	})
	if failed != nil {
		return locator{}, failed
	}
	got := a.got.Load()
	at := locator{channel: got.Channel, ts: got.TS}
	if !placeRule.MatchString(at.channel) || !tsRule.MatchString(at.ts) {
		return locator{}, broken(op, errNoAnswer, a) // It may stand there, under a name that nobody told.
	}
	return at, nil
}

// options are what a post and an edit have in common. "none" keeps names in the text
// from turning into mentions: for edits the platform's default is another.
func (m message) options() []slack.MsgOption {
	options := []slack.MsgOption{slack.MsgOptionText(m.notice, false), slack.MsgOptionParse(false)}
	if blocks := m.all(); len(blocks) > 0 {
		options = append(options, slack.MsgOptionBlocks(blocks...))
	}
	return options
}

// Edit implements channels.Channel. A message that was deleted, or that the platform
// does not let the app edit any more, counts as retired. Errors: *channels.Error.
func (c *Channel) Edit(ctx context.Context, where string, r channels.Rendered) (core.DeliveryOutcome, error) {
	l, err := parseLocator(opEdit, where)
	if err != nil {
		return core.OutcomeNone, err
	}
	m, ok := r.Payload.(message)
	if !ok {
		return core.OutcomeNone, foreignPayload(opEdit)
	}
	failed := c.edit(ctx, l, m)
	if failed != nil && failed.Class == core.FailureRejected && slices.Contains(layoutCodes(), failed.Detail) {
		failed = c.edit(ctx, l, m.plain())
	}
	switch {
	case failed == nil:
		return core.OutcomeReplaced, nil
	case slices.Contains(retiredCodes(), failed.Detail):
		return core.OutcomeRetired, nil
	}
	return core.OutcomeNone, failed
}

func (c *Channel) edit(ctx context.Context, l locator, m message) *channels.Error {
	_, failed := c.call(ctx, opEdit, func(ctx context.Context) error {
		_, _, _, err := c.api.UpdateMessageContext(ctx, l.channel, l.ts, m.options()...)
		return err
	})
	return failed
}

// Bounds of a detail in a chat, in characters after escaping.
const (
	partSize   = 2_900 // Of one block.
	partBlocks = 4     // Of one message.
)

// SendDetail implements channels.Detailer: messages in the card's thread, six for 64 KiB
// of plain text and more where it has to be escaped. Errors: *channels.Error. A call that fails
// half-way is repeated from the start: reading a part twice does no harm.
func (c *Channel) SendDetail(ctx context.Context, to, card string, shown presentation.Card) error {
	a, err := parseAddress(to)
	if err != nil {
		return err
	}
	l, err := parseLocator(opSend, card)
	if err != nil {
		return err
	}
	if a.thread == "" {
		a = address{channel: l.channel, thread: l.ts} // A direct chat too, by its own id.
	}
	text := clean(shown.Command + shown.Body)
	if strings.TrimSpace(text) == "" {
		text = firstOf(shown.Summary, shown.Title)
	}
	groups := slices.Collect(slices.Chunk(split(text, partSize), partBlocks))
	for i, group := range groups {
		heading := fmt.Sprintf("The whole action, part %d of %d:", i+1, len(groups))
		if shown.Omitted > 0 {
			heading = fmt.Sprintf("The action as far as it was kept (%d bytes are missing), part %d of %d:", shown.Omitted, i+1, len(groups))
		}
		m := message{notice: escape(heading)}
		head := new(part)
		head.write(heading, nil)
		m.add(head)
		for _, piece := range group {
			p := &part{pre: true}
			p.write(piece, nil)
			m.add(p)
		}
		if _, err := c.send(ctx, opSend, a, m); err != nil {
			c.log.LogAttrs(ctx, slog.LevelDebug, "detail broke off", slog.Int("part", i+1))
			return err
		}
	}
	return nil
}
