package gateway_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// A press needs a session, the form's own token, this site and the revision that
// was rendered; whatever lacks one of them decides nothing and says so.
func TestPage_PostIsBound(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	bea := s.person("Bea", core.RoleAdmin)
	a, other := s.ask(), s.ask()
	good := s.admin.get(pathOf(&a)).form(core.DecisionAllowOnce)
	with := func(key, value string) url.Values {
		f := url.Values{}
		maps.Copy(f, good)
		f.Set(key, value)
		return f
	}
	stranger := s.visitor()
	cases := []struct {
		name   string
		who    *visitor
		form   url.Values
		header []string
		status int
		says   string
	}{
		{"no session", stranger, good, nil, http.StatusUnauthorized, "/signin?next="},
		{"no token", s.admin, with("token", ""), nil, http.StatusForbidden, "This form was out of date"},
		{"another session's token", bea, good, nil, http.StatusForbidden, "This form was out of date"},
		{"another approval's token", s.admin, s.admin.get(pathOf(&other)).form(core.DecisionAllowOnce), nil, http.StatusForbidden, "This form was out of date"},
		{"another revision", s.admin, with("card", "2"), nil, http.StatusForbidden, "This form was out of date"},
		{"no revision", s.admin, with("card", ""), nil, http.StatusForbidden, "This form was out of date"},
		{"another site", s.admin, good, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden, "This came from another site"},
		{"a neighbour", s.admin, good, []string{"Sec-Fetch-Site", "same-site"}, http.StatusForbidden, "This came from another site"},
		{"another origin", s.admin, good, []string{"Sec-Fetch-Site", "", "Origin", "https://evil.example"}, http.StatusForbidden, "This came from another site"},
		{"a sandbox", s.admin, good, []string{"Sec-Fetch-Site", "", "Origin", "null"}, http.StatusForbidden, "This came from another site"},
		{"no decision", s.admin, with("decision", ""), nil, http.StatusUnprocessableEntity, "Nothing was changed"},
		{"an invented decision", s.admin, with("decision", "allow"), nil, http.StatusUnprocessableEntity, "Nothing was changed"},
		{"a decision that is not offered", s.admin, with("decision", "allow-always"), nil, http.StatusUnprocessableEntity, "Nothing was changed"},
		{"the other kind", s.admin, with("kind", "plugin"), nil, http.StatusUnprocessableEntity, "Nothing was changed"},
		{"no view", s.admin, with("view", ""), nil, http.StatusUnprocessableEntity, "open the whole action first"},
		{"no text", s.admin, with("note", "\xff"), nil, http.StatusBadRequest, "could not be read"},
		{"too large", s.admin, with("note", strings.Repeat("n", 70<<10)), nil, http.StatusBadRequest, "could not be read"},
	}
	for _, c := range cases {
		for _, part := range []string{"", "main"} {
			res := c.who.post(pathOf(&a), c.form, append([]string{"X-Part", part}, c.header...)...)
			require.Equal(t, c.status, res.status, c.name)
			require.Contains(t, res.body, c.says, c.name)
			require.Equal(t, core.StatusPending, s.read(a.ID).Status, c.name)
		}
	}
	require.Equal(t, http.StatusSeeOther, s.admin.post(pathOf(&a), good).status, "and the good form still works")
}

// Whoever was too late learns who was first; the same answer again is no fault; the
// winner stays (conformance 96, 99, 133).
func TestPage_TooLate(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	bea := s.person("Bea", core.RoleAdmin)
	a := s.ask()
	late, again := bea.get(pathOf(&a)), s.admin.get(pathOf(&a))
	s.admin.post(pathOf(&a), again.form(core.DecisionDeny))

	res := bea.post(pathOf(&a), late.form(core.DecisionAllowOnce))
	require.Equal(t, http.StatusOK, res.status)
	require.Contains(t, res.body, "Your press changed nothing")
	require.Contains(t, res.body, "Resolved elsewhere: denied by Ann")
	require.Equal(t, http.StatusSeeOther, s.admin.post(pathOf(&a), again.form(core.DecisionDeny)).status)
	got := s.read(a.ID)
	require.Equal(t, core.StatusDenied, got.Status)
	require.Equal(t, core.SurfacePage, got.Surface)
}

// Many presses at once: one winner, and every answer names it.
func TestPage_Race(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	bea := s.person("Bea", core.RoleAdmin)
	a := s.ask()
	forms := map[*visitor]url.Values{
		s.admin: s.admin.get(pathOf(&a)).form(core.DecisionAllowOnce),
		bea:     bea.get(pathOf(&a)).form(core.DecisionDeny),
	}
	var group sync.WaitGroup
	statuses := make(chan int, 20)
	for v, f := range forms {
		for range 10 {
			group.Go(func() { statuses <- v.post(pathOf(&a), f).status })
		}
	}
	group.Wait()
	close(statuses)
	for status := range statuses {
		require.Contains(t, []int{http.StatusOK, http.StatusSeeOther}, status)
	}
	winner := s.read(a.ID)
	require.True(t, winner.Status.Terminal())
	want := map[core.Status]string{core.StatusAllowed: "llowed once by", core.StatusDenied: "enied by"}[winner.Status]
	for v := range forms {
		require.Contains(t, v.get(pathOf(&a)).body, want)
	}
}

// A cut action offers no Allow until it was rendered to its end, whatever is posted
// (K29).
func TestPage_CutAction(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a := s.ask(longPlugin(20 << 10))
	cut := s.admin.get(pathOf(&a))
	require.Contains(t, cut.body, "Show everything")
	require.NotContains(t, cut.body, "Allow once")
	require.Contains(t, cut.body, `value="deny"`)
	require.NotContains(t, cut.body, "paragraph 00600")

	forged := cut.form(core.DecisionAllowOnce)
	small := s.ask()
	for _, view := range []string{"", "c.", "c.AAAA", s.admin.get(pathOf(&small)).form(core.DecisionAllowOnce).Get("view")} {
		forged.Set("view", view)
		res := s.admin.post(pathOf(&a), forged)
		require.Equal(t, http.StatusUnprocessableEntity, res.status)
		require.Equal(t, core.StatusPending, s.read(a.ID).Status)
	}

	all := s.admin.get(pathOf(&a) + "?view=all")
	require.Contains(t, all.body, "paragraph 00600")
	require.Contains(t, all.body, "Allow once")
	require.Contains(t, all.body, `action="`+pathOf(&a)+`?view=all"`, "a refusal comes back to the same view")
	require.Equal(t, http.StatusSeeOther, s.admin.post(pathOf(&a)+"?view=all", all.form(core.DecisionAllowOnce)).status)
	got := s.read(a.ID)
	require.Equal(t, core.StatusAllowed, got.Status)
	require.False(t, got.PartialView)
}

// Beyond 64 KiB an allow needs a tick of its own, which is recorded (K29).
func TestPage_PartialView(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a := s.ask(longPlugin(100 << 10))
	require.Positive(t, a.DetailOmitted)
	all := s.admin.get(pathOf(&a) + "?view=all")
	require.Contains(t, all.body, "bytes are not shown")
	require.Contains(t, all.body, a.ArgumentsHash)
	require.Contains(t, all.body, "formnovalidate>Deny", "deny needs no tick")

	form := all.form(core.DecisionAllowOnce)
	res := s.admin.post(pathOf(&a)+"?view=all", form)
	require.Equal(t, http.StatusUnprocessableEntity, res.status)
	require.Contains(t, res.body, "tick that you know")
	form.Set("view", "c"+strings.TrimPrefix(form.Get("view"), "p"))
	form.Set("partial", "1")
	require.Equal(t, http.StatusUnprocessableEntity, s.admin.post(pathOf(&a), form).status, "a partial view cannot pass for complete")
	require.Equal(t, core.StatusPending, s.read(a.ID).Status)

	form = all.form(core.DecisionAllowOnce)
	form.Set("partial", "1")
	require.Equal(t, http.StatusSeeOther, s.admin.post(pathOf(&a), form).status)
	got := s.read(a.ID)
	require.Equal(t, core.StatusAllowed, got.Status)
	require.True(t, got.PartialView)
	require.Contains(t, s.admin.get(pathOf(&a)).body, "A part was not shown")
}

// The note goes with Deny, as one line, and with nothing else.
func TestPage_Note(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a, b := s.ask(), s.ask()
	form := s.admin.get(pathOf(&a)).form(core.DecisionDeny)
	form.Set("note", "  first staging\r\nthen production ")
	s.admin.post(pathOf(&a), form)
	require.Equal(t, "first staging then production", s.read(a.ID).Note)
	require.Contains(t, s.admin.get(pathOf(&a)).body, "then production")

	form = s.admin.get(pathOf(&b)).form(core.DecisionAllowOnce)
	form.Set("note", "not this way")
	s.admin.post(pathOf(&b), form)
	require.Equal(t, core.StatusAllowed, s.read(b.ID).Status)
	require.Empty(t, s.read(b.ID).Note)
}

// Whoever may only read gets no form, and a forged press is refused.
func TestPage_ReadersDecideNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	viewer := s.person("Vic", core.RoleViewer)
	s.own(viewer)
	a := s.ask()
	page := viewer.get(pathOf(&a))
	require.Equal(t, http.StatusOK, page.status)
	require.NotContains(t, page.body, `id="decide"`)
	require.Contains(t, page.body, "not answer it")
	res := viewer.post(pathOf(&a), url.Values{"decision": {"deny"}, "card": {strconv.FormatInt(a.CardRevision, 10)}})
	require.Equal(t, http.StatusForbidden, res.status)
	require.Equal(t, core.StatusPending, s.read(a.ID).Status)
}

// A right that is lost between reading and pressing is a question that is not there.
func TestPage_RightLost(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	rita := s.person("Rita", core.RoleReviewer)
	s.own(rita)
	a := s.ask()
	form := rita.get(pathOf(&a)).form(core.DecisionAllowOnce)
	viewer := core.RoleViewer
	_, err := s.people.ChangePerson(t.Context(), core.Caller{Operator: true}, core.ChangePrincipal{ID: rita.id, Role: &viewer})
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, rita.post(pathOf(&a), form).status)
	gone := true
	_, err = s.people.ChangePerson(t.Context(), core.Caller{Operator: true}, core.ChangePrincipal{ID: rita.id, Disabled: &gone})
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, rita.post(pathOf(&a), form).status)
	require.Equal(t, core.StatusPending, s.read(a.ID).Status)
}

// An outcome that is not known takes the controls away until the record is read; a
// reading that fails invents nothing (R186, R215, conformance 132, 133).
func TestPage_LostAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a := s.ask()
	form := s.admin.get(pathOf(&a)).form(core.DecisionAllowOnce)

	s.faults.set(func(f *pageFaults) {
		f.resolve = func(context.Context, approvals.Resolve) (approvals.Resolved, error) {
			return approvals.Resolved{}, core.ErrOutcomeUnknown
		}
	})
	res := s.admin.post(pathOf(&a), form)
	require.Equal(t, http.StatusServiceUnavailable, res.status)
	require.Contains(t, res.body, "It is not known whether this was recorded")
	require.NotContains(t, res.body, `id="decide"`)
	require.Contains(t, res.body, "data-unclear")

	s.faults.set(func(f *pageFaults) {
		f.resolve = func(context.Context, approvals.Resolve) (approvals.Resolved, error) {
			return approvals.Resolved{}, errors.New("something nobody foresaw")
		}
	})
	require.Contains(t, s.admin.post(pathOf(&a), form).body, "It is not known whether this was recorded")

	for err, says := range map[error]string{core.ErrUnavailable: "Not recorded", core.ErrStorageFull: "no room left"} {
		s.faults.set(func(f *pageFaults) {
			f.resolve = func(context.Context, approvals.Resolve) (approvals.Resolved, error) { return approvals.Resolved{}, err }
		})
		res = s.admin.post(pathOf(&a), form)
		require.Contains(t, res.body, says)
		require.Contains(t, res.body, `id="decide"`, "nothing was recorded: it can be tried again")
	}

	// The write succeeds and the reading back fails: neither outcome is claimed.
	s.faults.set(func(f *pageFaults) { f.resolve, f.detail = nil, core.ErrUnavailable })
	res = s.admin.post(pathOf(&a), form, "X-Part", "main")
	require.Equal(t, http.StatusServiceUnavailable, res.status)
	require.Equal(t, "error", res.state())
	require.Contains(t, res.body, "It is not known whether what you sent was recorded")
	for _, claim := range []string{"Nothing was decided", "llowed", "enied"} {
		require.NotContains(t, res.body, claim)
	}
	require.Equal(t, http.StatusServiceUnavailable, s.admin.get(pathOf(&a)).status)

	s.faults.set(func(f *pageFaults) { f.detail = core.ErrCorrupt })
	damaged := s.admin.get(pathOf(&a))
	require.Equal(t, "damaged", damaged.state())
	require.NotContains(t, damaged.body, "<button class=\"allow\"")

	s.faults.set(func(f *pageFaults) { f.detail = nil })
	require.Equal(t, "decided-here", s.admin.get(pathOf(&a)).state())
}
