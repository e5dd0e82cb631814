package app_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/cmd/internal/app"
)

// holds waits until a running service shows that it does a job.
func (r *running) holds(t *testing.T, job string) {
	t.Helper()
	line := fmt.Sprintf("sayso_lease_held{job=%q} 1\n", job)
	require.Eventually(t, func() bool {
		return strings.Contains(r.do(t, call{method: http.MethodGet, path: "/metrics"}).body, line)
	}, patience, patience/300, "nobody does %s", job)
}

// A process that was killed has no lease that the next one on its folder waits for:
// the folder's own lock says that it is gone.
func TestAKilledProcessHoldsUpNobody(t *testing.T) {
	t.Parallel()
	data := folder(t)
	r := start(t, data)
	bot, _, _ := strings.Cut(r.bot.Token(), ":")
	jobs := []string{"telegram/" + bot + "/poll", "approvals/upkeep", "deliveries/sweep"}
	for _, job := range jobs {
		r.holds(t, job)
	}
	require.NoError(t, r.stop())

	file, err := sql.Open("sqlite", "file:"+filepath.Join(data, app.DatabaseFile))
	require.NoError(t, err)
	done, err := file.ExecContext(t.Context(), `UPDATE leases SET holder = 'killed', held_until = 9000000000000`)
	require.NoError(t, err)
	held, err := done.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, len(jobs), held)
	require.NoError(t, file.Close())

	r = start(t, data)
	for _, job := range jobs {
		r.holds(t, job)
	}
}
