package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// Send implements channels.Channel. Errors: *channels.Error.
func (c *Channel) Send(ctx context.Context, to string, r channels.Rendered) (string, error) {
	a, err := parseAddress(to)
	if err != nil {
		return "", err
	}
	m, ok := r.Payload.(message)
	if !ok {
		return "", foreignPayload(opSend)
	}
	return c.send(ctx, a, m, 0)
}

func foreignPayload(op string) error {
	return &channels.Error{Class: core.FailureRejected, Op: op, Detail: "the card was rendered by another channel", NotSent: true}
}

// send posts a message; where the platform does not take its layout it is posted
// once more without any.
func (c *Channel) send(ctx context.Context, to address, m message, replyTo int) (string, error) {
	sent, refused, failed := c.post(ctx, to, m, replyTo)
	if failed != nil && failed.Class == core.FailureRejected && refused.names(layoutWords) {
		c.log.LogAttrs(ctx, slog.LevelError, "layout refused, sending plain", slog.String("reason", failed.Detail))
		sent, _, failed = c.post(ctx, to, m.plain(), replyTo)
	}
	if failed != nil {
		return "", failed
	}
	if landed := sent.MessageThreadID; to.thread != 0 && landed != to.thread {
		// A deleted topic: the platform moves the message to General without a word.
		c.log.LogAttrs(ctx, slog.LevelWarn, "message landed outside its topic", slog.Int64("chat", to.chat), slog.Int("topic", to.thread))
	}
	return locator{chat: sent.Chat.ID, message: sent.ID}.String(), nil
}

func (c *Channel) post(ctx context.Context, to address, m message, replyTo int) (*models.Message, refusal, *channels.Error) {
	var sent *models.Message
	params := &bot.SendMessageParams{
		ChatID: to.chat, MessageThreadID: to.thread, Text: m.text, Entities: m.entities,
		LinkPreviewOptions: noPreview(), ReplyParameters: reply(replyTo),
	}
	if m.keyboard != nil {
		params.ReplyMarkup = m.keyboard // A nil pointer in the interface would be sent as null.
	}
	r, failed := c.call(ctx, opSend, func(ctx context.Context) (err error) {
		sent, err = c.bot.SendMessage(ctx, params)
		return err
	})
	return sent, r, failed
}

// noPreview keeps the platform from fetching what a card links to.
func noPreview() *models.LinkPreviewOptions {
	disabled := true
	return &models.LinkPreviewOptions{IsDisabled: &disabled}
}

// reply quotes a message of the same chat, if it is still there.
func reply(to int) *models.ReplyParameters {
	if to == 0 {
		return nil
	}
	return &models.ReplyParameters{MessageID: to, AllowSendingWithoutReply: true}
}

// Edit implements channels.Channel. A message that shows r already counts as
// replaced; one that was deleted, or that the platform does not let the bot edit,
// as retired. Errors: *channels.Error.
func (c *Channel) Edit(ctx context.Context, where string, r channels.Rendered) (core.DeliveryOutcome, error) {
	l, err := parseLocator(opEdit, where)
	if err != nil {
		return core.OutcomeNone, err
	}
	m, ok := r.Payload.(message)
	if !ok {
		return core.OutcomeNone, foreignPayload(opEdit)
	}
	refused, failed := c.edit(ctx, l, m)
	same := refused.names([]string{notModified}) // Its long form speaks of reply markup too.
	if failed != nil && failed.Class == core.FailureRejected && !same && refused.names(layoutWords) {
		c.log.LogAttrs(ctx, slog.LevelError, "layout refused, editing plain", slog.String("reason", failed.Detail))
		refused, failed = c.edit(ctx, l, m.plain())
		same = refused.names([]string{notModified})
	}
	switch {
	case failed == nil, same:
		return core.OutcomeReplaced, nil
	case refused.names(retiredWords):
		return core.OutcomeRetired, nil
	}
	return core.OutcomeNone, failed
}

func (c *Channel) edit(ctx context.Context, l locator, m message) (refusal, *channels.Error) {
	params := &bot.EditMessageTextParams{
		ChatID: l.chat, MessageID: l.message, Text: m.text, Entities: m.entities, LinkPreviewOptions: noPreview(),
	}
	if m.keyboard != nil {
		params.ReplyMarkup = m.keyboard // Left out, the platform takes the old one away.
	}
	return c.call(ctx, opEdit, func(ctx context.Context) error {
		_, err := c.bot.EditMessageText(ctx, params)
		return err
	})
}

// Bounds of a detail in a chat.
const (
	maxParts  = 4    // Messages; beyond it, one file.
	partUnits = 4000 // UTF-16 units of one part, which leaves room for its number.
)

// SendDetail implements channels.Detailer: up to four messages, or a text file.
// Errors: *channels.Error. A call that fails half-way is repeated from the start:
// reading a part twice does no harm.
func (c *Channel) SendDetail(ctx context.Context, to, card string, shown presentation.Card) error {
	a, err := parseAddress(to)
	if err != nil {
		return err
	}
	l, err := parseLocator(opSend, card)
	if err != nil {
		return err
	}
	text := clean(shown.Command + shown.Body)
	if strings.TrimSpace(text) == "" {
		text = firstOf(shown.Summary, shown.Title)
	}
	parts := split(text, partUnits)
	if len(parts) > maxParts {
		return c.sendFile(ctx, a, l.message, text, shown.Omitted)
	}
	for i, part := range parts {
		var b builder
		b.write(fmt.Sprintf("The whole action, part %d of %d:\n", i+1, len(parts)), "")
		b.write(part, models.MessageEntityTypePre)
		if _, err := c.send(ctx, a, message{text: b.text.String(), entities: b.entities}, l.message); err != nil {
			return err
		}
	}
	return nil
}

func (c *Channel) sendFile(ctx context.Context, to address, replyTo int, text string, omitted int64) error {
	caption := "The whole action."
	if omitted > 0 {
		caption = fmt.Sprintf("The action as far as it was kept: %d bytes are missing.", omitted)
	}
	_, failed := c.call(ctx, opSend, func(ctx context.Context) error {
		_, err := c.bot.SendDocument(ctx, &bot.SendDocumentParams{
			ChatID: to.chat, MessageThreadID: to.thread, Caption: caption, ReplyParameters: reply(replyTo),
			Document: &models.InputFileUpload{Filename: "action.txt", Data: strings.NewReader(text)},
		})
		return err
	})
	if failed != nil {
		return failed
	}
	return nil
}
