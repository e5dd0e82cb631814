package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"

	"github.com/bwmarrin/discordgo"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// outgoing is the body of a message or an edit. All that a card consists of is
// always there, because what is left out of an edit stays as it was.
type outgoing struct {
	Content    string                       `json:"content"`
	Embeds     []*discordgo.MessageEmbed    `json:"embeds"`
	Components []discordgo.MessageComponent `json:"components"`
	Mentions   mentions                     `json:"allowed_mentions"`
	Flags      discordgo.MessageFlags       `json:"flags,omitempty"`
	Nonce      string                       `json:"nonce,omitempty"`
	Enforce    bool                         `json:"enforce_nonce,omitempty"`
	Reference  *reference                   `json:"message_reference,omitempty"`
}

// mentions allows none, in any form.
type mentions struct {
	Parse       []string `json:"parse"`
	RepliedUser bool     `json:"replied_user"`
}

// reference makes a message a reply, if the other one is still there.
type reference struct {
	Message string `json:"message_id"`
	Must    bool   `json:"fail_if_not_exists"`
}

func (m message) body() outgoing {
	out := outgoing{
		Content: m.content, Embeds: []*discordgo.MessageEmbed{}, Components: m.components, Mentions: mentions{Parse: []string{}},
	}
	if m.embed != nil {
		out.Embeds = append(out.Embeds, m.embed)
	}
	if out.Components == nil {
		out.Components = []discordgo.MessageComponent{}
	}
	return out
}

// sent is what the platform made of a message.
type sent struct {
	ID         string            `json:"id"`
	Channel    string            `json:"channel_id"`
	Embeds     []json.RawMessage `json:"embeds"`
	Components []component       `json:"components"`
}

// Send implements channels.Channel. With a nonce that the platform remembers it
// returns the message of the first send. Errors: *channels.Error.
func (c *Channel) Send(ctx context.Context, to string, r channels.Rendered) (string, error) {
	a, err := parseAddress(to)
	if err != nil {
		return "", err
	}
	m, ok := r.Payload.(message)
	if !ok {
		return "", foreignPayload(opSend)
	}
	channel, failed := c.channelOf(ctx, a)
	if failed != nil {
		return "", failed
	}
	beside, _ := parseLocator(opSend, r.ReplyTo)
	if beside.channel != channel { // A card that stayed behind in another chat, or none.
		beside.message = ""
	}
	s, failed := c.send(ctx, channel, m, beside.message, r.Nonce)
	if failed != nil {
		if failed.Class == core.FailureGone {
			c.direct.forget(a.user)
		}
		return "", failed
	}
	l := locator{channel: s.Channel, message: s.ID}
	if r.Nonce != "" && !slices.Equal(payloads(s.Components), payloadsOf(m)) {
		// The first send made this message, with other buttons (a new key, another
		// view): what is about to be recorded as shown must be what is shown.
		if _, failed := c.edit(ctx, l, m); failed != nil {
			failed.Op = opSend
			return "", failed
		}
	}
	return l.String(), nil
}

func payloadsOf(m message) []string {
	var list []string
	for _, b := range buttonsOf(m.components) {
		if b.CustomID != "" {
			list = append(list, b.CustomID)
		}
	}
	return list
}

func foreignPayload(op string) error {
	return &channels.Error{Class: core.FailureRejected, Op: op, Detail: "the card was rendered by another channel", NotSent: true}
}

// send posts a message; where the platform does not take its layout it is posted
// once more without any.
func (c *Channel) send(ctx context.Context, channel string, m message, replyTo, nonce string) (sent, *channels.Error) {
	s, r, failed := c.post(ctx, channel, m, replyTo, nonce)
	if r.code == codeNoReply {
		replyTo = ""
		s, r, failed = c.post(ctx, channel, m, replyTo, nonce)
	}
	if r.code == discordgo.ErrCodeInvalidFormBody {
		c.log.LogAttrs(ctx, slog.LevelError, "layout refused, sending plain", slog.String("reason", failed.Detail))
		s, _, failed = c.post(ctx, channel, m.plain(), replyTo, nonce)
	}
	if failed == nil && m.embed != nil && len(s.Embeds) == 0 {
		c.log.LogAttrs(ctx, slog.LevelWarn, "the bot may not embed links here: the facts beside the action are not shown", slog.String("chat", channel))
	}
	return s, failed
}

func (c *Channel) post(ctx context.Context, channel string, m message, replyTo, nonce string) (sent, refusal, *channels.Error) {
	body := m.body()
	body.Nonce, body.Enforce = nonce, nonce != ""
	if replyTo != "" {
		body.Reference = &reference{Message: replyTo}
	}
	var s sent
	r, failed := c.call(ctx, opSend, http.MethodPost, "channels/"+channel+"/messages", body, &s)
	if failed == nil && (!snowflake(s.ID) || !snowflake(s.Channel)) {
		failed = unreadable(opSend)
	}
	return s, r, failed
}

// directChats remembers the ids of direct chats, which the platform never changes;
// whoever forgets one asks again.
type directChats struct {
	mu  sync.Mutex
	ids map[string]string
}

func (d *directChats) of(user string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ids[user]
}

func (d *directChats) remember(user, channel string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ids[user] = channel
}

func (d *directChats) forget(user string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.ids, user)
}

// channelOf is the channel to post in: a person's direct chat is opened first, which
// posts nothing, so that failing there is never ambiguous.
func (c *Channel) channelOf(ctx context.Context, a address) (string, *channels.Error) {
	if a.user == "" {
		return a.channel, nil
	}
	if id := c.direct.of(a.user); id != "" {
		return id, nil
	}
	var opened struct {
		ID string `json:"id"`
	}
	body := map[string]string{"recipient_id": a.user}
	_, failed := c.call(ctx, opOpen, http.MethodPost, "users/@me/channels", body, &opened)
	switch {
	case failed != nil:
		failed.Op = opSend
		failed.NotSent = failed.Class == core.FailureTemporary
		return "", failed
	case !snowflake(opened.ID):
		failed = unreadable(opOpen)
		failed.Op, failed.NotSent = opSend, true
		return "", failed
	}
	c.direct.remember(a.user, opened.ID)
	return opened.ID, nil
}

// Edit implements channels.Channel. A message that was deleted, or is not the bot's,
// is retired. A card in an archived thread is edited after the thread was opened
// again. Errors: *channels.Error.
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
	switch {
	case failed == nil:
		return core.OutcomeReplaced, nil
	case refused.code == discordgo.ErrCodeUnknownMessage, refused.code == discordgo.ErrCodeCannotEditFromAnotherUser:
		return core.OutcomeRetired, nil
	}
	return core.OutcomeNone, failed
}

func (c *Channel) edit(ctx context.Context, l locator, m message) (refusal, *channels.Error) {
	r, failed := c.patch(ctx, l, m)
	if r.code == discordgo.ErrCodePerformedOperationOnArchivedThread {
		if r, failed = c.unarchive(ctx, l.channel); failed != nil {
			return r, failed
		}
		r, failed = c.patch(ctx, l, m)
	}
	if r.code == discordgo.ErrCodeInvalidFormBody {
		c.log.LogAttrs(ctx, slog.LevelError, "layout refused, editing plain", slog.String("reason", failed.Detail))
		r, failed = c.patch(ctx, l, m.plain())
	}
	return r, failed
}

func (c *Channel) patch(ctx context.Context, l locator, m message) (refusal, *channels.Error) {
	var s sent
	r, failed := c.call(ctx, opEdit, http.MethodPatch, "channels/"+l.channel+"/messages/"+l.message, m.body(), &s)
	if failed == nil && s.ID != l.message {
		failed = unreadable(opEdit)
	}
	return r, failed
}

func (c *Channel) unarchive(ctx context.Context, thread string) (refusal, *channels.Error) {
	return c.call(ctx, opEdit, http.MethodPatch, "channels/"+thread, map[string]bool{"archived": false}, nil)
}

// Bounds of a detail in a chat.
const (
	maxParts  = 4    // Messages; beyond it, one file.
	partUnits = 1900 // UTF-16 units of one part, which leaves room for its number.
)

// SendDetail implements channels.Detailer: up to four messages, or a text file.
// Errors: *channels.Error. A call that fails half-way is repeated from the start:
// reading a part twice does no harm.
func (c *Channel) SendDetail(ctx context.Context, to, card string, shown presentation.Card) error {
	if _, err := parseAddress(to); err != nil {
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
	if len(parts) > maxParts || breaksFence(text) {
		return c.sendFile(ctx, l, text, shown.Omitted)
	}
	for i, part := range parts {
		m := message{content: fmt.Sprintf("The whole action, part %d of %d:\n", i+1, len(parts)) + block(part)}
		if _, failed := c.send(ctx, l.channel, m, l.message, ""); failed != nil {
			return failed
		}
	}
	return nil
}

func (c *Channel) sendFile(ctx context.Context, card locator, text string, omitted int64) error {
	m := message{content: "The whole action."}
	if omitted > 0 {
		m.content = fmt.Sprintf("The action as far as it was kept: %d bytes are missing.", omitted)
	}
	out := m.body()
	out.Reference = &reference{Message: card.message}
	r, err := c.postFile(ctx, card.channel, out, text)
	if r.code == codeNoReply {
		out.Reference = nil
		_, err = c.postFile(ctx, card.channel, out, text)
	}
	return err
}

func (c *Channel) postFile(ctx context.Context, channel string, out outgoing, text string) (refusal, error) {
	head, err := json.Marshal(out)
	if err != nil {
		return refusal{}, fmt.Errorf("encode message: %w", err)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, part := range []struct{ disposition, kind, data string }{
		{`form-data; name="payload_json"`, "application/json", string(head)},
		{`form-data; name="files[0]"; filename="action.txt"`, "text/plain; charset=utf-8", text},
	} {
		p, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {part.disposition}, "Content-Type": {part.kind}})
		if err != nil {
			return refusal{}, fmt.Errorf("encode file: %w", err)
		}
		if _, err := p.Write([]byte(part.data)); err != nil {
			return refusal{}, fmt.Errorf("encode file: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return refusal{}, fmt.Errorf("encode file: %w", err)
	}
	r, failed := c.callRaw(ctx, opSend, http.MethodPost, "channels/"+channel+"/messages", w.FormDataContentType(), body.Bytes(), nil)
	if failed != nil {
		return r, failed
	}
	return r, nil
}
