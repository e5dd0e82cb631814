package channeltest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
)

func failureCases() []testCase {
	return []testCase{
		{"rate_limit_with_delay", rateLimited(7 * time.Second)},
		{"rate_limit_without_delay", rateLimited(0)},
		{"bad_token", badToken},
		{"token_revoked_while_receiving", revoked},
		{"rejected_payload", rejected},
		{"platform_fault", platformFault},
		{"undecodable_answer", undecodable},
		{"slow_server", slow},
		{"cancelled_before_the_call", cancelled},
		{"nobody_listens_is_not_sent", unreachable},
		{"connection_lost_is_ambiguous_for_sends_only", ambiguous},
		{"bot_removed_from_the_chat", removed},
		{"chat_moved", moved},
		{"malformed_address_and_locator", malformed},
		{"foreign_rendering", foreignRendering},
		{"receiving_outlives_faults_30", outlives},
	}
}

// trySend sends the ordinary card and wants a failure.
func (b *bundle) trySend(ctx context.Context, t *testing.T, address string, class core.FailureClass) channels.Error {
	t.Helper()
	_, err := b.ch.Send(ctx, address, b.render(t, pending()))
	require.Error(t, err)
	return b.failed(t, err, class)
}

func (b *bundle) tryEdit(ctx context.Context, t *testing.T, locator string, class core.FailureClass) channels.Error {
	t.Helper()
	outcome, err := b.ch.Edit(ctx, locator, b.render(t, resolved()))
	require.Error(t, err)
	require.Equal(t, core.OutcomeNone, outcome)
	return b.failed(t, err, class)
}

func rateLimited(delay time.Duration) func(*testing.T, *bundle) {
	return func(t *testing.T, b *bundle) {
		b.Platform.Script.Add(fakes.Fault{Kind: fakes.FaultRateLimit, Op: fakes.OpSend, Delay: delay})
		e := b.trySend(b.ctx, t, b.Group, core.FailureRateLimited)
		require.Equal(t, delay, e.RetryAfter)
		require.Equal(t, "send", e.Op)

		locator, _ := b.send(t, b.Group, pending())
		b.Platform.Script.Add(fakes.Fault{Kind: fakes.FaultRateLimit, Op: fakes.OpEdit, Delay: delay})
		e = b.tryEdit(b.ctx, t, locator, core.FailureRateLimited)
		require.Equal(t, delay, e.RetryAfter)
		require.Equal(t, "edit", e.Op)
		require.Empty(t, b.shown(t, locator).Edits, "nothing was retried behind the ledger's back")
	}
}

func badToken(t *testing.T, b *bundle) {
	b.ch = b.open(t, Options{BadToken: true})
	require.True(t, b.trySend(b.ctx, t, b.Direct, core.FailureAuth).Whole)
	c, ok := b.ch.(channels.Checker)
	require.True(t, ok)
	b.failed(t, c.Check(b.ctx), core.FailureAuth)
	b.failed(t, b.ch.Run(b.ctx, new(Inbox)), core.FailureAuth)
}

func revoked(t *testing.T, b *bundle) {
	in := new(Inbox)
	_, ended := b.run(t, b.ch, in)
	locator, _ := b.send(t, b.Direct, pending())
	_, err := b.Platform.Press(Press{Person: b.Owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	_, err = in.AwaitClicks(b.ctx, 1)
	require.NoError(t, err)
	b.Platform.Revoke()
	b.failed(t, ended(), core.FailureAuth)
	b.tryEdit(b.ctx, t, locator, core.FailureAuth)
}

func rejected(t *testing.T, b *bundle) {
	b.Platform.Script.Add(fakes.Fault{Kind: fakes.FaultReject, Op: fakes.OpSend, Times: -1})
	require.True(t, b.trySend(b.ctx, t, b.Group, core.FailureRejected).Class.Permanent())
	b.Platform.Script.Clear()
	locator, _ := b.send(t, b.Group, pending())
	b.Platform.Script.Add(fakes.Fault{Kind: fakes.FaultReject, Op: fakes.OpEdit, Times: -1})
	b.tryEdit(b.ctx, t, locator, core.FailureRejected)
}

// platformFault: the platform itself says that the call failed.
func platformFault(t *testing.T, b *bundle) {
	b.Platform.Script.Add(fakes.Fault{Kind: fakes.FaultServerError, Op: fakes.OpSend})
	b.trySend(b.ctx, t, b.Group, core.FailureTemporary)
	locator, _ := b.send(t, b.Group, pending())
	b.Platform.Script.Add(fakes.Fault{Kind: fakes.FaultServerError, Op: fakes.OpEdit})
	b.tryEdit(b.ctx, t, locator, core.FailureTemporary)
}

// undecodable: something in between answered, or with nothing, so nobody knows about
// the send.
func undecodable(t *testing.T, b *bundle) {
	for _, kind := range []fakes.FaultKind{fakes.FaultUndecodable, fakes.FaultHollow} {
		b.Platform.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpSend})
		require.False(t, b.trySend(b.ctx, t, b.Group, core.FailureAmbiguous).NotSent, "%s", kind)
		locator, _ := b.send(t, b.Group, pending())
		b.Platform.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpEdit})
		b.tryEdit(b.ctx, t, locator, core.FailureTemporary)
	}
}

// slow: the caller's context ends while the platform has the request.
func slow(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	for _, op := range []fakes.Op{fakes.OpSend, fakes.OpEdit} {
		fault := b.Platform.Script.Add(fakes.Fault{Kind: fakes.FaultHold, Op: op})
		ctx, cancel := context.WithCancel(b.ctx)
		go func() {
			<-fault.Hit()
			cancel()
		}()
		var e channels.Error
		if op == fakes.OpSend {
			e = b.trySend(ctx, t, b.Group, core.FailureAmbiguous)
		} else {
			e = b.tryEdit(ctx, t, locator, core.FailureTemporary)
		}
		require.ErrorIs(t, &e, context.Canceled)
		require.False(t, e.NotSent)
		fault.Release()
	}
}

func cancelled(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	e := b.trySend(ctx, t, b.Group, core.FailureTemporary)
	require.ErrorIs(t, &e, context.Canceled)
	require.True(t, e.NotSent)
	require.True(t, b.tryEdit(ctx, t, locator, core.FailureTemporary).NotSent)
	require.Len(t, b.Platform.Messages(), 1)
}

func unreachable(t *testing.T, b *bundle) {
	b.ch = b.open(t, Options{Unreachable: true})
	require.True(t, b.trySend(b.ctx, t, b.Group, core.FailureTemporary).NotSent, "a dial error is not a send")
}

func ambiguous(t *testing.T, b *bundle) {
	for _, kind := range []fakes.FaultKind{fakes.FaultResetBefore, fakes.FaultResetAfter} {
		b.Platform.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpSend})
		require.False(t, b.trySend(b.ctx, t, b.Group, core.FailureAmbiguous).NotSent)
	}
	require.Len(t, b.Platform.Messages(), 1, "one of the two sends took place, unknown to the caller")
	locator := b.Platform.Messages()[0].Locator
	for _, kind := range []fakes.FaultKind{fakes.FaultResetBefore, fakes.FaultResetAfter} {
		b.Platform.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpEdit})
		b.tryEdit(b.ctx, t, locator, core.FailureTemporary)
	}
	outcome, err := b.ch.Edit(b.ctx, locator, b.render(t, resolved()))
	require.NoError(t, err)
	require.Equal(t, core.OutcomeReplaced, outcome, "an edit may be repeated")
}

func removed(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	b.Platform.CloseChat(b.Group)
	require.True(t, b.trySend(b.ctx, t, b.Group, core.FailureGone).Class.Permanent())
	b.tryEdit(b.ctx, t, locator, core.FailureGone)
}

// moved asserts, where chats never move, that sending simply goes on.
func moved(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	if b.MoveChat == nil {
		b.send(t, b.Group, pending())
		return
	}
	to := b.MoveChat()
	require.Equal(t, to, b.trySend(b.ctx, t, b.Group, core.FailureMoved).Address)
	require.Equal(t, to, b.tryEdit(b.ctx, t, locator, core.FailureMoved).Address)
	b.send(t, to, pending())
}

func malformed(t *testing.T, b *bundle) {
	for _, bad := range []string{"", " ", "x", "1/", ":", "../..", "1:2:3/4", "\x00"} {
		e := b.trySend(b.ctx, t, bad, core.FailureRejected)
		require.True(t, e.NotSent)
		require.True(t, b.tryEdit(b.ctx, t, bad, core.FailureRejected).NotSent)
	}
	require.Empty(t, b.Platform.Messages())
}

func foreignRendering(t *testing.T, b *bundle) {
	_, err := b.ch.Send(b.ctx, b.Group, channels.Rendered{Payload: 7})
	b.failed(t, err, core.FailureRejected)
	locator, _ := b.send(t, b.Group, pending())
	_, err = b.ch.Edit(b.ctx, locator, channels.Rendered{})
	b.failed(t, err, core.FailureRejected)
}

// outlives: whatever happens to the receiving calls, clicks arrive afterwards.
func outlives(t *testing.T, b *bundle) {
	for _, kind := range []fakes.FaultKind{
		fakes.FaultServerError, fakes.FaultUndecodable, fakes.FaultHollow, fakes.FaultResetBefore, fakes.FaultResetAfter, fakes.FaultRateLimit,
	} {
		b.Platform.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpReceive})
		b.Platform.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpCheck})
	}
	locator, _ := b.send(t, b.Direct, pending())
	in := new(Inbox)
	stop := b.receive(t, b.ch, in)
	press, err := b.Platform.Press(Press{Person: b.Owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	_, err = b.Platform.AwaitReply(b.ctx, press)
	require.NoError(t, err)
	require.NoError(t, stop())
}
