package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/gateway"
)

// Bad input gets a clear answer with a stable code and the field at fault, and
// never reaches the service.
func TestBadInput(t *testing.T) {
	t.Parallel()
	const post, get = http.MethodPost, http.MethodGet
	const ask, resolve = "/v1/approvals", "/v1/approvals/id-1/resolve"
	op := `"operation":{"tool":"mail","arguments":{}}`
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	tests := []struct {
		name, method, target, body string
		status                     int
		code, field                string
	}{
		{"not JSON", post, ask, `{"kind":`, 400, "malformed", "body"},
		{"two documents", post, ask, `{"kind":"exec",` + op + `} {}`, 400, "malformed", "body"},
		{"broken UTF-8", post, ask, "{\"kind\":\"exec\",\"title\":\"\xff\"," + op + "}", 400, "malformed", "body"},
		{"lone surrogate", post, ask, `{"kind":"exec","title":"\ud800",` + op + `}`, 400, "malformed", "body"},
		{"lone low surrogate", post, ask, `{"kind":"exec","title":"\\\udc00",` + op + `}`, 400, "malformed", "body"},
		{"surrogate before another", post, ask, `{"kind":"exec","title":"\ud83d\u0041",` + op + `}`, 400, "malformed", "body"},
		{"name twice", post, ask, `{"kind":"exec","kind":"plugin",` + op + `}`, 400, "malformed", "body"},
		{"name twice, deep inside", post, ask, `{"kind":"exec","operation":{"tool":"m","arguments":[{"a":1,"a":2}]}}`, 400, "malformed", "body"},
		{"too deep", post, ask, `{"kind":"exec","operation":{"tool":"m","arguments":` + deep + `}}`, 400, "malformed", "body"},
		{"blank body", post, ask, " ", 400, "malformed", "body"},
		{"an array", post, ask, `[]`, 422, "invalid", "body"},
		{"null", post, ask, `null`, 422, "invalid", "body"},
		{"no kind", post, ask, `{` + op + `}`, 422, "invalid", "kind"},
		{"no operation", post, ask, `{"kind":"exec"}`, 422, "invalid", "operation"},
		{"no tool", post, ask, `{"kind":"exec","operation":{"arguments":{}}}`, 422, "invalid", "operation.tool"},
		{"unknown kind", post, ask, `{"kind":"both",` + op + `}`, 422, "invalid", "kind"},
		{"unknown continuation", post, ask, `{"kind":"exec","continuation":"soon",` + op + `}`, 422, "invalid", "continuation"},
		{"unknown field", post, ask, `{"kind":"exec","nonsense":1,` + op + `}`, 422, "invalid", "body"},
		{"unknown nested field", post, ask, `{"kind":"exec","operation":{"tool":"m","arguments":{},"x.y":1}}`, 422, "invalid", "operation"},
		{"a caller's own policy", post, ask, `{"kind":"exec","class":"read",` + op + `}`, 422, "invalid", "body"},
		{"name in another case", post, ask, `{"Kind":"exec",` + op + `}`, 422, "invalid", "body"},
		{"wrong type", post, ask, `{"kind":"exec","title":7,` + op + `}`, 422, "invalid", "title"},
		{"wrong type in a list", post, ask, `{"kind":"exec","audience":["a",7],` + op + `}`, 422, "invalid", "audience[1]"},
		{"a fraction", post, ask, `{"kind":"exec","epoch":1.5,` + op + `}`, 422, "invalid", "epoch"},
		{"a huge number", post, ask, `{"kind":"exec","epoch":1e300,` + op + `}`, 422, "invalid", "body"},
		{"expiry in words", post, ask, `{"kind":"exec","expires_in":"soon",` + op + `}`, 422, "invalid", "expires_in"},
		{"expiry without a unit", post, ask, `{"kind":"exec","expires_in":"30",` + op + `}`, 422, "invalid", "expires_in"},
		{"expiry beyond all numbers", post, ask, `{"kind":"exec","expires_in":"99999999999999h",` + op + `}`, 422, "invalid", "expires_in"},
		{"wait in words", post, ask + "?wait=soon", `{"kind":"exec",` + op + `}`, 422, "invalid", "query.wait"},
		{"negative wait", get, ask + "/id-1?wait=-5s", "", 422, "invalid", "query.wait"},
		{"negative revision", get, ask + "/id-1?wait=5s&revision=-1", "", 422, "invalid", "query.revision"},
		{"revision in words", get, ask + "/id-1?revision=new", "", 422, "invalid", "query.revision"},
		{"unknown parameter", get, ask + "?color=red", "", 422, "invalid", "query"},
		{"parameter twice", get, ask + "?agent=a&agent=b", "", 422, "invalid", "query.agent"},
		{"broken escape", get, ask + "?agent=%zz", "", 400, "malformed", "query"},
		{"broken UTF-8 in the query", get, ask + "?agent=%ff", "", 422, "invalid", "query.agent"},
		{"control character in the query", get, ask + "?agent=a%00b", "", 422, "invalid", "query.agent"},
		{"unknown status", get, ask + "?status=lost", "", 422, "invalid", "query.status"},
		{"limit zero", get, ask + "?limit=0", "", 422, "invalid", "query.limit"},
		{"limit too large", get, ask + "?limit=1001", "", 422, "invalid", "query.limit"},
		{"no decision", post, resolve, `{"kind":"exec"}`, 422, "invalid", "decision"},
		{"a decision nobody offers", post, resolve, `{"kind":"exec","decision":"allow"}`, 422, "invalid", "decision"},
		{"an empty decision", post, resolve, `{"kind":"exec","decision":""}`, 422, "invalid", "decision"},
		{"content for an elicitation (R132)", post, resolve, `{"kind":"exec","decision":"allow-once","content":{"city":"x"}}`, 422, "invalid", "body"},
		{"a decision of another actor", post, resolve, `{"kind":"exec","decision":"deny","resolver":"alice"}`, 422, "invalid", "body"},
		{"an outcome that is none", post, ask + "/id-1/outcome", `{"outcome":"voided"}`, 422, "invalid", "outcome"},
		{"claim without a hash", post, ask + "/id-1/claim", `{"claim_token":"0123456789abcdef"}`, 422, "invalid", "action_hash"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newEdge(t)
			p := requireProblem(t, e.do(t, machineBearer, test.method, test.target, test.body), test.status, test.code)
			require.Len(t, p.Errors, 1)
			require.Equal(t, test.field, p.Errors[0].Field)
			require.NotEmpty(t, p.Errors[0].Rule)
		})
	}
}

// Expiries that parse go to the service, which knows the bounds.
func TestExpiryBoundsAreTheServices(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for text, want := range map[string]core.Millis{"-5s": -5000, "0s": 0, "999h": 999 * 3600 * 1000, "1ms": 1} {
		e.service.ask = func(_ core.Caller, a approvals.Ask) (approvals.Asked, error) {
			require.Equal(t, want, *a.ExpiresIn)
			return approvals.Asked{}, core.Invalid("expires_in", "must be from 1 second to 168 hours")
		}
		body := `{"kind":"exec","operation":{"tool":"m","arguments":{}},"expires_in":"` + text + `"}`
		p := requireProblem(t, e.do(t, machineBearer, http.MethodPost, "/v1/approvals", body), http.StatusUnprocessableEntity, "invalid")
		require.Equal(t, "expires_in", p.Errors[0].Field)
	}
}

func TestUnknownFieldsAreAnsweredWithTheKnownOnes(t *testing.T) {
	t.Parallel()
	p := requireProblem(t, newEdge(t).do(t, reviewerBearer, http.MethodPost, "/v1/approvals/id-1/resolve", `{"kind":"exec","decision":"deny","nope":1}`),
		http.StatusUnprocessableEntity, "invalid")
	require.Contains(t, p.Errors[0].Rule, "it knows arguments_hash, decision, decision_key, kind, note")
}

func TestBodyBounds(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	called := false
	e.service.ask = func(core.Caller, approvals.Ask) (approvals.Asked, error) {
		called = true
		return approvals.Asked{Approval: sampleApproval("id-1")}, nil
	}
	const head, tail = `{"kind":"exec","operation":{"tool":"m","arguments":"`, `"}}`
	fits := head + strings.Repeat("a", gateway.MaxBody-len(head)-len(tail)) + tail
	require.Equal(t, http.StatusCreated, e.do(t, machineBearer, http.MethodPost, "/v1/approvals", fits).Code)
	require.True(t, called)
	e.service.ask = nil
	requireProblem(t, e.do(t, machineBearer, http.MethodPost, "/v1/approvals", fits+" "), http.StatusRequestEntityTooLarge, "too_large")
}

func TestContentTypes(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.ask = func(core.Caller, approvals.Ask) (approvals.Asked, error) {
		return approvals.Asked{Approval: sampleApproval("id-1")}, nil
	}
	for contentType, status := range map[string]int{
		"application/json": 201, "application/json; charset=utf-8": 201, "Application/JSON;charset=UTF-8": 201,
		"": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "application/json; charset=latin1": 415, "application/x+json": 415, "/": 415,
	} {
		w := e.do(t, machineBearer, http.MethodPost, "/v1/approvals", askBody, func(r *http.Request) {
			r.Header.Del("Content-Type")
			if contentType != "" {
				r.Header.Set("Content-Type", contentType)
			}
		})
		require.Equal(t, status, w.Code, contentType)
	}
}

// mark is the value that must never come back, whatever place it was sent in.
const mark = "Zq9MaRkq9Z"

// refuser answers every call of every service with errors whose text holds no mark.
func refuser(e *edge) {
	refuse := fmt.Errorf("refused: %w", core.ErrNotFound)
	e.people.err, e.set.err = refuse, refuse
	s := e.service
	s.ask = func(core.Caller, approvals.Ask) (approvals.Asked, error) { return approvals.Asked{}, refuse }
	s.get = func(core.Caller, core.Lookup) (core.Approval, error) { return core.Approval{}, refuse }
	s.detail = func(core.Caller, core.Lookup) (core.Approval, core.Detail, error) {
		return core.Approval{}, core.Detail{}, refuse
	}
	s.wait = func(context.Context, core.Caller, approvals.WaitRequest) (core.Approval, error) {
		return core.Approval{}, refuse
	}
	s.list = func(core.Caller, core.ListQuery) (core.ListPage, error) { return core.ListPage{}, refuse }
	s.resolve = func(approvals.Resolve) (approvals.Resolved, error) { return approvals.Resolved{}, refuse }
	s.cancel = func(core.Caller, core.Lookup) (approvals.Resolved, error) { return approvals.Resolved{}, refuse }
	s.denyMalformed = s.cancel
	s.claim = func(core.Caller, approvals.Claim) (core.Approval, error) { return core.Approval{}, refuse }
	s.report = func(core.Caller, approvals.Report) (core.Approval, error) { return core.Approval{}, refuse }
	s.registerInstance = func(core.Caller, approvals.Registration) (core.Instance, error) { return core.Instance{}, refuse }
	s.abortRun = func(core.Caller, string) (core.Run, error) { return core.Run{}, refuse }
	s.runStatus = s.abortRun
	s.reply = func(core.Caller, approvals.Reply) (approvals.Replied, error) { return approvals.Replied{}, refuse }
}

// everyCall lists each call with the places for path values as {} and a good body.
var everyCall = []struct{ method, target, query, body string }{
	{"POST", "/v1/approvals", "wait=1s", `{"id":"a","kind":"exec","title":"t","agent":"a","operation":{"id":"1","type":"t","tool":"m","operation":"o",
		"summary":"s","arguments":{"k":["v",1]}},"risk":"r","continuation":"live","expires_in":"1m","session_key":"s","run_id":"r","frame_id":"f",
		"group":"g","caused_by":"c","audience":["a"],"instance":"i","epoch":1,"reviewers":["p"],"exclude_requester":true,"require_push":true,
		"supersedes":"x","idempotency_key":"k","details":{"d":"e"}}`},
	{"GET", "/v1/approvals", "status=pending&agent=a&session=s&run=r&limit=1&cursor=c", ""},
	{"GET", "/v1/approvals/{}", "wait=1s&revision=1", ""},
	{"GET", "/v1/approvals/{}/detail", "", ""},
	{"POST", "/v1/approvals/{}/resolve", "", `{"kind":"exec","decision":"allow-once","operation_id":"o","arguments_hash":"h","note":"n","decision_key":"k","view":"v","partial_view":true}`},
	{"POST", "/v1/approvals/{}/cancel", "", ""},
	{"POST", "/v1/approvals/{}/malformed-verdict", "", ""},
	{"POST", "/v1/approvals/{}/claim", "", `{"action_hash":"h","claim_token":"t","instance":"i","epoch":1}`},
	{"POST", "/v1/approvals/{}/outcome", "", `{"claim_token":"t","outcome":"failed","error":"e"}`},
	{"PUT", "/v1/runtimes/self/instances/{}", "", `{"boot_id":"b","facts":{"f":"v"}}`},
	{"GET", "/v1/agents", "", ""},
	{"GET", "/v1/runtimes/{}/agents/{}", "", ""},
	{"DELETE", "/v1/runtimes/{}/agents/{}", "", ""},
	{"PUT", "/v1/runtimes/{}/agents/{}/mode", "", `{"mode":"strict","revision":1}`},
	{"POST", "/v1/runtimes/{}/agents/{}/pause", "", `{"revision":1}`},
	{"POST", "/v1/runtimes/{}/agents/{}/resume", "", `{"revision":1}`},
	{"POST", "/v1/runtimes/{}/agents/{}/reset", "", ""},
	{"GET", "/v1/runtimes/{}/agents/{}/history", "limit=1", ""},
	{"POST", "/v1/runtimes/{}/agents/{}/money", "", `{"tool":"t","expires_in":"1h","uses":1}`},
	{"GET", "/v1/rules", "runtime=r&agent=a&live=true&limit=1&cursor=c", ""},
	{"GET", "/v1/rules/{}", "", ""},
	{"DELETE", "/v1/rules/{}", "", ""},
	{"POST", "/v1/approvals/{}/reopen", "", ""},
	{"GET", "/v1/runs/{}", "", ""},
	{"POST", "/v1/runs/{}/abort", "", ""},
	{"POST", "/v1/runs/{}/reply", "", `{"message_id":"m","text":"t"}`},
	{"GET", "/v1/people", "", ""},
	{"POST", "/v1/people", "", `{"id":"p","name":"n","role":"admin"}`},
	{"PATCH", "/v1/people/{}", "", `{"revision":1,"name":"n","role":"admin","disabled":true}`},
	{"POST", "/v1/people/apply", "plan=false", `{"people":[{"id":"p","name":"n","role":"admin","identities":[{"realm":"telegram","id":"1"}]}],"agents":[{"runtime":"r","agent":"a","owners":["p"]}],"exhaustive":true}`},
	{"POST", "/v1/people/{}/identities", "", `{"realm":"telegram","id":"1","label":"l"}`},
	{"DELETE", "/v1/identities/{}/{}", "", ""},
	{"GET", "/v1/runtimes/{}/agents/{}/owners", "", ""},
	{"PUT", "/v1/runtimes/{}/agents/{}/owners", "", `{"owners":["p"]}`},
	{"POST", "/v1/people/{}/codes", "", `{"purpose":"link","form":"typed"}`},
	{"POST", "/v1/first-code", "", `{"form":"link"}`},
	{"GET", "/v1/people/{}/sessions", "", ""},
	{"DELETE", "/v1/people/{}/sessions/{}", "", ""},
	{"POST", "/v1/signin", "", `{"code":"c","purpose":"pair","name":"n","kind":"cli","label":"l"}`},
	{"DELETE", "/v1/me/session", "", ""},
	{"GET", "/v1/tokens", "", ""},
	{"POST", "/v1/tokens", "", `{"runtime":"r","scopes":["read"],"acts_for":"p","label":"l","expires_in":"1h"}`},
	{"DELETE", "/v1/tokens/{}", "", ""},
}

// No value of a request comes back in an answer or reaches the log: neither from
// the body, nor the names of unknown fields, the query, the path or the headers.
func TestNothingIsEchoed(t *testing.T) {
	t.Parallel()
	for _, call := range everyCall {
		t.Run(call.method+" "+call.target, func(t *testing.T) {
			t.Parallel()
			e := newEdge(t)
			refuser(e)
			path := strings.ReplaceAll(call.target, "{}", "v")
			try := func(where, target, body string, change ...func(*http.Request)) {
				t.Helper()
				w := e.do(t, adminBearer, call.method, target, body, change...)
				require.GreaterOrEqual(t, w.Code, 400, where)
				all := fmt.Sprint(w.Header()) + w.Body.String() + e.log.String()
				require.NotContains(t, strings.ToLower(all), strings.ToLower(mark), where)
				require.NotEqual(t, http.StatusInternalServerError, w.Code, where+": "+e.log.String())
			}
			try("nowhere", path+"?"+call.query, call.body)
			try("path", strings.ReplaceAll(call.target, "{}", mark), call.body)
			try("path, malformed", strings.ReplaceAll(call.target, "{}", "%00"+mark), call.body)
			try("path, no call", path+"/"+mark, call.body)
			try("unknown parameter", path+"?"+mark+"="+mark, call.body)
			try("broken query", path+"?a=%z"+mark, call.body)
			for pair := range strings.SplitSeq(call.query, "&") {
				name, _, _ := strings.Cut(pair, "=")
				try("query "+name, path+"?"+name+"="+mark, call.body)
				try("query twice "+name, path+"?"+name+"="+mark+"&"+name+"="+mark, call.body)
			}
			for header, value := range map[string]string{
				"Authorization": "Bearer " + mark, "X-Request-Id": mark + "!", "Accept": mark + "/*", "Cookie": mark + "=" + mark,
				"Content-Type": mark + "/json", "User-Agent": mark, "Origin": "https://" + mark, "Traceparent": mark, mark: mark,
			} {
				try("header "+header, path, call.body, func(r *http.Request) { r.Header.Set(header, value) })
			}
			try("host", path, call.body, func(r *http.Request) { r.Host = mark + ".example" })
			try("method", path, call.body, func(r *http.Request) { r.Method = mark })
			if call.body == "" {
				return
			}
			for i, body := range mutations(t, call.body) {
				try(fmt.Sprintf("body %d: %s", i, body), path, body)
			}
		})
	}
}

// mutations puts the mark into every place of a JSON document: for each value, as
// a string, in a list, as a member's name, and in text that is no JSON.
func mutations(t *testing.T, body string) []string {
	t.Helper()
	var bodies []string
	spoil := func(v any) []any {
		kinds := []any{mark, []any{mark}, map[string]any{mark: mark}, mark + strings.Repeat("x", 100)}
		if m, ok := v.(map[string]any); ok {
			more := map[string]any{mark: 1, mark + "." + mark: mark}
			maps.Copy(more, m)
			kinds = append(kinds, more)
		}
		return kinds
	}
	var document any
	require.NoError(t, json.Unmarshal([]byte(body), &document))
	emit := func() {
		b, err := json.Marshal(document)
		require.NoError(t, err)
		bodies = append(bodies, string(b))
	}
	var visit func(v any, set func(any))
	visit = func(v any, set func(any)) {
		for _, bad := range spoil(v) {
			set(bad)
			emit()
		}
		set(v)
		switch c := v.(type) {
		case map[string]any:
			for name, member := range c {
				visit(member, func(n any) { c[name] = n })
			}
		case []any:
			for i, item := range c {
				visit(item, func(n any) { c[i] = n })
			}
		}
	}
	visit(document, func(n any) { document = n })
	return append(bodies, mark, `{"`+mark, body+mark, `{"`+mark+`":1,"`+mark+`":2}`, "\""+mark+"\xff\"")
}
