package redis

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the figures of the bus and of the shared budgets. They say nothing of
// what the hints are about.
type Metrics struct {
	connected prometheus.Gauge
	replicas  prometheus.Gauge
	sent      prometheus.Counter
	received  prometheus.Counter
	droppedN  prometheus.Counter
	strange   *prometheus.CounterVec
	resyncs   prometheus.Counter
	calls     *prometheus.CounterVec
}

// Why a message on the channel was not taken.
const (
	strangeMalformed = "malformed"
	strangeTooLarge  = "too_large"
	strangeVersion   = "other_version"
	strangeSender    = "too_many_senders"
)

// NewMetrics registers the figures. It returns the registry's error when a name is
// taken.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &Metrics{
		connected: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sayso_bus_connected", Help: "1 while hints of the other replicas are heard.",
		}),
		replicas: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sayso_bus_replicas", Help: "Replicas that share the budgets, this one included, as last known.",
		}),
		sent:     counter("sayso_bus_hints_published_total", "Hints that Redis took for the other replicas."),
		received: counter("sayso_bus_hints_received_total", "Hints heard from the other replicas."),
		droppedN: counter("sayso_bus_hints_dropped_total", "Hints that could not be told to the other replicas, which then look at everything."),
		strange: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sayso_bus_messages_refused_total", Help: "Messages on the channel that are not ours, by what is wrong with them.",
		}, []string{"reason"}),
		resyncs: counter("sayso_bus_resyncs_total", "Times that everything was looked at again because hints may have been lost."),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sayso_budgets_calls_total", Help: "Questions for a send budget: answered by all replicas' budgets (shared) or not (away).",
		}, []string{"result"}),
	}
	for _, c := range []prometheus.Collector{
		m.connected, m.replicas, m.sent, m.received, m.droppedN, m.strange, m.resyncs, m.calls,
	} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	for _, reason := range []string{strangeMalformed, strangeTooLarge, strangeVersion, strangeSender} {
		m.strange.WithLabelValues(reason)
	}
	m.calls.WithLabelValues(resultShared)
	m.calls.WithLabelValues(resultAway)
	return m, nil
}

// What became of a question for a budget.
const (
	resultShared = "shared"
	resultAway   = "away"
)

func (m *Metrics) dropped(n int)         { m.droppedN.Add(float64(n)) }
func (m *Metrics) published(n int)       { m.sent.Add(float64(n)) }
func (m *Metrics) heard(n int)           { m.received.Add(float64(n)) }
func (m *Metrics) refused(reason string) { m.strange.WithLabelValues(reason).Inc() }
func (m *Metrics) resynced()             { m.resyncs.Inc() }
func (m *Metrics) asked(result string)   { m.calls.WithLabelValues(result).Inc() }
func (m *Metrics) present(n int)         { m.replicas.Set(float64(n)) }

func (m *Metrics) link(up bool) {
	if up {
		m.connected.Set(1)
	} else {
		m.connected.Set(0)
	}
}
