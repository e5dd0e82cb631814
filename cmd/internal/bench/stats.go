package bench

import (
	"fmt"
	"slices"
	"time"
)

// quantile of sorted values; 0 for none.
func quantile[T any](sorted []T, q float64) T {
	if len(sorted) == 0 {
		var zero T
		return zero
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// latencies are sorted times.
type latencies []time.Duration

func sorted(all ...[]time.Duration) latencies {
	l := latencies(slices.Concat(all...))
	slices.Sort(l)
	return l
}

func (l latencies) at(q float64) time.Duration { return quantile(l, q) }

func (l latencies) String() string {
	return fmt.Sprintf("p50 %s, p95 %s, p99 %s, max %s (n=%d)", short(l.at(0.5)), short(l.at(0.95)), short(l.at(0.99)), short(l.at(1)), len(l))
}

// The tick of a kernel with 250 Hz: a latency near it may be the scheduler's.
const (
	tickFrom = 3600 * time.Microsecond
	tickTo   = 4400 * time.Microsecond
)

// short rounds a time for the eye, and flags one that may not be ours.
func short(d time.Duration) string {
	unit := time.Microsecond
	if d > 10*time.Millisecond {
		unit = 100 * time.Microsecond
	}
	s := d.Round(unit).String()
	if d >= tickFrom && d <= tickTo {
		s += " (near the scheduler's 4 ms tick: suspect)"
	}
	return s
}

// spread is a median with its range.
type spread struct{ median, low, high float64 }

func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return spread{}
	}
	return spread{median: v[len(v)/2], low: v[0], high: v[len(v)-1]}
}

// unsteady reports whether a raw side varied so much that a ratio to it says nothing.
func (s spread) unsteady() bool { return s.high > 2*s.low }

// pairs are the rates of two sides, measured in turns.
type pairs struct {
	raw, ours, ratios []float64
	rawDone           int       // Operations of the raw side,
	rawCPU            processor // and what they took, where somebody counts.
}

func (p *pairs) add(raw, ours float64) {
	p.raw, p.ours, p.ratios = append(p.raw, raw), append(p.ours, ours), append(p.ratios, ours/raw)
}

// value tells the ratio with its range, and the rates that it comes from.
func (p *pairs) value() string {
	r, raw, ours := spreadOf(p.ratios), spreadOf(p.raw), spreadOf(p.ours)
	return fmt.Sprintf("%.2fx [%.2f-%.2f], n=%d; %.0f/s beside %.0f/s", r.median, r.low, r.high, len(p.ratios), ours.median, raw.median)
}

func (p *pairs) verdict(least float64) string {
	if spreadOf(p.raw).unsteady() {
		return noisy
	}
	return judge(spreadOf(p.ratios).median >= least)
}
