package storetest

import (
	"context"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func hygieneSpecs() []spec {
	return []spec{
		{"an ended context changes nothing", ctxEnded},
		{"C54 errors repeat neither ids nor values nor paths", errorsContentFree},
		{"errors have a stable code", errorsCoded},
	}
}

// A caller that has gone before its write was taken up finds nothing done.
func ctxEnded(k *kit) {
	made := k.create(withCards("chat-1"))
	allowed := k.allow(k.create().ID)
	w := k.due(1)[0]
	before := k.reread(w)
	ended, end := context.WithCancel(k.ctx)
	end()

	late := k.ask(withKey("late", "late"))
	calls := map[string]func() error{
		"create":   func() error { _, err := k.Create(ended, late); return err },
		"decide":   func() error { _, err := k.Decide(ended, k.answer(made.ID, core.DecisionDeny)); return err },
		"claim":    func() error { _, err := k.Claim(ended, claimOf(allowed, "token")); return err },
		"abort":    func() error { _, _, err := k.AbortRun(ended, ownRuntime, "run-1"); return err },
		"begin":    func() error { return k.Begin(ended, beginOf(w)) },
		"complete": func() error { return k.Complete(ended, completeOf(w, "message-1")) },
		"person": func() error {
			_, err := k.AddPrincipal(ended, core.Principal{ID: "late", Name: "Late", Role: core.RoleViewer})
			return err
		},
		"lease": func() error { _, err := k.Leases.Acquire(ended, "late", "a", core.DeliveryLease); return err },
	}
	for name, call := range calls {
		err := call()
		require.ErrorIs(k.t, err, context.Canceled, name)
		require.NotErrorIs(k.t, err, core.ErrOutcomeUnknown, "%s never began", name)
	}
	k.gone(late.Approval.ID)
	k.same(made, k.read(made.ID))
	k.same(allowed, k.read(allowed.ID))
	require.Equal(k.t, before, k.reread(w))
	_, err := k.ReadRun(k.ctx, ownRuntime, "run-1")
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.Principal(k.ctx, "late")
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.Leases.Acquire(k.ctx, "late", "b", core.DeliveryLease)
	require.NoError(k.t, err)
}

// secret marks everything that no error may repeat.
const secret = "Zq7marker"

// failures provokes an error of each kind with the marker in every value.
func (k *kit) failures() []error {
	k.t.Helper()
	id := k.given(ownRuntime, secret)
	made := k.create(withID(id), withKey(secret, "a"), withRun(secret), withCards(secret))
	k.person(secret, core.RoleAdmin)
	k.person(secret+"2", core.RoleReviewer)
	k.link(secret, secret)
	w := k.due(1)[0]
	stale := w
	stale.Delivery.Fence--
	bad := k.ask(withID(id + "3"))
	bad.Approval.Presentation.Kind, bad.Approval.Presentation.Title = core.KindExec, secret
	limited := k.ask(withID(id + "4"))
	limited.MaxPending = 1
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	create := func(c core.NewApproval) { _, err := k.Create(k.ctx, c); add(err) }
	create(k.ask(withKey(secret, "b")))
	create(k.ask(withID(id)))
	create(bad)
	create(limited)
	_, err := k.Approval(k.ctx, core.Lookup{ID: secret})
	add(err)
	_, err = k.Decide(k.ctx, k.answer(secret, core.DecisionDeny))
	add(err)
	_, err = k.Decide(k.ctx, k.adopting(made.ID, adopt(secret, secret+"5")))
	add(err)
	_, err = k.Claim(k.ctx, claimOf(made, secret))
	add(err)
	_, err = k.Report(k.ctx, reportOf(made, secret, core.ExecutionSucceeded))
	add(err)
	add(k.Begin(k.ctx, beginOf(stale)))
	_, err = k.RequestView(k.ctx, secret)
	add(err)
	_, err = k.AddPrincipal(k.ctx, core.Principal{ID: secret, Name: secret, Role: core.RoleViewer})
	add(err)
	_, err = k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: secret, Disabled: new(true)})
	add(err)
	add(k.LinkIdentity(k.ctx, identity(secret+"2", secret)))
	_, _, err = k.RedeemPair(k.ctx, secret, core.Session{ID: secret, Hash: secret, Kind: core.SessionCLI}, 1)
	add(err)
	_, _, err = k.AbortRun(k.ctx, ownRuntime, secret)
	require.NoError(k.t, err)
	create(k.ask(withRun(secret)))
	k.h.Corrupt(k.tb, id, DamageContent)
	_, err = k.Approval(k.ctx, core.Lookup{ID: id})
	add(err)
	return errs
}

func errorsContentFree(k *kit) {
	for i, err := range k.failures() {
		require.Error(k.t, err, "failure %d", i)
		text := err.Error()
		for _, leak := range []string{secret, "/tmp", ".db", "SELECT", "UPDATE", "INSERT", "UNIQUE", "constraint"} {
			require.NotContains(k.t, text, leak, "failure %d", i)
		}
		require.NotContains(k.t, strings.ToLower(text), "sql:", "failure %d", i)
	}
}

func errorsCoded(k *kit) {
	for i, err := range k.failures() {
		require.NotEqual(k.t, "internal", core.CodeOf(err), "failure %d: %v", i, err)
		require.NotErrorIs(k.t, err, core.ErrUnavailable, "failure %d is nobody's outage", i)
	}
}
