package discord

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/internal/inorder"
	"github.com/saysohq/sayso/presentation"
)

// realm names the namespace of the platform's user ids.
const realm = "discord"

// updateTime bounds the work on one interaction or message: the wait for a commit
// and the calls that answer.
const updateTime = 45 * time.Second

// session is what inbound events need while Run lasts.
type session struct {
	ctx   context.Context
	in    channels.Inbound
	queue *inorder.Queue
}

// take starts the work on an interaction, in the order of its sender. It reports
// false when too many wait already: the platform tells the person so. A replayed one
// comes late, out of a session that was continued.
func (c *Channel) take(s *session, i interaction, replayed bool) bool {
	if i.Application != c.appID {
		c.log.LogAttrs(s.ctx, slog.LevelWarn, "an interaction of another application")
		return true
	}
	x := c.exchange(s.ctx, s.in, &i)
	ok := s.queue.Start(i.sender().ID, func() {
		if replayed && !x.inTime(s.ctx) {
			c.log.LogAttrs(s.ctx, slog.LevelInfo, "an interaction came too late, its sender was told that it failed")
			return
		}
		c.handle(s, x, &i)
	})
	if !ok {
		x.late.Stop()
		c.log.LogAttrs(s.ctx, slog.LevelError, "too many interactions wait, one is left to the platform")
	}
	return ok
}

// handle works on an interaction until it has ended, whatever happens.
func (c *Channel) handle(s *session, x *exchange, i *interaction) {
	ctx, cancel := context.WithTimeout(s.ctx, updateTime)
	defer cancel()
	defer func() {
		if recover() != nil { // A fault of this package; in's own are caught where it is called.
			c.panicked(ctx, i.ID, "interaction", string(debug.Stack()))
			x.answer(ctx, channels.Answer{Text: presentation.AnswerUnclear, Alert: true})
		}
	}()
	var run func() channels.Answer
	switch i.Type {
	case interactionClick:
		click := c.click(i)
		click.TakesCard = click.Copy.SentByUs && i.Message.Flags&flagEphemeral == 0 && x.fresh()
		run = func() channels.Answer {
			a := s.in.Click(ctx, click)
			if !click.Proven() {
				a.Settled = ""
			}
			return a
		}
	case interactionCommand, interactionDialog:
		text := c.typed(i)
		run = func() channels.Answer { return s.in.Text(ctx, text) }
	default:
		x.late.Stop()
		return
	}
	answer, stack := guarded(run)
	if stack != "" {
		c.panicked(ctx, i.ID, "interaction", stack)
		answer = channels.Answer{Text: presentation.AnswerUnclear, Alert: true}
	}
	x.answer(ctx, answer)
}

// click reads a pressed button. Everything in it but the sender may be forged.
func (c *Channel) click(i *interaction) channels.Click {
	chat, direct := spot(i)
	click := channels.Click{
		Account: c.ref, Actor: actor(i.sender(), ""), Payload: i.Data.CustomID, Chat: chat, Direct: direct,
	}
	if m := i.Message; m != nil && snowflake(m.ID) {
		click.Message = locator{channel: firstOf(m.ChannelID, i.place()), message: m.ID}.String()
		click.Copy = channels.MessageCopy{SentByUs: c.ours(m), Payloads: payloads(m.Components)}
	}
	return click
}

// spot is the address that an interaction came from. What stands on a message that
// one person alone sees is said to that person.
func spot(i *interaction) (chat string, direct bool) {
	if i.direct() || i.Message != nil && i.Message.Flags&flagEphemeral != 0 {
		return address{user: i.sender().ID}.String(), true
	}
	return i.place(), false
}

// ours reports whether the bot itself sent a message, and it is no forwarded copy.
func (c *Channel) ours(m *wireMessage) bool {
	forwarded := m.Reference != nil && m.Reference.Type != 0
	return m.Author.ID == *c.botID.Load() && !forwarded && (m.Application == "" || m.Application == c.appID)
}

// actor is the sender as the platform authenticated them, and why such an account
// may never decide.
func actor(u user, webhook string) channels.Actor {
	a := channels.Actor{Realm: realm, ID: u.ID, Label: nameOf(u)}
	switch {
	case webhook != "":
		a.Refused = "a webhook"
	case u.Bot:
		a.Refused = "a bot"
	case u.System:
		a.Refused = "a system account"
	}
	return a
}

func nameOf(u user) string {
	switch {
	case u.GlobalName == "":
		return u.Username
	case u.Username == "":
		return u.GlobalName
	}
	return u.GlobalName + " (" + u.Username + ")"
}

// typed reads a command or a dialog that was sent off.
func (c *Channel) typed(i *interaction) channels.Text {
	chat, direct := spot(i)
	t := channels.Text{Account: c.ref, Actor: actor(i.sender(), ""), Chat: chat, Direct: direct, MessageID: i.ID}
	if i.Type == interactionCommand {
		t.Text = commandText(i.Data)
		if private(t.Text) {
			t.Chat, t.Direct = address{user: i.sender().ID}.String(), true
		}
		return t
	}
	t.PromptID = strings.TrimPrefix(i.Data.CustomID, dialogPrefix)
	within(i.Data.Components, maxDepth, func(f component) {
		if f.CustomID == noteField {
			t.Text = f.Value
		}
	})
	return t
}

// handleMessage works on a typed message.
func (c *Channel) handleMessage(s *session, m *wireMessage) {
	ctx, cancel := context.WithTimeout(s.ctx, updateTime)
	defer cancel()
	at := locator{channel: m.ChannelID, message: m.ID}
	defer func() {
		if recover() != nil {
			c.panicked(ctx, m.ID, "text", string(debug.Stack()))
		}
	}()
	text := channels.Text{
		Account: c.ref, Actor: actor(m.Author, m.Webhook), Chat: address{user: m.Author.ID}.String(), Direct: true,
		Text: m.Content, MessageID: at.String(), Attached: len(m.Attachments)+len(m.Stickers) > 0,
	}
	if r := m.Reference; r != nil && r.Type == 0 && snowflake(r.Message) && m.Referenced != nil && m.Referenced.Author.ID == *c.botID.Load() {
		text.ReplyTo = locator{channel: firstOf(r.Channel, m.ChannelID), message: r.Message}.String()
	}
	answer, stack := guarded(func() channels.Answer { return s.in.Text(ctx, text) })
	if stack != "" {
		c.panicked(ctx, m.ID, "text", stack)
		answer = channels.Answer{Text: presentation.AnswerUnclear}
	}
	if answer.Prompt != nil { // A dialog opens only from a button or a command.
		answer.Text = answerNoPrompt
	}
	c.answerText(ctx, at, answer)
}

// readMessage decodes a typed message that is for us: written by somebody else, in
// the direct chat, with words in it. ok is false for all else.
func (c *Channel) readMessage(raw []byte) (m wireMessage, ok bool, err error) {
	if json.Unmarshal(raw, &m) != nil || !snowflake(m.ID) || !snowflake(m.ChannelID) || !snowflake(m.Author.ID) {
		return m, false, errUnreadable
	}
	const typeDefault, typeReply = 0, 19
	said := m.Type == typeDefault || m.Type == typeReply
	return m, said && m.Guild == "" && m.Author.ID != *c.botID.Load() && strings.TrimSpace(m.Content) != "", nil
}

// guarded runs f and returns the stack where it panicked, "" when it did not: one
// event must not end the process, nor its sender's queue.
func guarded(f func() channels.Answer) (a channels.Answer, stack string) {
	defer func() {
		if recover() != nil { // The value itself may repeat content.
			stack = string(debug.Stack())
		}
	}()
	return f(), ""
}

func (c *Channel) panicked(ctx context.Context, id, kind, stack string) {
	c.log.LogAttrs(ctx, slog.LevelError, "handler panicked", slog.String("event", id), slog.String("kind", kind), slog.String("stack", stack))
}
