package sqlite_test

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/sqlite"
	"github.com/saysohq/sayso/core/store/storetest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newHarness(t) })
}

func TestModel(t *testing.T) {
	t.Parallel()
	storetest.RunModel(t, func(t *testing.T) storetest.Harness { return newHarness(t) })
}

// harness runs the store over a file of its own, on a clock that stands still.
type harness struct {
	path string

	mu    sync.Mutex
	shift time.Duration

	ends  *storetest.Ends
	store *sqlite.Store
	stop  context.CancelFunc
	ended chan error

	raw *sql.DB // The file behind the store's back.
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{path: filepath.Join(t.TempDir(), "sayso.db"), ends: storetest.NewEnds()}
	h.open(t)
	t.Cleanup(func() { h.close(t) })
	// The schema's checks would refuse the damage that the suite wants survived.
	raw, err := sql.Open("sqlite", "file:"+h.path+"?_pragma=busy_timeout(5000)&_pragma=ignore_check_constraints(1)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	h.raw = raw
	return h
}

func (h *harness) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.UnixMilli(1_790_000_000_000).Add(h.shift)
}

func (h *harness) open(t testing.TB) {
	t.Helper()
	store, err := sqlite.Open(context.Background(), sqlite.Config{Path: h.path, Now: h.now, Log: slog.New(slog.DiscardHandler), Ended: h.ends.Add})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	h.store, h.stop, h.ended = store, stop, make(chan error, 1)
	go func() { h.ended <- store.Run(ctx) }()
}

func (h *harness) close(t testing.TB) {
	t.Helper()
	h.stop()
	require.NoError(t, <-h.ended)
	require.NoError(t, h.store.Close())
}

// Store lists the ports of the store as it is open now.
func (h *harness) Store() storetest.Store {
	records, ledger := h.store, h.store.Ledger()
	return storetest.Store{
		Clock: records, Approvals: records, Grants: records, Runs: records, Maintenance: records, Backlog: records, Watch: records, Takeover: records,
		Deliveries: ledger, Ledger: ledger, Cards: h.store, AnsweredCards: h.store, Convergence: ledger, Routes: h.store,
		Principals: h.store, Identities: h.store, Sessions: h.store, Tokens: h.store,
		Codes: h.store, CodeBurner: h.store, Prompts: h.store, Keys: h.store, Sequence: h.store, Restoration: h.store,
		Rules: h.store, AgentSettings: h.store, AgentLives: h.store, Policies: h.store, PolicyTables: h.store, Declines: h.store, Outcomes: h.store, Updates: h.store, Nudges: h.store,
		Leases: h.store.Leases(), Exclusive: true,
	}
}

// Advance moves the process clock.
func (h *harness) Advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shift += d
}

// Reopen opens the store again over the same file.
func (h *harness) Reopen(t testing.TB) {
	h.close(t)
	h.open(t)
}

// Corrupt damages a row in ways that the schema would not let the store write.
func (h *harness) Corrupt(t testing.TB, id string, d storetest.Damage) {
	t.Helper()
	query := `UPDATE approvals SET fingerprint = 'aaaaaaaa' WHERE id = ?`
	switch d {
	case storetest.DamageContent:
	case storetest.DamageShape:
		query = `UPDATE approvals SET presentation = '[]', reviewers = CASE WHEN reviewers IS NULL THEN NULL ELSE '{}' END WHERE id = ?`
	case storetest.DamageOutcome:
		query = `UPDATE approvals SET status = 'allowed', reason = 'user', execution = 'unclaimed',
			claim_by = created_at + 600000, resolved_at = created_at WHERE id = ?`
	}
	result, err := h.raw.ExecContext(t.Context(), query, id)
	require.NoError(t, err)
	changed, err := result.RowsAffected()
	require.NoError(t, err)
	require.Equal(t, int64(1), changed)
}

// Ends is what was told.
func (h *harness) Ends() *storetest.Ends { return h.ends }

// Events lists the outbox of an approval.
func (h *harness) Events(t testing.TB, id string) []core.EventType {
	t.Helper()
	rows, err := h.raw.QueryContext(t.Context(), `SELECT type FROM events WHERE approval_id = ? ORDER BY seq`, id)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var events []core.EventType
	for rows.Next() {
		var e core.EventType
		require.NoError(t, rows.Scan(&e))
		events = append(events, e)
	}
	require.NoError(t, rows.Err())
	return events
}

// Outbox lists the numbered events.
func (h *harness) Outbox(t testing.TB) []storetest.Numbered {
	t.Helper()
	rows, err := h.raw.QueryContext(context.Background(), `SELECT seq, approval_id, revision, type, previous FROM events ORDER BY seq`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var events []storetest.Numbered
	for rows.Next() {
		var e storetest.Numbered
		require.NoError(t, rows.Scan(&e.Seq, &e.ApprovalID, &e.Revision, &e.Type, &e.Previous))
		events = append(events, e)
	}
	require.NoError(t, rows.Err())
	return events
}
