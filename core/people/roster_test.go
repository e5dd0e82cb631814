package people_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/people"
)

const rosterFile = `{
  "people": [
    {"id": "ada", "name": "Ada", "role": "admin", "identities": [{"realm": "telegram", "id": "1"}]},
    {"id": "bob", "name": "Bob", "role": "reviewer", "identities": [{"realm": "slack:T1", "id": "U1"}, {"realm": "discord", "id": "3"}]},
    {"id": "vic", "name": "Vic", "role": "viewer", "disabled": true}
  ],
  "agents": [{"runtime": "local", "agent": "deployer", "owners": ["bob"]}]
}`

func decode(t *testing.T, file string) people.Roster {
	t.Helper()
	r, err := people.DecodeRoster(strings.NewReader(file))
	require.NoError(t, err)
	return r
}

func kinds(changes []people.Change) []people.ChangeKind {
	var list []people.ChangeKind
	for _, c := range changes {
		list = append(list, c.Kind)
	}
	return list
}

func TestARosterAppliedTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := decode(t, rosterFile)
	planned, err := b.PlanRoster(t.Context(), operator, r)
	require.NoError(t, err)
	require.Empty(t, b.store.people, "a plan changes nothing")

	made, err := b.Apply(t.Context(), operator, r)
	require.NoError(t, err)
	require.Equal(t, planned, made)
	require.Equal(t, []people.ChangeKind{"add", "add", "add", "link", "link", "link", "owners", "update"}, kinds(made))
	require.True(t, b.store.people["vic"].Disabled)
	require.Equal(t, "bob", b.store.identities[[2]string{"slack:T1", "U1"}].PrincipalID)
	require.Equal(t, []string{"bob"}, b.store.owners[[2]string{"local", "deployer"}])

	made, err = b.Apply(t.Context(), operator, r)
	require.NoError(t, err)
	require.Empty(t, made)
}

func TestARosterChangesWhatDiffers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Apply(t.Context(), operator, decode(t, rosterFile))
	require.NoError(t, err)
	b.add(t, "eve", core.RoleReviewer)

	// The admin hands over, an account moves to another person, a list is emptied,
	// one is left alone, and whoever is not named goes.
	made, err := b.Apply(t.Context(), operator, decode(t, `{
	  "people": [
	    {"id": "ada", "name": "Ada", "role": "viewer", "identities": []},
	    {"id": "bob", "name": "Robert", "role": "admin"},
	    {"id": "vic", "name": "Vic", "role": "viewer", "identities": [{"realm": "telegram", "id": "1"}]}
	  ],
	  "agents": [{"runtime": "local", "agent": "deployer", "owners": []}],
	  "exhaustive": true
	}`))
	require.NoError(t, err)
	require.Equal(t, []people.ChangeKind{"update", "unlink", "link", "owners", "update", "update", "disable"}, kinds(made))
	require.Equal(t, "bob", made[0].PersonID, "who becomes admin comes first")
	require.Equal(t, core.RoleViewer, b.store.people["ada"].Role)
	require.Equal(t, "Robert", b.store.people["bob"].Name)
	require.False(t, b.store.people["vic"].Disabled)
	require.True(t, b.store.people["eve"].Disabled)
	require.Equal(t, "vic", b.store.identities[[2]string{"telegram", "1"}].PrincipalID)
	require.Contains(t, b.store.identities, [2]string{"discord", "3"}, "links that the file does not list stay")
	require.Empty(t, b.store.owners[[2]string{"local", "deployer"}])
}

func TestARosterCannotRemoveTheLastAdmin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add(t, "ada", core.RoleAdmin)
	made, err := b.Apply(t.Context(), operator, decode(t, `{"people": [{"id": "bob", "name": "Bob", "role": "reviewer"}], "exhaustive": true}`))
	require.ErrorIs(t, err, core.ErrLastAdmin)
	require.Equal(t, []people.ChangeKind{"add"}, kinds(made), "what was made before stands and is told")
	require.False(t, b.store.people["ada"].Disabled)
}

func TestABadRosterChangesNothing(t *testing.T) {
	t.Parallel()
	person := func(fields string) string {
		return `{"people": [{"id": "new", "name": "N", "role": "viewer"}, {` + fields + `}]}`
	}
	for name, file := range map[string]string{
		"no id":           person(`"name": "N", "role": "viewer"`),
		"id":              person(`"id": "UPPER", "name": "N", "role": "viewer"`),
		"twice":           person(`"id": "new", "name": "N", "role": "viewer"`),
		"name":            person(`"id": "b", "role": "viewer"`),
		"role":            person(`"id": "b", "name": "N", "role": "owner"`),
		"realm":           person(`"id": "b", "name": "N", "role": "viewer", "identities": [{"realm": "irc", "id": "1"}]`),
		"account":         person(`"id": "b", "name": "N", "role": "viewer", "identities": [{"realm": "telegram", "id": "@name"}]`),
		"account twice":   person(`"id": "b", "name": "N", "role": "viewer", "identities": [{"realm": "telegram", "id": "1"}, {"realm": "telegram", "id": "1"}]`),
		"agent's runtime": `{"people": [{"id": "new", "name": "N", "role": "viewer"}], "agents": [{"runtime": "Local", "agent": "a", "owners": []}]}`,
		"agent's owners":  `{"people": [{"id": "new", "name": "N", "role": "viewer"}], "agents": [{"runtime": "local", "agent": "a", "owners": ["UPPER"]}]}`,
	} {
		b := setup(t)
		_, err := b.Apply(t.Context(), operator, decode(t, file))
		require.ErrorIs(t, err, core.ErrInvalid, name)
		require.Empty(t, b.store.people, name)
	}
}

func TestDecodeRosterRefuses(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"unknown field":  `{"people": [{"id": "a", "nickname": "s3cret"}]}`,
		"wrong type":     `{"people": "s3cret"}`,
		"two objects":    `{"people": []} {"people": []}`,
		"not JSON":       `people: s3cret`,
		"nothing":        ``,
		"more than 1 MB": `{"people": [` + strings.Repeat(" ", 1<<20) + `]}`,
	} {
		_, err := people.DecodeRoster(strings.NewReader(file))
		require.ErrorIs(t, err, core.ErrInvalid, name)
		require.NotContains(t, err.Error(), "s3cret", name)
	}
}

func TestARosterGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add(t, "zoe", core.RoleAdmin)
	require.NoError(t, b.LinkIdentity(t.Context(), operator, core.Identity{Realm: "discord", ExternalID: "3", PrincipalID: "zoe"}))
	r := decode(t, rosterFile)
	made, err := b.Apply(t.Context(), operator, r)
	require.ErrorIs(t, err, core.ErrIdentityTaken)
	require.NoError(t, b.UnlinkIdentity(t.Context(), operator, "discord", "3"))
	rest, err := b.Apply(t.Context(), operator, r)
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(rest, func(c people.Change) bool { return c.Kind == people.ChangeAdd }))
	require.Len(t, append(made, rest...), 8)
}
