//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// upgraded takes the fleet to the next version, one replica after the other, the way
// that the guide says, with a crash in the middle of it.
func upgraded(ctx context.Context, c *campaign) error {
	for 4*c.done.Load() < int64(c.o.Count) && c.during(ctx, healthEvery, healthEvery) {
		continue
	}
	ctx, next := context.WithoutCancel(ctx), c.variant // A round that has begun is finished.
	first, second := c.town.replicas[0], c.town.replicas[1]
	migrate := exec.CommandContext(ctx, next, "migrate", "--config", first.config)
	migrate.Env = first.env
	if out, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w\n%s", err, out)
	}
	c.count("migrated beside the old version", 1)
	if err := pause(ctx, 3*time.Second); err != nil { // They go on.
		return err
	}
	if err := first.stop(); err != nil {
		return err
	}
	first.program = []string{next, "serve"}
	if err := first.up(ctx); err != nil {
		return err
	}
	c.count("replicas upgraded", 1)
	end := c.lasting("old and new side by side")
	if err := pause(ctx, 3*time.Second); err != nil {
		return err
	}
	end()
	second.kill()
	c.count(killedReplicas, 1)
	if err := c.refuses(ctx, second); err != nil {
		return err
	}
	second.program = []string{next, "serve"}
	if err := second.up(ctx); err != nil {
		return err
	}
	c.count("replicas upgraded", 1)
	return nil
}

// refuses lets a replica of the old version start on the new schema: it must not.
func (c *campaign) refuses(ctx context.Context, r *replica) error {
	if err := r.start(); err != nil {
		return err
	}
	if err := r.ready(ctx); !errors.Is(err, errEnded) {
		c.wrong("the old version serves on the schema of the next: %v", err)
		r.kill()
		return nil
	}
	c.count("old versions refused on the new schema", 1)
	return nil
}
