package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// peopleStore is a running store with an admin "ada" and a reviewer "bob".
func peopleStore(t *testing.T) (*Store, *testClock) {
	t.Helper()
	clock := newTestClock()
	s := runStore(t, testConfig(t, clock))
	addPerson(t, s, "ada", core.RoleAdmin)
	addPerson(t, s, "bob", core.RoleReviewer)
	return s, clock
}

func addPerson(t *testing.T, s *Store, id string, role core.Role) core.Principal {
	t.Helper()
	p, err := s.AddPrincipal(t.Context(), core.Principal{ID: id, Name: "Name of " + id, Role: role})
	require.NoError(t, err)
	return p
}

func person(t *testing.T, s *Store, id string) core.Principal {
	t.Helper()
	p, err := s.Principal(t.Context(), id)
	require.NoError(t, err)
	return p
}

func ptr[T any](v T) *T { return new(v) }

// race runs fn n times at once and returns the errors.
func race(n int, fn func(i int) error) []error {
	failures := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { failures[i] = fn(i) })
	}
	group.Wait()
	return failures
}

func wins(failures []error) int {
	n := 0
	for _, err := range failures {
		if err == nil {
			n++
		}
	}
	return n
}

func TestPrincipalsRoundTrip(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	now := core.MillisOf(clock.now())

	added, err := s.AddPrincipal(t.Context(), core.Principal{ID: "zoe", Name: "Zoë 🦊", Role: core.RoleViewer, Revision: 9, CreatedAt: 1})
	require.NoError(t, err)
	want := core.Principal{ID: "zoe", Name: "Zoë 🦊", Role: core.RoleViewer, Revision: 1, CreatedAt: now, UpdatedAt: now}
	require.Empty(t, cmp.Diff(want, added))
	require.Empty(t, cmp.Diff(want, person(t, s, "zoe")))

	_, err = s.AddPrincipal(t.Context(), core.Principal{ID: "zoe", Name: "Another", Role: core.RoleAdmin})
	require.ErrorIs(t, err, core.ErrIDTaken)
	require.Empty(t, cmp.Diff(want, person(t, s, "zoe")))

	_, err = s.Principal(t.Context(), "nobody")
	require.ErrorIs(t, err, core.ErrNotFound)

	list, err := s.ListPrincipals(t.Context())
	require.NoError(t, err)
	var ids []string
	for _, p := range list {
		ids = append(ids, p.ID)
	}
	require.Equal(t, []string{"ada", "bob", "zoe"}, ids)
}

func TestChangePrincipal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change core.ChangePrincipal
		want   func(p *core.Principal) // From bob as he was.
		err    error
	}{
		{"name", core.ChangePrincipal{ID: "bob", Name: new("Robert")}, func(p *core.Principal) { p.Name = "Robert" }, nil},
		{"role", core.ChangePrincipal{ID: "bob", Role: ptr(core.RoleViewer)}, func(p *core.Principal) { p.Role = core.RoleViewer }, nil},
		{"disable", core.ChangePrincipal{ID: "bob", Disabled: new(true)}, func(p *core.Principal) { p.Disabled = true }, nil},
		{
			"all at the right revision",
			core.ChangePrincipal{ID: "bob", Revision: 1, Name: new("B"), Role: ptr(core.RoleAdmin), Disabled: new(true)},
			func(p *core.Principal) { p.Name, p.Role, p.Disabled = "B", core.RoleAdmin, true }, nil,
		},
		{"nothing new", core.ChangePrincipal{ID: "bob", Role: ptr(core.RoleReviewer)}, nil, nil},
		{"an old revision", core.ChangePrincipal{ID: "bob", Revision: 7, Name: new("B")}, nil, core.ErrConflict},
		{"nobody", core.ChangePrincipal{ID: "nobody", Name: new("B")}, nil, core.ErrNotFound},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, clock := peopleStore(t)
			want := person(t, s, "bob")
			clock.advance(time.Second)
			if test.want != nil {
				test.want(&want)
				want.Revision, want.UpdatedAt = 2, core.MillisOf(clock.now())
			}
			got, err := s.ChangePrincipal(t.Context(), test.change)
			require.ErrorIs(t, err, test.err)
			if !errors.Is(err, core.ErrNotFound) { // A conflict carries the current row.
				require.Empty(t, cmp.Diff(want, got))
			}
			require.Empty(t, cmp.Diff(want, person(t, s, "bob")))
		})
	}
}

func TestTheLastAdminStays(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	for _, c := range []core.ChangePrincipal{
		{ID: "ada", Disabled: new(true)},
		{ID: "ada", Role: ptr(core.RoleReviewer)},
		{ID: "ada", Role: ptr(core.RoleViewer), Name: new("A")},
	} {
		got, err := s.ChangePrincipal(t.Context(), c)
		require.ErrorIs(t, err, core.ErrLastAdmin)
		require.Equal(t, core.RoleAdmin, got.Role)
	}
	require.Equal(t, int64(1), person(t, s, "ada").Revision)

	// A disabled admin is no other admin.
	addPerson(t, s, "eve", core.RoleAdmin)
	_, err := s.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: "eve", Disabled: new(true)})
	require.NoError(t, err)
	_, err = s.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: "ada", Disabled: new(true)})
	require.ErrorIs(t, err, core.ErrLastAdmin)

	// A disabled admin may be demoted, whatever the others are.
	_, err = s.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: "eve", Role: ptr(core.RoleViewer)})
	require.NoError(t, err)
}

func TestTwoAdminsThatDemoteEachOtherLeaveOne(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	addPerson(t, s, "eve", core.RoleAdmin)
	failures := race(2, func(i int) error {
		_, err := s.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: []string{"ada", "eve"}[i], Role: ptr(core.RoleViewer)})
		return err
	})
	require.Equal(t, 1, wins(failures))
	require.ErrorIs(t, errors.Join(failures...), core.ErrLastAdmin)
}

func TestOneOfManyChangesAtARevisionWins(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	failures := race(16, func(i int) error {
		c := core.ChangePrincipal{ID: "bob", Revision: 1, Disabled: new(true)}
		if i%2 == 0 {
			c = core.ChangePrincipal{ID: "bob", Revision: 1, Role: ptr(core.RoleViewer)}
		}
		_, err := s.ChangePrincipal(t.Context(), c)
		return err
	})
	require.Equal(t, 1, wins(failures))
	for _, err := range failures {
		if err != nil {
			require.ErrorIs(t, err, core.ErrConflict)
		}
	}
	require.Equal(t, int64(2), person(t, s, "bob").Revision)
}

func TestDisablingEndsSessionsAndCodes(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	startSessionOf(t, s, "bob", "b1")
	startSessionOf(t, s, "bob", "b2")
	startSessionOf(t, s, "ada", "a1")
	issueCodeOf(t, s, core.CodePair, "bob", "code")

	_, err := s.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: "bob", Disabled: new(true)})
	require.NoError(t, err)
	for _, hash := range []string{"b1", "b2"} {
		_, _, err := s.SessionByHash(t.Context(), hash)
		require.ErrorIs(t, err, core.ErrNotFound)
	}
	_, _, err = s.SessionByHash(t.Context(), "a1")
	require.NoError(t, err)

	// Enabling again brings neither back.
	_, err = s.ChangePrincipal(t.Context(), core.ChangePrincipal{ID: "bob", Disabled: new(false)})
	require.NoError(t, err)
	_, _, err = s.SessionByHash(t.Context(), "b1")
	require.ErrorIs(t, err, core.ErrNotFound)
	_, _, err = s.RedeemPair(t.Context(), "code", core.Session{ID: "s", Hash: "s", Kind: core.SessionCLI}, core.SessionLife)
	require.ErrorIs(t, err, core.ErrCodeInvalid)
}

func TestAnEndedContextRecordsNothing(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.AddPrincipal(ctx, core.Principal{ID: "zoe", Name: "Z", Role: core.RoleViewer})
	require.ErrorIs(t, err, core.ErrUnavailable)
	_, err = s.Principal(t.Context(), "zoe")
	require.ErrorIs(t, err, core.ErrNotFound)
}
