package deliveries

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/saysohq/sayso/core"
)

// Metrics are the figures of the ledger. Labels are closed sets, created at the
// start so that dashboards show zeros; no id is ever a label.
type Metrics struct {
	unconverged prometheus.Gauge
	oldest      prometheus.Gauge
	calls       *prometheus.CounterVec
	outcomes    *prometheus.CounterVec
	converge    *prometheus.HistogramVec
	accounts    *prometheus.GaugeVec
	broken      *prometheus.GaugeVec
	panics      *prometheus.CounterVec
	lost        *prometheus.CounterVec
	sweeps      prometheus.Counter
}

// NewMetrics registers the figures for the given channels. It returns the
// registry's error when a name is taken.
func NewMetrics(reg prometheus.Registerer, surfaces ...core.Surface) (*Metrics, error) {
	m := &Metrics{
		unconverged: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sayso_deliveries_unconverged", Help: "Open deliveries whose message does not show the record.",
		}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sayso_deliveries_oldest_unconverged_seconds", Help: "How long the oldest unconverged delivery has waited.",
		}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sayso_deliveries_calls_total", Help: "Calls to the platforms by operation and class of result.",
		}, []string{"channel", "operation", "result"}),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sayso_deliveries_closed_total", Help: "Deliveries closed by the worker, by outcome.",
		}, []string{"channel", "outcome"}),
		converge: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sayso_deliveries_converge_seconds", Help: "From the final answer to the message that shows it.",
			Buckets: []float64{.1, .25, .5, 1, 2, 3, 5, 10, 30, 60, 600},
		}, []string{"channel"}),
		accounts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sayso_deliveries_refused_accounts", Help: "Accounts whose credentials the platform refuses.",
		}, []string{"channel"}),
		broken: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sayso_deliveries_broken_routes", Help: "Chats, shared and direct, that failed for good when they were last tried.",
		}, []string{"channel"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sayso_deliveries_panics_total", Help: "Contained panics while working on a delivery.",
		}, []string{"channel"}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sayso_deliveries_leases_lost_total", Help: "Turns whose lease another worker had taken over.",
		}, []string{"channel"}),
		sweeps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sayso_deliveries_swept_total", Help: "Approvals whose deliveries only the slow re-check found.",
		}),
	}
	for _, c := range []prometheus.Collector{
		m.unconverged, m.oldest, m.calls, m.outcomes, m.converge, m.accounts, m.broken, m.panics, m.lost, m.sweeps,
	} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	for _, s := range surfaces {
		m.create(string(s))
	}
	return m, nil
}

// create makes every label set of a channel exist.
func (m *Metrics) create(channel string) {
	for _, op := range []string{opSend, opEdit, opDetail, opFollowup, opRender} {
		for _, class := range []core.FailureClass{
			core.FailureNone, core.FailureTemporary, core.FailureRateLimited, core.FailureAuth,
			core.FailureRejected, core.FailureGone, core.FailureMoved, core.FailureAmbiguous,
		} {
			m.calls.WithLabelValues(channel, op, resultLabel(class))
		}
	}
	for _, o := range []core.DeliveryOutcome{
		core.OutcomeReplaced, core.OutcomeRetired, core.OutcomeUnsupported, core.OutcomeFailed,
		core.OutcomeSkipped, core.OutcomePossibleOrphan, core.OutcomeDuplicate,
	} {
		m.outcomes.WithLabelValues(channel, string(o))
	}
	m.converge.WithLabelValues(channel)
	m.accounts.WithLabelValues(channel)
	m.broken.WithLabelValues(channel)
	m.panics.WithLabelValues(channel)
	m.lost.WithLabelValues(channel)
}

func resultLabel(c core.FailureClass) string {
	if c == core.FailureNone {
		return "ok"
	}
	return string(c)
}

func (m *Metrics) called(s core.Surface, op string, c core.FailureClass) {
	m.calls.WithLabelValues(string(s), op, resultLabel(c)).Inc()
}

func (m *Metrics) closed(s core.Surface, o core.DeliveryOutcome) {
	m.outcomes.WithLabelValues(string(s), string(o)).Inc()
}

func (m *Metrics) shown(s core.Surface, after time.Duration) {
	m.converge.WithLabelValues(string(s)).Observe(after.Seconds())
}

func (m *Metrics) refused(s core.Surface, delta float64) {
	m.accounts.WithLabelValues(string(s)).Add(delta)
}

func (m *Metrics) brokenNow(s core.Surface, n int) {
	m.broken.WithLabelValues(string(s)).Set(float64(n))
}

func (m *Metrics) panicked(s core.Surface) { m.panics.WithLabelValues(string(s)).Inc() }

func (m *Metrics) leaseLost(s core.Surface) { m.lost.WithLabelValues(string(s)).Inc() }

func (m *Metrics) swept(n int) { m.sweeps.Add(float64(n)) }

func (m *Metrics) unconvergedNow(count int, oldest core.Millis) {
	m.unconverged.Set(float64(count))
	m.oldest.Set(float64(oldest) / 1_000)
}
