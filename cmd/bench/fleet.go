package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/saysohq/sayso/cmd/internal/bench"
	"github.com/saysohq/sayso/core/bus/redis/redisserver"
	"github.com/saysohq/sayso/core/store/postgres/pgserver"
)

const (
	parkCommand = "park"
	// parkToken is the variable in which the waiting callers find their token.
	parkToken = "SAYSO_BENCH_TOKEN" //nolint:gosec // A name.
)

// fleet adds the servers that a fleet needs, and more callers than one process can be.
func fleet(o *bench.Options) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	o.Postgres = func(ctx context.Context, dir string, settings []string) (bench.Postgres, error) {
		return pgserver.Start(ctx, pgserver.Options{Dir: dir, Durable: true, Settings: settings})
	}
	o.Redis = func(ctx context.Context) (bench.Redis, error) { return redisserver.Start(ctx) }
	o.Parker = func(ctx context.Context, p bench.Park) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self, append([]string{parkCommand}, p.Strings()...)...)
		cmd.Env = append(os.Environ(), parkToken+"="+p.Token)
		return cmd
	}
	return nil
}

// park is the process of the waiting callers.
func park(ctx context.Context, args []string) error {
	p, err := bench.ParkOf(args, os.Getenv(parkToken))
	if err != nil {
		return err
	}
	return p.Run(ctx, os.Stdin, os.Stdout)
}
