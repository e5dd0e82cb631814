//go:build unix

package faults

import (
	"fmt"
	"slices"
	"strings"
)

// evidence is what a fault has to show for itself: that it happened, and to somebody. A
// campaign that survived a fault which never happened proves nothing, and is a failed one.
type evidence struct {
	what string
	// least is how often in a whole campaign of wholeCampaign questions. A shorter one
	// must show its share.
	least int
	// always is a thing that even the shortest campaign must show once.
	always bool
}

// wholeCampaign is the number of questions for which evidence is demanded.
const wholeCampaign = 2000

// in is how often a campaign of so many questions must show it.
func (e evidence) in(count int) int {
	least := e.least * min(count, wholeCampaign) / wholeCampaign
	if e.always {
		least = max(least, 1)
	}
	return least
}

// What several faults show.
const (
	killedReplicas = "replicas killed"
	meanwhile      = "questions that found their end meanwhile"
)

// Every fault shows that the messengers were in it: without cards there is nothing that
// could be wrong.
const shownCards = "cards edited to the truth"

func everyFault() []evidence { return []evidence{{shownCards, 50, true}} }

// evidence is what a fault has to show.
func (f *fault) evidence() []evidence { return slices.Concat(f.shows, everyFault()) }

// count notes that something happened.
func (c *campaign) count(what string, times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.happened[what] += times
}

// lasting begins a time in which the fault is in force; end counts it, and the questions
// that found their end in it.
func (c *campaign) lasting(what string) (end func()) {
	before := c.done.Load()
	return func() {
		c.count(what, 1)
		c.count(meanwhile, int(c.done.Load()-before))
	}
}

// met adds what the lines did.
func (c *campaign) met(lines func(r *replica) *line, what ...met) {
	for _, r := range c.town.replicas {
		for _, w := range what {
			c.count(string(w), lines(r).counted(w))
		}
	}
}

func toDatabase(r *replica) *line { return r.database }
func toRedis(r *replica) *line    { return r.redis }

const noEvidence = "the fault did not happen as it should: "

// convict reports evidence that is missing.
func (c *campaign) convict() {
	for _, e := range c.fault.evidence() {
		least := e.in(c.o.Count)
		c.mu.Lock()
		times := c.happened[e.what]
		c.mu.Unlock()
		if times < least {
			c.wrong(noEvidence+"%s: %d, and not %d at least", e.what, times, least)
		}
	}
}

// shown lists what happened: first what the fault has to show, in its order.
func (c *campaign) shown() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []string
	demanded := map[string]bool{}
	for _, e := range c.fault.evidence() {
		demanded[e.what] = true
		parts = append(parts, fmt.Sprintf("%s %d (at least %d)", e.what, c.happened[e.what], e.in(c.o.Count)))
	}
	var more []string
	for what, times := range c.happened {
		if !demanded[what] {
			more = append(more, fmt.Sprintf("%s %d", what, times))
		}
	}
	slices.Sort(more)
	return strings.Join(append(parts, more...), ", ")
}
