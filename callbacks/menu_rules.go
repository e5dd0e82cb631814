package callbacks

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/presentation"
)

// rules begins /rules: with the only agent that there is, or with the question whose.
func (t *turn) rules(ctx context.Context) (menu, error) {
	all, err := t.agents(ctx)
	switch {
	case err != nil:
		return menu{}, err
	case len(all) == 1:
		return t.showRules(ctx, &core.Choice{Runtime: all[0].Runtime, Agent: all[0].Name})
	}
	return t.listAgents(ctx, 0, core.ChoiceListRules)
}

// showRules lists what an agent may do without asking, a page at a time.
func (t *turn) showRules(ctx context.Context, c *core.Choice) (menu, error) {
	a, err := t.deps.Settings.Agent(ctx, t.caller(), c.Runtime, c.Agent)
	if err != nil {
		return menu{}, fmt.Errorf("read agent: %w", err)
	}
	live, err := t.deps.Rules.Rules(ctx, t.caller(), core.RuleQuery{Runtime: c.Runtime, Agent: &c.Agent, Live: true})
	if err != nil {
		return menu{}, fmt.Errorf("list rules: %w", err)
	}
	skip := c.Skip
	page, more := pageOf(live, &skip)
	is := t.named(&a)
	shown := make([]core.Rule, len(page))
	var m menu
	for i := range page {
		shown[i] = t.worded(&page[i])
		if is.May {
			m.add(presentation.MenuTakeBack(skip+i+1), core.Choice{
				Do: core.ChoiceAskRule, Runtime: c.Runtime, Agent: c.Agent, RuleID: page[i].ID, Skip: skip,
			})
		}
	}
	place := t.place(ctx)
	m.text = presentation.MenuRules(is, skip+1, shown, place.Now, place.Zone)
	m.turnPages(core.Choice{Do: core.ChoiceShowRules, Runtime: c.Runtime, Agent: c.Agent, Skip: skip}, more)
	m.add(presentation.LabelMode, core.Choice{Do: core.ChoiceShowMode, Runtime: c.Runtime, Agent: c.Agent})
	m.add(presentation.LabelClose, core.Choice{Do: core.ChoiceClose})
	return m, nil
}

// worded is a rule with its texts made safe: a label holds what an agent asked for.
func (t *turn) worded(r *settings.RuleView) core.Rule {
	is := r.Rule
	is.Label = t.deps.Texts.Text(is.Label, core.MaxShortText)
	is.CreatedName, is.RemovedName = t.deps.Texts.Text(is.CreatedName, maxShown), t.deps.Texts.Text(is.RemovedName, maxShown)
	return is
}

// askRule asks whether to take a rule back; one that ended meanwhile is told so.
func (t *turn) askRule(ctx context.Context, c *core.Choice) (menu, error) {
	a, r, err := t.ruleOf(ctx, c)
	if err != nil {
		return menu{}, err
	}
	var m menu
	if r.Live {
		m.text = presentation.MenuRemove(a, t.worded(&r))
		again := *c
		again.Do = core.ChoiceRemove
		m.add(presentation.LabelYesTakeBack, again)
	} else {
		place := t.place(ctx)
		m.text = presentation.MenuRemoved(a, t.worded(&r), false, place.Now, place.Zone)
	}
	m.add(presentation.LabelBack, core.Choice{Do: core.ChoiceShowRules, Runtime: c.Runtime, Agent: c.Agent, Skip: c.Skip})
	return m, nil
}

// removeRule takes a rule back (R75). Whoever was second is told who was first.
func (t *turn) removeRule(ctx context.Context, c *core.Choice) (menu, error) {
	a, before, err := t.ruleOf(ctx, c)
	if err != nil {
		return menu{}, err
	}
	r, err := surely(ctx, t, func(ctx context.Context) (settings.RuleView, error) {
		return t.deps.Rules.RemoveRule(ctx, t.caller(), c.RuleID)
	})
	if err != nil {
		return menu{}, fmt.Errorf("remove rule: %w", err)
	}
	place := t.place(ctx)
	return menu{text: presentation.MenuRemoved(a, t.worded(&r), before.RemovedAt == 0, place.Now, place.Zone)}, nil
}

// ruleOf reads the rule of a choice and its agent.
func (t *turn) ruleOf(ctx context.Context, c *core.Choice) (presentation.MenuAgent, settings.RuleView, error) {
	r, err := t.deps.Rules.Rule(ctx, t.caller(), c.RuleID)
	if err != nil {
		return presentation.MenuAgent{}, r, fmt.Errorf("read rule: %w", err)
	}
	a, err := t.deps.Settings.Agent(ctx, t.caller(), r.Runtime, r.Agent)
	if err != nil {
		return presentation.MenuAgent{}, r, fmt.Errorf("read agent: %w", err)
	}
	return t.named(&a), r, nil
}
