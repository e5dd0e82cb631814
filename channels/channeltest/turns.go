package channeltest

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

func turnCases() []testCase {
	return []testCase{
		{"turns_go_from_one_replica_to_the_next", takingTurns},
		{"what_a_replica_took_before_it_lost_its_turn_is_not_lost", lostTurn},
		{"waiting_for_a_turn_ends_when_asked_to", waitingForATurn},
		{"credentials_that_are_refused_end_a_turn", refusedTurn},
	}
}

// turns gives the turn to one replica after another.
type turns struct {
	mu      sync.Mutex
	now     string
	changed chan struct{}   // Closed, and made anew, when it goes to another.
	held    *sync.WaitGroup // Jobs that have not been told that it went to another.
}

func newTurns() *turns { return &turns{changed: make(chan struct{}), held: new(sync.WaitGroup)} }

// give gives the turn to a replica, "" for nobody. Whoever had it has been told when
// give returns, and may be at it still.
func (g *turns) give(to string) {
	g.mu.Lock()
	before := g.held
	g.now, g.held = to, new(sync.WaitGroup)
	close(g.changed)
	g.changed = make(chan struct{})
	g.mu.Unlock()
	before.Wait()
}

// enter reports whether a replica has the turn, and until when; it calls told then.
func (g *turns) enter(replica string) (has bool, changed <-chan struct{}, told func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.now != replica {
		return false, g.changed, nil
	}
	g.held.Add(1)
	return true, g.changed, g.held.Done
}

// of is the turn of one replica.
func (g *turns) of(replica string) channels.Turn {
	return func(ctx context.Context, job func(context.Context) error) error {
		for {
			has, changed, told := g.enter(replica)
			if has {
				lost, err := untilLost(ctx, changed, told, job)
				if !lost {
					return err
				}
				continue
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// untilLost runs the job, and tells it when the turn is lost.
func untilLost(ctx context.Context, changed <-chan struct{}, told func(), job func(context.Context) error) (lost bool, err error) {
	held, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		defer told()
		select {
		case <-changed:
			lose(core.ErrLeaseLost)
		case <-ended:
		}
	})
	err = job(held)
	close(ended)
	watching.Wait()
	return held.Err() != nil && ctx.Err() == nil, err
}

// replica runs a channel of the account that receives when it is its turn.
func (b *bundle) replica(t *testing.T, g *turns, name string, in channels.Inbound) (stop func() error) {
	t.Helper()
	ch := b.open(t, Options{Turn: g.of(name)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, in) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// pass gives the turn to a replica, after the one before has let go.
func (b *bundle) pass(t *testing.T, g *turns, to string) {
	t.Helper()
	g.give("")
	require.NoError(t, b.Platform.AwaitListening(b.ctx, 0))
	g.give(to)
	require.NoError(t, b.Platform.AwaitListening(b.ctx, 1))
}

func takingTurns(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	g, a, z := newTurns(), new(Inbox), new(Inbox)
	stopA, stopZ := b.replica(t, g, "a", a), b.replica(t, g, "z", z)
	for i := range 3 {
		b.pass(t, g, "a")
		b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
		clicks, err := a.AwaitClicks(b.ctx, i+1)
		require.NoError(t, err)
		require.Len(t, clicks, i+1)
		require.NoError(t, b.Platform.AwaitConfirmed(b.ctx)) // Or it would be handed to the next again.
		b.pass(t, g, "z")
		b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
		clicks, err = z.AwaitClicks(b.ctx, i+1)
		require.NoError(t, err)
		require.Len(t, clicks, i+1)
		require.NoError(t, b.Platform.AwaitConfirmed(b.ctx))
	}
	require.NoError(t, stopA())
	require.NoError(t, stopZ())
}

// lostTurn: a replica was paused in a click, and somebody else has had the turn since.
// The click is answered by whoever is handed it, what the late one says harms nobody,
// and everything after goes to the new holder.
func lostTurn(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	woken := make(chan struct{})
	late := &Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		<-woken
		return channels.Answer{Text: "ok"}
	}}
	g, next := newTurns(), new(Inbox)
	b.replica(t, g, "late", late)
	b.replica(t, g, "next", next)
	b.pass(t, g, "late")
	name, err := b.Platform.Press(Press{Person: b.Owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	_, err = late.AwaitClicks(b.ctx, 1)
	require.NoError(t, err)
	b.pass(t, g, "next")
	want := 1
	if b.Redelivers {
		_, err = next.AwaitClicks(b.ctx, 1)
		require.NoError(t, err)
		want++
	}
	close(woken)
	reply, err := b.Platform.AwaitReply(b.ctx, name)
	require.NoError(t, err)
	require.Equal(t, "ok", reply.Text)
	b.press(t, Press{Person: b.Other, Message: locator, Label: "Deny"})
	clicks, err := next.AwaitClicks(b.ctx, want)
	require.NoError(t, err)
	require.Len(t, clicks, want)
	require.NoError(t, b.Platform.AwaitConfirmed(b.ctx))
}

func waitingForATurn(t *testing.T, b *bundle) {
	g := newTurns()
	stop := b.replica(t, g, "a", new(Inbox))
	require.NoError(t, stop())
}

// refusedTurn: a replica with credentials that are refused does not keep the turn from
// one whose are good.
func refusedTurn(t *testing.T, b *bundle) {
	g := newTurns()
	g.give("a")
	b.Platform.Revoke()
	ch := b.open(t, Options{Turn: g.of("a")})
	b.failed(t, ch.Run(b.ctx, new(Inbox)), core.FailureAuth)
}
