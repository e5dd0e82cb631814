package gateway_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
)

// R130: an agent's updates are claimed and acknowledged by its runtime.
func TestUpdates(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	a := allowed("one")
	a.Continuation = core.ContinuationDraft
	var claims []approvals.ClaimUpdates
	e.service.claimUpdates = func(c core.Caller, claim approvals.ClaimUpdates) (core.UpdateBatch, error) {
		require.Equal(t, "bot", c.Token.Runtime)
		claims = append(claims, claim)
		return core.UpdateBatch{
			Updates: []core.Update{{Kind: core.UpdateDraft, Approval: a, ChangedAt: 7}}, Until: serverNow + 60_000, More: true, Now: serverNow,
		}, nil
	}
	w := e.do(t, machineBearer, http.MethodPost, "/v1/agents/my%20agent%2F1/updates/claim", `{"claim_token":"0123456789abcdef","limit":5,"lease":"30s"}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.NotContains(t, w.Body.String(), "secret-attempt")
	require.Equal(t, api.Updates{Updates: []api.Update{{
		Kind: core.UpdateDraft, ApprovalID: "one", Verdict: api.VerdictAllow, Status: core.StatusAllowed, Execution: core.ExecutionUnclaimed,
		Revision: 2, ActionHash: a.ActionHash, Operation: api.Operation{ID: "op", Type: "mail.send", Tool: "mail", Name: "send"},
		RunID: "run-1", SessionKey: "secret-session", ChangedAt: 7, Text: "agent hears of draft",
	}}, LeasedUntil: serverNow + 60_000, More: true, ServerTime: serverNow}, decodeInto[api.Updates](t, w))
	w = e.do(t, machineBearer, http.MethodPost, "/v1/agents/-/updates/claim", `{"claim_token":"0123456789abcdef","lease":"1us"}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, []approvals.ClaimUpdates{
		{Agent: "my agent/1", Token: "0123456789abcdef", Limit: 5, Lease: 30_000}, {Token: "0123456789abcdef", Lease: 1},
	}, claims)

	e.service.ackUpdates = func(_ core.Caller, agent, token string) (int, error) {
		require.Equal(t, "helper", agent)
		require.Equal(t, "0123456789abcdef", token)
		return 2, nil
	}
	w = e.do(t, machineBearer, http.MethodPost, "/v1/agents/helper/updates/ack", `{"claim_token":"0123456789abcdef"}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, api.AckedUpdates{Acked: 2}, decodeInto[api.AckedUpdates](t, w))
}

func TestUpdatesRefused(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for _, body := range []string{`{"claim_token":"0123456789abcdef","lease":"soon"}`, `{"claim_token":"0123456789abcdef","lease":"-1s"}`} {
		p := requireProblem(t, e.do(t, machineBearer, http.MethodPost, "/v1/agents/helper/updates/claim", body), http.StatusUnprocessableEntity, "invalid")
		require.Equal(t, "lease", p.Errors[0].Field)
	}
	for _, path := range []string{"/v1/agents/a%0Ab/updates/claim", "/v1/agents/a%0Ab/updates/ack"} {
		requireProblem(t, e.do(t, machineBearer, http.MethodPost, path, `{"claim_token":"0123456789abcdef"}`), http.StatusUnprocessableEntity, "invalid")
	}
	requireProblem(t, e.do(t, "", http.MethodPost, "/v1/agents/helper/updates/claim", `{"claim_token":"x"}`), http.StatusUnauthorized, "unauthenticated")
}

// K3, R86: what people do about outcomes, and what the record then shows: names, no ids.
func TestAftermath(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	a := allowed("one")
	a.Aftermath = &core.Aftermath{Dismissed: &core.Act{By: "raw-id", Name: "Bob", At: 8}}
	e.service.dismiss = func(c core.Caller, l core.Lookup) (core.Approval, error) {
		require.Equal(t, "bob", c.Person.ID)
		require.Equal(t, "one", l.ID)
		return a, nil
	}
	w := e.do(t, reviewerBearer, http.MethodPost, "/v1/approvals/one/dismiss", "")
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.NotContains(t, w.Body.String(), "raw-id")
	require.Equal(t, &api.Aftermath{Dismissed: &api.Act{Name: "Bob", At: 8}}, decodeInto[api.Answer](t, w).Approval.Aftermath)

	e.service.askAgain = func(core.Caller, core.Lookup) (core.Approval, error) { return a, core.ErrNotOffered }
	requireProblem(t, e.do(t, reviewerBearer, http.MethodPost, "/v1/approvals/one/ask-again", ""), http.StatusUnprocessableEntity, "not_offered")
	e.service.askAgain = func(core.Caller, core.Lookup) (core.Approval, error) { return a, core.ErrConflict }
	p := requireProblem(t, e.do(t, reviewerBearer, http.MethodPost, "/v1/approvals/one/ask-again", ""), http.StatusConflict, "conflict")
	require.Equal(t, "one", p.Approval.ID)
	require.Empty(t, p.AgentText, "people are told by the page")
}

// A refused claim says what to tell the agent (R103-R110).
func TestRefusedClaimHasWords(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.claim = func(core.Caller, approvals.Claim) (core.Approval, error) { return allowed("one"), core.ErrPaused }
	p := requireProblem(t, e.do(t, machineBearer, http.MethodPost, "/v1/approvals/one/claim",
		`{"action_hash":"x","claim_token":"y"}`), http.StatusConflict, "agent_paused")
	require.Equal(t, "agent hears agent_paused", p.AgentText)
}
