package main

import (
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/cmd/internal/app"
)

func newMigrate(c *connection) *cobra.Command {
	var flags configured
	cmd := &cobra.Command{
		Use: "migrate", GroupID: "serve", Short: "Bring the database's schema up to date, without serving",
		Long: "Bring the schema of the configured database up to date, without serving: PostgreSQL's, or that\n" +
			"of the embedded one in the data folder. Run it before the first replica of a new version starts.",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(&flags)
			if err != nil {
				return err
			}
			o := app.Options{Config: cfg, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
			if err := app.Migrate(cmd.Context(), o); err != nil {
				return err
			}
			return say(c.env.stdout, "the schema is up to date")
		},
	}
	flags.add(cmd)
	return cmd
}
