//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/saysohq/sayso/core"
)

// counts is what a campaign tells of itself; none of it is content.
type counts struct {
	told      map[told]int
	ended     map[string]int // By decision.
	cards     map[string]int // By the outcome of the ledger.
	ran       int
	orphans   int
	events    int
	checks    int           // Single things that the audit held against each other.
	took      time.Duration // All stories.
	converged time.Duration // From the last story to the last card.
}

func newCounts() counts {
	return counts{told: map[told]int{}, ended: map[string]int{}, cards: map[string]int{}}
}

// campaign is a town in which stories go on while one fault happens.
type campaign struct {
	o       Options
	fault   *fault
	town    *town
	folder  string
	variant string // Path of the variant of the binary, for faults that need one.
	later   []func() error
	aborted func() bool // The whole campaign has to end.
	random  *rand.Rand  // Of the fault itself.
	done    atomic.Int64
	stories []*story
	notes   []string // What the fault has to tell, with counts.

	mu       sync.Mutex
	found    []string
	happened map[string]int // See evidence.
}

func newCampaign(o Options, f *fault) *campaign {
	return &campaign{
		o: o, fault: f, happened: map[string]int{},
		random: rand.New(rand.NewPCG(o.Seed, 0)), //nolint:gosec // A campaign that can be repeated.
	}
}

// note adds to what the summary says.
func (c *campaign) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// wrong reports a violation.
func (c *campaign) wrong(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

// pick is one replica at random.
func (c *campaign) pick() *replica { return c.town.replicas[c.random.IntN(len(c.town.replicas))] }

// during waits within the fault, in between min and max; false when all stories have
// ended.
func (c *campaign) during(ctx context.Context, least, most time.Duration) bool {
	return pause(ctx, least+time.Duration(c.random.Int64N(int64(most-least)+1))) == nil
}

// breath is how many questions find their end between two times of a fault, or else how
// long is waited for them: where they found none, a slow machine would be told apart from
// a fast one, and not a fleet that goes on from one that does not.
const (
	breath      = 10
	breathLimit = 15 * time.Second
)

// breathe waits until some questions have found their end; false when all stories have.
func (c *campaign) breathe(ctx context.Context) bool {
	limit := time.NewTimer(breathLimit)
	defer limit.Stop()
	for before := c.done.Load(); c.done.Load() < before+breath; {
		select {
		case <-ctx.Done():
			return false
		case <-limit.C:
			return true
		case <-time.After(pollEvery): // What is waited for is done by real processes.
		}
	}
	return true
}

// live lets the stories begin evenly over a time while the fault happens. The fault's
// context ends with the last story.
func (c *campaign) live(ctx context.Context) error {
	c.aborted = func() bool { return ctx.Err() != nil }
	seen := newCards(c.town)
	watching, unwatch := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() { seen.watch(watching) })
	faulty, calm := context.WithCancel(ctx)
	defer calm()
	failed := make(chan error, 1)
	go func() { failed <- c.fault.run(faulty, c) }()
	c.tell(ctx, seen)
	calm()
	err := <-failed
	unwatch()
	watched.Wait()
	return errors.Join(err, c.town.heal(ctx))
}

// tell lives all stories.
func (c *campaign) tell(ctx context.Context, seen *cards) {
	every := c.fault.span(c.o) / time.Duration(c.o.Count)
	tick := time.NewTicker(every)
	defer tick.Stop()
	var all sync.WaitGroup
	for i := range c.o.Count {
		s := &story{number: i + 1, random: rand.New(rand.NewPCG(c.o.Seed, uint64(i+1)))} //nolint:gosec // A campaign that can be repeated.
		c.stories = append(c.stories, s)
		all.Go(func() {
			mine, cancel := context.WithTimeout(ctx, storyLimit)
			defer cancel()
			if err := s.run(mine, c.town, seen); err != nil {
				s.wrong("%v", err)
			}
			c.done.Add(1)
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	all.Wait()
}

// run is the whole: the town, the stories, the checks, and the end in good order. The
// folder with the logs is left where something was wrong. quiet is called once nothing
// but the checks is left.
func (c *campaign) run(ctx context.Context, quiet func()) (got counts, err error) {
	if c.folder, err = os.MkdirTemp(c.o.Dir, "sayso-faults-"+c.fault.name+"-"); err != nil {
		return got, fmt.Errorf("make folder: %w", err)
	}
	got = newCounts()
	var n needs
	if c.fault.needs != nil {
		n, err = c.fault.needs(ctx, c)
	}
	if err == nil {
		got, err = c.inTown(ctx, n, got, quiet)
	}
	for _, done := range c.later {
		err = errors.Join(err, done())
	}
	if err == nil && len(c.found) == 0 || errors.Is(err, errNotHere) {
		return got, errors.Join(err, os.RemoveAll(c.folder))
	}
	c.note("logs: %s", c.folder)
	return got, err
}

// inTown lives the stories in a town of their own, and checks.
func (c *campaign) inTown(ctx context.Context, n needs, got counts, quiet func()) (counts, error) {
	var err error
	c.town, err = openTown(ctx, c.o.Sayso, c.folder, n)
	if err == nil {
		began := time.Now()
		err = c.live(ctx)
		got.took = time.Since(began)
	}
	if err == nil {
		quiet()
		got, err = c.check(ctx, got)
		c.count(shownCards, got.cards[string(core.OutcomeReplaced)]+got.cards[string(core.OutcomeRetired)])
		c.convict()
	}
	return got, errors.Join(err, c.town.close())
}

// check is the audit, and then a stop in good order.
func (c *campaign) check(ctx context.Context, so counts) (counts, error) {
	if c.o.Hurry {
		if err := c.hurry(ctx); err != nil {
			return so, err
		}
	}
	a := &audit{town: c.town, stories: c.stories, once: c.fault.once, counts: so}
	err := a.run(ctx)
	for _, r := range c.town.replicas {
		if stopped := r.stop(); stopped != nil {
			a.wrong("%v", stopped)
		}
	}
	raced, failed := c.town.raced()
	if len(raced) > 0 {
		a.wrong("a race or a panic is in the log of %s", strings.Join(raced, ", "))
	}
	c.found = append(c.found, a.found...)
	return a.counts, errors.Join(err, failed)
}

// hurry stops all replicas in good order, so that whatever is leased then was leased by
// a dead one, lets those leases pass, and starts the replicas again. Nobody is left who
// could make use of them.
func (c *campaign) hurry(ctx context.Context) error {
	for _, r := range c.town.replicas {
		if err := r.stop(); err != nil {
			c.wrong("%v", err)
		}
	}
	if err := c.town.exec(ctx, sqlLate); err != nil {
		return err
	}
	return c.town.heal(ctx)
}
