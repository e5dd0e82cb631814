package approvals_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

const claimToken = "0123456789abcdef-claim"

func claim(a *core.Approval) approvals.Claim {
	return approvals.Claim{Lookup: core.Lookup{ID: a.ID}, ActionHash: a.ActionHash, Token: claimToken}
}

// allowed is an approval that was allowed once.
func (k *kit) allowed(change ...func(*approvals.Ask)) core.Approval {
	k.t.Helper()
	a := k.ask(change...)
	return k.resolve(k.answer(&a, core.DecisionAllowOnce)).Approval
}

// TestClaimOnce (R118, conformance 32): exactly one runner; its own token again is
// the same success; the decision stays.
func TestClaimOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.allowed()
	got, err := k.service.Claim(t.Context(), k.token, claim(&a))
	require.NoError(t, err)
	require.Equal(t, core.ExecutionClaimed, got.Execution)
	require.Equal(t, core.DecisionAllowOnce, got.Decision)
	require.NotContains(t, got.ClaimToken, claimToken, "only its hash is kept")
	again, err := k.service.Claim(t.Context(), k.token, claim(&a))
	require.NoError(t, err)
	require.Equal(t, got, again)
	other := claim(&a)
	other.Token = "another-token-of-16-bytes"
	_, err = k.service.Claim(t.Context(), k.token, other)
	require.ErrorIs(t, err, core.ErrAlreadyClaimed)
}

func TestClaimRefuses(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	pending, granted := k.ask(), k.allowed()
	denied := k.ask()
	k.resolve(k.answer(&denied, core.DecisionDeny))
	for name, c := range map[string]struct {
		want error
		of   *core.Approval
		do   func(*approvals.Claim)
	}{
		"pending":     {core.ErrNotClaimable, &pending, nil},
		"denied":      {core.ErrNotClaimable, &denied, nil},
		"unknown":     {core.ErrNotFound, &granted, func(c *approvals.Claim) { c.Lookup.ID = "agents:x" }},
		"short token": {core.ErrInvalid, &granted, func(c *approvals.Claim) { c.Token = "short" }},
		"long token":  {core.ErrInvalid, &granted, func(c *approvals.Claim) { c.Token = strings.Repeat("t", 129) }},
		"no hash":     {core.ErrInvalid, &granted, func(c *approvals.Claim) { c.ActionHash = "" }},
	} {
		cl := claim(c.of)
		if c.do != nil {
			c.do(&cl)
		}
		_, err := k.service.Claim(t.Context(), k.token, cl)
		require.ErrorIs(t, err, c.want, name)
	}
	_, err := k.service.Claim(t.Context(), k.admin, claim(&granted))
	require.ErrorIs(t, err, core.ErrForbidden, "people claim nothing")
	foreign := core.Caller{Token: &core.Token{Runtime: "other", Scopes: []core.Scope{core.ScopeRequest}}}
	_, err = k.service.Claim(t.Context(), foreign, claim(&granted))
	require.ErrorIs(t, err, core.ErrNotFound)
	require.Equal(t, core.ExecutionUnclaimed, k.read(granted.ID).Execution)
}

// TestClaimWrongAction (K9): the grant is void, the decision stands.
func TestClaimWrongAction(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.allowed()
	c := claim(&a)
	c.ActionHash = core.HashOf([]byte("something else"))
	_, err := k.service.Claim(t.Context(), k.token, c)
	require.ErrorIs(t, err, core.ErrNotClaimable)
	got := k.read(a.ID)
	require.Equal(t, core.ExecutionVoided, got.Execution)
	require.Equal(t, core.VoidHashMismatch, got.VoidReason)
	require.Equal(t, core.StatusAllowed, got.Status)
}

// TestClaimWindow (K35, conformance 35): exactly at its deadline a grant has lapsed.
func TestClaimWindow(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.allowed()
	require.Equal(t, a.ResolvedAt+core.LiveClaim, a.ClaimBy)
	k.advance(time.Duration(core.LiveClaim) * time.Millisecond)
	_, err := k.service.Claim(t.Context(), k.token, claim(&a))
	require.ErrorIs(t, err, core.ErrNotClaimable)
	require.Equal(t, core.VoidLapsed, k.read(a.ID).VoidReason)
}

func TestReport(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.allowed()
	report := approvals.Report{Lookup: core.Lookup{ID: a.ID}, Token: claimToken, Outcome: core.ExecutionFailed, Error: "token=hunter2 refused"}
	_, err := k.service.Report(t.Context(), k.token, report)
	require.ErrorIs(t, err, core.ErrNotClaimable, "nothing was claimed")
	_, err = k.service.Claim(t.Context(), k.token, claim(&a))
	require.NoError(t, err)
	for _, bad := range []approvals.Report{
		{Lookup: report.Lookup, Token: claimToken, Outcome: core.ExecutionVoided},
		{Lookup: report.Lookup, Outcome: core.ExecutionSucceeded},
	} {
		_, err := k.service.Report(t.Context(), k.token, bad)
		require.ErrorIs(t, err, core.ErrInvalid)
	}
	got, err := k.service.Report(t.Context(), k.token, report)
	require.NoError(t, err)
	require.Equal(t, core.ExecutionFailed, got.Execution)
	require.NotContains(t, got.OutcomeError, "hunter2")
	again, err := k.service.Report(t.Context(), k.token, report)
	require.NoError(t, err)
	require.Equal(t, got, again)
	report.Outcome = core.ExecutionSucceeded
	_, err = k.service.Report(t.Context(), k.token, report)
	require.ErrorIs(t, err, core.ErrConflict)
}

// TestSilentRunner: a runner that never reports counts as unknown, a runner that
// lost its token may say so.
func TestSilentRunner(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a, b := k.allowed(), k.allowed()
	for _, x := range []*core.Approval{&a, &b} {
		_, err := k.service.Claim(t.Context(), k.token, claim(x))
		require.NoError(t, err)
	}
	_, err := k.service.Report(t.Context(), k.token, approvals.Report{Lookup: core.Lookup{ID: b.ID}, Outcome: core.ExecutionUnknown})
	require.NoError(t, err)
	require.Equal(t, core.ExecutionUnknown, k.read(b.ID).Execution)
	k.advance(time.Duration(core.OutcomeWindow) * time.Millisecond)
	_, err = k.store.Sweep(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, core.ExecutionUnknown, k.read(a.ID).Execution)
}

// TestRestart (K1, R144): a newer boot ends what its instance's former life left
// open, and only the live part of it.
func TestRestart(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	boot := func(id string) core.Instance {
		in, err := k.service.RegisterInstance(t.Context(), k.token, approvals.Registration{Name: "one", BootID: id, Facts: map[string]string{"sandbox": "docker"}})
		require.NoError(t, err)
		return in
	}
	first := boot("boot-id-of-16-bytes-1")
	state, err := k.store.PolicyState(t.Context(), core.PolicyQuery{Runtime: "agents", Agent: "books", Instance: "one", Epoch: first.Epoch})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"sandbox": "docker"}, state.Facts, "R69: facts come with the registration")
	require.Equal(t, first, boot("boot-id-of-16-bytes-1"), "the same boot keeps its epoch")
	bound := func(q *approvals.Ask) { q.Instance, q.Epoch = "one", first.Epoch }
	live := k.ask(bound)
	durable := k.ask(bound, func(q *approvals.Ask) { q.Continuation = core.ContinuationDurable })
	granted := k.allowed(bound)
	second := boot("boot-id-of-16-bytes-2")
	require.Greater(t, second.Epoch, first.Epoch)
	require.Equal(t, core.ReasonRuntimeRestart, k.read(live.ID).Reason)
	require.Equal(t, core.StatusPending, k.read(durable.ID).Status)
	require.Equal(t, core.VoidRuntimeRestart, k.read(granted.ID).VoidReason)
	require.Equal(t, []core.Reason{core.ReasonUser, core.ReasonRuntimeRestart}, k.seen.ended, "R202: each is counted once")
	_, err = k.service.Ask(t.Context(), k.token, question(bound))
	require.ErrorIs(t, err, core.ErrStaleEpoch, "a zombie cannot slip in")
	for _, bad := range []string{"", "short"} {
		_, err := k.service.RegisterInstance(t.Context(), k.token, approvals.Registration{Name: "one", BootID: bad})
		require.ErrorIs(t, err, core.ErrInvalid)
	}
	_, err = k.service.RegisterInstance(t.Context(), k.token, approvals.Registration{
		Name: "one", BootID: "boot-id-of-16-bytes-3", Facts: map[string]string{"sandbox": "\xff"},
	})
	require.ErrorIs(t, err, core.ErrInvalid)
}

// TestAbort (R140, conformance 66): only that run, and for good.
func TestAbort(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	of := func(run string) func(*approvals.Ask) { return func(q *approvals.Ask) { q.RunID = run } }
	a, other, granted := k.ask(of("r1")), k.ask(of("r2")), k.allowed(of("r1"))
	r, err := k.service.RunStatus(t.Context(), k.token, "r1")
	require.NoError(t, err)
	require.Equal(t, 1, r.Pending)
	require.True(t, r.AcceptsReply)
	r, err = k.service.AbortRun(t.Context(), k.token, "r1")
	require.NoError(t, err)
	require.NotZero(t, r.AbortedAt)
	require.Equal(t, core.ReasonRunAborted, k.read(a.ID).Reason)
	require.Equal(t, core.VoidRunAborted, k.read(granted.ID).VoidReason)
	require.Equal(t, []core.Reason{core.ReasonUser, core.ReasonRunAborted}, k.seen.ended, "R202: each is counted once")
	require.Equal(t, core.StatusPending, k.read(other.ID).Status)
	_, err = k.service.Ask(t.Context(), k.token, question(of("r1")))
	require.ErrorIs(t, err, core.ErrRunAborted)
	_, err = k.service.AbortRun(t.Context(), k.token, "")
	require.ErrorIs(t, err, core.ErrInvalid)
}

// TestReply (R133-R137): a message declines what waits in the turn, once; its
// repetition finds the same; one that lost to a button changes nothing.
func TestReply(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	of := func(q *approvals.Ask) { q.RunID = "r1" }
	a := k.ask(of)
	draft := k.ask(of, func(q *approvals.Ask) { q.Continuation = core.ContinuationDraft })
	reply := approvals.Reply{Run: "r1", MessageID: "m1", Text: "rather tomorrow"}
	got, err := k.service.Reply(t.Context(), k.token, reply)
	require.NoError(t, err)
	require.Equal(t, []string{a.ID}, got.Declined)
	require.True(t, got.Now)
	row := k.read(a.ID)
	require.True(t, row.ByMessage)
	require.Equal(t, "rather tomorrow", row.Note)
	require.Equal(t, core.StatusPending, k.read(draft.ID).Status)
	again, err := k.service.Reply(t.Context(), k.token, reply)
	require.NoError(t, err)
	require.Equal(t, got, again)
	reply.MessageID = "m2"
	_, err = k.service.Reply(t.Context(), k.token, reply)
	require.ErrorIs(t, err, core.ErrConflict)
	k.ask(of, func(q *approvals.Ask) { q.Continuation = core.ContinuationDurable })
	got, err = k.service.Reply(t.Context(), k.token, reply)
	require.NoError(t, err)
	require.Len(t, got.Declined, 1)
	require.False(t, got.Now, "nobody is there to hear it; whoever asked looks again")
}

// R133, R135: a message declines what waits, and its repetition finds what it
// declined, however much was asked in that run since.
func TestReplyInALongRun(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	of := func(q *approvals.Ask) { q.RunID = "r1" }
	a := k.ask(of)
	k.advance(time.Second)
	var asking errgroup.Group
	asking.SetLimit(64) // They share commits.
	for n := range core.MaxPage + 1 {
		asking.Go(func() error {
			later := a
			later.ID = fmt.Sprintf("agents:later-%d", n)
			later.Ref = core.ResolutionRef(later.Kind, later.ID)
			later.Continuation = core.ContinuationDraft
			_, err := k.store.Create(t.Context(), core.NewApproval{Approval: later, ExpiresIn: core.LiveExpiry})
			return err
		})
	}
	require.NoError(t, asking.Wait())
	reply := approvals.Reply{Run: "r1", MessageID: "m1", Text: "rather tomorrow"}
	for range 2 {
		got, err := k.service.Reply(t.Context(), k.token, reply)
		require.NoError(t, err)
		require.Equal(t, []string{a.ID}, got.Declined)
	}
	r, err := k.service.RunStatus(t.Context(), k.token, "r1")
	require.NoError(t, err)
	require.Equal(t, core.MaxPage+1, r.Pending)
	require.False(t, r.AcceptsReply)
}
