package presentation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/redact"
	"github.com/saysohq/sayso/presentation"
)

// described builds an approval of a raw action the way the service does.
func described(t *testing.T, raw core.RawAction) (core.Approval, core.Detail) {
	t.Helper()
	d, err := redact.New().Describe(raw)
	require.NoError(t, err)
	a := execApproval()
	if raw.Kind == core.KindPlugin {
		a = pluginApproval()
	}
	a.Presentation, a.ActionHash, a.Fingerprint = d.Presentation, d.ActionHash, core.Fingerprint(d.ActionHash)
	a.DetailBytes, a.DetailOmitted = int64(len(d.Detail.Text)), d.Detail.Omitted
	a.Operation = core.Operation{Tool: d.Tool, Name: d.Operation}
	a.Agent = redact.New().Text(raw.Agent, core.MaxShortText)
	return a, d.Detail
}

func arguments(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

// A command's card shows it whole, and where it would run once.
func TestDescribedCommand(t *testing.T) {
	t.Parallel()
	a, d := described(t, core.RawAction{
		Kind: core.KindExec, Agent: "Claude", Tool: "shell",
		Arguments: arguments(t, map[string]any{
			"argv": []string{"deploy", "--note", "one\n\nFolder: /tmp"}, "folder": "/srv/api", "executable": "/usr/bin/deploy",
			"env": map[string]string{"HTTPS_PROXY": "http://x"},
		}),
	})
	c := presentation.For(a, d, local(aliceCard))
	require.Contains(t, c.Command, "deploy --note")
	require.NotContains(t, c.Command, "\nFolder: ", "a fact says it, and a command cannot forge the line")
	require.NotContains(t, c.Command, "Executable: ")
	require.Contains(t, c.Command, "HTTPS_PROXY", "what no fact says stays in the block")
	values := map[string]string{}
	for _, f := range c.Facts {
		values[f.Label] = f.Value
	}
	require.Equal(t, "/srv/api", values["Folder"])
	require.Equal(t, "/usr/bin/deploy", values["Executable"])
	require.Equal(t, "shell", values["Tool"])
	require.Equal(t, core.DecisionAllowOnce, c.Actions[0].Decision)
}

// Invariant 7, conformance 117-123: whatever a caller writes, no hidden character
// and no secret reaches a card, pending or settled, and the tool is named beside
// the caller's own title.
func TestHostileActionsAreMadeVisible(t *testing.T) {
	t.Parallel()
	hidden := "a\u202Eb\u200Bc\u2066d\u00ADe\uFEFFf\U000E0041g\u3164h\x1bi"
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	for _, raw := range []core.RawAction{
		{
			Kind: core.KindExec, Title: "Reads a file " + hidden, Agent: hidden, Tool: "shell" + hidden, Operation: hidden,
			Arguments: arguments(t, map[string]any{"argv": []string{"rm", hidden, secret, "```", "</pre>"}, "folder": hidden, "executable": hidden}),
		},
		{
			Kind: core.KindPlugin, Title: "Reads a file " + hidden, Summary: hidden + secret, Agent: hidden, Tool: "delete" + hidden, Operation: "all",
			Arguments: arguments(t, map[string]any{hidden: hidden, "text": secret + "@everyone <!channel>", "long": strings.Repeat("<&>", 30_000)}),
		},
	} {
		a, d := described(t, raw)
		settled := decided(a, core.DecisionDeny)
		settled.Note, settled.ResolverName = redact.New().Text(hidden+secret, 1000), "Alice"
		for _, c := range []presentation.Card{presentation.For(a, d, at(aliceCard)), presentation.For(settled, d, at(otherCard))} {
			text := layout(c)
			for _, action := range append(c.Actions, c.CutActions...) {
				text += "\n" + action.Label
			}
			at := strings.IndexFunc(text, func(r rune) bool {
				return r != '\n' && (unicode.In(r, unicode.Cc, unicode.Cf) || r == '\u3164')
			})
			require.Negative(t, at, "%q", text[max(at, 0):min(max(at, 0)+20, len(text))])
			require.NotContains(t, text, secret)
		}
		pending := presentation.For(a, d, at(aliceCard))
		require.Contains(t, layout(pending), "Tool: "+a.Operation.Tool)
		require.Equal(t, d.Omitted > 0, pending.Omitted > 0)
		if d.Omitted > 0 {
			require.Equal(t, core.DecisionDeny, pending.Actions[0].Decision, "nothing allows what cannot be shown")
		}
	}
}
