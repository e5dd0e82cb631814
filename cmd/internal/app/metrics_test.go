package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/api"
)

// R202: all metrics exist from the start, each is explained in the guide, and they
// count what happened: one question ended while a list was read, one waits.
func TestMetrics(t *testing.T) {
	t.Parallel()
	r := start(t, folder(t))
	r.signIn(t, "Ann")
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "metrics.md"))
	require.NoError(t, err)
	metrics := r.do(t, call{method: http.MethodGet, path: "/metrics"}).body
	served := regexp.MustCompile(`(?m)^# TYPE (sayso_\w+) `).FindAllStringSubmatch(metrics, -1)
	require.Greater(t, len(served), 15)
	for _, m := range served {
		require.Contains(t, string(guide), "`"+m[1]+"`")
	}
	for _, zero := range []string{
		`sayso_approvals_requested_total{kind="exec",status="pending"} 0`,
		`sayso_approvals_ended_total{kind="exec",reason="runtime-restart",status="cancelled"} 0`,
		`sayso_approvals_ended_total{kind="plugin",reason="no-route",status="denied"} 0`,
		`sayso_approvals_answers_total{outcome="conflict"} 0`,
		`sayso_approvals_no_route_total 0`, `sayso_approvals_routes_count 0`, `sayso_approvals_audience_size_count 0`,
		`sayso_approvals_latency_seconds_count{kind="exec",status="allowed"} 0`, `sayso_approvals_pending 0`,
	} {
		require.Contains(t, metrics, "\n"+zero+"\n")
	}

	ask := func(more string) {
		send[api.Answer](t, r, http.StatusCreated, call{method: http.MethodPost, path: "/v1/approvals", body: `{
			"kind":"exec","title":"Deploy","operation":{"tool":"sh","arguments":{"argv":["true"]}},"audience":["a","b"]` + more + `}`})
	}
	ask("")
	ask(`,"expires_in":"1s"`)
	require.Eventually(t, func() bool {
		list := send[api.List](t, r, http.StatusOK, call{method: http.MethodGet, path: "/v1/approvals?status=pending"})
		return len(list.Approvals) == 1
	}, patience, patience/300)
	require.Eventually(t, func() bool { // The gauge is a second old at most.
		metrics = r.do(t, call{method: http.MethodGet, path: "/metrics"}).body
		return regexp.MustCompile(`(?m)^sayso_approvals_pending 1$`).MatchString(metrics)
	}, patience, patience/300)
	for _, counted := range []string{
		`sayso_approvals_requested_total{kind="exec",status="pending"} 2`,
		`sayso_approvals_ended_total{kind="exec",reason="timeout",status="expired"} 1`,
		`sayso_approvals_latency_seconds_count{kind="exec",status="expired"} 1`,
		`sayso_approvals_routes_count 2`, `sayso_approvals_routes_sum 2`, // The shared chat, each time.
		`sayso_approvals_audience_size_sum 4`,
	} {
		require.Contains(t, metrics, "\n"+counted+"\n")
	}
}
