//go:build unix

package faults

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/channels/fakes/discord"
	"github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/presentation"
)

// way is a way to answer.
type way string

const (
	wayPage            way = "page"
	wayAPI             way = "API"
	wayTelegram        way = "Telegram button"
	waySlack           way = "Slack button"
	wayDiscord         way = "Discord button"
	wayTelegramCommand way = "Telegram command"
	waySlackCommand    way = "Slack command"
	wayDiscordCommand  way = "Discord command"
)

// ways are all of them.
func ways() []way {
	return []way{wayPage, wayAPI, wayTelegram, waySlack, wayDiscord, wayTelegramCommand, waySlackCommand, wayDiscordCommand}
}

// surface is what the record calls it.
func (w way) surface() core.Surface {
	switch w {
	case wayTelegram, wayTelegramCommand:
		return core.SurfaceTelegram
	case waySlack, waySlackCommand:
		return core.SurfaceSlack
	case wayDiscord, wayDiscordCommand:
		return core.SurfaceDiscord
	default:
		return core.SurfacePage // Also over the API, by the same session.
	}
}

// told is what somebody heard in answer to their decision.
type told string

const (
	toldWon     told = "it is decided by this answer"
	toldSame    told = "the same had been decided"
	toldSettled told = "it is decided so" // Won or the same: the page says both alike.
	toldLost    told = "it is decided otherwise"
	toldNothing told = "nothing was recorded"
	toldUnclear told = "nobody knows"
	toldSilence told = "no answer"
)

// definite tells whether somebody knows now how it was decided.
func (t told) definite() bool {
	return t == toldWon || t == toldSame || t == toldSettled || t == toldLost
}

const (
	cardPatience  = 10 * time.Second // Until a card is there to be pressed.
	replyPatience = 15 * time.Second // Until a press is answered.
)

// give answers a question in one way. Where it takes a card, that is waited for while
// the question is undecided.
func (t *town) give(ctx, undecided context.Context, c *cards, a *api.Approval, w way, d core.Decision) told {
	switch w {
	case wayPage:
		return t.ann.byPage(ctx, a, d)
	case wayAPI:
		return t.ann.byAPI(ctx, a, d)
	case wayTelegramCommand, waySlackCommand, wayDiscordCommand:
		if _, ok := awaitCard(undecided, c, a, w.surface()); !ok { // The command decides only where a card is open.
			return toldNothing
		}
		return heard(t.say(ctx, c, a, w.surface(), d))
	default:
		card, ok := awaitCard(undecided, c, a, w.surface())
		if !ok {
			return toldNothing // Nothing was pressed.
		}
		return heard(t.press(ctx, w.surface(), &card, d))
	}
}

func awaitCard(ctx context.Context, c *cards, a *api.Approval, on core.Surface) (fakes.Message, bool) {
	ctx, cancel := context.WithTimeout(ctx, cardPatience)
	defer cancel()
	return c.card(ctx, on, titled.FindString(a.Presentation.Title))
}

func (p *person) byAPI(ctx context.Context, a *api.Approval, d core.Decision) told {
	done, err := p.session.Resolve(ctx, a.ID, api.Resolve{Kind: a.Kind, Decision: d, ArgumentsHash: a.ArgumentsHash})
	switch {
	case errors.Is(err, core.ErrUnavailable), errors.Is(err, core.ErrStorageFull):
		return toldNothing
	case err != nil:
		return toldUnclear
	case done.Applied:
		return toldWon
	case done.Idempotent:
		return toldSame
	}
	return toldLost
}

func (p *person) byPage(ctx context.Context, a *api.Approval, d core.Decision) told {
	form, err := p.form(ctx, a.ID)
	if err != nil {
		return toldNothing
	}
	form.Set("decision", string(d))
	status, _, err := p.call(ctx, http.MethodPost, "/approve/"+url.PathEscape(a.ID), form)
	switch {
	case err != nil, status >= http.StatusInternalServerError:
		return toldUnclear
	case status == http.StatusSeeOther:
		return toldSettled
	case status == http.StatusOK:
		return toldLost
	}
	return toldNothing
}

// label is what the button of a decision says.
func label(d core.Decision) string {
	if d == core.DecisionDeny {
		return "Deny"
	}
	return "Allow once"
}

// press presses a button as a client does that has not yet heard of a change of the
// card, and returns what the person saw; "" without an answer.
func (t *town) press(ctx context.Context, on core.Surface, card *fakes.Message, d core.Decision) string {
	ctx, cancel := context.WithTimeout(ctx, replyPatience)
	defer cancel()
	button, ok := card.Button(label(d))
	if !ok {
		return presentation.AnswerNotRecorded
	}
	var reply fakes.Reply
	var press string
	var err error
	switch on {
	case core.SurfaceTelegram:
		if press, err = t.telegram.Press(telegram.Press{User: annTelegram, Message: card.Locator, Data: button.Payload}); err == nil {
			reply, err = t.telegram.AwaitReply(ctx, press)
		}
	case core.SurfaceSlack:
		if press, err = t.slack.Press(slack.Press{User: annSlack, Message: card.Locator, Forged: button.Payload}); err == nil {
			reply, err = t.slack.AwaitReply(ctx, press)
		}
	default:
		if press, err = t.discord.Press(discord.Press{User: annDiscord, Message: card.Locator, CustomID: button.Payload}); err == nil {
			return t.worded(ctx, press)
		}
	}
	if err != nil {
		return ""
	}
	return reply.Text
}

// byCard stands for what a person reads whose click decided and who was answered with
// the final card in place of the clicked one.
const byCard = "You decided: the card says so."

// worded waits for the answer of Discord's that says something: on a busy machine it
// follows an acknowledgement without a word.
func (t *town) worded(ctx context.Context, press string) string {
	const updateMessage = 7
	for n := 1; ; n++ {
		replies, err := t.discord.AwaitReplies(ctx, press, n)
		switch {
		case err != nil:
			return ""
		case t.discord.Responded(press) == updateMessage:
			return byCard
		case replies[n-1].Text != "":
			return replies[n-1].Text
		}
	}
}

// say gives the command of a decision in Ann's direct chat.
func (t *town) say(ctx context.Context, c *cards, a *api.Approval, on core.Surface, d core.Decision) string {
	ctx, cancel := context.WithTimeout(ctx, replyPatience)
	defer cancel()
	command, options := "deny "+a.ID, map[string]string{"id": a.ID}
	if d != core.DecisionDeny {
		command = "approve " + a.ID + " " + string(d) + " " + a.Fingerprint
		options = map[string]string{"id": a.ID, "decision": string(d), "fingerprint": a.Fingerprint}
	}
	switch on {
	case core.SurfaceTelegram:
		locator, err := t.telegram.Type(telegram.Typed{User: annTelegram, Chat: annTelegram, Text: "/" + command})
		if err != nil {
			return ""
		}
		text, _ := c.reply(ctx, locator)
		return text
	case core.SurfaceSlack:
		id, err := t.slack.Command(annSlack, "D"+annSlack[1:], command)
		if err != nil {
			return ""
		}
		reply, err := t.slack.AwaitReply(ctx, id)
		if err != nil {
			return ""
		}
		return reply.Text
	default:
		sub, _, _ := strings.Cut(command, " ")
		id, err := t.discord.Command(annDiscord, "@"+annDiscord, sub, options)
		if err != nil {
			return ""
		}
		return t.worded(ctx, id)
	}
}

// heard sorts what a messenger said.
func heard(text string) told {
	switch {
	case text == "", text == slack.NotTaken:
		return toldSilence
	case text == byCard, strings.HasPrefix(text, "You allowed"), strings.HasPrefix(text, "You denied"):
		return toldWon
	case strings.HasPrefix(text, "You had already"):
		return toldSame
	case strings.HasPrefix(text, "Already decided"):
		return toldLost
	case text == presentation.AnswerUnclear:
		return toldUnclear
	}
	return toldNothing // All other answers say that nothing was decided.
}
