package discord_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/discord"
	fake "github.com/saysohq/sayso/channels/fakes/discord"
)

// finding picks the finding of a check.
func finding(t *testing.T, found []channels.Finding, check channels.Check) channels.Finding {
	t.Helper()
	i := slices.IndexFunc(found, func(f channels.Finding) bool { return f.Check == check })
	require.GreaterOrEqual(t, i, 0, "%s in %v", check, found)
	return found[i]
}

func TestDoctorRegistersTheCommand(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	c := open(t, s, codec(t), nil)
	f := finding(t, c.Examine(t.Context()), channels.CheckCommand)
	require.Equal(t, channels.VerdictFailed, f.Verdict)
	require.True(t, f.Mendable)
	require.Empty(t, s.Commands(), "examining changes nothing")
	require.NoError(t, c.Mend(t.Context(), f.Check))
	require.Len(t, s.Commands(), 1)
	require.Equal(t, channels.VerdictOK, finding(t, c.Examine(t.Context()), channels.CheckCommand).Verdict)
}

// The bot needs a server in common with people, and one in which it may post.
func TestDoctorLooksAtRights(t *testing.T) {
	t.Parallel()
	const all = "274878024704" // View, send, embed, attach, read history, send in threads.
	for _, step := range []struct {
		name   string
		rights []string
		want   channels.Verdict
		detail string
	}{
		{"an administrator", []string{"8"}, channels.VerdictOK, "in 1 server(s)"},
		{"just what is needed", []string{all}, channels.VerdictOK, "in 1 server(s)"},
		{"one of two", []string{"0", all}, channels.VerdictOK, "in 2 server(s)"},
		{"no server", []string{}, channels.VerdictFailed, "no server"},
		{"no embeds", []string{"274878008320"}, channels.VerdictFailed, "lacks Embed Links"},
		{"no files", []string{"274877991936"}, channels.VerdictFailed, "lacks Attach Files"},
		{"unreadable", []string{"many"}, channels.VerdictFailed, "lacks View Channels"},
	} {
		s := world(t, fake.Config{})
		s.Join(step.rights...)
		f := finding(t, open(t, s, codec(t), nil).Examine(t.Context()), channels.CheckPermissions)
		require.Equal(t, step.want, f.Verdict, step.name)
		require.Contains(t, f.Detail, step.detail, step.name)
	}
}

// An endpoint at the platform and the way that we receive must fit: with one, the
// gateway gets no click.
func TestDoctorComparesTheEndpoint(t *testing.T) {
	t.Parallel()
	ours := "https://sayso.example/ops/webhooks/discord/" + fake.DefaultBotID
	for _, step := range []struct {
		name, endpoint string
		pushed         bool
		otherKey       bool
		want           channels.Verdict
	}{
		{"gateway, none", "", false, false, channels.VerdictOK},
		{"gateway, set", ours, false, false, channels.VerdictFailed},
		{"pushed, ours", ours, true, false, channels.VerdictOK},
		{"pushed, none", "", true, false, channels.VerdictFailed},
		{"pushed, another's", "https://other.example/secret-path", true, false, channels.VerdictFailed},
		{"pushed, another key", ours, true, true, channels.VerdictFailed},
	} {
		s := world(t, fake.Config{})
		s.Divert(step.endpoint)
		c := open(t, s, codec(t), func(c *discord.Config) {
			if step.pushed {
				c.PublicKey = s.PublicKey()
			}
			if step.otherKey {
				c.PublicKey = "00" + c.PublicKey[2:]
			}
		})
		found := c.Examine(t.Context())
		f := finding(t, found, channels.CheckInteractivity)
		require.Equal(t, step.want, f.Verdict, step.name)
		require.NotContains(t, f.Detail+f.Fix, "other.example", step.name)
		require.Equal(t, channels.VerdictOK, finding(t, found, channels.CheckIntents).Verdict)
	}
}

func TestDoctorTellsAnotherApplicationApart(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	c := open(t, s, codec(t), func(c *discord.Config) { c.ApplicationID = "900000000000000002" })
	found := c.Examine(t.Context())
	require.Len(t, found, 1)
	require.Equal(t, channels.VerdictFailed, found[0].Verdict)
	require.Contains(t, found[0].Detail, "another application")
}
