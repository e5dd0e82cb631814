//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/cmd/internal/faults"
)

// seeds is how many seeds there are: short numbers that are easy to type again.
const seeds = 1_000_000

// shiftedCommand is the first argument that turns this program into a replica.
const shiftedCommand = "shifted"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if args := os.Args[1:]; len(args) > 1 && args[0] == shiftedCommand {
		err = shifted(ctx, args[1], args[2:])
	} else {
		err = run(ctx, args, os.Stdout, os.Stderr)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	o := faults.Options{Out: out, Shifted: []string{self, shiftedCommand}}
	f := flag.NewFlagSet("faults", flag.ContinueOnError)
	f.SetOutput(complaints)
	f.StringVar(&o.Sayso, "sayso", "bin/sayso", "the binary under test")
	f.StringVar(&o.Module, "source", ".", "folder of the module, to build a next version from")
	f.StringVar(&o.Dir, "dir", "", "where logs are kept of what was not survived")
	f.StringVar(&o.Only, "only", "", "only the faults whose name contains this")
	f.IntVar(&o.Count, "count", 2000, "questions for each fault")
	f.IntVar(&o.Kills, "kills", 200, "how often a replica is killed")
	f.Uint64Var(&o.Seed, "seed", uint64(time.Now().UnixNano())%seeds, "of what is left to chance")
	limit := f.Duration("limit", 45*time.Minute, "the longest that all of it may take")
	if err := f.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	return faults.Run(ctx, o)
}

// shifted serves with a wrong clock.
func shifted(ctx context.Context, offset string, args []string) error {
	off, err := time.ParseDuration(offset)
	if err != nil {
		return fmt.Errorf("read offset: %w", err)
	}
	f := flag.NewFlagSet(shiftedCommand, flag.ContinueOnError)
	file := f.String("config", "", "configuration file")
	listen := f.String("listen", "", "address of the HTTP service")
	if err := f.Parse(args); err != nil {
		return err
	}
	cfg, err := config.Load(*file, os.Environ(), func(c *config.Config) { c.Listen = *listen })
	if err != nil {
		return err
	}
	return app.Run(ctx, app.Options{
		Config: cfg, Logger: slog.New(slog.NewJSONHandler(os.Stderr, nil)),
		Now: func() time.Time { return time.Now().Add(off) },
	})
}
