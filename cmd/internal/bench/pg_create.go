package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// pgCreate compares new questions of 32 callers through the store, each with two
// planned cards and its event, with pgbench writing the same rows in one statement.
func (b *bench) pgCreate(ctx context.Context) (err error) {
	l, err := b.openPG(ctx, "postgres-ask", pgCards)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	statement, err := l.rawCreate(ctx)
	if err != nil {
		return err
	}
	raw, err := l.newPgbench(b.Dir, "create", statement)
	if err != nil {
		return err
	}
	reserve := func(ctx context.Context, n int64) (int64, error) {
		first := l.next
		l.next += 10 * n // A client that is faster than thought goes beyond its part: nobody else begins there.
		return first, l.tidy(ctx)
	}
	raw.fill, raw.guess = reserve, 20_000 // Numbers cost nothing, and may not run out.
	raw.check = `SELECT count(*) FROM approvals WHERE id >= $1 AND id < $2`
	ours := &side{
		callers: manyCallers, guess: 3000, warm: pgbenchWarm, cpu: l.used,
		fill:   func(ctx context.Context, n int) ([]string, error) { return make([]string, n), l.tidy(ctx) },
		decide: func(ctx context.Context, _ int, _ string) error { return l.create(ctx, pgCards) },
	}
	p, all, err := b.compare(ctx, pgRounds, time.Second, raw, ours)
	if err != nil {
		return err
	}
	b.report.add("PostgreSQL: 32 callers ask, store beside pgbench in one statement", p.value(), ">= 0.60x", p.verdict(0.6))
	b.reportPair(p, &all)
	c, err := l.counts(ctx, l.asking)
	c.report(&b.report)
	return err
}

// asking is a doer of questions.
func (l *pgLab) asking(ctx context.Context, _ int) (func(i int) error, error) {
	return func(int) error { return l.create(ctx, pgCards) }, l.tidy(ctx)
}

// rawCreate writes the seed's row, its cards and its event under a new id and
// reference, all values being literals of the script but for id and times.
func (l *pgLab) rawCreate(ctx context.Context) (string, error) {
	id := "'" + pgIDPrefix + "' || lpad(:row::text, 12, '0')"
	now := "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
	approval, err := l.literals(ctx, "approvals", "id", map[string]string{
		"id": id, "ref": "lpad(:row::text, 43, '0')", "created_at": now, "updated_at": now, "expires_at": now + " + 604800000",
	})
	if err != nil {
		return "", err
	}
	event, err := l.literals(ctx, "events", "approval_id", map[string]string{"approval_id": id, "created_at": now})
	if err != nil {
		return "", err
	}
	cards := make([]string, pgCards)
	for i := range cards {
		cards[i] = fmt.Sprintf("('%s' || lpad((:row::bigint * %d + %d)::text, 12, '0'), %s, 'telegram', '1', 'chat-%d', '%d', 'planned', %s, %s + 600000, %s, %s)",
			pgCardPrefix, pgCards, i, id, 100_000+i, 100_000+i, now, now, now, now)
	}
	return fmt.Sprintf(`WITH a AS (%s), d AS (INSERT INTO deliveries (id, approval_id, channel, account, destination, address,
		state, due_at, give_up_at, created_at, updated_at) VALUES %s) %s;`, approval, strings.Join(cards, ", "), event), nil
}

// literals is an INSERT of a row like the seed's.
func (l *pgLab) literals(ctx context.Context, table, key string, as map[string]string) (string, error) {
	rows, err := l.pool.Query(ctx, `SELECT c.key, quote_nullable(c.value) FROM `+table+` t, json_each_text(row_to_json(t)) c WHERE t.`+key+` = $1`, l.seed.ID)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", table, err)
	}
	type cell struct{ Name, Value string }
	cells, err := pgx.CollectRows(rows, pgx.RowToStructByPos[cell])
	if err != nil {
		return "", fmt.Errorf("read %s: %w", table, err)
	}
	names, values := make([]string, len(cells)), make([]string, len(cells))
	for i, c := range cells {
		if names[i], values[i] = c.Name, as[c.Name]; values[i] == "" {
			values[i] = scriptLiteral(c.Value)
		}
	}
	return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")", nil
}
