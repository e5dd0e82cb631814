package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// Conformance 15, on a real server: in 100 rounds 64 people answer at once while
// cards are still being added. One wins, nobody is told "pending", and no card is
// missed.
func TestHundredRoundsOfSixtyFour(t *testing.T) {
	t.Parallel()
	s := opened(t)
	const rounds, people, cards = 100, 64, 4
	for round := range rounds {
		made, err := s.Create(t.Context(), draft(round, "chat-0"))
		require.NoError(t, err)
		id := made.Approval.ID
		got, errs := make([]core.Decided, people), make([]error, people+cards)
		var all sync.WaitGroup
		for i := range people + cards {
			all.Go(func() {
				if i >= people {
					d := draft(round, fmt.Sprintf("chat-%d", i)).Deliveries[0]
					d.ID = fmt.Sprintf("%s-late-%d", id, i)
					_, _, errs[i] = s.PlanCard(context.Background(), id, d)
					return
				}
				d := denial(id, fmt.Sprintf("person-%d", i))
				d.Seen = &made.Approval
				if i%2 == 0 {
					d.To.Status, d.To.Decision = core.StatusAllowed, core.DecisionAllowOnce
				}
				got[i], errs[i] = s.Decide(context.Background(), d)
			})
		}
		all.Wait()
		winners := 0
		for i := range people {
			require.NoError(t, errs[i])
			require.True(t, got[i].Approval.Status.Terminal(), "round %d: a loser was told pending", round)
			require.Equal(t, got[0].Approval.Resolution, got[i].Approval.Resolution)
			if got[i].Applied {
				winners++
			}
		}
		require.Equal(t, 1, winners, "round %d", round)
		for _, err := range errs[people:] {
			if err != nil {
				require.ErrorIs(t, err, core.ErrConflict)
			}
		}
		rows, err := s.DeliveriesOf(t.Context(), id)
		require.NoError(t, err)
		for _, d := range rows {
			require.Equal(t, got[0].Approval.ResolvedAt, d.UpdatedAt, "round %d: a card was missed", round)
			require.Equal(t, d.UpdatedAt, d.DueAt)
		}
	}
}

// The limit of open questions is reached exactly also where most of the way to it was
// gone side by side, and nobody waited for anybody.
func TestTheLimitIsReachedSideBySide(t *testing.T) {
	t.Parallel()
	s := opened(t)
	const callers, room = 32, 40
	limit := int(s.connections) + room
	require.Equal(t, []bool{false, true}, s.ways(limit))
	errs := make([]error, limit+room)
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(errs); i = int(next.Add(1)) - 1 {
				c := draft(i, "chat-1")
				c.MaxPending = limit
				_, errs[i] = s.Create(context.Background(), c)
			}
		})
	}
	all.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		require.ErrorIs(t, err, core.ErrPendingLimit)
	}
	require.Equal(t, limit, made)
}

// waiting reports whether somebody waits for a lock in the database.
func waiting(t *testing.T, s *Store) bool {
	t.Helper()
	var n int
	require.NoError(t, s.pool.QueryRow(t.Context(),
		`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n))
	return n > 0
}

// The clock of a decision is read after it has waited for its lock: an answer that
// was given in time and reached the row too late is not recorded.
func TestTheDeadlineIsReadAfterTheWait(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"FOR SHARE", "FOR UPDATE"} {
		s := opened(t, func(c *Config) {
			run(t, c.DSN, `UPDATE test_clock SET at = 1000000`)
			c.clock = testClock
		})
		made, err := s.Create(t.Context(), draft(1))
		require.NoError(t, err)
		holder, err := s.pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = holder.Exec(t.Context(), `SELECT 1 FROM approvals WHERE id = $1 `+lock, made.Approval.ID)
		require.NoError(t, err)
		d := denial(made.Approval.ID, "bob")
		d.Seen, d.To.Status, d.To.Decision = &made.Approval, core.StatusAllowed, core.DecisionAllowOnce
		answered := make(chan core.Decided, 1)
		go func() {
			got, _ := s.Decide(context.Background(), d) // The zero answer fails below.
			answered <- got
		}()
		for !waiting(t, s) {
			continue // A real server: there is no signal to wait for.
		}
		_, err = s.pool.Exec(t.Context(), `UPDATE test_clock SET at = $1`, int64(made.Approval.ExpiresAt))
		require.NoError(t, err)
		require.NoError(t, holder.Commit(t.Context()))
		got := <-answered
		require.True(t, got.Expired, lock)
		require.Equal(t, core.StatusExpired, got.Approval.Status, lock)
	}
}

// The person is locked before the approval: who waits for a change of a person holds up
// nobody else's answer, and knows of the change afterwards.
func TestThePersonIsLockedFirst(t *testing.T) {
	t.Parallel()
	s := opened(t)
	p, err := s.AddPrincipal(t.Context(), core.Principal{ID: "bob", Name: "Bob", Role: core.RoleAdmin})
	require.NoError(t, err)
	made, err := s.Create(t.Context(), draft(1))
	require.NoError(t, err)
	holder, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `UPDATE principals SET disabled = true, revision = revision + 1 WHERE id = $1`, p.ID)
	require.NoError(t, err)
	d := denial(made.Approval.ID, p.ID)
	d.Seen, d.Guard = &made.Approval, core.Guard{PersonID: p.ID, PersonRevision: p.Revision}
	refused := make(chan error, 1)
	go func() {
		_, err := s.Decide(context.Background(), d)
		refused <- err
	}()
	for !waiting(t, s) {
		continue // A real server: there is no signal to wait for.
	}
	tag, err := s.pool.Exec(t.Context(), `SELECT 1 FROM approvals WHERE id = $1 FOR UPDATE NOWAIT`, made.Approval.ID)
	require.NoError(t, err)
	require.Equal(t, int64(1), tag.RowsAffected(), "the approval is not held meanwhile")
	require.NoError(t, holder.Commit(t.Context()))
	require.ErrorIs(t, <-refused, core.ErrNotFound)
	now, err := s.Approval(t.Context(), core.Lookup{ID: made.Approval.ID})
	require.NoError(t, err)
	require.Equal(t, core.StatusPending, now.Status)
}

// A reset locks all that it takes back in the order of the ids, what other agents have
// open in the same run included: it holds nothing behind a row that it waits for.
func TestAResetLocksInOneOrder(t *testing.T) {
	t.Parallel()
	s := opened(t)
	helped, own := draft(1), draft(2)
	helped.Approval.Agent, helped.Approval.RunID, own.Approval.RunID = "helper", "run", "run"
	for _, c := range []core.NewApproval{helped, own} {
		_, err := s.Create(t.Context(), c)
		require.NoError(t, err)
	}
	holder, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = holder.Rollback(context.Background()) }) // Where the test has failed; nothing otherwise.
	_, err = holder.Exec(t.Context(), `SELECT 1 FROM approvals WHERE id = $1 FOR UPDATE`, helped.Approval.ID)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, hints, err := s.ResetAgent(context.Background(), core.EndAgent{Runtime: "builder", Agent: "agent", By: "ann"})
		if err == nil && len(hints) != 2 {
			err = fmt.Errorf("%d rows were taken back", len(hints))
		}
		ended <- err
	}()
	for !waiting(t, s) {
		continue // A real server: there is no signal to wait for.
	}
	tag, err := holder.Exec(t.Context(), `SELECT 1 FROM approvals WHERE id = $1 FOR UPDATE NOWAIT`, own.Approval.ID)
	require.NoError(t, err)
	require.Equal(t, int64(1), tag.RowsAffected(), "the later row is not held meanwhile")
	require.NoError(t, holder.Commit(t.Context()))
	require.NoError(t, <-ended)
}

// Of two transactions in a deadlock the server ends one; the store repeats it.
func TestADeadlockIsRepeated(t *testing.T) {
	t.Parallel()
	s := opened(t)
	one, err := s.Create(t.Context(), draft(1))
	require.NoError(t, err)
	c := draft(2)
	c.Approval.RunID = "run"
	two, err := s.Create(t.Context(), c)
	require.NoError(t, err)
	// Somebody outside of the rules: the approval first, then its run.
	other, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), `SET LOCAL deadlock_timeout = '1h'`) // It is not the one that notices.
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), `SELECT 1 FROM approvals WHERE id = $1 FOR UPDATE`, two.Approval.ID)
	require.NoError(t, err)
	stopped := make(chan error, 1)
	go func() {
		_, hints, err := s.AbortRun(context.Background(), "builder", "run")
		if err == nil && len(hints) != 1 {
			err = fmt.Errorf("%d rows were stopped", len(hints))
		}
		stopped <- err
	}()
	for !waiting(t, s) {
		continue // A real server: there is no signal to wait for.
	}
	_, err = other.Exec(t.Context(), `SELECT 1 FROM runs WHERE id = 'run' FOR SHARE`)
	require.NoError(t, err, "the store gave way")
	require.NoError(t, other.Commit(t.Context()))
	require.NoError(t, <-stopped)
	got, err := s.Approval(t.Context(), core.Lookup{ID: two.Approval.ID})
	require.NoError(t, err)
	require.Equal(t, core.ReasonRunAborted, got.Reason)
	got, err = s.Approval(t.Context(), core.Lookup{ID: one.Approval.ID})
	require.NoError(t, err)
	require.Equal(t, core.StatusPending, got.Status)
}

// Sessions that the server ends (a restart, an admin) cost nobody an answer.
func TestEndedSessionsAreReplaced(t *testing.T) {
	t.Parallel()
	s := opened(t)
	for n := range 5 {
		made, err := s.Create(t.Context(), draft(n))
		require.NoError(t, err)
		admin, err := pgx.Connect(t.Context(), s.pool.Config().ConnString())
		require.NoError(t, err)
		_, err = admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		require.NoError(t, err)
		require.NoError(t, admin.Close(t.Context()))
		var got core.Approval
		require.Eventually(t, func() bool { // A read of a dead session fails and changes nothing.
			got, err = s.Approval(t.Context(), core.Lookup{ID: made.Approval.ID})
			return err == nil
		}, waitLimit, pollPause)
		require.Equal(t, core.StatusPending, got.Status)
	}
}
