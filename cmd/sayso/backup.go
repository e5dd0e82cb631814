package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/core/store/transfer"
)

func newBackup(c *connection) *cobra.Command {
	var flags configured
	var from, to string
	cmd := &cobra.Command{
		Use: "backup --to FILE", GroupID: "serve", Short: "Write the whole record into one file, while the service runs",
		Long: "Write the whole record of the configured database, as it is at one moment, into one new file that\n" +
			"only you can read, and read it back. The service may run meanwhile. The file is the same for\n" +
			"SQLite and PostgreSQL, and nothing serves from it before sayso restore.\n\n" +
			"The secret key file is not in it. Keep a copy of that elsewhere: without it, a restored record\n" +
			"cannot open its keys; with it, whoever has the backup can.",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return usage("--to FILE is required")
			}
			cfg, err := c.load(&flags)
			if err != nil {
				return err
			}
			source, err := place(from, &cfg)
			if err != nil {
				return err
			}
			tell, done := c.copying()
			made, err := transfer.Backup(cmd.Context(), transfer.BackupOptions{From: source, File: to, Now: time.Now, Progress: tell})
			done()
			if err != nil {
				return err
			}
			key, _ := secretKey(&cfg)
			return say(c.env.stdout, fmt.Sprintf("backed up and compared: %s (%d bytes)\n"+
				"The secret key file is not in it; keep a copy of it elsewhere: %s", counted(made.Rows), made.Bytes, key))
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&to, "to", "", "the file to make; nothing may be there")
	cmd.Flags().StringVar(&from, "from", "", "sqlite, sqlite:PATH, postgres or postgres://... (default: the configured database)")
	return cmd
}
