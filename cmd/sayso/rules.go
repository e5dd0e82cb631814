package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/core/redact"
)

func newRules(c *connection) *cobra.Command {
	q := &ruleList{}
	cmd := &cobra.Command{
		Use: "rules", GroupID: "answer", Short: "List what agents may do without asking, and take it back",
		Long: "Always-allow rules that people made from cards, and switches for money, of the agents that you\n" +
			"decide for, as the person whom `sayso login` signed in. A removed rule ends with the next call.",
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listRules(cmd, q) },
	}
	list := &cobra.Command{
		Use: "list", Short: "List rules and switches, newest first", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listRules(cmd, q) },
	}
	for _, one := range []*cobra.Command{cmd, list} {
		f := one.Flags()
		f.StringVar(&q.runtime, "runtime", "", "only of this runtime")
		f.StringVar(&q.agent, "agent", "", "only of this agent of the runtime (default runtime: local); - for calls that name none")
		f.BoolVar(&q.all, "all", false, "also what has ended")
		f.IntVar(&q.limit, "limit", 100, "at most this many, 1 to 500")
		f.BoolVar(&q.json, "json", false, "print the list as JSON")
	}
	remove := &cobra.Command{
		Use: "remove RULE", Short: "End a rule or a switch for good", Args: exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return c.removeRule(cmd, args[0]) },
	}
	cmd.AddCommand(list, remove, c.allowMoney())
	return cmd
}

// ruleList is what is listed of the rules.
type ruleList struct {
	runtime, agent string
	all, json      bool
	limit          int
}

func (c *connection) listRules(cmd *cobra.Command, q *ruleList) error {
	p, err := c.person()
	if err != nil {
		return err
	}
	filter := client.RuleFilter{Runtime: q.runtime, Live: !q.all, Limit: q.limit}
	if q.agent != "" {
		agent := agentNamed(q.agent)
		if filter.Agent = &agent; filter.Runtime == "" {
			filter.Runtime = "local"
		}
	}
	page, err := p.Rules(cmd.Context(), filter, "")
	if err != nil {
		return err
	}
	if q.json {
		return printJSON(c.env.stdout, page)
	}
	w := tabwriter.NewWriter(c.env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tRUNTIME\tAGENT\tALLOWS\tBY\tUSED\tSTATE")
	for i := range page.Rules {
		r := &page.Rules[i]
		used := fmt.Sprint(r.Uses)
		if r.UsesAllowed > 0 {
			used += fmt.Sprintf(" of %d", r.UsesAllowed)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Runtime, shownAgent(r.Agent), redact.Visible(r.Label), r.CreatedBy, used, stateOf(r))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if page.Cursor != "" {
		fmt.Fprintln(c.env.stderr, "there are more; raise --limit, or name an agent")
	}
	return nil
}

// stateOf says whether a rule still counts, and until when.
func stateOf(r *api.Rule) string {
	switch {
	case r.RemovedBy != "":
		return "removed by " + r.RemovedBy
	case r.State == "live" && r.ExpiresAt != 0:
		return "until " + day(r.ExpiresAt)
	}
	return r.State
}

func (c *connection) removeRule(cmd *cobra.Command, id string) error {
	p, err := c.person()
	if err != nil {
		return err
	}
	r, err := p.RemoveRule(cmd.Context(), id)
	if err != nil {
		return err
	}
	return say(c.env.stdout, fmt.Sprintf("%s: %s", redact.Visible(r.Label), stateOf(&r)))
}

func (c *connection) allowMoney() *cobra.Command {
	var runtime, agent string
	var life time.Duration
	var uses int64
	cmd := runtimeFlag(&cobra.Command{
		Use: "allow-money TOOL --agent AGENT", Short: "Let a tool of an agent spend and delete without asking",
		Long: "Everything that the tool does is allowed from the agent's next call on, spending and deleting\n" +
			"included, until the switch is removed, expires or is used up. The name of the tool has to be typed.\n" +
			"It needs cli_allow in the service's configuration; on the page it needs nothing.",
		Example: "  sayso rules allow-money issue_refund --agent books --expires-in 8h --uses 20",
		Args:    exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if agent == "" {
				return usage("name the agent with --agent (- for calls that name none)")
			}
			p, err := c.person()
			if err != nil {
				return err
			}
			if err := c.typed(args[0]); err != nil {
				return err
			}
			body := api.SwitchMoney{Tool: args[0], Uses: uses}
			if life != 0 {
				body.ExpiresIn = life.String()
			}
			r, err := p.SwitchMoney(cmd.Context(), runtime, agentNamed(agent), body)
			if e := (*client.Error)(nil); errors.As(err, &e) && e.Rule != nil {
				fmt.Fprintln(c.env.stderr, "sayso: the tool has a switch already; remove it first to make another")
				return errors.Join(say(c.env.stdout, e.Rule.ID), exitWith(exitFault))
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(c.env.stderr, "from now on without asking:", redact.Visible(r.Label))
			return say(c.env.stdout, r.ID)
		},
	}, &runtime)
	cmd.Flags().StringVar(&agent, "agent", "", "the agent; - for calls that name none")
	cmd.Flags().DurationVar(&life, "expires-in", 0, "end by itself after this time, such as 8h (default: never)")
	cmd.Flags().Int64Var(&uses, "uses", 0, "good for this many calls (default: any number)")
	return cmd
}

// typed has the name of a tool typed once more: money is never one keystroke.
func (c *connection) typed(tool string) error {
	fmt.Fprintf(c.env.stderr, "Type %s to let it spend and delete without asking: ", redact.Visible(tool))
	line, err := bufio.NewReader(c.env.stdin).ReadString('\n')
	if err != nil && line == "" || strings.TrimRight(line, "\r\n") != tool {
		return usage("not the tool's name: nothing was allowed")
	}
	return nil
}

func newReopen(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "reopen ID", GroupID: "answer", Short: "Let an action that was declined be asked again",
		Long: "After a person's no the same action is denied without asking for some time (10 minutes, unless the\n" +
			"policy files say otherwise). This lets its next call ask again; the answer itself stays what it was.",
		Args: exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := c.person()
			if err != nil {
				return err
			}
			r, err := p.Reopen(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return say(c.env.stdout, "re-opened by "+r.By)
		},
	}
}
