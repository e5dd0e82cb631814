package slack_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/channels/slack"
)

// finding picks the finding of a check.
func finding(t *testing.T, found []channels.Finding, check channels.Check) channels.Finding {
	t.Helper()
	i := slices.IndexFunc(found, func(f channels.Finding) bool { return f.Check == check })
	require.GreaterOrEqual(t, i, 0, "%s in %v", check, found)
	return found[i]
}

func TestDoctorNamesMissingScopes(t *testing.T) {
	t.Parallel()
	s := world(t)
	c := open(t, s, codec(t), nil)
	s.GrantScopes("chat:write,im:write, commands,channels:read")
	f := finding(t, c.Examine(t.Context()), channels.CheckPermissions)
	require.Equal(t, channels.VerdictFailed, f.Verdict)
	require.Equal(t, "the bot token lacks im:history, users:read", f.Detail)
	require.Contains(t, f.Fix, "install the app to the workspace again")
	require.False(t, f.Mendable)

	s.GrantScopes("")
	require.Equal(t, channels.VerdictUnknown, finding(t, c.Examine(t.Context()), channels.CheckPermissions).Verdict)
}

// An app token that is refused is told apart from the bot's.
func TestDoctorTriesTheAppToken(t *testing.T) {
	t.Parallel()
	s := world(t)
	c := open(t, s, codec(t), func(c *slack.Config) { c.AppToken += "x" })
	found := c.Examine(t.Context())
	require.Equal(t, channels.VerdictOK, finding(t, found, channels.CheckToken).Verdict)
	f := finding(t, found, channels.CheckInteractivity)
	require.Equal(t, channels.VerdictFailed, f.Verdict)
	require.Contains(t, f.Fix, "connections:write")

	// Connections are granted sparingly; that is no fault of the account.
	healthy := open(t, s, codec(t), nil)
	s.Script.Add(fakes.Fault{Kind: fakes.FaultRateLimit, Op: fakes.OpReceive, Delay: time.Minute})
	require.Equal(t, channels.VerdictUnknown, finding(t, healthy.Examine(t.Context()), channels.CheckInteractivity).Verdict)
}

// Where clicks are pushed the platform tells nobody whereto: the finding names the
// address to compare with.
func TestDoctorOfPushes(t *testing.T) {
	t.Parallel()
	s := world(t)
	c := open(t, s, codec(t), func(c *slack.Config) {
		c.AppToken, c.App, c.SigningSecret, c.Now = "", fake.App, fake.Secret, time.Now
	})
	f := finding(t, c.Examine(t.Context()), channels.CheckInteractivity)
	require.Equal(t, channels.VerdictUnknown, f.Verdict)
	require.Contains(t, f.Fix, "/webhooks/slack/"+fake.App)
	require.NotContains(t, f.Fix, fake.Secret)
	require.Empty(t, s.Calls("apps.connections.open"))
}
