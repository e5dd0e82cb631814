package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/transfer"
)

// restoring are the flags of sayso restore.
type restoring struct {
	configured
	from, to             string
	inPlace, nothingLost bool
}

func newRestore(c *connection) *cobra.Command {
	var r restoring
	cmd := &cobra.Command{
		Use: "restore --from FILE", GroupID: "serve", Short: "Make a database of a backup, and tell every card the truth",
		Long: "Make the configured database of a backup. It must be empty: a data folder without a database, or\n" +
			"a PostgreSQL database that was never served from.\n\n" +
			"What was answered after the backup is not in it, so nothing that was open then is believed: open\n" +
			"questions are cancelled, permissions that nobody had used are taken back, and those in use may\n" +
			"have happened. Every card is edited to say so when the service starts.\n\n" +
			"--in-place does the same to a database that something else has set back: a failover to a standby\n" +
			"that was behind, a recovery to a point in time, a restored disk. Stop the service first.",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(&r.configured)
			if err != nil {
				return err
			}
			return c.restore(cmd.Context(), &cfg, r)
		},
	}
	r.add(cmd)
	f := cmd.Flags()
	f.StringVar(&r.from, "from", "", "the backup")
	f.StringVar(&r.to, "to", "", "sqlite, sqlite:PATH, postgres or postgres://... (default: the configured database)")
	f.BoolVar(&r.inPlace, "in-place", false, "no backup: the database was set back where it stands")
	f.BoolVar(&r.nothingLost, "nothing-lost", false, "with --in-place: the standby that took over had everything; change nothing")
	return cmd
}

func (c *connection) restore(ctx context.Context, cfg *config.Config, r restoring) error {
	switch {
	case r.inPlace == (r.from != ""):
		return usage("give either --from FILE or --in-place")
	case r.nothingLost && !r.inPlace:
		return usage("--nothing-lost belongs to --in-place")
	}
	target, err := place(r.to, cfg)
	if err != nil {
		return err
	}
	if r.nothingLost {
		return c.acceptFailover(ctx, target)
	}
	tell, wipe := c.copying()
	var done transfer.Restored
	if r.inPlace {
		done, err = transfer.Renew(ctx, target, time.Now, tell)
	} else {
		done, err = transfer.Restore(ctx, transfer.RestoreOptions{File: r.from, To: target, Now: time.Now, Progress: tell})
	}
	wipe()
	if err != nil {
		return err
	}
	return say(c.env.stdout, restored(done, cfg))
}

// restored says what was done, and what is left to do.
func restored(done transfer.Restored, cfg *config.Config) string {
	var b strings.Builder
	if done.Rows != nil {
		fmt.Fprintf(&b, "restored and compared: %s\n", counted(done.Rows))
	}
	fmt.Fprintf(&b, "incarnation %d: %s\n", done.Incarnation, disowned(done.Disowned))
	b.WriteString("What was changed since the backup is as it was then: look at who may answer (sayso people list)\n" +
		"and which tokens hold (sayso token list) before agents ask again.")
	if key, there := secretKey(cfg); !there {
		fmt.Fprintf(&b, "\nBefore you start the service, put the secret key file of the old one here: %s", key)
	}
	return b.String()
}

func disowned(d core.Disowned) string {
	return fmt.Sprintf("%d open questions cancelled, %d unused permissions taken back, %d that may have happened",
		d.Cancelled, d.Voided, d.Unknown)
}

// acceptFailover notes which server the database is on now.
func (c *connection) acceptFailover(ctx context.Context, p transfer.Place) error {
	if p.DSN == "" {
		return usage("--nothing-lost is about PostgreSQL: a data folder has no standby")
	}
	s, err := postgres.Open(ctx, postgres.Config{
		DSN: p.DSN, AfterFailover: postgres.FailoverContinue, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return say(c.env.stdout, "the database serves from where it is now")
}
