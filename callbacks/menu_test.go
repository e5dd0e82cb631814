package callbacks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// claude is the agent of the questions in the world.
var claude = core.Agent{Runtime: "laptop", Name: "Claude"}

// R52: the mode of an agent is shown and changed by buttons, and the menu ends without
// them.
func TestMode_ShowsAndChanges(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, claude)
	shown := typed(t, w, "4711", "/mode")
	require.Equal(t, "Claude on laptop has the mode “Before anything outside” (the default). "+
		"Asks before it reaches out, spends or deletes.\nWhat should it ask about?", shown.Text)
	require.Equal(t, []string{"Before everything", "Only money and deletes", "Rules (0)", "Back", "Close"}, labels(shown))
	require.Zero(t, d.sets, "looking changes nothing")

	set := w.pick(t, "4711", shown, "Only money and deletes")
	require.Equal(t, "Claude on laptop now has the mode “Only money and deletes”, from its next call on. Asks only before it spends or deletes.", set.Settled)
	require.Empty(t, set.Actions)
	require.Equal(t, core.ModeOnlyMoney, d.agents[0].Mode)

	// The same press again, as a platform may deliver it, finds the menu over.
	require.Equal(t, presentation.AnswerPromptGone, w.pick(t, "4711", shown, "Only money and deletes").Settled)
	require.Equal(t, 1, d.sets)

	d.agents[0].PausedAt = asked
	require.Contains(t, typed(t, w, "4711", "/mode").Text, " It is paused: what was allowed waits until somebody resumes it.")
	back := w.pick(t, "4711", typed(t, w, "4711", "/mode"), "The default")
	require.Contains(t, back.Settled, "now has the default mode again, “Before anything outside”")
	require.Empty(t, d.agents[0].Mode)
}

// R52: a press on a menu that shows an older mode changes nothing, and gets what it is
// now with buttons of its own.
func TestMode_StalePressGetsWhatIsNow(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, claude)
	alices, bobs := typed(t, w, "4711", "/mode"), w.pipeline.Text(t.Context(), w.say("4712", "/mode"))
	require.Contains(t, w.pick(t, "4712", bobs, "Before everything").Settled, "“Before everything”")
	late := w.pick(t, "4711", alices, "Only money and deletes")
	require.Equal(t, core.ModeBeforeEverything, d.agents[0].Mode)
	require.True(t, strings.HasPrefix(late.Settled, "Somebody else changed it meanwhile, so your press changed nothing. Claude on laptop has the mode “Before everything”."), late.Settled)
	require.LessOrEqual(t, len(utf16.Encode([]rune(late.Text))), presentation.MaxAnswer)
	require.Contains(t, labels(late), "Only money and deletes")
	require.Contains(t, w.pick(t, "4711", late, "Only money and deletes").Settled, "“Only money and deletes”")
	require.Equal(t, core.ModeOnlyMoney, d.agents[0].Mode)
}

// Of several agents the menu asks whose; the way back leads there again.
func TestMenus_AskWhose(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, claude, core.Agent{Runtime: "ci", Name: "", Mode: core.ModeBeforeEverything}, core.Agent{Runtime: "others", Name: "Secret"})
	d.ruled = []core.Rule{{ID: "r1", Runtime: "laptop", Agent: "Claude", Label: "mail to ann@example.com", CreatedName: "Bob", CreatedAt: asked}}
	for command, lines := range map[string]string{
		"/mode":  "1. Calls of ci without a name: “Before everything”\n2. Claude on laptop: “Before anything outside” (the default)",
		"/rules": "1. Calls of ci without a name: no rules\n2. Claude on laptop: 1 rule",
	} {
		shown := typed(t, w, "4711", command)
		require.True(t, strings.HasSuffix(shown.Text, lines), shown.Text)
		require.NotContains(t, shown.Text, "Secret", "nothing of others")
		require.Equal(t, []string{"1", "2 · Claude", "Close"}, labels(shown))
		require.Contains(t, w.pick(t, "4711", shown, "2 · Claude").Settled, "Claude on laptop")
	}
	mode := w.pick(t, "4711", typed(t, w, "4711", "/mode"), "2 · Claude")
	require.Equal(t, "Claude on laptop has the mode “Before anything outside” (the default). Asks before it reaches out, spends or deletes.", mode.Text)
	list := w.pick(t, "4711", mode, "Back")
	require.Contains(t, list.Settled, "Whose mode?")
	closed := w.pick(t, "4711", list, "Close")
	require.Equal(t, presentation.AnswerMenuClose, closed.Settled)
	require.Empty(t, closed.Actions)
}

// A long list comes in pages, each entry has its number in the whole list, and a page
// that is not there any more is the first.
func TestMenus_TurnPages(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, claude)
	for i := range 12 {
		d.ruled = append(d.ruled, core.Rule{ID: fmt.Sprint(i), Runtime: "laptop", Agent: "Claude", Label: fmt.Sprintf("rule number %d", i+1)})
	}
	first := typed(t, w, "4711", "/rules")
	require.Equal(t, []string{"Take back 1", "Take back 2", "Take back 3", "Take back 4", "Take back 5", "More", "Mode", "Close"}, labels(first))
	second := w.pick(t, "4711", first, "More")
	require.Contains(t, second.Settled, "\n6. rule number 6 ")
	third := w.pick(t, "4711", second, "More")
	require.Equal(t, []string{"Take back 11", "Take back 12", "Back", "Mode", "Close"}, labels(third))
	require.Contains(t, w.pick(t, "4711", third, "Back").Settled, "\n6. rule number 6 ")

	third = w.pick(t, "4711", w.pick(t, "4711", typed(t, w, "4711", "/rules"), "More"), "More")
	d.ruled = d.ruled[:7]
	asks := w.pick(t, "4711", third, "Take back 11")
	require.Equal(t, notYours+"4711.", asks.Settled, "a rule that is not there")
	d.ruled = nil
	require.Equal(t, "Claude on laptop may do nothing without asking beyond what its mode allows.", typed(t, w, "4711", "/rules").Text)
}

// R75: a rule is taken back behind a confirmation; whoever is second is told who was
// first.
func TestRules_TakeBack(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, claude)
	d.ruled = []core.Rule{
		{ID: "r1", Runtime: "laptop", Agent: "Claude", Label: "mail to ann@example.com", CreatedName: "Bob", CreatedAt: asked, Uses: 2},
		{ID: "r2", Runtime: "laptop", Agent: "Claude", Label: "every use of Edit", CreatedName: "Bob", CreatedAt: asked, RemovedAt: asked},
	}
	shown := typed(t, w, "4711", "/rules")
	require.Equal(t, "Claude on laptop may do without asking:\n1. mail to ann@example.com (by Bob, 14:00 UTC; used 2 times)\nTake one back?", shown.Text)
	asks := w.pick(t, "4711", shown, "Take back 1")
	require.Equal(t, "Take back “mail to ann@example.com”? Claude on laptop asks about it again from its next call on.", asks.Settled)
	require.Zero(t, d.acts, "not yet")
	list := w.pick(t, "4711", asks, "Back")
	require.Equal(t, shown.Text, list.Settled)

	mine := w.pick(t, "4711", list, "Take back 1")
	bobs := w.pick(t, "4712", w.pipeline.Text(t.Context(), w.say("4712", "/rules")), "Take back 1")
	done := w.pick(t, "4711", mine, "Yes, take it back")
	require.Equal(t, "Taken back: “mail to ann@example.com”. Claude on laptop asks about it again from its next call on.", done.Settled)
	require.Empty(t, done.Actions)
	second := w.pick(t, "4712", bobs, "Yes, take it back")
	require.Equal(t, "“mail to ann@example.com” was taken back before, by Alice, 14:00 UTC.", second.Settled)
}

// R155: strangers, shared chats and those without the right get the answers that they
// always get, and nothing is read for them.
func TestMenus_StrangersAndGroups(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, claude)
	for _, command := range []string{"/mode", "/rules"} {
		require.Equal(t, notYours+"999.", typed(t, w, "999", command).Text)
		require.Equal(t, notYours+"4715.", typed(t, w, "4715", command).Text, "disabled")
		require.Equal(t, presentation.AnswerNoAgents, typed(t, w, "4714", command).Text, "decides for none")
		shared := w.say("4711", command)
		shared.Direct = false
		require.Equal(t, presentation.AnswerDirectOnly, w.pipeline.Text(t.Context(), shared).Text)
		anonymous := w.say("999", command)
		anonymous.Actor.Refused = "a channel"
		require.Equal(t, presentation.AnswerRefused("a channel"), w.pipeline.Text(t.Context(), anonymous).Text)
	}
	viewer := typed(t, w, "4713", "/mode")
	require.Equal(t, []string{"Rules (0)", "Back", "Close"}, labels(viewer), "whoever may only look gets nothing to press")

	// A menu is its own person's, in its own chat.
	shown := typed(t, w, "4711", "/mode")
	require.Equal(t, presentation.AnswerNotYourAsk, w.pick(t, "4712", shown, "Before everything").Text)
	moved := w.press(t, "4711", message, shown.Actions[0])
	moved.Chat = group
	require.Equal(t, presentation.AnswerNotYourAsk, w.pipeline.Click(t.Context(), moved).Text)
	// The right is checked at the press.
	w.people[realm+"/4711"] = core.Principal{ID: "alice", Name: "Alice", Role: core.RoleViewer, Revision: 2}
	require.Equal(t, presentation.AnswerMayNotSet, w.pick(t, "4711", shown, "Before everything").Settled)
	require.Zero(t, d.sets)

	plain := newWorld(t)
	require.Equal(t, presentation.AnswerNoMenus, typed(t, plain, "4711", "/mode").Text, "where nothing can be set")
}

// A fault leaves the menu usable; whoever was told that nothing was recorded finds
// nothing changed, and a change whose answer was lost is made once.
func TestMenus_Faults(t *testing.T) {
	t.Parallel()
	w, d := newDesk(t, claude)
	shown := typed(t, w, "4711", "/mode")
	d.onAct = func(int) error { return core.ErrUnavailable }
	failed := w.pick(t, "4711", shown, "Before everything")
	require.Equal(t, presentation.AnswerNotRecorded, failed.Text)
	require.Empty(t, failed.Settled, "the buttons stay")
	require.Zero(t, d.sets)

	d.onAct = nil
	d.lost = func(n int) error {
		if n == 2 {
			return context.DeadlineExceeded
		}
		return nil
	}
	require.Contains(t, w.pick(t, "4711", shown, "Before everything").Settled, "now has the mode “Before everything”")
	require.Equal(t, 1, d.sets)

	d.lost = func(int) error { return context.DeadlineExceeded }
	unclear := w.pick(t, "4711", typed(t, w, "4711", "/mode"), "The default")
	require.Equal(t, presentation.AnswerUnclear, unclear.Text)
	require.Empty(t, unclear.Settled)

	d.offline = core.ErrUnavailable
	require.Equal(t, presentation.AnswerNotRecorded, typed(t, w, "4711", "/rules").Text)
	d.offline, w.onPrompt = nil, core.ErrUnavailable
	require.Equal(t, presentation.AnswerNotRecorded, typed(t, w, "4711", "/rules").Text)
	w.onPrompt = nil
	menu := typed(t, w, "4711", "/rules")
	require.Equal(t, presentation.AnswerMenuClose, w.pick(t, "4711", menu, "Close").Settled)
	for _, secret := range []string{"Claude", "ann@example.com"} {
		require.NotContains(t, w.log.String(), secret)
	}
}

// Whatever agents call themselves, a menu has its bounds, its buttons are told apart by
// number, and its choices name the agents exactly.
func TestMenus_HostileNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w, d := newDesk(t)
		for i := range rapid.IntRange(2, 12).Draw(rt, "agents") {
			name := rapid.OneOf(rapid.SampledFrom([]string{"Close", "Back", "@everyone", "</b>", "*x*", ""}), rapid.StringN(0, 120, core.MaxShortText)).Draw(rt, "name")
			d.agents = append(d.agents, core.Agent{Runtime: fmt.Sprintf("r%d", i), Name: name})
		}
		shown := typed(t, w, "4711", "/mode")
		for {
			require.LessOrEqual(rt, len(shown.Actions), core.MaxChoices)
			prompt := w.prompts[fmt.Sprintf("prompt-%d", len(w.prompts))]
			require.Len(rt, prompt.Choices, len(shown.Actions))
			next := -1
			for i, a := range shown.Actions {
				require.Equal(rt, i, a.Choice)
				require.LessOrEqual(rt, len([]rune(a.Label)), 64)
				if c := prompt.Choices[i]; c.Do == core.ChoiceShowMode {
					require.Contains(rt, d.agents, core.Agent{Runtime: c.Runtime, Name: c.Agent})
					require.Regexp(rt, `^\d+( · |$)`, a.Label)
				} else if a.Label == presentation.LabelMore {
					next = i
				}
			}
			if next < 0 {
				break
			}
			shown = w.pick(t, "4711", shown, presentation.LabelMore)
		}
	})
}

// A button that no menu has, on a payload that is ours, ends the menu.
func TestMenus_ChoiceThatIsNotThere(t *testing.T) {
	t.Parallel()
	w, _ := newDesk(t, claude)
	shown := typed(t, w, "4711", "/mode")
	odd := shown.Actions[0]
	odd.Choice = core.MaxChoices - 1
	answer := w.pipeline.Click(t.Context(), w.press(t, "4711", message, odd))
	require.Equal(t, presentation.AnswerPromptGone, answer.Settled)
	for _, v := range []core.CallbackValue{core.CallbackConfirm, core.CallbackDismiss} {
		answer = w.pipeline.Click(t.Context(), w.press(t, "4711", message, core.Action{Type: core.ActionCallback, Value: v, PromptRef: odd.PromptRef}))
		require.Equal(t, presentation.AnswerPromptGone, answer.Settled)
	}
	require.Empty(t, cmp.Diff(presentation.AnswerUsage, typed(t, w, "4711", "/modes").Text))
}
