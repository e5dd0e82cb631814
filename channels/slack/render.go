package slack

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// message is a laid out message; it is the payload of a channels.Rendered.
type message struct {
	notice  string // Escaped.
	blocks  []slack.Block
	buttons []*slack.ButtonBlockElement
	texts   []string // What the blocks show.
}

// all is every block, the buttons last.
func (m message) all() []slack.Block {
	list := slices.Clone(m.blocks)
	for row := range slices.Chunk(m.buttons, maxRow) {
		elements := make([]slack.BlockElement, 0, len(row))
		for _, b := range row {
			elements = append(elements, b)
		}
		list = append(list, slack.NewActionBlock("", elements...))
	}
	return list
}

// plain is the same message in the form that leaves the least to refuse: monospaced
// blocks and buttons without links and styles, or bare text where there are no buttons.
func (m message) plain() message {
	text := strings.Join(m.texts, "\n")
	if len(m.buttons) == 0 {
		short, _ := cut(text, maxBlock)
		return message{notice: escape(short)}
	}
	p := message{notice: m.notice}
	for _, chunk := range split(text, maxBlock) {
		p.texts = append(p.texts, chunk)
		p.blocks = append(p.blocks, preformatted([]slack.RichTextSectionElement{slack.NewRichTextSectionTextElement(chunk, nil)}))
	}
	for _, b := range m.buttons {
		if b.URL == "" {
			bare := *b
			bare.Style = slack.StyleDefault
			p.buttons = append(p.buttons, &bare)
		}
	}
	return p
}

// add appends a part as a block.
func (m *message) add(p *part) {
	if !p.empty() {
		m.blocks = append(m.blocks, p.block())
		m.texts = append(m.texts, p.text.String())
	}
}

// Render implements channels.Channel. The error is that of the codec, for an action
// that cannot be encoded.
func (c *Channel) Render(card presentation.Card) (channels.Rendered, error) {
	m, whole := layout(card)
	actions, complete := card.Controls(whole)
	buttons, keyID, err := c.buttons(actions)
	if err != nil {
		return channels.Rendered{}, err
	}
	m.buttons = buttons
	r := channels.Rendered{Complete: complete, KeyID: keyID, Payload: m}
	for _, a := range actions {
		if a.Type == core.ActionApproval {
			r.Offered = append(r.Offered, a.Decision)
		}
	}
	return r, nil
}

// layout lays the text of a card out. The second result is false when something was
// cut. At most three blocks, of 3,000 characters each, and the buttons.
func layout(card presentation.Card) (message, bool) {
	head, headWhole := headOf(card)
	command, commandWhole := commandOf(card)
	tail, whole := tailOf(card, headWhole && commandWhole)
	m := message{notice: notice(card)}
	m.add(head)
	m.add(command)
	m.add(tail)
	return m, whole
}

// The beginnings of action ids. The platform wants one on every control, and sends a
// payload for links as well.
const (
	idDo   = "sayso.do."
	idNote = "sayso.note." // Opens a dialog, first thing.
	idLink = "sayso.link." // Acknowledged and ignored.
)

// buttons encodes the actions of a card or an answer. A link that the platform would
// refuse is left out rather than failing the message; a command is text and has no
// button.
func (c *Channel) buttons(actions []core.Action) ([]*slack.ButtonBlockElement, string, error) {
	var list []*slack.ButtonBlockElement
	keyID, primary := "", false
	for i, a := range actions {
		n := strconv.Itoa(i)
		switch a.Type {
		case core.ActionApproval, core.ActionCallback:
			payload, id, err := c.codec.Encode(c.ref, a)
			if err != nil {
				return nil, "", fmt.Errorf("encode button: %w", err)
			}
			keyID = id
			action := idDo + n
			if a.Value == core.CallbackNote {
				action = idNote + n
			}
			b := slack.NewButtonBlockElement(action, payload, plainText(label(a), maxLabel))
			switch {
			case a.Decision == core.DecisionAllowOnce && !primary: // The platform allows one.
				b.Style, primary = slack.StylePrimary, true
			case a.Decision == core.DecisionDeny:
				b.Style = slack.StyleDanger
			}
			list = append(list, b)
		case core.ActionURL, core.ActionWebApp:
			if linkAllowed(a.URL) {
				b := slack.NewButtonBlockElement(idLink+n, "", plainText(label(a), maxLabel))
				b.URL = a.URL
				list = append(list, b)
			}
		case core.ActionCommand:
		}
	}
	return list, keyID, nil
}

func label(a core.Action) string { return firstOf(clean(a.Label), string(a.Type)) }

// plainText is text that the platform takes as it is, bounded, without emoji names.
func plainText(s string, most int) *slack.TextBlockObject {
	s, _ = cut(clean(s), most)
	return slack.NewTextBlockObject(slack.PlainTextType, s, false, false)
}

func linkAllowed(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && size(raw) <= maxLink
}
