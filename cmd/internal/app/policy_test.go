package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// A table whose one tool can be told apart by what becomes of it.
const (
	crmSends  = "version: 1\ntools: [{names: [crm], class: send}]\n"
	crmWrites = "version: 1\ntools: [{names: [crm], class: write}]\n"
	crmPays   = "version: 1\ntools: [{names: [crm], class: money}]\n"
)

// replace changes a file in one step.
func replace(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// withTables configures an operator's table at the path.
func withTables(path string) func(*config.Config, *fake.Server) {
	return func(c *config.Config, _ *fake.Server) { c.Policy.Tables = []string{path} }
}

// crm asks about a call of the table's tool.
func (r *running) crm(t *testing.T) api.Asked {
	t.Helper()
	return send[api.Asked](t, r, http.StatusCreated, call{
		method: http.MethodPost, path: "/v1/approvals", bearer: r.machine,
		body: `{"kind":"plugin","title":"Note it","agent":"books","operation":{"tool":"crm","arguments":{}}}`,
	})
}

func (r *running) readyz(t *testing.T) int {
	t.Helper()
	return r.do(t, call{method: http.MethodGet, path: "/readyz"}).status
}

// Bad policy files stop a start, with all of their faults and without their values.
func TestBadPolicyFilesStopTheStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "table.yaml")
	replace(t, path, "version: 1\nmode: hush\nalways_ask: hush\n")
	o := options(folder(t), nil, &journal{})
	o.Config.Policy = config.Policy{Tables: []string{path}, Organisation: path + ".none"}
	err := app.Run(t.Context(), o)
	require.ErrorIs(t, err, core.ErrInvalid)
	require.ErrorContains(t, err, "policy.tables[0]: line 2: mode: ")
	require.ErrorContains(t, err, "line 3: always_ask: ")
	require.ErrorContains(t, err, "policy.organisation: ")
	require.NotContains(t, err.Error(), "hush")
}

// R65, R67: what the mode lets run is recorded under it before it runs; a file that
// changes changes that with the next call; one that is refused changes nothing but what
// operators are told.
func TestPolicyFilesAreReloaded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "table.yaml")
	replace(t, path, crmWrites)
	r := start(t, folder(t), withTables(path))
	auto := r.crm(t)
	require.Equal(t, api.VerdictAllow, auto.Verdict)
	require.Equal(t, core.OriginAuto, auto.Approval.Origin)
	require.Equal(t, "mode.before-anything-outside.v1", auto.Approval.PolicyID)
	require.Equal(t, core.ExecutionUnclaimed, auto.Approval.Execution)

	replace(t, path, crmSends)
	require.Eventually(t, func() bool { return r.crm(t).Verdict == api.VerdictAsk }, patience, patience/300)
	replace(t, path, "version: 1\nhush: 1\n")
	metric := func(line string) bool {
		return containsLine(r.do(t, call{method: http.MethodGet, path: "/metrics"}).body, line)
	}
	require.Eventually(t, func() bool { return metric("sayso_policy_files_refused 1") }, patience, patience/300)
	require.True(t, metric("sayso_policy_in_force 1"))
	require.Equal(t, http.StatusOK, r.readyz(t))
	require.Equal(t, core.ClassSend, r.crm(t).Approval.Class)
	require.NotContains(t, r.log.String(), "hush")
	replace(t, path, crmPays)
	require.Eventually(t, func() bool { return r.crm(t).Approval.Class == core.ClassMoney }, patience, patience/300)
	require.True(t, metric("sayso_policy_files_refused 0"))
	require.True(t, metric(`sayso_policy_verdicts_total{class="read",verdict="allow"} 0`))
	require.False(t, metric(`sayso_policy_verdicts_total{class="write",verdict="auto"} 0`))
}

// New files on one replica are in force on the other within a second: with its next
// call, where it has them; and until it has, it asks about everything and is not ready.
func TestPolicyFilesOfAFleet(t *testing.T) {
	t.Parallel()
	w := settle(t, onFleet(t))
	one, two := filepath.Join(t.TempDir(), "one.yaml"), filepath.Join(t.TempDir(), "two.yaml")
	for _, path := range []string{one, two} {
		replace(t, path, crmWrites)
	}
	w.config.Policy.Tables = []string{one}
	first := w.join(t)
	w.config.Policy.Tables = []string{two}
	second := w.join(t)
	require.Equal(t, api.VerdictAllow, first.crm(t).Verdict)
	require.Equal(t, api.VerdictAllow, second.crm(t).Verdict)
	require.Equal(t, http.StatusServiceUnavailable, w.running.readyz(t), "it has the starter alone")

	replace(t, one, crmPays)
	require.Eventually(t, func() bool { return first.crm(t).Approval.Class == core.ClassMoney }, patience, patience/300)
	asked := second.crm(t) // Its files allow it; others are in force.
	require.Equal(t, api.VerdictAsk, asked.Verdict)
	require.Nil(t, asked.Approval.AlwaysOffer)
	require.Equal(t, http.StatusServiceUnavailable, second.readyz(t))
	require.Equal(t, http.StatusOK, first.readyz(t))

	replace(t, two, crmPays)
	require.Eventually(t, func() bool { return second.readyz(t) == http.StatusOK }, patience, patience/1000)
	require.Equal(t, core.ClassMoney, second.crm(t).Approval.Class)
}

func containsLine(text, line string) bool { return strings.Contains("\n"+text, "\n"+line+"\n") }
