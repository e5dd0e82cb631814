package gateway_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/gateway"
)

// R27, R176: the loser of the race gets 200, applied false, and who won.
func TestResolveLoserGetsTheWinner(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.resolve = func(r approvals.Resolve) (approvals.Resolved, error) {
		require.Equal(t, core.DecisionDeny, r.Decision)
		return approvals.Resolved{Approval: allowed("id-1")}, nil
	}
	w := e.do(t, reviewerBearer, http.MethodPost, "/v1/approvals/id-1/resolve", `{"kind":"plugin","decision":"deny","note":"no","decision_key":"k"}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	got := decodeInto[api.Resolved](t, w)
	require.False(t, got.Applied)
	require.False(t, got.Idempotent)
	require.Equal(t, core.StatusAllowed, got.Approval.Status)
	require.Equal(t, "Bob", got.Approval.Resolver.Name)
}

// R176: the reference behaves like the id; the answer has the id.
func TestResolveTakesTheReference(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	a := sampleApproval("id-1")
	e.service.resolve = func(r approvals.Resolve) (approvals.Resolved, error) {
		require.Equal(t, core.Lookup{Ref: a.Ref}, r.Lookup)
		return approvals.Resolved{Approval: a, Applied: true}, nil
	}
	w := e.do(t, reviewerBearer, http.MethodPost, "/v1/approvals/"+a.Ref+"/resolve", `{"kind":"plugin","decision":"deny"}`)
	require.Equal(t, "id-1", decodeInto[api.Resolved](t, w).Approval.ID)

	// Everything else takes the id only (conformance 55).
	e.service.get = func(_ core.Caller, l core.Lookup) (core.Approval, error) {
		require.Equal(t, core.Lookup{ID: a.Ref}, l)
		return core.Approval{}, core.ErrNotFound
	}
	requireProblem(t, e.do(t, reviewerBearer, http.MethodGet, "/v1/approvals/"+a.Ref, ""), http.StatusNotFound, "not_found")
}

// K29: what the session was shown comes from us, never from the client's word.
func TestResolveCarriesWhatWasShown(t *testing.T) {
	t.Parallel()
	whole, cut := sampleApproval("id-1"), sampleApproval("id-1")
	cut.Presentation.Truncated = true
	views := newViews(t) // The same key as the edge's.
	sign := func(session string, complete bool) string {
		return views.Sign("id-1", 1, whole.ActionHash, session, complete)
	}
	tests := []struct {
		name string
		row  core.Approval
		body string
		want approvals.Shown
	}{
		{"whole projection", whole, `"arguments_hash":"h"`, approvals.Shown{Complete: true}},
		{"cut projection", cut, `"arguments_hash":"h"`, approvals.Shown{}},
		{"cut, with a complete view", cut, `"view":"` + sign("s-bob", true) + `"`, approvals.Shown{Complete: true}},
		{"cut, another session's view", cut, `"view":"` + sign("s-alice", true) + `"`, approvals.Shown{}},
		{"cut, garbage for a view", cut, `"view":"c.AAAA"`, approvals.Shown{}},
		{"cut, partial view, no tick", cut, `"view":"` + sign("s-bob", false) + `"`, approvals.Shown{}},
		{
			"cut, partial view and the tick", cut, `"partial_view":true,"view":"` + sign("s-bob", false) + `"`,
			approvals.Shown{PartialView: true},
		},
		{"cut, only the tick", cut, `"partial_view":true`, approvals.Shown{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newEdge(t)
			e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) { return test.row, nil }
			e.service.resolve = func(r approvals.Resolve) (approvals.Resolved, error) {
				require.Empty(t, cmp.Diff(test.want, r.Shown))
				return approvals.Resolved{Approval: allowed("id-1"), Applied: true}, nil
			}
			w := e.do(t, reviewerBearer, http.MethodPost, "/v1/approvals/id-1/resolve", `{"kind":"plugin","decision":"allow-once",`+test.body+`}`)
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		})
	}
}

func TestDetailSignsTheViewOfTheSession(t *testing.T) {
	t.Parallel()
	for _, omitted := range []int64{0, 9} {
		e := newEdge(t)
		e.service.detail = func(core.Caller, core.Lookup) (core.Approval, core.Detail, error) {
			return sampleApproval("id-1"), core.Detail{Text: "all of it", Omitted: omitted}, nil
		}
		got := decodeInto[api.Detail](t, e.do(t, reviewerBearer, http.MethodGet, "/v1/approvals/id-1/detail", ""))
		require.Equal(t, "all of it", got.Text)
		require.Equal(t, omitted, got.OmittedBytes)
		complete, ok := e.views.Verify(got.View, "id-1", 1, sampleApproval("id-1").ActionHash, "s-bob")
		require.True(t, ok)
		require.Equal(t, omitted == 0, complete)
	}
}

// K8: a machine that tries to allow is refused by the service; the edge passes it
// on without looking at the record first.
func TestMachineCannotAllow(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.resolve = func(r approvals.Resolve) (approvals.Resolved, error) {
		require.NotNil(t, r.Caller.Token)
		require.Equal(t, approvals.Shown{}, r.Shown)
		return approvals.Resolved{}, core.ErrForbidden
	}
	w := e.do(t, machineBearer, http.MethodPost, "/v1/approvals/id-1/resolve", `{"kind":"plugin","decision":"allow-once","arguments_hash":"h"}`)
	requireProblem(t, w, http.StatusForbidden, "forbidden")
}

// The CLI may deny; it may allow only where the operator said so, and whoever may
// not see the record does not even learn that.
func TestCLIAllowIsOffUnlessConfigured(t *testing.T) {
	t.Parallel()
	const allow, deny = `{"kind":"plugin","decision":"allow-once","arguments_hash":"h"}`, `{"kind":"plugin","decision":"deny"}`
	for _, on := range []bool{false, true} {
		e := newEdge(t, func(c *gateway.Config, _ *gateway.Deps) { c.CLIAllow = on })
		e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) { return sampleApproval("id-1"), nil }
		e.service.resolve = func(r approvals.Resolve) (approvals.Resolved, error) {
			require.True(t, on || !r.Decision.Allows())
			return approvals.Resolved{Approval: allowed("id-1"), Applied: true}, nil
		}
		require.Equal(t, http.StatusOK, e.do(t, adminBearer, http.MethodPost, "/v1/approvals/id-1/resolve", deny).Code)
		w := e.do(t, adminBearer, http.MethodPost, "/v1/approvals/id-1/resolve", allow)
		if on {
			require.Equal(t, http.StatusOK, w.Code)
			continue
		}
		requireProblem(t, w, http.StatusForbidden, "forbidden")
		e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) { return core.Approval{}, core.ErrNotFound }
		requireProblem(t, e.do(t, adminBearer, http.MethodPost, "/v1/approvals/id-1/resolve", allow), http.StatusNotFound, "not_found")
	}
}

// The refusals of a decision, each with its code; nothing changes with any.
func TestResolveRefusals(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]struct {
		err    error
		status int
	}{
		"not_found":       {core.ErrNotFound, http.StatusNotFound},
		"wrong_kind":      {core.ErrWrongKind, http.StatusUnprocessableEntity},
		"not_offered":     {core.ErrNotOffered, http.StatusUnprocessableEntity},
		"hash_required":   {core.ErrHashRequired, http.StatusUnprocessableEntity},
		"not_shown":       {core.ErrNotShown, http.StatusUnprocessableEntity},
		"forbidden":       {core.ErrForbidden, http.StatusForbidden},
		"storage_full":    {core.ErrStorageFull, http.StatusInsufficientStorage},
		"unavailable":     {core.ErrUnavailable, http.StatusServiceUnavailable},
		"outcome_unknown": {core.ErrOutcomeUnknown, http.StatusServiceUnavailable},
		"internal":        {fmt.Errorf("boom"), http.StatusInternalServerError},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			e := newEdge(t)
			e.service.resolve = func(approvals.Resolve) (approvals.Resolved, error) {
				return approvals.Resolved{}, fmt.Errorf("resolve approval: %w", want.err)
			}
			w := e.do(t, reviewerBearer, http.MethodPost, "/v1/approvals/id-1/resolve", `{"kind":"plugin","decision":"deny"}`)
			if want.status == http.StatusServiceUnavailable {
				require.NotEmpty(t, w.Header().Get("Retry-After"))
			}
			p := requireProblem(t, w, want.status, code)
			require.Nil(t, p.Approval)
			require.NotContains(t, p.Detail, "resolve approval")
		})
	}
}

func TestCancelAndMalformedVerdict(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	calls := 0
	end := func(_ core.Caller, l core.Lookup) (approvals.Resolved, error) {
		calls++
		require.Equal(t, core.Lookup{ID: "bot:a/b"}, l)
		return approvals.Resolved{Approval: sampleApproval("bot:a/b"), Applied: true}, nil
	}
	e.service.cancel, e.service.denyMalformed = end, end
	for _, verb := range []string{"cancel", "malformed-verdict"} {
		w := e.do(t, machineBearer, http.MethodPost, "/v1/approvals/bot:a%2Fb/"+verb, "")
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.True(t, decodeInto[api.Resolved](t, w).Applied)
	}
	require.Equal(t, 2, calls)
}

// Conformance 32: a conflict carries the record as it is.
func TestClaimAndReport(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.claim = func(_ core.Caller, c approvals.Claim) (core.Approval, error) {
		require.Equal(t, approvals.Claim{Lookup: core.Lookup{ID: "id-1"}, Instance: "one", Epoch: 3, ActionHash: "h", Token: "0123456789abcdef"}, c)
		return allowed("id-1"), nil
	}
	const claim = `{"action_hash":"h","claim_token":"0123456789abcdef","instance":"one","epoch":3}`
	w := e.do(t, machineBearer, http.MethodPost, "/v1/approvals/id-1/claim", claim)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, "agent hears allowed", decodeInto[api.Answer](t, w).AgentText)

	for code, err := range map[string]error{
		"already_claimed": core.ErrAlreadyClaimed, "not_claimable": core.ErrNotClaimable,
		"stale_epoch": core.ErrStaleEpoch, "run_aborted": core.ErrRunAborted,
	} {
		e.service.claim = func(core.Caller, approvals.Claim) (core.Approval, error) { return allowed("id-1"), err }
		p := requireProblem(t, e.do(t, machineBearer, http.MethodPost, "/v1/approvals/id-1/claim", claim), http.StatusConflict, code)
		require.Equal(t, core.StatusAllowed, p.Approval.Status)
		require.NotNil(t, p.Approval.Own)
	}
	// Another runtime's grant is unknown, and its record stays away from the problem.
	e.service.claim = func(core.Caller, approvals.Claim) (core.Approval, error) { return core.Approval{}, core.ErrNotFound }
	require.Nil(t, requireProblem(t, e.do(t, machineBearer, http.MethodPost, "/v1/approvals/id-1/claim", claim), http.StatusNotFound, "not_found").Approval)

	e.service.report = func(_ core.Caller, r approvals.Report) (core.Approval, error) {
		require.Equal(t, approvals.Report{Lookup: core.Lookup{ID: "id-1"}, Token: "t", Outcome: core.ExecutionFailed, Error: "exit 1"}, r)
		return allowed("id-1"), nil
	}
	w = e.do(t, machineBearer, http.MethodPost, "/v1/approvals/id-1/outcome", `{"claim_token":"t","outcome":"failed","error":"exit 1"}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
}
