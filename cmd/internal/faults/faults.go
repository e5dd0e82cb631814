//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Options say what is run and how much of it.
type Options struct {
	Sayso string // The binary under test. Required.
	// Module is the folder of the module, from which variants of the binary are built: the
	// next version, and one with a wrong clock. "" leaves the faults that need them out,
	// and says so.
	Module string
	Dir    string    // Where folders with logs are made; "" takes the system's for temporary files.
	Only   string    // Only the faults whose name contains this.
	Count  int       // Questions for each fault, at least 1.
	Kills  int       // How often a replica is killed in the fault that does so, at least 1.
	Seed   uint64    // Of everything that is left to chance.
	Hurry  bool      // Lets the leases of dead replicas pass at once, once all is over.
	Out    io.Writer // Takes the summary. Required.
}

// ErrViolated is a promise that was found broken; the summary says which, and where
// the logs are.
var ErrViolated = errors.New("a promise was broken under a fault")

// errNotHere is a fault that cannot be brought about on this machine.
var errNotHere = errors.New("not run")

// fault is one way in which parts fail.
type fault struct {
	name    string
	does    string
	once    bool          // No process dies and no job moves, so that messengers hand nothing over twice.
	perTurn time.Duration // For faults that are counted: how long one takes.
	needs   func(ctx context.Context, c *campaign) (needs, error)
	run     func(ctx context.Context, c *campaign) error
}

// Pace of the stories.
const (
	storiesPerSecond = 25
	shortestSpan     = 12 * time.Second
)

// span is over what time the stories begin.
func (f *fault) span(o Options) time.Duration {
	return max(shortestSpan, time.Duration(o.Count)*time.Second/storiesPerSecond, time.Duration(o.Kills)*f.perTurn)
}

// all lists the faults in the order in which they are run.
func all() []*fault {
	return []*fault{
		{
			name: "kill", does: "kill -9 of a replica at random",
			perTurn: 650 * time.Millisecond, run: killed,
		},
		{name: "stop", does: "the holder of the leases is stopped past them, and wakes up late", run: stopped},
		{name: "postgres-restart", does: "PostgreSQL is restarted, fast and immediate", run: restarted},
		{name: "commit-cut", does: "connections break in the middle of a commit", once: true, run: commitsBroken},
		{name: "latency", does: "PostgreSQL is 2 s away", run: slowed},
		{name: "pool", does: "two connections for each replica, and rows that somebody else has locked", needs: smallPool, run: locked},
		{name: "redis-restart", does: "Redis is killed, and comes back empty", run: redisKilled},
		{name: "redis-partition", does: "one replica cannot reach Redis", run: redisApart},
		{name: "messengers", does: "all messengers fail at once", run: messengersFail},
		{name: "clock", does: "the process clock of one replica is 90 s ahead, and 90 s behind", needs: variant(wrongClock), run: clocks},
		{name: "upgrade", does: "a rolling upgrade across a migration", needs: variant(nextVersion), run: upgraded},
		{name: "disk", does: "the database has no room left", needs: smallDisk, run: filled},
	}
}

// Run lets every fault happen in a town of its own while questions are asked and
// answered, and prints what came of it. Errors: ErrViolated; any other says that the
// campaign itself could not go on.
func Run(ctx context.Context, o Options) error {
	if o.Count < 1 || o.Kills < 1 {
		return errors.New("there is nothing to count")
	}
	fmt.Fprintf(o.Out, "seed %d, %d questions for each fault\n", o.Seed, o.Count)
	ran, violated, began := 0, 0, time.Now()
	for _, f := range all() {
		if !strings.Contains(f.name, o.Only) {
			continue
		}
		ran++
		c := newCampaign(o, f)
		one := time.Now()
		got, err := c.run(ctx)
		if errors.Is(err, errNotHere) {
			fmt.Fprintf(o.Out, "%-18s %v\n", f.name, err)
			continue
		}
		c.report(o.Out, &got, time.Since(one), err)
		if err != nil {
			return fmt.Errorf("%s (%s): %w", f.name, f.does, err)
		}
		if len(c.found) > 0 {
			violated++
		}
	}
	if ran == 0 {
		return fmt.Errorf("no fault has %q in its name", o.Only)
	}
	fmt.Fprintf(o.Out, "%d faults in %s, %d not survived\n", ran, time.Since(began).Round(time.Second), violated)
	if violated > 0 {
		return ErrViolated
	}
	return nil
}
