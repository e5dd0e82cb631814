package approvals_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
)

// TestFirstAnswerWins (R22, R27, conformance 14): the winner is recorded once; the
// same answer again succeeds, another gets the winner.
func TestFirstAnswerWins(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	rob := k.person("rob", core.RoleAdmin)
	a := k.ask()
	won := k.resolve(k.answer(&a, core.DecisionAllowOnce))
	require.True(t, won.Applied)
	require.Equal(t, "Name of ann", won.Approval.ResolverName)
	require.Equal(t, core.ExecutionUnclaimed, won.Approval.Execution)

	again := k.answer(&a, core.DecisionAllowOnce)
	again.Caller = rob
	same := k.resolve(again)
	require.False(t, same.Applied)
	require.True(t, same.Idempotent)
	lost := k.resolve(k.answer(&a, core.DecisionDeny))
	require.False(t, lost.Applied || lost.Idempotent)
	require.Equal(t, won.Approval, lost.Approval, "the loser gets the record as it is")
	require.Equal(t, map[string]int{"winner": 1, "idempotent": 1, "conflict": 1}, k.seen.races)
	require.Equal(t, []core.Reason{core.ReasonUser}, k.seen.ended)
}

// TestResolveRefuses: each of these is a 4xx that changes nothing (K9).
func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.person("requester", core.RoleAdmin)
	k.token.Token.ActsFor = "requester"
	a := k.ask(func(q *approvals.Ask) { q.ExcludeRequester = true })
	viewer, stranger := k.person("vic", core.RoleViewer), k.person("sam", core.RoleReviewer)
	requester := k.admin
	p, err := k.store.Principal(t.Context(), "requester")
	require.NoError(t, err)
	requester.Person = &p
	require.NoError(t, k.store.SetOwners(t.Context(), "agents", "books", []string{"vic"}))

	type change func(*approvals.Resolve)
	for name, c := range map[string]struct {
		want   error
		change change
	}{
		"unknown id":            {core.ErrNotFound, func(r *approvals.Resolve) { r.Lookup.ID = "agents:nothing" }},
		"stranger":              {core.ErrNotFound, func(r *approvals.Resolve) { r.Caller = stranger }},
		"nobody":                {core.ErrNotFound, func(r *approvals.Resolve) { r.Caller = core.Caller{} }},
		"operator":              {core.ErrNotFound, func(r *approvals.Resolve) { r.Caller = core.Caller{Operator: true} }},
		"another runtime":       {core.ErrNotFound, func(r *approvals.Resolve) { r.Caller = core.Caller{Token: &core.Token{Runtime: "other"}} }},
		"its own runtime":       {core.ErrForbidden, func(r *approvals.Resolve) { r.Caller = k.token }},
		"viewer":                {core.ErrForbidden, func(r *approvals.Resolve) { r.Caller = viewer }},
		"requester, four eyes":  {core.ErrForbidden, func(r *approvals.Resolve) { r.Caller = requester }},
		"wrong kind":            {core.ErrWrongKind, func(r *approvals.Resolve) { r.Kind = core.KindExec }},
		"unknown decision":      {core.ErrInvalid, func(r *approvals.Resolve) { r.Decision = "perhaps" }},
		"no decision":           {core.ErrInvalid, func(r *approvals.Resolve) { r.Decision = "" }},
		"unoffered decision":    {core.ErrNotOffered, func(r *approvals.Resolve) { r.Decision = core.DecisionAllowAlways }},
		"not all shown":         {core.ErrNotShown, func(r *approvals.Resolve) { r.Shown.Complete = false }},
		"a tick for nothing":    {core.ErrNotShown, func(r *approvals.Resolve) { r.Shown = approvals.Shown{PartialView: true, ActionHash: a.ActionHash} }},
		"no such button":        {core.ErrNotShown, func(r *approvals.Resolve) { r.Shown.Offered = []core.Decision{core.DecisionDeny} }},
		"no hash":               {core.ErrHashRequired, func(r *approvals.Resolve) { r.Shown.ActionHash = "" }},
		"hash, no operation id": {core.ErrInvalid, func(r *approvals.Resolve) { r.Shown.ActionHash, r.ArgumentsHash = "", a.ArgumentsHash }},
	} {
		r := k.answer(&a, core.DecisionAllowOnce)
		c.change(&r)
		_, err := k.service.Resolve(t.Context(), r)
		require.ErrorIs(t, err, c.want, name)
		require.Equal(t, a, k.read(a.ID), name)
	}
	require.Empty(t, k.seen.ended)
	deny := k.answer(&a, core.DecisionDeny)
	deny.Shown = approvals.Shown{}
	require.True(t, k.resolve(deny).Applied, "deny is always offered and needs no hash")
}

// TestWrongHash (K9, R100): an authorised allow for another action is a denial that
// says so.
func TestWrongHash(t *testing.T) {
	t.Parallel()
	other := core.HashOf([]byte("other"))
	for name, change := range map[string]func(*approvals.Resolve){
		"shown hash":     func(r *approvals.Resolve) { r.Shown.ActionHash = other },
		"arguments hash": func(r *approvals.Resolve) { r.ArgumentsHash = other },
		"operation id":   func(r *approvals.Resolve) { r.OperationID = "op-2" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			a := k.ask()
			r := k.answer(&a, core.DecisionAllowOnce)
			change(&r)
			res := k.resolve(r)
			require.True(t, res.Applied)
			require.Equal(t, core.StatusDenied, res.Approval.Status)
			require.Equal(t, core.ReasonHashMismatch, res.Approval.Reason)
			require.NoError(t, res.Approval.Check())
		})
	}
}

// TestLongAction (K29): beyond the kept detail an allow needs the tick, and is
// recorded as a partial view.
func TestLongAction(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask(func(q *approvals.Ask) {
		q.Operation.Arguments = []byte(`{"body":"` + strings.Repeat("long text ", 10_000) + `"}`)
	})
	require.Positive(t, a.DetailOmitted)
	r := k.answer(&a, core.DecisionAllowOnce)
	_, err := k.service.Resolve(t.Context(), r)
	require.ErrorIs(t, err, core.ErrNotShown, "no surface can claim to have shown it all")
	r.Shown = approvals.Shown{PartialView: true, ActionHash: a.ActionHash}
	res := k.resolve(r)
	require.True(t, res.Applied)
	require.True(t, res.Approval.PartialView)
}

// TestPartialViewIsOfAnAllow (K29): a denial allowed nothing unseen, also the denial
// that an allow becomes for a wrong hash.
func TestPartialViewIsOfAnAllow(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	long := func(q *approvals.Ask) {
		q.Operation.Arguments = []byte(`{"body":"` + strings.Repeat("long text ", 10_000) + `"}`)
	}
	a, b := k.ask(long), k.ask(long)
	require.Positive(t, a.DetailOmitted)
	ticked := approvals.Shown{PartialView: true, ActionHash: a.ActionHash}
	deny := k.answer(&a, core.DecisionDeny)
	deny.Shown = ticked
	require.False(t, k.resolve(deny).Approval.PartialView)

	wrong := k.answer(&b, core.DecisionAllowOnce)
	wrong.Shown, wrong.OperationID = ticked, "op-2"
	denied := k.resolve(wrong).Approval
	require.Equal(t, core.ReasonHashMismatch, denied.Reason)
	require.False(t, denied.PartialView)
}

// What had been shown is established from the record as it was read, for whoever may
// see it, and a refusal there is the answer.
func TestShownIsEstablishedFromTheRecord(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	r := k.answer(&a, core.DecisionAllowOnce)
	r.Shown, r.ShownOf = approvals.Shown{}, func(*core.Approval) (approvals.Shown, error) { return approvals.Shown{}, core.ErrForbidden }
	_, err := k.service.Resolve(t.Context(), r)
	require.ErrorIs(t, err, core.ErrForbidden)
	mine := r.Caller
	r.Caller = k.person("sam", core.RoleReviewer)
	_, err = k.service.Resolve(t.Context(), r)
	require.ErrorIs(t, err, core.ErrNotFound, "a stranger is not even asked")
	r.Caller = mine
	r.ShownOf = func(is *core.Approval) (approvals.Shown, error) {
		require.Equal(t, a.ID, is.ID)
		return approvals.Shown{Complete: true, ActionHash: is.ActionHash}, nil
	}
	require.True(t, k.resolve(r).Applied)
}

// TestDeadline (R28, conformance 16): exactly at the deadline it is too late, and
// the record says so from then on.
func TestDeadline(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	k.advance(a.ExpiresAt.Sub(core.MillisOf(k.now())))
	res := k.resolve(k.answer(&a, core.DecisionAllowOnce))
	require.False(t, res.Applied)
	require.Equal(t, core.StatusExpired, res.Approval.Status)
	require.Equal(t, core.StatusExpired, k.resolve(k.answer(&a, core.DecisionDeny)).Approval.Status)
}

// TestLostAnswer: a write whose answer was lost is looked for by its attempt; what
// is still open is never called unrecorded.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	lose := func(apply bool) {
		k.faults.decide = func(ctx context.Context, d core.Decide) (core.Decided, error) {
			if apply {
				_, err := k.store.Decide(ctx, d)
				require.NoError(t, err)
			}
			return core.Decided{}, core.ErrOutcomeUnknown
		}
	}
	a := k.ask()
	lose(false)
	_, err := k.service.Resolve(t.Context(), k.answer(&a, core.DecisionAllowOnce))
	require.ErrorIs(t, err, core.ErrOutcomeUnknown)
	lose(true)
	res := k.resolve(k.answer(&a, core.DecisionAllowOnce))
	require.True(t, res.Applied, "the attempt is in the row")

	// Somebody else was first: the lost answer was no win.
	b := k.ask()
	k.faults.decide = func(ctx context.Context, d core.Decide) (core.Decided, error) {
		first := d
		first.AttemptID = "of-somebody-else"
		_, err := k.store.Decide(ctx, first)
		require.NoError(t, err)
		return core.Decided{}, core.ErrOutcomeUnknown
	}
	res = k.resolve(k.answer(&b, core.DecisionAllowOnce))
	require.False(t, res.Applied, "another attempt is in the row")
	require.True(t, res.Idempotent)
}

// TestLosingTheRight (conformance 52): whoever is disabled between the read and the
// write decides nothing.
func TestLosingTheRight(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	rob := k.person("rob", core.RoleAdmin)
	a := k.ask()
	k.faults.decide = func(ctx context.Context, d core.Decide) (core.Decided, error) {
		off := true
		_, err := k.store.ChangePrincipal(ctx, core.ChangePrincipal{ID: "rob", Disabled: &off})
		require.NoError(t, err)
		return k.store.Decide(ctx, d)
	}
	r := k.answer(&a, core.DecisionAllowOnce)
	r.Caller = rob
	_, err := k.service.Resolve(t.Context(), r)
	require.ErrorIs(t, err, core.ErrNotFound)
	require.Equal(t, core.StatusPending, k.read(a.ID).Status)

	_, err = k.store.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: "rob", Disabled: new(bool)})
	require.NoError(t, err)
	p, err := k.store.Principal(t.Context(), "rob")
	require.NoError(t, err)
	rob.Person = &p
	_, err = k.service.Cancel(t.Context(), rob, core.Lookup{ID: a.ID})
	require.ErrorIs(t, err, core.ErrNotFound, "nor do they close it")
	require.Equal(t, core.StatusPending, k.read(a.ID).Status)
}

// TestScopes: a token that only reads changes nothing, and one that may do neither is
// told nothing, of its own rows too.
func TestScopes(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	pending, granted := k.ask(), k.allowed()
	scoped := func(scopes ...core.Scope) core.Caller {
		return core.Caller{Token: &core.Token{Runtime: "agents", Scopes: scopes}}
	}
	reader, admin := scoped(core.ScopeRead), scoped(core.ScopeAdmin)
	_, err := k.service.Get(t.Context(), reader, core.Lookup{ID: pending.ID})
	require.NoError(t, err)
	of := core.Lookup{ID: pending.ID}
	reads := map[string]func(core.Caller) error{
		"get": func(c core.Caller) error { _, err := k.service.Get(t.Context(), c, of); return err },
		"wait": func(c core.Caller) error {
			_, err := k.service.Wait(t.Context(), c, approvals.WaitRequest{Lookup: of, For: time.Minute, Revision: 1})
			return err
		},
		"list": func(c core.Caller) error { _, err := k.service.List(t.Context(), c, core.ListQuery{}); return err },
	}
	changes := map[string]func(core.Caller) error{
		"resolve": func(c core.Caller) error {
			r := k.answer(&pending, core.DecisionAllowOnce)
			r.Caller = c
			_, err := k.service.Resolve(t.Context(), r)
			return err
		},
		"cancel":    func(c core.Caller) error { _, err := k.service.Cancel(t.Context(), c, of); return err },
		"malformed": func(c core.Caller) error { _, err := k.service.DenyMalformed(t.Context(), c, of); return err },
		"claim":     func(c core.Caller) error { _, err := k.service.Claim(t.Context(), c, claim(&granted)); return err },
		"report": func(c core.Caller) error {
			_, err := k.service.Report(t.Context(), c, approvals.Report{Lookup: core.Lookup{ID: granted.ID}, Outcome: core.ExecutionUnknown})
			return err
		},
		"abort": func(c core.Caller) error { _, err := k.service.AbortRun(t.Context(), c, "run"); return err },
		"register": func(c core.Caller) error {
			_, err := k.service.RegisterInstance(t.Context(), c, approvals.Registration{Name: "worker", BootID: "boot-id-of-16-bytes"})
			return err
		},
	}
	for name, read := range reads {
		require.ErrorIs(t, read(admin), core.ErrForbidden, name)
	}
	for name, change := range changes {
		require.ErrorIs(t, change(reader), core.ErrForbidden, name)
		require.ErrorIs(t, change(admin), core.ErrForbidden, name)
	}
	require.Equal(t, pending, k.read(pending.ID))
	require.Equal(t, granted, k.read(granted.ID))
}

// TestNotFoundForEveryCall (R155): whatever is tried on it, a hidden approval is one
// that does not exist, and is left as it is.
func TestNotFoundForEveryCall(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	pending, granted := k.ask(), k.allowed()
	stranger := k.person("sam", core.RoleReviewer)
	machine := core.Caller{Token: &core.Token{Runtime: "other", Scopes: []core.Scope{core.ScopeRequest, core.ScopeRead}}}
	ctx := t.Context()
	both := map[string]func(core.Caller, string) error{
		"get": func(c core.Caller, id string) error { _, err := k.service.Get(ctx, c, core.Lookup{ID: id}); return err },
		"wait": func(c core.Caller, id string) error {
			_, err := k.service.Wait(ctx, c, approvals.WaitRequest{Lookup: core.Lookup{ID: id}, For: time.Minute, Revision: 1})
			return err
		},
		"resolve": func(c core.Caller, id string) error {
			r := k.answer(&pending, core.DecisionAllowOnce)
			r.Caller, r.Lookup = c, core.Lookup{ID: id}
			_, err := k.service.Resolve(ctx, r)
			return err
		},
		"cancel": func(c core.Caller, id string) error {
			_, err := k.service.Cancel(ctx, c, core.Lookup{ID: id})
			return err
		},
	}
	people := map[string]func(core.Caller, string) error{
		"detail": func(c core.Caller, id string) error {
			_, _, err := k.service.Detail(ctx, c, core.Lookup{ID: id})
			return err
		},
		"dismiss": func(c core.Caller, id string) error {
			_, err := k.service.Dismiss(ctx, c, core.Lookup{ID: id})
			return err
		},
		"ask again": func(c core.Caller, id string) error {
			_, err := k.service.AskAgain(ctx, c, core.Lookup{ID: id})
			return err
		},
	}
	machines := map[string]func(core.Caller, string) error{
		"malformed": func(c core.Caller, id string) error {
			_, err := k.service.DenyMalformed(ctx, c, core.Lookup{ID: id})
			return err
		},
		"claim": func(c core.Caller, id string) error {
			cl := claim(&granted)
			cl.Lookup.ID = id
			_, err := k.service.Claim(ctx, c, cl)
			return err
		},
		"report": func(c core.Caller, id string) error {
			_, err := k.service.Report(ctx, c, approvals.Report{Lookup: core.Lookup{ID: id}, Outcome: core.ExecutionUnknown})
			return err
		},
	}
	for _, id := range []string{pending.ID, granted.ID, "agents:nothing", "other:nothing"} {
		for name, call := range both {
			require.Equal(t, core.ErrNotFound, call(stranger, id), name)
			require.Equal(t, core.ErrNotFound, call(machine, id), name)
		}
		for name, call := range people {
			require.Equal(t, core.ErrNotFound, call(stranger, id), name)
		}
		for name, call := range machines {
			require.Equal(t, core.ErrNotFound, call(machine, id), name)
		}
	}
	require.Equal(t, pending, k.read(pending.ID))
	require.Equal(t, granted, k.read(granted.ID))
}

// TestAnswerDelay: the decision of a click whose answer may show the card leaves the
// clicked row to it.
func TestAnswerDelay(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	var delays []core.Millis
	k.faults.decide = func(ctx context.Context, d core.Decide) (core.Decided, error) {
		delays = append(delays, d.AnswerDelay)
		return k.store.Decide(ctx, d)
	}
	r := k.answer(&a, core.DecisionAllowOnce)
	r.AnswerDelay = core.AnswerDelay
	require.True(t, k.resolve(r).Applied)
	require.Equal(t, []core.Millis{core.AnswerDelay}, delays)
}

// TestDecisionKey (K22): the same key again answers with the row as it is.
func TestDecisionKey(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	r := k.answer(&a, core.DecisionDeny)
	r.DecisionKey, r.Note, r.ByMessage = "chat:1", "use the other\u202e account,\n password=hunter2", true
	res := k.resolve(r)
	require.True(t, res.Applied)
	require.Equal(t, core.ReasonMessage, res.Approval.Reason)
	require.NotContains(t, res.Approval.Note, "hunter2", "a note is redacted like every other text")
	require.NotContains(t, res.Approval.Note, "\u202e")
	require.Contains(t, res.Approval.Note, "account, password", "line breaks are folded")
	again := k.resolve(r)
	require.True(t, again.Idempotent)
	require.Equal(t, res.Approval, again.Approval)
}

// TestCancel: a machine withdraws its own, an admin closes any, nobody else; what
// has its answer keeps it.
func TestCancel(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a, b := k.ask(), k.ask()
	rob := k.person("rob", core.RoleReviewer)
	require.NoError(t, k.store.SetOwners(t.Context(), "agents", "books", []string{"rob"}))
	p, err := k.store.Principal(t.Context(), "rob")
	require.NoError(t, err)
	rob.Person = &p
	_, err = k.service.Cancel(t.Context(), rob, core.Lookup{ID: a.ID})
	require.ErrorIs(t, err, core.ErrForbidden)

	res, err := k.service.Cancel(t.Context(), k.token, core.Lookup{ID: a.ID})
	require.NoError(t, err)
	require.True(t, res.Applied)
	require.Equal(t, core.ReasonWithdrawn, res.Approval.Reason)
	res, err = k.service.Cancel(t.Context(), k.token, core.Lookup{ID: a.ID})
	require.NoError(t, err)
	require.True(t, res.Idempotent)
	res, err = k.service.Cancel(t.Context(), k.admin, core.Lookup{ID: b.ID})
	require.NoError(t, err)
	require.Equal(t, core.ReasonAdmin, res.Approval.Reason)

	c := k.ask()
	k.resolve(k.answer(&c, core.DecisionAllowOnce))
	res, err = k.service.Cancel(t.Context(), k.token, core.Lookup{ID: c.ID})
	require.NoError(t, err)
	require.False(t, res.Applied || res.Idempotent)
	require.Equal(t, core.StatusAllowed, res.Approval.Status)
}

// TestDenyMalformed (R18, K8): a machine may deny its own for this reason alone.
func TestDenyMalformed(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	other := core.Caller{Token: &core.Token{Runtime: "other", Scopes: []core.Scope{core.ScopeRequest}}}
	_, err := k.service.DenyMalformed(t.Context(), other, core.Lookup{ID: a.ID})
	require.ErrorIs(t, err, core.ErrNotFound)
	_, err = k.service.DenyMalformed(t.Context(), k.admin, core.Lookup{ID: a.ID})
	require.ErrorIs(t, err, core.ErrForbidden)
	res, err := k.service.DenyMalformed(t.Context(), k.token, core.Lookup{ID: a.ID})
	require.NoError(t, err)
	require.Equal(t, core.ReasonMalformedVerdict, res.Approval.Reason)
	require.Equal(t, core.ResolverRuntime, res.Approval.ResolverKind)
}

// TestLooksWithTheCallersEyes: the store itself is asked for no more than the caller may
// see, so that what is hidden is not read either, and takes no longer than what is not
// there. Whatever else the caller's own lookup asks for changes nothing.
func TestLooksWithTheCallersEyes(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	var looked core.Lookup
	k.faults.looked = func(l core.Lookup) { looked = l }
	for _, l := range []core.Lookup{{ID: a.ID}, {ID: a.ID, Runtime: "other", Viewer: k.person("sam", core.RoleReviewer).Person}} {
		_, err := k.service.Get(t.Context(), k.token, l)
		require.NoError(t, err)
		require.Equal(t, "agents", looked.Runtime)
		require.Nil(t, looked.Viewer)
		_, err = k.service.Get(t.Context(), k.admin, l)
		require.NoError(t, err)
		require.Empty(t, looked.Runtime)
		require.Equal(t, k.admin.Person, looked.Viewer)
	}
}

// TestVisibility (R155, conformance 46): unknown and unauthorised are one answer,
// for reading, listing and waiting.
func TestVisibility(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	stranger := k.person("sam", core.RoleReviewer)
	other := core.Caller{Token: &core.Token{Runtime: "other", Scopes: []core.Scope{core.ScopeRead}}}
	for _, c := range []core.Caller{stranger, other} {
		for _, id := range []string{a.ID, "agents:nothing"} {
			_, err := k.service.Get(t.Context(), c, core.Lookup{ID: id})
			require.ErrorIs(t, err, core.ErrNotFound)
			_, err = k.service.Wait(t.Context(), c, approvals.WaitRequest{Lookup: core.Lookup{ID: id}, For: time.Minute})
			require.ErrorIs(t, err, core.ErrNotFound)
		}
		page, err := k.service.List(t.Context(), c, core.ListQuery{Runtime: "agents"})
		require.NoError(t, err)
		require.Empty(t, page.Approvals)
	}
	_, _, err := k.service.Detail(t.Context(), k.token, core.Lookup{ID: a.ID})
	require.ErrorIs(t, err, core.ErrForbidden, "the detail is for people")
	_, d, err := k.service.Detail(t.Context(), k.admin, core.Lookup{Ref: a.Ref})
	require.NoError(t, err)
	require.Contains(t, d.Text, "bob@example.com")
	for _, limit := range []int{-1, core.MaxPage + 1} {
		_, err := k.service.List(t.Context(), k.admin, core.ListQuery{Limit: limit})
		require.ErrorIs(t, err, core.ErrInvalid)
	}
}

// TestAlwaysOffer: what a policy offered may be given, and only that.
func TestAlwaysOffer(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.policy.verdict = &policy.Verdict{
		Answer: policy.Ask, Class: core.ClassSend, ClassSource: "table",
		AlwaysOffer: &core.AlwaysOffer{Label: "mail to bob", Scope: "recipient", Value: "bob@example.com", Tool: "mail", Operation: "send"},
	}
	a := k.ask()
	require.True(t, k.resolve(k.answer(&a, core.DecisionAllowAlways)).Applied)
	require.Equal(t, core.DecisionAllowAlways, k.read(a.ID).Decision)

	// An offer of which no rule can be made is not taken; the card's other answers are.
	k.policy.verdict.AlwaysOffer = &core.AlwaysOffer{Label: "something", Scope: "recipient"}
	a = k.ask()
	_, err := k.service.Resolve(t.Context(), k.answer(&a, core.DecisionAllowAlways))
	require.ErrorIs(t, err, core.ErrInvalid)
	require.Equal(t, core.StatusPending, k.read(a.ID).Status)
	require.True(t, k.resolve(k.answer(&a, core.DecisionAllowOnce)).Applied)
	rules, err := k.store.ListRules(t.Context(), core.RuleQuery{})
	require.NoError(t, err)
	require.Len(t, rules, 1)
}

// TestLateAdoption: a click on a message whose receipt was lost decides nothing
// after the answer, but from then on the message is known and driven to the truth.
func TestLateAdoption(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ledger := k.store.Ledger()
	k.planner.rows = []core.PlannedDelivery{{
		ID: "d-1", Channel: core.SurfaceTelegram, Account: "7", Destination: "chat:1", Address: "1",
	}}
	a := k.ask()
	due, _, err := ledger.ClaimDue(t.Context(), core.ClaimDue{
		Worker: "w", Accounts: []core.AccountRef{{Channel: core.SurfaceTelegram, Account: "7"}}, Lease: 60_000, Limit: 1,
	})
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.NoError(t, ledger.Begin(t.Context(), core.BeginSend{Delivery: "d-1", Fence: due[0].Delivery.Fence, Address: "1"}))
	k.resolve(k.answer(&a, core.DecisionDeny))

	late := k.answer(&a, core.DecisionAllowOnce)
	late.Shown = approvals.Shown{} // What it showed matters no more.
	late.Adopt = &core.Adopt{Channel: core.SurfaceTelegram, Account: "7", Address: "1", Locator: "1:100"}
	got := k.resolve(late)
	require.False(t, got.Applied || got.Idempotent)
	require.Equal(t, core.StatusDenied, got.Approval.Status)
	d, err := ledger.DeliveryAt(t.Context(), core.AccountRef{Channel: core.SurfaceTelegram, Account: "7"}, "1:100")
	require.NoError(t, err)
	require.Equal(t, core.DeliveryOpen, d.State)
	require.NotZero(t, d.DueAt)
}
