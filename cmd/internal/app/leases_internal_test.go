package app

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/leases"
)

// free hands out every lease.
type free struct{}

func (free) Acquire(_ context.Context, name, holder string, d time.Duration) (core.Lease, error) {
	return core.Lease{Name: name, Holder: holder, Fence: 1, Until: core.Millis(d.Milliseconds())}, nil
}

func (free) Release(context.Context, core.Lease) error { return nil }

// One app in several workspaces keeps two connections in a process, not two for each
// of them; another app has its own.
func TestWorkspacesOfAnAppShareItsConnections(t *testing.T) {
	t.Parallel()
	held, err := newHeldJobs(prometheus.NewRegistry())
	require.NoError(t, err)
	b := &builder{held: held, jobs: leases.New(leases.Config{Holder: "a"}, leases.Deps{
		Leases: free{}, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})}
	one, other := b.slots("A1"), b.slots("A2")
	entered, leave := make(chan string, 10), make(chan struct{})
	job := func(name string) func(context.Context) error {
		return func(context.Context) error {
			entered <- name
			<-leave
			return nil
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { _ = one(context.Background(), job("one")) })
	}
	require.Equal(t, []string{"one", "one"}, []string{<-entered, <-entered})
	all.Go(func() { _ = other(context.Background(), job("other")) })
	require.Equal(t, "other", <-entered, "and no third of the first app")
	close(leave)
	all.Wait()
	require.Len(t, entered, 2)
}

// Where nothing runs, as in an examination, there are no turns to take.
func TestNoTurnsWithoutJobs(t *testing.T) {
	t.Parallel()
	b := &builder{}
	require.Nil(t, b.turn(core.AccountRef{Channel: core.SurfaceTelegram, Account: "1"}, "poll"))
	require.NoError(t, b.slots("A1")(t.Context(), func(context.Context) error { return nil }))
}

// Operators are told who receives: for an account of a Slack app, whoever has one of
// the app's connections.
func TestWhoseTurnItIs(t *testing.T) {
	t.Parallel()
	held, err := newHeldJobs(prometheus.NewRegistry())
	require.NoError(t, err)
	held.expect("telegram/12/poll", "telegram/1/poll", "slack/A1/slot/0", "slack/A1/slot/1", "approvals/upkeep")
	held.Held("telegram/12/poll", true)
	held.Held("slack/A1/slot/1", true)
	for ref, want := range map[core.AccountRef][2]bool{
		{Channel: core.SurfaceTelegram, Account: "12"}: {true, true},
		{Channel: core.SurfaceTelegram, Account: "1"}:  {true, false},
		{Channel: core.SurfaceTelegram, Account: "2"}:  {false, false},
		{Channel: core.SurfaceSlack, Account: "T9.A1"}: {true, true},
		{Channel: core.SurfaceSlack, Account: "T9.A2"}: {false, false},
		{Channel: core.SurfaceDiscord, Account: "12"}:  {false, false},
	} {
		taken, ours := held.turn(ref)
		require.Equal(t, want, [2]bool{taken, ours}, ref)
	}
	held.Held("slack/A1/slot/1", false)
	_, ours := held.turn(core.AccountRef{Channel: core.SurfaceSlack, Account: "T9.A1"})
	require.False(t, ours)
}
