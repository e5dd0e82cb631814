package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/cmd/internal/doctor"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
)

// The times of an examination.
const (
	examineTimeout  = 2 * time.Minute        // Longer than the service takes.
	examinePatience = 500 * time.Millisecond // A service that does not run is a finding.
	cardsWait       = 2 * time.Minute
	cardsPoll       = time.Second
)

// examine is what the flags of doctor say.
type examine struct {
	person  string
	noCards bool
	fix     bool
	json    bool
	wait    time.Duration
	poll    time.Duration // Between two looks at the test cards.
	config  string
}

func newDoctor(c *connection) *cobra.Command {
	x := examine{poll: cardsPoll}
	cmd := &cobra.Command{
		Use: "doctor", GroupID: "serve", Short: "Check each messenger's account, up to a click that comes back",
		Long: "Examine the accounts of the running service and say what to do about each fault. Everybody who\n" +
			"is linked gets a test card, and is to press its button while this command waits. Where no service\n" +
			"runs, whatever can be told without one is. The exit code is 0 when all is well, 1 otherwise.",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := c.examination(cmd.Context(), &x)
			if err != nil {
				return err
			}
			if err := c.showExamination(&e, x.json); err != nil {
				return err
			}
			if !wellAll(e.Findings) {
				return exitWith(exitFault)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&x.person, "person", "", "send a test card to this person alone (name or id)")
	f.BoolVar(&x.noCards, "no-cards", false, "send no test cards")
	f.BoolVar(&x.fix, "fix", false, "mend what can be mended: Discord's /sayso command, Telegram's webhook")
	f.BoolVar(&x.json, "json", false, "print the report as JSON")
	f.DurationVar(&x.wait, "wait", cardsWait, "how long to wait for the clicks, at most 10m")
	f.StringVar(&x.config, "config", "", "configuration file, for when no service runs (SAYSO_CONFIG)")
	return cmd
}

// examination asks the running service, or does what can be done without it.
func (c *connection) examination(ctx context.Context, x *examine) (api.Examination, error) {
	switch {
	case x.wait < 0 || x.wait > 10*time.Minute:
		return api.Examination{}, usage("--wait must be between 0 and 10m, which is how long a test card holds")
	case x.person != "" && x.noCards:
		return api.Examination{}, usage("--person says whom to send a card to: leave --no-cards out")
	}
	op, err := c.operatorWith(client.Config{Timeout: examineTimeout, Patience: examinePatience})
	if err != nil {
		return api.Examination{}, err
	}
	defer op.Close()
	e, err := askService(ctx, op, x)
	switch {
	case errors.Is(err, client.ErrUnreachable) && ctx.Err() == nil:
		return c.examineAlone(ctx, x, err)
	case err != nil:
		return api.Examination{}, err
	}
	return c.awaitClicks(ctx, op, e, x)
}

func askService(ctx context.Context, op *client.Client, x *examine) (api.Examination, error) {
	ask := api.Examine{Cards: !x.noCards, Fix: x.fix}
	if x.person != "" {
		var err error
		if ask.Person, err = personID(ctx, op, x.person); err != nil {
			return api.Examination{}, err
		}
	}
	return op.Examine(ctx, ask)
}

// personID finds a person by id or name.
func personID(ctx context.Context, op *client.Client, who string) (string, error) {
	all, err := op.People(ctx)
	if err != nil {
		return "", err
	}
	found := slices.DeleteFunc(all, func(p api.Person) bool { return p.ID != who && p.Name != who })
	switch len(found) {
	case 0:
		return "", usage("there is no such person (see sayso people)")
	case 1:
		return found[0].ID, nil
	}
	return "", usage("several people fit: name one by id (see sayso people)")
}

// awaitClicks waits until every test card was answered or time is up, and then says
// what to do about those that were not. An interrupt ends the wait, not the report.
func (c *connection) awaitClicks(ctx context.Context, op *client.Client, e api.Examination, x *examine) (api.Examination, error) {
	if e.Waiting > 0 && x.wait > 0 {
		fmt.Fprintf(c.env.stderr, "%d test card(s) sent: press \"It works\" on each (waiting %s)\n", e.Waiting, brief(x.wait))
	}
	ctx, cancel := context.WithTimeout(ctx, x.wait)
	defer cancel()
	poll := time.NewTicker(x.poll)
	defer poll.Stop()
	for e.Waiting > 0 && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-poll.C:
			now, err := op.Examination(ctx, e.ID)
			if err != nil && ctx.Err() == nil {
				return e, err
			}
			if err == nil {
				e = now
			}
		}
	}
	for i := range e.Findings {
		if f := &e.Findings[i]; f.Verdict == api.HealthWaiting {
			f.Verdict, f.Detail = api.HealthFailed, "the card was sent, and no click came back"
			f.Fix = "Let them press its button and run sayso doctor again. If they did press it, clicks do not arrive: look at the checks of this account above."
		}
	}
	return e, nil
}

// examineAlone is the part that needs no service.
func (c *connection) examineAlone(ctx context.Context, x *examine, why error) (api.Examination, error) {
	service := api.Finding{
		Check: doctor.CheckService, Verdict: api.HealthFailed, Detail: "no service answers for this data folder",
		Fix: "Start it with sayso serve, or name its data folder with --data.",
	}
	if errors.Is(why, fs.ErrPermission) {
		service.Detail, service.Fix = "the service belongs to another user", "Run sayso doctor as the service's user."
	}
	e := api.Examination{Findings: []api.Finding{service}}
	cfg, err := c.serviceConfig(x.config)
	if err != nil {
		e.Findings = append(e.Findings, api.Finding{
			Check: "configuration", Verdict: api.HealthFailed, Detail: err.Error(), Fix: "Correct it; docs/configuration.md has every key.",
		})
		return e, nil
	}
	e.Findings = append(e.Findings, api.Finding{Check: "configuration", Verdict: api.HealthOK, Detail: "it can be read"})
	found, err := app.Examine(ctx, app.Options{Config: cfg, Now: time.Now, Logger: newLogger(c.env.stderr, config.Log{Level: "error", Format: "text"})}, x.fix)
	if err != nil {
		return e, err
	}
	e.Findings = append(e.Findings, found...)
	for _, check := range []string{doctor.CheckReceiving, doctor.CheckTestCard, doctor.CheckLastClick} {
		e.Findings = append(e.Findings, api.Finding{
			Check: check, Verdict: api.HealthUnknown, Detail: "not possible without the running service",
		})
	}
	return e, nil
}

func wellAll(found []api.Finding) bool {
	for _, f := range found {
		if f.Verdict != api.HealthOK {
			return false
		}
	}
	return true
}
