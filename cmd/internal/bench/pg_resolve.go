package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	pgRounds = 10
	pgCards  = 2 // Chats in which a measured approval is shown.
)

// pgRawResolve does what a decision does in one statement: change the row while it is
// pending and its deadline has not come, mark its cards due, write the event. It has
// one snapshot, so it would lose cards and tell losers "pending", and it checks
// nothing about the person.
const pgRawResolve = `WITH c AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now),
done AS (UPDATE approvals a SET status = 'allowed', decision = 'allow-once', reason = 'user', resolver_kind = 'human',
	resolver_id = '01890000-0000-7000-8000-000000000001', resolver_name = 'Ann 1', surface = 'page',
	attempt_id = '01890000-0000-7000-8000-' || lpad(:row::text, 12, '0'), resolved_at = c.now, updated_at = c.now,
	execution = 'unclaimed', claim_by = c.now + 86400000, revision = revision + 1, card_revision = card_revision + 1
	FROM c WHERE a.id = '01890000-0000-7000-8000-' || lpad(:row::text, 12, '0') AND a.status = 'pending' AND a.expires_at > c.now
	RETURNING a.id, a.revision, a.runtime, a.caused_by, a.updated_at),
due AS (UPDATE deliveries d SET updated_at = done.updated_at, due_at = done.updated_at, stale_since = done.updated_at
	FROM done WHERE d.approval_id = done.id AND d.state <> 'closed')
INSERT INTO events (approval_id, revision, type, runtime, caused_by, created_at, payload)
	SELECT id, revision, 'approval.granted', runtime, caused_by, updated_at, ('{"id" : "' || id || '",' || %s)::json FROM done;`

// pgResolve compares decisions of 32 callers through the store with pgbench.
func (b *bench) pgResolve(ctx context.Context) (err error) {
	l, err := b.openPG(ctx, "postgres-decide", pgCards)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	raw, err := l.rawResolve(b.Dir, "resolve")
	if err != nil {
		return err
	}
	ours := &side{callers: manyCallers, guess: 3000, warm: pgbenchWarm, decide: l.decide, cpu: l.used, fill: func(ctx context.Context, n int) ([]string, error) {
		first, err := l.ready(ctx, int64(n))
		return pgIDs(first, n), err
	}}
	p, all, err := b.compare(ctx, pgRounds, time.Second, raw, ours)
	if err != nil {
		return err
	}
	b.report.add("PostgreSQL: 32 callers decide, store beside pgbench in one statement", p.value(), ">= 0.80x", p.verdict(0.8))
	b.reportPair(p, &all)
	c, err := l.counts(ctx, l.deciding)
	c.report(&b.report)
	return err
}

// rawResolve is pgbench that decides.
func (l *pgLab) rawResolve(dir, name string) (*pgbench, error) {
	raw, err := l.newPgbench(dir, name, fmt.Sprintf(pgRawResolve, l.payload()))
	if err != nil {
		return nil, err
	}
	raw.fill = l.ready
	raw.check = `SELECT count(*) FROM approvals WHERE id >= $1 AND id < $2 AND status <> 'pending'`
	return raw, nil
}

// reportPair adds what stands beside a ratio.
func (b *bench) reportPair(p *pairs, all *slice) {
	b.report.add("  its latency", all.times.String(), "", told)
	b.report.add("  processor time each", all.cpu.each(all.n)+" beside "+p.rawCPU.each(p.rawDone), "", told)
}

// deciding is a doer of decisions.
func (l *pgLab) deciding(ctx context.Context, n int) (func(i int) error, error) {
	first, err := l.ready(ctx, int64(n))
	return func(i int) error { return l.decide(ctx, i, pgID(first+int64(i))) }, err
}

// ready makes rows and waits until the server has done all that they cost.
func (l *pgLab) ready(ctx context.Context, n int64) (int64, error) {
	first, err := l.copies(ctx, n)
	return first, errors.Join(err, l.tidy(ctx))
}

func pgIDs(first int64, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = pgID(first + int64(i))
	}
	return ids
}

// payload is the body of a decision's event behind the id, as an SQL text.
func (l *pgLab) payload() string {
	return scriptLiteral(`'"kind":"plugin","runtime":"bench","status":"allowed","decision":"allow-once","reason":"user","resolver_kind":"human",` +
		`"resolver":"Ann 1","surface":"page","execution":"unclaimed","operation_id":"call-1","action_hash":"` + l.seed.ActionHash +
		`","agent":"builder","session_key":"session-1","revision":2,"expires_at":1790000000000}'`)
}
