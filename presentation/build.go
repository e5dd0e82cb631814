package presentation

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
)

// maxLabel bounds the label of a control in UTF-16 units after escaping: Slack takes 75
// characters and counts escapes, Discord takes 80 units.
const maxLabel = 64

// For builds the card of an approval as it is to be shown at a place. It is pure:
// the same record and place give the same card. In a chat the text of a terminal
// card is always shorter than that of its pending card, on every platform and after
// any escaping, so that it fits wherever the card fitted.
func For(a core.Approval, d core.Detail, p Place) Card {
	pending := pendingCard(&a, d, p)
	switch {
	case !a.Status.Terminal():
		return pending
	case p.Page:
		return settledPage(&a, pending, p)
	}
	return terminalCard(&a, pending, p)
}

func pendingCard(a *core.Approval, d core.Detail, p Place) Card {
	c := Card{
		ApprovalID: a.ID,
		Kind:       a.Kind,
		Status:     a.Status,
		Class:      a.Class,
		Revision:   a.CardRevision,
		ActionHash: a.ActionHash,
		Title:      a.Presentation.Title,
		Pill:       pill(a.Class),
		Omitted:    omitted(a, d),
		WholeShown: p.WholeShown && omitted(a, d) == 0,
	}
	switch a.Kind {
	case core.KindExec:
		c.Command = firstOf(withoutFacts(d.Text, a.Presentation), a.Presentation.Command)
		c.Summary = a.Presentation.Description
	case core.KindPlugin:
		c.Body = firstOf(d.Text, linesOf(a.Presentation), string(a.Presentation.Arguments))
		c.Summary = a.Presentation.Description
	}
	c.Facts = facts(a, p, c.Omitted)
	c.Marks = marks(a, c.Omitted, false)
	c.CutMark = cutMark(p, c.Omitted)
	c.Actions, c.CutActions = actions(a, p, c.Omitted)
	return c
}

// omitted is how many bytes of the action this card cannot hold. A card that only
// has the bounded projection of a longer action must not pass for whole, so an
// unknown number counts as one at least.
func omitted(a *core.Approval, d core.Detail) int64 {
	n := max(d.Omitted, a.DetailOmitted)
	if d.Text == "" && (a.DetailBytes > 0 || a.Presentation.Truncated) {
		n = max(n, a.DetailBytes, 1)
	}
	return n
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// withoutFacts takes out of a command's detail the lines that the card has as
// facts. They stand below the last blank line, which the command itself cannot hold;
// facts stay readable where a channel must cut the block.
func withoutFacts(text string, p core.Presentation) string {
	i := strings.LastIndex(text, "\n\n")
	if i < 0 {
		return text
	}
	lines := slices.DeleteFunc(strings.Split(text[i+2:], "\n"), func(l string) bool {
		return l == factFolder+": "+p.Folder || l == factExecutable+": "+p.Executable
	})
	if len(lines) == 0 {
		return text[:i]
	}
	return text[:i+2] + strings.Join(lines, "\n")
}

// linesOf lays out the bounded argument lines where the detail is not at hand.
func linesOf(p core.Presentation) string {
	lines := make([]string, 0, len(p.Lines))
	for _, l := range p.Lines {
		lines = append(lines, l.Label+": "+l.Value)
	}
	return strings.Join(lines, "\n")
}

// facts are in the contract's order; empty ones are left out.
func facts(a *core.Approval, p Place, omitted int64) []Fact {
	all := []Fact{
		{Label: factAgent, Value: a.Agent},
		{Label: factTool, Value: toolOf(a), Code: true},
		{Label: factFolder, Value: a.Presentation.Folder, Code: true},
		{Label: factExecutable, Value: a.Presentation.Executable, Code: true},
		{Label: factAskedBy, Value: askedBy(a, p)},
		{Label: factRisk, Value: a.Risk},
		{Label: factExpires, Value: Clock(a.ExpiresAt, a.CreatedAt, p.Zone), Time: a.ExpiresAt},
		{Label: factFingerprint, Value: a.Fingerprint, Code: true},
	}
	if offersAlways(a) && omitted == 0 && !p.Page { // The page's button has room for it; phones cut the labels of buttons after some thirty letters.
		all = append(all, Fact{Label: factAlways, Value: a.AlwaysOffer.Label})
	}
	return slices.DeleteFunc(all, func(f Fact) bool { return f.Value == "" })
}

// toolOf names what would be called. A title is the caller's own wording; the tool
// and its operation are what the action's hash covers.
func toolOf(a *core.Approval) string {
	if a.Operation.Tool == "" || a.Operation.Name == "" {
		return a.Operation.Tool + a.Operation.Name
	}
	return a.Operation.Tool + " · " + a.Operation.Name
}

// askedBy names the runtime, and the person it acts for where the caller knows
// the name; never an id (K24).
func askedBy(a *core.Approval, p Place) string {
	switch {
	case a.RequestedBy != "" && a.RequestedBy == p.Person:
		return wordsYou + ", through " + a.Runtime
	case p.Requester != "":
		return isolate(p.Requester) + ", through " + a.Runtime
	}
	return a.Runtime
}

// marks warn of what is special about the action; a card that waits also says what
// it waits for.
func marks(a *core.Approval, omitted int64, settled bool) []string {
	var m []string
	if a.Presentation.Redacted {
		m = append(m, markRedacted)
	}
	if a.Presentation.MixedScript {
		m = append(m, markMixedScript)
	}
	switch {
	case omitted > 1:
		m = append(m, fmt.Sprintf(markOmitted, grouped(omitted)))
	case omitted == 1:
		m = append(m, markOmittedSome)
	}
	if settled {
		return m
	}
	switch {
	case a.Class == core.ClassMoney && a.Kind == core.KindExec:
		m = append(m, MarkMoneyCommand)
	case a.Class == core.ClassMoney:
		m = append(m, MarkMoney)
	}
	if a.Continuation == core.ContinuationDraft {
		return append(m, markDraft)
	}
	return append(m, markWaits)
}

// grouped writes a count with thousands apart: "12,345".
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func cutMark(p Place, omitted int64) string {
	switch {
	case p.WholeShown && omitted == 0:
		return markCutShown
	case p.PublicURL != "":
		return markCutReview
	case p.WholeShown:
		return markCutShown
	}
	return markCutShowAll
}

// actions are the controls of a card that shows the whole action, and of one that
// does not: the latter never allows (K29).
func actions(a *core.Approval, p Place, omitted int64) (whole, cut []core.Action) {
	deny := []core.Action{
		decide(a, core.DecisionDeny, labelDeny),
		callback(a, core.CallbackNote, labelNote),
	}
	review, hasReview := review(a, p)

	cut = slices.Clone(deny)
	switch {
	case hasReview:
		cut = append(cut, review)
	case !p.WholeShown:
		cut = append(cut, callback(a, core.CallbackShowAll, labelShowAll))
	}
	if omitted > 0 {
		return cut, slices.Clone(cut)
	}

	for _, d := range []core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways} {
		if label := DecisionLabel(a, d); label != "" {
			whole = append(whole, decide(a, d, label))
		}
	}
	whole = append(whole, deny...)
	if hasReview {
		whole = append(whole, review)
	}
	if p.WholeShown {
		cut = slices.Clone(whole)
	}
	return whole, cut
}

// offersAlways repeats the rule that a money card never offers a rule (R72):
// whatever a record says, the button is not there.
func offersAlways(a *core.Approval) bool {
	return a.AlwaysOffer != nil && a.Class != core.ClassMoney && a.Offers(core.DecisionAllowAlways)
}

// DecisionLabel is what the control of a decision says, or "" where this approval
// does not offer it.
func DecisionLabel(a *core.Approval, d core.Decision) string {
	switch d {
	case core.DecisionAllowOnce:
		if a.Offers(d) {
			return labelAllowOnce
		}
	case core.DecisionAllowAlways:
		if offersAlways(a) {
			return alwaysLabel(a.AlwaysOffer.Label)
		}
	case core.DecisionDeny:
		return labelDeny
	case core.DecisionNone:
	}
	return ""
}

// alwaysLabel names the scope on the button, or where that is too long points to the
// fact of the card that does: a card names all that its rule covers (R72), and a cut
// scope may read like a wider one.
func alwaysLabel(scope string) string {
	label := labelAlways + scope
	if units(label)+4*strings.Count(label, "&")+3*strings.Count(label, "<")+3*strings.Count(label, ">") > maxLabel {
		return labelAlwaysAbove
	}
	return label
}

func decide(a *core.Approval, d core.Decision, label string) core.Action {
	return core.Action{Type: core.ActionApproval, Label: label, ApprovalID: a.ID, Kind: a.Kind, Decision: d}
}

func callback(a *core.Approval, v core.CallbackValue, label string) core.Action {
	return core.Action{Type: core.ActionCallback, Label: label, ApprovalID: a.ID, Kind: a.Kind, Value: v}
}

// review links to the page below the configured public address; no other source
// of an address exists (R178).
func review(a *core.Approval, p Place) (core.Action, bool) {
	link := ReviewURL(p.PublicURL, a.ID)
	if link == "" {
		return core.Action{}, false
	}
	return core.Action{Type: core.ActionURL, Label: labelReview, URL: link}, true
}

// ReviewURL is the absolute address of an approval's page below the configured
// public address, or "" when none is configured.
func ReviewURL(publicURL, id string) string {
	if publicURL == "" {
		return ""
	}
	return strings.TrimRight(publicURL, "/") + "/approve/" + url.PathEscape(id)
}

// cutRunes bounds s by code points, with a visible cut that never leaves half of
// a visible escape such as \u{200B} behind.
func cutRunes(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	r := []rune(s)[:max(limit-1, 0)]
	return dropHalfEscape(string(r)) + "…"
}

// dropHalfEscape removes an unfinished \u{HEX} from the end of a cut text.
func dropHalfEscape(s string) string {
	const longest = len(`\u{10FFFF`)
	from := max(len(s)-longest, 0)
	i := strings.LastIndexByte(s[from:], '\\')
	if i < 0 || strings.ContainsRune(s[from+i:], '}') {
		return s
	}
	tail := s[from+i:]
	if strings.HasPrefix(`\u{`, tail) || strings.HasPrefix(tail, `\u{`) {
		return s[:from+i]
	}
	return s
}
