package main

import (
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/cmd/internal/app"
)

func newMigrate(c *connection) *cobra.Command {
	var flags configured
	var from, to string
	cmd := &cobra.Command{
		Use: "migrate", GroupID: "serve", Short: "Bring the database's schema up to date, or move the record to PostgreSQL",
		Long: "Bring the schema of the configured database up to date, without serving: PostgreSQL's, or that\n" +
			"of the embedded one in the data folder. Run it before the first replica of a new version starts.\n\n" +
			"With --from sqlite --to postgres it moves the whole record from the data folder, whose service is\n" +
			"stopped, into an empty PostgreSQL database, compares it, and seals the file for good. Cut off, it is\n" +
			"finished by running it again. Open cards go on working.",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(&flags)
			if err != nil {
				return err
			}
			if from != "" || to != "" {
				return c.move(cmd.Context(), &cfg, from, to)
			}
			o := app.Options{Config: cfg, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
			if err := app.Migrate(cmd.Context(), o); err != nil {
				return err
			}
			return say(c.env.stdout, "the schema is up to date")
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&from, "from", "", "sqlite (the data folder's database), or sqlite:PATH")
	cmd.Flags().StringVar(&to, "to", "", "postgres (as configured), or postgres://...")
	return cmd
}
