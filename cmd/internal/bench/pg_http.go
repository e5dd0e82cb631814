package bench

import (
	"context"
	"errors"
	"time"
)

// pgHTTP compares decisions of 32 people through HTTP, the service being a process of
// its own on PostgreSQL, with pgbench.
func (b *bench) pgHTTP(ctx context.Context) error {
	return b.pgAnswer(ctx, "postgres-http", "PostgreSQL: 32 people over HTTP beside pgbench, nobody else to tell", "", 0.40)
}

// pgRedis does the same with a service that tells other replicas through Redis.
func (b *bench) pgRedis(ctx context.Context) (err error) {
	if b.Redis == nil {
		return nil
	}
	redis, err := b.Redis(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, redis.Close()) }()
	return b.pgAnswer(ctx, "postgres-redis", "PostgreSQL and Redis: 32 people over HTTP beside pgbench", redis.URL(), 0.35)
}

func (b *bench) pgAnswer(ctx context.Context, name, title, redis string, least float64) (err error) {
	l, err := b.openPG(ctx, name, pgCards)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	raw, err := l.rawResolve(b.Dir, name)
	if err != nil {
		return err
	}
	if err := l.signIn(ctx); err != nil {
		return err
	}
	s, err := b.replica(ctx, l, redis)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	c := &clients{}
	defer func() { c.close() }()
	ours := &side{
		callers: len(l.bearers), guess: 1500, warm: pgbenchWarm,
		decide: func(ctx context.Context, caller int, id string) error { return c.resolve(ctx, caller, id) },
		fill: func(ctx context.Context, n int) ([]string, error) {
			first, err := l.ready(ctx, int64(n))
			if err != nil {
				return nil, err
			}
			c.close() // The service closes connections that are silent for long.
			fresh, err := l.answering(ctx, s.addr)
			if err != nil {
				return nil, err
			}
			c = fresh
			return pgIDs(first, n), nil
		},
	}
	p, all, err := b.compare(ctx, pgRounds, time.Second, raw, ours)
	if err != nil {
		return err
	}
	target := map[float64]string{0.40: ">= 0.40x, goal 0.55x", 0.35: ">= 0.35x, goal 0.5x"}[least]
	b.report.add(title, p.value(), target, p.verdict(least))
	b.report.add("  its latency", all.times.String(), "", told)
	return nil
}
