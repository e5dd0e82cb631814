package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/tables"
	"github.com/saysohq/sayso/core/redact"
)

func newPolicy(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use: "policy", GroupID: "serve", Short: "What asks and what runs: check tables, and explain calls",
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newExplain(c), newLint(c), newPolicyStatus(c), newAdopt(c))
	return cmd
}

// localRuntime is the name of the runtime whose token a first start makes.
const localRuntime = "local"

func newExplain(c *connection) *cobra.Command {
	var file, runtime string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "explain", Short: "Why a call would ask or run, step by step",
		Long: "Evaluate a call as the running service would, under the tables, rules and modes in force, and\n" +
			"print each step: what matched, and what would have to change. Nothing is asked, and nothing recorded.\n" +
			"The request is the body that a runtime would ask with, as JSON.",
		Example: "  sayso policy explain --request ask.json --runtime ci",
		Args:    exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			e := api.Explain{Runtime: runtime}
			if err := c.readJSON(file, "--request", &e.Request); err != nil {
				return err
			}
			m, err := c.operator()
			if err != nil {
				return err
			}
			x, err := m.Explain(cmd.Context(), e)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.env.stdout, x)
			}
			return printExplanation(c.env.stdout, &x)
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "request", "", "file with the request, JSON; - for standard input")
	f.StringVar(&runtime, "runtime", localRuntime, "the runtime whose call it would be")
	f.BoolVar(&asJSON, "json", false, "print the explanation as JSON")
	return cmd
}

// becomes is what becomes of a call, for people.
func becomes(a policy.Answer) string {
	switch a {
	case policy.Auto:
		return "runs, and is recorded"
	case policy.Allow:
		return "runs: it only looks things up"
	case policy.Deny:
		return "is denied: a person has just declined it"
	case policy.Ask:
	}
	return "asks a person"
}

func printExplanation(out io.Writer, x *api.Explanation) error {
	fmt.Fprintf(out, "This call %s.\n", becomes(x.Answer))
	fmt.Fprintf(out, "class %s (%s), mode %s", x.Class, redact.Visible(x.ClassSource), x.Mode)
	if x.PolicyID != "" {
		fmt.Fprintf(out, ", policy %s", x.PolicyID)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nSTEP\t\tWHAT MATCHED\tWHY\tWOULD CHANGE WITH")
	for _, s := range x.Steps {
		name := s.Name
		if s.Matched {
			name = "> " + name
		}
		if !s.Reached {
			s.Why = "not reached"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", s.Number, name, redact.Visible(s.Subject), s.Why, s.Change)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case x.AlwaysOffer != nil:
		return say(out, "\nThe card offers: "+string(redact.Visible(x.AlwaysOffer.Label)))
	case x.NoOffer != "":
		return say(out, "\nThe card offers no rule: "+x.NoOffer)
	}
	return nil
}

// linting is what `sayso policy lint` was asked to compare.
type linting struct {
	c            *connection
	tools        string
	runtime      string
	tables       []string
	organisation string
	json         bool
}

func newLint(c *connection) *cobra.Command {
	l := linting{c: c}
	cmd := &cobra.Command{
		Use: "lint", Short: "Check tables, and compare them with a runtime's tools",
		Long: "With --table or --organisation: read these files over the starter table, name every fault by line,\n" +
			"and compare them with --tools if it is given; no service is needed. Without: compare what the running\n" +
			"service has in force, and the runtime's rules, with --tools. Exit code 64 where a file is wrong, and\n" +
			"1 where the comparison found something.\n\n" +
			"--tools is a JSON list of what the runtime declares:\n" +
			`  [{"name": "mail", "operations": ["send", "archive"], "fields": {"to": []}}]`,
		Example: "  sayso policy lint --table tools.yaml\n  sayso policy lint --tools declared.json --runtime ci",
		Args:    exactly(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return l.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&l.tools, "tools", "", "file with the tools that the runtime declares, JSON; - for standard input")
	f.StringVar(&l.runtime, "runtime", localRuntime, "the runtime that declares them")
	f.StringArrayVar(&l.tables, "table", nil, "a table to check, YAML; may be repeated, each over those before it")
	f.StringVar(&l.organisation, "organisation", "", "the organisation's file to check, YAML")
	f.BoolVar(&l.json, "json", false, "print the findings as JSON")
	return cmd
}

func (l *linting) run(cmd *cobra.Command) error {
	files := len(l.tables) > 0 || l.organisation != ""
	if !files && l.tools == "" {
		return usage("lint needs files to check (--table, --organisation), or --tools to compare with what is in force")
	}
	declared := []api.DeclaredTool{}
	if l.tools != "" {
		if err := l.c.readJSON(l.tools, "--tools", &declared); err != nil {
			return err
		}
	}
	if !files {
		m, err := l.c.operator()
		if err != nil {
			return err
		}
		found, err := m.Lint(cmd.Context(), api.Lint{Runtime: l.runtime, Tools: declared})
		if err != nil {
			return err
		}
		return l.print(found.Findings)
	}
	p, err := tables.Load(tables.Files{Operator: l.tables, Organisation: l.organisation, Typed: true})
	if err != nil {
		return usage("%w", err)
	}
	if l.tools == "" {
		return l.print(nil)
	}
	return l.print(api.PolicyFindings(policy.Lint(p, l.runtime, declared, nil)))
}

func (l *linting) print(found []api.PolicyFinding) error {
	if l.json {
		if err := printJSON(l.c.env.stdout, api.Linted{Findings: append([]api.PolicyFinding{}, found...)}); err != nil {
			return err
		}
	} else if len(found) == 0 {
		return say(l.c.env.stdout, "nothing to complain about")
	}
	for _, f := range found {
		if !l.json {
			line := policy.Finding{Code: policy.Code(f.Code), Table: f.Table, At: f.At, Tool: f.Tool, Value: f.Value, Rule: f.Rule, Text: f.Text}
			if err := say(l.c.env.stdout, string(redact.Visible(line.String()))); err != nil {
				return err
			}
		}
	}
	if len(found) > 0 {
		return exitWith(exitFault)
	}
	return nil
}

func newPolicyStatus(c *connection) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Which policy files are in force, and whether this replica has them",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := c.operator()
			if err != nil {
				return err
			}
			s, err := m.PolicyStatus(cmd.Context())
			if err != nil {
				return err
			}
			return c.printPolicy(&s, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

func newAdopt(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "adopt", Short: "Put the policy files of this replica in force",
		Long: "Say that the files of this replica are the ones that count, also where others have replaced them\n" +
			"since: after a roll-back that started replicas with older files. All others need the same files then.",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := c.operator()
			if err != nil {
				return err
			}
			s, err := m.AdoptPolicy(cmd.Context())
			if err != nil {
				return err
			}
			return c.printPolicy(&s, false)
		},
	}
}

// printPolicy is a status for people; its exit code says whether all is well.
func (c *connection) printPolicy(s *api.PolicyStatus, asJSON bool) error {
	if asJSON {
		if err := printJSON(c.env.stdout, s); err != nil {
			return err
		}
	} else {
		text := "in force: " + s.Digest
		if !s.Agrees {
			text = "other files are in force than this replica has, so it asks about everything\nhere:     " + s.Digest + "\nin force: " + s.InForce
		}
		text += fmt.Sprintf(" (change %d, %s, from %s)", s.Number, day(s.At), redact.Visible(s.By))
		if s.Refused != "" {
			text += "\nthe newest files are refused, and those before stay:\n" + s.Refused
		}
		if err := say(c.env.stdout, text); err != nil {
			return err
		}
	}
	if !s.Agrees || s.Refused != "" {
		return exitWith(exitFault)
	}
	return nil
}

// maxInput bounds a file that a command reads, in bytes.
const maxInput = 4 << 20

// readJSON reads a file, or standard input for "-", strictly.
func (c *connection) readJSON(path, flag string, into any) error {
	if path == "" {
		return usage("%s FILE is required", flag)
	}
	in := c.env.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return usage("%s: %w", flag, errors.Unwrap(err))
		}
		defer f.Close()
		in = f
	}
	dec := json.NewDecoder(io.LimitReader(in, maxInput))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return usage("%s: must be JSON of the documented form: %w", flag, err)
	}
	return nil
}
