package slack

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/slack-go/slack"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// How hard an answer is tried. A response URL takes five calls.
const (
	answerTries    = 3
	answerPatience = 10 * time.Second
	firstPause     = 500 * time.Millisecond
	maxAnswer      = 4_000 // UTF-16 units, after escaping.
)

// answer gives the one answer to whatever was done: in the dialog that waits for it,
// as an ephemeral message, or in the thread of what was written.
func (c *Channel) answer(ctx context.Context, p *payload, opened *opening, a channels.Answer) {
	if a.Prompt != nil {
		if p.click != nil && c.ask(ctx, p.click, p.user.id, opened, a.Prompt) {
			return
		}
		a.Text = dialogNoOpen
	}
	if a.Text == "" && a.Settled == "" && opened != nil {
		a.Text = dialogNothing // Or it would stay empty on the screen.
	}
	if a.Text == "" && a.Settled == "" {
		return
	}
	a.Text, a.Settled = speakable(a.Text), speakable(a.Settled)
	if id := opened.id(); id != "" && c.show(ctx, id, sayingView(presentation.PromptNoteTitle, a.Text)) {
		return
	}
	switch {
	case p.click != nil && a.Settled != "" && c.replace(ctx, p.click, a):
	case a.Text == "":
	case p.click != nil:
		c.respond(ctx, "click", p.click.response, a)
	case p.command != nil:
		c.respond(ctx, "command", p.command.response, a)
	case p.dialog != nil:
		m, _ := readMetadata(p.dialog.metadata)
		c.respond(ctx, "dialog", m.Response, a)
	case p.said != nil:
		c.reply(ctx, p.said, a)
	}
}

// content lays an answer out.
func (c *Channel) content(ctx context.Context, a channels.Answer) message {
	text, _ := cut(clean(a.Text), maxAnswer)
	short, _ := cut(text, maxNotice)
	m := message{notice: escape(short)}
	for _, chunk := range split(text, maxBlock) {
		p := new(part)
		p.write(chunk, nil)
		m.add(p)
	}
	buttons, _, err := c.buttons(a.Actions)
	if err != nil {
		c.log.LogAttrs(ctx, slog.LevelError, "answer has a button that cannot be made")
	}
	m.buttons = buttons
	return m
}

// respond posts an ephemeral message, which one person alone sees.
func (c *Channel) respond(ctx context.Context, kind, to string, a channels.Answer) {
	if !c.trusted(to) {
		c.log.LogAttrs(ctx, slog.LevelWarn, "no place for an answer", slog.String("kind", kind))
		return
	}
	m := c.content(ctx, a)
	c.unanswered(ctx, kind, c.postResponse(ctx, to, slack.WebhookMessage{
		Text: m.notice, Blocks: &slack.Blocks{BlockSet: m.all()}, ResponseType: slack.ResponseTypeEphemeral,
	}))
}

// replace answers a click on a question of ours by putting its end, or the next one, in
// its place. An
// ephemeral message comes without a copy, but no card is one. It reports false where
// the answer has to be given otherwise.
func (c *Channel) replace(ctx context.Context, k *click, a channels.Answer) bool {
	asked := channels.Click{Payload: k.value, Copy: c.copyOf(k)}
	if !k.ephemeral && !asked.Proven() || !c.trusted(k.response) {
		return false
	}
	m := c.content(ctx, channels.Answer{Text: a.Settled, Actions: a.Actions})
	failed := c.postResponse(ctx, k.response, slack.WebhookMessage{
		Text: m.notice, Blocks: &slack.Blocks{BlockSet: m.all()}, ReplaceOriginal: true,
	})
	c.unanswered(ctx, "question", failed)
	return failed == nil
}

// postResponse posts to a response URL, as hard as an answer is tried.
func (c *Channel) postResponse(ctx context.Context, to string, body slack.WebhookMessage) *channels.Error {
	return c.persist(ctx, func() *channels.Error {
		ctx, cancel := context.WithTimeout(ctx, core.CallTimeout)
		defer cancel()
		ctx, tried := withAttempt(ctx)
		err := c.client.post(ctx, to, body)
		if err == nil {
			return nil
		}
		failed := failure(opAnswer, err, tried)
		if errors.Is(err, errRefused) && failed.NotSent {
			failed.NotSent = false
		}
		return failed
	})
}

// trusted reports whether an address is one of the platform's own: an answer says who
// decided what.
func (c *Channel) trusted(to string) bool {
	u, err := url.Parse(to)
	base, baseErr := url.Parse(c.cfg.APIBase)
	if err != nil || baseErr != nil || to == "" {
		return false
	}
	return u.Scheme == base.Scheme && u.User == nil && (u.Host == base.Host || u.Host == "hooks."+base.Host)
}

// reply answers a message of a direct chat below it.
func (c *Channel) reply(ctx context.Context, k *said, a channels.Answer) {
	m := c.content(ctx, a)
	to := address{channel: k.channel, thread: firstOf(k.thread, k.ts)}
	c.unanswered(ctx, "text", c.persist(ctx, func() *channels.Error {
		if _, err := c.send(ctx, opSend, to, m); err != nil {
			return asError(err)
		}
		return nil
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

func (c *Channel) unanswered(ctx context.Context, kind string, failed *channels.Error) {
	if failed != nil {
		c.log.LogAttrs(ctx, slog.LevelDebug, "not answered", slog.String("kind", kind), slog.String("reason", failed.Error()))
	}
}
