package postgres

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// sequencer takes the lease of the job.
func sequencer(t *testing.T, s *Store) core.Lease {
	t.Helper()
	l, err := s.Acquire(t.Context(), "events/sequence", "a", core.DeliveryLease)
	require.NoError(t, err)
	return l
}

const rawEvent = `INSERT INTO events (approval_id, revision, type, runtime, created_at, payload)
	VALUES ($1, 1, 'approval.requested', 'builder', $2, '{}')`

// numbers maps the approvals to the numbers of their first events; 0 for none.
func numbers(t *testing.T, s *Store) map[string]int64 {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), `SELECT approval_id, coalesce(seq, 0) FROM events WHERE revision = 1`)
	require.NoError(t, err)
	got := map[string]int64{}
	for rows.Next() {
		var id string
		var seq int64
		require.NoError(t, rows.Scan(&id, &seq))
		got[id] = seq
	}
	require.NoError(t, rows.Err())
	return got
}

// A transaction that began first and commits last is numbered last: nobody who has
// read up to a number misses what comes to stand before it.
func TestAnEventThatBecomesVisibleLateIsNumberedLate(t *testing.T) {
	t.Parallel()
	s := opened(t)
	l := sequencer(t, s)
	slow, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = slow.Exec(t.Context(), rawEvent, "slow", 1)
	require.NoError(t, err)
	_, err = s.pool.Exec(t.Context(), rawEvent, "quick", 2)
	require.NoError(t, err)
	n, err := s.NumberEvents(t.Context(), l, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, slow.Commit(t.Context()))
	n, err = s.NumberEvents(t.Context(), l, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, map[string]int64{"quick": 1, "slow": 2}, numbers(t, s))
}

// What is deleted while it is being numbered leaves no gap.
func TestAnEventThatIsPrunedUnderTheSequencerLeavesNoGap(t *testing.T) {
	t.Parallel()
	s := opened(t)
	l := sequencer(t, s)
	for i, id := range []string{"pruned", "kept"} {
		_, err := s.pool.Exec(t.Context(), rawEvent, id, i)
		require.NoError(t, err)
	}
	pruning, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = pruning.Exec(t.Context(), `DELETE FROM events WHERE approval_id = 'pruned'`)
	require.NoError(t, err)
	numbered := make(chan int, 1)
	go func() {
		n, _ := s.NumberEvents(context.Background(), l, 10) // 0 fails below.
		numbered <- n
	}()
	for !waiting(t, s) {
		continue // A real server: there is no signal to wait for.
	}
	require.NoError(t, pruning.Commit(t.Context()))
	require.Equal(t, 1, <-numbered)
	require.Equal(t, map[string]int64{"kept": 1}, numbers(t, s))
}

// Between the check of the fence and the commit nobody takes the job over, although
// the lease has run out meanwhile.
func TestNobodyTakesOverUnderTheSequencer(t *testing.T) {
	t.Parallel()
	s := opened(t, func(c *Config) {
		run(t, c.DSN, `UPDATE test_clock SET at = 1000000`)
		c.clock = testClock
	})
	l := sequencer(t, s)
	_, err := s.pool.Exec(t.Context(), rawEvent, "x", 1)
	require.NoError(t, err)
	holder, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `SELECT 1 FROM events FOR UPDATE`)
	require.NoError(t, err)
	order := make(chan string, 2)
	go func() {
		if n, err := s.NumberEvents(context.Background(), l, 10); n != 1 || err != nil {
			order <- "refused"
			return
		}
		order <- "numbered"
	}()
	for !waiting(t, s) {
		continue // A real server: there is no signal to wait for.
	}
	_, err = s.pool.Exec(t.Context(), `UPDATE test_clock SET at = $1`, int64(l.Until))
	require.NoError(t, err)
	taken := make(chan error, 1)
	go func() {
		_, err := s.Acquire(context.Background(), l.Name, "b", core.DeliveryLease)
		order <- "taken over"
		taken <- err
	}()
	waiters := func() (n int) {
		require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n))
		return n
	}
	for waiters() < 2 {
		continue
	}
	require.NoError(t, holder.Commit(t.Context()))
	require.NoError(t, <-taken)
	// Both have ended; which of the two goroutines says so first is the scheduler's.
	require.ElementsMatch(t, []string{"numbered", "taken over"}, []string{<-order, <-order})
	_, err = s.pool.Exec(t.Context(), rawEvent, "y", 2)
	require.NoError(t, err)
	_, err = s.NumberEvents(t.Context(), l, 10)
	require.ErrorIs(t, err, core.ErrLeaseLost)
}

// Numbering costs the same whatever is retained: it reads the events that have no
// number, and finds the last number and each parent by an index.
func TestNumberingReadsNoHistory(t *testing.T) {
	t.Parallel()
	s := grown(t, 20_000, 0)
	_, err := s.pool.Exec(t.Context(), `INSERT INTO events (approval_id, revision, type, runtime, created_at, payload)
		SELECT 'copy-' || lpad(n::text, 9, '0'), 2, 'approval.rejected', 'builder', n, '{}' FROM generate_series(1, 1000) n`)
	require.NoError(t, err)
	for _, c := range []record.Statement{{Query: sqlNumberEvents, Args: []any{1_000}}, {Query: sqlAnyUnnumbered}} {
		plan := explain(t, s, c)
		plan.walk(func(n node) {
			require.False(t, n.Relation == "events" && n.Type == "Seq Scan", "all of the events are read")
		})
		require.LessOrEqual(t, plan.Hit+plan.Read, 25*1_000, "pages for 1,000 events")
	}
	n, err := s.NumberEvents(t.Context(), sequencer(t, s), 1_000)
	require.NoError(t, err)
	require.Equal(t, 1_000, n)
}
