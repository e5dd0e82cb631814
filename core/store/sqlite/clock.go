package sqlite

import (
	"sync/atomic"
	"time"

	"github.com/saysohq/sayso/core"
)

// clock is the one clock of the deployment: the process clock, never below the
// last time that was handed out. The last time is persisted by every batch that
// changes something, so that it also holds over a restart with a clock set back.
type clock struct {
	process func() time.Time
	last    atomic.Int64
}

// now hands out a time, in the order of the calls.
func (c *clock) now() core.Millis {
	for {
		last := c.last.Load()
		read := c.process().UnixMilli()
		if read <= last {
			return core.Millis(last)
		}
		if c.last.CompareAndSwap(last, read) {
			return core.Millis(read)
		}
	}
}

// raise makes sure that nothing below m is handed out any more.
func (c *clock) raise(m core.Millis) {
	for {
		last := c.last.Load()
		if int64(m) <= last || c.last.CompareAndSwap(last, int64(m)) {
			return
		}
	}
}
