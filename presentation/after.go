package presentation

import (
	"fmt"

	"github.com/saysohq/sayso/core"
)

// What a settled card of a chat still offers and says: an outcome that nobody knows,
// and a no that answers the same question for a while. None of it decides anything, and
// none of it offers a rule (R86).

// Labels of the controls below an outcome.
const (
	labelSeen     = "Dismiss"
	labelAskAgain = "Ask again"
	labelReopen   = "Re-open"
)

// OutcomeLabels are those of the controls that a settled card may have. A card with any
// other still asks.
func OutcomeLabels() []string { return []string{labelSeen, labelAskAgain, labelReopen} }

// Words below an outcome.
const (
	wordsMayHave = "May have happened: "
	markStarted  = "It was started, and nobody has said how it ended. Look before it is asked again."
	markSticky   = "Until %s the same is declined unasked, unless it is re-opened."
	wordsSeen    = "Dismissed by "
	wordsAgain   = "Asked for again by "
)

// afterActions are the controls of a settled card in a chat. Asking again is there only
// where a runtime would hear of it, and of a decline it lifts the answer as well.
func afterActions(a *core.Approval, p Place) []core.Action {
	var list []core.Action
	if p.Beside {
		return nil
	}
	if a.Dismissable() {
		list = append(list, callback(a, core.CallbackDismissOutcome, labelSeen))
	}
	switch {
	case a.AskableAgain() && p.Listens:
		list = append(list, callback(a, core.CallbackAskAgain, labelAskAgain))
	case sticks(a, p):
		list = append(list, callback(a, core.CallbackReopen, labelReopen))
	}
	return list
}

// sticks reports whether the decline answers the same action for a while (K34): a
// person's own button, where the policy in force has such a window.
func sticks(a *core.Approval, p Place) bool {
	return p.Sticky > 0 && a.Status == core.StatusDenied && a.Reason == core.ReasonUser && a.ResolverKind == core.ResolverHuman
}

// afterLines say what people did about the outcome since, and what holds because of it,
// the most important first.
func afterLines(a *core.Approval, p Place) []string {
	var lines []string
	if f := a.Aftermath; f != nil {
		if f.AskedAgain != nil {
			lines = append(lines, actLine(wordsAgain, f.AskedAgain, a.CreatedAt, p))
		}
		if f.Dismissed != nil {
			lines = append(lines, actLine(wordsSeen, f.Dismissed, a.CreatedAt, p))
		}
	}
	switch {
	case a.Dismissable():
		lines = append(lines, markStarted)
	case sticks(a, p):
		lines = append(lines, stickyLine(a, p))
	}
	return lines
}

// actLine says who did something about an outcome, and when, with its date unless that
// is the day of ref: "you" only in that one person's chat (K31).
func actLine(what string, act *core.Act, ref core.Millis, p Place) string {
	name := wordsYou
	if p.Person == "" || p.Person != act.By {
		name = cutRunes(firstOf(act.Name, wordsSomebody), maxNameShown)
		name = isolate(name)
	}
	return what + name + ", " + Clock(act.At, ref, p.Zone) + "."
}

// stickyLine is true whenever it is read: also after the time it names, and after
// somebody re-opened it.
func stickyLine(a *core.Approval, p Place) string {
	return fmt.Sprintf(markSticky, Clock(a.ResolvedAt+p.Sticky, a.CreatedAt, p.Zone))
}
