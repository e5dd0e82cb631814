package approvals

import (
	"strings"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
)

// Figures of the label of a rule for one exact command.
const (
	maxNamed = 120 // Bytes; as long as other offers' labels may be.
	maxBegin = 48  // Code points of a command that does not fit.
)

// named says on an offer for one exact command which command that is: its rule stays in
// lists where no card stands beside it (R72, R76). The text is the card's own, redacted
// and with hidden characters visible. What does not fit is said to go on, and what has
// no text keeps the policy's words.
func named(o *core.AlwaysOffer, p *core.Presentation) *core.AlwaysOffer {
	if o == nil || !core.ValidHash(o.Value) {
		return o
	}
	what, whole := commandOf(p)
	if what == "" {
		return o
	}
	offer := *o
	if offer.Label = "exactly " + what; !whole || len(offer.Label) > maxNamed {
		offer.Label = "exactly the command that begins with " + begin(what)
	}
	return &offer
}

// commandOf is the command with where it runs, in one line, and whether that is all
// of it.
func commandOf(p *core.Presentation) (text string, whole bool) {
	whole = !p.Truncated
	if p.Kind == core.KindExec {
		if text = p.Command; text != "" && p.Folder != "" {
			text += " in " + p.Folder
		}
		return oneLine(text, whole)
	}
	parts := make([]string, 0, len(p.Lines))
	for _, l := range p.Lines {
		whole = whole && !l.Cut
		parts = append(parts, l.Label+": "+l.Value)
	}
	return oneLine(strings.Join(parts, ", "), whole)
}

func oneLine(text string, whole bool) (string, bool) {
	first, _, more := strings.Cut(text, "\n")
	return strings.TrimSpace(first), whole && !more
}

// begin is the head of a text, visibly cut, without half of a visible escape.
func begin(text string) string {
	if utf8.RuneCountInString(text) > maxBegin {
		text = string([]rune(text)[:maxBegin])
	}
	if i := strings.LastIndex(text, `\`); i >= 0 && !strings.Contains(text[i:], "}") && len(text)-i < len(`\u{10FFFF}`) {
		text = text[:i]
	}
	return strings.TrimRight(text, " ") + "…"
}
