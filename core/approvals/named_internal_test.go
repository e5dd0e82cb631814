package approvals

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// R72, R76: a rule for one exact command names it wherever the rule is listed, in the
// card's own safe text; nothing that does not fit passes for the whole.
func TestNamed(t *testing.T) {
	t.Parallel()
	exact := core.AlwaysOffer{Label: "exactly this command in this folder", Scope: core.RuleForOperation, Value: core.HashOf([]byte("x"))}
	exec := func(command, folder string) core.Presentation {
		return core.Presentation{Kind: core.KindExec, Command: command, Folder: folder}
	}
	tool := func(lines ...core.Line) core.Presentation {
		return core.Presentation{Kind: core.KindPlugin, Lines: lines}
	}
	cutAway := exec("make test", "/srv")
	cutAway.Truncated = true
	for _, c := range []struct {
		name string
		p    core.Presentation
		want string
	}{
		{"a command", exec("make test", "/srv/app"), "exactly make test in /srv/app"},
		{"without a folder", exec("make test", ""), "exactly make test"},
		{"a shell's tool call", tool(core.Line{Label: "command", Value: "make test"}, core.Line{Label: "cwd", Value: "/srv"}), "exactly command: make test, cwd: /srv"},
		{"a cut line", tool(core.Line{Label: "command", Value: "make", Cut: true}), "exactly the command that begins with command: make…"},
		{"a cut projection", cutAway, "exactly the command that begins with make test in /srv…"},
		{"several lines", exec("make test\nrm -r x", ""), "exactly the command that begins with make test…"},
		{"too long", exec(strings.Repeat("é", 70), ""), "exactly the command that begins with " + strings.Repeat("é", 48) + "…"},
		{"half an escape", exec(strings.Repeat("a", 43)+`\u{200B}`+strings.Repeat("b", 90), ""), "exactly the command that begins with " + strings.Repeat("a", 43) + "…"},
		{"four bytes a letter", exec(strings.Repeat("😀", 90), ""), "exactly the command that begins with " + strings.Repeat("😀", 48) + "…"},
		{"nothing to say", core.Presentation{Kind: core.KindPlugin}, exact.Label},
	} {
		got := named(&exact, &c.p)
		require.Equal(t, c.want, got.Label, c.name)
		require.LessOrEqual(t, len(got.Label), core.MaxShortText)
		require.Equal(t, exact.Value, got.Value, "what it covers is the policy's to say")
	}
	require.Equal(t, "exactly this command in this folder", exact.Label, "the policy's own offer is left alone")

	host := core.AlwaysOffer{Label: "requests to example.com", Scope: core.RuleForHost, Value: "example.com"}
	p := exec("make", "")
	require.Same(t, &host, named(&host, &p))
	require.Nil(t, named(nil, &p))
}
