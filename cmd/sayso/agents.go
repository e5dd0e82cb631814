package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/core/redact"
)

// stricterOnly explains what a terminal may do.
const stricterOnly = "A terminal only makes things stricter, unless cli_allow is set in the service's configuration."

func newAgents(c *connection) *cobra.Command {
	var asJSON bool
	list := func(cmd *cobra.Command, _ []string) error { return c.listAgents(cmd, asJSON) }
	cmd := &cobra.Command{
		Use: "agents", GroupID: "answer", Short: "List agents, and change what they ask before",
		Long: "What people set for the agents that they decide for, as the person whom `sayso login` signed in.\n" + stricterOnly,
		Args: noSuchCommand, RunE: list,
	}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List the agents that you may see", Args: exactly(0), RunE: list},
		c.setMode(),
		c.pause("pause", "Let an agent start nothing more until it is resumed",
			"Questions are still asked and answered. The deadlines of what was allowed stand still.", (*client.Client).Pause),
		c.pause("resume", "Let a paused agent go on", stricterOnly, (*client.Client).Resume),
		c.endAgent("reset", "Cancel all that an agent has open; its mode and rules stay",
			"Its runs are ended, its questions cancelled, and what was allowed and not started is taken back.", (*client.Client).Reset),
		c.endAgent("delete", "Reset an agent and forget its mode and rules", "For admins.", (*client.Client).DeleteAgent),
		c.history(),
	)
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

func (c *connection) listAgents(cmd *cobra.Command, asJSON bool) error {
	m, err := c.either()
	if err != nil {
		return err
	}
	all, err := m.Agents(cmd.Context())
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(c.env.stdout, all)
	}
	w := tabwriter.NewWriter(c.env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUNTIME\tAGENT\tASKS\tRULES\tSTATE")
	for i := range all {
		a := &all[i]
		mode, state := a.Mode, "runs"
		if a.Default {
			mode += " (default)"
		}
		if a.Paused {
			state = "paused by " + a.PausedBy
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", a.Runtime, shownAgent(a.Agent), mode, a.Rules, state)
	}
	return w.Flush()
}

// unnamed is how calls that name no agent are written on a command line.
const unnamed = "-"

// shownAgent is an agent's name for a terminal, as a command takes it again: it is the
// runtime's own text, and what is safe already stays as it is.
func shownAgent(name string) string {
	if name == "" {
		return unnamed
	}
	return core.RecordedAgent(redact.New().Text, name)
}

// agentNamed reads an agent's name from a command line.
func agentNamed(arg string) string {
	if arg == unnamed {
		return ""
	}
	return arg
}

// runtimeFlag adds the flag that says whose agent is meant.
func runtimeFlag(cmd *cobra.Command, runtime *string) *cobra.Command {
	cmd.Flags().StringVar(runtime, "runtime", "local", "the runtime that the agent belongs to")
	return cmd
}

func (c *connection) setMode() *cobra.Command {
	var runtime string
	return runtimeFlag(&cobra.Command{
		Use: "mode AGENT MODE", Short: "Choose what an agent asks before",
		Long: "before-anything-outside   asks before it reaches people or services, spends or deletes\n" +
			"before-everything         asks before every change\n" +
			"only-money-and-deletes    asks before it spends or deletes\n" +
			"default                   what the policy files say\n\n" +
			"The control levels of other systems are understood too (autonomous, auto, monitored; strict,\n" +
			"prompt, manual, tools). AGENT is - for calls that name none. " + stricterOnly,
		Args: exactly(2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) != 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{core.ModeBeforeOutside, core.ModeBeforeEverything, core.ModeOnlyMoney, "default"}, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeAgent(cmd, runtime, args[0], func(p *client.Client, is *api.Agent) (api.Agent, error) {
				return p.SetMode(cmd.Context(), runtime, is.Agent, api.SetMode{Mode: args[1], Revision: is.ModeRevision})
			})
		},
	}, &runtime)
}

type pausing func(*client.Client, context.Context, string, string, int64) (api.Agent, error)

func (c *connection) pause(use, short, long string, do pausing) *cobra.Command {
	var runtime string
	return runtimeFlag(&cobra.Command{
		Use: use + " AGENT", Short: short, Long: long, Args: exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeAgent(cmd, runtime, args[0], func(p *client.Client, is *api.Agent) (api.Agent, error) {
				return do(p, cmd.Context(), runtime, is.Agent, is.PauseRevision)
			})
		},
	}, &runtime)
}

type ending func(*client.Client, context.Context, string, string) (api.Agent, error)

func (c *connection) endAgent(use, short, long string, do ending) *cobra.Command {
	var runtime string
	return runtimeFlag(&cobra.Command{
		Use: use + " AGENT", Short: short, Long: long, Args: exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeAgent(cmd, runtime, args[0], func(p *client.Client, is *api.Agent) (api.Agent, error) {
				return do(p, cmd.Context(), runtime, is.Agent)
			})
		},
	}, &runtime)
}

// changeAgent changes an agent from what it is now, and prints what it has become. Of
// two who change it at once the second is told what it is.
func (c *connection) changeAgent(cmd *cobra.Command, runtime, name string, change func(*client.Client, *api.Agent) (api.Agent, error)) error {
	p, err := c.person()
	if err != nil {
		return err
	}
	is, err := p.Agent(cmd.Context(), runtime, agentNamed(name))
	if err != nil {
		return err
	}
	heardOf := is.Generation > 0 || heard(cmd.Context(), p, &is)
	became, err := change(p, &is)
	if e := (*client.Error)(nil); errors.As(err, &e) && e.Agent != nil {
		fmt.Fprintln(c.env.stderr, "sayso: somebody else has just changed it")
		return errors.Join(c.printAgent(cmd, e.Agent), exitWith(exitFault))
	}
	if err != nil {
		return err
	}
	if !heardOf {
		fmt.Fprintln(c.env.stderr, "sayso: no agent of this name is known yet; if it is mistyped, sayso agents lists those that are")
	}
	return c.printAgent(cmd, &became)
}

// heard reports whether an agent for which nothing was set is known all the same. An
// agent may be set up before it asks, so that an unknown name is worth a remark and no
// more; a list that cannot be read leaves it out.
func heard(ctx context.Context, p *client.Client, is *api.Agent) bool {
	known, err := p.Agents(ctx)
	return err != nil || slices.ContainsFunc(known, func(a api.Agent) bool { return a.Runtime == is.Runtime && a.Agent == is.Agent })
}

func (c *connection) printAgent(cmd *cobra.Command, a *api.Agent) error {
	if asJSON, err := cmd.Flags().GetBool("json"); err == nil && asJSON {
		return printJSON(c.env.stdout, a)
	}
	text := fmt.Sprintf("%s %s: %s", a.Runtime, shownAgent(a.Agent), a.Mode)
	if a.Default {
		text += " (default)"
	}
	if a.Paused {
		text += ", paused by " + a.PausedBy
	}
	return say(c.env.stdout, text)
}

func (c *connection) history() *cobra.Command {
	var runtime string
	var limit int
	cmd := runtimeFlag(&cobra.Command{
		Use: "history AGENT", Short: "Tell who changed what for an agent, newest first", Args: exactly(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := c.person()
			if err != nil {
				return err
			}
			changes, err := p.History(cmd.Context(), runtime, agentNamed(args[0]), limit)
			if err != nil {
				return err
			}
			if asJSON, err := cmd.Flags().GetBool("json"); err == nil && asJSON {
				return printJSON(c.env.stdout, changes)
			}
			w := tabwriter.NewWriter(c.env.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "WHEN\tWHO\tWHAT\tABOUT")
			for i := range changes {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", day(changes[i].At), changes[i].By, changes[i].Kind, about(&changes[i]))
			}
			return w.Flush()
		},
	}, &runtime)
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many, 1 to 1000")
	return cmd
}

// about is what a change was about: a rule, or a mode before and after.
func about(c *api.SettingsChange) string {
	if c.Kind != core.ChangeMode && c.Kind != core.ChangeRestored {
		return c.RuleID
	}
	name := func(mode string) string {
		if mode == "" {
			return "default"
		}
		return mode
	}
	return name(c.Before) + " -> " + name(c.After)
}
