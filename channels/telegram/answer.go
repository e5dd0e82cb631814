package telegram

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// Limits of answers and prompts in UTF-16 units.
const (
	maxAnswer      = 200
	maxPlaceholder = 64
	maxName        = 64
)

// How hard an answer is tried.
const (
	answerTries    = 3
	answerPatience = 10 * time.Second
)

const answerNoPrompt = "I could not ask for your text here, so nothing was changed. Please try again."

// answerClick gives the one answer that a query takes, an empty one too, because
// the client shows a spinner until it comes. A query that is too old, or an answer
// that does not get through, changes nothing that was decided.
func (c *Channel) answerClick(ctx context.Context, queryID string, a channels.Answer) {
	text, _ := cut(clean(a.Text), maxAnswer)
	failed := c.persist(ctx, func() *channels.Error {
		_, failed := c.call(ctx, opAnswer, func(ctx context.Context) error {
			_, err := c.bot.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: queryID, Text: text, ShowAlert: a.Alert})
			return err
		})
		return failed
	})
	c.unanswered(ctx, "click", failed)
}

// settle makes a question of ours show how it ended, or the next one, in the place of its
// own text and buttons.
func (c *Channel) settle(ctx context.Context, where string, a channels.Answer) {
	l, err := parseLocator(opEdit, where)
	if err != nil {
		return // The platform's own words make one that can be read.
	}
	m := c.said(ctx, a.Settled, a.Actions)
	c.unanswered(ctx, "question", c.persist(ctx, func() *channels.Error {
		refused, failed := c.edit(ctx, l, m)
		if refused.names([]string{notModified}) || refused.names(retiredWords) {
			return nil
		}
		return failed
	}))
}

// persist repeats what answers a person while that is sure to do no harm: the
// platform refused the call for now, or it never left. The ledger knows nothing of
// answers, so nobody else would. A person who waits longer has turned away.
func (c *Channel) persist(ctx context.Context, try func() *channels.Error) *channels.Error {
	for tries := 0; ; tries++ {
		failed := try()
		if failed == nil || tries == answerTries-1 {
			return failed
		}
		again := failed.Class == core.FailureRateLimited ||
			failed.Class == core.FailureTemporary && (failed.NotSent || errors.Is(failed, errRefused))
		wait := max(failed.RetryAfter, firstPause<<tries)
		if !again || wait > answerPatience || c.cfg.Pause(ctx, wait) != nil {
			return failed
		}
	}
}

// answerText replies to a typed message. Where it cannot be posted the person has
// the committed card to look at.
func (c *Channel) answerText(ctx context.Context, where spot, a channels.Answer) {
	if a.Text == "" {
		return
	}
	m := c.said(ctx, a.Text, a.Actions)
	failed := c.persist(ctx, func() *channels.Error {
		if _, err := c.send(ctx, where.to, m, where.reply); err != nil {
			return asError(err)
		}
		return nil
	})
	c.unanswered(ctx, "text", failed)
}

// said lays a text of ours out with its buttons.
func (c *Channel) said(ctx context.Context, text string, actions []core.Action) message {
	var b builder
	text, _ = cut(clean(text), maxText)
	b.prose(text, "")
	m := message{text: b.text.String(), entities: b.entities}
	k, _, err := c.buttons(actions)
	if err != nil {
		c.log.LogAttrs(ctx, slog.LevelError, "answer has a button that cannot be made")
	}
	m.keyboard = k
	return m
}

func (c *Channel) unanswered(ctx context.Context, kind string, failed *channels.Error) {
	if failed != nil {
		c.log.LogAttrs(ctx, slog.LevelDebug, "not answered", slog.String("kind", kind), slog.String("reason", failed.Error()))
	}
}

// ask posts a question that opens the person's keyboard, for them alone, and
// records where it stands. It reports false when the person cannot answer it; a
// question that nobody could match an answer to is taken away again.
func (c *Channel) ask(ctx context.Context, in channels.Inbound, where spot, who models.User, p *channels.Prompt) bool {
	var b builder
	if !where.direct {
		// The platform asks those alone who are mentioned.
		b.mention(mentionable(who), who.ID)
		b.write(": ", "")
	}
	text, _ := cut(clean(p.Text), maxText-b.units)
	b.prose(text, "")
	placeholder, _ := cut(clean(p.Placeholder), maxPlaceholder)
	var sent *models.Message
	params := &bot.SendMessageParams{
		ChatID: where.to.chat, MessageThreadID: where.to.thread, Text: b.text.String(), Entities: b.entities,
		LinkPreviewOptions: noPreview(), ReplyParameters: reply(where.reply),
		ReplyMarkup: &models.ForceReply{ForceReply: true, InputFieldPlaceholder: placeholder, Selective: !where.direct},
	}
	failed := c.persist(ctx, func() *channels.Error {
		_, failed := c.call(ctx, opSend, func(ctx context.Context) (err error) {
			sent, err = c.bot.SendMessage(ctx, params)
			return err
		})
		return failed
	})
	if failed != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "prompt not posted", slog.String("reason", failed.Error()))
		return false
	}
	at := locator{chat: sent.Chat.ID, message: sent.ID}
	if err := in.Placed(ctx, p.ID, at.String()); err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "prompt not recorded", slog.Any("error", err))
		_, _ = c.call(ctx, opAnswer, func(ctx context.Context) error {
			_, err := c.bot.DeleteMessage(ctx, &bot.DeleteMessageParams{ChatID: at.chat, MessageID: at.message})
			return err
		})
		return false
	}
	return true
}

// mentionable is a name to mention a person by. One that would itself mention
// somebody else is not used.
func mentionable(u models.User) string {
	name, _ := cut(clean(strings.TrimSpace(u.FirstName+" "+u.LastName)), maxName)
	if name == "" || slices.ContainsFunc(words(name), linkable) {
		return "You"
	}
	return name
}
