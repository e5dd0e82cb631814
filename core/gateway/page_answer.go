package gateway

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/presentation"
)

// What the page says after a press that decided nothing.
const (
	noticeOldForm  = "This form was out of date. Nothing was decided by this press."
	noticeChanged  = "The question changed while you read it. Nothing was decided by this press."
	noticeTooLate  = "Your press changed nothing: this was settled before it."
	noticeOpenAll  = "To allow it, open the whole action first. Nothing was decided."
	noticeTickOpen = "To allow it, tick that you know a part is not shown. Nothing was decided."
)

// answer takes a person's press. The session, the form token and the view say who
// pressed what they saw; the service says whether they may.
func (p *Pages) answer(w http.ResponseWriter, r *http.Request) {
	c, ok := p.signedIn(w, r)
	if !ok || !p.readForm(w, r) {
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
	// The token covers the revision that was rendered: neither another site nor an
	// old tab can name a newer one.
	card, err := strconv.ParseInt(r.PostForm.Get("card"), 10, 64)
	switch {
	case err != nil || !p.deps.Forms.Verify(r.PostForm.Get("token"), c.Session, a.ID, card):
		p.fail(w, r, c, p.showApproval(w, r, c, l, shown{status: http.StatusForbidden, notice: noticeOldForm}))
	case card != a.CardRevision && !a.Status.Terminal():
		p.fail(w, r, c, p.showApproval(w, r, c, l, shown{status: http.StatusConflict, notice: noticeChanged}))
	default:
		p.resolve(w, r, c, &a)
	}
}

func (p *Pages) resolve(w http.ResponseWriter, r *http.Request, c core.Caller, a *core.Approval) {
	answer := p.answerOf(r, c, a)
	res, err := p.deps.Approvals.Resolve(r.Context(), answer)
	as := shown{status: http.StatusOK}
	switch {
	case errors.Is(err, core.ErrNotFound):
		p.notFound(w, r, c)
		return
	case err != nil:
		as = refusal(err, answer.Decision)
		if r.PostForm.Get("view") != "" && a.DetailOmitted > 0 && errors.Is(err, core.ErrNotShown) {
			as.notice = noticeTickOpen
		}
	case !res.Applied && !res.Idempotent:
		as.notice = noticeTooLate
	case !part(r): // A reload then asks again instead of pressing again.
		http.Redirect(w, r, p.cfg.Links.Path(a.ID), http.StatusSeeOther) //nolint:gosec // An absolute path of ours.
		return
	}
	// Where the record cannot be read back, no winner is made up (R186).
	p.fail(w, r, c, p.showApproval(w, r, c, core.Lookup{ID: a.ID}, as))
}

// answerOf reads the form. Complete and PartialView come from the signed view
// alone; the hash is the one that the page showed (R89).
func (p *Pages) answerOf(r *http.Request, c core.Caller, a *core.Approval) approvals.Resolve {
	complete, seen := p.deps.Views.Verify(r.PostForm.Get("view"), a.ID, a.CardRevision, a.ActionHash, c.Session)
	answer := approvals.Resolve{
		Caller: c, Lookup: core.Lookup{ID: a.ID},
		Kind:          core.Kind(r.PostForm.Get("kind")),
		Decision:      core.Decision(r.PostForm.Get("decision")),
		ArgumentsHash: r.PostForm.Get("hash"),
		Shown: approvals.Shown{
			Complete: seen && complete, PartialView: seen && !complete && r.PostForm.Get("partial") == "1",
			ActionHash: a.ActionHash,
		},
	}
	if answer.Decision == core.DecisionDeny { // The box says so: the note goes with Deny.
		// A note is one line in the record; the box may hold several.
		answer.Note = strings.Join(strings.Fields(r.PostForm.Get("note")), " ")
	}
	return answer
}

// refusal words an answer that changed nothing; an unknown outcome is said to be
// unknown, and takes the controls away until the record was read again (R186).
func refusal(err error, d core.Decision) shown {
	switch {
	case errors.Is(err, core.ErrOutcomeUnknown):
		return shown{status: http.StatusServiceUnavailable, notice: presentation.AnswerUnclear, unclear: true}
	case errors.Is(err, core.ErrForbidden):
		return shown{status: http.StatusForbidden, notice: presentation.AnswerMayNotDecide}
	case d.Allows() && (errors.Is(err, core.ErrNotShown) || errors.Is(err, core.ErrHashRequired)):
		return shown{status: http.StatusUnprocessableEntity, notice: noticeOpenAll}
	case errors.Is(err, core.ErrNotOffered), errors.Is(err, core.ErrWrongKind), errors.Is(err, core.ErrInvalid):
		return shown{status: http.StatusUnprocessableEntity, notice: presentation.AnswerNotOffered}
	case errors.Is(err, core.ErrStorageFull):
		return shown{status: http.StatusInsufficientStorage, notice: presentation.AnswerStorageFull}
	case errors.Is(err, core.ErrUnavailable):
		return shown{status: http.StatusServiceUnavailable, notice: presentation.AnswerNotRecorded}
	}
	// An error that nobody foresaw proves nothing about the record.
	return shown{status: http.StatusServiceUnavailable, notice: presentation.AnswerUnclear, unclear: true}
}
