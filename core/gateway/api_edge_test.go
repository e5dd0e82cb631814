package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/gateway"
)

func TestAuthentication(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for name, header := range map[string]string{
		"none": "", "unknown": "Bearer nobody", "another scheme": "Basic " + machineBearer, "no bearer": "Bearer ", "bare": machineBearer,
	} {
		w := e.do(t, "", http.MethodGet, "/v1/approvals/id-1", "", func(r *http.Request) {
			if header != "" {
				r.Header.Set("Authorization", header)
			}
		})
		require.Equal(t, "Bearer", w.Header().Get("Www-Authenticate"), name)
		requireProblem(t, w, http.StatusUnauthorized, "unauthenticated")
	}
	// Nobody's body is read: a malformed one does not change the answer.
	requireProblem(t, e.do(t, "nobody", http.MethodPost, "/v1/approvals", "{"), http.StatusUnauthorized, "unauthenticated")
	// A fault is not a refusal.
	faulty := newEdge(t, func(_ *gateway.Config, d *gateway.Deps) { d.Authenticator = failingAuth{} })
	requireProblem(t, faulty.do(t, machineBearer, http.MethodGet, "/v1/me", ""), http.StatusServiceUnavailable, "unavailable")
}

type failingAuth struct{}

func (failingAuth) Authenticate(context.Context, string) (core.Caller, error) {
	return core.Caller{}, core.ErrUnavailable
}

// The operator exists on the peer-checked socket only, and a bearer wins there too.
func TestOperatorIsOnTheAdminSocketOnly(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	w := serve(t, e.gateway.AdminHandler(), "", http.MethodGet, "/v1/me", "", func(r *http.Request) { r.Host = "sayso.sock" })
	require.Equal(t, api.Me{Operator: true}, decodeInto[api.Me](t, w))
	w = serve(t, e.gateway.AdminHandler(), adminBearer, http.MethodGet, "/v1/me", "")
	me := decodeInto[api.Me](t, w)
	require.False(t, me.Operator)
	require.Equal(t, "alice", me.Person.ID)
	requireProblem(t, serve(t, e.gateway.AdminHandler(), "nobody", http.MethodGet, "/v1/me", ""), http.StatusUnauthorized, "unauthenticated")
	requireProblem(t, e.do(t, "", http.MethodGet, "/v1/me", ""), http.StatusUnauthorized, "unauthenticated")
}

func TestHosts(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(c *gateway.Config, _ *gateway.Deps) {
		c.PublicURL, c.Hosts = "https://Ask.Example.org", []string{"10.0.0.7", "[fd00::1]"}
	})
	for host, allowed := range map[string]bool{
		"localhost": true, "LOCALHOST:8080": true, "127.0.0.1:80": true, "[::1]:8080": true, "[::1]": true, "ask.example.org": true,
		"ask.example.org.": true, "10.0.0.7:1": true, "[fd00::1]:1": true,
		"evil.example": false, "": false, "localhost.evil.example": false, "ask.example.org@evil": false, "10.0.0.8": false,
	} {
		w := e.do(t, machineBearer, http.MethodGet, "/v1/me", "", func(r *http.Request) { r.Host = host })
		if allowed {
			require.Equal(t, http.StatusOK, w.Code, host)
			continue
		}
		requireProblem(t, w, http.StatusMisdirectedRequest, "misdirected")
		require.Equal(t, http.StatusOK, e.do(t, "", http.MethodGet, "/healthz", "", func(r *http.Request) { r.Host = host }).Code, "probes know addresses only")
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]gateway.Config{
		"no scheme":       {PublicURL: "ask.example.com"},
		"another scheme":  {PublicURL: "ftp://ask.example.com"},
		"credentials":     {PublicURL: "https://a:b@ask.example.com"},
		"query":           {PublicURL: "https://ask.example.com/?a=b"},
		"host with port":  {Hosts: []string{"ask.example.com:80"}},
		"empty host":      {Hosts: []string{""}},
		"negative limits": {Burst: -1},
	} {
		_, err := gateway.New(cfg, gateway.Deps{})
		require.Error(t, err, name)
	}
	_, err := gateway.New(gateway.Config{}, gateway.Deps{})
	require.ErrorContains(t, err, "dependency")
}

// The limit is per runtime and refills with time; people are not limited.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(c *gateway.Config, _ *gateway.Deps) { c.RequestsPerSecond, c.Burst = 0.1, 2 })
	e.people.callers["other"] = core.Caller{Token: &core.Token{Runtime: "other"}}
	me := func(bearer string) int { return e.do(t, bearer, http.MethodGet, "/v1/me", "").Code }
	require.Equal(t, http.StatusOK, me(machineBearer))
	require.Equal(t, http.StatusOK, me(machineBearer))
	w := e.do(t, machineBearer, http.MethodGet, "/v1/me", "")
	require.Equal(t, "10", w.Header().Get("Retry-After"))
	requireProblem(t, w, http.StatusTooManyRequests, "rate_limited")
	require.Equal(t, http.StatusOK, me("other"))
	for range 5 {
		require.Equal(t, http.StatusOK, me(reviewerBearer))
	}
	e.now = e.now.Add(10 * time.Second)
	require.Equal(t, http.StatusOK, me(machineBearer))
	require.Equal(t, http.StatusTooManyRequests, me(machineBearer))
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for given, kept := range map[string]bool{
		"abc-DEF_123": true, strings.Repeat("x", 64): true,
		"": false, "a b": false, "a\"b": false, "ä": false, strings.Repeat("x", 65): false,
	} {
		w := e.do(t, "", http.MethodGet, "/healthz", "", func(r *http.Request) { r.Header.Set("X-Request-Id", given) })
		got := w.Header().Get("X-Request-Id")
		require.Equal(t, kept, got == given, given)
		require.NotEmpty(t, got)
	}
}

// The log has what an operator needs and nothing that a caller wrote.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) { return core.Approval{}, core.ErrNotFound }
	e.do(t, machineBearer, http.MethodGet, "/v1/approvals/bot:private", "")
	line := e.log.String()
	for _, want := range []string{
		`"request":"fixed"`, `"method":"GET"`, `"route":"GET /v1/approvals/{id}"`, `"status":404`, `"code":"not_found"`, `"runtime":"bot"`,
	} {
		require.Contains(t, line, want)
	}
	require.NotContains(t, line, "private")
	require.NotContains(t, line, machineBearer)
}

// All fields at fault are told, however the service joined them.
func TestEveryFaultIsTold(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) {
		return core.Approval{}, fmt.Errorf("check: %w", errors.Join(core.Invalid("a", "must be short"), fmt.Errorf("b: %w", core.Invalid("b", "must be long"))))
	}
	p := requireProblem(t, e.do(t, machineBearer, http.MethodGet, "/v1/approvals/id-1", ""), http.StatusUnprocessableEntity, "invalid")
	require.Equal(t, []api.Fault{{Field: "a", Rule: "must be short"}, {Field: "b", Rule: "must be long"}}, p.Errors)
}

func TestFaultsAreLoggedOnceAndNotTold(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) {
		return core.Approval{}, errors.New("open /var/lib/x.db: no such file")
	}
	w := e.do(t, machineBearer, http.MethodGet, "/v1/approvals/id-1", "")
	require.NotContains(t, w.Body.String(), "/var/lib", "conformance 54")
	requireProblem(t, w, http.StatusInternalServerError, "internal")
	require.Equal(t, 1, strings.Count(e.log.String(), "/var/lib/x.db"))
}

func TestPanicsAreAnsweredAndTheirValueIsNot(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) { panic("holds " + mark) }
	e.gateway.Handle("GET /half", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		panic(mark)
	}))
	w := e.do(t, machineBearer, http.MethodGet, "/v1/approvals/id-1", "")
	requireProblem(t, w, http.StatusInternalServerError, "internal")
	require.NotContains(t, e.log.String(), mark)
	require.Contains(t, e.log.String(), "api_edge_test.go", "where it happened is logged")
	// Half an answer is cut off rather than finished as if it were whole.
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { e.do(t, "", http.MethodGet, "/half", "") })
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	h := newEdge(t).do(t, machineBearer, http.MethodGet, "/v1/me", "").Header()
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
		"Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
	} {
		require.Equal(t, want, h.Get(name), name)
	}
}

func TestMethodsAndPaths(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	w := e.do(t, machineBearer, http.MethodDelete, "/v1/approvals/id-1", "")
	require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	requireProblem(t, w, http.StatusMethodNotAllowed, "method_not_allowed")
	requireProblem(t, e.do(t, "", http.MethodGet, "/", ""), http.StatusNotFound, "not_found")

	// What is mounted gets everything but the API's own paths.
	e.gateway.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("page " + gateway.RequestID(r.Context())))
	}))
	require.Equal(t, "page fixed", e.do(t, "", http.MethodGet, "/approve/x.js", "").Body.String())
	requireProblem(t, e.do(t, "", http.MethodGet, "/v1/approve/x.js", ""), http.StatusNotFound, "not_found")
	requireProblem(t, e.do(t, machineBearer, http.MethodDelete, "/v1/approvals/id-1", ""), http.StatusMethodNotAllowed, "method_not_allowed")
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var missing error
	e := newEdge(t, func(_ *gateway.Config, d *gateway.Deps) {
		d.Ready = func(ctx context.Context) error {
			_, bounded := ctx.Deadline()
			require.True(t, bounded)
			return missing
		}
	})
	require.Equal(t, "alive\n", e.do(t, "", http.MethodGet, "/healthz", "").Body.String())
	require.Equal(t, "ready\n", e.do(t, "", http.MethodGet, "/readyz", "").Body.String())
	missing = errors.New("store is sealed")
	requireProblem(t, e.do(t, "", http.MethodGet, "/readyz", ""), http.StatusServiceUnavailable, "unavailable")
}

// The address is public; how much is asked is not.
func TestMetricsAreForOperators(t *testing.T) {
	t.Parallel()
	metrics := func(open bool) *edge {
		return newEdge(t, func(c *gateway.Config, d *gateway.Deps) {
			c.OpenMetrics = open
			d.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("sayso_up 1\n")) })
		})
	}
	e := metrics(false)
	e.people.callers["scraper"] = core.Caller{Token: &core.Token{Runtime: "prometheus", Scopes: []core.Scope{core.ScopeAdmin}}}
	for bearer, status := range map[string]int{
		"": 401, "nobody": 401, machineBearer: 403, reviewerBearer: 403, "scraper": 200, adminBearer: 200,
	} {
		require.Equal(t, status, e.do(t, bearer, http.MethodGet, "/metrics", "").Code, bearer)
	}
	require.Equal(t, http.StatusOK, serve(t, e.gateway.AdminHandler(), "", http.MethodGet, "/metrics", "").Code)
	require.Equal(t, "sayso_up 1\n", metrics(true).do(t, "", http.MethodGet, "/metrics", "").Body.String())
	require.Equal(t, http.StatusNotFound, newEdge(t).do(t, adminBearer, http.MethodGet, "/metrics", "").Code)
}
