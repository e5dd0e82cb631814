package presentation

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
)

// brevity is how much of an outcome must give way where a card is very small.
type brevity struct {
	name  int  // Code points of the person's name.
	terse bool // Leave out what the page explains: why a grant was taken back, what was not shown.
}

// outcomeOf words the end of a gate for a place.
func outcomeOf(a *core.Approval, p Place, b brevity) Outcome {
	elsewhere := byPerson(a) && isElsewhere(a, p)
	text := sentence(a, p, a.CreatedAt, elsewhere, b.name)
	switch {
	case a.MayHaveHappened():
		text = wordsMayHave + text
	case elsewhere:
		text = wordsElsewhere + text
	default:
		text = capital(text)
	}
	if a.PartialView && !b.terse {
		text = closed(text) + wordsPartial
	}
	switch {
	case b.terse && a.Execution == core.ExecutionVoided:
		text = closed(text) + closed(wordsVoided)
	case a.Execution == core.ExecutionVoided:
		text = closed(text) + grantWords(a.Grant)
	}
	return Outcome{
		Text:      text,
		Allowed:   a.Status == core.StatusAllowed && a.Execution != core.ExecutionVoided,
		Unknown:   a.MayHaveHappened(),
		Elsewhere: elsewhere,
		ByPerson:  byPerson(a),
		Note:      a.Note,
	}
}

// sentence says what happened, by whom, where and when, starting in lower case.
// The time carries its date when that is not the day of ref.
func sentence(a *core.Approval, p Place, ref core.Millis, withSurface bool, maxName int) string {
	when := Clock(a.ResolvedAt, ref, p.Zone)
	if byPerson(a) {
		text := decisionWords(a) + " by " + who(a, p, maxName)
		if withSurface {
			text += surfaceWords(a.Surface)
		}
		return text + ", " + when
	}
	if a.Origin == core.OriginAuto {
		return unaskedWords(a.Execution) + PolicyName(a.PolicyID) + ", " + when
	}
	text := strings.ToLower(statusWords(a.Status)) + " at " + when
	if why := whyWords(a.Reason); why != "" {
		text += ": " + why
		if a.Reason == core.ReasonAdmin && a.ResolverName != "" {
			text += " (" + who(a, p, maxName) + ")"
		}
	}
	return text
}

// byPerson reports whether a person's own word ended the gate. A wrong hash is
// none: the person allowed something else.
func byPerson(a *core.Approval) bool {
	if a.ResolverKind != core.ResolverHuman {
		return false
	}
	return a.Reason == core.ReasonUser || a.Reason == core.ReasonMessage
}

// isElsewhere reports whether the answer came from another place than this one:
// any delivery but the clicked one. The page belongs to no delivery; it is the
// place of an answer for the person who gave it on a page.
func isElsewhere(a *core.Approval, p Place) bool {
	if p.Delivery != "" {
		return a.DeliveryID != p.Delivery
	}
	return a.Surface != core.SurfacePage || a.ResolverID == "" || a.ResolverID != p.Person
}

// who is "you" in the places of that one person, and everywhere else the name
// that was recorded with the decision (K31).
func who(a *core.Approval, p Place, maxName int) string {
	switch {
	case p.Person != "" && p.Person == a.ResolverID:
		return wordsYou
	case a.ResolverName == "":
		return wordsSomebody
	}
	name := cutRunes(a.ResolverName, maxName)
	return isolate(name)
}

// isolate closes a right-to-left name with a left-to-right mark: without it the
// comma and the time after the name would be drawn on its other side.
func isolate(name string) string {
	if strings.ContainsFunc(name, rightToLeft) {
		return name + "\u200e"
	}
	return name
}

func rightToLeft(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam)
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// closed ends a text with a full stop, so that another sentence may follow.
func closed(s string) string {
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}
