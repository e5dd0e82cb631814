package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/slack"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/events"
	"github.com/saysohq/sayso/core/leases"
)

// termAlone is the life of a lease in a store that one process holds: opening it frees
// all leases, so nobody ever waits for one to run out, and renewals would only write to
// the disk of a machine that has nothing to do.
const termAlone = time.Hour

// buildJobs makes the runner of what one replica does at a time.
func (b *builder) buildJobs() error {
	held, err := newHeldJobs(b.registry)
	if err != nil {
		return err
	}
	term := termAlone
	if b.store.shared {
		term = leases.DefaultTerm
	}
	b.held = held
	b.jobs = leases.New(leases.Config{Holder: replicaName(), Term: term}, leases.Deps{
		Leases: b.store.leases, Bus: b.bus, Observer: held, Now: b.Now, Logger: b.Logger.With("part", "jobs"),
	})
	return nil
}

// replicaName tells operators where a lease is held. It is new with every start, so
// that a process never takes itself for the one before it.
func replicaName() string {
	host, err := os.Hostname()
	if err != nil {
		return newID()
	}
	return host + "/" + newID()
}

// turn is that of a job of which one replica does one at a time.
func (b *builder) turn(ref core.AccountRef, job string) channels.Turn {
	return b.anyTurn(string(ref.Channel) + "/" + ref.Account + "/" + job)
}

// slots are the turns of the connections of a Slack app: so many in the fleet, and so
// many in this process, whatever the number of the app's workspaces.
func (b *builder) slots(app string) channels.Turn {
	names := make([]string, slack.MaxSlots)
	for i := range names {
		names[i] = string(core.SurfaceSlack) + "/" + app + "/slot/" + strconv.Itoa(i)
	}
	take := b.anyTurn(names...)
	here := make(chan struct{}, slack.Connections)
	return func(ctx context.Context, job func(context.Context) error) error {
		select {
		case here <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-here }()
		return take.Take(ctx, job)
	}
}

// anyTurn takes whichever of the leases is free. Where nothing runs there are no turns.
func (b *builder) anyTurn(names ...string) channels.Turn {
	if b.jobs == nil {
		return nil
	}
	b.held.expect(names...)
	return func(ctx context.Context, job func(context.Context) error) error {
		return b.jobs.HoldOne(ctx, names, func(ctx context.Context, _ core.Lease) error { return job(ctx) })
	}
}

// buildSequencer makes the job that numbers events, where the store does not number
// them itself.
func (b *builder) buildSequencer(p *parts) {
	if !b.store.shared {
		return
	}
	b.held.expect(events.SequenceJob)
	log := b.Logger.With("part", "events")
	s := events.NewSequencer(events.Deps{Sequence: b.store, Hints: b.bus, Logger: log})
	p.sequence = func(ctx context.Context) error {
		return again(ctx, func() error { return b.jobs.Hold(ctx, events.SequenceJob, s.Run) }, func(err error, in time.Duration) {
			log.LogAttrs(ctx, slog.LevelError, "numbering of events ended: trying again", slog.Duration("in", in), slog.Any("error", err))
		})
	}
}

// heldJobs knows the jobs that this process does and those that it waits for, and shows
// them as a gauge.
type heldJobs struct {
	gauge *prometheus.GaugeVec

	mu   sync.Mutex
	jobs map[string]bool
}

var _ leases.Observer = (*heldJobs)(nil)

func newHeldJobs(reg prometheus.Registerer) (*heldJobs, error) {
	h := &heldJobs{jobs: map[string]bool{}, gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sayso_lease_held",
		Help: "1 where this process does a job that one replica does at a time, such as polling a bot; 0 where it stands by.",
	}, []string{"job"})}
	if err := reg.Register(h.gauge); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return h, nil
}

// expect shows jobs as not held, so that whoever stands by shows a zero.
func (h *heldJobs) expect(jobs ...string) {
	for _, job := range jobs {
		h.Held(job, false)
	}
}

// Held implements leases.Observer.
func (h *heldJobs) Held(job string, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.jobs[job] = held
	value := 0.0
	if held {
		value = 1
	}
	h.gauge.WithLabelValues(job).Set(value)
}

// turn reports whether replicas take turns to receive for an account, and whether it is
// this one's. A Slack app receives for all of its workspaces.
func (h *heldJobs) turn(ref core.AccountRef) (taken, ours bool) {
	account := ref.Account
	if _, app, ok := strings.Cut(account, "."); ok && ref.Channel == core.SurfaceSlack {
		account = app
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for job, held := range h.jobs {
		if strings.HasPrefix(job, string(ref.Channel)+"/"+account+"/") {
			taken, ours = true, ours || held
		}
	}
	return taken, ours
}
