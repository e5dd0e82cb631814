package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	tidyEvery = 250 * time.Millisecond
	// tidyCrowd is how many goroutines more make a crowd.
	tidyCrowd = 1000
	// tidyQuiet is how much may be allocated in an interval that counts as idle, and
	// tidyWorth how much must have been since the last time, in bytes.
	tidyQuiet = 256 << 10
	tidyWorth = 8 << 20
	// collectAfter is how much is allocated between two collections while little is in
	// use, in bytes. The runtime's own 4 MiB are a hundred decisions: one answer in a
	// hundred waited for a collection.
	collectAfter = 16 << 20
	// The growth of the heap between two collections, in percent of what is in use.
	leastGrowth  = 100 // The runtime's own rule.
	mostGrowth   = 400
	growthDiffer = 25 // Setting another one stops everything for a moment: not for less.
)

// Tidy gives memory back to the system while callers gather to wait, and when a
// burst is over. Left to itself the runtime collects when as much was allocated as
// is in use. After ten thousand callers have arrived and wait, that does not happen
// for minutes, and what their requests left behind stays resident. And the memory
// that it then uses again for the buffers of those who come next is resident for
// as long as they wait, although nothing is written to most of them. A service that
// is only busy is left alone; it collects by itself, more rarely than the runtime would
// while little is in use. Once the start is over and nothing happens, what only the
// start has needed is given back as well. Tidy returns when ctx ends.
func Tidy(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	tidied := measured()
	last := tidied
	started := false
	own := tidied.growth < leastGrowth || tidied.growth > mostGrowth // Somebody's, by GOGC.
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := measured()
		idle := now.allocated-last.allocated < tidyQuiet
		if idle && !started {
			started = true
			_ = forgetStart() // Where it cannot be, it stays.
		}
		quiet := idle && now.allocated-tidied.allocated > tidyWorth
		tidied.goroutines = min(tidied.goroutines, now.goroutines)
		if quiet || now.goroutines-tidied.goroutines > tidyCrowd {
			debug.FreeOSMemory()
			tidied = now
		}
		if want := growthFor(now.live); !own && differ(want, now.growth) {
			debug.SetGCPercent(int(want))
		}
		last = now
	}
}

// growthFor is the growth where so many bytes are in use.
func growthFor(live uint64) uint64 {
	return min(max(100*collectAfter/max(live, 1), leastGrowth), mostGrowth)
}

func differ(a, b uint64) bool { return max(a, b)-min(a, b) > growthDiffer }

type measure struct{ allocated, goroutines, live, growth uint64 }

// measured is what was allocated since the start, in bytes, what runs or waits, what the
// last collection left in use, in bytes, and by how many percent of it the heap may grow.
func measured() measure {
	s := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/sched/goroutines:goroutines"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"},
	}
	metrics.Read(s)
	return measure{
		allocated: s[0].Value.Uint64(), goroutines: s[1].Value.Uint64(),
		live: s[2].Value.Uint64(), growth: s[3].Value.Uint64(),
	}
}
