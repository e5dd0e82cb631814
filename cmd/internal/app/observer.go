package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/saysohq/sayso/core"
)

// observer counts what the approvals service reports (R202). Labels are closed
// sets, created at the start so that dashboards show zeros.
type observer struct {
	requested *prometheus.CounterVec
	ended     *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	raced     *prometheus.CounterVec
	noRoute   prometheus.Counter
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
	}
	for _, c := range []prometheus.Collector{o.requested, o.ended, o.latency, o.raced, o.noRoute} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	for _, k := range []core.Kind{core.KindExec, core.KindPlugin} {
		for _, s := range []core.Status{core.StatusAllowed, core.StatusDenied, core.StatusExpired, core.StatusCancelled} {
			o.latency.WithLabelValues(string(k), string(s))
		}
		o.requested.WithLabelValues(string(k), string(core.StatusPending))
	}
	for _, r := range []string{"winner", "idempotent", "conflict", "expired"} {
		o.raced.WithLabelValues(r)
	}
	return o, nil
}

// Requested implements approvals.Observer.
func (o *observer) Requested(k core.Kind, s core.Status) {
	o.requested.WithLabelValues(string(k), string(s)).Inc()
}

// Ended implements approvals.Observer.
func (o *observer) Ended(a *core.Approval) {
	o.ended.WithLabelValues(string(a.Kind), string(a.Status), string(a.Reason)).Inc()
	o.latency.WithLabelValues(string(a.Kind), string(a.Status)).Observe(a.ResolvedAt.Sub(a.CreatedAt).Seconds())
	if a.Reason == core.ReasonNoRoute {
		o.noRoute.Inc()
	}
}

// Raced implements approvals.Observer.
func (o *observer) Raced(outcome string) { o.raced.WithLabelValues(outcome).Inc() }
