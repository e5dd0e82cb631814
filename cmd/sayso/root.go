package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// environment is what a command touches of the process, so that tests can give
// their own.
type environment struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	environ []string
}

// run is main without the process.
func run(ctx context.Context, args []string, env environment) int {
	root := newRoot(env)
	root.SetArgs(args)
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitAllowed
	}
	var exit *exitError
	if !errors.As(err, &exit) || exit.err != nil {
		fmt.Fprintln(env.stderr, "sayso:", plainly(err))
	}
	return faultCode(err)
}

func newRoot(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "sayso",
		Short: "Ask a person before a machine acts.",
		Long: "sayso asks a person before a machine acts: an agent, a workflow or a script asks; people\n" +
			"get a card on the page and in their messengers; the first answer wins everywhere.",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%w", err) })
	c := &connection{env: env}
	root.PersistentFlags().StringVar(&c.data, "data", "", "data folder of a service on this machine (SAYSO_DATA)")
	root.PersistentFlags().StringVar(&c.server, "server", "", "address of the service (SAYSO_URL)")
	root.AddGroup(
		&cobra.Group{ID: "ask", Title: "Asking:"},
		&cobra.Group{ID: "answer", Title: "Answering:"},
		&cobra.Group{ID: "serve", Title: "Running the service:"},
	)
	root.AddCommand(
		newServe(c), newReady(c), newMigrate(c), newBackup(c), newRestore(c), newPair(c), newPeople(c), newToken(c), newLink(c),
		newAsk(c), newRun(c), newWait(c), newGet(c), newCancel(c),
		newList(c), newResolve(c), newAgents(c), newRules(c), newReopen(c), newUpdates(c), newDismiss(c), newAskAgain(c), newLogin(c), newBench(c), newDoctor(c), newPolicy(c),
	)
	return root
}

// noSuchCommand refuses what follows a command that only groups others.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("there is no such command; see %s --help", cmd.CommandPath())
	}
	return nil
}

// exactly is cobra.ExactArgs with our exit code.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s takes %d argument(s), not %d; see %s --help", cmd.Name(), n, len(args), cmd.CommandPath())
		}
		return nil
	}
}
