//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
)

// callsCaught are kills that met a call to a messenger under way.
const callsCaught = "of them with a call to a messenger under way"

// killed kills a replica at random and starts it again, as often as was asked for.
// Every third kill waits until a call to a messenger is under way.
func killed(ctx context.Context, c *campaign) error {
	for kills := 0; kills < c.o.Kills; kills++ {
		if !c.during(ctx, 0, c.fault.perTurn/2) && c.aborted() {
			return nil
		}
		r := c.pick()
		if kills%3 == 0 && c.catch(ctx) {
			c.count(callsCaught, 1)
		}
		r.kill()
		c.count(killedReplicas, 1)
		if err := r.start(); err != nil {
			return err
		}
		// Now and then the next one falls before this one stands.
		if c.random.IntN(10) == 0 {
			continue
		}
		if err := r.up(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// catchLimit is how long a call is waited for.
const catchLimit = 500 * time.Millisecond

// catch keeps the next card or edit on its way on one messenger, and reports whether
// there was one. Whose it is, is left to chance.
func (c *campaign) catch(ctx context.Context) bool {
	scripts := c.town.scripts()
	surfaces := []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord}
	ops := []fakes.Op{fakes.OpSend, fakes.OpEdit}
	held := scripts[surfaces[c.random.IntN(len(surfaces))]].Add(fakes.Fault{Kind: fakes.FaultHold, Op: ops[c.random.IntN(len(ops))]})
	select {
	case <-held.Hit():
		// Of a replica that lives it goes on once the other one is dead.
		time.AfterFunc(catchLimit, held.Release)
		return true
	case <-ctx.Done():
	case <-time.After(catchLimit):
	}
	held.Release() // Whoever meets it later is not kept.
	return false
}

// pastLease is longer than a lease of the fleet's jobs.
const pastLease = 13 * time.Second

// stopped stops whichever replica holds most leases, long enough for the other one to
// take over, and lets it wake up.
func stopped(ctx context.Context, c *campaign) error {
	for times := 0; c.during(ctx, 0, time.Second) || times == 0; times++ {
		ctx := context.WithoutCancel(ctx) // Begun is ended, or a replica would stay stopped.
		r, err := c.town.holder(ctx)
		if err != nil {
			return err
		}
		before, err := c.town.leases(ctx)
		if err != nil {
			return err
		}
		if err := r.signal(syscall.SIGSTOP); err != nil {
			return err
		}
		end := c.lasting("holders stopped")
		failed := pause(ctx, pastLease)
		after, err := c.town.leases(ctx)
		if err != nil {
			failed = err
		}
		end()
		if err := r.signal(syscall.SIGCONT); err != nil || failed != nil {
			return fmt.Errorf("let it wake up: %w", errors.Join(err, failed))
		}
		for name, holder := range after {
			if was, ok := before[name]; ok && was != holder {
				c.count("leases that had moved when it woke up", 1)
			}
		}
	}
	return nil
}

// heldLease is a job that a replica says it does.
var heldLease = regexp.MustCompile(`(?m)^sayso_lease_held\{.*\} 1$`)

// holder is the replica that does most of the jobs that one does at a time.
func (t *town) holder(ctx context.Context) (*replica, error) {
	var holder *replica
	most := -1
	for _, r := range t.replicas {
		text, err := r.metrics(ctx)
		if err != nil {
			return nil, err
		}
		if n := len(heldLease.FindAllString(text, -1)); n > most {
			holder, most = r, n
		}
	}
	return holder, nil
}

// leases reads who holds which.
func (t *town) leases(ctx context.Context) (map[string]string, error) {
	c, err := pgx.Connect(ctx, t.dsn())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = c.Close(ctx) }() // It was read from.
	rows, err := c.Query(ctx, `SELECT name, holder FROM leases`)
	if err != nil {
		return nil, fmt.Errorf("read leases: %w", err)
	}
	held := map[string]string{}
	var name, holder string
	_, err = pgx.ForEachRow(rows, []any{&name, &holder}, func() error {
		held[name] = holder
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read leases: %w", err)
	}
	return held, nil
}

// exec runs one statement past all lines.
func (t *town) exec(ctx context.Context, query string) error {
	c, err := pgx.Connect(ctx, t.dsn())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	_, err = c.Exec(ctx, query)
	if err := errors.Join(err, c.Close(ctx)); err != nil {
		return fmt.Errorf("run statement: %w", err)
	}
	return nil
}

// clockOff is how wrong a clock is.
const clockOff = 90 * time.Second

// clocks lets one replica go on with its clock ahead for the first half of the
// questions, and behind for the rest.
func clocks(ctx context.Context, c *campaign) error {
	r := c.pick()
	right, env := r.program, r.env
	for _, off := range []time.Duration{clockOff, -clockOff} {
		if err := r.stop(); err != nil {
			return err
		}
		r.program = []string{c.variant, "serve"}
		r.env = append(slices.Clone(env), fmt.Sprintf("%s=%d", clockVariable, int(off.Seconds())))
		if err := r.up(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		if err := c.dated(context.WithoutCancel(ctx), r, off); err != nil {
			return err
		}
		end := c.lasting("clocks wrong")
		for off > 0 && 2*c.done.Load() < int64(c.o.Count) && c.during(ctx, healthEvery, healthEvery) {
			continue
		}
		if off < 0 {
			<-ctx.Done()
		}
		end()
	}
	if err := r.stop(); err != nil {
		return err
	}
	r.program, r.env = right, env
	return nil
}

// dated looks at the date of an answer of a replica whose clock is off.
func (c *campaign) dated(ctx context.Context, r *replica, off time.Duration) error {
	date, err := r.date(ctx)
	if err != nil {
		return err
	}
	seen := time.Until(date)
	switch {
	case off > 0 && seen > off/2:
		c.count("answers dated 90 s ahead", 1)
	case off < 0 && seen < off/2:
		c.count("answers dated 90 s behind", 1)
	}
	return nil
}
