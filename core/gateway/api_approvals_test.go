package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/gateway"
	"github.com/saysohq/sayso/presentation"
)

const askBody = `{"kind":"plugin","title":"Send a mail","agent":"helper","idempotency_key":"key-1",
	"operation":{"tool":"mail","operation":"send","arguments":{"to":"a@b"}},
	"expires_in":"30m","reviewers":[],"continuation":"live"}`

func TestAskDecodesEverythingAndAnswersWithTheVerdict(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	var got approvals.Ask
	e.service.ask = func(c core.Caller, a approvals.Ask) (approvals.Asked, error) {
		require.Equal(t, "bot", c.Token.Runtime)
		got = a
		return approvals.Asked{Approval: sampleApproval("id-1")}, nil
	}
	w := e.do(t, machineBearer, http.MethodPost, "/v1/approvals", askBody)
	require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	asked := decodeInto[api.Asked](t, w)
	require.Equal(t, api.VerdictAsk, asked.Verdict)
	require.Equal(t, "id-1", asked.Approval.ID)
	require.Equal(t, "agent hears pending", asked.AgentText)

	halfHour := core.Millis(30 * 60 * 1000)
	want := approvals.Ask{
		IdempotencyKey: "key-1", Kind: core.KindPlugin, Title: "Send a mail", Agent: "helper",
		Operation: approvals.AskOperation{Tool: "mail", Name: "send", Arguments: []byte(`{"to":"a@b"}`)},
		ExpiresIn: &halfHour, Continuation: core.ContinuationLive,
		Reviewers: []string{}, // Given and empty is not the same as not given.
	}
	require.Empty(t, cmp.Diff(want, got))
}

func TestAskAgainIs200AndOtherContentIs409WithTheRecord(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.ask = func(core.Caller, approvals.Ask) (approvals.Asked, error) {
		return approvals.Asked{Approval: allowed("id-1"), Existing: true}, nil
	}
	w := e.do(t, machineBearer, http.MethodPost, "/v1/approvals", askBody)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, api.VerdictAllow, decodeInto[api.Asked](t, w).Verdict)

	e.service.ask = func(core.Caller, approvals.Ask) (approvals.Asked, error) {
		return approvals.Asked{Approval: sampleApproval("id-1")}, fmt.Errorf("create: %w", core.ErrIdempotencyConflict)
	}
	p := requireProblem(t, e.do(t, machineBearer, http.MethodPost, "/v1/approvals", askBody), http.StatusConflict, "idempotency_conflict")
	require.Equal(t, "id-1", p.Approval.ID)
}

// K15: a call that only reads is told so, at once and without a record.
func TestAskOfAReaderHasNoRecord(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.ask = func(core.Caller, approvals.Ask) (approvals.Asked, error) {
		return approvals.Asked{Unrecorded: true}, nil
	}
	w := e.do(t, machineBearer, http.MethodPost, "/v1/approvals?wait=25s", askBody)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Empty(t, cmp.Diff(api.Asked{Verdict: api.VerdictAllow, Unrecorded: true, AgentText: presentation.AgentReads}, decodeInto[api.Asked](t, w)))
	require.NotContains(t, w.Body.String(), `"approval"`)
}

// R67: what ran unattended is found by its origin, within a time.
func TestListOfWhatRanUnattended(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	var got core.ListQuery
	e.service.list = func(_ core.Caller, q core.ListQuery) (core.ListPage, error) {
		got = q
		auto := allowed("id-1")
		auto.Origin, auto.PolicyID = core.OriginAuto, "mode.before-anything-outside.v1"
		return core.ListPage{Approvals: []core.Approval{auto}, More: true}, nil
	}
	w := e.do(t, machineBearer, http.MethodGet, "/v1/approvals?origin=auto&within=12h&limit=1", "")
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, core.ListQuery{Origin: core.OriginAuto, Within: 12 * 60 * 60 * 1000, Limit: 1}, got)
	page := decodeInto[api.List](t, w)
	require.Equal(t, "mode.before-anything-outside.v1", page.Approvals[0].PolicyID)
	next := "/v1/approvals?limit=1&cursor=" + url.QueryEscape(page.Cursor)
	require.Equal(t, http.StatusOK, e.do(t, machineBearer, http.MethodGet, next+"&origin=auto&within=12h", "").Code)
	require.NotEqual(t, http.StatusOK, e.do(t, machineBearer, http.MethodGet, next+"&origin=auto", "").Code, "the cursor holds for its filters")
	for _, bad := range []string{"within=x", "within=-1h", "within=0s", "origin=x"} {
		require.GreaterOrEqual(t, e.do(t, machineBearer, http.MethodGet, "/v1/approvals?"+bad, "").Code, 400, bad)
	}
}

func TestAskWaits(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.ask = func(core.Caller, approvals.Ask) (approvals.Asked, error) {
		return approvals.Asked{Approval: sampleApproval("id-1")}, nil
	}
	e.service.wait = func(_ context.Context, _ core.Caller, w approvals.WaitRequest) (core.Approval, error) {
		require.Equal(t, approvals.WaitRequest{Lookup: core.Lookup{ID: "id-1"}, For: 25 * time.Second}, w)
		return allowed("id-1"), nil
	}
	w := e.do(t, machineBearer, http.MethodPost, "/v1/approvals?wait=25s", askBody)
	require.Equal(t, http.StatusCreated, w.Code)
	require.Equal(t, api.VerdictAllow, decodeInto[api.Asked](t, w).Verdict)

	// The record stands although the wait failed: the caller must learn its id.
	e.service.wait = func(context.Context, core.Caller, approvals.WaitRequest) (core.Approval, error) {
		return core.Approval{}, core.ErrUnavailable
	}
	w = e.do(t, machineBearer, http.MethodPost, "/v1/approvals?wait=25s", askBody)
	require.Equal(t, http.StatusCreated, w.Code)
	require.Equal(t, "id-1", decodeInto[api.Asked](t, w).Approval.ID)
}

// R20: every terminal status but "allowed" means deny.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	want := map[core.Status]api.Verdict{
		core.StatusPending: api.VerdictAsk, core.StatusAllowed: api.VerdictAllow, core.StatusDenied: api.VerdictDeny,
		core.StatusExpired: api.VerdictDeny, core.StatusCancelled: api.VerdictDeny, "": api.VerdictDeny, "else": api.VerdictDeny,
	}
	for status, verdict := range want {
		require.Equal(t, verdict, api.VerdictOf(status), status)
	}
}

// R175, R178: any accepted id travels in the path, percent-encoded, and comes back.
func TestIDsInPaths(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"0197-uuid", "x.js", "bot:a/b", "bot:a b", "bot:50%", "bot:%2F", "bot:ä/../ö", "bot:?x#y", "bot:\u00a0edge\u00a0", "bot:\ufeffbom",
		"bot:" + strings.Repeat("x", core.MaxGivenID), "bot:a+b", "bot:..",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			e := newEdge(t, func(c *gateway.Config, _ *gateway.Deps) { c.PublicURL = "https://ask.example.com/base/" })
			e.service.get = func(_ core.Caller, l core.Lookup) (core.Approval, error) {
				require.Equal(t, core.Lookup{ID: id}, l)
				return sampleApproval(id), nil
			}
			for _, base := range []string{"", "/base"} {
				w := e.do(t, reviewerBearer, http.MethodGet, base+"/v1/approvals/"+url.PathEscape(id), "")
				require.Equal(t, http.StatusOK, w.Code, w.Body.String())
				a := decodeInto[api.Answer](t, w).Approval
				require.Equal(t, id, a.ID)
				require.Equal(t, "/base/approve/"+url.PathEscape(id), a.URLPath)
				require.Equal(t, "https://ask.example.com"+a.URLPath, a.URL)
			}
		})
	}
}

// R155: what cannot be an id, what does not exist and what is another's answer with
// the same bytes, and malformed ids never reach the store.
func TestUnknownAndUnauthorisedAreTheSameBytes(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) {
		return core.Approval{}, fmt.Errorf("read approval: %w", core.ErrNotFound)
	}
	unknown := e.do(t, reviewerBearer, http.MethodGet, "/v1/approvals/unknown", "")
	requireProblem(t, e.do(t, reviewerBearer, http.MethodGet, "/v1/approvals/unknown", ""), http.StatusNotFound, "not_found")
	e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) { return core.Approval{}, core.ErrNotFound }
	unauthorised := e.do(t, machineBearer, http.MethodGet, "/v1/approvals/other:theirs", "")
	e.service.get = nil
	for name, target := range map[string]string{
		"control character": "/v1/approvals/bot:a%00b",
		"broken UTF-8":      "/v1/approvals/bot:%ff%fe",
		"too long":          "/v1/approvals/" + strings.Repeat("x", 300),
		"no such call":      "/v1/nothing",
		"double slash":      "/v1//approvals",
		"dots":              "/v1/approvals/a/../b",
		"trailing slash":    "/v1/approvals/",
	} {
		got := e.do(t, reviewerBearer, http.MethodGet, target, "")
		require.Equal(t, unknown.Code, got.Code, name)
		require.Equal(t, unknown.Body.String(), got.Body.String(), name)
		require.Equal(t, unknown.Header(), got.Header(), name)
	}
	require.Equal(t, unknown.Body.String(), unauthorised.Body.String())
	require.Equal(t, unknown.Header(), unauthorised.Header())
}

// R156, K24: reviewers read neither session keys nor raw resolver ids; the runtime
// reads its own; admins read the audit part.
func TestProjectionByReader(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) { return allowed("id-1"), nil }
	e.ledger.rows = []core.Delivery{
		{ID: "secret-row", Channel: core.SurfaceTelegram, Address: "secret-address", Destination: "person:secret", State: core.DeliveryOpen, ShownRevision: 2},
		{Channel: core.SurfaceSlack, State: core.DeliveryClosed, Outcome: core.OutcomeFailed, LastError: core.FailureGone, ShownRevision: 1},
	}
	raw := map[string]string{}
	for _, bearer := range []string{machineBearer, reviewerBearer, adminBearer} {
		w := e.do(t, bearer, http.MethodGet, "/v1/approvals/id-1", "")
		require.Equal(t, http.StatusOK, w.Code)
		raw[bearer] = w.Body.String()
		got := decodeInto[api.Answer](t, w)
		require.Equal(t, &api.Resolver{Kind: core.ResolverHuman, Name: "Bob", Surface: core.SurfacePage}, got.Approval.Resolver)
		require.Equal(t, []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}, got.Approval.AllowedDecisions)
		require.Equal(t, serverNow, got.Approval.ServerTime)
		require.Empty(t, cmp.Diff([]api.Delivery{
			{Channel: core.SurfaceTelegram, State: core.DeliveryOpen, Current: true},
			{Channel: core.SurfaceSlack, State: core.DeliveryClosed, Outcome: core.OutcomeFailed, Class: core.FailureGone},
		}, got.Approval.Deliveries))
		require.Empty(t, got.Approval.URL, "no public address is configured")
	}
	for bearer, body := range raw {
		for _, private := range []string{"secret-row", "secret-address", "person:secret", "secret-attempt"} {
			require.NotContains(t, body, private, bearer)
		}
	}
	for _, private := range []string{"secret-session", "secret-audience", "key-1", "bob-raw-id", "carol", "run-1", "agent hears"} {
		require.NotContains(t, raw[reviewerBearer], private)
	}
	require.Contains(t, raw[machineBearer], "secret-session")
	require.NotContains(t, raw[machineBearer], "bob-raw-id")
	require.Contains(t, raw[adminBearer], "bob-raw-id")
	require.NotContains(t, raw[adminBearer], "secret-session")
}

func TestTheRecordIsAnsweredWithoutItsLedger(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.ledger.err = errors.New("ledger is away")
	e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) { return sampleApproval("id-1"), nil }
	w := e.do(t, machineBearer, http.MethodGet, "/v1/approvals/id-1", "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, decodeInto[api.Answer](t, w).Approval.Deliveries)
}

func TestGetWaits(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.wait = func(_ context.Context, _ core.Caller, w approvals.WaitRequest) (core.Approval, error) {
		require.Equal(t, approvals.WaitRequest{Lookup: core.Lookup{ID: "id-1"}, Revision: 4, For: approvals.MaxWait}, w, "longer waits are cut")
		return sampleApproval("id-1"), nil
	}
	w := e.do(t, machineBearer, http.MethodGet, "/v1/approvals/id-1?wait=5h&revision=4", "")
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
}

func TestListPages(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	var asked []core.ListQuery
	e.service.list = func(_ core.Caller, q core.ListQuery) (core.ListPage, error) {
		asked = append(asked, q)
		a := sampleApproval(fmt.Sprintf("id-%d", len(asked)))
		return core.ListPage{Approvals: []core.Approval{a}, More: len(asked) == 1, Now: serverNow, Corrupt: 2}, nil
	}
	const target = "/v1/approvals?status=pending&agent=helper&session=s&run=r&limit=1"
	first := decodeInto[api.List](t, e.do(t, reviewerBearer, http.MethodGet, target, ""))
	require.True(t, first.Truncated)
	require.Equal(t, serverNow, first.ServerTime)
	require.Zero(t, first.Corrupt, "only admins hear of damage")
	second := decodeInto[api.List](t, e.do(t, reviewerBearer, http.MethodGet, target+"&cursor="+first.Cursor, ""))
	require.False(t, second.Truncated)
	require.Empty(t, second.Cursor)
	want := core.ListQuery{Status: core.StatusPending, Agent: "helper", Session: "s", Run: "r", Limit: 1}
	require.Empty(t, cmp.Diff(want, asked[0]))
	want.Before = &core.ListCursor{CreatedAt: serverNow - 5000, ID: "id-1"}
	require.Empty(t, cmp.Diff(want, asked[1]))
}

// Conformance 43: a changed, extended, padded or borrowed cursor is refused.
func TestTamperedCursors(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.list = func(core.Caller, core.ListQuery) (core.ListPage, error) {
		return core.ListPage{Approvals: []core.Approval{sampleApproval("id-1")}, More: true, Now: serverNow}, nil
	}
	good := decodeInto[api.List](t, e.do(t, reviewerBearer, http.MethodGet, "/v1/approvals", "")).Cursor
	require.Equal(t, http.StatusOK, e.do(t, reviewerBearer, http.MethodGet, "/v1/approvals?cursor="+good, "").Code)
	e.service.list = nil
	flipped := []byte(good)
	flipped[3] ^= 1
	for name, target := range map[string]string{
		"padding":      "/v1/approvals?cursor=" + good + "%3D",
		"suffix":       "/v1/approvals?cursor=" + good + "AAAA",
		"cut":          "/v1/approvals?cursor=" + good[:len(good)-2],
		"changed":      "/v1/approvals?cursor=" + string(flipped),
		"other filter": "/v1/approvals?status=pending&cursor=" + good,
		"garbage":      "/v1/approvals?cursor=!!",
		"line break":   "/v1/approvals?cursor=" + good + "%0A",
	} {
		p := requireProblem(t, e.do(t, reviewerBearer, http.MethodGet, target, ""), http.StatusUnprocessableEntity, "invalid")
		require.Equal(t, "query.cursor", p.Errors[0].Field, name)
	}
	requireProblem(t, e.do(t, adminBearer, http.MethodGet, "/v1/approvals?cursor="+good, ""), http.StatusUnprocessableEntity, "invalid")
}

func TestInstancesAndRuns(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.registerInstance = func(_ core.Caller, r approvals.Registration) (core.Instance, error) {
		require.Equal(t, approvals.Registration{Name: "host/one", BootID: "boot-1", Facts: map[string]string{"sandbox": "docker"}}, r)
		return core.Instance{Runtime: "bot", Name: r.Name, Epoch: 7}, nil
	}
	w := e.do(t, machineBearer, http.MethodPut, "/v1/runtimes/self/instances/host%2Fone", `{"boot_id":"boot-1","facts":{"sandbox":"docker"}}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, api.Instance{Name: "host/one", Epoch: 7}, decodeInto[api.Instance](t, w))

	run := core.Run{Runtime: "bot", ID: "run/1", Pending: 2, AcceptsReply: true, WaitingMillis: 900, LastDecidedAt: 5, Now: serverNow}
	e.service.runStatus = func(_ core.Caller, id string) (core.Run, error) {
		require.Equal(t, "run/1", id)
		return run, nil
	}
	want := api.Run{ID: "run/1", Pending: 2, AcceptsReply: true, WaitingMillis: 900, LastDecidedAt: 5, ServerTime: serverNow}
	require.Equal(t, want, decodeInto[api.Run](t, e.do(t, machineBearer, http.MethodGet, "/v1/runs/run%2F1", "")))
	e.service.abortRun = func(core.Caller, string) (core.Run, error) {
		run.AbortedAt = serverNow
		return run, nil
	}
	want.AbortedAt = serverNow
	require.Equal(t, want, decodeInto[api.Run](t, e.do(t, machineBearer, http.MethodPost, "/v1/runs/run%2F1/abort", "")))

	// R137.
	e.service.reply = func(_ core.Caller, r approvals.Reply) (approvals.Replied, error) {
		require.Equal(t, approvals.Reply{Run: "run/1", MessageID: "m1", Text: "do it differently"}, r)
		return approvals.Replied{Run: "run/1", Declined: []string{"a1"}, Now: true}, nil
	}
	w = e.do(t, machineBearer, http.MethodPost, "/v1/runs/run%2F1/reply", `{"message_id":"m1","text":"do it differently"}`)
	require.JSONEq(t, `{"declined":{"run_id":"run/1","approval_ids":["a1"]},"delivery":"now"}`, w.Body.String())
	e.service.reply = func(core.Caller, approvals.Reply) (approvals.Replied, error) {
		return approvals.Replied{Run: "run/1", Declined: []string{"a2"}}, nil
	}
	w = e.do(t, machineBearer, http.MethodPost, "/v1/runs/run%2F1/reply", `{"message_id":"m2","text":"do it differently"}`)
	require.JSONEq(t, `{"declined":{"run_id":"run/1","approval_ids":["a2"]},"delivery":"queued"}`, w.Body.String())
}
