package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/core/redact"
)

func newList(c *connection) *cobra.Command {
	q := client.Filter{}
	var status string
	var all, unattended, asJSON bool
	cmd := &cobra.Command{
		Use: "list", GroupID: "answer", Short: "List the questions that wait, or what ran without asking",
		Example: "  sayso list\n" +
			"  sayso list --unattended --since 12h   # What ran last night, and under which policy.",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if unattended && (all || cmd.Flags().Changed("status")) {
				return usage("--unattended lists what a policy allowed, whatever became of it: give no --status and no --all")
			}
			m, err := c.either()
			if err != nil {
				return err
			}
			q.Status = core.Status(status)
			if all || unattended {
				q.Status = ""
			}
			if unattended {
				q.Origin = core.OriginAuto
			}
			page, err := m.List(cmd.Context(), q, "")
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.env.stdout, page)
			}
			if unattended {
				return c.printUnattended(page)
			}
			return c.printList(page)
		},
	}
	f := cmd.Flags()
	f.StringVar(&status, "status", string(core.StatusPending), "pending, allowed, denied, expired or cancelled")
	f.BoolVar(&all, "all", false, "whatever the status")
	f.BoolVar(&unattended, "unattended", false, "what ran without asking a person, and under which policy")
	f.DurationVar(&q.Within, "since", 0, "only what was asked within this time, such as 12h")
	f.StringVar(&q.Agent, "agent", "", "only of this agent")
	f.StringVar(&q.Session, "session", "", "only of this session")
	f.StringVar(&q.Run, "run", "", "only of this run")
	f.IntVar(&q.Limit, "limit", 50, "at most this many, 1 to 1000")
	f.BoolVar(&asJSON, "json", false, "print the page as JSON")
	return cmd
}

func (c *connection) printList(page api.List) error {
	w := tabwriter.NewWriter(c.env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tTITLE\tAGENT\tWHEN")
	for i := range page.Approvals {
		a := &page.Approvals[i]
		when := "asked " + brief(page.ServerTime.Sub(a.CreatedAt)) + " ago"
		if a.Status == core.StatusPending {
			when = brief(a.ExpiresAt.Sub(page.ServerTime)) + " left"
		}
		// All else is safe text already; an id is the asking program's own.
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", redact.Visible(a.ID), a.Status, a.Presentation.Title, a.Agent, when)
	}
	return c.endList(w, page)
}

// printUnattended says of each call which policy let it run, and what became of it.
func (c *connection) printUnattended(page api.List) error {
	w := tabwriter.NewWriter(c.env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tPOLICY\tOUTCOME\tTITLE\tAGENT\tWHEN")
	for i := range page.Approvals {
		a := &page.Approvals[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s ago\n",
			redact.Visible(a.ID), a.PolicyID, a.Execution, a.Presentation.Title, a.Agent, brief(page.ServerTime.Sub(a.CreatedAt)))
	}
	return c.endList(w, page)
}

func (c *connection) endList(w *tabwriter.Writer, page api.List) error {
	if err := w.Flush(); err != nil {
		return err
	}
	if page.Truncated {
		fmt.Fprintln(c.env.stderr, "there are more; raise --limit")
	}
	return nil
}

func newResolve(c *connection) *cobra.Command {
	var note string
	var allow, always, partial bool
	cmd := &cobra.Command{
		Use: "resolve ID", GroupID: "answer", Short: "Deny a question (or allow it, where that is configured)",
		Long: "Answer as the person whom `sayso login` signed in. It denies, unless --allow is given: that\n" +
			"prints the whole action, asks to type its fingerprint, and needs cli_allow in the service's configuration.",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if allow && always {
				return usage("give one of --allow and --always")
			}
			p, err := c.person()
			if err != nil {
				return err
			}
			r := resolving{c: c, client: p, note: note, partial: partial}
			r.decision = core.DecisionDeny
			switch {
			case always:
				r.decision = core.DecisionAllowAlways
			case allow:
				r.decision = core.DecisionAllowOnce
			}
			return r.run(cmd, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&note, "note", "", "what should be done instead; told to the agent with a denial")
	f.BoolVar(&allow, "allow", false, "allow it once")
	f.BoolVar(&always, "always", false, "allow it always, where that is offered")
	f.BoolVar(&partial, "partial", false, "allow although a part is too long to be shown")
	return cmd
}

// resolving is one answer from the terminal.
type resolving struct {
	c        *connection
	client   *client.Client
	decision core.Decision
	note     string
	partial  bool
}

func (r *resolving) run(cmd *cobra.Command, id string) error {
	answer, err := r.client.Get(cmd.Context(), id)
	if err != nil {
		return err
	}
	body := api.Resolve{Kind: answer.Approval.Kind, Decision: r.decision, Note: r.note, PartialView: r.partial}
	if r.decision.Allows() {
		if a := &answer.Approval; a.Status.Terminal() { // Nothing is left to be typed for.
			fmt.Fprintln(r.c.env.stderr, "sayso: it has its answer already")
			if err := say(r.c.env.stdout, sentence(a)); err != nil {
				return err
			}
			return exitWith(codeOf(a))
		}
		if err := r.review(cmd, id, &body); err != nil {
			return err
		}
	}
	done, err := r.client.Resolve(cmd.Context(), id, body)
	if errors.Is(err, core.ErrForbidden) && r.decision.Allows() {
		return fmt.Errorf("%w: to allow from a terminal needs cli_allow in the service's configuration, and a person who may decide; the page needs no cli_allow", err)
	}
	if err != nil {
		return err
	}
	if !done.Applied && !done.Idempotent {
		fmt.Fprintln(r.c.env.stderr, "sayso: somebody else was first")
		if err := say(r.c.env.stdout, sentence(&done.Approval)); err != nil {
			return err
		}
		return exitWith(codeOf(&done.Approval))
	}
	return say(r.c.env.stdout, sentence(&done.Approval))
}

// review shows the whole action and has its fingerprint typed: an allow is never
// one keystroke.
func (r *resolving) review(cmd *cobra.Command, id string, body *api.Resolve) error {
	d, err := r.client.Detail(cmd.Context(), id)
	if err != nil {
		return err
	}
	a := &d.Approval
	fmt.Fprintf(r.c.env.stdout, "%s\n\n%s\n\n", a.Presentation.Title, d.Text)
	if d.OmittedBytes > 0 {
		fmt.Fprintf(r.c.env.stdout, "%d bytes are not shown (hash %s)\n", d.OmittedBytes, a.ArgumentsHash)
	}
	if body.Decision == core.DecisionAllowAlways && a.AlwaysOffer != nil {
		fmt.Fprintf(r.c.env.stdout, "From now on without asking: %s\n", a.AlwaysOffer.Label)
	}
	fmt.Fprintf(r.c.env.stderr, "Type the fingerprint %s to allow: ", a.Fingerprint)
	var typed string
	if _, err := fmt.Fscanln(r.c.env.stdin, &typed); err != nil || !strings.EqualFold(strings.TrimSpace(typed), a.Fingerprint) {
		return usage("not the fingerprint: nothing was decided")
	}
	body.ArgumentsHash, body.OperationID, body.View = a.ArgumentsHash, a.Operation.ID, d.View
	return nil
}

// day is how long-lived things are printed.
func day(m core.Millis) string {
	if m == 0 {
		return "never"
	}
	return m.Time().Local().Format(time.DateTime)
}
