package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// K34: a person lets what somebody declined be asked again; whoever is first is
// recorded, and the answer stays what it was.
func TestADeclineIsReopenedOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.declined()
	_, ok, err := k.service.Reopened(t.Context(), a.ID)
	require.NoError(t, err)
	require.False(t, ok)

	done, err := k.service.Reopen(t.Context(), k.owner, a.ID)
	require.NoError(t, err)
	require.Equal(t, "Name of olga", done.Name)
	require.Empty(t, done.By, "R156")
	require.NotEmpty(t, k.hints.take())
	again, err := k.service.Reopen(t.Context(), k.admin, a.ID)
	require.NoError(t, err)
	require.Equal(t, "olga", again.By)
	was, ok, err := k.service.Reopened(t.Context(), a.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, again, was)

	state, err := k.store.PolicyState(t.Context(), core.PolicyQuery{Runtime: "agents", Agent: "books", ActionHash: a.ActionHash})
	require.NoError(t, err)
	require.Empty(t, state.Declined)
	stands, err := k.store.Approval(t.Context(), core.Lookup{ID: a.ID})
	require.NoError(t, err)
	require.Equal(t, core.StatusDenied, stands.Status)
}

// K34: whoever may not decide re-opens nothing, and what is no person's decline cannot
// be re-opened.
func TestWhoMayReopen(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.declined()
	for name, who := range k.nobodies() {
		_, err := k.service.Reopen(t.Context(), who.caller, a.ID)
		require.ErrorIs(t, err, who.want, name)
	}
	_, ok, err := k.service.Reopened(t.Context(), a.ID)
	require.NoError(t, err)
	require.False(t, ok)
	_, err = k.service.Reopen(t.Context(), k.admin, k.ask().ID)
	require.ErrorIs(t, err, core.ErrConflict)
	_, err = k.service.Reopen(t.Context(), k.admin, "unknown")
	require.ErrorIs(t, err, core.ErrNotFound)
}
