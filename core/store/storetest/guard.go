package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func guardSpecs() []spec {
	return []spec{
		{"the guarded person decides", guardHolds},
		{"C52 a changed role refuses", guardRole},
		{"C52 C57 a disabled person is refused", guardDisabled},
		{"C52 lost ownership refuses", guardOwner},
		{"a changed identity refuses", guardIdentity},
		{"an unknown person is refused", guardUnknown},
		{"a refused guard leaves no trace", guardNoTrace},
	}
}

func guarded(c core.Decide, p core.Principal) core.Decide {
	c.Guard = core.Guard{PersonID: p.ID, PersonRevision: p.Revision}
	c.To.ResolverID, c.To.ResolverName = p.ID, p.Name
	return c
}

func guardHolds(k *kit) {
	p := k.person("bob", core.RoleReviewer)
	made := k.create(withReviewers("bob"))
	got, err := k.Decide(k.ctx, guarded(k.answer(made.ID, core.DecisionAllowOnce), p))
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	require.Equal(k.t, "bob", got.Approval.ResolverID)
}

// refused requires that the person's answer is not found and nothing changed.
func (k *kit) refused(p core.Principal, made core.Approval) {
	k.t.Helper()
	got, err := k.Decide(k.ctx, guarded(k.answer(made.ID, core.DecisionAllowOnce), p))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	require.False(k.t, got.Applied)
	require.Empty(k.t, got.Approval.ID, "C46: what is not found is not shown")
	k.same(made, k.read(made.ID))
	k.events(made.ID, core.EventRequested)
}

func guardRole(k *kit) {
	p := k.person("bob", core.RoleReviewer)
	made := k.create(withReviewers("bob"))
	role := core.RoleViewer
	changed, err := k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: "bob", Role: &role})
	require.NoError(k.t, err)
	require.Greater(k.t, changed.Revision, p.Revision)
	k.refused(p, made)
}

func guardDisabled(k *kit) {
	p := k.person("bob", core.RoleReviewer)
	made := k.create(withReviewers("bob"))
	k.disable("bob")
	k.refused(p, made)
	// Even a caller that read the newest revision gets nowhere.
	newest, err := k.Principal(k.ctx, "bob")
	require.NoError(k.t, err)
	k.refused(newest, made)
}

func guardOwner(k *kit) {
	p := k.person("bob", core.RoleReviewer)
	require.NoError(k.t, k.SetOwners(k.ctx, ownRuntime, "agent-1", []string{"bob"}))
	owner, err := k.Principal(k.ctx, "bob")
	require.NoError(k.t, err)
	require.Greater(k.t, owner.Revision, p.Revision)
	made := k.create()
	require.NoError(k.t, k.SetOwners(k.ctx, ownRuntime, "agent-1", nil))
	k.refused(owner, made)
}

func guardIdentity(k *kit) {
	k.person("bob", core.RoleReviewer)
	k.link("bob", "42")
	p, err := k.Principal(k.ctx, "bob")
	require.NoError(k.t, err)
	made := k.create(withReviewers("bob"))
	require.NoError(k.t, k.UnlinkIdentity(k.ctx, "telegram", "42"))
	k.refused(p, made)
}

func guardUnknown(k *kit) {
	made := k.create()
	k.refused(core.Principal{ID: "nobody", Revision: 1}, made)
}

func guardNoTrace(k *kit) {
	p := k.person("bob", core.RoleReviewer)
	made := k.create(withReviewers("bob"), withCards("chat-1"))
	k.show(k.due(1)[0], "message-1")
	k.disable("bob")
	k.refused(p, k.read(made.ID))
	require.Zero(k.t, k.delivery(made.ID, 0).DueAt)
	require.Equal(k.t, core.StatusAllowed, k.allow(made.ID).Status, "the row still waits for somebody else")
}
