//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"
)

// result is what came of one fault.
type result struct {
	c      *campaign
	got    counts
	took   time.Duration
	failed error // The campaign itself could not go on, or errNotHere.
}

func (r *result) left() bool { return errors.Is(r.failed, errNotHere) }

// survived says that everything that was promised held, and that the fault happened.
func (r *result) survived() bool { return r.failed == nil && len(r.c.found) == 0 }

// Run lets every fault happen in a town of its own while questions are asked and
// answered, several towns side by side, and prints what came of it. Errors: ErrViolated;
// any other says that a campaign itself could not go on.
func Run(ctx context.Context, o Options) error {
	if o.Count < 1 || o.Kills < 1 {
		return errors.New("there is nothing to count")
	}
	var chosen []*fault
	for _, f := range all() {
		if strings.Contains(f.name, o.Only) {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no fault has %q in its name", o.Only)
	}
	fmt.Fprintf(o.Out, "seed %d, %d questions for each fault, %d at once\n", o.Seed, o.Count, min(beside(o), len(chosen)))
	began := time.Now()
	results := runAll(ctx, o, chosen)
	return conclude(o.Out, results, time.Since(began))
}

// beside is how many towns there are at once.
func beside(o Options) int {
	if o.Beside > 0 {
		return o.Beside
	}
	return runtime.NumCPU()
}

// runAll runs the faults in their order, so many at once, and prints each as it ends.
func runAll(ctx context.Context, o Options, chosen []*fault) []*result {
	turns := make(chan struct{}, beside(o))
	results := make([]*result, len(chosen))
	var printing sync.Mutex
	var all sync.WaitGroup
	for i, f := range chosen {
		turns <- struct{}{}
		all.Go(func() {
			c := newCampaign(o, f)
			r := &result{c: c}
			results[i] = r
			// Whoever only waits for the last cards makes room for the next town.
			quiet := sync.OnceFunc(func() { <-turns })
			defer quiet()
			began := time.Now()
			r.got, r.failed = c.run(ctx, quiet)
			r.took = time.Since(began)
			printing.Lock()
			defer printing.Unlock()
			r.print(o.Out)
		})
	}
	all.Wait()
	return results
}

// conclude prints the table of all faults, and is the verdict.
func conclude(w io.Writer, results []*result, took time.Duration) error {
	table(w, results)
	ran, violated := 0, 0
	var broken error
	for _, r := range results {
		switch {
		case r.left():
			continue
		case r.failed != nil:
			broken = errors.Join(broken, fmt.Errorf("%s (%s): %w", r.c.fault.name, r.c.fault.does, r.failed))
		case !r.survived():
			violated++
		}
		ran++
	}
	fmt.Fprintf(w, "%d faults in %s, %d not survived, %d not run\n", ran, took.Round(time.Second), violated, len(results)-ran)
	if violated > 0 {
		broken = errors.Join(ErrViolated, broken)
	}
	return broken
}
