package approvals_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

const token = "a token of enough randomness"

// fallSilent lets an approval be allowed and claimed, and never reported.
func (k *kit) fallSilent(change ...func(*approvals.Ask)) core.Approval {
	k.t.Helper()
	a := k.ask(change...)
	a = k.resolve(k.answer(&a, core.DecisionAllowOnce)).Approval
	_, err := k.service.Claim(k.t.Context(), k.token, approvals.Claim{Lookup: core.Lookup{ID: a.ID}, ActionHash: a.ActionHash, Token: token})
	require.NoError(k.t, err)
	a, err = k.service.Report(k.t.Context(), k.token, approvals.Report{Lookup: core.Lookup{ID: a.ID}, Outcome: core.ExecutionUnknown})
	require.NoError(k.t, err)
	return a
}

func asDraft(q *approvals.Ask) { q.Continuation = core.ContinuationDraft }

// R86, R108: what may have happened is dismissed by whoever may decide, once.
func TestDismiss(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.fallSilent()
	offer, err := k.service.Aftermath(t.Context(), &a)
	require.NoError(t, err)
	require.Equal(t, approvals.AftermathOffer{Dismiss: true}, offer, "no runtime listens")

	stranger := k.person("eve", core.RoleReviewer)
	_, err = k.service.Dismiss(t.Context(), stranger, core.Lookup{ID: a.ID})
	require.ErrorIs(t, err, core.ErrNotFound)
	_, err = k.service.Dismiss(t.Context(), k.token, core.Lookup{ID: a.ID})
	require.ErrorIs(t, err, core.ErrForbidden, "a machine dismisses nothing")
	require.Nil(t, k.read(a.ID).Aftermath)

	got, err := k.service.Dismiss(t.Context(), k.admin, core.Lookup{Ref: a.Ref})
	require.NoError(t, err)
	require.Equal(t, "ann", got.Aftermath.Dismissed.By)
	again, err := k.service.Dismiss(t.Context(), k.admin, core.Lookup{ID: a.ID})
	require.NoError(t, err)
	require.Equal(t, got.Revision, again.Revision)
	offer, err = k.service.Aftermath(t.Context(), &again)
	require.NoError(t, err)
	require.Zero(t, offer)

	pending := k.ask()
	_, err = k.service.Dismiss(t.Context(), k.admin, core.Lookup{ID: pending.ID})
	require.ErrorIs(t, err, core.ErrConflict)
}

// K3: asking again reaches the runtime as an update, and only where one listens.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask(asDraft)
	k.resolve(k.answer(&a, core.DecisionDeny))
	_, err := k.service.AskAgain(t.Context(), k.admin, core.Lookup{ID: a.ID})
	require.ErrorIs(t, err, core.ErrNotOffered)

	claim := approvals.ClaimUpdates{Agent: "books", Token: token}
	b, err := k.service.ClaimUpdates(t.Context(), k.token, claim)
	require.NoError(t, err)
	require.Len(t, b.Updates, 1, "the decline")
	n, err := k.service.AckUpdates(t.Context(), k.token, "books", token)
	require.NoError(t, err)
	require.Equal(t, 1, n)

	a = k.read(a.ID)
	offer, err := k.service.Aftermath(t.Context(), &a)
	require.NoError(t, err)
	require.Equal(t, approvals.AftermathOffer{AskAgain: true}, offer)
	_, err = k.service.AskAgain(t.Context(), k.token, core.Lookup{ID: a.ID})
	require.ErrorIs(t, err, core.ErrForbidden, "a machine cannot ask itself")
	got, err := k.service.AskAgain(t.Context(), k.admin, core.Lookup{ID: a.ID})
	require.NoError(t, err)
	require.Equal(t, "Name of ann", got.Aftermath.AskedAgain.Name)
	require.Equal(t, core.StatusDenied, got.Status, "it allows nothing")

	b, err = k.service.ClaimUpdates(t.Context(), k.token, claim)
	require.NoError(t, err)
	require.Len(t, b.Updates, 1)
	require.Equal(t, core.UpdateAskAgain, b.Updates[0].Kind)
	require.Equal(t, a.ID, b.Updates[0].Approval.ID)
}

// R130: an agent whose name has hidden characters hears of its drafts as well, and counts
// as listening.
func TestUpdatesOfAnAgentWithAHiddenCharacter(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	const name = "⚙\ufe0f builder"
	a := k.ask(asDraft, func(q *approvals.Ask) { q.Agent = name })
	k.resolve(k.answer(&a, core.DecisionDeny))
	b, err := k.service.ClaimUpdates(t.Context(), k.token, approvals.ClaimUpdates{Agent: name, Token: token})
	require.NoError(t, err)
	require.Len(t, b.Updates, 1)
	n, err := k.service.AckUpdates(t.Context(), k.token, name, token)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	a = k.read(a.ID)
	offer, err := k.service.Aftermath(t.Context(), &a)
	require.NoError(t, err)
	require.True(t, offer.AskAgain)
	list, err := k.service.List(t.Context(), k.admin, core.ListQuery{Agent: name})
	require.NoError(t, err)
	require.Len(t, list.Approvals, 1)
}

// R130: updates are for the runtime that asked, and bad claims are refused.
func TestUpdatesAreTheRuntimesOwn(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask(asDraft)
	k.resolve(k.answer(&a, core.DecisionDeny))
	other := core.Caller{Token: &core.Token{Runtime: "others", Scopes: []core.Scope{core.ScopeRequest}}}
	b, err := k.service.ClaimUpdates(t.Context(), other, approvals.ClaimUpdates{Agent: "books", Token: token})
	require.NoError(t, err)
	require.Empty(t, b.Updates)
	for name, c := range map[string]struct {
		caller core.Caller
		claim  approvals.ClaimUpdates
		want   error
	}{
		"a person":         {k.admin, approvals.ClaimUpdates{Agent: "books", Token: token}, core.ErrForbidden},
		"a token to read":  {core.Caller{Token: &core.Token{Runtime: "agents", Scopes: []core.Scope{core.ScopeRead}}}, approvals.ClaimUpdates{Token: token}, core.ErrForbidden},
		"a short token":    {k.token, approvals.ClaimUpdates{Token: "short"}, core.ErrInvalid},
		"a long token":     {k.token, approvals.ClaimUpdates{Token: strings.Repeat("x", 129)}, core.ErrInvalid},
		"a long name":      {k.token, approvals.ClaimUpdates{Agent: strings.Repeat("x", core.MaxShortText+1), Token: token}, core.ErrInvalid},
		"too many":         {k.token, approvals.ClaimUpdates{Token: token, Limit: core.MaxUpdates + 1}, core.ErrInvalid},
		"too short a time": {k.token, approvals.ClaimUpdates{Token: token, Lease: 1}, core.ErrInvalid},
	} {
		_, err := k.service.ClaimUpdates(t.Context(), c.caller, c.claim)
		require.ErrorIs(t, err, c.want, name)
	}
	_, err = k.service.AckUpdates(t.Context(), k.token, "books", "short")
	require.ErrorIs(t, err, core.ErrInvalid)
}

// R125, R133, R134: a message answers whatever waits in a turn, durable turns too, and
// no draft.
func TestReplyAnswersWhatWaits(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	in := func(c core.Continuation) func(*approvals.Ask) {
		return func(q *approvals.Ask) { q.RunID, q.Continuation = "run-1", c }
	}
	live, durable, draft := k.ask(in(core.ContinuationLive)), k.ask(in(core.ContinuationDurable)), k.ask(in(core.ContinuationDraft))
	run, err := k.service.RunStatus(t.Context(), k.token, "run-1")
	require.NoError(t, err)
	require.True(t, run.AcceptsReply)
	require.Equal(t, 3, run.Pending)
	k.advance(time.Minute)
	for _, blank := range []string{"", " \n\t", strings.Repeat("x", 16<<10+1), "\xff"} {
		_, err := k.service.Reply(t.Context(), k.token, approvals.Reply{Run: "run-1", MessageID: "m-1", Text: blank})
		require.ErrorIs(t, err, core.ErrInvalid)
	}
	got, err := k.service.Reply(t.Context(), k.token, approvals.Reply{Run: "run-1", MessageID: "m-1", Text: "Use the other account."})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{live.ID, durable.ID}, got.Declined)
	require.Equal(t, core.StatusPending, k.read(draft.ID).Status)
	run, err = k.service.RunStatus(t.Context(), k.token, "run-1")
	require.NoError(t, err)
	require.False(t, run.AcceptsReply)
	require.Equal(t, core.Millis(time.Minute.Milliseconds()), run.WaitingMillis)
}
