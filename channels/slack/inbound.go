package slack

import (
	"context"
	"log/slog"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/internal/inorder"
	"github.com/saysohq/sayso/presentation"
)

// workTime bounds the work on one payload: the look-up, the wait for a commit and the
// calls that answer.
const workTime = 45 * time.Second

// session is what payloads need while Run lasts.
type session struct {
	c     *Channel
	ctx   context.Context
	in    channels.Inbound
	queue *inorder.Queue
}

// accept takes one payload in. ack tells the platform that it was taken; it may be
// called from anywhere, and more than once. A payload that can never be processed is
// acknowledged too, or the platform would bring it again.
func (s *session) accept(kind string, raw []byte, ack func()) {
	c := s.c
	p, err := readGuarded(kind, raw)
	switch {
	case err != nil:
		c.log.LogAttrs(s.ctx, slog.LevelError, "payload cannot be read", slog.String("kind", kind))
		ack()
		return
	case p.app != c.cfg.App:
		c.log.LogAttrs(s.ctx, slog.LevelWarn, "payload of another app", slog.String("kind", kind))
		ack()
		return
	}
	// Nobody serves that workspace: we refuse, in words, what its people do.
	c.cfg.Workspaces.of(p.team, s).take(p, ack)
}

// take queues one payload and sees to its acknowledgement: when its work is done, or
// neutrally before the platform loses patience.
func (s *session) take(p payload, ack func()) {
	done := sync.OnceFunc(ack)
	if p.click == nil && p.dialog == nil && p.command == nil && p.said == nil {
		done()
		return
	}
	if p.click != nil && strings.HasPrefix(p.click.action, idLink) {
		done() // A link that was followed; the platform tells of it all the same.
		return
	}
	stop := func() bool { return false }
	if p.said == nil {
		stop = time.AfterFunc(s.c.neutral, done).Stop
	}
	opened := s.opening(&p)
	taken := s.queue.Start(p.user.team+"/"+p.user.id, func() {
		defer done()
		defer stop()
		s.c.handle(s, &p, opened)
	})
	if !taken {
		stop()
		s.c.log.LogAttrs(s.ctx, slog.LevelError, "too much to do, a payload is dropped")
	}
}

// handle works on one payload until it has ended. It never fails.
func (c *Channel) handle(s *session, p *payload, opened *opening) {
	ctx, cancel := context.WithTimeout(s.ctx, workTime)
	defer cancel()
	defer func() {
		if recover() != nil { // A fault of this package; those of in are caught where it is called.
			c.panicked(ctx, "payload", string(debug.Stack()))
			c.answer(ctx, p, opened, channels.Answer{Text: presentation.AnswerUnclear, Alert: true})
		}
	}()
	who, err := c.actor(ctx, p.user)
	if err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "nobody could say who this is", slog.String("reason", err.Error()))
		c.answer(ctx, p, opened, channels.Answer{Text: presentation.AnswerNotRecorded, Alert: true})
		return
	}
	answer, stack := guarded(func() channels.Answer {
		if p.click != nil {
			return s.in.Click(ctx, c.click(p.click, who))
		}
		text, ok := c.text(p, who)
		if !ok {
			return channels.Answer{}
		}
		return s.in.Text(ctx, text)
	})
	if stack != "" {
		c.panicked(ctx, "inbound", stack)
		answer = channels.Answer{Text: presentation.AnswerUnclear, Alert: true}
	}
	c.answer(ctx, p, opened, answer)
}

// click is a pressed button. Everything in it but the sender may be forged.
func (c *Channel) click(k *click, who channels.Actor) channels.Click {
	out := channels.Click{
		Account: c.ref, Actor: who, Payload: k.value,
		Chat: placeOf(k.channel, k.thread, who.ID).String(), Direct: direct(k.channel),
	}
	if k.ephemeral { // Seen by one person alone, wherever it stands.
		out.Chat, out.Direct = who.ID, true
	}
	if placeRule.MatchString(k.channel) && tsRule.MatchString(k.ts) {
		out.Message = locator{channel: k.channel, ts: k.ts}.String()
	}
	out.Copy = c.copyOf(k)
	return out
}

// copyOf is the platform's own word on the clicked message.
func (c *Channel) copyOf(k *click) channels.MessageCopy {
	me := c.self.Load()
	return channels.MessageCopy{
		SentByUs: me != nil && k.sender.App == c.cfg.App && (k.sender.User == me.user || k.sender.Bot == me.bot),
		Payloads: k.payloads,
	}
}

// text is something typed: a command, a dialog's content or a message in a direct
// chat. The second result is false for what is not addressed to us.
func (c *Channel) text(p *payload, who channels.Actor) (channels.Text, bool) {
	t := channels.Text{Account: c.ref, Actor: who}
	switch {
	case p.command != nil:
		k := p.command
		t.Text, t.MessageID = typed(k.text), k.trigger
		t.Chat, t.Direct = placeOf(k.channel, "", who.ID).String(), direct(k.channel)
		if private(t.Text) {
			t.Chat, t.Direct = who.ID, true
		}
	case p.dialog != nil:
		m, ok := readMetadata(p.dialog.metadata)
		if !ok || !p.dialog.found {
			return t, false
		}
		t.Text, t.MessageID, t.PromptID = p.dialog.text, "dialog:"+p.dialog.id, m.Prompt
		t.Chat, t.Direct = m.Chat, m.Direct
	default:
		k := p.said
		me := c.self.Load()
		if me == nil || who.ID == me.user || !placeRule.MatchString(k.channel) || !tsRule.MatchString(k.ts) {
			return t, false
		}
		t.Text, t.Attached, t.MessageID = k.text, k.attached, locator{channel: k.channel, ts: k.ts}.String()
		t.Chat, t.Direct = who.ID, true
		if tsRule.MatchString(k.thread) && k.thread != k.ts {
			t.ReplyTo = locator{channel: k.channel, ts: k.thread}.String()
		}
	}
	return t, true
}

// typed turns "/sayso approve x" into the text command "/approve x". On this platform
// the word for linking an account is "link".
func typed(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		text = "help"
	}
	word, rest, _ := strings.Cut(text, " ")
	word = strings.TrimPrefix(word, "/")
	if strings.EqualFold(word, "link") {
		word = "start"
	}
	return strings.TrimSpace("/" + word + " " + rest)
}

// private reports whether a command is between one person and the bot wherever it is
// typed: nobody else sees it, nor its answer. The others are about the cards of the
// place.
func private(command string) bool {
	word, _, _ := strings.Cut(command, " ")
	switch strings.ToLower(word) {
	case "/start", "/pending", "/mode", "/rules", "/whoami", "/help":
		return true
	}
	return false
}

var textCommand = regexp.MustCompile(`(^|[\s(“"])/(approve|deny|pending|mode|rules|whoami)\b`)

// speakable words an answer so that people can follow it here: clients send nothing
// that begins with a slash unless it is a command that an app registered.
func speakable(text string) string { return textCommand.ReplaceAllString(text, "$1/sayso $2") }

// guarded runs f and returns the stack where it panicked, "" when it did not: one
// payload must not end the process, nor its user's queue.
func guarded(f func() channels.Answer) (a channels.Answer, stack string) {
	defer func() {
		if recover() != nil { // The value itself may repeat content.
			stack = string(debug.Stack())
		}
	}()
	return f(), ""
}

// readGuarded decodes what anybody may have made.
func readGuarded(kind string, raw []byte) (p payload, err error) {
	defer func() {
		if recover() != nil {
			err = errUnreadable
		}
	}()
	return read(kind, raw)
}

func (c *Channel) panicked(ctx context.Context, kind, stack string) {
	c.log.LogAttrs(ctx, slog.LevelError, "handler panicked", slog.String("kind", kind), slog.String("stack", stack))
}
