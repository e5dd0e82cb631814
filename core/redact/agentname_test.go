package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/redact"
)

// An agent is found by its name as its requests write it and as lists show it, whatever
// is in it: what is set for it holds for it.
func TestAnAgentIsFoundByBothItsNames(t *testing.T) {
	t.Parallel()
	text := redact.New().Text
	for _, name := range []string{
		"", "books", " books ", "⚙️ builder", "bo\u200boks", "\u202ebooks", "books\u00a0", strings.Repeat("\u200b", 85), strings.Repeat("é", 128),
		"token=hunter2hunter2", "Bearer abcdefghijklmnopqrstuvwxyz", "https://u:p@example.com/", strings.Repeat("\u200b", 45) + strings.Repeat("😀", 30),
	} {
		shown := text(name, core.MaxShortText)
		require.Equal(t, shown, core.RecordedAgent(text, name), "%q as requests write it", name)
		require.Equal(t, shown, core.RecordedAgent(text, shown), "%q as lists show it", name)
		require.True(t, core.ValidAgentName(shown))
	}
	rapid.Check(t, func(t *rapid.T) {
		name := anyText().Draw(t, "name")
		if len(name) > core.MaxShortText {
			return
		}
		shown := text(name, core.MaxShortText)
		require.Equal(t, shown, core.RecordedAgent(text, shown))
	})
	for _, none := range []string{"\xff", strings.Repeat("a", core.MaxShortText+1)} {
		require.False(t, core.ValidAgentName(none))
		require.Equal(t, none, core.RecordedAgent(text, none), "no agent has it, and it is not made another's")
	}
}
