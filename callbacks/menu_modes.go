package callbacks

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/presentation"
)

// modes begins /mode: with the only agent that there is, or with the question whose.
func (t *turn) modes(ctx context.Context) (menu, error) {
	all, err := t.agents(ctx)
	switch {
	case err != nil:
		return menu{}, err
	case len(all) == 1:
		return t.modeMenu(&all[0], presentation.MenuMode), nil
	}
	return t.listAgents(ctx, 0, core.ChoiceListModes)
}

func (t *turn) showMode(ctx context.Context, runtime, agent string) (menu, error) {
	a, err := t.deps.Settings.Agent(ctx, t.caller(), runtime, agent)
	if err != nil {
		return menu{}, fmt.Errorf("read agent: %w", err)
	}
	return t.modeMenu(&a, presentation.MenuMode), nil
}

// modeMenu shows an agent's mode and offers the others. Each button carries the revision
// that the menu shows, so that a press on an old menu changes nothing.
func (t *turn) modeMenu(a *settings.AgentView, text func(presentation.MenuAgent) string) menu {
	is := t.named(a)
	m := menu{text: text(is)}
	set := func(mode string) {
		m.add(presentation.MenuModeLabel(mode), core.Choice{
			Do: core.ChoiceSetMode, Runtime: a.Runtime, Agent: a.Name, Mode: mode, Revision: a.ModeRevision,
		})
	}
	if is.May {
		for _, mode := range presentation.Modes() {
			if mode != is.Mode {
				set(mode)
			}
		}
		if !a.Default {
			set("")
		}
	}
	m.add(presentation.MenuRulesLabel(is), core.Choice{Do: core.ChoiceShowRules, Runtime: a.Runtime, Agent: a.Name})
	m.add(presentation.LabelBack, core.Choice{Do: core.ChoiceListModes})
	m.add(presentation.LabelClose, core.Choice{Do: core.ChoiceClose})
	return m
}

// setMode changes the mode, unless it is another than the menu showed: then the person
// gets what it is now, and decides again.
func (t *turn) setMode(ctx context.Context, c *core.Choice) (menu, error) {
	a, err := surely(ctx, t, func(ctx context.Context) (settings.AgentView, error) {
		return t.deps.Settings.SetMode(ctx, t.caller(), settings.ModeChange{
			Runtime: c.Runtime, Agent: c.Agent, Mode: c.Mode, Revision: c.Revision,
		})
	})
	switch {
	case errors.Is(err, core.ErrConflict):
		return t.modeMenu(&a, presentation.MenuModeTaken), nil
	case err != nil:
		return menu{}, fmt.Errorf("set mode: %w", err)
	}
	return menu{text: presentation.MenuModeSet(t.named(&a))}, nil
}
