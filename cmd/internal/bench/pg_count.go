package bench

import (
	"context"
	"errors"
	"fmt"
)

const (
	pgWarm    = 20  // Operations after which a connection knows the statements.
	pgCounted = 300 // Operations that are counted, one after the other on a quiet server.
)

// pgCounts are what one operation costs, whatever the noise.
type pgCounts struct {
	turns   float64 // Round trips.
	commits float64 // Records of a commit in the log: those that reached the disk.
	wal     float64 // Bytes of records in the log,
	images  float64 // and of images of pages that had not changed since the last checkpoint.
	buffers float64 // Pages that its statements touched.
	updates float64 // New versions of rows,
	hot     float64 // and those of them that wrote no index.
}

// String implements fmt.Stringer.
func (c pgCounts) String() string {
	return fmt.Sprintf("WAL %.0f B (and page images %.0f B), %.0f buffers, %.0f of %.1f updates HOT", c.wal, c.images, c.buffers, c.hot, c.updates)
}

// doer prepares what n operations need and returns the ith.
type doer func(ctx context.Context, n int) (func(i int) error, error)

// report adds what each operation costs.
func (c pgCounts) report(to *report) {
	to.add("  each: round trips, commits", fmt.Sprintf("%.2f, %.2f", c.turns, c.commits), "1, 1", judge(c.turns == 1 && c.commits == 1))
	to.add("  each", c.String(), "", told)
}

const (
	pgFigures = `SELECT pg_current_wal_insert_lsn()::text, (SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint
		FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%')`
	pgLog = `SELECT count(*) FILTER (WHERE resource_manager = 'Transaction' AND record_type LIKE 'COMMIT%'),
		coalesce(sum(record_length - fpi_length), 0)::bigint, coalesce(sum(fpi_length), 0)::bigint,
		count(*) FILTER (WHERE resource_manager = 'Heap' AND record_type LIKE '%UPDATE%'),
		count(*) FILTER (WHERE resource_manager = 'Heap' AND record_type LIKE '%HOT_UPDATE%')
		FROM pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn) WHERE resource_manager NOT IN ('Standby', 'XLOG')
			OR record_type LIKE 'FPI%'`
)

// counts runs operations one by one, by a store of its own, and looks at the server's
// log and statistics.
func (l *pgLab) counts(ctx context.Context, prepare doer) (pgCounts, error) {
	one, err := prepare(ctx, pgWarm+pgCounted)
	if err != nil {
		return pgCounts{}, err
	}
	if err := l.reopen(ctx); err != nil {
		return pgCounts{}, err
	}
	for i := range pgWarm {
		if err := one(i); err != nil {
			return pgCounts{}, err
		}
	}
	return l.cost(ctx, pgCounted, func(i int) error { return one(pgWarm + i) })
}

// cost is what each of n operations took of the server, which does nothing else.
func (l *pgLab) cost(ctx context.Context, n int, one func(i int) error) (c pgCounts, err error) {
	var from, to string
	var before, after int64
	if err := errors.Join(l.flush(ctx), l.pool.QueryRow(ctx, pgFigures).Scan(&from, &before)); err != nil {
		return c, fmt.Errorf("read figures: %w", err)
	}
	turns := l.wire.turns.Load()
	for i := range n {
		if err := one(i); err != nil {
			return c, err
		}
	}
	turns = l.wire.turns.Load() - turns
	if err := errors.Join(l.pool.QueryRow(ctx, pgFigures).Scan(&to, &after), l.flush(ctx)); err != nil {
		return c, fmt.Errorf("read figures: %w", err)
	}
	var commits, wal, images, updates, hot int64
	if from != to { // The server refuses to look at nothing.
		if err := l.pool.QueryRow(ctx, pgLog, from, to).Scan(&commits, &wal, &images, &updates, &hot); err != nil {
			return c, fmt.Errorf("read log: %w", err)
		}
	}
	each := func(sum int64) float64 { return float64(sum) / float64(n) }
	return pgCounts{
		turns: each(turns), commits: each(commits), wal: each(wal), images: each(images),
		buffers: each(after - before), updates: each(updates), hot: each(hot),
	}, nil
}

// flush brings the log up to here to the disk: what is not there cannot be read.
func (l *pgLab) flush(ctx context.Context) error {
	_, err := l.pool.Exec(ctx, `SELECT pg_logical_emit_message(true, '', '')`)
	return err
}

// reopen opens the store anew on sessions whose statements are counted.
func (l *pgLab) reopen(ctx context.Context) error {
	if err := l.store.Close(); err != nil {
		return err
	}
	for _, q := range []string{
		"CREATE EXTENSION IF NOT EXISTS pg_walinspect", "CREATE EXTENSION IF NOT EXISTS pg_stat_statements",
		"ALTER DATABASE sayso SET pg_stat_statements.track = 'top'",
	} {
		if _, err := l.pool.Exec(ctx, q); err != nil {
			return fmt.Errorf("prepare counters: %w", err)
		}
	}
	return l.open(ctx, false)
}
