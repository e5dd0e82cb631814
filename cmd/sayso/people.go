package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

func newPeople(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use: "people", GroupID: "serve", Short: "List and change who may be asked",
		Long: "People live in the service's store. These commands go through its admin socket, so they\n" +
			"run on its machine, as its user.",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listPeople(cmd) },
	}
	list := &cobra.Command{
		Use: "list", Short: "List people with their chat accounts", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listPeople(cmd) },
	}
	cmd.AddCommand(list, c.addPerson(), c.changePerson("disable", "Take all rights away, at once", disabled(true)),
		c.changePerson("enable", "Give them back", disabled(false)), c.setRole(), c.applyPeople(), c.setOwners())
	return cmd
}

func (c *connection) listPeople(cmd *cobra.Command) error {
	op, err := c.operator()
	if err != nil {
		return err
	}
	all, err := op.People(cmd.Context())
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tROLE\tSTATE\tACCOUNTS")
	for _, p := range all {
		state := "enabled"
		if p.Disabled {
			state = "disabled"
		}
		accounts := make([]string, 0, len(p.Identities))
		for _, i := range p.Identities {
			text := i.Realm + " " + i.ID
			if i.Broken != core.FailureNone {
				text += " (" + string(i.Broken) + ")"
			}
			accounts = append(accounts, text)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.ID, p.Name, p.Role, state, strings.Join(accounts, ", "))
	}
	return w.Flush()
}

func (c *connection) addPerson() *cobra.Command {
	var role, id string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a person", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			op, err := c.operator()
			if err != nil {
				return err
			}
			p, err := op.AddPerson(cmd.Context(), api.AddPerson{ID: id, Name: args[0], Role: core.Role(role)})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.env.stderr, "added; sign them in with: sayso pair %s\n", p.ID)
			return say(c.env.stdout, p.ID)
		},
	}
	cmd.Flags().StringVar(&role, "role", string(core.RoleReviewer), "admin, reviewer or viewer")
	cmd.Flags().StringVar(&id, "id", "", "an id of your choice (default: one is made)")
	return cmd
}

func disabled(v bool) api.ChangePerson { return api.ChangePerson{Disabled: &v} }

func (c *connection) changePerson(use, short string, change api.ChangePerson) *cobra.Command {
	return &cobra.Command{
		Use: use + " PERSON", Short: short, Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.change(cmd, args[0], change) },
	}
}

func (c *connection) setRole() *cobra.Command {
	return &cobra.Command{
		Use: "role PERSON admin|reviewer|viewer", Short: "Change a person's role", Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			role := core.Role(args[1])
			return c.change(cmd, args[0], api.ChangePerson{Role: &role})
		},
	}
}

func (c *connection) change(cmd *cobra.Command, person string, change api.ChangePerson) error {
	op, p, err := c.operatorFor(cmd.Context(), []string{person})
	if err != nil {
		return err
	}
	p, err = op.ChangePerson(cmd.Context(), p.ID, change)
	if err != nil {
		return err
	}
	state := "enabled"
	if p.Disabled {
		state = "disabled"
	}
	return say(c.env.stdout, fmt.Sprintf("%s: %s, %s", p.Name, p.Role, state))
}

func (c *connection) applyPeople() *cobra.Command {
	var plan bool
	cmd := &cobra.Command{
		Use: "apply FILE", Short: "Make people, accounts and owners be what a JSON file says", Args: exactly(1),
		Long: "Make people, their chat accounts and the owners of agents be what a JSON file says. Who is not in it\n" +
			"stays as they are, or with \"exhaustive\": true is disabled. Without \"identities\" a person's accounts stay.",
		Example: "  sayso people apply people.json --plan\n\n" +
			"  {\"people\": [{\"id\": \"ann\", \"name\": \"Ann\", \"role\": \"reviewer\",\n" +
			"               \"identities\": [{\"realm\": \"telegram\", \"id\": \"123456789\"}]}],\n" +
			"   \"agents\": [{\"runtime\": \"local\", \"agent\": \"books\", \"owners\": [\"ann\"]}]}",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return usage("the file cannot be read")
			}
			defer f.Close()
			var roster api.Roster
			dec := json.NewDecoder(f)
			dec.DisallowUnknownFields()
			if err := dec.Decode(&roster); err != nil {
				return usage("the file is not a roster (see sayso people apply --help)")
			}
			op, err := c.operator()
			if err != nil {
				return err
			}
			done, err := op.ApplyPeople(cmd.Context(), roster, plan)
			if err != nil {
				return err
			}
			return printJSON(c.env.stdout, done)
		},
	}
	cmd.Flags().BoolVar(&plan, "plan", false, "say what would change, and change nothing")
	return cmd
}

func (c *connection) setOwners() *cobra.Command {
	var runtime string
	cmd := &cobra.Command{
		Use: "owners AGENT [PERSON...]", Short: "Set who decides for an agent (nobody named: the admins)",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("owners takes an agent and the people who own it")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			op, err := c.operator()
			if err != nil {
				return err
			}
			owners := []string{}
			for _, person := range args[1:] {
				_, p, err := c.operatorFor(cmd.Context(), []string{person})
				if err != nil {
					return err
				}
				owners = append(owners, p.ID)
			}
			if err := op.SetOwners(cmd.Context(), runtime, args[0], owners); err != nil {
				return err
			}
			return say(c.env.stdout, "done")
		},
	}
	cmd.Flags().StringVar(&runtime, "runtime", "local", "the runtime that the agent belongs to")
	return cmd
}
