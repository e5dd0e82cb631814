package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// The benchmark compares decisions through the store with the same effect in plain
// SQL, one commit each, on the same schema and in the same run: slices of both are
// interleaved, and what counts is the median of the paired ratios. Absolute
// figures of a shared disk are worth little.
//
//	go test -run '^$' -bench Decide -benchtime 1x ./core/store/sqlite
func BenchmarkDecide(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ours, raw := newBenchStore(b), newRawStore(b)
			const rounds = 7
			n := 150 * min(callers, 8)
			for b.Loop() {
				ratios, rates := make([]float64, rounds), make([]float64, rounds)
				var commits int64
				for i := range rounds {
					ids, rawIDs := ours.fill(b, n), raw.fill(b, n)
					r := measure(callers, rawIDs, raw.decide)
					commits -= ours.batches(b)
					o := measure(callers, ids, ours.decide)
					commits += ours.batches(b)
					ratios[i], rates[i] = o/r, o
				}
				slices.Sort(ratios)
				slices.Sort(rates)
				b.ReportMetric(ratios[rounds/2], "x-of-raw")
				b.ReportMetric(ratios[0], "x-min")
				b.ReportMetric(ratios[rounds-1], "x-max")
				b.ReportMetric(rates[rounds/2], "decisions/s")
				b.ReportMetric(float64(rounds*n)/float64(commits), "decisions/commit")
			}
		})
	}
}

// measure lets callers share the ids and returns decisions per second.
func measure(callers int, ids []string, decide func(id string) error) float64 {
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range callers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(ids) {
					return
				}
				if err := decide(ids[i]); err != nil {
					panic(err)
				}
			}
		})
	}
	wg.Wait()
	return float64(len(ids)) / time.Since(begin).Seconds()
}

type benchStore struct {
	*Store
	made int
}

func newBenchStore(b *testing.B) *benchStore {
	b.Helper()
	s, err := Open(b.Context(), Config{Path: filepath.Join(b.TempDir(), "sayso.db"), Now: time.Now, Log: discard()})
	require.NoError(b, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		require.NoError(b, <-ended)
		require.NoError(b, s.Close())
	})
	return &benchStore{Store: s}
}

func (s *benchStore) fill(b *testing.B, n int) []string {
	b.Helper()
	ids := make([]string, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		s.made++
		c := draft(s.made)
		ids[i] = c.Approval.ID
		wg.Go(func() { _, errs[i] = s.Create(context.Background(), c) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(b, err)
	}
	return ids
}

func (s *benchStore) batches(b *testing.B) (n int64) {
	b.Helper()
	require.NoError(b, s.read(b.Context()).One(`SELECT batch FROM deployment`, nil, &n))
	return n
}

func (s *benchStore) decide(id string) error {
	got, err := s.Decide(context.Background(), core.Decide{ID: id, AttemptID: "attempt " + id, To: byAlice()})
	if err == nil && !got.Applied {
		err = core.ErrConflict
	}
	return err
}

func byAlice() core.Terminal {
	return core.Terminal{
		Status: core.StatusAllowed, Decision: core.DecisionAllowOnce, Reason: core.ReasonUser,
		ResolverKind: core.ResolverHuman, ResolverID: "alice", ResolverName: "Alice", Surface: core.SurfacePage,
	}
}

// rawStore does what a decision does in plain prepared SQL with a commit of its
// own: change the row, mark the children, write the outbox.
type rawStore struct {
	*benchStore

	mu    sync.Mutex
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newRawStore(b *testing.B) *rawStore {
	b.Helper()
	s := newBenchStore(b)
	var path string
	require.NoError(b, s.read(b.Context()).One(`SELECT file FROM pragma_database_list WHERE name = 'main'`, nil, &path))
	db, err := sql.Open("sqlite", dataSource(path, writerPragmas()))
	require.NoError(b, err)
	conn, err := db.Conn(b.Context())
	require.NoError(b, err)
	b.Cleanup(func() {
		require.NoError(b, conn.Close())
		require.NoError(b, db.Close())
	})
	r := &rawStore{benchStore: s, conn: conn, stmts: map[string]*sql.Stmt{}}
	for _, query := range []string{sqlBegin, sqlRawDecide, sqlRawMark, sqlRawEvent, sqlCommit} {
		r.stmts[query], err = conn.PrepareContext(b.Context(), query) //nolint:sqlclosecheck // Goes with the connection.
		require.NoError(b, err)
	}
	return r
}

const (
	sqlRawDecide = `UPDATE approvals SET status = 'allowed', decision = 'allow-once', reason = 'user', resolver_kind = 'human',
		resolver_id = 'alice', resolver_name = 'Alice', surface = 'page', attempt_id = ?2, resolved_at = ?3, updated_at = ?3,
		execution = 'unclaimed', claim_by = ?3 + 600000, revision = revision + 1, card_revision = card_revision + 1
		WHERE id = ?1 AND status = 'pending' AND expires_at > ?3`
	sqlRawMark  = `UPDATE deliveries SET due_at = ?2, updated_at = ?2 WHERE approval_id = ?1`
	sqlRawEvent = `INSERT INTO events (approval_id, revision, type, runtime, created_at, payload)
		SELECT id, revision, 'approval.granted', runtime, updated_at, json_object('id', id, 'status', status) FROM approvals WHERE id = ?1 AND attempt_id = ?2`
)

func (s *rawStore) decide(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().UnixMilli()
	for _, step := range []struct {
		query string
		args  []any
	}{
		{sqlBegin, nil},
		{sqlRawDecide, []any{id, "attempt " + id, now}},
		{sqlRawMark, []any{id, now}},
		{sqlRawEvent, []any{id, "attempt " + id}},
		{sqlCommit, nil},
	} {
		if _, err := s.stmts[step.query].Exec(step.args...); err != nil {
			return err
		}
	}
	return nil
}
