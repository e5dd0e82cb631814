package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// What the page shows of an action before somebody asks for all of it: enough for
// most, short enough that the buttons stay within reach of a thumb.
const (
	previewRunes = 3_000
	previewLines = 60
)

func (p *Pages) approval(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok {
		return
	}
	l, err := lookup(r.PathValue("id"))
	if err == nil {
		err = p.showApproval(w, r, c, l, http.StatusOK, "")
	}
	p.fail(w, r, c, err)
}

// fail answers for an error that left nothing written; nil and written pages pass.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, c core.Caller, err error) {
	switch {
	case err == nil:
	case errors.Is(err, core.ErrNotFound):
		p.notFound(w, r, c)
	default:
		p.unavailable(w, r, err)
	}
}

// showApproval reads the record again and renders it: what a page says is what the
// store says now, also after a press.
func (p *Pages) showApproval(w http.ResponseWriter, r *http.Request, c core.Caller, l core.Lookup, status int, notice string) error {
	ctx := r.Context()
	a, d, err := p.deps.Approvals.Detail(ctx, c, l)
	if err != nil {
		return err
	}
	now, err := p.deps.Clock.Now(ctx)
	if err != nil {
		return err
	}
	card := presentation.For(a, d, presentation.Place{
		Now: now, Zone: p.cfg.Zone, Person: c.Person.ID, Requester: p.requester(ctx, &a),
	})
	v := web.Approval{
		Frame: p.frame(ctx, c, card.Title, web.StateOf(&card)),
		Card:  card, Path: p.cfg.Links.Path(a.ID), Revision: a.Revision, Notice: notice,
	}
	v.Text, v.Cut, v.Hidden = preview(card.Command+card.Body, r.URL.Query().Get("view") == "all" || a.Status.Terminal())
	if !a.Status.Terminal() {
		v.Decide = p.decideForm(c, &a, &card, !v.Cut)
	}
	startHTML(w, status)
	p.show(ctx, p.deps.Renderer.Approval(w, v, part(r)))
	return nil
}

func (p *Pages) requester(ctx context.Context, a *core.Approval) string {
	if a.RequestedBy == "" {
		return ""
	}
	return p.deps.Name(ctx, a.RequestedBy)
}

// decideForm offers what this page may offer: Deny always; an allow only below the
// whole action, or below the kept part behind a tick that says what is missing.
func (p *Pages) decideForm(c core.Caller, a *core.Approval, card *presentation.Card, opened bool) *web.Decide {
	switch {
	case c.Person.Role == core.RoleViewer:
		return &web.Decide{ViewOnly: "You may read this question; you may not answer it."}
	case a.ExcludeRequester && a.RequestedBy == c.Person.ID:
		return &web.Decide{ViewOnly: "It was asked for you, so somebody else has to answer it."}
	}
	f := &web.Decide{
		Token: p.deps.Forms.Sign(c.Session, a.ID, a.CardRevision),
		Hash:  a.ArgumentsHash, Card: a.CardRevision,
	}
	if !opened {
		return f
	}
	f.View = p.deps.Views.Sign(a.ID, a.CardRevision, a.ActionHash, c.Session, card.Omitted == 0)
	if card.Omitted > 0 {
		f.Tick = "I allow it although " + strconv.FormatInt(card.Omitted, 10) +
			" bytes are not shown (hash " + a.ArgumentsHash + ")"
	}
	for _, d := range a.Offered {
		if label := presentation.DecisionLabel(a, d); d.Allows() && label != "" {
			f.Allow = append(f.Allow, web.Choice{Value: d, Label: label})
		}
	}
	return f
}

// preview cuts a long action on a whole code point and line, unless all of it was
// asked for.
func preview(text string, all bool) (shown string, cut bool, hidden string) {
	if all {
		return text, false, ""
	}
	end, runes, lines := len(text), 0, 1
	for i, c := range text {
		if c == '\n' {
			lines++
		}
		if runes == previewRunes || lines > previewLines {
			end = i
			break
		}
		runes++
	}
	if end == len(text) {
		return text, false, ""
	}
	rest := utf8.RuneCountInString(text[end:])
	return text[:end] + "…", true, strconv.Itoa(rest) + " characters"
}

// answer takes a person's press. The session, the form token and the view say who
// pressed what they saw; the service says whether they may.
func (p *Pages) answer(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil || !utf8.ValidString(r.PostForm.Get("note")) {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
		return
	}
	l, err := lookup(r.PathValue("id"))
	if err != nil {
		p.notFound(w, r, c)
		return
	}
	a, err := p.deps.Approvals.Get(r.Context(), c, l)
	if err != nil {
		p.fail(w, r, c, err)
		return
	}
	card, err := strconv.ParseInt(r.PostForm.Get("card"), 10, 64)
	if err != nil || !p.deps.Forms.Verify(r.PostForm.Get("token"), c.Session, a.ID, card) {
		p.fail(w, r, c, p.showApproval(w, r, c, l, http.StatusForbidden, "This form was out of date. Nothing was decided by this press."))
		return
	}
	if card != a.CardRevision && !a.Status.Terminal() {
		p.fail(w, r, c, p.showApproval(w, r, c, l, http.StatusConflict, "The question changed while you read it. Nothing was decided by this press."))
		return
	}
	p.resolve(w, r, c, &a)
}

func (p *Pages) resolve(w http.ResponseWriter, r *http.Request, c core.Caller, a *core.Approval) {
	complete, seen := p.deps.Views.Verify(r.PostForm.Get("view"), a.ID, a.CardRevision, a.ActionHash, c.Session)
	res, err := p.deps.Approvals.Resolve(r.Context(), approvals.Resolve{
		Caller: c, Lookup: core.Lookup{ID: a.ID},
		Kind:          core.Kind(r.PostForm.Get("kind")),
		Decision:      core.Decision(r.PostForm.Get("decision")),
		ArgumentsHash: r.PostForm.Get("hash"),
		Note:          strings.TrimSpace(r.PostForm.Get("note")),
		Shown: approvals.Shown{
			Complete: seen && complete, PartialView: seen && !complete && r.PostForm.Get("partial") == "1",
			ActionHash: a.ActionHash,
		},
	})
	status, notice := http.StatusOK, ""
	if err != nil {
		if errors.Is(err, core.ErrNotFound) {
			p.notFound(w, r, c)
			return
		}
		status, notice = refusal(err)
	} else if !part(r) {
		http.Redirect(w, r, p.cfg.Links.Path(a.ID), http.StatusSeeOther)
		return
	} else if !res.Applied && !res.Idempotent {
		notice = "Somebody else was first. Your press changed nothing."
	}
	if err := p.showApproval(w, r, c, core.Lookup{ID: a.ID}, status, notice); err != nil {
		// The record cannot be read back: no winner is made up (R186).
		p.fail(w, r, c, err)
	}
}

// refusal words an answer that changed nothing; an unknown outcome is said to be
// unknown.
func refusal(err error) (status int, notice string) {
	switch {
	case errors.Is(err, core.ErrForbidden):
		return http.StatusForbidden, "You may read this question; you may not answer it."
	case errors.Is(err, core.ErrNotShown), errors.Is(err, core.ErrHashRequired):
		return http.StatusUnprocessableEntity, "To allow it, open the whole action first. Nothing was decided."
	case errors.Is(err, core.ErrNotOffered), errors.Is(err, core.ErrWrongKind), errors.Is(err, core.ErrInvalid):
		return http.StatusUnprocessableEntity, presentation.AnswerNotOffered
	case errors.Is(err, core.ErrOutcomeUnknown):
		return http.StatusServiceUnavailable, presentation.AnswerUnclear
	case errors.Is(err, core.ErrStorageFull):
		return http.StatusInsufficientStorage, presentation.AnswerStorageFull
	}
	return http.StatusServiceUnavailable, presentation.AnswerNotRecorded
}
