package approvals_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// long outlasts any healthy test; a wait that takes it is broken.
const long = 30 * time.Second

type waited struct {
	a   core.Approval
	err error
}

func (k *kit) wait(ctx context.Context, w approvals.WaitRequest) <-chan waited {
	out := make(chan waited, 1)
	go func() {
		a, err := k.service.Wait(ctx, k.token, w)
		out <- waited{a, err}
	}()
	return out
}

func receive(t *testing.T, in <-chan waited) waited {
	t.Helper()
	select {
	case w := <-in:
		return w
	case <-time.After(long):
		require.FailNow(t, "the waiter was not woken")
		return waited{}
	}
}

// TestWaitersAreWoken (R2, R113): every waiter of a decision hears of it, whichever
// of registration, read and decision comes first.
func TestWaitersAreWoken(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.background(k.service.Run)
	for range 20 {
		a := k.ask()
		w := approvals.WaitRequest{Lookup: core.Lookup{ID: a.ID}, For: long}
		first, second := k.wait(t.Context(), w), k.wait(t.Context(), w)
		k.resolve(k.answer(&a, core.DecisionAllowOnce))
		require.Equal(t, core.StatusAllowed, receive(t, first).a.Status)
		require.Equal(t, core.StatusAllowed, receive(t, second).a.Status)
		require.Equal(t, core.StatusAllowed, receive(t, k.wait(t.Context(), w)).a.Status, "and who comes later")
	}
}

// TestWaitWithoutHints: a hint is never relied on. With nobody listening to the bus
// the waiter still reads again.
func TestWaitWithoutHints(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	quick := k.reread(20 * time.Millisecond)
	a := k.ask()
	out := make(chan waited, 1)
	go func() {
		got, err := quick.Wait(t.Context(), k.token, approvals.WaitRequest{Lookup: core.Lookup{ID: a.ID}, For: long})
		out <- waited{got, err}
	}()
	k.resolve(k.answer(&a, core.DecisionDeny))
	require.Equal(t, core.StatusDenied, receive(t, out).a.Status)
}

// TestWaitEnds: with its time, with the deadline of the question, with its caller.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.background(k.service.Run)
	a := k.ask(func(q *approvals.Ask) { q.ExpiresIn = millis(core.MinExpiry) })
	w := approvals.WaitRequest{Lookup: core.Lookup{ID: a.ID}, For: time.Millisecond}
	require.Equal(t, core.StatusPending, receive(t, k.wait(t.Context(), w)).a.Status, "as it is when the time is over")

	w.For = long
	waiting := k.wait(t.Context(), w)
	k.advance(time.Second) // The process timer wakes the waiter; the store's clock decides.
	require.Equal(t, core.StatusExpired, receive(t, waiting).a.Status)

	b := k.ask()
	ctx, cancel := context.WithCancel(t.Context())
	waiting = k.wait(ctx, approvals.WaitRequest{Lookup: core.Lookup{ID: b.ID}, For: long})
	cancel()
	require.ErrorIs(t, receive(t, waiting).err, context.Canceled)
	require.Equal(t, core.StatusPending, k.read(b.ID).Status, "a lost connection decides nothing")
}

// TestWaitForChange: a revision that the caller saw is waited past, whatever changes.
func TestWaitForChange(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.background(k.service.Run)
	a := k.ask()
	k.resolve(k.answer(&a, core.DecisionAllowOnce))
	allowed := k.read(a.ID)
	waiting := k.wait(t.Context(), approvals.WaitRequest{Lookup: core.Lookup{ID: a.ID}, Revision: allowed.Revision, For: long})
	_, err := k.service.Claim(t.Context(), k.token, claim(&allowed))
	require.NoError(t, err)
	require.Equal(t, core.ExecutionClaimed, receive(t, waiting).a.Execution)
}

// TestSweep: what is due ends without anybody's call, and is counted once.
func TestSweep(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	k.advance(time.Duration(core.LiveExpiry) * time.Millisecond)
	k.background(k.service.Run)
	require.Eventually(t, func() bool {
		k.seen.mu.Lock()
		defer k.seen.mu.Unlock()
		return len(k.seen.ended) == 1
	}, long, 5*time.Millisecond)
	require.Equal(t, core.StatusExpired, k.read(a.ID).Status)
}

// R201, R202: whoever reads first at the deadline records the expiry, and it is told
// and counted once, like any other end.
func TestExpiryByReadingIsTold(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	heard := make(chan core.Hint, 4)
	k.background(func(ctx context.Context) error {
		return k.bus.Subscribe(ctx, func(h core.Hint) { heard <- h })
	})
	require.Equal(t, core.Hint{}, <-heard, "the subscription stands")
	a := k.ask()
	require.Equal(t, a.ID, (<-heard).ApprovalID)
	k.advance(time.Duration(core.LiveExpiry) * time.Millisecond)
	for range 2 {
		got, err := k.service.Get(t.Context(), k.token, core.Lookup{ID: a.ID})
		require.NoError(t, err)
		require.Equal(t, core.StatusExpired, got.Status)
	}
	require.Equal(t, core.Hint{ApprovalID: a.ID, Revision: 2, Deliveries: true}, <-heard)
	require.Equal(t, []core.Reason{core.ReasonTimeout}, k.seen.ended)
}

// TestWaitByReference: what is known by its reference is waited for as well.
func TestWaitByReference(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.background(k.service.Run)
	a := k.ask()
	waiting := k.wait(t.Context(), approvals.WaitRequest{Lookup: core.Lookup{Ref: a.Ref}, For: long})
	k.resolve(k.answer(&a, core.DecisionDeny))
	require.Equal(t, core.StatusDenied, receive(t, waiting).a.Status)
}

// TestWaitAfterLostHints: what another replica decided, of which nobody here was told,
// is found by whoever is told that everything may have changed.
func TestWaitAfterLostHints(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.background(k.service.Run)
	a, b := k.ask(), k.ask()
	waiting := k.wait(t.Context(), approvals.WaitRequest{Lookup: core.Lookup{ID: a.ID}, For: long})
	other := k.wait(t.Context(), approvals.WaitRequest{Lookup: core.Lookup{ID: b.ID}, For: long})
	decided, err := k.store.Decide(t.Context(), core.Decide{ID: a.ID, AttemptID: "elsewhere", To: core.Terminal{
		Status: core.StatusDenied, Decision: core.DecisionDeny, Reason: core.ReasonUser,
		ResolverKind: core.ResolverHuman, ResolverID: "ann", Surface: core.SurfacePage, Proof: "session",
	}})
	require.NoError(t, err)
	require.True(t, decided.Applied)
	k.bus.Publish(t.Context(), core.Hint{})
	require.Equal(t, core.StatusDenied, receive(t, waiting).a.Status)
	require.Empty(t, other, "who has nothing new to see still waits")
}

// TestRelease: a replica that stops answers whoever waits with the record as it is,
// and whoever still comes.
func TestRelease(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	w := approvals.WaitRequest{Lookup: core.Lookup{ID: a.ID}, For: long}
	first, second := k.wait(t.Context(), w), k.wait(t.Context(), w)
	k.service.Release()
	require.Equal(t, core.StatusPending, receive(t, first).a.Status)
	require.Equal(t, core.StatusPending, receive(t, second).a.Status)
	got := receive(t, k.wait(t.Context(), w))
	require.NoError(t, got.err)
	require.Equal(t, core.StatusPending, got.a.Status)
}
