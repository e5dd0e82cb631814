package bench

import (
	"context"
	"sync"
	"time"
)

// paced lets the callers decide so many rows a second together, at even distances and
// in turn. A decision whose caller was still waiting for its last one is timed from the
// moment at which it was due, so that its waiting counts.
func (s *side) paced(ctx context.Context, perSecond int, d time.Duration) ([]time.Duration, error) {
	every := time.Second / time.Duration(perSecond)
	ids, err := s.fill(ctx, int(d/every))
	if err != nil {
		return nil, err
	}
	times := make([]time.Duration, len(ids))
	errs := make(chan error, s.callers)
	var wg sync.WaitGroup
	began := time.Now().Add(every)
	for c := range s.callers {
		wg.Go(func() {
			for i := c; i < len(ids); i += s.callers {
				due := began.Add(time.Duration(i) * every)
				if wait := time.Until(due); wait > 0 {
					select {
					case <-time.After(wait):
					case <-ctx.Done():
						errs <- ctx.Err()
						return
					}
					due = time.Now() // A timer that is late is not the service's.
				}
				if err := s.decide(ctx, c, ids[i]); err != nil {
					errs <- err
					return
				}
				times[i] = time.Since(due)
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return nil, err
	default:
		return times, nil
	}
}
