package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/saysohq/sayso/core"
)

// dataSource opens a database with the settings of the store's own connections.
func dataSource(path string) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(5000)", "foreign_keys(1)", "journal_mode(WAL)", "synchronous(FULL)",
		"temp_store(MEMORY)", "cache_size(-4000)", "journal_size_limit(67108864)",
	}}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// asked makes n pending rows as the service makes them: by the connection that will
// decide them, which still has their pages in its cache, as it has in life, where most
// are answered minutes after they were asked.
//
// They are of one runtime, as those of the baseline are: their places in the lists of
// open questions are side by side. The next turn's are of another, whose open questions
// are few: the limit counts them whenever one more is asked.
func (l *lab) asked(ctx context.Context, n int) ([]string, error) {
	const runtimes = 32
	if len(l.askers) < runtimes {
		t, err := l.issue(ctx, runtimeName+strconv.Itoa(len(l.askers)))
		if err != nil {
			return nil, err
		}
		l.askers = append(l.askers, &t.Token)
	}
	asker := l.askers[l.asks%len(l.askers)]
	l.asks++
	ids := make([]string, n)
	var work errgroup.Group
	for c := range manyCallers {
		work.Go(func() error {
			for i := c; i < n; i += manyCallers {
				a, err := l.ask(ctx, asker)
				if err != nil {
					return fmt.Errorf("ask: %w", err)
				}
				ids[i] = a.ID
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(ids) // In the order of their making.
	return ids, l.logMoved(ctx)
}

// logMoved moves the log into the database: what new rows wrote to it is not left for
// the measured side to move.
func (l *lab) logMoved(ctx context.Context) error {
	if _, err := l.rows.ExecContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// session is a pool of connections, or one of them.
type session interface {
	BeginTx(ctx context.Context, o *sql.TxOptions) (*sql.Tx, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// copies makes n pending rows like the given approval, with its deliveries, detail
// and event, in one transaction, and returns their ids. What is measured later is
// never how they came to be.
func (l *lab) copies(ctx context.Context, of *core.Approval, n int) ([]string, error) {
	ids := make([]string, n)
	names := make([][2]string, n)
	for i := range ids {
		ids[i] = newID()
		names[i] = [2]string{ids[i], core.ResolutionRef(of.Kind, ids[i])}
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, fmt.Errorf("encode ids: %w", err)
	}
	tx, err := l.rows.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("copy rows: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // Does nothing after the commit.
	for _, table := range []struct {
		name, key string
		as        map[string]string
	}{
		{"approvals", "id", map[string]string{"id": "j.value->>0", "ref": "j.value->>1"}},
		{"approval_details", "approval_id", map[string]string{"approval_id": "j.value->>0"}},
		{"deliveries", "approval_id", map[string]string{"id": "(j.value->>0)||t.id", "approval_id": "j.value->>0"}},
		{"events", "approval_id", map[string]string{"seq": "NULL", "approval_id": "j.value->>0"}},
	} {
		if err := copyTable(ctx, tx, table.name, table.key, table.as, string(list), of.ID); err != nil {
			return nil, fmt.Errorf("copy %s: %w", table.name, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("copy rows: %w", err)
	}
	return ids, l.logMoved(ctx)
}

func copyTable(ctx context.Context, tx *sql.Tx, table, key string, as map[string]string, list, id string) error {
	rows, err := tx.QueryContext(ctx, `SELECT name FROM pragma_table_info(?)`, table)
	if err != nil {
		return err
	}
	defer rows.Close()
	var columns, values []string
	for rows.Next() {
		var c string
		if err := rows.Scan(&c); err != nil {
			return err
		}
		columns = append(columns, c)
		if v, ok := as[c]; ok {
			values = append(values, v)
		} else {
			values = append(values, "t."+c)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf(`INSERT INTO %s (%s) SELECT %s FROM json_each(?) j, %s t WHERE t.%s = ?`,
		table, strings.Join(columns, ", "), strings.Join(values, ", "), table, key), list, id)
	return err
}
