//go:build unix

package faults

import (
	"context"
	"errors"
	"io"
	"time"
)

// Options say what is run and how much of it.
type Options struct {
	Sayso string // The binary under test. Required.
	// Module is the folder of the module, from which variants of the binary are built: the
	// next version, and one with a wrong clock. "" leaves the faults that need them out,
	// and says so.
	Module string
	Dir    string // Where folders with logs are made; "" takes the system's for temporary files.
	Only   string // Only the faults whose name contains this.
	Count  int    // Questions for each fault, at least 1.
	Kills  int    // How often a replica is killed in the fault that does so, at least 1.
	Seed   uint64 // Of everything that is left to chance.
	Hurry  bool   // Lets the leases of dead replicas pass at once, once all is over.
	// Beside is in how many towns questions are asked at once, each with a fault of its
	// own; 0 takes one for each processor.
	Beside int
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
	shows   []evidence    // That it happened. What comes first is how often it did.
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

// all lists the faults in the order in which they are run: those that take longest first.
func all() []*fault {
	return []*fault{
		{
			name: "kill", does: "kill -9 of a replica at random", perTurn: 650 * time.Millisecond, run: killed,
			shows: []evidence{{killedReplicas, 0, true}, {callsCaught, 15, false}},
		},
		{
			name: "stop", does: "the holder of most leases is stopped past them, and wakes up late", run: stopped,
			shows: []evidence{{"holders stopped", 4, true}, {"leases that had moved when it woke up", 8, true}, {meanwhile, 200, true}},
		},
		{
			name: "pushes", does: "messengers push to whichever replica is there, while replicas are killed and stopped", needs: everythingPushed, run: pushedTo,
			shows: []evidence{
				{pushesTaken + "a", 100, true}, {pushesTaken + "b", 100, true}, {killedReplicas, 8, true}, {stoppedInOrder, 8, true},
			},
		},
		{
			name: "commit-cut", does: "connections break in the middle of a commit", once: true, run: commitsBroken,
			shows: []evidence{{string(metUnsent), 100, true}, {string(metUnheard), 100, true}, {string(metDone), 50, true}},
		},
		{
			name: "disk", does: "the database has no room left", needs: smallDisk, run: filled,
			shows: []evidence{{"disk full", 5, true}, {"writes that found no room", 5, true}},
		},
		{
			name: "postgres-restart", does: "PostgreSQL is restarted, fast and immediate", run: restarted,
			shows: []evidence{{"fast restarts", 5, true}, {"immediate restarts", 5, true}, {string(metServer), 20, true}},
		},
		{
			name: "latency", does: "PostgreSQL is 2 s away", run: slowed,
			shows: []evidence{{"moved away", 4, true}, {string(metDelayed), 200, true}},
		},
		{
			name: "pool", does: "two connections for each replica, and rows that somebody else has locked", needs: smallPool, run: locked,
			shows: []evidence{{"rows locked", 40, true}, {"statements seen waiting for them", 10, true}, {"times that a replica had no connection left", 1, false}},
		},
		{
			name: "redis-restart", does: "Redis is killed, and comes back empty", run: redisKilled,
			shows: []evidence{{"Redis killed", 10, true}, {string(metServer), 20, true}, {meanwhile, 100, true}},
		},
		{
			name: "redis-partition", does: "one replica cannot reach Redis", run: redisApart,
			shows: []evidence{{"partitioned", 5, true}, {"refused", 5, false}, {string(metHeld), 5, true}, {string(metRefused), 5, false}, {meanwhile, 200, true}},
		},
		{
			name: "messengers", does: "all messengers fail at once", run: messengersFail,
			shows: []evidence{{"all failed", 10, true}, {"kinds of calls that failed on telegram", 15, true}, {"kinds of calls that failed on slack", 15, true}, {"kinds of calls that failed on discord", 15, true}, {meanwhile, 50, true}},
		},
		{
			name: "clock", does: "the process clock of one replica is 90 s ahead, and 90 s behind", needs: variant(wrongClock), run: clocks,
			shows: []evidence{{"clocks wrong", 2, true}, {"answers dated 90 s ahead", 1, true}, {"answers dated 90 s behind", 1, true}, {meanwhile, 500, true}},
		},
		{
			name: "upgrade", does: "a rolling upgrade across a migration", needs: variant(nextVersion), run: upgraded,
			shows: []evidence{{"migrated beside the old version", 1, true}, {"old versions refused on the new schema", 1, true}, {"replicas upgraded", 2, true}, {killedReplicas, 1, true}, {meanwhile, 20, false}},
		},
	}
}
