package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/bustest"
	"github.com/saysohq/sayso/core/bus/local"
)

// Within their own process replicas without Redis hear each hint as ever.
func TestBusesOfOneProcess(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]func() bus{
		"alone":  func() bus { return alone{local.New()} },
		"polled": func() bus { return polled{Bus: local.New(), every: pollEvery} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bustest.Run(t, func(*testing.T) (here, there bustest.Bus) {
				one := b()
				return one, one
			})
		})
	}
}

// Replicas that cannot hear each other are told every second to look at everything, and
// in between what happens in their own process, at once.
func TestReplicasWithoutRedisLookEverySecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := polled{Bus: local.New(), every: pollEvery}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		heard := make(chan core.Hint, 10)
		go func() { ended <- b.Run(ctx) }()
		go func() { ended <- quiet(ctx, b.Subscribe(ctx, func(h core.Hint) { heard <- h })) }()
		require.Equal(t, core.Hint{}, <-heard, "the first look")
		began := time.Now()
		for range 5 {
			require.Equal(t, core.Hint{}, <-heard)
		}
		require.Equal(t, 5*pollEvery, time.Since(began))
		b.Publish(ctx, core.Hint{ApprovalID: "here"})
		require.Equal(t, core.Hint{ApprovalID: "here"}, <-heard)
		require.Equal(t, 5*pollEvery, time.Since(began), "at once")
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
	})
}

// Budgets that nobody shares are away: each replica takes its part of them.
func TestDividedBudgets(t *testing.T) {
	t.Parallel()
	d := divided{replicas: 3}
	_, err := d.Take(t.Context(), core.BudgetCall{})
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.Equal(t, 3, d.Replicas())
}
