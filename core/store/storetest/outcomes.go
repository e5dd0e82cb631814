package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func outcomeSpecs() []spec {
	return []spec{
		{"R86 R108 what may have happened is dismissed once, by a person who may", dismissOnce},
		{"only what may have happened can be dismissed", dismissNothing},
		{"a person who lost the right does nothing about an outcome", actUnguarded},
		{"K3 a new request is asked for once, and its runtime hears of it", askAgainOnce},
		{"K3 R109 which outcomes can be asked for again", askAgainWhich},
		{"nobody asks where no runtime listens", askAgainUnheard},
		{"K34 asking for a declined draft again ends the answer to the same action", askAgainReopens},
		{"what is done about an outcome moves the card and no outcome", actsMoveCards},
	}
}

// silent makes an approval whose runner fell silent.
func (k *kit) silent(edits ...edit) core.Approval {
	k.t.Helper()
	a := k.claim(k.allow(k.create(edits...).ID), "token")
	got, err := k.Report(k.ctx, core.Report{ID: a.ID, Runtime: a.Runtime, Outcome: core.ExecutionUnknown})
	require.NoError(k.t, err)
	require.True(k.t, got.MayHaveHappened())
	return got
}

// by is an act of a person with the rights that they have now.
func (k *kit) by(p core.Principal, id string) core.ActOn {
	return core.ActOn{ID: id, By: p.ID, Name: p.Name, Guard: core.Guard{PersonID: p.ID, PersonRevision: p.Revision}}
}

// listen lets the runtime ask for the updates of the usual agent, and throws them away.
func (k *kit) listen() {
	k.t.Helper()
	_, err := k.ClaimUpdates(k.ctx, claimUpdates("a listener's token"))
	require.NoError(k.t, err)
	_, err = k.AckUpdates(k.ctx, ackUpdates("a listener's token"))
	require.NoError(k.t, err)
}

func dismissOnce(k *kit) {
	alice, bob := k.person("alice", core.RoleReviewer), k.person("bob", core.RoleAdmin)
	a := k.silent()
	require.True(k.t, a.Dismissable())
	k.advance(1_000)
	got, err := k.DismissOutcome(k.ctx, k.by(alice, a.ID))
	require.NoError(k.t, err)
	require.Equal(k.t, &core.Aftermath{Dismissed: &core.Act{By: "alice", Name: alice.Name, At: k.now()}}, got.Aftermath)
	require.False(k.t, got.Dismissable())
	require.Equal(k.t, a.Revision+1, got.Revision)
	k.reopen()
	k.same(got, k.read(a.ID))
	for _, p := range []core.Principal{alice, bob} {
		k.advance(1_000)
		again, err := k.DismissOutcome(k.ctx, k.by(p, a.ID))
		require.NoError(k.t, err)
		k.same(got, again)
	}
	k.events(a.ID, core.EventRequested, core.EventGranted, core.EventConsumed, core.EventOutcome, core.EventDismissed)
}

func dismissNothing(k *kit) {
	alice := k.person("alice", core.RoleAdmin)
	done := k.claim(k.allow(k.create().ID), "token")
	_, err := k.Report(k.ctx, reportOf(done, "token", core.ExecutionFailed))
	require.NoError(k.t, err)
	for _, id := range []string{
		k.create().ID, k.deny(k.create().ID).ID, k.allow(k.create().ID).ID, k.claim(k.allow(k.create().ID), "token").ID, done.ID,
	} {
		before := k.read(id)
		got, err := k.DismissOutcome(k.ctx, k.by(alice, id))
		require.ErrorIs(k.t, err, core.ErrConflict)
		k.same(before, got)
		k.same(before, k.read(id))
	}
	_, err = k.DismissOutcome(k.ctx, k.by(alice, "01890000-0000-7000-8000-00000000ffff"))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.DismissOutcome(k.ctx, core.ActOn{ID: done.ID})
	require.ErrorIs(k.t, err, core.ErrInvalid)
}

func actUnguarded(k *kit) {
	alice := k.person("alice", core.RoleReviewer)
	k.listen()
	a := k.silent()
	disabled := true
	_, err := k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: "alice", Disabled: &disabled})
	require.NoError(k.t, err)
	_, err = k.DismissOutcome(k.ctx, k.by(alice, a.ID))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.AskAgain(k.ctx, k.by(alice, a.ID))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	k.same(a, k.read(a.ID))
}

func askAgainOnce(k *kit) {
	alice, bob := k.person("alice", core.RoleReviewer), k.person("bob", core.RoleReviewer)
	k.listen()
	a := k.silent()
	_, err := k.DismissOutcome(k.ctx, k.by(bob, a.ID))
	require.NoError(k.t, err)
	got, err := k.AskAgain(k.ctx, k.by(alice, a.ID))
	require.NoError(k.t, err)
	require.Equal(k.t, "alice", got.Aftermath.AskedAgain.By)
	require.Equal(k.t, "bob", got.Aftermath.Dismissed.By, "one act leaves the other")
	k.advance(core.ListenWindow) // Nobody listens any more; what was asked was asked.
	_, err = k.Prune(k.ctx, 10)
	require.NoError(k.t, err)
	again, err := k.AskAgain(k.ctx, k.by(bob, a.ID))
	require.NoError(k.t, err)
	k.same(got, again)
	b := k.claimUpdates("token of a runtime", core.UpdateAskAgain)
	require.Len(k.t, b.Updates, 1)
	k.same(got, b.Updates[0].Approval)
	k.events(a.ID, core.EventRequested, core.EventGranted, core.EventConsumed, core.EventOutcome, core.EventDismissed, core.EventAskedAgain)
}

func askAgainWhich(k *kit) {
	alice := k.person("alice", core.RoleReviewer)
	k.listen()
	draft := withContinuation(core.ContinuationDraft)
	expired := func(edits ...edit) core.Approval {
		a := k.create(append(edits, expiresIn(core.MinExpiry))...)
		k.advance(core.MinExpiry)
		return k.read(a.ID)
	}
	lapsed := k.allow(k.create(draft).ID)
	k.advanceTo(lapsed.ClaimBy)
	_, err := k.Sweep(k.ctx, 10)
	require.NoError(k.t, err)
	k.listen()
	withdrawn, err := k.Decide(k.ctx, k.withdrawal(k.create(draft).ID))
	require.NoError(k.t, err)
	for what, c := range map[string]struct {
		a  core.Approval
		is bool
	}{
		"a turn that fell silent":    {k.silent(), true},
		"a draft that fell silent":   {k.silent(draft), true},
		"a declined draft":           {k.deny(k.create(draft).ID), true},
		"an expired draft":           {expired(draft), true},
		"a draft that nobody ran":    {k.read(lapsed.ID), true},
		"a declined turn":            {k.deny(k.create().ID), false},
		"an expired turn":            {expired(), false},
		"a pending draft":            {k.create(draft), false},
		"an allowed draft":           {k.allow(k.create(draft).ID), false},
		"a withdrawn draft":          {withdrawn.Approval, false},
		"an unroutable draft":        {k.create(draft, unroutable), false},
		"a turn that survives, no":   {k.deny(k.create(withContinuation(core.ContinuationDurable)).ID), false},
		"a turn that survives, late": {expired(withContinuation(core.ContinuationDurable)), false},
	} {
		require.Equal(k.t, c.is, c.a.AskableAgain(), what)
		_, err := k.AskAgain(k.ctx, k.by(alice, c.a.ID))
		if c.is {
			require.NoError(k.t, err, what)
			require.False(k.t, again(k.read(c.a.ID)), what)
		} else {
			require.ErrorIs(k.t, err, core.ErrConflict, what)
			k.same(c.a, k.read(c.a.ID))
		}
	}
}

func again(a core.Approval) bool { return a.AskableAgain() }

func askAgainUnheard(k *kit) {
	alice := k.person("alice", core.RoleReviewer)
	a := k.silent()
	hears := func(a core.Approval, want bool) {
		k.t.Helper()
		got, err := k.Listens(k.ctx, &a)
		require.NoError(k.t, err)
		require.Equal(k.t, want, got)
	}
	refused := func() {
		k.t.Helper()
		hears(a, false)
		got, err := k.AskAgain(k.ctx, k.by(alice, a.ID))
		require.ErrorIs(k.t, err, core.ErrNotOffered)
		k.same(a, got)
		k.same(a, k.read(a.ID))
	}
	refused()
	for _, c := range []core.ClaimUpdates{
		{Runtime: otherRuntime, Agent: "agent-1", TokenHash: tokenHash("x")}, {Runtime: ownRuntime, Agent: "agent-2", TokenHash: tokenHash("x")},
	} {
		_, err := k.ClaimUpdates(k.ctx, c)
		require.NoError(k.t, err)
	}
	refused()
	k.listen()
	hears(a, true)
	k.advance(core.ListenWindow - 1)
	hears(a, true)
	k.advance(1)
	refused()
	called := k.silent(withCallback("https://hooks.example.com/sayso"))
	hears(called, true)
	_, err := k.AskAgain(k.ctx, k.by(alice, called.ID))
	require.NoError(k.t, err)
}

func askAgainReopens(k *kit) {
	alice := k.person("alice", core.RoleReviewer)
	k.listen()
	a := k.deny(k.create(withContinuation(core.ContinuationDraft)).ID)
	_, err := k.ReadReopened(k.ctx, a.ID)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.AskAgain(k.ctx, k.by(alice, a.ID))
	require.NoError(k.t, err)
	got, err := k.ReadReopened(k.ctx, a.ID)
	require.NoError(k.t, err)
	require.Equal(k.t, "alice", got.By)
}

func actsMoveCards(k *kit) {
	alice := k.person("alice", core.RoleReviewer)
	k.listen()
	a := k.create(withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	a = k.claim(k.allow(a.ID), "token")
	a, err := k.Report(k.ctx, core.Report{ID: a.ID, Runtime: a.Runtime, Outcome: core.ExecutionUnknown})
	require.NoError(k.t, err)
	require.Equal(k.t, core.DeliveryClosed, k.finish(k.due(1)[0]).State)
	for _, do := range []func() (core.Approval, error){
		func() (core.Approval, error) { return k.DismissOutcome(k.ctx, k.by(alice, a.ID)) },
		func() (core.Approval, error) { return k.AskAgain(k.ctx, k.by(alice, a.ID)) },
	} {
		got, err := do()
		require.NoError(k.t, err)
		require.Equal(k.t, a.Resolution, got.Resolution)
		require.Equal(k.t, a.Grant, got.Grant)
		require.Equal(k.t, a.CardRevision+1, got.CardRevision)
		require.Equal(k.t, core.DeliveryClosed, k.finish(k.due(1)[0]).State, "its card is told")
		a = got
	}
}
