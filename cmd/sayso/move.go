package main

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core/store/transfer"
)

// move carries the record from SQLite to PostgreSQL: sayso migrate with --from and --to.
func (c *connection) move(ctx context.Context, cfg *config.Config, from, to string) error {
	if from == "" || to == "" {
		return usage("a move needs both: --from sqlite and --to postgres")
	}
	source, err := place(from, cfg)
	if err != nil {
		return err
	}
	target, err := place(to, cfg)
	if err != nil {
		return err
	}
	if source.DSN != "" || target.DSN == "" {
		return usage("a record moves from sqlite to postgres; the other way, sayso backup it and sayso restore it")
	}
	tell, done := c.copying()
	moved, err := transfer.Move(ctx, transfer.MoveOptions{Path: source.Path, DSN: target.DSN, Progress: tell})
	done()
	if err != nil {
		return err
	}
	if moved.Before {
		return say(c.env.stdout, "the record was moved to this database before; nothing was changed")
	}
	key, _ := secretKey(cfg)
	return say(c.env.stdout, fmt.Sprintf("moved and compared: %s\n"+
		"PostgreSQL serves from now on, the file never again. Every replica needs this secret key file,\n"+
		"which is not in the database: %s", counted(moved.Rows), key))
}
