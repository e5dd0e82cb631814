package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func peopleSpecs() []spec {
	return []spec{
		{"a person survives a reopen", personRoundTrip},
		{"a person's id is theirs", personTaken},
		{"changes are guarded by the revision", personGuarded},
		{"every change of standing raises the revision", personRevisions},
		{"the last enabled admin stays", personLastAdmin},
		{"an identity belongs to one person", identityTaken},
		{"identities are listed by person", identityLists},
		{"owners are replaced as a whole", ownersReplaced},
	}
}

func ptr[T any](v T) *T { return new(v) }

func (k *kit) disable(id string) core.Principal {
	k.t.Helper()
	p, err := k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: id, Disabled: new(true)})
	require.NoError(k.t, err)
	require.True(k.t, p.Disabled)
	return p
}

func (k *kit) who(id string) core.Principal {
	k.t.Helper()
	p, err := k.Principal(k.ctx, id)
	require.NoError(k.t, err)
	return p
}

func personRoundTrip(k *kit) {
	for _, role := range []core.Role{core.RoleViewer, core.RoleReviewer, core.RoleAdmin} {
		p, err := k.AddPrincipal(k.ctx, core.Principal{ID: string(role), Name: "Zo\u00eb \U0001F642 'x'", Role: role})
		require.NoError(k.t, err)
		require.Positive(k.t, p.Revision)
		require.Equal(k.t, k.now(), p.CreatedAt)
		require.Equal(k.t, role, p.Role)
		require.Equal(k.t, p, k.who(p.ID))
	}
	k.reopen()
	all, err := k.ListPrincipals(k.ctx)
	require.NoError(k.t, err)
	require.Len(k.t, all, 3)
	require.Equal(k.t, "admin", all[0].ID)
	require.Equal(k.t, "reviewer", all[1].ID)
	require.Equal(k.t, "viewer", all[2].ID)
	_, err = k.Principal(k.ctx, "nobody")
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func personTaken(k *kit) {
	first := k.person("bob", core.RoleReviewer)
	_, err := k.AddPrincipal(k.ctx, core.Principal{ID: "bob", Name: "Another", Role: core.RoleAdmin})
	require.ErrorIs(k.t, err, core.ErrIDTaken)
	require.Equal(k.t, first, k.who("bob"))
}

func personGuarded(k *kit) {
	p := k.person("bob", core.RoleReviewer)
	k.advance(1_000)
	changed, err := k.ChangePrincipal(k.ctx, core.ChangePrincipal{
		ID: "bob", Revision: p.Revision, Name: new("Robert"), Role: ptr(core.RoleViewer),
	})
	require.NoError(k.t, err)
	require.Equal(k.t, "Robert", changed.Name)
	require.Equal(k.t, core.RoleViewer, changed.Role)
	require.False(k.t, changed.Disabled, "nil fields stay")
	require.Equal(k.t, k.now(), changed.UpdatedAt)
	require.Equal(k.t, p.CreatedAt, changed.CreatedAt)
	current, err := k.ChangePrincipal(k.ctx, core.ChangePrincipal{
		ID: "bob", Revision: p.Revision, Role: ptr(core.RoleAdmin),
	})
	require.ErrorIs(k.t, err, core.ErrConflict)
	require.Equal(k.t, changed, current, "the current row comes with the error")
	require.Equal(k.t, changed, k.who("bob"))
	_, err = k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: "nobody", Disabled: new(true)})
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func personRevisions(k *kit) {
	k.person("bob", core.RoleReviewer)
	last := k.who("bob").Revision
	steps := []struct {
		name string
		do   func() error
	}{
		{"role", func() error {
			_, err := k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: "bob", Role: ptr(core.RoleViewer)})
			return err
		}},
		{"disabling", func() error {
			_, err := k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: "bob", Disabled: new(true)})
			return err
		}},
		{"enabling", func() error {
			_, err := k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: "bob", Disabled: new(false)})
			return err
		}},
		{"linking", func() error { return k.LinkIdentity(k.ctx, identity("bob", "42")) }},
		{"unlinking", func() error { return k.UnlinkIdentity(k.ctx, "telegram", "42") }},
		{"owning", func() error { return k.SetOwners(k.ctx, ownRuntime, "agent-1", []string{"bob"}) }},
		{"not owning", func() error { return k.SetOwners(k.ctx, ownRuntime, "agent-1", nil) }},
	}
	for _, step := range steps {
		require.NoError(k.t, step.do(), step.name)
		now := k.who("bob").Revision
		require.Greater(k.t, now, last, step.name)
		last = now
	}
}

func personLastAdmin(k *kit) {
	k.person("root", core.RoleAdmin)
	k.person("bob", core.RoleReviewer)
	before := k.who("root")
	for _, c := range []core.ChangePrincipal{
		{ID: "root", Disabled: new(true)}, {ID: "root", Role: ptr(core.RoleReviewer)},
	} {
		_, err := k.ChangePrincipal(k.ctx, c)
		require.ErrorIs(k.t, err, core.ErrLastAdmin)
		require.Equal(k.t, before, k.who("root"))
	}
	_, err := k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: "bob", Role: ptr(core.RoleAdmin)})
	require.NoError(k.t, err)
	k.disable("root")
	_, err = k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: "bob", Disabled: new(true)})
	require.ErrorIs(k.t, err, core.ErrLastAdmin, "a disabled admin does not count")
}

func identityTaken(k *kit) {
	k.person("bob", core.RoleReviewer)
	k.person("eve", core.RoleReviewer)
	k.link("bob", "42")
	require.ErrorIs(k.t, k.LinkIdentity(k.ctx, identity("eve", "42")), core.ErrIdentityTaken)
	found, err := k.PrincipalByIdentity(k.ctx, "telegram", "42")
	require.NoError(k.t, err)
	require.Equal(k.t, "bob", found.ID)
	relinked := identity("bob", "42")
	relinked.Label, relinked.DirectChat = "@bobby", "4242"
	require.NoError(k.t, k.LinkIdentity(k.ctx, relinked))
	elsewhere := identity("eve", "42")
	elsewhere.Realm = "slack:T1"
	require.NoError(k.t, k.LinkIdentity(k.ctx, elsewhere), "another realm's 42 is somebody else")
	require.ErrorIs(k.t, k.LinkIdentity(k.ctx, identity("nobody", "43")), core.ErrNotFound)
	for _, of := range [][2]string{{"telegram", "4"}, {"telegram", "43"}, {"discord", "42"}, {"", ""}} {
		_, err = k.PrincipalByIdentity(k.ctx, of[0], of[1])
		require.ErrorIs(k.t, err, core.ErrNotFound)
	}
	require.NoError(k.t, k.UnlinkIdentity(k.ctx, "telegram", "42"))
	require.ErrorIs(k.t, k.UnlinkIdentity(k.ctx, "telegram", "42"), core.ErrNotFound)
	k.link("eve", "42")
}

func identityLists(k *kit) {
	k.person("bob", core.RoleReviewer)
	k.person("eve", core.RoleReviewer)
	k.link("bob", "1")
	k.link("bob", "2")
	k.link("eve", "3")
	k.reopen()
	of := func(people ...string) map[string]string {
		links, err := k.IdentitiesOf(k.ctx, people...)
		require.NoError(k.t, err)
		got := map[string]string{}
		for _, l := range links {
			require.Positive(k.t, l.LinkedAt)
			require.Equal(k.t, l.ExternalID, l.DirectChat)
			require.Equal(k.t, core.FailureNone, l.Broken)
			got[l.ExternalID] = l.PrincipalID
		}
		return got
	}
	require.Equal(k.t, map[string]string{"1": "bob", "2": "bob"}, of("bob"))
	require.Equal(k.t, map[string]string{"1": "bob", "2": "bob", "3": "eve"}, of("bob", "eve"))
	require.Equal(k.t, map[string]string{"1": "bob", "2": "bob", "3": "eve"}, of())
	require.Empty(k.t, of("nobody"))
}

func ownersReplaced(k *kit) {
	for _, id := range []string{"amy", "bob", "eve"} {
		k.person(id, core.RoleReviewer)
	}
	owners := func(runtime, agent string) []string {
		got, err := k.Owners(k.ctx, runtime, agent)
		require.NoError(k.t, err)
		return got
	}
	require.Empty(k.t, owners(ownRuntime, "agent-1"))
	require.NoError(k.t, k.SetOwners(k.ctx, ownRuntime, "agent-1", []string{"bob", "amy"}))
	amy, bob, eve := k.who("amy"), k.who("bob"), k.who("eve")
	require.NoError(k.t, k.SetOwners(k.ctx, ownRuntime, "agent-1", []string{"bob", "eve"}))
	k.reopen()
	require.ElementsMatch(k.t, []string{"bob", "eve"}, owners(ownRuntime, "agent-1"))
	require.Greater(k.t, k.who("amy").Revision, amy.Revision, "lost")
	require.Greater(k.t, k.who("eve").Revision, eve.Revision, "gained")
	require.Equal(k.t, bob.Revision, k.who("bob").Revision, "kept")
	require.Empty(k.t, owners(otherRuntime, "agent-1"), "agents are named within their runtime")
	require.Empty(k.t, owners(ownRuntime, "agent-2"))
}
