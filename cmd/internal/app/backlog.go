package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/saysohq/sayso/core"
)

const (
	// countEvery is how often the store is asked at most, however many scrape.
	countEvery = time.Second
	// countWithin bounds the question: a scrape does not wait for a sick store.
	countWithin = 2 * time.Second
)

// backlog is a gauge of something that waits (R202). It is read from the store at the scrape:
// a number that every replica counted for itself would be right on none of them. Where
// the store does not answer, the gauge is missing and nothing wrong is shown.
type backlog struct {
	ask  func(ctx context.Context) (int, error)
	now  func() time.Time
	log  *slog.Logger
	desc *prometheus.Desc

	mu    sync.Mutex // Held while the store is asked: scrapes at one time ask once.
	asked time.Time
	count int
	known bool
}

var _ prometheus.Collector = (*backlog)(nil)

// newBacklog is the gauge of questions.
func newBacklog(store core.Backlog, now func() time.Time, log *slog.Logger) *backlog {
	return &backlog{ask: store.PendingApprovals, now: now, log: log, desc: prometheus.NewDesc("sayso_approvals_pending",
		"Approvals that wait for an answer, of the whole deployment: every replica shows the same number.", nil, nil)}
}

// newCallbackBacklog is the gauge of callbacks.
func newCallbackBacklog(store core.Nudges, now func() time.Time, log *slog.Logger) *backlog {
	due := func(ctx context.Context) (int, error) {
		n, _, err := store.NudgeBacklog(ctx)
		return n, err
	}
	return &backlog{ask: due, now: now, log: log, desc: prometheus.NewDesc("sayso_callbacks_due",
		"Callbacks that are to be called, now or again later, of the whole deployment.", nil, nil)}
}

// Describe implements prometheus.Collector.
func (b *backlog) Describe(ch chan<- *prometheus.Desc) { ch <- b.desc }

// Collect implements prometheus.Collector.
func (b *backlog) Collect(ch chan<- prometheus.Metric) {
	if count, known := b.read(); known {
		ch <- prometheus.MustNewConstMetric(b.desc, prometheus.GaugeValue, float64(count))
	}
}

func (b *backlog) read() (int, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if !b.asked.IsZero() && now.Sub(b.asked) < countEvery {
		return b.count, b.known
	}
	ctx, cancel := context.WithTimeout(context.Background(), countWithin)
	defer cancel()
	count, err := b.ask(ctx)
	if err != nil {
		b.log.LogAttrs(ctx, slog.LevelWarn, "what waits could not be counted", slog.String("code", core.CodeOf(err)))
	}
	b.asked, b.count, b.known = now, count, err == nil
	return b.count, b.known
}
