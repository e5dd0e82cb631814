//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/saysohq/sayso/cmd/internal/faults"
)

// seeds is how many seeds there are: short numbers that are easy to type again.
const seeds = 1_000_000

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	o := faults.Options{Out: out}
	f := flag.NewFlagSet("faults", flag.ContinueOnError)
	f.SetOutput(complaints)
	f.StringVar(&o.Sayso, "sayso", "bin/sayso", "the binary under test")
	f.StringVar(&o.Module, "source", ".", "folder of the module, to build variants of the binary from")
	f.StringVar(&o.Dir, "dir", "", "where logs are kept of what was not survived")
	f.StringVar(&o.Only, "only", "", "only the faults whose name contains this")
	f.IntVar(&o.Count, "count", 2000, "questions for each fault")
	f.IntVar(&o.Kills, "kills", 200, "how often a replica is killed")
	f.Uint64Var(&o.Seed, "seed", uint64(time.Now().UnixNano())%seeds, "of what is left to chance")
	f.IntVar(&o.Beside, "beside", 0, "how many faults happen at once, each to a fleet of its own; 0 takes one for each processor")
	prove := f.Bool("prove", false, "break a promise of the product on purpose, again and again, and see that it is noticed")
	limit := f.Duration("limit", 45*time.Minute, "the longest that all of it may take")
	if err := f.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	if *prove {
		return faults.Prove(ctx, o)
	}
	return faults.Run(ctx, o)
}
