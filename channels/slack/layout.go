package slack

import (
	"strings"

	"github.com/slack-go/slack"

	"github.com/saysohq/sayso/presentation"
)

// Limits of the platform, in characters after escaping unless said otherwise.
const (
	maxBlock  = 3_000
	maxNotice = 1_000 // Of the text for notifications; the platform recommends at most 4,000.
	maxLabel  = 75
	maxRow    = 25 // Elements of one block of buttons.
	maxLink   = 3_000
)

// part is one block of rich text on its way: pieces, and how long they are together.
type part struct {
	pieces []slack.RichTextSectionElement
	text   strings.Builder // The same without styles.
	size   int
	pre    bool
}

func (p *part) write(s string, style *slack.RichTextSectionTextStyle) {
	if s = clean(s); s == "" {
		return
	}
	p.pieces = append(p.pieces, slack.NewRichTextSectionTextElement(s, style))
	p.text.WriteString(s)
	p.size += size(s)
}

// date writes a point in time that each reader sees in their own zone.
func (p *part) date(f presentation.Fact) {
	fallback := clean(f.Value)
	p.pieces = append(p.pieces, slack.NewRichTextSectionDateElement(
		f.Time.Time().Unix(), "{date_short_pretty} {time}", nil, &fallback))
	p.text.WriteString(fallback)
	p.size += size(fallback)
}

func (p *part) empty() bool { return len(p.pieces) == 0 }

// block is the part as the platform takes it.
func (p *part) block() slack.Block {
	if p.pre {
		return preformatted(p.pieces)
	}
	return slack.NewRichTextBlock("", slack.NewRichTextSection(p.pieces...))
}

func preformatted(pieces []slack.RichTextSectionElement) slack.Block {
	return slack.NewRichTextBlock("", &slack.RichTextPreformatted{Type: slack.RTEPreformatted, Elements: pieces})
}

func bold() *slack.RichTextSectionTextStyle   { return &slack.RichTextSectionTextStyle{Bold: true} }
func italic() *slack.RichTextSectionTextStyle { return &slack.RichTextSectionTextStyle{Italic: true} }
func code() *slack.RichTextSectionTextStyle   { return &slack.RichTextSectionTextStyle{Code: true} }

// lengths are tried one after the other for the values of a part, until it fits.
func lengths() []int { return []int{maxBlock, 1_000, 256, 96, 40} }

// headOf writes what stands above the command. The second result is false when
// something was cut.
func headOf(card presentation.Card) (*part, bool) {
	var p *part
	whole := false
	for _, most := range lengths() {
		p, whole = new(part), true
		line := func(s string, style *slack.RichTextSectionTextStyle) {
			if s = strings.TrimSpace(clean(s)); s == "" {
				return
			}
			s, wasCut := cut(s, most)
			whole = whole && !wasCut
			if !p.empty() {
				p.write("\n", nil)
			}
			p.write(s, style)
		}
		if o := card.Outcome; o != nil {
			line(o.Text, bold())
			if o.Note != "" {
				line("“"+o.Note+"”", nil)
			}
		}
		line(firstOf(card.Title, "Approval"), bold())
		line(card.Pill, italic())
		line(card.Summary, nil)
		if p.size <= maxBlock {
			break
		}
	}
	return p, whole
}

// commandOf writes the command or arguments as one block, so that nothing can pass
// for its end. The second result is false when it was cut.
func commandOf(card presentation.Card) (*part, bool) {
	text := clean(card.Command + card.Body) // Only one of them is set.
	p := &part{pre: true}
	shown, wasCut := cut(text, maxBlock)
	p.write(shown, nil)
	return p, !wasCut
}

// tailOf writes the facts and marks below the command, after the mark of a cut.
func tailOf(card presentation.Card, soFar bool) (*part, bool) {
	for _, most := range lengths() {
		p, whole := writeTail(card, most, soFar)
		if !whole && soFar { // Cut here for the first time: say so.
			p, _ = writeTail(card, most, false)
		}
		if p.size <= maxBlock {
			return p, whole && soFar
		}
	}
	// Only with dozens of facts or marks.
	p := new(part)
	p.write(firstOf(card.CutMark, "Not all of it fits here."), bold())
	return p, false
}

func writeTail(card presentation.Card, most int, soFar bool) (*part, bool) {
	p, whole := new(part), true
	next := func() {
		if !p.empty() {
			p.write("\n", nil)
		}
	}
	if !soFar {
		p.write(firstOf(card.CutMark, "Not all of it fits here."), bold())
	}
	for _, f := range card.Facts {
		next()
		p.write(f.Label+": ", nil)
		if f.Time != 0 {
			p.date(f)
			continue
		}
		value, wasCut := cut(clean(f.Value), most)
		whole = whole && !wasCut
		style := (*slack.RichTextSectionTextStyle)(nil)
		if f.Code {
			style = code()
		}
		p.write(value, style)
	}
	for _, m := range card.Marks {
		next()
		p.write(m, italic())
	}
	return p, whole
}

// notice is the text for notifications and for clients without blocks. It is markup,
// so it is escaped; it is no part of what a card shows.
func notice(card presentation.Card) string {
	lines := []string{firstOf(card.Title, "Approval")}
	if o := card.Outcome; o != nil {
		lines = []string{o.Text, firstOf(card.Title, "Approval")}
	}
	if card.Pill != "" {
		lines = append(lines, card.Pill)
	}
	if block := strings.TrimSpace(card.Command + card.Body); block != "" {
		short, _ := cut(clean(block), maxNotice/2)
		lines = append(lines, short)
	}
	text, _ := cut(clean(strings.Join(lines, "\n")), maxNotice)
	return escape(text)
}
