package storetest

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func isWait(e core.EventType) bool { return e == core.EventWaitStarted || e == core.EventWaitEnded }

// changes lists what was recorded about an approval itself: waits stand beside that.
func (k *kit) changes(id string) []core.EventType {
	k.t.Helper()
	return slices.DeleteFunc(k.h.Events(k.tb, id), isWait)
}

// history requires all that was recorded of an approval, waits too.
func (k *kit) history(id string, want ...core.EventType) {
	k.t.Helper()
	require.Equal(k.t, want, k.h.Events(k.tb, id))
}

// waitedOnce holds for every store at the end of every test: whatever waits in a run
// was told to wait once, and to wait no more once, whichever call ended it (R31).
func (k *kit) waitedOnce(a core.Approval) {
	k.t.Helper()
	got := slices.DeleteFunc(k.h.Events(k.tb, a.ID), func(e core.EventType) bool { return !isWait(e) })
	asked := a.Origin == core.OriginAsk && (a.Status == core.StatusPending || a.Revision > 1)
	var want []core.EventType
	if a.RunID != "" && a.Continuation.Waits() && asked {
		if want = []core.EventType{core.EventWaitStarted}; a.Status.Terminal() {
			want = append(want, core.EventWaitEnded)
		}
	}
	require.ElementsMatch(k.t, want, got, "the waits of %s", a.ID)
}

// runWaitEvents brings waits to their end in every way that there is.
func runWaitEvents(k *kit) {
	one := k.register("instance", "boot-1")
	ends := map[core.EventType]func(id string){
		core.EventGranted:  func(id string) { k.allow(id) },
		core.EventRejected: func(id string) { k.deny(id) },
		core.EventExpired: func(id string) {
			k.advanceTo(k.read(id).ExpiresAt)
			k.read(id)
		},
		core.EventCancelled: func(id string) {
			_, err := k.Decide(k.ctx, k.withdrawal(id))
			require.NoError(k.t, err)
		},
	}
	for end, bring := range ends {
		for _, c := range []core.Continuation{core.ContinuationLive, core.ContinuationDurable} {
			a := k.create(withRun("run-1"), withInstance("instance", one.Epoch), withContinuation(c), withCards("chat-"+string(end)))
			k.history(a.ID, core.EventRequested, core.EventWaitStarted)
			bring(a.ID)
			k.history(a.ID, core.EventRequested, core.EventWaitStarted, end, core.EventWaitEnded)
			again, err := k.Decide(k.ctx, k.answer(a.ID, core.DecisionDeny))
			require.NoError(k.t, err)
			require.False(k.t, again.Applied)
			k.history(a.ID, core.EventRequested, core.EventWaitStarted, end, core.EventWaitEnded)
		}
	}
	a := k.allow(k.create(withRun("run-1"), withInstance("instance", one.Epoch)).ID)
	b := k.create(withRun("run-1"), withInstance("instance", one.Epoch))
	k.register("instance", "boot-2")
	k.history(a.ID, core.EventRequested, core.EventWaitStarted, core.EventGranted, core.EventWaitEnded, core.EventVoided)
	k.history(b.ID, core.EventRequested, core.EventWaitStarted, core.EventCancelled, core.EventWaitEnded)
}

func runWaitless(k *kit) {
	draft := k.deny(k.create(withRun("run-1"), withContinuation(core.ContinuationDraft)).ID)
	k.history(draft.ID, core.EventRequested, core.EventRejected)
	alone := k.deny(k.create().ID)
	k.history(alone.ID, core.EventRequested, core.EventRejected)
	k.history(k.create(withRun("run-1"), automatic).ID, core.EventAutoGranted)
	k.history(k.create(withRun("run-1"), unroutable).ID, core.EventRejected)
}
