package app

import (
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/events/webhooks"
)

// counted is what this process counts. It is made before the store, which tells of
// final answers from its first write on.
type counted struct {
	registry *prometheus.Registry
	observer *observer
	ends     *approvals.Ends
}

func newCounted(log *slog.Logger) (counted, error) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	o, err := newObserver(reg)
	if err != nil {
		return counted{}, err
	}
	return counted{registry: reg, observer: o, ends: approvals.NewEnds(o, log.With("part", "approvals"))}, nil
}

// ended is whom the store tells; nil where nothing is counted.
func (c *counted) ended() func(core.Approval) {
	if c.ends == nil {
		return nil
	}
	return c.ends.Record
}

// observer counts what the approvals service and the store report (R202). Labels are
// closed sets, created at the start so that dashboards show zeros.
type observer struct {
	requested *prometheus.CounterVec
	ended     *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	raced     *prometheus.CounterVec
	noRoute   prometheus.Counter
	routes    prometheus.Histogram
	audience  prometheus.Histogram
	callbacks *prometheus.CounterVec
}

func newObserver(reg prometheus.Registerer) (*observer, error) {
	o := &observer{
		requested: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sayso_approvals_requested_total", Help: "New approvals by kind and first status.",
		}, []string{"kind", "status"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sayso_approvals_ended_total", Help: "Approvals that got their final answer, by kind, status and reason.",
		}, []string{"kind", "status", "reason"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sayso_approvals_latency_seconds", Help: "From the question to its final answer.",
			Buckets: []float64{1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 24 * 3600, 168 * 3600},
		}, []string{"kind", "status"}),
		raced: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sayso_approvals_answers_total", Help: "Answers by what became of them: winner, idempotent, conflict, expired.",
		}, []string{"outcome"}),
		noRoute: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sayso_approvals_no_route_total", Help: "Approvals denied because nobody could be asked.",
		}),
		routes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sayso_approvals_routes", Help: "Cards planned for a question when it was asked.",
			Buckets: []float64{0, 1, 2, 3, 5, 10, 20, 50},
		}),
		audience: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sayso_approvals_audience_size", Help: "Sessions that a question concerns, as its request named them.",
			Buckets: []float64{0, 1, 2, 4, 8, 16, 32, core.MaxAudience},
		}),
		callbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sayso_callbacks_total", Help: "Calls to the callbacks of runtimes by what came of them: taken, failed, given-up.",
		}, []string{"outcome"}),
	}
	for _, c := range []prometheus.Collector{o.requested, o.ended, o.latency, o.raced, o.noRoute, o.routes, o.audience, o.callbacks} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	for _, k := range []core.Kind{core.KindExec, core.KindPlugin} {
		o.create(k)
	}
	for _, r := range []string{"winner", "idempotent", "conflict", "expired"} {
		o.raced.WithLabelValues(r)
	}
	for _, c := range []string{webhooks.CallTaken, webhooks.CallFailed, webhooks.CallGivenUp} {
		o.callbacks.WithLabelValues(c)
	}
	return o, nil
}

// create makes every label set of a kind exist.
func (o *observer) create(k core.Kind) {
	for _, s := range []core.Status{core.StatusPending, core.StatusAllowed, core.StatusDenied} {
		o.requested.WithLabelValues(string(k), string(s))
	}
	for _, s := range []core.Status{core.StatusAllowed, core.StatusDenied, core.StatusExpired, core.StatusCancelled} {
		o.latency.WithLabelValues(string(k), string(s))
		for _, r := range core.Reasons() {
			if r.Of(s) {
				o.ended.WithLabelValues(string(k), string(s), string(r))
			}
		}
	}
}

// Requested implements approvals.Observer.
func (o *observer) Requested(a *core.Approval, cards int) {
	o.requested.WithLabelValues(string(a.Kind), string(a.Status)).Inc()
	if a.Origin == core.OriginAsk {
		o.routes.Observe(float64(cards))
	}
	o.audience.Observe(float64(len(a.Audience)))
}

// Ended implements approvals.Counter.
func (o *observer) Ended(a *core.Approval) {
	o.ended.WithLabelValues(string(a.Kind), string(a.Status), string(a.Reason)).Inc()
	o.latency.WithLabelValues(string(a.Kind), string(a.Status)).Observe(a.ResolvedAt.Sub(a.CreatedAt).Seconds())
	if a.Reason == core.ReasonNoRoute {
		o.noRoute.Inc()
	}
}

// Raced implements approvals.Observer.
func (o *observer) Raced(outcome string) { o.raced.WithLabelValues(outcome).Inc() }

// Called implements webhooks.Observer.
func (o *observer) Called(outcome string) { o.callbacks.WithLabelValues(outcome).Inc() }
