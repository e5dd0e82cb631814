package sqlite

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func telegramOf(principal, id string) core.Identity {
	return core.Identity{
		Realm: "telegram", ExternalID: id, PrincipalID: principal, Label: "@" + principal,
		Channel: core.SurfaceTelegram, Account: "99", DirectChat: id,
	}
}

func TestIdentitiesRoundTrip(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	want := telegramOf("bob", "123")
	require.NoError(t, s.LinkIdentity(t.Context(), want))
	require.Equal(t, int64(2), person(t, s, "bob").Revision)
	want.LinkedAt = core.MillisOf(clock.now())

	list, err := s.IdentitiesOf(t.Context(), "bob")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]core.Identity{want}, list))

	p, err := s.PrincipalByIdentity(t.Context(), "telegram", "123")
	require.NoError(t, err)
	require.Equal(t, "bob", p.ID)

	// The same id in another realm is another account.
	_, err = s.PrincipalByIdentity(t.Context(), "discord", "123")
	require.ErrorIs(t, err, core.ErrNotFound)

	require.ErrorIs(t, s.LinkIdentity(t.Context(), telegramOf("nobody", "5")), core.ErrNotFound)
}

func TestLinkingAgainKeepsWhatTheNewLinkDoesNotKnow(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	require.NoError(t, s.LinkIdentity(t.Context(), telegramOf("bob", "123")))
	clock.advance(time.Minute)
	require.NoError(t, s.LinkIdentity(t.Context(), core.Identity{Realm: "telegram", ExternalID: "123", PrincipalID: "bob", Channel: core.SurfaceTelegram, Label: "@new"}))

	want := telegramOf("bob", "123")
	want.Label, want.LinkedAt = "@new", core.MillisOf(clock.now())
	list, err := s.IdentitiesOf(t.Context())
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]core.Identity{want}, list))
	require.Equal(t, int64(3), person(t, s, "bob").Revision)
}

func TestAnIdentityBelongsToOnePerson(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	people := []string{"ada", "bob"}
	failures := race(8, func(i int) error { return s.LinkIdentity(t.Context(), telegramOf(people[i%2], "123")) })
	require.Equal(t, 4, wins(failures)) // Everyone who linked to the same person as the first.
	require.ErrorIs(t, errors.Join(failures...), core.ErrIdentityTaken)
}

func TestUnlinkIdentity(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	require.NoError(t, s.LinkIdentity(t.Context(), telegramOf("bob", "123")))
	require.NoError(t, s.UnlinkIdentity(t.Context(), "telegram", "123"))
	require.Equal(t, int64(3), person(t, s, "bob").Revision)
	_, err := s.PrincipalByIdentity(t.Context(), "telegram", "123")
	require.ErrorIs(t, err, core.ErrNotFound)
	require.ErrorIs(t, s.UnlinkIdentity(t.Context(), "telegram", "123"), core.ErrNotFound)

	// The account is free for somebody else now.
	require.NoError(t, s.LinkIdentity(t.Context(), telegramOf("ada", "123")))
}

func TestIdentitiesOfSomeOrAll(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	require.NoError(t, s.LinkIdentity(t.Context(), telegramOf("bob", "2")))
	require.NoError(t, s.LinkIdentity(t.Context(), telegramOf("bob", "1")))
	require.NoError(t, s.LinkIdentity(t.Context(), telegramOf("ada", "3")))

	tests := []struct {
		name string
		of   []string
		want []string
	}{
		{"all", nil, []string{"3", "1", "2"}},
		{"one", []string{"bob"}, []string{"1", "2"}},
		{"both, twice", []string{"bob", "ada", "bob"}, []string{"3", "1", "2"}},
		{"nobody", []string{`no"body`}, nil},
	}
	for _, test := range tests {
		list, err := s.IdentitiesOf(t.Context(), test.of...)
		require.NoError(t, err)
		var got []string
		for _, i := range list {
			got = append(got, i.ExternalID)
		}
		require.Equal(t, test.want, got, test.name)
	}
}

func TestOwnersGainedOrLostGetANewRevision(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	addPerson(t, s, "eve", core.RoleReviewer)
	revisions := func() [3]int64 {
		return [3]int64{person(t, s, "ada").Revision, person(t, s, "bob").Revision, person(t, s, "eve").Revision}
	}
	steps := []struct {
		owners    []string
		err       error
		want      []string
		revisions [3]int64
	}{
		{[]string{"eve", "bob", "eve"}, nil, []string{"bob", "eve"}, [3]int64{1, 2, 2}},
		{[]string{"bob", "ada"}, nil, []string{"ada", "bob"}, [3]int64{2, 2, 3}},
		{[]string{"bob", "ada"}, nil, []string{"ada", "bob"}, [3]int64{2, 2, 3}},
		{[]string{"eve", "nobody"}, core.ErrNotFound, []string{"ada", "bob"}, [3]int64{2, 2, 3}},
		{nil, nil, nil, [3]int64{3, 3, 3}},
	}
	for _, step := range steps {
		require.ErrorIs(t, s.SetOwners(t.Context(), "local", "deployer", step.owners), step.err)
		owners, err := s.Owners(t.Context(), "local", "deployer")
		require.NoError(t, err)
		require.Equal(t, step.want, owners)
		require.Equal(t, step.revisions, revisions())
	}
}

func TestAgentsOfOtherRuntimesHaveTheirOwnOwners(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	require.NoError(t, s.SetOwners(t.Context(), "local", "deployer", []string{"bob"}))
	owners, err := s.Owners(t.Context(), "remote", "deployer")
	require.NoError(t, err)
	require.Empty(t, owners)
}
