package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// question holds the flags that ask and run share.
type question struct {
	title        string
	agent        string
	key          string
	expires      time.Duration
	continuation string
	risk         string
	session      string
	run          string
	callback     string
	supersedes   string
	reviewers    []string
	narrowed     bool // --reviewer was given.
	fourEyes     bool
	push         bool
	json         bool
	noWait       bool
}

func (q *question) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&q.agent, "agent", "", "which agent asks; its owners decide")
	f.StringVar(&q.key, "key", "", "idempotency key: the same key is the same question")
	f.DurationVar(&q.expires, "expires", 0, "how long to wait for an answer, 1s to 168h (default 30m)")
	f.StringVar(&q.continuation, "continuation", "", "what holds the work meanwhile: live, durable or draft")
	f.StringVar(&q.risk, "risk", "", "a risk to show; it decides nothing")
	f.StringVar(&q.session, "session", "", "session key of the asking program")
	f.StringVar(&q.run, "run", "", "run id of the asking program")
	f.StringVar(&q.callback, "callback", "", "address to call when the record changes; its host must be configured")
	f.StringVar(&q.supersedes, "supersedes", "", "id of an older question of the same agent that this one replaces")
	f.StringSliceVar(&q.reviewers, "reviewer", nil, "id of the only person who may decide; may be repeated")
	f.BoolVar(&q.fourEyes, "exclude-requester", false, "the person whom the token acts for may not decide")
	f.BoolVar(&q.push, "require-push", false, "the page alone does not count as a way to ask")
	f.BoolVar(&q.json, "json", false, "print the final record on standard output")
}

// ask builds the request around an operation.
func (q *question) ask(kind core.Kind, op api.AskOperation) api.Ask {
	a := api.Ask{
		Kind: kind, Title: q.title, Agent: q.agent, Operation: op, Risk: q.risk,
		IdempotencyKey: q.key, Continuation: core.Continuation(q.continuation),
		SessionKey: q.session, RunID: q.run, CallbackURL: q.callback, Supersedes: q.supersedes,
		ExcludeRequester: q.fourEyes, RequirePush: q.push,
	}
	if q.expires != 0 {
		a.ExpiresIn = q.expires.String()
	}
	if q.narrowed {
		a.Reviewers = append([]string{}, q.reviewers...)
	}
	return a
}

// passing reports whether nobody can come back to the question.
func (q *question) passing() bool {
	live := q.continuation == "" || q.continuation == string(core.ContinuationLive)
	return q.key == "" && live
}

// askArguments are what the answer is bound to: what was given or, where the title
// says it all, the title itself.
func askArguments(given, title string) (json.RawMessage, error) {
	if given == "" {
		return json.Marshal(map[string]string{"question": title})
	}
	if !json.Valid([]byte(given)) {
		return nil, usage("--arguments must be JSON")
	}
	return json.RawMessage(given), nil
}

func newAsk(c *connection) *cobra.Command {
	q := &question{}
	op := api.AskOperation{}
	var arguments string
	cmd := &cobra.Command{
		Use:     "ask TITLE",
		GroupID: "ask",
		Short:   "Ask, and wait for the answer",
		Long: "Ask a person and wait. Exit code 0 means allowed, 10 denied, 11 expired, 12 cancelled.\n" +
			"On a terminal a quiet line shows what is going on; in a pipe nothing but the result is printed.",
		Example: "  sayso ask \"Deploy build 42 to production\"\n" +
			"  sayso ask \"Send the invoice\" --tool mail --operation send --arguments '{\"to\":\"ann@example.com\"}'",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			q.title, q.narrowed = args[0], cmd.Flags().Changed("reviewer")
			if strings.TrimSpace(q.title) == "" {
				return usage("ask needs a title: it is what a person reads first")
			}
			if op.Arguments, err = askArguments(arguments, q.title); err != nil {
				return err
			}
			m, err := c.machine()
			if err != nil {
				return err
			}
			w := newWaiting(c, m, q.json)
			a, err := w.ask(cmd.Context(), q.ask(core.KindPlugin, op), !q.noWait)
			if err != nil {
				return err
			}
			return w.report(a)
		},
	}
	q.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&op.Tool, "tool", "ask", "name of the tool that would act")
	f.StringVar(&op.Name, "operation", "", "operation within the tool")
	f.StringVar(&op.Summary, "summary", "", "one sentence about the action")
	f.StringVar(&arguments, "arguments", "", "the exact arguments, as JSON; they are hashed, shown redacted, and forgotten (default: the title)")
	f.BoolVar(&q.noWait, "no-wait", false, "print the id and return: exit code 13 while nobody has answered")
	return cmd
}

func newWait(c *connection) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "wait ID", GroupID: "ask", Short: "Wait for the answer to an earlier question",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := c.either()
			if err != nil {
				return err
			}
			w := newWaiting(c, m, asJSON)
			a, err := w.wait(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return w.report(a)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the final record on standard output")
	return cmd
}

func newGet(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "get ID", GroupID: "ask", Short: "Print a question as it is",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := c.either()
			if err != nil {
				return err
			}
			a, err := m.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return printJSON(c.env.stdout, a)
		},
	}
}

func newCancel(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", GroupID: "ask", Short: "Take a question back",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := c.machine()
			if err != nil {
				return err
			}
			done, err := m.Cancel(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return say(c.env.stdout, sentence(&done.Approval))
		},
	}
}

// reportTimeout bounds what must still be told to the service when the command
// itself is being stopped.
const reportTimeout = 10 * time.Second

// shielded is a context that a stop does not end.
func shielded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
}
