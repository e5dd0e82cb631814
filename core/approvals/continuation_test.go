package approvals_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// K1, K2, R30, R32, R125-R128: what each continuation means, and that every one ends.
func TestContinuations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		named         core.Continuation
		is            core.Continuation
		expires       time.Duration
		claim         time.Duration
		waits         bool
		answered      bool // By a message.
		heardOnlyHere bool // Its answer is an update.
	}{
		{"", core.ContinuationLive, 30 * time.Minute, 10 * time.Minute, true, true, false},
		{core.ContinuationLive, core.ContinuationLive, 30 * time.Minute, 10 * time.Minute, true, true, false},
		{core.ContinuationDurable, core.ContinuationDurable, 168 * time.Hour, 24 * time.Hour, true, true, false},
		{core.ContinuationDraft, core.ContinuationDraft, 168 * time.Hour, 24 * time.Hour, false, false, true},
	} {
		k := newKit(t)
		asked := func(run string) core.Approval {
			return k.ask(func(q *approvals.Ask) { q.Continuation, q.RunID = c.named, run })
		}
		a := asked("run-1")
		require.Equal(t, c.is, a.Continuation)
		require.Equal(t, c.expires, a.ExpiresAt.Sub(a.CreatedAt))
		require.Equal(t, c.waits, a.Continuation.Waits())

		k.advance(time.Second)
		run, err := k.service.RunStatus(t.Context(), k.token, "run-1")
		require.NoError(t, err)
		require.Equal(t, c.waits, run.AcceptsReply)
		require.Equal(t, c.waits, run.WaitingMillis > 0)
		_, err = k.service.Reply(t.Context(), k.token, approvals.Reply{Run: "run-1", MessageID: "m", Text: "no"})
		if c.answered {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, core.ErrConflict)
		}

		a = asked("run-2")
		a = k.resolve(k.answer(&a, core.DecisionAllowOnce)).Approval
		require.Equal(t, c.claim, a.ClaimBy.Sub(a.ResolvedAt))
		b, err := k.service.ClaimUpdates(t.Context(), k.token, approvals.ClaimUpdates{Agent: "books", Token: token})
		require.NoError(t, err)
		require.Equal(t, c.heardOnlyHere, len(b.Updates) == 1)

		// R32: nothing waits for ever.
		a = asked("run-3")
		k.advance(c.expires)
		require.Equal(t, core.StatusExpired, k.read(a.ID).Status)
	}
}

// K2: at least a second, at most a week.
func TestExpiryIsBounded(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for _, ms := range []core.Millis{0, -1, 999, core.MaxExpiry + 1} {
		_, err := k.service.Ask(t.Context(), k.token, question(func(q *approvals.Ask) { q.ExpiresIn = &ms }))
		require.ErrorIs(t, err, core.ErrInvalid)
	}
	for _, ms := range []core.Millis{core.MinExpiry, core.MaxExpiry} {
		a := k.ask(func(q *approvals.Ask) { q.ExpiresIn = &ms })
		require.Equal(t, ms, a.ExpiresAt-a.CreatedAt)
	}
}

// hooks lets one runtime name one address.
type hooks struct{}

const allowedHook = "https://hooks.example.com/x"

func (hooks) Allowed(runtime, address string) error {
	if runtime == "agents" && address == allowedHook {
		return nil
	}
	return core.Invalid("callback_url", "must have a host that is configured for this runtime")
}

// R129: a callback is named with the question, is part of what was asked, and is refused
// where nobody configured it.
func TestCallbackOfARequest(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	named := func(url string) approvals.Ask {
		return question(func(q *approvals.Ask) { q.CallbackURL, q.IdempotencyKey = url, "key" })
	}
	_, err := k.service.Ask(t.Context(), k.token, named(allowedHook))
	require.ErrorIs(t, err, core.ErrInvalid, "no runtime may, without a list")
	k.hooks = hooks{}
	k.service = k.build(approvals.Config{MaxPending: 20})
	for _, url := range []string{"https://elsewhere.example.com", allowedHook + string(make([]byte, 2<<10))} {
		_, err = k.service.Ask(t.Context(), k.token, named(url))
		require.ErrorIs(t, err, core.ErrInvalid)
		require.NotContains(t, err.Error(), "elsewhere")
	}
	first, err := k.service.Ask(t.Context(), k.token, named(allowedHook))
	require.NoError(t, err)
	require.Equal(t, allowedHook, k.read(first.Approval.ID).CallbackURL)
	again, err := k.service.Ask(t.Context(), k.token, named(allowedHook))
	require.NoError(t, err)
	require.Equal(t, first.Approval.ID, again.Approval.ID)
	_, err = k.service.Ask(t.Context(), k.token, named(""))
	require.ErrorIs(t, err, core.ErrIdempotencyConflict)
}
