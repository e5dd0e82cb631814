package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	tidyEvery = time.Second
	// tidyQuiet is how much may be allocated in an interval that counts as idle, and
	// tidyWorth how much must have been since the last time, in bytes.
	tidyQuiet = 1 << 20
	tidyWorth = 32 << 20
)

// tidy gives memory back to the system when a burst is over. Left to itself the
// runtime collects when as much was allocated as is in use: after ten thousand
// callers have arrived and wait, that does not happen for minutes, and what their
// requests left behind stays resident. A busy service is left alone; it collects
// by itself.
func tidy(ctx context.Context) error {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	tidied, last := uint64(0), allocated()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := allocated()
		if now-last < tidyQuiet && now-tidied > tidyWorth {
			debug.FreeOSMemory()
			tidied = now
		}
		last = now
	}
}

// allocated is what was allocated since the start, in bytes.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
