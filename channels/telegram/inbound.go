package telegram

import (
	"context"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/presentation"
)

// realm names the namespace of the platform's user ids.
const realm = "telegram"

// updateTime bounds the work on one update: the wait for a commit and the calls
// that answer.
const updateTime = 45 * time.Second

// allowedUpdates are the kinds of update that are asked for. The platform remembers
// the list across deployments, so it is sent every time. That the bot was removed
// or blocked is not among them: the next call to that chat says so.
func allowedUpdates() []string { return []string{"message", "callback_query"} }

// The accounts behind which real people hide in groups.
const (
	groupAnonymousBot = 1087968824
	channelBot        = 136817688
)

// spot is where an update came from and where an answer to it goes.
type spot struct {
	to     address
	direct bool
	reply  int // Message to quote; 0 for none.
}

// handle works on one update until it has ended. It never fails: what cannot be
// processed has ended too, or it would block its user's next clicks for ever.
func (c *Channel) handle(ctx context.Context, in channels.Inbound, u *models.Update) {
	ctx, cancel := context.WithTimeout(ctx, updateTime)
	defer cancel()
	defer func() {
		if recover() != nil { // A fault of this package; in's own are caught where it is called.
			c.panicked(ctx, u.ID, "update", string(debug.Stack()))
			if u.CallbackQuery != nil {
				c.answerClick(ctx, u.CallbackQuery.ID, channels.Answer{Text: presentation.AnswerUnclear, Alert: true})
			}
		}
	}()
	switch {
	case u.CallbackQuery != nil:
		c.handleClick(ctx, in, u.ID, u.CallbackQuery)
	case u.Message != nil:
		c.handleText(ctx, in, u.ID, u.Message)
	}
}

// serial is what updates are kept in order by: the person.
func serial(u *models.Update) string {
	switch {
	case u.CallbackQuery != nil:
		return strconv.FormatInt(u.CallbackQuery.From.ID, 10)
	case u.Message != nil && u.Message.From != nil:
		return strconv.FormatInt(u.Message.From.ID, 10)
	case u.Message != nil:
		return strconv.FormatInt(u.Message.Chat.ID, 10)
	}
	return ""
}

func (c *Channel) handleClick(ctx context.Context, in channels.Inbound, id int64, q *models.CallbackQuery) {
	click, where := c.click(q)
	answer, stack := guarded(func() channels.Answer { return in.Click(ctx, click) })
	if stack != "" {
		c.panicked(ctx, id, "click", stack)
		answer = channels.Answer{Text: presentation.AnswerUnclear, Alert: true}
	}
	if answer.Prompt != nil && !c.ask(ctx, in, where, q.From, answer.Prompt) {
		answer.Text, answer.Alert = answerNoPrompt, true
	}
	if len(answer.Actions) > 0 && answer.Settled == "" { // An answer to a query has no buttons.
		c.answerText(ctx, where, answer)
		answer.Text = ""
	}
	c.answerClick(ctx, q.ID, answer)
	if answer.Settled != "" && click.Proven() {
		c.settle(ctx, click.Message, answer)
	}
}

// click reads a callback query. Everything in it but the sender may be forged.
func (c *Channel) click(q *models.CallbackQuery) (channels.Click, spot) {
	click := channels.Click{Account: c.ref, Actor: actor(&q.From, nil, nil), Payload: q.Data}
	switch {
	case q.Message.Message != nil:
		m := q.Message.Message
		where := spotOf(m)
		click.Chat, click.Direct = where.to.String(), where.direct
		click.Message = locator{chat: m.Chat.ID, message: m.ID}.String()
		click.Copy = c.copyOf(m)
		return click, where
	case q.Message.InaccessibleMessage != nil:
		m := q.Message.InaccessibleMessage
		where := spot{to: address{chat: m.Chat.ID}, direct: m.Chat.Type == models.ChatTypePrivate, reply: m.MessageID}
		click.Chat, click.Direct = where.to.String(), where.direct
		click.Message = locator{chat: m.Chat.ID, message: m.MessageID}.String()
		return click, where
	}
	// Inline mode only: the platform does not say where. The person's own chat can
	// still be answered in.
	return click, spot{to: address{chat: q.From.ID}, direct: true}
}

// spotOf is where a message stands. Topics of private chats are left out: the
// address of a person is their chat.
func spotOf(m *models.Message) spot {
	s := spot{to: address{chat: m.Chat.ID}, direct: m.Chat.Type == models.ChatTypePrivate, reply: m.ID}
	if m.IsTopicMessage && !s.direct {
		s.to.thread = m.MessageThreadID
	}
	return s
}

// copyOf is the platform's own word on the clicked message. A forwarded copy is
// somebody else's message even where it names us.
func (c *Channel) copyOf(m *models.Message) channels.MessageCopy {
	copied := channels.MessageCopy{
		SentByUs: m.From != nil && m.From.ID == c.botID && m.ForwardOrigin == nil && m.ViaBot == nil,
	}
	if m.ReplyMarkup == nil { // The keyboard was taken away meanwhile.
		return copied
	}
	for _, row := range m.ReplyMarkup.InlineKeyboard {
		for _, b := range row {
			if b.CallbackData != "" {
				copied.Payloads = append(copied.Payloads, b.CallbackData)
			}
		}
	}
	return copied
}

// actor is the sender as the platform authenticated them, and why such an account
// may never decide.
func actor(from *models.User, sender, chat *models.Chat) channels.Actor {
	a := channels.Actor{Realm: realm}
	if from != nil {
		a.ID, a.Label = strconv.FormatInt(from.ID, 10), nameOf(from)
	}
	switch {
	case from != nil && from.ID == groupAnonymousBot, sender != nil && chat != nil && sender.ID == chat.ID:
		a.Refused = "an anonymous admin"
	case from == nil, from.ID == channelBot, sender != nil:
		a.Refused = "a channel"
	case from.IsBot:
		a.Refused = "a bot"
	}
	return a
}

func nameOf(u *models.User) string {
	name := strings.TrimSpace(u.FirstName + " " + u.LastName)
	switch {
	case u.Username == "":
		return name
	case name == "":
		return "@" + u.Username
	}
	return name + " (@" + u.Username + ")"
}

func (c *Channel) handleText(ctx context.Context, in channels.Inbound, id int64, m *models.Message) {
	text, ok := c.text(m)
	if !ok {
		return
	}
	where := spotOf(m)
	answer, stack := guarded(func() channels.Answer { return in.Text(ctx, text) })
	if stack != "" {
		c.panicked(ctx, id, "text", stack)
		answer = channels.Answer{Text: presentation.AnswerUnclear}
	}
	if answer.Prompt != nil && m.From != nil && !c.ask(ctx, in, where, *m.From, answer.Prompt) {
		answer.Text = answerNoPrompt
	}
	c.answerText(ctx, where, answer)
}

// text reads a message that is addressed to the bot: anything in a direct chat, a
// command, a reply to a message of ours. The second result is false for all else.
func (c *Channel) text(m *models.Message) (channels.Text, bool) {
	where := spotOf(m)
	t := channels.Text{
		Account: c.ref, Actor: actor(m.From, m.SenderChat, &m.Chat), Chat: where.to.String(), Direct: where.direct,
		MessageID: locator{chat: m.Chat.ID, message: m.ID}.String(),
	}
	if r := m.ReplyToMessage; r != nil && r.From != nil && r.From.ID == c.botID && r.ForumTopicCreated == nil {
		t.ReplyTo = locator{chat: m.Chat.ID, message: r.ID}.String()
	}
	raw := m.Text
	if raw == "" { // Of a picture, a file, a voice.
		raw, t.Attached = m.Caption, true
	}
	command, isCommand, ours := c.command(raw)
	t.Text = command
	switch {
	case strings.TrimSpace(raw) == "", isCommand && !ours:
		return t, false
	case where.direct, isCommand, t.ReplyTo != "":
		return t, true
	}
	return t, false
}

// command takes the bot's name out of "/approve@sayso_bot x". ours is false for a
// command to another bot.
func (c *Channel) command(text string) (plain string, isCommand, ours bool) {
	if !strings.HasPrefix(text, "/") {
		return text, false, true
	}
	end := strings.IndexFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' })
	if end < 0 {
		end = len(text)
	}
	word, name, named := strings.Cut(text[:end], "@")
	if !named {
		return text, true, true
	}
	// Before the platform told our name, a command to whomever counts as ours: an
	// answer too many is better than silence.
	mine := c.Username()
	return word + text[end:], true, mine == "" || strings.EqualFold(name, mine)
}

// guarded runs f and returns the stack where it panicked, "" when it did not: one
// update must not end the process, nor its user's queue.
func guarded(f func() channels.Answer) (a channels.Answer, stack string) {
	defer func() {
		if recover() != nil { // The value itself may repeat content.
			stack = string(debug.Stack())
		}
	}()
	return f(), ""
}

func (c *Channel) panicked(ctx context.Context, update int64, kind, stack string) {
	c.log.LogAttrs(ctx, slog.LevelError, "handler panicked",
		slog.Int64("update", update), slog.String("kind", kind), slog.String("stack", stack))
}
