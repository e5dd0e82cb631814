//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core/store/postgres/pgserver"
)

// restarted restarts PostgreSQL, in good order and as after a crash by turns.
func restarted(ctx context.Context, c *campaign) error {
	times := map[pgserver.Shutdown]int{}
	defer func() {
		c.note("restarted fast %d times, immediate %d times", times[pgserver.ShutdownFast], times[pgserver.ShutdownImmediate])
	}()
	ways := []pgserver.Shutdown{pgserver.ShutdownFast, pgserver.ShutdownImmediate}
	for n := 0; c.during(ctx, time.Second, 3*time.Second); n++ {
		begun := context.WithoutCancel(ctx) // What is stopped is started again.
		how := ways[n%len(ways)]
		if err := c.town.postgres.Stop(begun, how); err != nil {
			return err
		}
		times[how]++
		_ = c.during(ctx, 0, time.Second) // However long it is away.
		if err := c.town.postgres.Again(begun); err != nil {
			return err
		}
	}
	return nil
}

// Of all commits, so many in a hundred are cut each way.
const cutPercent = 3

// commitsBroken breaks connections where a commit is on its way, and where its answer
// is.
func commitsBroken(ctx context.Context, c *campaign) error {
	for _, r := range c.town.replicas {
		r.database.cutCommits(func() commitCut { // Under the lock of its line; the campaign's own is shared.
			c.mu.Lock()
			defer c.mu.Unlock()
			switch n := c.random.IntN(100); {
			case n < cutPercent:
				return cutBefore
			case n < 2*cutPercent:
				return cutAfter
			}
			return cutNothing
		})
	}
	<-ctx.Done()
	for _, r := range c.town.replicas {
		before, after := r.database.commitsCut()
		c.note("replica %s: %d commits cut %s, %d %s", r.name, before, cutBefore, after, cutAfter)
	}
	return nil
}

const farAway = 2 * time.Second

// slowed moves PostgreSQL away for some seconds, again and again: for one replica, and
// for both.
func slowed(ctx context.Context, c *campaign) error {
	times := 0
	defer func() { c.note("%s away %d times", farAway, times) }()
	for c.during(ctx, time.Second, 4*time.Second) {
		far := c.town.replicas[:1+c.random.IntN(len(c.town.replicas))]
		for _, r := range far {
			r.database.slow(farAway / 2) // There and back.
		}
		times++
		_ = c.during(ctx, 4*time.Second, 8*time.Second)
		for _, r := range far {
			r.database.slow(0)
		}
	}
	return nil
}

// smallPool gives each replica two connections.
func smallPool(context.Context, *campaign) (needs, error) {
	return needs{maxConns: 2}, nil
}

// locked holds locks on questions that wait for an answer, so that both connections of
// a replica are soon held up by them.
func locked(ctx context.Context, c *campaign) error {
	held := 0
	defer func() { c.note("rows locked %d times", held) }()
	for c.during(ctx, 200*time.Millisecond, time.Second) {
		if err := c.hold(ctx); err != nil {
			return err
		}
		held++
	}
	return nil
}

// hold locks some pending rows for a while.
func (c *campaign) hold(ctx context.Context) error {
	own := context.WithoutCancel(ctx)
	conn, err := pgx.Connect(own, c.town.dsn())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(own) }() // Whatever it held goes with it.
	tx, err := conn.Begin(own)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	_, err = tx.Exec(own, `SELECT id FROM approvals WHERE status = 'pending' ORDER BY random() LIMIT 8 FOR UPDATE SKIP LOCKED`)
	_ = c.during(ctx, time.Second, 4*time.Second) // Longer than a statement of the service may take.
	return errors.Join(err, tx.Rollback(own))
}

// redisKilled kills Redis and starts an empty one after a while.
func redisKilled(ctx context.Context, c *campaign) error {
	times := 0
	defer func() { c.note("killed %d times, each time empty again", times) }()
	for c.during(ctx, time.Second, 3*time.Second) {
		if err := c.town.redis.Kill(); err != nil {
			return err
		}
		times++
		_ = c.during(ctx, 0, 3*time.Second)
		if err := c.town.redis.Again(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// redisApart keeps one replica from Redis, by a partition and by refusal in turn.
func redisApart(ctx context.Context, c *campaign) error {
	times := 0
	defer func() { c.note("apart %d times", times) }()
	for c.during(ctx, 500*time.Millisecond, 2*time.Second) {
		r := c.pick()
		if times%2 == 0 {
			r.redis.stall()
		} else {
			r.redis.lower()
		}
		times++
		_ = c.during(ctx, 2*time.Second, 5*time.Second)
		r.redis.mend()
	}
	return nil
}

// messengersFail lets all messengers fail in all ways from which there is a way back,
// at the same time, for some seconds.
func messengersFail(ctx context.Context, c *campaign) error {
	kinds := []fakes.FaultKind{
		fakes.FaultRateLimit, fakes.FaultServerError, fakes.FaultUndecodable, fakes.FaultHollow,
		fakes.FaultResetBefore, fakes.FaultResetAfter,
	}
	scripts := c.town.scripts()
	times := 0
	defer func() { c.note("failed %d times", times) }()
	for c.during(ctx, 500*time.Millisecond, 2*time.Second) {
		for _, script := range scripts {
			for _, op := range []fakes.Op{fakes.OpSend, fakes.OpEdit, fakes.OpAnswer} {
				script.Add(fakes.Fault{Kind: kinds[c.random.IntN(len(kinds))], Op: op, Delay: time.Second, Times: -1})
			}
		}
		times++
		_ = c.during(ctx, time.Second, 4*time.Second)
		for _, script := range scripts {
			script.Clear()
		}
	}
	return nil
}
