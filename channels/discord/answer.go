package discord

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// How hard an answer is tried.
const (
	answerTries    = 3
	answerPatience = 10 * time.Second
	// responseTime bounds the first response, which the platform takes for 3 s.
	responseTime = 3 * time.Second
	firstPause   = 500 * time.Millisecond
)

const (
	answerNoPrompt = "I could not ask for your text here, so nothing was changed. Please press the button again."
	answerNothing  = "There is nothing to do here."
)

// The dialog of a prompt.
const (
	dialogPrefix   = "sayso-prompt:" // Stands before the prompt's id.
	noteField      = "note"
	noteLabel      = "Your note"
	maxNote        = 1_000 // Characters; the record keeps as many.
	maxPlaceholder = 100
	maxDialogText  = 1_000
)

// response is the first response to an interaction.
type response struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data any                               `json:"data,omitempty"`
}

// exchange is one interaction and the answers that it takes: one response within
// 3 s, and follow-ups once that was made without a word.
type exchange struct {
	c     *Channel
	in    channels.Inbound
	id    string
	token string
	kind  int
	late  *time.Timer // Acknowledges without an answer.

	mu    sync.Mutex
	state exchangeState
}

type exchangeState int

const (
	stateFresh        exchangeState = iota // The platform waits for the response.
	stateAcknowledged                      // It was made without an answer; the answer follows.
	stateDone
)

// exchange opens the answering of an interaction that has just arrived. ctx outlives
// a stop of the channel.
func (c *Channel) exchange(ctx context.Context, in channels.Inbound, i *interaction) *exchange {
	x := &exchange{c: c, in: in, id: i.ID, token: i.Token, kind: i.Type}
	x.late = time.AfterFunc(c.cfg.Late, func() { _ = x.acknowledge(ctx) }) // It notes what fails.
	return x
}

// inTime acknowledges an interaction before anything is done about it. It reports
// false where the platform does not take that any more, or nobody knows: the person
// was told that it failed, and must not be surprised by a decision afterwards.
func (x *exchange) inTime(ctx context.Context) bool {
	x.late.Stop()
	return x.acknowledge(ctx) == nil
}

// acknowledge tells the platform that an answer will come. What was said without a
// word can never contradict what is said later. Whether it got through or not, the
// answer is a follow-up from here on.
func (x *exchange) acknowledge(ctx context.Context) *channels.Error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state != stateFresh {
		return nil
	}
	x.state = stateAcknowledged
	r := response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	if x.kind == interactionCommand {
		r = response{Type: discordgo.InteractionResponseDeferredChannelMessageWithSource, Data: map[string]int{"flags": flagEphemeral}}
	}
	failed := x.respond(ctx, r)
	x.unanswered(ctx, failed)
	return failed
}

// fresh reports whether the platform still waits for the response.
func (x *exchange) fresh() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == stateFresh
}

// answer gives the one answer. It is private, or it is the final card in place of the
// clicked one; a click or dialog may be ended without a word, a command may not.
func (x *exchange) answer(ctx context.Context, a channels.Answer) {
	x.late.Stop()
	x.mu.Lock() // Waits for an acknowledgement under way.
	defer x.mu.Unlock()
	defer func() { x.state = stateDone }()
	switch x.state {
	case stateDone:
		return
	case stateFresh:
		if a.Terminal != nil && x.show(ctx, a.Terminal) || a.Settled != "" && x.settle(ctx, a) {
			return
		}
		x.unanswered(ctx, x.first(ctx, a))
	case stateAcknowledged:
		if a.Terminal != nil { // The message is the ledger's again, before anything else is tried.
			x.shown(ctx, a.Terminal, 0)
		}
		if a.Settled != "" {
			x.unanswered(ctx, x.settleLate(ctx, a))
			return
		}
		x.unanswered(ctx, x.follow(ctx, a))
	}
}

// settle responds with the end of a question of ours, or the next one, in its place. It
// reports false where the platform has surely not taken it.
func (x *exchange) settle(ctx context.Context, a channels.Answer) bool {
	m := x.c.said(ctx, channels.Answer{Text: a.Settled, Actions: a.Actions})
	failed := x.respond(ctx, response{Type: discordgo.InteractionResponseUpdateMessage, Data: m.body()})
	x.unanswered(ctx, failed)
	return failed == nil || failed.Class != core.FailureRejected
}

// settleLate does the same after the acknowledgement, whose message is the clicked one.
func (x *exchange) settleLate(ctx context.Context, a channels.Answer) *channels.Error {
	body := x.c.said(ctx, channels.Answer{Text: a.Settled, Actions: a.Actions}).body()
	return x.c.persist(ctx, answerPatience, func(ctx context.Context) *channels.Error {
		_, failed := x.c.call(ctx, opAnswer, http.MethodPatch, "webhooks/"+x.c.appID+"/"+x.token+"/messages/@original", body, nil)
		return failed
	})
}

// show responds with the final card, which edits the clicked message: the person and
// everybody else read the outcome there. It reports false where the platform has surely
// not taken it, so that another response can be made. Where nobody knows, nothing is
// said to anybody, and the ledger edits the message when no response can come any more.
func (x *exchange) show(ctx context.Context, t *channels.TerminalCard) bool {
	r, err := x.c.Render(t.Card)
	m, ok := r.Payload.(message)
	if err != nil || !ok {
		x.c.log.LogAttrs(ctx, slog.LevelError, "final card cannot be rendered")
		x.shown(ctx, t, 0)
		return false
	}
	failed := x.respond(ctx, response{Type: discordgo.InteractionResponseUpdateMessage, Data: m.body()})
	switch {
	case failed == nil:
		x.shown(ctx, t, t.CardRevision)
		return true
	case failed.Class == core.FailureRejected: // This very response; another may do.
		x.shown(ctx, t, 0)
		return false
	}
	x.unanswered(ctx, failed)
	return true
}

// shown tells which revision of a card the message shows by this answer, 0 for none.
func (x *exchange) shown(ctx context.Context, t *channels.TerminalCard, revision int64) {
	if err := x.in.Shown(ctx, t.DeliveryID, revision); err != nil {
		x.c.log.LogAttrs(ctx, slog.LevelWarn, "an answer is not recorded: the ledger edits the message",
			slog.String("delivery", t.DeliveryID), slog.String("code", core.CodeOf(err)))
	}
}

func (x *exchange) first(ctx context.Context, a channels.Answer) *channels.Error {
	if a.Prompt != nil {
		dialog, ok := dialogOf(a.Prompt)
		if ok && x.kind != interactionDialog {
			failed := x.respond(ctx, response{Type: discordgo.InteractionResponseModal, Data: dialog})
			if failed == nil || failed.Class != core.FailureRejected {
				return failed
			}
		}
		a = channels.Answer{Text: answerNoPrompt, Alert: true}
	}
	if a.Text == "" && x.kind != interactionCommand {
		return x.respond(ctx, response{Type: discordgo.InteractionResponseDeferredMessageUpdate})
	}
	return x.respond(ctx, response{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: x.c.private(ctx, a)})
}

// follow answers after the acknowledgement, for which a dialog is too late.
func (x *exchange) follow(ctx context.Context, a channels.Answer) *channels.Error {
	if a.Prompt != nil {
		a = channels.Answer{Text: answerNoPrompt, Alert: true}
	}
	body := x.c.private(ctx, a)
	method, path := http.MethodPost, "webhooks/"+x.c.appID+"/"+x.token
	if x.kind == interactionCommand { // Its acknowledgement stands in the chat, private for good, and waits.
		method, path, body.Flags = http.MethodPatch, path+"/messages/@original", 0
	} else if a.Text == "" {
		return nil
	}
	return x.c.persist(ctx, answerPatience, func(ctx context.Context) *channels.Error {
		_, failed := x.c.call(ctx, opAnswer, method, path, body, nil)
		return failed
	})
}

func (x *exchange) respond(ctx context.Context, r response) *channels.Error {
	return x.c.persist(ctx, responseTime, func(ctx context.Context) *channels.Error {
		_, failed := x.c.call(ctx, opAnswer, http.MethodPost, "interactions/"+x.id+"/"+x.token+"/callback", r, nothing{})
		return failed
	})
}

// unanswered notes an answer that did not get through; it changes nothing that was
// decided, and the card tells the truth.
func (x *exchange) unanswered(ctx context.Context, failed *channels.Error) {
	if failed != nil {
		x.c.log.LogAttrs(ctx, slog.LevelDebug, "not answered", slog.String("reason", failed.Error()))
	}
}

// dialogOf is the form of a prompt: the question, and one field. ok is false for an
// id that the platform would not carry.
func dialogOf(p *channels.Prompt) (dialog map[string]any, ok bool) {
	id := dialogPrefix + p.ID
	if p.ID == "" || units(id) > maxCustomID {
		return nil, false
	}
	title, _ := cut(firstOf(clean(p.Title), noteLabel), maxModalName)
	placeholder, _ := cut(clean(p.Placeholder), maxPlaceholder)
	field := map[string]any{
		"type": discordgo.TextInputComponent, "custom_id": noteField, "style": discordgo.TextInputParagraph,
		"required": true, "min_length": 1, "max_length": maxNote,
	}
	if placeholder != "" {
		field["placeholder"] = placeholder
	}
	const labelComponent = 18 // Newer than the library.
	components := []any{map[string]any{"type": labelComponent, "label": noteLabel, "component": field}}
	if question, _ := fit(clean(firstOf(p.Dialog, p.Text)), maxDialogText, escape); question != "" {
		components = append([]any{map[string]any{"type": discordgo.TextDisplayComponent, "content": question}}, components...)
	}
	return map[string]any{"custom_id": id, "title": title, "components": components}, true
}

// private is an answer that one person alone sees.
func (c *Channel) private(ctx context.Context, a channels.Answer) outgoing {
	out := c.said(ctx, a).body()
	out.Flags = flagEphemeral
	return out
}

// said lays an answer out.
func (c *Channel) said(ctx context.Context, a channels.Answer) message {
	var m message
	m.content, _ = fit(clean(firstOf(a.Text, answerNothing)), maxContent, escape)
	components, _, err := c.buttons(a.Actions)
	if err != nil {
		c.log.LogAttrs(ctx, slog.LevelError, "answer has a button that cannot be made")
		return m
	}
	m.components = components
	return m
}

// answerText replies to a typed message.
func (c *Channel) answerText(ctx context.Context, to locator, a channels.Answer) {
	if a.Text == "" {
		return
	}
	m := c.said(ctx, a)
	failed := c.persist(ctx, answerPatience, func(ctx context.Context) *channels.Error {
		_, failed := c.send(ctx, to.channel, m, to.message, "")
		return failed
	})
	if failed != nil {
		c.log.LogAttrs(ctx, slog.LevelDebug, "not answered", slog.String("reason", failed.Error()))
	}
}

// persist repeats what answers a person while that is sure to do no harm: the
// platform refused the call for now, or it never left. The ledger knows nothing of
// answers, so nobody else would.
func (c *Channel) persist(ctx context.Context, within time.Duration, try func(context.Context) *channels.Error) *channels.Error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for tries := 0; ; tries++ {
		failed := try(ctx)
		if failed == nil || tries == answerTries-1 {
			return failed
		}
		again := failed.Class == core.FailureRateLimited ||
			failed.Class == core.FailureTemporary && (failed.NotSent || errors.Is(failed, errRefused))
		wait := max(failed.RetryAfter, firstPause<<tries)
		if !again || wait > within || c.cfg.Pause(ctx, wait) != nil {
			return failed
		}
	}
}
