package presentation

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/saysohq/sayso/core"
)

// MaxAnswer bounds a private answer in UTF-16 units: Telegram's limit for the
// answer to a callback query, which is the smallest of all.
const MaxAnswer = 200

// Answers that need no record. Each stands alone below MaxAnswer.
const (
	AnswerForeign      = "This button was made by another installation of sayso. It decides nothing here."
	AnswerNotOurs      = "This button is not one of ours. Nothing was changed."
	AnswerOpenOriginal = "This is not the original card, so it decides nothing. Open the original card and answer there."
	AnswerNotRecorded  = "Not recorded: nothing was decided. Please try again."
	AnswerStorageFull  = "Not recorded: the service has no room left to write. Nothing was decided. Please tell an admin."
	AnswerUnclear      = "It is not known whether this was recorded. Do not rely on it: look at the card in a moment, it will show the truth."
	AnswerNotShown     = "This card does not show the whole action, so it cannot allow it. Open all of it first; you can deny here."
	AnswerMayNotDecide = "You may see this question, but not answer it. Nothing was changed."
	AnswerNotOffered   = "This choice is not offered for this question. Nothing was changed."
	AnswerDamaged      = "The record of this question is damaged, so it cannot be decided. Please tell an admin."
	AnswerShowAll      = "The whole action is on its way to this chat."
	AnswerShownAlready = "This card is closed, so there is nothing more to show."
	AnswerPromptGone   = "This question was answered before or has run out. Nothing was changed."
	AnswerNotYourAsk   = "This question was put to somebody else. Nothing was changed."
	AnswerDismissed    = "All right, nothing was changed."
	AnswerWordsOnly    = "I can pass on words only, so nothing was decided. Send them again without the attachment."
	AnswerNoMore       = "There is nothing to do about this any more. Nothing was changed."
	AnswerNobodyHears  = "No program listens for this any more, so it cannot be asked for again. Nothing was changed."
	AnswerEmptyNote    = "A note needs some words. Nothing was decided."
	AnswerDirectOnly   = "This works only in a direct chat with me."

	AnswerCodeShared  = "Codes belong in a direct chat with me. Others could read this one, so it is void: make a new one."
	AnswerCodeInvalid = "This code is not valid any more. Make a new one and try again."
	AnswerIdentity    = "This account is linked to somebody else. An admin can remove that link first."
	AnswerWelcome     = "I bring you questions and take your answers. To link this account, open the link that sayso shows you."

	AnswerUsageApprove = "Write /approve, the id, allow-once (or allow-always) and the fingerprint of the card."
	AnswerUsageDeny    = "Write /deny and the id, and a note if you like."
	AnswerUsage        = "I know /pending, /mode, /rules, /approve, /deny and /whoami."
	AnswerNoCard       = "There is no open card of this in this chat that shows all of it. Answer on the card you were sent."
	AnswerCardComes    = "Here is its card. Answer there."
	AnswerUseCard      = "This needs the fingerprint that the card shows, or simply the card's buttons. Nothing was decided."
	AnswerWrongPrint   = "This is not the fingerprint of that action. Nothing was decided."
	AnswerNoneWaiting  = "Nothing waits for you."
)

// Labels and words of our own questions.
const (
	PromptNoteTitle       = "Deny with a note"             // At most 24 characters.
	PromptNotePlaceholder = "What should be done instead?" // At most 64 characters.
	promptNoteText        = "Your note denies “%s” (%s). Reply to this message; until then nothing is decided."
	promptNoteDialog      = "Your note denies “%s” (%s). Until you send it nothing is decided."
	promptLinkText        = "Let this %s account (%s, id %s) decide as %s?"
	promptAgain           = "Ask for “%s” (%s) again? The agent's program is told to make a new request; nothing is allowed by that."
	promptAgainMayHave    = "Ask for “%s” (%s) again? It may have happened already, so look first. Nothing is allowed by asking."
	LabelYesAskAgain      = "Yes, ask again"
	LabelConfirm          = labelConfirm
	LabelDismiss          = labelDismiss
)

// AnswerResolved words the answer to a person's own decision from the committed
// record: applied tells whether this call decided, again whether the same person's
// same decision was there before. Place.Person is who is answered.
func AnswerResolved(a core.Approval, applied, again bool, p Place) string {
	mine := p.Person != "" && p.Person == a.ResolverID && byPerson(&a)
	switch {
	case applied && mine:
		return brief(capital(wordsYou+" "+ownWords(&a)) + "." + grantWords(a.Grant))
	case again && mine:
		return brief(capital(wordsYou) + " had already " + ownWords(&a) + ", " + Clock(a.ResolvedAt, readAt(&a, p), p.Zone) + "." + grantWords(a.Grant))
	}
	return AnswerState(a, p)
}

// AnswerState words where a record stands, for somebody who came too late or who
// asks: who decided, where and when; or that it expired or was closed, and why.
func AnswerState(a core.Approval, p Place) string {
	if !a.Status.Terminal() {
		return "This still waits for an answer."
	}
	if !byPerson(&a) {
		return brief(closed(capital(sentence(&a, p, readAt(&a, p), false, maxNameShown))) + grantWords(a.Grant))
	}
	return brief("Already decided: " + closed(sentence(&a, p, readAt(&a, p), true, maxNameShown)) + grantWords(a.Grant))
}

// ownWords are a person's own decision after "You".
func ownWords(a *core.Approval) string {
	switch a.Decision {
	case core.DecisionAllowOnce:
		return "allowed this once"
	case core.DecisionAllowAlways:
		if a.AlwaysOffer != nil {
			label := cutRunes(a.AlwaysOffer.Label, 80)
			return "allowed this, and from now on without asking: " + label
		}
		return "allowed this, and from now on without asking"
	case core.DecisionDeny, core.DecisionNone:
	}
	switch {
	case a.ByMessage:
		return "declined this with your message"
	case a.Note != "":
		return "denied this with your note"
	}
	return "denied this"
}

// readAt is the day on which an answer is read: a person who comes back after
// days needs the date, which a card beside its own date does not.
func readAt(a *core.Approval, p Place) core.Millis {
	if p.Now != 0 {
		return p.Now
	}
	return a.CreatedAt
}

// AnswerNotYours tells a person that they may not answer, with the id that was
// seen, so that an admin can add it. It is the same for somebody unknown, for
// somebody without the right and for a question that does not exist (R155).
func AnswerNotYours(realm, id string) string {
	return brief(fmt.Sprintf("You cannot answer this. If you should: give an admin your %s id, %s.", realmWords(realm), shortID(id)))
}

// AnswerRefused tells an account of a kind that can never decide why; why is a
// phrase such as "an anonymous admin".
func AnswerRefused(why string) string {
	return brief("You appear as " + why + "; such an account can never answer. Nothing was decided.")
}

// AnswerWhoAmI tells a linked person who they are here.
func AnswerWhoAmI(person core.Principal, realm, id string) string {
	name := cutRunes(person.Name, maxNameShown)
	state := ""
	if person.Disabled {
		state = ", disabled"
	}
	return brief(fmt.Sprintf("You are %s (%s%s). Your %s id is %s.", isolate(name), person.Role, state, realmWords(realm), shortID(id)))
}

// AnswerUnknownAccount tells an account that is not linked which id was seen.
func AnswerUnknownAccount(realm, id string) string {
	return brief(fmt.Sprintf("This account is not linked to anybody. Its %s id is %s: an admin can add it.", realmWords(realm), shortID(id)))
}

// AnswerLinked tells a person that the link was made.
func AnswerLinked(person core.Principal) string {
	name := cutRunes(person.Name, maxNameShown)
	return brief(fmt.Sprintf("Linked. What you answer here counts as %s.", isolate(name)))
}

// AnswerWaiting heads the list of what waits; more tells that it goes on.
func AnswerWaiting(count int, more bool) string {
	switch {
	case more:
		return fmt.Sprintf("More than %d questions wait for you; the newest:", count)
	case count == 1:
		return "One question waits for you:"
	}
	return fmt.Sprintf("%d questions wait for you:", count)
}

// WaitingLine is one question of that list.
func WaitingLine(a core.Approval) string {
	return brief(fmt.Sprintf("%s · %s · %s", typedID(&a), a.Fingerprint, a.Presentation.Title))
}

// typedID is the id that text commands take: an id that a caller chose may be long
// and hold anything, so its fixed-size reference stands for it.
func typedID(a *core.Approval) string {
	if strings.Contains(a.ID, ":") {
		return a.Ref
	}
	return a.ID
}

// PromptNote asks, in a message, for the note that denies an approval.
func PromptNote(a core.Approval) string {
	title := cutRunes(a.Presentation.Title, 80)
	return brief(fmt.Sprintf(promptNoteText, title, a.Fingerprint))
}

// PromptNoteDialog asks for the same note in a dialog.
func PromptNoteDialog(a core.Approval) string {
	title := cutRunes(a.Presentation.Title, 80)
	return brief(fmt.Sprintf(promptNoteDialog, title, a.Fingerprint))
}

// PromptLink asks at the chat's end whether this account may decide as a person.
func PromptLink(name, realm, label, id string) string {
	name = cutRunes(name, 48)
	label = cutRunes(label, 48)
	if label == "" {
		label = "no name"
	}
	return brief(fmt.Sprintf(promptLinkText, realmWords(realm), isolate(label), shortID(id), isolate(name)))
}

func shortID(id string) string {
	id = cutRunes(id, 32)
	return id
}

// brief bounds an answer to MaxAnswer UTF-16 units, with a visible cut.
func brief(s string) string {
	if units(s) <= MaxAnswer {
		return s
	}
	left := MaxAnswer - 1
	for i, r := range s {
		if left -= utf16.RuneLen(r); left < 0 {
			return strings.TrimRight(dropHalfEscape(s[:i]), " ") + "…"
		}
	}
	return s
}

func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// PromptAgain asks whether to ask for a new request.
func PromptAgain(a core.Approval) string {
	title := cutRunes(a.Presentation.Title, 80)
	text := promptAgain
	if a.MayHaveHappened() {
		text = promptAgainMayHave
	}
	return brief(fmt.Sprintf(text, title, a.Fingerprint))
}

// AnswerAskedAgain confirms that a new request was asked for, or tells who was first.
func AnswerAskedAgain(a core.Approval, p Place) string {
	act := a.Aftermath.AskedAgain
	if act.By == p.Person {
		return "Asked for: the agent's program is told to make a new request. If it does, a new card comes."
	}
	return brief(actLine("Asked for already, by ", act, readAt(&a, p), p))
}

// AnswerDismissedOutcome confirms that an outcome was dismissed, or tells who was first.
func AnswerDismissedOutcome(a core.Approval, p Place) string {
	act := a.Aftermath.Dismissed
	if act.By == p.Person {
		return "Dismissed. It stays on record that this may have happened."
	}
	return brief(actLine("Dismissed already, by ", act, readAt(&a, p), p))
}

// AnswerReopened tells who let a declined action be asked again.
func AnswerReopened(r core.Reopened, p Place) string {
	act := core.Act{By: r.By, Name: r.Name, At: r.At}
	line := actLine("Re-opened by ", &act, max(p.Now, r.At), p)
	return brief(line + " The next time this is asked, a card comes.")
}
