package approvals_test

import (
	"context"
	"strings"
	"testing"

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
