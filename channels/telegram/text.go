package telegram

import (
	"strings"
	"unicode"

	"github.com/go-telegram/bot/models"

	"github.com/saysohq/sayso/channels/internal/text"
)

const (
	maxText     = 4096 // UTF-16 units of a message: the strictest reading of "characters".
	maxEntities = 100  // Of a message; the platform ignores those beyond.
	// maxPieces is how many entities the words of one part of a message (above the
	// command, below it) may take up, so that both parts stay below maxEntities.
	maxPieces = 35
	ellipsis  = text.Ellipsis
)

// units is the length of s as the platform counts offsets.
func units(s string) int { return text.Cost(text.UTF16).Size(s) }

// cut bounds s to most units with a visible cut.
func cut(s string, most int) (string, bool) { return text.Cost(text.UTF16).Cut(s, most) }

// split cuts s into parts of at most most units.
func split(s string, most int) []string { return text.Cost(text.UTF16).Split(s, most) }

// clean makes visible what the platform would silently drop or replace, because
// that would change what people read and shift the entities behind it.
func clean(s string) string { return text.Visible(s, dropped) }

// dropped lists what the platform's servers remove from texts: control characters,
// directions, and three combining marks.
func dropped(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r == 0x7f, r >= 0x2028 && r <= 0x202E, r == 0x0333, r == 0x033F, r == 0x030A:
		return true
	}
	return false
}

// builder puts a message together and keeps count.
type builder struct {
	text     strings.Builder
	units    int
	entities []models.MessageEntity
}

// write appends s as it is, in one style; "" for none.
func (b *builder) write(s string, style models.MessageEntityType) {
	s = clean(s)
	n := units(s)
	if style != "" && strings.TrimSpace(s) != "" {
		b.entities = append(b.entities, models.MessageEntity{Type: style, Offset: b.units, Length: n})
	}
	b.text.WriteString(s)
	b.units += n
}

// mention appends a name that notifies the user.
func (b *builder) mention(name string, user int64) {
	at := b.units
	b.write(name, "")
	if b.units > at {
		b.entities = append(b.entities, models.MessageEntity{
			Type: models.MessageEntityTypeTextMention, Offset: at, Length: b.units - at, User: &models.User{ID: user, FirstName: name},
		})
	}
}

// prose appends text that was not written by us: words that clients would turn
// into mentions, links or commands are set in code, where they leave them alone.
func (b *builder) prose(s string, style models.MessageEntityType) {
	s = clean(s)
	pieces := piecesOf(s)
	if len(b.entities)+len(pieces) > maxPieces {
		b.write(s, models.MessageEntityTypeCode)
		return
	}
	for _, p := range pieces {
		if p.live {
			b.write(p.text, models.MessageEntityTypeCode)
			continue
		}
		b.write(p.text, style)
	}
}

type piece struct {
	text string
	live bool // A client would make something of it.
}

// piecesOf splits s into text that clients leave alone and words that they do not.
// Punctuation around such a word stays outside, for the eye.
func piecesOf(s string) []piece {
	var list []piece
	add := func(text string, live bool) {
		if n := len(list); n > 0 && list[n-1].live == live {
			list[n-1].text += text
			return
		}
		if text != "" {
			list = append(list, piece{text, live})
		}
	}
	for _, word := range words(s) {
		if !linkable(word) {
			add(word, false)
			continue
		}
		bare := strings.TrimRight(strings.TrimLeft(word, "(“‘\"'"), ".,;:!?)”’\"'")
		if !linkable(bare) {
			bare = word
		}
		i := strings.Index(word, bare)
		add(word[:i], false)
		add(bare, true)
		add(word[i+len(bare):], false)
	}
	return list
}

// words splits s so that the parts put together are s again: runs of white space
// and runs of anything else.
func words(s string) []string {
	var list []string
	start, space := 0, false
	for i, r := range s {
		if is := unicode.IsSpace(r); i == 0 || is != space {
			if i > start {
				list = append(list, s[start:i])
				start = i
			}
			space = is
		}
	}
	if start < len(s) {
		list = append(list, s[start:])
	}
	return list
}

// linkable reports whether a client could see a mention, hashtag, command, link,
// address or number in a word. It says yes too often rather than too seldom.
func linkable(word string) bool {
	if strings.ContainsAny(word, "@#$") || strings.Contains(word, "://") {
		return true
	}
	digits := 0
	r := []rune(word)
	for i, c := range r {
		before, after := ' ', ' '
		if i > 0 {
			before = r[i-1]
		}
		if i+1 < len(r) {
			after = r[i+1]
		}
		switch {
		case unicode.IsDigit(c):
			digits++
		case c == '/' && !alphanumeric(before) && alphanumeric(after),
			c == ':' && unicode.IsLetter(before) && after != ' ',
			c == '.' && alphanumeric(before) && alphanumeric(after):
			return true
		}
	}
	return digits >= 7
}

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
