package storetest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func identitySpecs() []spec {
	return []spec{
		{"C5 ids are opaque", identityOpaque},
		{"C6 ids and refs never answer for each other", identityNamespaces},
		{"C10 the longest id resolves through its ref", identityLongest},
		{"C11 a ref behaves like the id", identityRef},
		{"C46 what does not exist is not found", identityUnknown},
		{"runtimes do not share given ids", identityPerRuntime},
	}
}

func (k *kit) given(runtime, given string) string {
	k.t.Helper()
	id, err := core.GivenID(runtime, given)
	require.NoError(k.t, err)
	return id
}

func identityOpaque(k *kit) {
	givens := []string{
		"x", "X", " x", "x ", "\ufeffx", "x\ufeff", "\u00a0x", "x\u00a0", "\u200bx", "e\u0301", "\u00e9",
		"x.js", "x/y", "x%2Fy", "x'y", `x"y`, "x--y", "%", "_", "\U0001F9EA",
	}
	for _, given := range givens {
		k.create(withID(k.given(ownRuntime, given)))
	}
	k.reopen()
	for _, given := range givens {
		id := k.given(ownRuntime, given)
		require.Equal(k.t, id, k.read(id).ID)
	}
	page, err := k.List(k.ctx, core.ListQuery{Runtime: ownRuntime})
	require.NoError(k.t, err)
	require.Len(k.t, page.Approvals, len(givens))
	k.gone(k.given(ownRuntime, "x  "))
}

func identityNamespaces(k *kit) {
	first := k.create()
	// A given id spelled like the ref of another row, and the other way round.
	late := k.create(withID(k.given(ownRuntime, first.Ref)))
	early := k.create(withID(k.given(ownRuntime, core.ResolutionRef(core.KindPlugin, "01890000-0000-7000-8000-00000000000f"))))
	second := k.create(withID("01890000-0000-7000-8000-00000000000f"))
	for _, a := range []core.Approval{first, late, early, second} {
		require.Equal(k.t, a.ID, k.read(a.ID).ID)
		byRef, err := k.Approval(k.ctx, core.Lookup{Ref: a.Ref})
		require.NoError(k.t, err)
		require.Equal(k.t, a.ID, byRef.ID)
		_, err = k.Approval(k.ctx, core.Lookup{ID: a.Ref})
		require.ErrorIs(k.t, err, core.ErrNotFound)
		_, err = k.Approval(k.ctx, core.Lookup{Ref: a.ID})
		require.ErrorIs(k.t, err, core.ErrNotFound)
	}
}

func identityLongest(k *kit) {
	longest := []string{
		strings.Repeat("x", core.MaxGivenID),
		strings.Repeat("\U0001F9EA", core.MaxGivenID/4),
		strings.Repeat("x", core.MaxGivenID-1),
	}
	runtime := strings.Repeat("r", core.MaxRuntimeName)
	for _, given := range longest {
		made := k.create(withRuntime(runtime), withID(k.given(runtime, given)))
		byRef, err := k.Approval(k.ctx, core.Lookup{Ref: made.Ref})
		require.NoError(k.t, err)
		k.same(made, byRef)
	}
}

func identityRef(k *kit) {
	made := k.create()
	byRef, err := k.Approval(k.ctx, core.Lookup{Ref: made.Ref})
	require.NoError(k.t, err)
	k.same(k.read(made.ID), byRef)

	k.advanceTo(made.ExpiresAt)
	byRef, err = k.Approval(k.ctx, core.Lookup{Ref: made.Ref})
	require.NoError(k.t, err)
	require.Equal(k.t, core.StatusExpired, byRef.Status, "a read by ref applies the deadline too")
	k.same(byRef, k.read(made.ID))
}

func identityUnknown(k *kit) {
	made := k.create()
	for _, id := range []string{"", ".", "..", "%", made.ID[:len(made.ID)-1], made.ID + " ", strings.ToUpper(made.ID) + "X"} {
		_, err := k.Approval(k.ctx, core.Lookup{ID: id})
		require.Error(k.t, err)
		_, err = k.Approval(k.ctx, core.Lookup{Ref: id})
		require.Error(k.t, err)
	}
	// C55: no lookup by prefix.
	k.gone(made.ID[:8])
	_, err := k.Detail(k.ctx, "nothing")
	require.ErrorIs(k.t, err, core.ErrNotFound)
	rows, err := k.DeliveriesOf(k.ctx, "nothing")
	require.NoError(k.t, err)
	require.Empty(k.t, rows)
}

func identityPerRuntime(k *kit) {
	own := k.create(withID(k.given(ownRuntime, "deploy")))
	other := k.create(withRuntime(otherRuntime), withID(k.given(otherRuntime, "deploy")))
	require.NotEqual(k.t, own.ID, other.ID)
	k.deny(own.ID)
	require.Equal(k.t, core.StatusPending, k.read(other.ID).Status)
}
