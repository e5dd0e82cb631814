package presentation

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
)

// Figures of the terminal card.
const (
	maxNameShown = 64  // Code points; the bound of a display name.
	maxNoteShown = 300 // Weight of the note; the page and the agent have all of it.
	maxExcerpt   = 600 // Code points of the action that a settled card keeps.
	lineOverhead = 16  // What a channel may add to a line: a break, a mark, an emphasis.
)

// terminalCard turns a pending card into the settled one. Title and agent stay as
// they are; the outcome, and what there is room for, takes the place of the rest.
//
// Whatever is new is weighed at its dearest (bytes, UTF-16 or escaped), whatever
// goes is weighed at its cheapest (code points), so the sum shrinks by every
// measure a platform may count with.
func terminalCard(a *core.Approval, pending Card, p Place) Card {
	c := pending
	c.Command, c.Body, c.Summary, c.Pill = "", "", "", ""
	c.Facts, c.Marks, c.CutMark = nil, nil, ""
	c.Actions = afterActions(a, p)
	c.CutActions = c.Actions
	c.WholeShown, c.Omitted = false, 0

	room := freed(&pending)
	out := outcomeWithin(a, p, room-lineOverhead)
	room -= weight(out.Text) + lineOverhead

	out.Note = heavyCut(out.Note, min(room-lineOverhead, maxNoteShown))
	if out.Note != "" {
		room -= weight(out.Note) + lineOverhead
	}
	c.Outcome = &out

	// Which rule was made comes before all that the card had shown (R76).
	var rule []Fact
	if a.Decision == core.DecisionAllowAlways && a.AlwaysOffer != nil {
		rule = ruleWithin(a.AlwaysOffer.Label, room)
		room -= factWeight(rule)
	}
	for _, line := range afterLines(a, p) {
		if cost := weight(line) + lineOverhead; cost < room {
			c.Marks = append(c.Marks, line)
			room -= cost
		}
	}
	keep := func(f Fact, cost int) {
		if cost < room {
			c.Facts = append(c.Facts, f)
			room -= cost
		}
	}
	for _, f := range pending.Facts {
		switch f.Label {
		case factAgent:
			c.Facts = append(c.Facts, f) // Stays, so it was not counted as freed.
		case factTool, factFingerprint:
			keep(f, runes(f.Label, f.Value))
		}
	}
	c.Facts = append(c.Facts, rule...)
	c.Command = excerpt(pending.Command, room-1)
	c.Body = excerpt(pending.Body, room-1)
	return c
}

// ruleWithin is the one line that names the rule that was made, within a weight; nil
// where not even a few of its words fit.
func ruleWithin(label string, room int) []Fact {
	label = heavyCut(label, room-weight(factNowAllowed)-lineOverhead-1)
	if label == "" {
		return nil
	}
	return []Fact{{Label: factNowAllowed, Value: label}}
}

func factWeight(facts []Fact) int {
	n := 0
	for _, f := range facts {
		n += weight(f.Label) + weight(f.Value) + lineOverhead
	}
	return n
}

// settledPage is the record for whoever opens its link later: all that was shown,
// with the outcome in the place of the controls. Which rule was made is the page's to
// say: it reads whether that still holds.
func settledPage(a *core.Approval, pending Card, p Place) Card {
	c := pending
	out := outcomeOf(a, p, brevity{name: maxNameShown})
	c.Outcome = &out
	c.Actions, c.CutActions, c.CutMark = nil, nil, ""
	c.Facts = slices.DeleteFunc(c.Facts, func(f Fact) bool { return f.Label == factExpires || f.Label == factAlways })
	c.Marks = marks(a, c.Omitted, true)
	if result := resultWords(a.Grant); result != "" {
		c.Facts = append(c.Facts, Fact{Label: factResult, Value: result})
	}
	return c
}

// outcomeWithin words the outcome with as many words as weigh no more than room;
// the fact itself is in each form.
func outcomeWithin(a *core.Approval, p Place, room int) Outcome {
	var out Outcome
	for _, b := range []brevity{
		{name: maxNameShown}, {name: 32}, {name: 16}, {name: 16, terse: true}, {name: 8, terse: true},
	} {
		if out = outcomeOf(a, p, b); weight(out.Text) <= room {
			return out
		}
	}
	out.Text = heavyCut(out.Text, room)
	return out
}

// freed is how many code points of the pending card make way.
func freed(c *Card) int {
	n := runes(c.Pill, c.Command, c.Body, c.Summary)
	for _, f := range c.Facts {
		if f.Label != factAgent {
			n += runes(f.Label, f.Value)
		}
	}
	return n + runes(c.Marks...)
}

func runes(texts ...string) int {
	n := 0
	for _, t := range texts {
		n += utf8.RuneCountInString(t)
	}
	return n
}

// weight is the most that a platform can count for a text: bytes of UTF-8, UTF-16
// units, HTML entities or a backslash before each mark of punctuation.
func weight(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case strings.ContainsRune(`&<>"'`, r):
			n += len("&#34;")
		case r >= utf8.RuneSelf:
			n += utf8.RuneLen(r)
		case r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r == ' ', r == '\n':
			n++
		default:
			n += 2
		}
	}
	return n
}

// heavyCut cuts a text to a weight, visibly; "" where not even a few words fit.
func heavyCut(s string, room int) string {
	if weight(s) <= room {
		return s
	}
	const few = 20
	if room < few {
		return ""
	}
	left := room - weight("…")
	for i, r := range s {
		if left -= weight(string(r)); left < 0 {
			return dropHalfEscape(s[:i]) + "…"
		}
	}
	return s
}

// excerpt keeps the head of the action on the settled card, never more than room
// code points less what the cut mark weighs.
func excerpt(s string, room int) string {
	cut := weight("…")
	limit := min(maxExcerpt, room-cut)
	if limit < 1 {
		return ""
	}
	const few = 16 // Less says nothing.
	if limit < few && utf8.RuneCountInString(s) > limit {
		return ""
	}
	return cutRunes(s, limit)
}
