package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

func newToken(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", GroupID: "serve", Short: "Issue, list and revoke the tokens of machines",
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.issueToken(), c.listTokens(), c.revokeToken())
	return cmd
}

func (c *connection) issueToken() *cobra.Command {
	body := api.IssueToken{}
	var scopes []string
	cmd := &cobra.Command{
		Use: "issue RUNTIME", Short: "Issue a token; it is printed once", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body.Runtime = args[0]
			for _, s := range scopes {
				body.Scopes = append(body.Scopes, core.Scope(s))
			}
			op, err := c.operator()
			if err != nil {
				return err
			}
			t, err := op.IssueToken(cmd.Context(), body)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.env.stderr, "token %s of runtime %s; keep it, it is not shown again\n", t.Token.ID, t.Token.Runtime)
			return say(c.env.stdout, t.Bearer)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&scopes, "scope", []string{string(core.ScopeRequest), string(core.ScopeRead)}, "request, read, admin")
	f.StringVar(&body.ActsFor, "acts-for", "", "the person recorded as the requester")
	f.StringVar(&body.Label, "label", "", "what to call it")
	f.StringVar(&body.ExpiresIn, "expires", "", "a duration such as 720h (default: it does not expire)")
	return cmd
}

func (c *connection) listTokens() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List tokens, without their secrets", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			op, err := c.operator()
			if err != nil {
				return err
			}
			all, err := op.Tokens(cmd.Context())
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(c.env.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tRUNTIME\tSCOPES\tLABEL\tEXPIRES\tREVOKED")
			for _, t := range all {
				scopes := make([]string, len(t.Scopes))
				for i, s := range t.Scopes {
					scopes[i] = string(s)
				}
				revoked := ""
				if t.RevokedAt != 0 {
					revoked = day(t.RevokedAt)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Runtime, strings.Join(scopes, ","), t.Label, day(t.ExpiresAt), revoked)
			}
			return w.Flush()
		},
	}
}

func (c *connection) revokeToken() *cobra.Command {
	return &cobra.Command{
		Use: "revoke TOKEN", Short: "Revoke a token by its id, at once", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			op, err := c.operator()
			if err != nil {
				return err
			}
			if err := op.RevokeToken(cmd.Context(), args[0]); err != nil {
				return err
			}
			return say(c.env.stdout, "revoked")
		},
	}
}
