package bench

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// slice is one turn of one side.
type slice struct {
	rate    float64 // Per second.
	n       int
	commits int64 // 0 where nobody counts them.
	cpu     processor
	times   latencies
}

// turner is one side of a comparison.
type turner interface {
	turn(ctx context.Context, d time.Duration) (slice, error)
}

// side is something that decides rows.
type side struct {
	callers int
	fill    func(ctx context.Context, n int) ([]string, error)
	decide  func(ctx context.Context, caller int, id string) error
	commits func(ctx context.Context) (int64, error) // nil where nobody counts.
	cpu     func() (processor, error)                // Used until now; nil where nobody counts.
	guess   float64                                  // Expected rate: how many rows a turn may need.
	warm    time.Duration                            // Of each turn, before it counts.
}

// turn lets the callers decide rows for about d. Rows are made before the clock
// starts.
func (s *side) turn(ctx context.Context, d time.Duration) (slice, error) {
	ids, err := s.fill(ctx, 100+int(1.5*s.guess*(s.warm+d).Seconds()))
	if err != nil {
		return slice{}, err
	}
	first := int(float64(len(ids)) * s.warm.Seconds() / (s.warm + d).Seconds())
	if _, _, err := s.run(ctx, s.warm, ids[:first]); err != nil {
		return slice{}, err
	}
	before, err := s.counted(ctx)
	if err != nil {
		return slice{}, err
	}
	used, err := s.used()
	if err != nil {
		return slice{}, err
	}
	all, took, err := s.run(ctx, d, ids[first:])
	if err != nil {
		return slice{}, err
	}
	after, err := s.counted(ctx)
	if err != nil {
		return slice{}, err
	}
	until, err := s.used()
	s.guess = float64(len(all)) / took.Seconds()
	return slice{rate: s.guess, n: len(all), commits: after - before, cpu: until.minus(used), times: all}, err
}

// run lets the callers decide rows for about d, and tells how long each took and all
// together.
func (s *side) run(ctx context.Context, d time.Duration, ids []string) (latencies, time.Duration, error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	times := make([][]time.Duration, s.callers)
	errs := make(chan error, s.callers)
	began := time.Now()
	for c := range s.callers {
		wg.Go(func() {
			for time.Since(began) < d {
				i := int(next.Add(1)) - 1
				if i >= len(ids) {
					return
				}
				one := time.Now()
				if err := s.decide(ctx, c, ids[i]); err != nil {
					errs <- err
					return
				}
				times[c] = append(times[c], time.Since(one))
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	select {
	case err := <-errs:
		return nil, 0, err
	default:
		return sorted(times...), took, nil
	}
}

func (s *side) used() (processor, error) {
	if s.cpu == nil {
		return processor{}, nil
	}
	return s.cpu()
}

func (s *side) counted(ctx context.Context) (int64, error) {
	if s.commits == nil {
		return 0, nil
	}
	return s.commits(ctx)
}

// compare measures both sides in alternating order, with the disk alone between
// the rounds. It also returns all turns of our side together.
func (b *bench) compare(ctx context.Context, rounds int, d time.Duration, raw, ours turner) (*pairs, slice, error) {
	p, all := &pairs{}, slice{}
	for i := range rounds + 1 {
		var got [2]slice
		for _, k := range [2]int{i % 2, 1 - i%2} {
			s, err := [2]turner{raw, ours}[k].turn(ctx, d)
			if err != nil {
				return nil, all, err
			}
			got[k] = s
		}
		if err := b.sync.slice(); err != nil {
			return nil, all, err
		}
		if i == 0 { // The first round only warms caches and the guesses of the rates.
			continue
		}
		p.add(got[0].rate, got[1].rate)
		p.rawDone, p.rawCPU = p.rawDone+got[0].n, p.rawCPU.plus(got[0].cpu)
		all.n, all.commits = all.n+got[1].n, all.commits+got[1].commits
		all.cpu = all.cpu.plus(got[1].cpu)
		all.times = append(all.times, got[1].times...)
	}
	slices.Sort(all.times)
	return p, all, nil
}
