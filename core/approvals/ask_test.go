package approvals_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
)

func millis(n core.Millis) *core.Millis { return new(n) }

// TestAskRefuses: what can never be right gets a field and a rule, and the value
// is in neither.
func TestAskRefuses(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	const mark = "M4RKED"
	for field, change := range map[string]func(*approvals.Ask){
		"kind":                 func(q *approvals.Ask) { q.Kind = mark },
		"continuation":         func(q *approvals.Ask) { q.Continuation = mark },
		"expires_in":           func(q *approvals.Ask) { q.ExpiresIn = millis(999) },
		"epoch":                func(q *approvals.Ask) { q.Instance = mark },
		"epoch of nothing":     func(q *approvals.Ask) { q.Epoch = 1 },
		"epoch below zero":     func(q *approvals.Ask) { q.Instance, q.Epoch = mark, -1 },
		"supersedes":           func(q *approvals.Ask) { q.GivenID, q.Supersedes = mark, mark },
		"operation.tool":       func(q *approvals.Ask) { q.Operation.Tool = " " },
		"operation.arguments":  func(q *approvals.Ask) { q.Operation.Arguments = nil },
		"details":              func(q *approvals.Ask) { q.Details = []byte(`{"` + strings.Repeat(mark, 5_000) + `":1}`) },
		"idempotency_key":      func(q *approvals.Ask) { q.IdempotencyKey = strings.Repeat(mark, 50) },
		"title":                func(q *approvals.Ask) { q.Title = mark + "\xff" },
		"agent":                func(q *approvals.Ask) { q.Agent = strings.Repeat(mark, 50) },
		"operation.summary":    func(q *approvals.Ask) { q.Operation.Summary = strings.Repeat(mark, 2_000) },
		"session_key":          func(q *approvals.Ask) { q.SessionKey = mark + "\xff" },
		"audience":             func(q *approvals.Ask) { q.Audience = strings.Split(strings.Repeat(mark+" ", 65), " ") },
		"audience[0]":          func(q *approvals.Ask) { q.Audience = []string{""} },
		"reviewers":            func(q *approvals.Ask) { q.Reviewers = strings.Fields(strings.Repeat(mark+" ", core.MaxReviewers+1)) },
		"reviewers[0]":         func(q *approvals.Ask) { q.Reviewers = []string{mark} },
		"id":                   func(q *approvals.Ask) { q.GivenID = mark + "\x00" },
		"operation.arguments ": func(q *approvals.Ask) { q.Operation.Arguments = []byte("{" + mark) },
	} {
		_, err := k.service.Ask(t.Context(), k.token, question(change))
		require.ErrorIs(t, err, core.ErrInvalid, field)
		var at *core.FieldError
		require.ErrorAs(t, err, &at, field)
		require.NotContains(t, err.Error(), mark, field)
		if !strings.HasSuffix(field, " ") { // The describer names its own fields.
			named, _, _ := strings.Cut(field, " ")
			require.Equal(t, named, at.Field)
		}
	}
	for _, expiry := range []core.Millis{-1, 0, core.MaxExpiry + 1, 1 << 62} {
		_, err := k.service.Ask(t.Context(), k.token, question(func(q *approvals.Ask) { q.ExpiresIn = new(expiry) }))
		require.ErrorIs(t, err, core.ErrInvalid)
	}
	page, err := k.store.List(t.Context(), core.ListQuery{})
	require.NoError(t, err)
	require.Empty(t, page.Approvals, "nothing was recorded")
}

// TestAskNeedsAMachine: a person or an under-scoped token never asks.
func TestAskNeedsAMachine(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for name, c := range map[string]core.Caller{
		"person":   k.admin,
		"nobody":   {},
		"operator": {Operator: true},
		"reader":   {Token: &core.Token{Runtime: "agents", Scopes: []core.Scope{core.ScopeRead}}},
		"revoked":  {Token: &core.Token{Runtime: "agents", Scopes: []core.Scope{core.ScopeRequest}, RevokedAt: 1}},
		"expired":  {Token: &core.Token{Runtime: "agents", Scopes: []core.Scope{core.ScopeRequest}, ExpiresAt: core.MillisOf(k.now())}},
	} {
		_, err := k.service.Ask(t.Context(), c, question())
		require.ErrorIs(t, err, core.ErrForbidden, name)
	}
}

// TestAskTwice (R10, K26): the same key with the same content is the same row, with
// other content a conflict that comes with the row.
func TestAskTwice(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	keyed := func(q *approvals.Ask) { q.IdempotencyKey = "k" }
	first := k.ask(keyed)
	again, err := k.service.Ask(t.Context(), k.token, question(keyed))
	require.NoError(t, err)
	require.True(t, again.Existing)
	require.Equal(t, first.ID, again.Approval.ID)

	other, err := k.service.Ask(t.Context(), k.token, question(keyed, func(q *approvals.Ask) {
		q.Operation.Arguments = []byte(`{"to":"eve@example.com"}`)
	}))
	require.ErrorIs(t, err, core.ErrIdempotencyConflict)
	require.Equal(t, first.ID, other.Approval.ID)
}

// TestAskFields: what bears on the decision is in the request hash, so that none of
// it can change behind a key.
func TestAskFields(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.ask(func(q *approvals.Ask) { q.IdempotencyKey = "k" })
	for name, change := range map[string]func(*approvals.Ask){
		"kind":         func(q *approvals.Ask) { q.Kind, q.Operation.Arguments = core.KindExec, []byte(`{"argv":["x"]}`) },
		"title":        func(q *approvals.Ask) { q.Title = "Another" },
		"agent":        func(q *approvals.Ask) { q.Agent = "another" },
		"tool":         func(q *approvals.Ask) { q.Operation.Tool = "another" },
		"operation":    func(q *approvals.Ask) { q.Operation.Name = "another" },
		"operation id": func(q *approvals.Ask) { q.Operation.ID = "another" },
		"expiry":       func(q *approvals.Ask) { q.ExpiresIn = millis(60_000) },
		"continuation": func(q *approvals.Ask) { q.Continuation = core.ContinuationDurable },
		"waits":        func(q *approvals.Ask) { q.Continuation, q.ExpiresIn = core.ContinuationDurable, millis(30*60_000) },
		"run":          func(q *approvals.Ask) { q.RunID = "another" },
		"session":      func(q *approvals.Ask) { q.SessionKey = "another" },
		"reviewers":    func(q *approvals.Ask) { q.Reviewers = []string{} },
		"four eyes":    func(q *approvals.Ask) { q.ExcludeRequester = true },
		"push":         func(q *approvals.Ask) { q.RequirePush = true },
		"risk":         func(q *approvals.Ask) { q.Risk = "high" },
		"type":         func(q *approvals.Ask) { q.Operation.Type = "another" },
		"arguments":    func(q *approvals.Ask) { q.Operation.Arguments = []byte(`{"to":"eve@example.com"}`) },
		"summary":      func(q *approvals.Ask) { q.Operation.Summary = "another" },
		"details":      func(q *approvals.Ask) { q.Details = []byte(`{"cost":"another"}`) },
		"frame":        func(q *approvals.Ask) { q.FrameID = "another" },
		"group":        func(q *approvals.Ask) { q.Group = "another" },
		"cause":        func(q *approvals.Ask) { q.CausedBy = "another" },
		"audience":     func(q *approvals.Ask) { q.Audience = []string{"another"} },
		"reviewer":     func(q *approvals.Ask) { q.Reviewers = []string{"ann"} },
		"supersedes":   func(q *approvals.Ask) { q.Supersedes = "agents:another" },
	} {
		if name == "push" {
			k.planner.rows = []core.PlannedDelivery{{ID: "d", Channel: core.SurfaceTelegram, Account: "1", Destination: "chat:1", Address: "1"}}
		}
		_, err := k.service.Ask(t.Context(), k.token, question(func(q *approvals.Ask) { q.IdempotencyKey = "k" }, change))
		require.ErrorIs(t, err, core.ErrIdempotencyConflict, name)
	}
	k.person("rob", core.RoleReviewer)
	k.token.Token.ActsFor = "rob"
	_, err := k.service.Ask(t.Context(), k.token, question(func(q *approvals.Ask) { q.IdempotencyKey = "k" }))
	require.ErrorIs(t, err, core.ErrIdempotencyConflict, "for somebody else")
}

// TestAskFieldsOfAList: a list of nobody and a list of people are told apart from no
// list, and from each other.
func TestAskFieldsOfAList(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	keyed := func(reviewers ...string) approvals.Ask {
		return question(func(q *approvals.Ask) { q.IdempotencyKey, q.Reviewers = "k", append([]string{}, reviewers...) })
	}
	_, err := k.service.Ask(t.Context(), k.token, keyed())
	require.NoError(t, err)
	_, err = k.service.Ask(t.Context(), k.token, keyed("ann"))
	require.ErrorIs(t, err, core.ErrIdempotencyConflict)
	again, err := k.service.Ask(t.Context(), k.token, keyed())
	require.NoError(t, err)
	require.True(t, again.Existing)
}

// TestReviewersOnlyNarrow (K8): a machine's list stays within those who could
// decide anyway.
func TestReviewersOnlyNarrow(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.person("rob", core.RoleReviewer)
	named := func(ids ...string) func(*approvals.Ask) {
		return func(q *approvals.Ask) { q.Reviewers = append([]string{}, ids...) }
	}
	_, err := k.service.Ask(t.Context(), k.token, question(named("rob")))
	require.ErrorIs(t, err, core.ErrInvalid, "rob owns nothing here")
	require.NoError(t, k.store.SetOwners(t.Context(), "agents", "books", []string{"rob"}))
	a := k.ask(named("rob", "rob", "ann"))
	require.Equal(t, []string{"rob", "ann"}, a.Reviewers, "conformance 2: unique, in order")
	require.NotNil(t, k.ask(named()).Reviewers, "an empty list stays a list: nobody but admins")
	require.Nil(t, k.ask().Reviewers)
}

// TestNoRoute (K17, R188): with nobody to ask the answer is no, at once, with a
// hint; a page does not count where a push is required.
func TestNoRoute(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.planner.page = false
	asked, err := k.service.Ask(t.Context(), k.token, question())
	require.NoError(t, err)
	require.Equal(t, core.StatusDenied, asked.Approval.Status)
	require.Equal(t, core.ReasonNoRoute, asked.Approval.Reason)
	require.Equal(t, "sign in once", asked.Hint)
	k.planner.page = true
	require.Equal(t, core.ReasonNoRoute, k.ask(func(q *approvals.Ask) { q.RequirePush = true }).Reason)
	asked, err = k.service.Ask(t.Context(), k.token, question())
	require.NoError(t, err)
	require.Equal(t, core.StatusPending, asked.Approval.Status)
	require.Equal(t, "sign in once", asked.Hint, "also while somebody who can answer is still to come")
}

// TestPolicy: an automatic verdict is a row of its own kind (K15); an unreadable
// policy asks (R59); rules that change between evaluation and insert are read again.
func TestPolicy(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.policy.verdict = &policy.Verdict{Answer: policy.Auto, Class: core.ClassWrite, ClassSource: "table", PolicyID: "mode.x.v1"}
	a := k.ask()
	require.Equal(t, core.StatusAllowed, a.Status)
	require.Equal(t, core.OriginAuto, a.Origin)
	require.Equal(t, core.DecisionNone, a.Decision)
	require.Equal(t, core.ExecutionUnclaimed, a.Execution)
	require.NoError(t, a.Check())

	k.policy.verdict, k.policy.err = nil, errors.New("no such file")
	require.Equal(t, core.StatusPending, k.ask().Status)

	k.policy.err, k.policy.calls = nil, 0
	refusals := 2
	k.faults.create = func(ctx context.Context, n core.NewApproval) (core.Created, error) {
		if refusals--; refusals >= 0 {
			return core.Created{}, core.ErrPolicyChanged
		}
		return k.store.Create(ctx, n)
	}
	require.Equal(t, core.StatusPending, k.ask().Status)
	require.Equal(t, 3, k.policy.calls)
	k.faults.create = func(context.Context, core.NewApproval) (core.Created, error) {
		return core.Created{}, core.ErrPolicyChanged
	}
	_, err := k.service.Ask(t.Context(), k.token, question())
	require.ErrorIs(t, err, core.ErrPolicyChanged, "rules that never rest are an error, not a loop")
}

// TestPendingLimit: one runtime cannot flood the people.
func TestPendingLimit(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for range 20 {
		k.ask()
	}
	_, err := k.service.Ask(t.Context(), k.token, question())
	require.ErrorIs(t, err, core.ErrPendingLimit)
	k.token.Token.Runtime = "others"
	k.ask()
}

// renewed is a describer of a later version, which hides and words more.
type renewed struct{ core.Describer }

func (r renewed) Describe(a core.RawAction) (core.Described, error) {
	d, err := r.Describer.Describe(a)
	d.Presentation.Title, d.Presentation.Redacted = "[hidden]", true
	return d, err
}

func (renewed) Text(string, int) string { return "[hidden]" }

// A durable question outlives the version that took it: the same call must find it
// although it would be shown in another way today.
func TestAskAgainAfterAnUpgradeFindsTheSameRow(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	same := func(q *approvals.Ask) {
		q.IdempotencyKey, q.Continuation, q.Risk = "call-1", core.ContinuationDurable, "high"
		q.Operation.Summary, q.Details = "for October", []byte(`{"ticket":"7"}`)
	}
	before := k.ask(same)
	k.shows = renewed{k.shows}
	k.service = k.build(approvals.Config{})
	again, err := k.service.Ask(t.Context(), k.token, question(same))
	require.NoError(t, err)
	require.True(t, again.Existing)
	require.Equal(t, before.ID, again.Approval.ID)
	for field, change := range map[string]func(*approvals.Ask){
		"title":   func(q *approvals.Ask) { q.Title += "!" },
		"summary": func(q *approvals.Ask) { q.Operation.Summary += "!" },
		"details": func(q *approvals.Ask) { q.Details = []byte(`{"ticket":"8"}`) },
		"risk":    func(q *approvals.Ask) { q.Risk += "!" },
		"agent":   func(q *approvals.Ask) { q.Agent += "!" },
	} {
		_, err := k.service.Ask(t.Context(), k.token, question(same, change))
		require.ErrorIs(t, err, core.ErrIdempotencyConflict, field)
	}
}

// The answer of somebody who has left since is still the answer.
func TestAskAgainAfterAReviewerLeft(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	bob := k.person("bob", core.RoleAdmin)
	same := func(q *approvals.Ask) {
		q.IdempotencyKey, q.Continuation, q.Reviewers = "call-1", core.ContinuationDurable, []string{"bob"}
	}
	a := k.ask(same)
	answer := k.answer(&a, core.DecisionAllowOnce)
	answer.Caller = bob
	require.True(t, k.resolve(answer).Applied)
	disabled := true
	_, err := k.store.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: "bob", Disabled: &disabled})
	require.NoError(t, err)
	again, err := k.service.Ask(t.Context(), k.token, question(same))
	require.NoError(t, err)
	require.True(t, again.Existing)
	require.Equal(t, core.StatusAllowed, again.Approval.Status)
	_, err = k.service.Ask(t.Context(), k.token, question(same, func(q *approvals.Ask) { q.IdempotencyKey = "call-2" }))
	require.ErrorIs(t, err, core.ErrInvalid, "nobody is asked who may not answer")
}
