package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// What the page shows of an action before somebody asks for all of it. Most are
// shown whole; of a longer one the head is enough to deny it or to want more.
const (
	wholeRunes = 3_000
	wholeLines = 60
	headRunes  = 1_200
	headLines  = 24
	// Up to here action and controls share a phone's screen, so that the controls
	// may stay at its edge; below anything longer they wait at the end.
	shortRunes = 600
	shortLines = 12
)

// shown is one rendering of an approval.
type shown struct {
	status  int
	notice  string // What the last press led to, where the card alone does not say it.
	unclear bool   // Whether the last press was recorded is not known: no controls.
}

func (p *Pages) approval(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok {
		return
	}
	l, err := lookup(r.PathValue("id"))
	if err == nil {
		err = p.showApproval(w, r, c, l, shown{status: http.StatusOK})
	}
	p.fail(w, r, c, err)
}

// showApproval reads the record again and renders it: what a page says is what the
// store says now, also after a press. An error means that nothing was written.
func (p *Pages) showApproval(w http.ResponseWriter, r *http.Request, c core.Caller, l core.Lookup, as shown) error {
	a, d, err := p.deps.Approvals.Detail(r.Context(), c, l)
	if err != nil {
		return err
	}
	now, err := p.deps.Clock.Now(r.Context())
	if err != nil {
		return err
	}
	v := p.pageOf(r, c, &a, d, now)
	if v.Notes, err = p.notesOf(r.Context(), c, &a, now); err != nil {
		return err
	}
	v.Version += "." + strconv.Itoa(len(v.Notes))
	v.Notice, v.Unclear = as.notice, as.unclear
	if as.unclear {
		v.Decide = nil
	}
	startHTML(w, as.status)
	p.show(r.Context(), p.deps.Renderer.Approval(w, v, part(r)))
	return nil
}

func (p *Pages) pageOf(r *http.Request, c core.Caller, a *core.Approval, d core.Detail, now core.Millis) web.Approval {
	card := presentation.For(*a, d, presentation.Place{
		Now: now, Zone: p.cfg.Zone, Person: c.Person.ID, Requester: p.requester(r, a), Page: true,
	})
	card.Facts = append(card.Facts, p.times(a, &card)...)
	footer := ""
	for _, mark := range []string{presentation.MarkMoney, presentation.MarkMoneyCommand} {
		if at := slices.Index(card.Marks, mark); at >= 0 { // It stands where a rule would be offered.
			card.Marks, footer = slices.Delete(card.Marks, at, at+1), mark
		}
	}
	v := web.Approval{
		Frame: p.frame(r.Context(), c, card.Title, web.StateOf(&card)),
		Card:  card, Path: p.cfg.Links.Path(a.ID), Revision: a.Revision, Expires: a.ExpiresAt,
		Opened: r.URL.Query().Get("view") == "all", Footer: footer, Listed: footer == presentation.MarkMoney, Doubt: a.MayHaveHappened(),
	}
	full := card.Command + card.Body
	v.Text, v.Cut, v.Hidden = preview(full, v.Opened || a.Status.Terminal())
	v.Short = !longer(full, shortRunes, shortLines)
	if c.Admin() && len(a.Trail) > 0 {
		v.Trail = trailOf(a)
	}
	if !a.Status.Terminal() {
		v.Decide = p.decideForm(c, a, &card, !v.Cut)
		v.Version = v.Decide.Token
	}
	v.Version += "." + strconv.FormatInt(a.Revision, 10)
	return v
}

// trailOf is the story of the evaluation, for admins: it names tables, rules and modes.
func trailOf(a *core.Approval) *web.Trail {
	t := &web.Trail{Title: presentation.TrailTitle(a)}
	for _, l := range presentation.TrailLines(a.Trail) {
		t.Lines = append(t.Lines, web.TrailLine(l))
	}
	return t
}

// times are facts that only the page has: a browser words them in the reader's
// own zone and language.
func (p *Pages) times(a *core.Approval, card *presentation.Card) []presentation.Fact {
	facts := []presentation.Fact{{
		Label: "Asked", Value: presentation.Clock(a.CreatedAt, a.CreatedAt, p.cfg.Zone), Time: a.CreatedAt,
	}}
	if card.Outcome == nil {
		return facts
	}
	label := "Closed"
	if card.Outcome.ByPerson {
		label = "Answered"
	}
	return append(facts, presentation.Fact{
		Label: label, Value: presentation.Clock(a.ResolvedAt, a.CreatedAt, p.cfg.Zone), Time: a.ResolvedAt,
	})
}

func (p *Pages) requester(r *http.Request, a *core.Approval) string {
	if a.RequestedBy == "" {
		return ""
	}
	return p.deps.Name(r.Context(), a.RequestedBy)
}

// decideForm offers what this page may offer: Deny always; an allow only below the
// whole action, or below the kept part behind a tick that says what is missing.
func (p *Pages) decideForm(c core.Caller, a *core.Approval, card *presentation.Card, opened bool) *web.Decide {
	switch {
	case c.Person.Role == core.RoleViewer:
		return &web.Decide{ViewOnly: presentation.AnswerMayNotDecide}
	case a.ExcludeRequester && a.RequestedBy == c.Person.ID:
		return &web.Decide{ViewOnly: "It was asked for you, so somebody else has to answer it."}
	}
	f := &web.Decide{
		Token: p.deps.Forms.Sign(c.Session, a.ID, a.CardRevision),
		Hash:  a.ArgumentsHash, Card: a.CardRevision,
	}
	switch {
	case !opened:
		f.OpenFirst = true
		return f
	case card.Omitted > 0 && a.DetailOmitted == 0:
		f.Blocked = "The rest of this action cannot be read, so it cannot be allowed."
		return f
	case card.Omitted > 0:
		f.Tick = "I allow it although " + grouped(card.Omitted) + " bytes are not shown"
		f.TickHash = a.ArgumentsHash
	}
	f.View = p.deps.Views.Sign(a.ID, a.CardRevision, a.ActionHash, c.Session, card.Omitted == 0)
	for _, d := range []core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways} {
		label := presentation.DecisionLabel(a, d)
		if label != "" && d == core.DecisionAllowAlways {
			label = presentation.AlwaysAllow(a.AlwaysOffer.Label)
		}
		if label != "" {
			f.Allow = append(f.Allow, web.Choice{Value: d, Label: label})
		}
	}
	return f
}

// preview cuts a long action, visibly and on a whole code point, unless all of it
// was asked for.
func preview(text string, all bool) (head string, cut bool, hidden string) {
	if all || !longer(text, wholeRunes, wholeLines) {
		return text, false, ""
	}
	runes, lines := 0, 1
	for i, c := range text {
		if c == '\n' {
			lines++
		}
		if runes == headRunes || lines > headLines {
			return text[:i] + "…", true, grouped(int64(utf8.RuneCountInString(text[i:])))
		}
		runes++
	}
	return text, false, ""
}

func longer(text string, runes, lines int) bool {
	return utf8.RuneCountInString(text) > runes || strings.Count(text, "\n") >= lines
}

// grouped writes a count with thousands apart: "12,345".
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
