package discord

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// message is a laid out message; it is the payload of a channels.Rendered.
type message struct {
	content    string
	embed      *discordgo.MessageEmbed // nil for none.
	components []discordgo.MessageComponent
}

// plain is the same message with nothing but its text and buttons.
func (m message) plain() message {
	return message{content: m.content, components: withoutLinks(m.components)}
}

// Limits of an embed in UTF-16 units.
const (
	maxEmbed      = 6000
	maxFieldName  = 256
	maxFieldValue = 1024
	maxFields     = 25
)

// minBlock is what of a command is shown at least, in UTF-16 units, before the lines
// around it are shortened instead.
const minBlock = 600

// Render implements channels.Channel. The error is that of the codec, for an action
// that cannot be encoded.
func (c *Channel) Render(card presentation.Card) (channels.Rendered, error) {
	m, whole := layout(card)
	actions, complete := card.Controls(whole)
	components, keyID, err := c.buttons(actions)
	if err != nil {
		return channels.Rendered{}, err
	}
	m.components = components
	r := channels.Rendered{Complete: complete, KeyID: keyID, Payload: m}
	for _, a := range actions {
		if a.Type == core.ActionApproval {
			r.Offered = append(r.Offered, a.Decision)
		}
	}
	return r, nil
}

// layout writes a card. The second result is false when something was cut. Lines
// around the command are shortened only where the command would otherwise not be
// seen.
func layout(card presentation.Card) (message, bool) {
	embed, factsWhole := factsOf(card)
	action := strings.TrimRight(clean(card.Command+card.Body), "\n") // Only one of them is set.
	for _, most := range []int{maxContent, 256, 96, 40} {
		head, headWhole := headOf(card, most)
		tail, tailWhole := tailOf(card, most)
		whole := factsWhole && headWhole && tailWhole
		if content, fits, actionWhole := assemble(card, head, action, tail, whole); fits {
			return message{content: content, embed: embed}, whole && actionWhole
		}
	}
	// Even the shortest form is too long: only with dozens of marks.
	head, _ := headOf(card, 40)
	content, _, _ := assemble(card, head, action, nil, false)
	return message{content: content, embed: embed}, false
}

// assemble joins the lines. fits is false when too little of the action would be
// seen.
func assemble(card presentation.Card, head []string, action string, tail []string, whole bool) (content string, fits, actionWhole bool) {
	mark := bold(escape(clean(strings.TrimSpace(firstOf(card.CutMark, "Not all of it fits here.")))))
	join := func(action string, cut bool) string {
		lines := slices.Clone(head)
		if action != "" {
			lines = append(lines, action)
		}
		if cut {
			lines = append(lines, mark)
		}
		return strings.Join(append(lines, tail...), "\n")
	}
	encode := block
	if breaksFence(action) { // Also what is left of it after a cut.
		encode = escape
	}
	if action == "" {
		content = join("", !whole)
		return content, units(content) <= maxContent, true
	}
	if content = join(encode(action), !whole); units(content) <= maxContent {
		return content, true, true
	}
	room := maxContent - units(join("", true)) - 1
	if room < min(minBlock, units(action)+fenceUnits) {
		return "", false, false
	}
	shown, _ := fit(action, room, encode)
	return join(shown, true), true, false
}

// headOf writes what stands above the action. It reports false when it cut.
func headOf(card presentation.Card, most int) ([]string, bool) {
	var l lines
	if o := card.Outcome; o != nil {
		l.add(o.Text, most, bold)
		if o.Note != "" {
			l.add("“"+o.Note+"”", most, nil)
		}
	}
	l.add(firstOf(card.Title, "Approval"), most, bold)
	l.add(card.Pill, most, italic)
	l.add(card.Summary, most, nil)
	return l.list, !l.cut
}

// tailOf writes the marks below the action.
func tailOf(card presentation.Card, most int) ([]string, bool) {
	var l lines
	for _, m := range card.Marks {
		l.add(m, most, italic)
	}
	return l.list, !l.cut
}

type lines struct {
	list []string
	cut  bool
}

func (l *lines) add(s string, most int, style func(string) string) {
	s = strings.TrimSpace(clean(s))
	if s == "" {
		return
	}
	s, wasCut := cut(s, most)
	l.cut = l.cut || wasCut
	if s = escape(s); style != nil && !strings.Contains(s, "\n") {
		s = style(s)
	}
	l.list = append(l.list, s)
}

// noValue stands for an empty value, which the platform refuses.
const noValue = "–"

// factsOf puts the facts into an embed; nil for none. It reports false when
// something was cut.
func factsOf(card presentation.Card) (*discordgo.MessageEmbed, bool) {
	if len(card.Facts) == 0 {
		return nil, true
	}
	for _, most := range []int{maxFieldValue, 400, 150} {
		e := &discordgo.MessageEmbed{Color: colour(card)}
		whole, size := len(card.Facts) <= maxFields, 0
		for _, f := range card.Facts[:min(len(card.Facts), maxFields)] {
			field, fieldWhole := fieldOf(f, most)
			whole = whole && fieldWhole
			size += units(field.Name) + units(field.Value)
			e.Fields = append(e.Fields, field)
		}
		if size <= maxEmbed {
			return e, whole
		}
	}
	return nil, false
}

func fieldOf(f presentation.Fact, most int) (*discordgo.MessageEmbedField, bool) {
	name, nameCut := fit(strings.TrimSpace(clean(f.Label)), maxFieldName, escape)
	if f.Time != 0 {
		return &discordgo.MessageEmbedField{Name: firstOf(name, noValue), Value: date(f.Time), Inline: true}, !nameCut
	}
	value := clean(f.Value)
	encode := escape
	if f.Code {
		encode = code
	}
	shown, valueCut := fit(strings.TrimSpace(value), most, encode)
	return &discordgo.MessageEmbedField{
		Name: firstOf(name, noValue), Value: firstOf(shown, noValue), Inline: units(value) <= 32,
	}, !nameCut && !valueCut
}

// date is the platform's own markup: each reader sees their own zone.
func date(at core.Millis) string { return fmt.Sprintf("<t:%d:f>", at.Time().Unix()) }

// The colours of the bar beside an embed.
const (
	colourAllowed = 0x2E7D32
	colourDenied  = 0xC62828
	colourEnded   = 0x757575
	colourWaiting = 0x1565C0
	colourOutside = 0xEF6C00
)

func colour(card presentation.Card) int {
	switch o := card.Outcome; {
	case o != nil && o.Unknown: // Somebody should look.
		return colourOutside
	case o != nil && o.Allowed:
		return colourAllowed
	case o != nil && o.ByPerson:
		return colourDenied
	case o != nil:
		return colourEnded
	case card.Class == core.ClassMoney:
		return colourDenied
	case card.Class == core.ClassSend:
		return colourOutside
	}
	return colourWaiting
}
