package main

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/core/store/sqlite"
)

func newMigrate(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "migrate", GroupID: "serve", Short: "Bring the database's schema up to date, without serving",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := c.folder()
			if err != nil {
				return err
			}
			store, err := sqlite.Open(cmd.Context(), sqlite.Config{
				Path: filepath.Join(folder, app.DatabaseFile), Now: time.Now, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				return err
			}
			if err := store.Close(); err != nil {
				return err
			}
			return say(c.env.stdout, "the schema is up to date")
		},
	}
}
