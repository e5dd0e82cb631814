package presentation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

func menuAgent() presentation.MenuAgent {
	return presentation.MenuAgent{Runtime: "laptop", Name: "Claude", Mode: core.ModeBeforeOutside, Default: true, Rules: 2, May: true}
}

func menuRules() []core.Rule {
	return []core.Rule{
		{Label: "mail to dora@example.com", CreatedName: "Alice", CreatedAt: asked, Uses: 3},
		{Label: "every use of pay, money and deletes included", CreatedName: "ליאור", CreatedAt: asked, Uses: 1, UsesAllowed: 5, ExpiresAt: asked.Add(48 * time.Hour)},
		{Label: "GET requests to api.example.com", CreatedAt: asked.Add(-400 * 24 * time.Hour), Uses: 1},
	}
}

// TestGoldenMenus shows every menu as people read it (R51, R52, R75, R76).
func TestGoldenMenus(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("CET", 3600)
	now := asked.Add(time.Hour)
	codex := presentation.MenuAgent{Runtime: "ci-7", Name: "Codex\\u{202E} *b* <@U1> @everyone", Mode: core.ModeOnlyMoney, Paused: true}
	unnamed := presentation.MenuAgent{Runtime: "ci-7", Mode: core.ModeBeforeEverything, Rules: 1}
	removed := menuRules()[0]
	removed.RemovedAt, removed.RemovedName = asked.Add(20*time.Minute), "Bob"
	all := []presentation.MenuAgent{menuAgent(), codex, unnamed}
	set := menuAgent()
	set.Default, set.Mode = false, core.ModeOnlyMoney
	none := menuAgent()
	none.Rules = 0

	var b strings.Builder
	for _, shown := range []struct{ name, text string }{
		{"whose mode", presentation.MenuModes(1, all)},
		{"whose mode, second page", presentation.MenuModes(6, all[1:])},
		{"mode", presentation.MenuMode(menuAgent())},
		{"mode, paused, of others", presentation.MenuMode(codex)},
		{"mode, press came too late", presentation.MenuModeTaken(set)},
		{"mode set", presentation.MenuModeSet(set)},
		{"mode set to the default", presentation.MenuModeSet(menuAgent())},
		{"whose rules", presentation.MenuAgentsRules(1, all)},
		{"rules", presentation.MenuRules(menuAgent(), 1, menuRules(), now, zone)},
		{"rules, second page, of others", presentation.MenuRules(unnamed, 6, menuRules(), now, zone)},
		{"no rules", presentation.MenuRules(none, 1, nil, now, zone)},
		{"remove", presentation.MenuRemove(menuAgent(), menuRules()[0])},
		{"removed", presentation.MenuRemoved(menuAgent(), removed, true, now, zone)},
		{"removed before", presentation.MenuRemoved(menuAgent(), removed, false, now, zone)},
		{"spent", presentation.MenuRemoved(menuAgent(), menuRules()[0], false, now, zone)},
		{"labels", strings.Join([]string{
			presentation.MenuLabel(1, "Claude"), presentation.MenuLabel(10, "  "), presentation.MenuLabel(2, strings.Repeat("long ", 20)),
			presentation.MenuTakeBack(3), presentation.MenuModeLabel(""), presentation.MenuModeLabel(core.ModeOnlyMoney),
			presentation.MenuRulesLabel(menuAgent()),
		}, "\n")},
	} {
		fmt.Fprintf(&b, "--- %s\n%s\n", shown.name, strings.ReplaceAll(shown.text, "\u200e", "[LRM]"))
	}
	compare(t, "menus", b.String())
}

// A menu fits into the smallest limit of all platforms, whatever agents and rules are
// called, and each entry keeps a line of its own.
func TestMenusFitEverywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := func(label string) string { return strings.ReplaceAll(drawText(t, label, 250), "\n", " ") }
		var agents []presentation.MenuAgent
		var rules []core.Rule
		for range presentation.MenuPage {
			agents = append(agents, presentation.MenuAgent{
				Runtime: strings.Repeat("r", core.MaxRuntimeName), Name: name("agent"), Mode: core.ModeBeforeOutside,
				Default: true, Paused: true, Rules: core.MaxPage, May: true,
			})
			rules = append(rules, core.Rule{
				Label: name("rule"), CreatedName: name("maker"), CreatedAt: asked.Add(-400 * 24 * time.Hour), ExpiresAt: asked.Add(400 * 24 * time.Hour),
				Uses: 1 << 40, UsesAllowed: 1 << 41, RemovedAt: asked, RemovedName: name("remover"),
			})
		}
		for what, text := range map[string]string{
			"modes":   presentation.MenuModes(9_999, agents),
			"rules":   presentation.MenuAgentsRules(9_999, agents),
			"mode":    presentation.MenuMode(agents[0]),
			"late":    presentation.MenuModeTaken(agents[0]),
			"set":     presentation.MenuModeSet(agents[0]),
			"list":    presentation.MenuRules(agents[0], 9_999, rules, asked, nil),
			"remove":  presentation.MenuRemove(agents[0], rules[0]),
			"removed": presentation.MenuRemoved(agents[0], rules[0], true, asked, nil),
			"before":  presentation.MenuRemoved(agents[0], rules[0], false, asked, nil),
		} {
			for by, measure := range measures {
				if by != "bytes" && by != "html" { // No platform counts a message so.
					require.LessOrEqual(t, measure(text), 2_000, "%s by %s", what, by)
				}
			}
		}
		require.Equal(t, presentation.MenuPage, strings.Count(presentation.MenuModes(1, agents), "\n"))
		require.LessOrEqual(t, len([]rune(presentation.MenuLabel(9_999, name("label")))), 36)
	})
}
