package bench

import (
	"context"
	"fmt"
	"os"
	"time"
)

// yardstick is the disk alone: append a page and a half, make it durable, again.
type yardstick struct {
	file  *os.File
	rates []float64
	times [][]time.Duration
}

const (
	frame     = 8 << 10 // Bytes: about what one decision appends to the log.
	syncSlice = 200 * time.Millisecond
)

func newYardstick(path string) (*yardstick, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open yardstick: %w", err)
	}
	return &yardstick{file: f}, nil
}

// slice measures for a moment.
func (y *yardstick) slice() error {
	page := make([]byte, frame)
	var times []time.Duration
	began := time.Now()
	for time.Since(began) < syncSlice {
		one := time.Now()
		if _, err := y.file.Write(page); err != nil {
			return fmt.Errorf("append: %w", err)
		}
		if err := datasync(y.file); err != nil {
			return fmt.Errorf("sync: %w", err)
		}
		times = append(times, time.Since(one))
	}
	y.rates = append(y.rates, float64(len(times))/time.Since(began).Seconds())
	y.times = append(y.times, times)
	return nil
}

// paced makes as much durable at so many a second, at even distances, as the store does
// it, with fsync. A disk and a processor that sleep between two calls have to wake up for
// both sides of a comparison.
func (y *yardstick) paced(ctx context.Context, perSecond int, d time.Duration) ([]time.Duration, error) {
	every := time.Second / time.Duration(perSecond)
	page := make([]byte, frame)
	times := make([]time.Duration, int(d/every))
	began := time.Now().Add(every)
	for i := range times {
		if wait := time.Until(began.Add(time.Duration(i) * every)); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		one := time.Now()
		if _, err := y.file.Write(page); err != nil {
			return nil, fmt.Errorf("append: %w", err)
		}
		if err := y.file.Sync(); err != nil {
			return nil, fmt.Errorf("sync: %w", err)
		}
		times[i] = time.Since(one)
	}
	return times, nil
}

// since returns the times of the slices from the nth on.
func (y *yardstick) since(n int) latencies { return sorted(y.times[n:]...) }

func (y *yardstick) print(b *bench) {
	if len(y.rates) == 0 {
		return
	}
	r := spreadOf(y.rates)
	b.report.add("raw append + fdatasync, 1 job", fmt.Sprintf("%.0f/s [%.0f-%.0f]; %s", r.median, r.low, r.high, y.since(0)), "", told)
}

func (y *yardstick) close() { _ = y.file.Close() } // Nothing in it is kept.
