package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/core/redact"
)

func newUpdates(c *connection) *cobra.Command {
	var limit int
	var ack, asJSON bool
	cmd := &cobra.Command{
		Use: "updates AGENT", GroupID: "ask", Short: "Print what an agent has not heard of yet, one line each",
		Long: "Drafts that have their answer or their outcome, and requests for a new request, the oldest change\n" +
			"first. With --ack they count as told; without, they come again after a minute. AGENT is - for\n" +
			"requests that name none.",
		Example: "  sayso updates books --ack",
		Args:    exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := c.machine()
			if err != nil {
				return err
			}
			agent, token := agentNamed(args[0]), rand.Text()
			b, err := m.ClaimUpdates(cmd.Context(), agent, api.ClaimUpdates{Token: token, Limit: limit})
			if err != nil {
				return err
			}
			if err := c.printUpdates(b, asJSON); err != nil { // What was not printed comes again.
				return err
			}
			if !ack || len(b.Updates) == 0 {
				return nil
			}
			_, err = m.AckUpdates(cmd.Context(), agent, token)
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&limit, "limit", 20, "at most this many, 1 to 100")
	f.BoolVar(&ack, "ack", false, "they were told: do not print them again")
	f.BoolVar(&asJSON, "json", false, "print the batch as JSON")
	return cmd
}

func (c *connection) printUpdates(b api.Updates, asJSON bool) error {
	if asJSON {
		return printJSON(c.env.stdout, b)
	}
	for i := range b.Updates {
		u := &b.Updates[i]
		// The text is safe already; an id is the asking program's own.
		if err := say(c.env.stdout, fmt.Sprintf("%s\t%s", redact.Visible(u.ApprovalID), u.Text)); err != nil {
			return err
		}
	}
	if b.More {
		fmt.Fprintln(c.env.stderr, "there are more")
	}
	return nil
}

func newDismiss(c *connection) *cobra.Command {
	return c.aftercare("dismiss ID", "Say that what may have happened was seen",
		"Of an action that was started and whose outcome nobody knows.", "dismissed by ", (*client.Client).Dismiss,
		func(a *api.Aftermath) *api.Act { return a.Dismissed })
}

func newAskAgain(c *connection) *cobra.Command {
	return c.aftercare("ask-again ID", "Ask the program for a new request",
		"It allows nothing: the program hears of it among the agent's updates, and what it then asks is asked\n"+
			"like anything else. Only of what may have happened and of drafts that came to nothing, and only where\n"+
			"a program listens.", "asked again by ", (*client.Client).AskAgain,
		func(a *api.Aftermath) *api.Act { return a.AskedAgain })
}

// acting is a call of a person about an outcome.
type acting func(*client.Client, context.Context, string) (api.Answer, error)

// aftercare is a command of a person about an outcome.
func (c *connection) aftercare(use, short, long, done string, do acting, of func(*api.Aftermath) *api.Act) *cobra.Command {
	return &cobra.Command{
		Use: use, GroupID: "answer", Short: short, Long: long,
		Args: exactly(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := c.person()
			if err != nil {
				return err
			}
			got, err := do(p, cmd.Context(), args[0])
			switch {
			case errors.Is(err, core.ErrConflict):
				return errors.New("this question has no outcome of that kind")
			case errors.Is(err, core.ErrNotOffered):
				return &exitError{code: exitUsage, err: errors.New("no program listens for this agent: it named no callback, and asked for no updates within a day")}
			case err != nil:
				return err
			}
			who := "somebody" // An older service says nothing about it.
			if a := got.Approval.Aftermath; a != nil && of(a) != nil {
				who = of(a).Name
			}
			return say(c.env.stdout, done+who)
		},
	}
}
