package slack

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/presentation"
)

// The names in our dialogs.
const (
	dialogID    = "sayso.prompt"
	dialogBlock = "sayso.text"
	dialogInput = "sayso.input"
)

// Bounds of dialogs, in characters.
const (
	maxTitle    = 24
	maxHint     = 150
	maxMetadata = 3_000
	maxInput    = 1_000           // As much as a note keeps; the platform would take 3,000.
	triggerTime = 3 * time.Second // How long the platform lets a dialog be opened.
)

const (
	dialogWait    = "One moment …"
	dialogSend    = "Send"
	dialogClose   = "Close"
	dialogLabel   = "Your text"
	dialogNothing = "There is nothing to fill in here. Nothing was changed."
	dialogNoOpen  = "I could not open a form for your text, so nothing was changed. Please press again."
)

// opening is a dialog on its way to the screen. It is opened before anything is
// checked, because the permission to open one ends 3 s after the press; it gets its
// content, or a refusal, once the click was handled.
type opening struct {
	done chan struct{}
	view string // Set before done is closed; "" when it did not open.
}

// opening begins to open the dialog of a button that asks for text; nil for others.
func (s *session) opening(p *payload) *opening {
	if p.click == nil || p.click.trigger == "" || !strings.HasPrefix(p.click.action, idNote) {
		return nil
	}
	o := &opening{done: make(chan struct{})}
	trigger := p.click.trigger
	s.queue.Beside(func() {
		defer close(o.done)
		o.view = s.c.open(s.ctx, trigger, sayingView(presentation.PromptNoteTitle, dialogWait))
	})
	return o
}

// id waits for the dialog and returns its id, "" when there is none.
func (o *opening) id() string {
	if o == nil {
		return ""
	}
	<-o.done
	return o.view
}

// open opens a dialog and returns its id, "" when it could not be opened. It is not
// tried again: the trigger works once.
func (c *Channel) open(ctx context.Context, trigger string, v slack.ModalViewRequest) string {
	ctx, cancel := context.WithTimeout(ctx, triggerTime)
	defer cancel()
	var got *slack.ViewResponse
	_, failed := c.call(ctx, opAnswer, func(ctx context.Context) (err error) {
		got, err = c.api.OpenViewContext(ctx, trigger, v)
		return err
	})
	if failed != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "dialog not opened", slog.String("reason", failed.Error()))
		return ""
	}
	return got.ID
}

// show gives an open dialog its content. It reports false when it did not get there,
// which may be because the person has closed it.
func (c *Channel) show(ctx context.Context, view string, v slack.ModalViewRequest) bool {
	failed := c.persist(ctx, func() *channels.Error {
		_, failed := c.call(ctx, opAnswer, func(ctx context.Context) error {
			_, err := c.api.UpdateViewContext(ctx, v, "", "", view)
			return err
		})
		return failed
	})
	c.unanswered(ctx, "dialog", failed)
	return failed == nil
}

// ask fills the dialog of a click with a question. It reports false when the person
// cannot answer it.
func (c *Channel) ask(ctx context.Context, k *click, who string, opened *opening, p *channels.Prompt) bool {
	v := askingView(p, metadata{
		Prompt: p.ID, Chat: placeOf(k.channel, k.thread, who).String(), Direct: direct(k.channel), Response: k.response,
	})
	if opened == nil { // The payload asks for text although its button did not say so.
		return c.open(ctx, k.trigger, v) != ""
	}
	id := opened.id()
	return id != "" && c.show(ctx, id, v)
}

// metadata is what a dialog brings back. Nobody but the app sees it.
type metadata struct {
	Prompt   string `json:"prompt"`
	Chat     string `json:"chat"`
	Direct   bool   `json:"direct,omitempty"`
	Response string `json:"response,omitempty"` // Where the answer to the dialog goes.
}

func (m metadata) String() string {
	raw, err := json.Marshal(m)
	if err != nil || len(raw) > maxMetadata {
		m.Response = "" // The decision matters more than its answer.
		raw, _ = json.Marshal(m)
	}
	return string(raw)
}

func readMetadata(s string) (metadata, bool) {
	var m metadata
	err := json.Unmarshal([]byte(s), &m)
	return m, err == nil && m.Prompt != ""
}

// askingView is the dialog that takes a text.
func askingView(p *channels.Prompt, m metadata) slack.ModalViewRequest {
	input := slack.NewPlainTextInputBlockElement(plainText(firstOf(p.Placeholder, dialogLabel), maxHint), dialogInput)
	input.Multiline, input.MaxLength = true, maxInput
	v := sayingView(p.Title, firstOf(p.Dialog, p.Text))
	v.Blocks.BlockSet = append(v.Blocks.BlockSet, slack.NewInputBlock(dialogBlock, plainText(dialogLabel, maxLabel), nil, input))
	v.Submit, v.CallbackID, v.PrivateMetadata = plainText(dialogSend, maxTitle), dialogID, m.String()
	return v
}

// sayingView is a dialog that only says something.
func sayingView(title, text string) slack.ModalViewRequest {
	p := new(part)
	text, _ = cut(clean(text), maxBlock)
	p.write(firstOf(text, dialogWait), nil)
	return slack.ModalViewRequest{
		Type: slack.VTModal, Title: plainText(firstOf(title, "sayso"), maxTitle), Close: plainText(dialogClose, maxTitle),
		Blocks: slack.Blocks{BlockSet: []slack.Block{p.block()}},
	}
}
