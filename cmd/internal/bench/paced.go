package bench

import (
	"context"
	"sync"
	"time"
)

// paced lets the callers decide so many rows a second together, at even distances and
// in turn. A decision is timed from the moment at which it was due, so that one that
// had to wait for its caller counts with its waiting.
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
				select {
				case <-time.After(time.Until(due)):
				case <-ctx.Done():
					errs <- ctx.Err()
					return
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
