package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// Numbered is an event that has its number.
type Numbered struct {
	Seq        int64
	ApprovalID string
	Revision   int64
	Type       core.EventType
	Previous   int64
}

func sequenceSpecs() []spec {
	return []spec{
		{"R168 R170 events are numbered without gaps, each after its parent", sequenceOrder},
		{"what has a number keeps it", sequenceKeeps},
		{"a number is never given again", sequenceBehindPruned},
		{"one write numbers no more than it was asked to", sequenceLimit},
		{"a holder that is late numbers nothing", sequenceFence},
		{"two that number under one lease take turns", sequenceTwins},
		{"numbering beside writers and a second sequencer leaves no gap at any moment", sequenceRace},
	}
}

// sequencing is the lease that numbering is done under.
const sequencing = "events/sequence"

// hold takes the sequencer's lease, and gives it up when done.
func (k *kit) hold(holder string) (l core.Lease, done func()) {
	k.t.Helper()
	l, err := k.Leases.Acquire(k.ctx, sequencing, holder, core.DeliveryLease)
	require.NoError(k.t, err)
	return l, func() { require.NoError(k.t, k.Leases.Release(k.ctx, l)) }
}

// numberAll numbers until there is nothing left, and returns the outbox, checked.
func (k *kit) numberAll() []Numbered {
	k.t.Helper()
	l, done := k.hold("numberer")
	defer done()
	for {
		n, err := k.NumberEvents(k.ctx, l, 1_000)
		require.NoError(k.t, err)
		if n == 0 {
			return k.outbox()
		}
	}
}

// outbox reads the numbered events and requires what must hold at any moment.
func (k *kit) outbox() []Numbered {
	k.t.Helper()
	list := k.h.Outbox(k.tb)
	require.Empty(k.t, disorder(list))
	return list
}

// disorder says what is wrong with the numbered events: there is no gap, and each is
// behind its parent, which is the approval's event before it.
func disorder(list []Numbered) string {
	newest := map[string]Numbered{}
	for i, e := range list {
		before := newest[e.ApprovalID]
		switch {
		case i > 0 && e.Seq != list[i-1].Seq+1:
			return fmt.Sprintf("a gap before %+v", e)
		case e.Previous != before.Seq:
			return fmt.Sprintf("%+v has another parent than %+v", e, before)
		case e.Revision <= before.Revision:
			return fmt.Sprintf("%+v is behind %+v", e, before)
		}
		newest[e.ApprovalID] = e
	}
	return ""
}

func sequenceOrder(k *kit) {
	first := k.create()
	second := k.create(automatic)
	k.allow(first.ID)
	k.claim(k.read(first.ID), "token")
	expiring := k.create(expiresIn(1_000))
	k.advanceTo(expiring.ExpiresAt)
	k.sweep(10)
	got := k.numberAll()
	require.Len(k.t, got, 6)
	require.Equal(k.t, int64(1), got[0].Seq)
	byID := map[string][]core.EventType{}
	for _, e := range got {
		byID[e.ApprovalID] = append(byID[e.ApprovalID], e.Type)
	}
	require.Equal(k.t, map[string][]core.EventType{
		first.ID:    {core.EventRequested, core.EventGranted, core.EventConsumed},
		second.ID:   {core.EventAutoGranted},
		expiring.ID: {core.EventRequested, core.EventExpired},
	}, byID)
}

func sequenceKeeps(k *kit) {
	made := k.create()
	before := k.numberAll()
	k.deny(made.ID)
	k.create()
	after := k.numberAll()
	require.Len(k.t, after, 3)
	require.Equal(k.t, before, after[:1])
	k.reopen()
	require.Equal(k.t, after, k.numberAll())
}

func sequenceBehindPruned(k *kit) {
	k.deny(k.create().ID)
	last := k.numberAll()[1].Seq
	k.retention()
	require.Equal(k.t, 1, k.prune(10))
	require.Empty(k.t, k.outbox())
	k.reopen()
	k.create()
	require.Equal(k.t, last+1, k.numberAll()[0].Seq)
}

func sequenceLimit(k *kit) {
	for range 5 {
		k.create()
	}
	l, done := k.hold("a")
	defer done()
	for {
		n, err := k.NumberEvents(k.ctx, l, 2)
		require.NoError(k.t, err)
		require.LessOrEqual(k.t, n, 2)
		if n == 0 {
			break
		}
	}
	require.Len(k.t, k.outbox(), 5)
	for _, limit := range []int{0, -1} {
		_, err := k.NumberEvents(k.ctx, l, limit)
		require.ErrorIs(k.t, err, core.ErrInvalid)
	}
}

// sequenceFence: whoever has been late, has given the lease up, has lost it, or never
// had it, is refused inside the write.
func sequenceFence(k *kit) {
	k.create()
	before := k.outbox()
	refused := func(l core.Lease) {
		k.t.Helper()
		_, err := k.NumberEvents(k.ctx, l, 10)
		require.ErrorIs(k.t, err, core.ErrLeaseLost)
		require.Equal(k.t, before, k.outbox())
	}
	refused(core.Lease{Name: sequencing, Holder: "a", Fence: 1})
	late, _ := k.hold("a")
	k.advanceTo(late.Until)
	refused(late)
	released, done := k.hold("a")
	refused(late)
	done()
	refused(released)
	_, done = k.hold("b")
	refused(released)
	forged := released
	forged.Fence++
	refused(forged)
	done()
	require.Len(k.t, k.numberAll(), 1)
}

// sequenceTwins: a holder that was paused and another process under its name, or one
// that calls twice.
func sequenceTwins(k *kit) {
	for range 10 {
		k.create()
	}
	l, done := k.hold("a")
	defer done()
	errs := make([]error, 8)
	together(len(errs), func(i int) { _, errs[i] = k.NumberEvents(context.Background(), l, 3) })
	for _, err := range errs {
		require.NoError(k.t, err)
	}
	require.Len(k.t, k.outbox(), 10)
}

// sequenceRace: two sequencers take turns while questions are asked and answered from
// many sides; each also goes on with a lease that it has given up. At any moment the
// numbers that can be seen have no gap.
func sequenceRace(k *kit) {
	const writers, each = 6, 12
	asks := make([]core.NewApproval, writers*each)
	for i := range asks {
		asks[i] = k.ask()
	}
	ctx := context.Background()
	errs, wrong := make([]error, writers+2), ""
	var writing sync.WaitGroup
	writing.Add(writers)
	var over atomic.Bool
	go func() {
		writing.Wait()
		over.Store(true)
	}()
	together(writers+3, func(i int) {
		switch {
		case i < writers:
			defer writing.Done()
			errs[i] = k.askAndAnswer(ctx, asks[i*each:(i+1)*each])
		case i < writers+2:
			for !over.Load() && errs[i] == nil {
				errs[i] = k.numberOnce(ctx, string(rune('a'+i)))
			}
		default:
			for !over.Load() && wrong == "" {
				wrong = disorder(k.h.Outbox(k.tb))
			}
		}
	})
	for _, err := range errs {
		require.NoError(k.t, err)
	}
	require.Empty(k.t, wrong)
	require.Len(k.t, k.numberAll(), 2*len(asks))
}

func (k *kit) askAndAnswer(ctx context.Context, asks []core.NewApproval) error {
	for _, c := range asks {
		made, err := k.Create(ctx, c)
		if err != nil {
			return err
		}
		if _, err := k.Decide(ctx, k.answer(made.Approval.ID, core.DecisionDeny)); err != nil {
			return err
		}
	}
	return nil
}

// numberOnce takes the lease, if it can, numbers, gives the lease up and tries again.
func (k *kit) numberOnce(ctx context.Context, holder string) error {
	l, err := k.Leases.Acquire(ctx, sequencing, holder, core.DeliveryLease)
	if errors.Is(err, core.ErrLeaseLost) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := k.NumberEvents(ctx, l, 10); err != nil {
		return err
	}
	if err := k.Leases.Release(ctx, l); err != nil {
		return err
	}
	if n, err := k.NumberEvents(ctx, l, 10); n != 0 || err != nil && !errors.Is(err, core.ErrLeaseLost) {
		return errors.Join(errLateNumbers, err)
	}
	return nil
}

var errLateNumbers = errors.New("a holder that had given the lease up did more than be refused")
