//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/postgres/pgserver"
)

// restarted restarts PostgreSQL, in good order and as after a crash by turns.
func restarted(ctx context.Context, c *campaign) error {
	defer c.met(toDatabase, metServer)
	ways := []struct {
		how  pgserver.Shutdown
		what string
	}{{pgserver.ShutdownFast, "fast restarts"}, {pgserver.ShutdownImmediate, "immediate restarts"}}
	for n := 0; c.during(ctx, time.Second, 3*time.Second) && c.breathe(ctx); n++ {
		begun := context.WithoutCancel(ctx) // What is stopped is started again.
		w := ways[n%len(ways)]
		if err := c.town.postgres.Stop(begun, w.how); err != nil {
			return err
		}
		c.count(w.what, 1)
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
	c.met(toDatabase, metUnsent, metUnheard, metDone)
	return nil
}

const farAway = 2 * time.Second

// slowed moves PostgreSQL away for some seconds, again and again: for one replica, and
// for both.
func slowed(ctx context.Context, c *campaign) error {
	defer c.met(toDatabase, metDelayed)
	for c.during(ctx, time.Second, 4*time.Second) && c.breathe(ctx) {
		far := c.town.replicas[:1+c.random.IntN(len(c.town.replicas))]
		for _, r := range far {
			r.database.slow(farAway / 2) // There and back.
		}
		end := c.lasting("moved away")
		_ = c.during(ctx, 4*time.Second, 8*time.Second)
		end()
		for _, r := range far {
			r.database.slow(0)
		}
	}
	return nil
}

// smallConns is the pool of each replica of a town with a small one.
const smallConns = 2

// smallPool gives each replica two connections.
func smallPool(context.Context, *campaign) (needs, error) {
	return needs{maxConns: smallConns}, nil
}

// locked holds locks on questions that wait for an answer, so that both connections of
// a replica are soon held up by them.
func locked(ctx context.Context, c *campaign) error {
	for c.during(ctx, 200*time.Millisecond, time.Second) && c.breathe(ctx) {
		if err := c.hold(ctx); err != nil {
			return err
		}
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
	tag, err := tx.Exec(own, `SELECT id FROM approvals WHERE status = 'pending' ORDER BY random() LIMIT 8 FOR UPDATE SKIP LOCKED`)
	c.count("rows locked", int(tag.RowsAffected()))
	_ = c.during(ctx, time.Second, 4*time.Second) // Longer than a statement of the service may take.
	if err == nil {
		err = c.waiting(own, tx)
	}
	return errors.Join(err, tx.Rollback(own))
}

// waiting counts who waits for the locks that tx holds.
func (c *campaign) waiting(ctx context.Context, tx pgx.Tx) error {
	var statements int
	err := tx.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))`).Scan(&statements)
	if err != nil {
		return fmt.Errorf("look who waits: %w", err)
	}
	c.count("statements seen waiting for them", statements)
	if statements > replicaCount*(smallConns-1) { // One of them has two.
		c.count("times that a replica had no connection left", 1)
	}
	return nil
}

// redisKilled kills Redis and starts an empty one after a while.
func redisKilled(ctx context.Context, c *campaign) error {
	defer c.met(toRedis, metServer)
	for c.during(ctx, time.Second, 3*time.Second) {
		if err := c.town.redis.Kill(); err != nil {
			return err
		}
		end := c.lasting("Redis killed")
		_ = c.during(ctx, 0, 3*time.Second)
		end()
		if err := c.town.redis.Again(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// redisApart keeps one replica from Redis, by a partition and by refusal in turn.
func redisApart(ctx context.Context, c *campaign) error {
	defer c.met(toRedis, metHeld, metRefused)
	for times := 0; c.during(ctx, 500*time.Millisecond, 2*time.Second); times++ {
		r, what := c.pick(), "partitioned"
		if times%2 == 0 {
			r.redis.stall()
		} else {
			what = "refused"
			r.redis.lower()
		}
		end := c.lasting(what)
		_ = c.during(ctx, 2*time.Second, 5*time.Second)
		end()
		r.redis.mend()
	}
	return nil
}

// messengersFail lets all messengers fail in all ways from which there is a way back,
// at the same time, for some seconds.
func messengersFail(ctx context.Context, c *campaign) error {
	for c.during(ctx, 500*time.Millisecond, 2*time.Second) && c.breathe(ctx) {
		scripts, faults := c.town.scripts(), map[core.Surface][]*fakes.Fault{}
		for on, script := range scripts {
			faults[on] = c.failing(script)
		}
		end := c.lasting("all failed")
		_ = c.during(ctx, time.Second, 4*time.Second)
		end()
		for on, script := range scripts {
			script.Clear()
			for _, f := range faults[on] {
				select {
				case <-f.Hit():
					c.count("kinds of calls that failed on "+string(on), 1)
				default:
				}
			}
		}
	}
	return nil
}

// failing lets a messenger fail until its script is cleared, each kind of call in its
// own way.
func (c *campaign) failing(script *fakes.Script) []*fakes.Fault {
	kinds := []fakes.FaultKind{
		fakes.FaultRateLimit, fakes.FaultServerError, fakes.FaultUndecodable, fakes.FaultHollow,
		fakes.FaultResetBefore, fakes.FaultResetAfter,
	}
	ops := []fakes.Op{fakes.OpSend, fakes.OpEdit, fakes.OpAnswer}
	added := make([]*fakes.Fault, len(ops))
	for i, op := range ops {
		added[i] = script.Add(fakes.Fault{Kind: kinds[c.random.IntN(len(kinds))], Op: op, Delay: time.Second, Times: -1})
	}
	return added
}
