package approvals_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// TestScopes: a token that only reads changes nothing, and one that may do neither is
// told nothing, of its own rows too.
func TestScopes(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	pending, granted := k.ask(), k.allowed()
	scoped := func(scopes ...core.Scope) core.Caller {
		return core.Caller{Token: &core.Token{Runtime: "agents", Scopes: scopes}}
	}
	reader, admin := scoped(core.ScopeRead), scoped(core.ScopeAdmin)
	_, err := k.service.Get(t.Context(), reader, core.Lookup{ID: pending.ID})
	require.NoError(t, err)
	of := core.Lookup{ID: pending.ID}
	reads := map[string]func(core.Caller) error{
		"get": func(c core.Caller) error { _, err := k.service.Get(t.Context(), c, of); return err },
		"wait": func(c core.Caller) error {
			_, err := k.service.Wait(t.Context(), c, approvals.WaitRequest{Lookup: of, For: time.Minute, Revision: 1})
			return err
		},
		"list": func(c core.Caller) error { _, err := k.service.List(t.Context(), c, core.ListQuery{}); return err },
	}
	changes := map[string]func(core.Caller) error{
		"resolve": func(c core.Caller) error {
			r := k.answer(&pending, core.DecisionAllowOnce)
			r.Caller = c
			_, err := k.service.Resolve(t.Context(), r)
			return err
		},
		"cancel":    func(c core.Caller) error { _, err := k.service.Cancel(t.Context(), c, of); return err },
		"malformed": func(c core.Caller) error { _, err := k.service.DenyMalformed(t.Context(), c, of); return err },
		"claim":     func(c core.Caller) error { _, err := k.service.Claim(t.Context(), c, claim(&granted)); return err },
		"report": func(c core.Caller) error {
			_, err := k.service.Report(t.Context(), c, approvals.Report{Lookup: core.Lookup{ID: granted.ID}, Outcome: core.ExecutionUnknown})
			return err
		},
		"abort": func(c core.Caller) error { _, err := k.service.AbortRun(t.Context(), c, "run"); return err },
		"register": func(c core.Caller) error {
			_, err := k.service.RegisterInstance(t.Context(), c, approvals.Registration{Name: "worker", BootID: "boot-id-of-16-bytes"})
			return err
		},
	}
	for name, read := range reads {
		require.ErrorIs(t, read(admin), core.ErrForbidden, name)
	}
	for name, change := range changes {
		require.ErrorIs(t, change(reader), core.ErrForbidden, name)
		require.ErrorIs(t, change(admin), core.ErrForbidden, name)
	}
	require.Equal(t, pending, k.read(pending.ID))
	require.Equal(t, granted, k.read(granted.ID))
}

// TestNotFoundForEveryCall (R155): whatever is tried on it, a hidden approval is one
// that does not exist, and is left as it is.
func TestNotFoundForEveryCall(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	pending, granted := k.ask(), k.allowed()
	stranger := k.person("sam", core.RoleReviewer)
	machine := core.Caller{Token: &core.Token{Runtime: "other", Scopes: []core.Scope{core.ScopeRequest, core.ScopeRead}}}
	ctx := t.Context()
	both := map[string]func(core.Caller, string) error{
		"get": func(c core.Caller, id string) error { _, err := k.service.Get(ctx, c, core.Lookup{ID: id}); return err },
		"wait": func(c core.Caller, id string) error {
			_, err := k.service.Wait(ctx, c, approvals.WaitRequest{Lookup: core.Lookup{ID: id}, For: time.Minute, Revision: 1})
			return err
		},
		"resolve": func(c core.Caller, id string) error {
			r := k.answer(&pending, core.DecisionAllowOnce)
			r.Caller, r.Lookup = c, core.Lookup{ID: id}
			_, err := k.service.Resolve(ctx, r)
			return err
		},
		"cancel": func(c core.Caller, id string) error {
			_, err := k.service.Cancel(ctx, c, core.Lookup{ID: id})
			return err
		},
	}
	people := map[string]func(core.Caller, string) error{
		"detail": func(c core.Caller, id string) error {
			_, _, err := k.service.Detail(ctx, c, core.Lookup{ID: id})
			return err
		},
		"dismiss": func(c core.Caller, id string) error {
			_, err := k.service.Dismiss(ctx, c, core.Lookup{ID: id})
			return err
		},
		"ask again": func(c core.Caller, id string) error {
			_, err := k.service.AskAgain(ctx, c, core.Lookup{ID: id})
			return err
		},
	}
	machines := map[string]func(core.Caller, string) error{
		"malformed": func(c core.Caller, id string) error {
			_, err := k.service.DenyMalformed(ctx, c, core.Lookup{ID: id})
			return err
		},
		"claim": func(c core.Caller, id string) error {
			cl := claim(&granted)
			cl.Lookup.ID = id
			_, err := k.service.Claim(ctx, c, cl)
			return err
		},
		"report": func(c core.Caller, id string) error {
			_, err := k.service.Report(ctx, c, approvals.Report{Lookup: core.Lookup{ID: id}, Outcome: core.ExecutionUnknown})
			return err
		},
	}
	for _, id := range []string{pending.ID, granted.ID, "agents:nothing", "other:nothing"} {
		for name, call := range both {
			require.Equal(t, core.ErrNotFound, call(stranger, id), name)
			require.Equal(t, core.ErrNotFound, call(machine, id), name)
		}
		for name, call := range people {
			require.Equal(t, core.ErrNotFound, call(stranger, id), name)
		}
		for name, call := range machines {
			require.Equal(t, core.ErrNotFound, call(machine, id), name)
		}
	}
	require.Equal(t, pending, k.read(pending.ID))
	require.Equal(t, granted, k.read(granted.ID))
}

// TestLooksWithTheCallersEyes: the store itself is asked for no more than the caller may
// see, so that what is hidden is not read either, and takes no longer than what is not
// there. Whatever else the caller's own lookup asks for changes nothing.
func TestLooksWithTheCallersEyes(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	var looked core.Lookup
	k.faults.looked = func(l core.Lookup) { looked = l }
	for _, l := range []core.Lookup{{ID: a.ID}, {ID: a.ID, Runtime: "other", Viewer: k.person("sam", core.RoleReviewer).Person}} {
		_, err := k.service.Get(t.Context(), k.token, l)
		require.NoError(t, err)
		require.Equal(t, "agents", looked.Runtime)
		require.Nil(t, looked.Viewer)
		_, err = k.service.Get(t.Context(), k.admin, l)
		require.NoError(t, err)
		require.Empty(t, looked.Runtime)
		require.Equal(t, k.admin.Person, looked.Viewer)
	}
}

// TestVisibility (R155, conformance 46): unknown and unauthorised are one answer,
// for reading, listing and waiting.
func TestVisibility(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	stranger := k.person("sam", core.RoleReviewer)
	other := core.Caller{Token: &core.Token{Runtime: "other", Scopes: []core.Scope{core.ScopeRead}}}
	for _, c := range []core.Caller{stranger, other} {
		for _, id := range []string{a.ID, "agents:nothing"} {
			_, err := k.service.Get(t.Context(), c, core.Lookup{ID: id})
			require.ErrorIs(t, err, core.ErrNotFound)
			_, err = k.service.Wait(t.Context(), c, approvals.WaitRequest{Lookup: core.Lookup{ID: id}, For: time.Minute})
			require.ErrorIs(t, err, core.ErrNotFound)
		}
		page, err := k.service.List(t.Context(), c, core.ListQuery{Runtime: "agents"})
		require.NoError(t, err)
		require.Empty(t, page.Approvals)
	}
	_, _, err := k.service.Detail(t.Context(), k.token, core.Lookup{ID: a.ID})
	require.ErrorIs(t, err, core.ErrForbidden, "the detail is for people")
	_, d, err := k.service.Detail(t.Context(), k.admin, core.Lookup{Ref: a.Ref})
	require.NoError(t, err)
	require.Contains(t, d.Text, "bob@example.com")
	for _, limit := range []int{-1, core.MaxPage + 1} {
		_, err := k.service.List(t.Context(), k.admin, core.ListQuery{Limit: limit})
		require.ErrorIs(t, err, core.ErrInvalid)
	}
}
