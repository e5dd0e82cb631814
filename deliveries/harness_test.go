package deliveries_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/deliveries"
	"github.com/saysohq/sayso/presentation"
)

var bot = core.AccountRef{Channel: core.SurfaceTelegram, Account: "1"}

// harness is one worker on a fake store and fake channels, in a bubble of time.
type harness struct {
	t        *testing.T
	store    *memory
	bus      *local.Bus
	hints    core.Subscriber
	channels []*messenger
	channel  *messenger // The first of them.
	router   deliveries.Router
	jobs     deliveries.Jobs
	alive    func() bool // Whether the other replicas count on the worker; nil alone.
	card     deliveries.CardFunc
	pacer    deliveries.Pacer // nil: the worker's own.
	wrap     func(c channels.Channel) channels.Channel
	cfg      deliveries.Config
	metrics  *prometheus.Registry
	logs     *lockedBuffer
	stop     func()
}

// bubble runs f with a harness; the worker is started by h.start.
func bubble(t *testing.T, f func(t *testing.T, h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		bus := local.New()
		h := &harness{
			t: t, bus: bus, hints: bus, store: newMemory(bus), channel: newMessenger(bot),
			metrics: prometheus.NewRegistry(), logs: &lockedBuffer{}, stop: func() {},
			cfg: deliveries.Config{Name: "worker-1"},
		}
		h.channels, h.router, h.card = []*messenger{h.channel}, noRoutes{}, card
		h.wrap = func(c channels.Channel) channels.Channel { return c }
		f(t, h)
		h.stop()
	})
}

// start runs the worker; stop cancels it and waits until it has drained.
func (h *harness) start() {
	h.t.Helper()
	m, err := deliveries.NewMetrics(h.metrics, core.SurfaceTelegram, core.SurfaceSlack)
	require.NoError(h.t, err)
	served := make([]channels.Channel, 0, len(h.channels))
	for _, c := range h.channels {
		served = append(served, h.wrap(c))
	}
	w := deliveries.New(h.cfg, deliveries.Deps{
		Store: h.store, Rows: h.store, Broken: h.store, Cards: h.store, Convergence: h.store, Records: h.store, People: h.store, Clock: h.store,
		Router: h.router, Hints: h.hints, Publisher: h.bus, Jobs: h.jobs, Alive: h.alive, Channels: served, Card: h.card, Pacer: h.pacer,
		Metrics: m, Logger: slog.New(slog.NewJSONHandler(h.logs, nil)),
		Now: time.Now, Jitter: func() float64 { return 0.5 },
	})
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	h.stop = func() {
		cancel()
		require.ErrorIs(h.t, <-done, context.Canceled)
		h.stop = func() {}
	}
}

// again runs another worker after the first was stopped, with figures of its own.
func (h *harness) again() {
	h.t.Helper()
	h.metrics = prometheus.NewRegistry()
	h.start()
}

// pass lets time pass in the bubble and waits until everything is quiet.
func (h *harness) pass(d time.Duration) {
	h.t.Helper()
	<-time.After(d)
	synctest.Wait()
}

// metric reads one figure; labels come as name, value pairs.
func (h *harness) metric(name string, labels ...string) int {
	h.t.Helper()
	families, err := h.metrics.Gather()
	require.NoError(h.t, err)
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			got := map[string]string{}
			for _, l := range m.GetLabel() {
				got[l.GetName()] = l.GetValue()
			}
			match := true
			for i := 0; i < len(labels); i += 2 {
				match = match && got[labels[i]] == labels[i+1]
			}
			if match {
				return int(m.GetGauge().GetValue()+m.GetCounter().GetValue()) + int(m.GetHistogram().GetSampleCount())
			}
		}
	}
	require.FailNow(h.t, "no such metric", "%s %v", name, labels)
	return 0
}

// to plans a row for a shared chat.
func to(id, address string) core.Delivery {
	return core.Delivery{
		ID: id, Channel: bot.Channel, Account: bot.Account,
		Destination: deliveries.ChatPrefix + address, Address: address,
	}
}

// person plans a row for somebody's direct chat.
func person(id, who string) core.Delivery {
	return core.Delivery{
		ID: id, Channel: bot.Channel, Account: bot.Account,
		Destination: deliveries.PersonPrefix + who, PersonID: who,
	}
}

// card is a card whose text is what a test wants to know.
func card(a core.Approval, d core.Detail, p presentation.Place) presentation.Card {
	return presentation.Card{
		ApprovalID: a.ID, Status: a.Status, Revision: a.CardRevision, ActionHash: a.ActionHash,
		Title: a.Presentation.Title, WholeShown: p.WholeShown, Omitted: d.Omitted,
	}
}

// messenger is a fake platform and its channel in one.
type messenger struct {
	ref     core.AccountRef
	cuts    bool          // Cards do not fit: incomplete until the whole detail was shown.
	latency time.Duration // Of every call.

	mu       sync.Mutex
	n        int
	messages map[string]*message
	calls    []call
	inside   map[string]int // Calls under way, by address.
	most     int            // Most calls at once.
	crowded  bool           // Two calls at once in one chat.

	render func(c presentation.Card) error
	send   func(address string, text string) error
	edit   func(locator string) (core.DeliveryOutcome, error)
	detail func() error
}

type message struct {
	address string
	text    string
	edits   int
}

type call struct {
	op      string
	address string
	text    string
	at      time.Time
}

func newMessenger(ref core.AccountRef) *messenger {
	return &messenger{
		ref: ref, messages: map[string]*message{}, inside: map[string]int{},
		render: func(presentation.Card) error { return nil },
		send:   func(string, string) error { return nil },
		edit:   func(string) (core.DeliveryOutcome, error) { return core.OutcomeReplaced, nil },
		detail: func() error { return nil },
	}
}

func (m *messenger) onSend(f func(address, text string) error) { script(m, &m.send, f) }

func (m *messenger) onEdit(f func(locator string) (core.DeliveryOutcome, error)) {
	script(m, &m.edit, f)
}

func (m *messenger) onDetail(f func() error) { script(m, &m.detail, f) }

// current and script read and replace a scripted answer while calls are made.
func current[F any](m *messenger, f *F) F {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *f
}

func script[F any](m *messenger, f *F, answer F) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*f = answer
}

func (m *messenger) Ref() core.AccountRef { return m.ref }

func (m *messenger) Render(c presentation.Card) (channels.Rendered, error) {
	if err := current(m, &m.render)(c); err != nil {
		return channels.Rendered{}, err
	}
	r := channels.Rendered{Complete: !m.cuts, Payload: string(c.Status), KeyID: "k"}
	if c.Status == core.StatusPending {
		r.Offered = []core.Decision{core.DecisionDeny}
		if r.Complete || c.WholeShown {
			r.Offered = []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}
		}
	}
	return r, nil
}

// enter notes a call and takes its time; the result leaves it.
func (m *messenger) enter(op, address, text string) func() {
	m.mu.Lock()
	m.calls = append(m.calls, call{op, address, text, time.Now()})
	m.inside[address]++
	total := 0
	for _, n := range m.inside {
		m.crowded = m.crowded || n > 1
		total += n
	}
	m.most = max(m.most, total)
	m.mu.Unlock()
	if m.latency > 0 {
		<-time.After(m.latency)
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.inside[address]--
	}
}

func (m *messenger) Send(_ context.Context, address string, r channels.Rendered) (string, error) {
	text := r.Payload.(string)
	defer m.enter("send", address, text)()
	if err := current(m, &m.send)(address, text); err != nil {
		return "", err
	}
	return m.arrived(address, text), nil
}

// arrived puts a message into a chat.
func (m *messenger) arrived(address, text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	locator := fmt.Sprintf("m%d", m.n)
	m.messages[locator] = &message{address: address, text: text}
	return locator
}

func (m *messenger) Edit(_ context.Context, locator string, r channels.Rendered) (core.DeliveryOutcome, error) {
	m.mu.Lock()
	msg := m.messages[locator]
	m.mu.Unlock()
	defer m.enter("edit", msg.address, r.Payload.(string))()
	outcome, err := current(m, &m.edit)(locator)
	if err != nil || outcome != core.OutcomeReplaced {
		return outcome, err
	}
	m.paint(locator, r.Payload.(string))
	return outcome, nil
}

// paint changes a message, as an edit or a stale holder does.
func (m *messenger) paint(locator, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.messages[locator].text = text
	m.messages[locator].edits++
}

func (m *messenger) SendDetail(_ context.Context, address, _ string, _ presentation.Card) error {
	defer m.enter("detail", address, "")()
	return current(m, &m.detail)()
}

func (m *messenger) Run(context.Context, channels.Inbound) error { return nil }

// texts lists what the messages show, oldest first.
func (m *messenger) texts() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []string{}
	for i := 1; i <= m.n; i++ {
		out = append(out, m.messages[fmt.Sprintf("m%d", i)].text)
	}
	return out
}

// ops lists the calls made, oldest first.
func (m *messenger) ops() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []string{}
	for _, c := range m.calls {
		out = append(out, c.op)
	}
	return out
}

func (m *messenger) made() []call {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]call(nil), m.calls...)
}

// fails is a refusal of the given class.
func (m *messenger) fails(class core.FailureClass) error {
	return &channels.Error{Class: class, Op: "call", Detail: "scripted"}
}

type noRoutes struct{}

func (noRoutes) NextRoute(context.Context, *core.Approval, *core.Delivery, []core.Delivery) (deliveries.Next, error) {
	return deliveries.Next{}, nil
}

// silent is a bus that never says anything.
type silent struct{}

func (silent) Subscribe(ctx context.Context, _ func(core.Hint)) error {
	<-ctx.Done()
	return ctx.Err()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.b.Bytes(), []byte(s))
}
