package channeltest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
)

func doctorCases() []testCase {
	return []testCase{
		{"healthy_account", healthy},
		{"revoked_token", examineRevoked},
		{"bad_token", examineBadToken},
		{"platform_cannot_be_reached", examineUnreachable},
		{"platform_fault_is_no_failure_of_the_account", examineFault},
		{"unknown_checks_are_not_mended", mendNothing},
	}
}

// examine examines and holds every finding to what all of them promise.
func (b *bundle) examine(t *testing.T, ch channels.Channel) []channels.Finding {
	t.Helper()
	d, ok := ch.(channels.Doctor)
	require.True(t, ok, "every channel can be examined")
	found := d.Examine(b.ctx)
	require.NotEmpty(t, found)
	seen := map[channels.Check]bool{}
	for _, f := range found {
		require.False(t, seen[f.Check], "%s twice", f.Check)
		seen[f.Check] = true
		require.True(t, f.Verdict.Valid(), "%s", f.Check)
		b.clean(t, f.Detail+f.Fix)
		require.Equal(t, f.Verdict != channels.VerdictOK, f.Fix != "", "%s: whatever is not in order says what to do", f.Check)
		require.False(t, f.Mendable && f.Verdict != channels.VerdictFailed, "%s", f.Check)
	}
	require.Equal(t, channels.CheckToken, found[0].Check)
	return found
}

// healthy: what can be mended is mended, and then nothing is left to complain about;
// mending may be repeated.
func healthy(t *testing.T, b *bundle) {
	b.receive(t, b.ch, new(Inbox))
	d, _ := b.ch.(channels.Doctor)
	for _, f := range b.examine(t, b.ch) {
		require.True(t, f.Verdict == channels.VerdictOK || f.Mendable, "%s: %s", f.Check, f.Detail)
		if f.Mendable {
			require.NoError(t, d.Mend(b.ctx, f.Check))
			require.NoError(t, d.Mend(b.ctx, f.Check))
		}
	}
	for _, f := range b.examine(t, b.ch) {
		require.Equal(t, channels.VerdictOK, f.Verdict, "%s: %s", f.Check, f.Detail)
	}
}

// refusedToken is the only finding where the platform refuses the credentials.
func refusedToken(t *testing.T, found []channels.Finding) {
	t.Helper()
	require.Len(t, found, 1)
	require.Equal(t, channels.VerdictFailed, found[0].Verdict)
	require.Contains(t, found[0].Fix, "token")
}

func examineRevoked(t *testing.T, b *bundle) {
	b.Platform.Revoke()
	refusedToken(t, b.examine(t, b.ch))
}

func examineBadToken(t *testing.T, b *bundle) {
	refusedToken(t, b.examine(t, b.open(t, Options{BadToken: true})))
}

func examineUnreachable(t *testing.T, b *bundle) {
	found := b.examine(t, b.open(t, Options{Unreachable: true}))
	require.Len(t, found, 1)
	require.Equal(t, channels.VerdictUnknown, found[0].Verdict)
	require.Contains(t, found[0].Fix, "network")
}

func examineFault(t *testing.T, b *bundle) {
	for _, kind := range []fakes.FaultKind{fakes.FaultServerError, fakes.FaultUndecodable, fakes.FaultHollow, fakes.FaultRateLimit} {
		b.Platform.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpCheck, Times: -1})
		found := b.examine(t, b.ch)
		require.Len(t, found, 1, "%s", kind)
		require.Equal(t, channels.VerdictUnknown, found[0].Verdict, "%s", kind)
		b.Platform.Script.Clear()
	}
}

func mendNothing(t *testing.T, b *bundle) {
	d, _ := b.ch.(channels.Doctor)
	require.ErrorIs(t, d.Mend(b.ctx, channels.CheckToken), core.ErrInvalid)
}
