package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	storedRows  = 10_000
	starts      = 7
	idleFor     = 3 * time.Second
	idleTarget  = 40 << 20
	readyTarget = 300 * time.Millisecond
)

// start measures how soon a service with 10,000 stored approvals answers, and what
// it holds in memory when it has nothing to do.
func (b *bench) start(ctx context.Context) (err error) {
	l, s, err := b.served(ctx, "start", storedRows)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	ready := []time.Duration{s.ready}
	for range starts - 1 {
		if err := s.close(); err != nil {
			return err
		}
		if s, err = b.serve(ctx, l.dir, ""); err != nil {
			return err
		}
		ready = append(ready, s.ready)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(idleFor):
	}
	idle, err := s.resident()
	if err != nil {
		return err
	}
	slices.Sort(ready)
	b.report.add("start to ready, 10,000 stored approvals", fmt.Sprintf("median %s, max %s (n=%d)", short(quantile(ready, 0.5)), short(quantile(ready, 1)), starts),
		"<= 300ms", judge(quantile(ready, 1) <= readyTarget))
	b.report.add("idle service, resident", fmt.Sprintf("%.1f MiB", idle/(1<<20)), "<= 40 MiB", judge(idle <= idleTarget))
	return nil
}
