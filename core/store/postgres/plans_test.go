package postgres

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// grown fills a database with copies of one question and its two cards: all of them
// pending at first, then all but the newest of every so many denied and their cards
// closed.
func grown(t *testing.T, rows, every int) *Store {
	t.Helper()
	s := opened(t)
	made, err := s.Create(t.Context(), draft(0, "chat-1", "chat-2"))
	require.NoError(t, err)
	columns, _ := s.Table().Columns()
	list := make([]string, len(columns))
	for i, c := range columns {
		switch list[i] = "a." + c; c {
		case "id":
			list[i] = "'copy-' || lpad(n::text, 9, '0')"
		case "ref":
			list[i] = "lpad(n::text, 43, '0')"
		case "created_at", "updated_at", "expires_at":
			list[i] = "a." + c + " + n"
		}
	}
	for _, q := range []string{
		"INSERT INTO approvals (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(list, ", ") +
			" FROM approvals a, generate_series(1, $1::int) n",
		`INSERT INTO deliveries (id, approval_id, channel, account, destination, address, locator, state, shown_revision, due_at, give_up_at, created_at, updated_at)
			SELECT 'card-' || n || '-' || m, 'copy-' || lpad(n::text, 9, '0'), 'telegram', 'bot', 'chat', 'chat-' || m, n || '/' || m,
				'open', 1, NULL, 1, 1, 1 FROM generate_series(1, $1::int) n, generate_series(1, 2) m`,
		`INSERT INTO events (seq, approval_id, revision, type, runtime, created_at, payload)
			SELECT n, 'copy-' || lpad(n::text, 9, '0'), 1, 'approval.requested', 'builder', n, '{}' FROM generate_series(1, $1::int) n`,
	} {
		_, err := s.pool.Exec(t.Context(), q, rows)
		require.NoError(t, err)
	}
	if every > 0 {
		_, err = s.pool.Exec(t.Context(), `UPDATE approvals SET status = 'denied', decision = 'deny', reason = 'no-route', resolver_kind = 'system',
			resolved_at = updated_at, revision = 2, card_revision = 2 WHERE id LIKE 'copy-%' AND right(id, 9)::int % $1 <> 0`, every)
		require.NoError(t, err)
		_, err = s.pool.Exec(t.Context(), `UPDATE deliveries d SET state = 'closed', outcome = 'replaced', shown_revision = 2
			FROM approvals a WHERE a.id = d.approval_id AND a.status = 'denied'`)
		require.NoError(t, err)
	}
	// The indexes are as they would be had the rows come and gone one after another.
	run(t, s.pool.Config().ConnString(), "REINDEX TABLE approvals", "REINDEX TABLE deliveries", "VACUUM ANALYZE")
	require.NotEmpty(t, made.Approval.ID)
	return s
}

// node is the part of a plan that the rules look at.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Hit      int     `json:"Shared Hit Blocks"`
	Read     int     `json:"Shared Read Blocks"`
	Rows     float64 `json:"Actual Rows"`
	Plans    []node  `json:"Plans"`
}

func (n node) walk(visit func(node)) {
	visit(n)
	for _, p := range n.Plans {
		p.walk(visit)
	}
}

// explain runs a statement as the store's sessions do, planned for parameters that
// nobody knows yet, and undoes it.
func explain(t *testing.T, s *Store, c record.Statement) node {
	t.Helper()
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(context.Background())) }()
	_, err = tx.Exec(t.Context(), "PREPARE explained AS "+s.texts.of(c.Query))
	require.NoError(t, err, c.Query)
	run := "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE explained"
	if len(c.Args) > 0 {
		run += " (" + literals(t, c.Args) + ")"
	}
	var text string
	require.NoError(t, tx.QueryRow(t.Context(), run, pgx.QueryExecModeSimpleProtocol).Scan(&text), c.Query)
	_, err = tx.Exec(t.Context(), "DEALLOCATE explained")
	require.NoError(t, err)
	var plans []struct{ Plan node }
	require.NoError(t, json.Unmarshal([]byte(text), &plans))
	return plans[0].Plan
}

// literals are parameters in SQL.
func literals(t *testing.T, args []any) string {
	t.Helper()
	list := make([]string, len(args))
	for i, arg := range args {
		switch v := reflect.Indirect(reflect.ValueOf(arg)); v.Kind() {
		case reflect.Invalid:
			list[i] = "NULL"
		case reflect.String:
			list[i] = "'" + strings.ReplaceAll(v.String(), "'", "''") + "'"
		case reflect.Int, reflect.Int64:
			list[i] = strconv.FormatInt(v.Int(), 10)
		case reflect.Bool:
			list[i] = strconv.FormatBool(v.Bool())
		default:
			require.Fail(t, "unknown parameter", "%T", arg)
		}
	}
	return strings.Join(list, ", ")
}

// No hot statement reads a table that grows with retention from end to end. In a
// young install, where all is pending and nothing is retained yet, this is asked of
// what runs for every question, answer and look; counts of all that is live read
// all that is live.
func TestHotStatementsUseTheirIndexes(t *testing.T) {
	t.Parallel()
	live := []string{"unconverged", "forgotten", "pending limit", "lapsed", "silent", "due", "anything due"}
	for name, every := range map[string]int{"all pending": 0, "one in two pending": 2, "one in a hundred pending": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := grown(t, 20_000, every)
			for name, c := range s.Table().Hot() {
				if every < 100 && slices.Contains(live, name) {
					continue
				}
				explain(t, s, c).walk(func(n node) {
					growing := n.Relation == "approvals" || n.Relation == "deliveries" || n.Relation == "events"
					require.False(t, growing && n.Type == "Seq Scan", "%s reads all of %s", name, n.Relation)
				})
			}
		})
	}
}

// A page of 50 costs at most 100 pages of the database, also while most rows are
// pending.
func TestListStaysCheap(t *testing.T) {
	t.Parallel()
	for name, every := range map[string]int{"all pending": 0, "one in two pending": 2, "one in ten pending": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := grown(t, 20_000, every)
			for _, q := range []core.ListQuery{
				{Status: core.StatusPending}, {Status: core.StatusPending, Runtime: "builder"}, {}, {Runtime: "builder"},
			} {
				q.Limit = 50
				n := explain(t, s, s.Table().List(q, core.Millis(1)))
				require.LessOrEqual(t, n.Hit+n.Read, 100, "%+v", q)
				require.InDelta(t, 51, n.Rows, 0, "%+v", q)
			}
		})
	}
}

// A claim costs what it takes. What waits is passed over at a page for each row at most,
// without its approval and without a search of its own, and only where what is wanted is
// behind it.
func TestABacklogIsPassedOver(t *testing.T) {
	t.Parallel()
	const backlog, limit = 1_300, 20
	type cost struct{ claim, next int } // In pages.
	const (
		takes  = 60 * limit // Twenty rows, their approvals, and as many again where another worker is at some.
		passes = backlog
		finds  = 50
	)
	for name, c := range map[string]struct {
		due    string // What is true of the approvals whose cards are due.
		blocks string // Chats that are blocked.
		want   map[core.DeliveryLane]cost
		found  bool
	}{
		"nothing": {due: "false", want: map[core.DeliveryLane]cost{core.LaneAny: {finds, finds}}},
		"cards": {due: "a.status = 'pending'", found: true, want: map[core.DeliveryLane]cost{
			core.LaneAny: {passes + takes, finds}, core.LaneCards: {takes, finds},
		}},
		"edits": {due: "a.status <> 'pending'", found: true, want: map[core.DeliveryLane]cost{
			core.LaneAny: {takes, finds}, core.LaneEdits: {takes, finds},
		}},
		"edits, half of them blocked": {due: "a.status <> 'pending'", blocks: "'chat-1'", found: true, want: map[core.DeliveryLane]cost{
			core.LaneAny: {takes, finds}, core.LaneEdits: {takes, finds},
		}},
		"all blocked": {due: "a.status = 'pending'", blocks: "d.address", want: map[core.DeliveryLane]cost{
			core.LaneAny: {passes, passes}, core.LaneCards: {passes, passes},
		}},
		"the account blocked": {due: "a.status = 'pending'", blocks: "''", want: map[core.DeliveryLane]cost{
			core.LaneAny: {passes, passes}, core.LaneCards: {passes, passes},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := grown(t, 20_000, 10)
			_, err := s.pool.Exec(t.Context(), `UPDATE deliveries d SET due_at = 1, state = 'open', outcome = '',
					stale_since = CASE WHEN a.status = 'pending' THEN 0 ELSE 1 END
				FROM approvals a WHERE a.id = d.approval_id AND d.id IN (SELECT d.id FROM deliveries d JOIN approvals a ON a.id = d.approval_id
					WHERE d.id LIKE 'card-%' AND `+c.due+` ORDER BY d.id LIMIT $1)`, backlog)
			require.NoError(t, err)
			if c.blocks != "" {
				_, err = s.pool.Exec(t.Context(), `INSERT INTO blocks (channel, account, address, blocked_until)
					SELECT DISTINCT 'telegram', 'bot', `+c.blocks+`, 9000000000000 FROM deliveries d`)
				require.NoError(t, err)
			}
			run(t, s.pool.Config().ConnString(), "VACUUM ANALYZE")
			for lane, want := range c.want {
				claim, next := s.Table().Due(lane, 2, `[["telegram","bot"]]`, limit)
				n := explain(t, s, claim)
				require.LessOrEqual(t, n.Hit+n.Read, want.claim, "claim, lane %q", lane)
				rows := 0.0
				if c.found {
					rows = limit
				}
				require.InDelta(t, rows, n.Rows, 0, "lane %q", lane)
				n = explain(t, s, next)
				require.LessOrEqual(t, n.Hit+n.Read, want.next, "next, lane %q", lane)
			}
		})
	}
}
