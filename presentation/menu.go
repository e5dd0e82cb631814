package presentation

import (
	"fmt"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
)

// Menus: the questions of /mode and /rules, as texts and labels. A menu is short: with
// the escapes of the platform that counts the dearest it fits into 2,000 units, which is
// the smallest limit of a message.

// MenuPage is how many agents or rules one menu lists: with the controls that a list may
// have besides, each has a button.
const MenuPage = 5

// Bounds of menus.
const (
	maxMenuName  = 80  // Weight of an agent's name.
	maxMenuLine  = 200 // Weight of a rule's label in a list.
	maxMenuRule  = 900 // Weight of a rule's label that stands alone.
	maxMenuLabel = 32  // Code points of a button that names something.
)

// Labels of the buttons of menus.
const (
	LabelClose       = "Close"
	LabelBack        = "Back"
	LabelMore        = "More"
	LabelMode        = "Mode"
	LabelYesTakeBack = "Yes, take it back"
	labelDefault     = "The default"
)

// Answers of menus.
const (
	AnswerNoAgents  = "You decide for no agent yet. One appears here when it has asked for the first time."
	AnswerMenuClose = "All right."
	AnswerNoMenus   = "Modes and rules cannot be changed here."
	AnswerMayNotSet = "You may see this agent, but not change it. Nothing was changed."
	AnswerLooser    = "This may not be loosened from here. Nothing was changed."

	menuModesTitle  = "Whose mode? Money and deletes ask in every one."
	menuRulesTitle  = "Whose rules? They say what an agent may do without asking."
	menuModeAsk     = "What should it ask about?"
	menuModeLocked  = "Only those who may decide for it can change that."
	menuRemoveAsk   = "Take one back?"
	menuNothing     = "%s may do nothing without asking beyond what its mode allows."
	menuUnasked     = "%s may do without asking:"
	menuUnaskedMore = "%s may also do without asking:"
	menuRemove      = "Take back “%s”? %s asks about it again from its next call on."
	menuRemoved     = "Taken back: “%s”. %s asks about it again from its next call on."
	menuWasRemoved  = "“%s” was taken back before, by %s, %s."
	menuEnded       = "“%s” covers nothing any more."
	menuModeSet     = "%s now has the mode “%s”, from its next call on. %s"
	menuModeDefault = "%s now has the default mode again, “%s”, from its next call on. %s"
	menuModeChanged = "Somebody else changed it meanwhile, so your press changed nothing. "
	menuPaused      = " It is paused: what was allowed waits until somebody resumes it."
)

// MenuAgent is an agent as menus name it.
type MenuAgent struct {
	Runtime string
	Name    string // Safe text; "" for calls that name no agent.
	Mode    string // In force.
	Default bool   // Nobody chose it.
	Paused  bool
	Rules   int
	May     bool // The reader may change it.
}

// title is the agent in a sentence: "Claude on laptop".
func (a *MenuAgent) title() string {
	if strings.TrimSpace(a.Name) == "" {
		return "Calls of " + a.Runtime + " without a name"
	}
	return isolate(heavyCut(a.Name, maxMenuName)) + " on " + a.Runtime
}

func (a *MenuAgent) mode() string {
	text := "“" + ModeName(a.Mode) + "”"
	if a.Default {
		text += " (the default)"
	}
	return text
}

// MenuLabel names an entry of a list on its button: by its number in the list, because
// a name may look like any other button's.
func MenuLabel(number int, name string) string {
	name = strings.TrimSpace(cutRunes(name, maxMenuLabel-5))
	if name == "" {
		return fmt.Sprint(number)
	}
	return fmt.Sprintf("%d · %s", number, name)
}

// MenuTakeBack labels the button that takes a rule back.
func MenuTakeBack(number int) string { return fmt.Sprintf("Take back %d", number) }

// MenuModeLabel is the button of a mode; "" stands for the default.
func MenuModeLabel(mode string) string {
	if mode == "" {
		return labelDefault
	}
	return ModeName(mode)
}

// MenuRulesLabel is the button that leads from an agent's mode to its rules.
func MenuRulesLabel(a MenuAgent) string { return fmt.Sprintf("Rules (%d)", a.Rules) }

// MenuModes lists agents with their modes; first is the number of the first of them.
func MenuModes(first int, agents []MenuAgent) string {
	lines := []string{menuModesTitle}
	for i := range agents {
		lines = append(lines, fmt.Sprintf("%d. %s: %s", first+i, agents[i].title(), agents[i].mode()))
	}
	return strings.Join(lines, "\n")
}

// MenuAgentsRules lists agents with how many rules they have.
func MenuAgentsRules(first int, agents []MenuAgent) string {
	lines := []string{menuRulesTitle}
	for i := range agents {
		lines = append(lines, fmt.Sprintf("%d. %s: %s", first+i, agents[i].title(), counted(agents[i].Rules)))
	}
	return strings.Join(lines, "\n")
}

func counted(rules int) string {
	switch rules {
	case 0:
		return "no rules"
	case 1:
		return "1 rule"
	}
	return fmt.Sprintf("%d rules", rules)
}

// MenuMode shows the mode of one agent and asks for another.
func MenuMode(a MenuAgent) string {
	return modeNow(a) + "\n" + modeQuestion(a)
}

// MenuModeTaken shows the mode that is in force to somebody whose press came too late.
func MenuModeTaken(a MenuAgent) string {
	return menuModeChanged + modeNow(a) + "\n" + modeQuestion(a)
}

func modeNow(a MenuAgent) string {
	text := fmt.Sprintf("%s has the mode %s. %s", a.title(), a.mode(), ModeAsks(a.Mode))
	if a.Paused {
		text += menuPaused
	}
	return text
}

func modeQuestion(a MenuAgent) string {
	if a.May {
		return menuModeAsk
	}
	return menuModeLocked
}

// MenuModeSet confirms a change of the mode.
func MenuModeSet(a MenuAgent) string {
	text := menuModeSet
	if a.Default {
		text = menuModeDefault
	}
	return fmt.Sprintf(text, a.title(), ModeName(a.Mode), ModeAsks(a.Mode))
}

// MenuRules lists rules of one agent; first is the number of the first of them.
func MenuRules(a MenuAgent, first int, rules []core.Rule, now core.Millis, zone *time.Location) string {
	switch {
	case len(rules) == 0:
		return fmt.Sprintf(menuNothing, a.title())
	case first == 1:
		return ruleLines(fmt.Sprintf(menuUnasked, a.title()), a.May, first, rules, now, zone)
	}
	return ruleLines(fmt.Sprintf(menuUnaskedMore, a.title()), a.May, first, rules, now, zone)
}

func ruleLines(heading string, may bool, first int, rules []core.Rule, now core.Millis, zone *time.Location) string {
	lines := []string{heading}
	for i := range rules {
		lines = append(lines, fmt.Sprintf("%d. %s (%s)", first+i, heavyCut(rules[i].Label, maxMenuLine), ruleFacts(&rules[i], now, zone)))
	}
	if may {
		lines = append(lines, menuRemoveAsk)
	}
	return strings.Join(lines, "\n")
}

// ruleFacts say who made a rule and when, how often it was used and until when it holds.
func ruleFacts(r *core.Rule, now core.Millis, zone *time.Location) string {
	facts := "by " + isolate(heavyCut(firstOf(r.CreatedName, wordsSomebody), 32)) + ", " + Clock(r.CreatedAt, now, zone)
	switch {
	case r.UsesAllowed > 0:
		facts += fmt.Sprintf("; used %d of %d times", r.Uses, r.UsesAllowed)
	case r.Uses == 1:
		facts += "; used once"
	case r.Uses > 1:
		facts += fmt.Sprintf("; used %d times", r.Uses)
	}
	if r.ExpiresAt != 0 {
		facts += "; until " + Clock(r.ExpiresAt, now, zone)
	}
	return facts
}

// MenuRemove asks whether to take a rule back.
func MenuRemove(a MenuAgent, r core.Rule) string {
	return fmt.Sprintf(menuRemove, heavyCut(r.Label, maxMenuRule), a.title())
}

// MenuRemoved confirms that a rule was taken back, or tells who was first: by is true
// where this very press did it.
func MenuRemoved(a MenuAgent, r core.Rule, by bool, now core.Millis, zone *time.Location) string {
	label := heavyCut(r.Label, maxMenuRule)
	switch {
	case by:
		return fmt.Sprintf(menuRemoved, label, a.title())
	case r.RemovedAt != 0:
		return fmt.Sprintf(menuWasRemoved, label, isolate(heavyCut(firstOf(r.RemovedName, wordsSomebody), maxMenuName)), Clock(r.RemovedAt, now, zone))
	}
	return fmt.Sprintf(menuEnded, label)
}

// Headline is the beginning of a menu as a private answer, for where the menu itself
// stands in the place of the one that was pressed.
func Headline(menu string) string {
	line, _, _ := strings.Cut(menu, "\n")
	return brief(line)
}
