package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/core/redact"
)

func newRun(c *connection) *cobra.Command {
	q := &question{}
	var folder string
	cmd := &cobra.Command{
		Use:     "run [flags] -- COMMAND [ARGUMENT...]",
		GroupID: "ask",
		Short:   "Ask, then run exactly the command that was approved",
		Long: "Ask with the command line, the folder and the resolved program; wait; claim the single-use\n" +
			"grant with the hash of that very action; start exactly that program, without a shell; report\n" +
			"what happened. The exit code is the command's own, or 10 denied, 11 expired, 12 cancelled.\n" +
			"Stopped before the answer it takes the question back, unless --key lets it be asked again.",
		Example: "  sayso run -- rm -r ./build",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("run needs a command after --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q.narrowed = cmd.Flags().Changed("reviewer")
			what, err := resolveCommand(args, folder)
			if err != nil {
				return err
			}
			if q.title == "" {
				q.title = fmt.Sprintf("Run %s in %s", filepath.Base(what.Argv[0]), filepath.Base(what.Folder))
			}
			m, err := c.machine()
			if err != nil {
				return err
			}
			return (&runner{c: c, client: m, question: q, what: what, poll: pausePoll}).run(cmd.Context())
		},
	}
	q.flags(cmd)
	cmd.Flags().StringVar(&q.title, "title", "", "what a person reads first")
	cmd.Flags().StringVar(&folder, "folder", "", "folder to run in (default: the current one)")
	return cmd
}

// runner carries one approved command out.
type runner struct {
	c        *connection
	client   *client.Client
	question *question
	what     command
	poll     time.Duration // See pausePoll.
}

// runTool is the tool's name of commands that `sayso run` starts.
const runTool = "run"

func (r *runner) run(ctx context.Context) error {
	arguments, err := r.what.arguments()
	if err != nil {
		return err
	}
	w := newWaiting(r.c, r.client, r.question.json)
	w.withdraw = r.question.passing() // R120: what is asked with a key can be run again.
	a, err := w.ask(ctx, r.question.ask(core.KindExec, api.AskOperation{Tool: runTool, Arguments: arguments}), true)
	if err != nil {
		return err
	}
	if unrecorded(a) { // A table says that this program only reads: there is nothing to claim or report.
		code, _ := r.execute(ctx)
		return exitWith(code)
	}
	if a.Approval.Status != core.StatusAllowed {
		return w.report(a)
	}
	// The hash is ours, of what will be started, and not what the service says it
	// should be: a grant for anything else is void.
	argumentsHash, err := redact.ArgumentsHash(arguments)
	if err != nil {
		return fmt.Errorf("hash command: %w", err)
	}
	hash := redact.ActionHash(argumentsHash, core.KindExec, runTool, "")
	token := client.NewClaimToken()
	if err := r.claim(ctx, a.Approval.ID, api.Claim{ActionHash: hash, Token: token}); err != nil {
		return fmt.Errorf("claim grant: %w", err)
	}
	code, fault := r.execute(ctx)
	return errors.Join(r.report(ctx, a.Approval.ID, token, code, fault), exitWith(code))
}

// pausePoll is how often a grant is asked for again while the agent is paused.
const pausePoll = 2 * time.Second

// claim takes the grant. While somebody has paused the agent it waits, as long as the
// grant lasts: the answer is kept (R139).
func (r *runner) claim(ctx context.Context, id string, c api.Claim) error {
	told := false
	for {
		_, err := r.client.Claim(ctx, id, c)
		if !errors.Is(err, core.ErrPaused) {
			return err
		}
		if !told {
			fmt.Fprintln(r.c.env.stderr, "sayso: allowed, but the agent is paused: it starts once somebody resumes it")
			told = true
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(r.poll):
		}
	}
}

// execute starts the approved program, no shell between, and passes signals on.
func (r *runner) execute(ctx context.Context) (code int, fault error) {
	cmd := &exec.Cmd{
		Path: r.what.Executable, Args: r.what.Argv, Dir: r.what.Folder, Env: r.c.env.environ,
		Stdin: r.c.env.stdin, Stdout: r.c.env.stdout, Stderr: r.c.env.stderr,
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	if f, ok := r.c.env.stdin.(*os.File); !ok || !isTerminalFile(f) {
		signal.Notify(signals, os.Interrupt) // A terminal sends it to the whole group by itself.
	}
	defer signal.Stop(signals)
	if err := ctx.Err(); err != nil { // Stopped between the claim and the start: it did not run.
		return r.trouble("stopped before the start")
	}
	if err := cmd.Start(); err != nil {
		return r.trouble(filepath.Base(r.what.Executable) + " did not start")
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s) // It may have ended meanwhile.
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), fmt.Errorf("exit code %d", exit.ExitCode())
	case errors.As(err, &exit):
		status, _ := exit.Sys().(syscall.WaitStatus)
		return 128 + int(status.Signal()), fmt.Errorf("ended by signal %d", int(status.Signal()))
	}
	return r.trouble("the end of the command was not seen")
}

// trouble tells the person at the terminal what the command itself cannot say.
func (r *runner) trouble(what string) (int, error) {
	fmt.Fprintln(r.c.env.stderr, "sayso:", what)
	return exitFault, errors.New(what)
}

// report tells the service what happened, also while this command is being
// stopped; a service that cannot be told counts it as unknown in time.
func (r *runner) report(ctx context.Context, id, token string, code int, fault error) error {
	ctx, cancel := shielded(ctx)
	defer cancel()
	out := api.Report{Outcome: core.ExecutionSucceeded, Token: token}
	if fault != nil {
		out.Outcome, out.Error = core.ExecutionFailed, fault.Error()
	}
	a, err := r.client.Report(ctx, id, out)
	if err != nil {
		fmt.Fprintln(r.c.env.stderr, "sayso: the outcome could not be reported:", err)
		return exitWith(code)
	}
	if r.question.json {
		return printJSON(r.c.env.stdout, a)
	}
	return nil
}
