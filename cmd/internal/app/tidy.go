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
)

// tidy gives memory back to the system while callers gather to wait, and when a
// burst is over. Left to itself the runtime collects when as much was allocated as
// is in use. After ten thousand callers have arrived and wait, that does not happen
// for minutes, and what their requests left behind stays resident. And the memory
// that it then uses again for the buffers of those who come next is resident for
// as long as they wait, although nothing is written to most of them. A service that
// is only busy is left alone; it collects by itself.
func tidy(ctx context.Context) error {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	tidied := measured()
	last := tidied
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := measured()
		quiet := now.allocated-last.allocated < tidyQuiet && now.allocated-tidied.allocated > tidyWorth
		tidied.goroutines = min(tidied.goroutines, now.goroutines)
		if quiet || now.goroutines-tidied.goroutines > tidyCrowd {
			debug.FreeOSMemory()
			tidied = now
		}
		last = now
	}
}

type measure struct{ allocated, goroutines uint64 }

// measured is what was allocated since the start, in bytes, and what runs or waits.
func measured() measure {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(s)
	return measure{allocated: s[0].Value.Uint64(), goroutines: s[1].Value.Uint64()}
}
