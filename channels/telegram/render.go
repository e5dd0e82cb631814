package telegram

import (
	"strings"

	"github.com/go-telegram/bot/models"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// message is a laid out message; it is the payload of a channels.Rendered.
type message struct {
	text     string
	entities []models.MessageEntity
	keyboard *keyboard // nil for none.
}

// plain is the same message without anything that could be misread: one
// monospaced block, and no links among the buttons.
func (m message) plain() message {
	p := message{text: m.text, entities: wholly(m.text)}
	if m.keyboard != nil {
		p.keyboard = m.keyboard.withoutLinks()
	}
	return p
}

// wholly sets a text in one monospaced block, in which clients leave all alone.
func wholly(text string) []models.MessageEntity {
	return []models.MessageEntity{{Type: models.MessageEntityTypePre, Length: units(text)}}
}

// minBlock is what of a command is shown at least, in UTF-16 units, before the
// facts around it are shortened instead.
const minBlock = 600

// noCut leaves values whole.
const noCut = maxText

// Render implements channels.Channel. The error is that of the codec, for an
// action that cannot be encoded.
func (c *Channel) Render(card presentation.Card) (channels.Rendered, error) {
	m, whole := layout(card)
	actions, complete := card.Controls(whole)
	k, keyID, err := c.buttons(actions)
	if err != nil {
		return channels.Rendered{}, err
	}
	m.keyboard = k
	r := channels.Rendered{Complete: complete, KeyID: keyID, Payload: m}
	for _, a := range actions {
		if a.Type == core.ActionApproval {
			r.Offered = append(r.Offered, a.Decision)
		}
	}
	return r, nil
}

// layout writes the text of a card. The second result is false when something was
// cut. Values around the command are shortened only where the command would
// otherwise not be seen.
func layout(card presentation.Card) (message, bool) {
	block := clean(card.Command + card.Body) // Only one of them is set.
	for _, most := range []int{noCut, 256, 96, 40} {
		var head, tail builder
		whole := writeHead(&head, card, most)
		whole = writeTail(&tail, card, most) && whole && !blockCut(&head, block, &tail)
		if m, fits := assemble(&head, block, &tail, card.CutMark, whole); fits {
			return m, whole
		}
	}
	// Even the shortest form is too long: only with dozens of facts or marks.
	var head, none builder
	writeHead(&head, card, 40)
	m, _ := assemble(&head, block, &none, card.CutMark, false)
	return m, false
}

// assemble joins the parts into head. fits is false when too little of the block would be
// seen.
func assemble(head *builder, block string, tail *builder, cutMark string, whole bool) (m message, fits bool) {
	mark := new(builder)
	if !whole {
		mark.write("\n", "")
		mark.prose(firstOf(cutMark, "Not all of it fits here."), models.MessageEntityTypeBold)
	}
	room := maxText - head.units - tail.units - mark.units - 2
	if room < min(minBlock, units(block)) {
		return message{}, false
	}
	if block != "" {
		shown, _ := cut(block, room)
		head.write("\n", "")
		head.write(shown, models.MessageEntityTypePre)
	}
	head.append(mark)
	head.append(tail)
	m = message{text: head.text.String(), entities: head.entities}
	if len(m.entities) > maxEntities {
		m.entities = wholly(m.text)
	}
	return m, true
}

func blockCut(head *builder, block string, tail *builder) bool {
	return head.units+tail.units+units(block)+2 > maxText
}

// append adds another builder's text and entities.
func (b *builder) append(o *builder) {
	for _, e := range o.entities {
		e.Offset += b.units
		b.entities = append(b.entities, e)
	}
	b.text.WriteString(o.text.String())
	b.units += o.units
}

// writeHead writes what stands above the block. It returns false when it cut.
func writeHead(b *builder, card presentation.Card, most int) bool {
	whole := true
	line := func(s string, style models.MessageEntityType) {
		if strings.TrimSpace(s) == "" {
			return
		}
		s, wasCut := cut(strings.TrimSpace(clean(s)), most)
		whole = whole && !wasCut
		if b.units > 0 {
			b.write("\n", "")
		}
		b.prose(s, style)
	}
	if o := card.Outcome; o != nil {
		line(o.Text, models.MessageEntityTypeBold)
		if o.Note != "" {
			line("“"+o.Note+"”", "")
		}
	}
	line(firstOf(card.Title, "Approval"), models.MessageEntityTypeBold)
	line(card.Pill, models.MessageEntityTypeItalic)
	line(card.Summary, "")
	return whole
}

// writeTail writes the facts and marks below the block.
func writeTail(b *builder, card presentation.Card, most int) bool {
	whole := true
	for _, f := range card.Facts {
		value, wasCut := cut(clean(f.Value), most)
		whole = whole && !wasCut
		b.write("\n"+f.Label+": ", "")
		if f.Code {
			b.write(value, models.MessageEntityTypeCode)
			continue
		}
		b.prose(value, "")
	}
	for _, m := range card.Marks {
		b.write("\n", "")
		b.prose(m, models.MessageEntityTypeItalic)
	}
	return whole
}

func firstOf(s, otherwise string) string {
	if strings.TrimSpace(s) == "" {
		return otherwise
	}
	return s
}
