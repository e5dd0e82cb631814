package approvals_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// turn is a job that another replica does until it is given away.
type turn struct{ asked, given chan struct{} }

func (g turn) Hold(ctx context.Context, name string, job func(context.Context, core.Lease) error) error {
	close(g.asked)
	select {
	case <-g.given:
		return job(ctx, core.Lease{Name: name})
	case <-ctx.Done():
		return ctx.Err()
	}
}

// With several replicas one sweeps at a time.
func TestOneReplicaSweeps(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	g := turn{make(chan struct{}), make(chan struct{})}
	k.jobs = g
	a := k.ask()
	k.advance(time.Duration(core.LiveExpiry) * time.Millisecond)
	service := k.build(approvals.Config{SweepEvery: time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- service.Run(ctx) }()
	<-g.asked
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
	k.seen.mu.Lock()
	require.Empty(t, k.seen.ended, "it is not this replica's turn")
	k.seen.mu.Unlock()

	g = turn{make(chan struct{}), make(chan struct{})}
	close(g.given)
	k.jobs = g
	k.background(k.build(approvals.Config{SweepEvery: time.Millisecond}).Run)
	require.Eventually(t, func() bool {
		k.seen.mu.Lock()
		defer k.seen.mu.Unlock()
		return len(k.seen.ended) == 1
	}, long, 5*time.Millisecond)
	require.Equal(t, core.StatusExpired, k.read(a.ID).Status)
}
