//go:build unix

package e2e_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// takenOver is how soon another replica does what a lost one did.
const takenOver = 15 * time.Second

// The poller is stopped past its lease, in the middle of its work, and wakes up late.
// The other one polls meanwhile, the late one stands by as soon as it looks, and
// nothing that happened is lost, done twice or numbered twice.
func TestFleetPausedPoller(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{extra: "open_metrics: true\n"})
	f.a.alice()
	paused, left := f.polls()
	var ids []string
	decide := func(n int) {
		t.Helper()
		title := fmt.Sprintf("%s %d", secretWord, n)
		ids = append(ids, left.ask(title))
		require.Contains(t, left.press(aliceChat, left.message(aliceChat, title, "Deny"), "Deny"), "You denied this.")
	}
	decide(0)
	paused.service.signal(syscall.SIGSTOP)
	stopped := time.Now()
	decide(1)
	// The time of the question itself is in it, on whatever machine this runs.
	require.Less(t, time.Since(stopped), takenOver+5*time.Second)
	decide(2)
	paused.service.signal(syscall.SIGCONT)
	decide(3)
	holder, standby := f.polls()
	require.Same(t, left, holder)
	require.Same(t, paused, standby)
	require.Eventually(t, func() bool {
		return strings.Contains(paused.service.err.String(), `"job lost"`)
	}, afterRestart, patiently, "it has not noticed")
	paused.service.signal(syscall.SIGSTOP) // Now it is the standby that is gone.
	decide(4)
	paused.service.signal(syscall.SIGCONT)
	for _, id := range ids {
		left.converges(id)
	}
	require.Len(t, left.cards(secretWord), len(ids), "no card was sent twice")
	f.numbered(2 * len(ids))
}

// numbered waits until all events have their numbers: without a gap, each behind the
// one before it of its approval.
func (f *fleet) numbered(want int) {
	f.t.Helper()
	c, err := pgx.Connect(f.ctx, f.dsn)
	require.NoError(f.t, err)
	defer func() { require.NoError(f.t, c.Close(f.ctx)) }()
	var all, numbered, last, disordered int
	require.Eventually(f.t, func() bool {
		err := c.QueryRow(f.ctx, `SELECT count(*), count(seq), coalesce(max(seq), 0) FROM events`).Scan(&all, &numbered, &last)
		return err == nil && all == want && numbered == all
	}, takenOver, patiently, "events wait for their numbers")
	require.Equal(f.t, all, last, "there is a gap")
	require.NoError(f.t, c.QueryRow(f.ctx, `SELECT count(*) FROM (SELECT previous, coalesce(lag(seq) OVER (PARTITION BY approval_id
		ORDER BY revision, type), 0) AS parent FROM events) e WHERE previous <> parent`).Scan(&disordered))
	require.Zero(f.t, disordered)
}
