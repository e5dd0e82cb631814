package callbacks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/presentation"
)

// menu is one of our menus: a text, and buttons whose meaning is kept in the row of its
// prompt. A menu without buttons is the end of the conversation.
type menu struct {
	text    string
	labels  []string
	choices []core.Choice
}

func (m *menu) add(label string, c core.Choice) {
	m.labels, m.choices = append(m.labels, label), append(m.choices, c)
}

// menuCommand answers a typed /mode or /rules with a menu. It works in a direct chat
// only: in a shared one others would read what an agent may do.
func (t *turn) menuCommand(ctx context.Context, first func(context.Context) (menu, error)) channels.Answer {
	if !t.direct {
		return refusal(presentation.AnswerDirectOnly)
	}
	if refused, ok := t.identify(ctx); !ok {
		return refused
	}
	if t.deps.Settings == nil || t.deps.Rules == nil {
		return refusal(presentation.AnswerNoMenus)
	}
	m, err := first(ctx)
	if err != nil {
		return t.failed(ctx, err)
	}
	answer, err := t.put(ctx, m)
	if err != nil {
		return t.failed(ctx, err)
	}
	return answer
}

// put opens the prompt of a menu and lays it out as the answer to a typed command.
func (t *turn) put(ctx context.Context, m menu) (channels.Answer, error) {
	answer := said(m.text)
	if len(m.choices) == 0 {
		return answer, nil
	}
	prompt := t.newPrompt(core.PromptMenu)
	prompt.Choices = m.choices
	prompt, err := t.deps.Prompts.OpenPrompt(ctx, prompt, core.PromptLife)
	if err != nil {
		return channels.Answer{}, fmt.Errorf("open menu: %w", err)
	}
	for i, label := range m.labels {
		answer.Actions = append(answer.Actions, core.Action{
			Type: core.ActionCallback, Label: label, Value: core.CallbackChoose, Choice: i, PromptRef: prompt.Ref,
		})
	}
	return answer, nil
}

// choose takes a press on a menu. What it asks for is done first, then the next menu
// stands in the place of this one; only then this one is over. So whatever is lost in
// between is done again by the platform or by the person, and each choice may be: the
// second time it changes nothing.
func (t *turn) choose(ctx context.Context, d Decoded, prompt *core.Prompt) channels.Answer {
	if refused, ok := t.identify(ctx); !ok {
		return refused
	}
	i, ok := d.Verb.Choice()
	if !ok || i >= len(prompt.Choices) || t.deps.Settings == nil || t.deps.Rules == nil {
		return settled(refusal(presentation.AnswerPromptGone))
	}
	m, err := t.chosen(ctx, &prompt.Choices[i])
	switch {
	case errors.Is(err, core.ErrNotFound): // The agent or rule is not theirs any more, or was never.
		return settled(t.notYours())
	case errors.Is(err, core.ErrForbidden):
		return settled(refusal(presentation.AnswerMayNotSet))
	case err != nil:
		return t.failed(ctx, err)
	}
	answer, err := t.put(ctx, m)
	if err != nil {
		return t.failed(ctx, err)
	}
	if err := t.deps.Prompts.FinishPrompt(ctx, prompt.ID); err != nil && !errors.Is(err, core.ErrNotFound) {
		t.log(ctx, "a menu stays open until its time is over", err)
	}
	answer.Settled, answer.Text = answer.Text, presentation.Headline(answer.Text)
	return answer
}

// chosen does what a choice says and returns what is shown next.
func (t *turn) chosen(ctx context.Context, c *core.Choice) (menu, error) {
	switch c.Do {
	case core.ChoiceListModes:
		return t.listAgents(ctx, c.Skip, core.ChoiceListModes)
	case core.ChoiceShowMode:
		return t.showMode(ctx, c.Runtime, c.Agent)
	case core.ChoiceSetMode:
		return t.setMode(ctx, c)
	case core.ChoiceListRules:
		return t.listAgents(ctx, c.Skip, core.ChoiceListRules)
	case core.ChoiceShowRules:
		return t.showRules(ctx, c)
	case core.ChoiceAskRule:
		return t.askRule(ctx, c)
	case core.ChoiceRemove:
		return t.removeRule(ctx, c)
	case core.ChoiceClose:
		return menu{text: presentation.AnswerMenuClose}, nil
	}
	return menu{}, core.Invalid("choice", "is not one that is known here")
}

// agents lists the agents that the person may look at, by name and runtime.
func (t *turn) agents(ctx context.Context) ([]settings.AgentView, error) {
	all, err := t.deps.Settings.Agents(ctx, t.caller())
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	slices.SortFunc(all, func(a, b settings.AgentView) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Runtime, b.Runtime))
	})
	return all, nil
}

// listAgents is the menu that asks for an agent, a page at a time; of a list of modes or
// of rules.
func (t *turn) listAgents(ctx context.Context, skip int, list core.ChoiceDo) (menu, error) {
	all, err := t.agents(ctx)
	switch {
	case err != nil:
		return menu{}, err
	case len(all) == 0:
		return menu{text: presentation.AnswerNoAgents}, nil
	}
	page, more := pageOf(all, &skip)
	names := make([]presentation.MenuAgent, len(page))
	var m menu
	show, text := core.ChoiceShowMode, presentation.MenuModes
	if list == core.ChoiceListRules {
		show, text = core.ChoiceShowRules, presentation.MenuAgentsRules
	}
	for i := range page {
		names[i] = t.named(&page[i])
		m.add(presentation.MenuLabel(skip+i+1, names[i].Name), core.Choice{Do: show, Runtime: page[i].Runtime, Agent: page[i].Name})
	}
	m.text = text(skip+1, names)
	m.turnPages(core.Choice{Do: list, Skip: skip}, more)
	m.add(presentation.LabelClose, core.Choice{Do: core.ChoiceClose})
	return m, nil
}

// turnPages adds the buttons that lead on and back from a page of a list.
func (m *menu) turnPages(here core.Choice, more bool) {
	if more {
		next := here
		next.Skip += presentation.MenuPage
		m.add(presentation.LabelMore, next)
	}
	if here.Skip > 0 {
		here.Skip = max(here.Skip-presentation.MenuPage, 0)
		m.add(presentation.LabelBack, here)
	}
}

// pageOf cuts a page out of a list; one that would be empty becomes the first. more tells
// that the list goes on.
func pageOf[T any](list []T, skip *int) (page []T, more bool) {
	if *skip < 0 || *skip >= len(list) {
		*skip = 0
	}
	end := min(*skip+presentation.MenuPage, len(list))
	return list[*skip:end], end < len(list)
}

// named is an agent as menus show it. An agent chooses its own name, so it is made safe
// where it is not, and cut where it is long.
func (t *turn) named(a *settings.AgentView) presentation.MenuAgent {
	name := core.RecordedAgent(t.deps.Texts.Text, a.Name)
	if utf8.RuneCountInString(name) > maxShown {
		name = t.deps.Texts.Text(name, maxShown)
	}
	return presentation.MenuAgent{
		Runtime: a.Runtime, Name: name, Mode: string(a.InForce),
		Default: a.Default, Paused: a.PausedAt != 0, Rules: a.Rules, May: t.person.Role != core.RoleViewer,
	}
}
