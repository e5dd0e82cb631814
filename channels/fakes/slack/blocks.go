package slack

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/saysohq/sayso/channels/fakes"
)

// The limits that the platform publishes, in characters unless said otherwise.
const (
	maxBlocks     = 50
	maxViewBlocks = 100
	maxText       = 40_000
	maxSection    = 3_000
	maxHeader     = 150
	maxElements   = 25
	maxContext    = 10
	maxLabel      = 75
	maxValue      = 2_000
	maxLink       = 3_000
	maxID         = 255
	maxTitle      = 24
	maxMetadata   = 3_000
	maxHint       = 150
	maxInput      = 2_000
)

// block is a block, an element of one, or an element of rich text: as much of them
// as an app like ours uses.
type block struct {
	Type        string   `json:"type"`
	BlockID     string   `json:"block_id,omitempty"`
	Text        *textAny `json:"text,omitempty"`
	Elements    []block  `json:"elements,omitempty"`
	Element     *block   `json:"element,omitempty"`
	Label       *textAny `json:"label,omitempty"`
	Placeholder *textAny `json:"placeholder,omitempty"`
	ActionID    string   `json:"action_id,omitempty"`
	Value       string   `json:"value,omitempty"`
	URL         string   `json:"url,omitempty"`
	Style       any      `json:"style,omitempty"`
	Multiline   bool     `json:"multiline,omitempty"`
	MaxLength   int      `json:"max_length,omitempty"`
	MinLength   int      `json:"min_length,omitempty"`
	Border      int      `json:"border,omitempty"`
	Timestamp   float64  `json:"timestamp,omitempty"`
	Format      string   `json:"format,omitempty"`
	Fallback    string   `json:"fallback,omitempty"`
	Range       string   `json:"range,omitempty"`
	UserID      string   `json:"user_id,omitempty"`
}

// units is a length as strict as it can be read.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// checkBlocks names what the platform would refuse.
func checkBlocks(list []block, most int) []string {
	var wrong []string
	if len(list) > most {
		wrong = append(wrong, fmt.Sprintf("%d blocks", len(list)))
	}
	ids := map[string]bool{}
	for i, b := range list {
		bad := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("block %d: ", i)+fmt.Sprintf(format, args...))
		}
		if units(b.BlockID) > maxID || b.BlockID != "" && ids[b.BlockID] {
			bad("its id is too long or not unique")
		}
		ids[b.BlockID] = true
		switch b.Type {
		case "rich_text":
			checkLength(bad, "rich text", escape(plainOf(b)), 0, maxSection)
		case "section":
			checkText(bad, b.Text, maxSection)
		case "header":
			checkText(bad, b.Text, maxHeader)
			checkPlain(bad, b.Text)
		case "context":
			if len(b.Elements) == 0 || len(b.Elements) > maxContext {
				bad("%d elements", len(b.Elements))
			}
		case "actions":
			checkActions(bad, b.Elements)
		case "input":
			checkInput(bad, &b)
		case "divider":
		default:
			bad("the fake knows no %q", b.Type)
		}
	}
	return wrong
}

func checkLength(bad func(string, ...any), what, s string, least, most int) {
	if n := units(s); n < least || n > most {
		bad("%s of %d characters", what, n)
	}
}

func checkText(bad func(string, ...any), t *textAny, most int) {
	if t == nil {
		bad("no text")
		return
	}
	checkLength(bad, "text", escapedOf(t), 1, most)
}

// escapedOf is a text as the platform counts it: plain text is escaped by it, markup
// came escaped.
func escapedOf(t *textAny) string {
	if t.Type == "mrkdwn" {
		return t.Text
	}
	return escape(t.Text)
}

func checkPlain(bad func(string, ...any), t *textAny) {
	if t == nil || t.Type != "plain_text" {
		bad("text that is not plain")
	}
}

func checkActions(bad func(string, ...any), elements []block) {
	if len(elements) == 0 || len(elements) > maxElements {
		bad("%d elements", len(elements))
	}
	seen, primary := map[string]bool{}, 0
	for _, e := range elements {
		if e.Type != "button" {
			bad("the fake knows no %q", e.Type)
		}
		checkPlain(bad, e.Text)
		checkText(bad, e.Text, maxLabel)
		checkLength(bad, "value", e.Value, 0, maxValue)
		checkLength(bad, "link", e.URL, 0, maxLink)
		checkLength(bad, "action id", e.ActionID, 1, maxID)
		if seen[e.ActionID] {
			bad("an action id twice")
		}
		seen[e.ActionID] = true
		switch e.Style {
		case "primary":
			primary++
		case nil, "danger":
		default:
			bad("style %v", e.Style)
		}
	}
	if primary > 1 {
		bad("more than one primary button")
	}
}

func checkInput(bad func(string, ...any), b *block) {
	checkPlain(bad, b.Label)
	checkText(bad, b.Label, maxInput)
	if b.Element == nil || b.Element.Type != "plain_text_input" {
		bad("an input that the fake does not know")
		return
	}
	if b.Element.Placeholder != nil {
		checkText(bad, b.Element.Placeholder, maxHint)
	}
	if b.Element.MaxLength > maxSection || b.Element.MinLength > maxSection {
		bad("an input that is too long")
	}
}

func hasRichText(list []block) bool {
	return slices.ContainsFunc(list, func(b block) bool { return b.Type == "rich_text" })
}

// plainOf is what one block shows. Rich text is taken literally.
func plainOf(b block) string {
	switch b.Type {
	case "rich_text":
		var lines []string
		for _, e := range b.Elements {
			lines = append(lines, plainOf(e))
		}
		return strings.Join(lines, "\n")
	case "rich_text_section", "rich_text_preformatted", "rich_text_quote":
		var s strings.Builder
		for _, e := range b.Elements {
			s.WriteString(plainOf(e))
		}
		return s.String()
	case "text":
		return b.Text.Text
	case "date":
		return b.Fallback
	case "section", "header":
		return textOf(b.Text)
	case "context":
		var words []string
		for _, e := range b.Elements {
			words = append(words, textOf(e.Text))
		}
		return strings.Join(words, " ")
	}
	return ""
}

func textOf(t *textAny) string {
	if t == nil {
		return ""
	}
	if t.Type == "mrkdwn" {
		return unescape(t.Text)
	}
	return t.Text
}

func unescape(s string) string {
	return strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(s)
}

// shown is what a person reads: the blocks, or the text where there are none.
func shown(text string, blocks []block) string {
	if len(blocks) == 0 {
		return unescape(text)
	}
	var parts []string
	for _, b := range blocks {
		if s := plainOf(b); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

func buttons(blocks []block) []fakes.Button {
	var list []fakes.Button
	for _, b := range blocks {
		if b.Type != "actions" {
			continue
		}
		for _, e := range b.Elements {
			list = append(list, fakes.Button{Label: e.Text.Text, Payload: e.Value, URL: e.URL})
		}
	}
	return list
}

// live is markup that mentions somebody, or links under another name.
var live = regexp.MustCompile(`<[@!#][^>]*>|<[^<>|]+\|[^>]*>|<(https?|mailto|tel):[^>]*>`)

// pings lists what the platform would take as a mention or a link to someone, in the
// text for notifications too.
func pings(text string, blocks []block) []string {
	found := live.FindAllString(text, -1)
	for _, b := range blocks {
		if b.Text != nil && b.Text.Type == "mrkdwn" {
			found = append(found, live.FindAllString(b.Text.Text, -1)...)
		}
		switch b.Type {
		case "user", "usergroup", "channel", "broadcast", "team", "link":
			found = append(found, b.Type+":"+b.UserID+b.Range+b.URL)
		}
		found = append(found, pings("", b.Elements)...)
	}
	return found
}
