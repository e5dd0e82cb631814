package approvals

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// Evaluator decides whether a call asks. An error asks (R59).
type Evaluator interface {
	Evaluate(ctx context.Context, r policy.Request) (policy.Verdict, error)
}

// Planner says where an approval will be shown.
type Planner interface {
	Plan(ctx context.Context, a *core.Approval) (Plan, error)
}

// Owners reads who owns an agent.
type Owners interface {
	Owners(ctx context.Context, runtime, agent string) ([]string, error)
}

// People reads persons.
type People interface {
	Principal(ctx context.Context, id string) (core.Principal, error)
}

// Callbacks knows which addresses a runtime may name. Errors: core.ErrInvalid, as a
// FieldError on "callback_url" that does not repeat the address.
type Callbacks interface {
	Allowed(runtime, address string) error
}

// Observer counts what happens; it must not block. Final answers are counted by
// Ends.
type Observer interface {
	// Requested is called once per new row, with the number of cards planned for it.
	Requested(a *core.Approval, cards int)
	// Raced is called once per answer: winner, idempotent, conflict or expired.
	Raced(outcome string)
}

// Jobs runs what one replica of a fleet does at a time: leases.Runner.
type Jobs interface {
	// Hold runs the job whenever this replica may, until ctx ends.
	Hold(ctx context.Context, name string, job func(ctx context.Context, l core.Lease) error) error
}

// Store is the part of a store that the service writes through.
type Store interface {
	core.Clock
	core.Approvals
	core.Grants
	core.Runs
	core.Outcomes
	core.Updates
	core.Maintenance
	core.Watch
}

// Config holds the service's figures. The zero value of a field takes its default.
type Config struct {
	MaxPending  int           // Open approvals per runtime; default 1,000.
	RereadEvery time.Duration // Slow re-read of a waiter; default 15 s.
	SweepEvery  time.Duration // Between sweeps; default 1 s.
	PruneEvery  time.Duration // Between prunings; default 10 min.
}

// Deps are what the service is made of.
type Deps struct {
	Jobs      Jobs // With several replicas: one of them sweeps and prunes. Nil: this one does.
	Store     Store
	Owners    Owners
	People    People
	Evaluator Evaluator
	Describer core.Describer
	Planner   Planner
	Callbacks Callbacks // Nil: no runtime may name a callback.
	Publisher core.Publisher
	Hints     core.Subscriber
	Observer  Observer
	Logger    *slog.Logger
	NewID     func() string // UUIDv7: random ids would write several times the log.
}

// Service is the canonical service. It is safe for concurrent use and works on
// any number of replicas at once.
type Service struct {
	cfg        Config
	deps       Deps
	waiters    *waiters
	everything chan struct{} // Asks for a look at all that is waited for; capacity 1.
	released   atomic.Bool   // Nobody waits any more.
}

// New wires a service; it starts nothing.
func New(cfg Config, deps Deps) *Service {
	if cfg.MaxPending == 0 {
		cfg.MaxPending = 1_000
	}
	if cfg.RereadEvery == 0 {
		cfg.RereadEvery = 15 * time.Second
	}
	if cfg.SweepEvery == 0 {
		cfg.SweepEvery = time.Second
	}
	if cfg.PruneEvery == 0 {
		cfg.PruneEvery = 10 * time.Minute
	}
	return &Service{cfg: cfg, deps: deps, waiters: newWaiters(), everything: make(chan struct{}, 1)}
}

// publish tells everyone to look again. It happens after the commit, may be lost,
// and never fails a change (R25, R172).
func (s *Service) publish(ctx context.Context, hints ...core.Hint) {
	s.deps.Publisher.Publish(context.WithoutCancel(ctx), hints...)
}

func hintOf(a *core.Approval) core.Hint {
	return core.Hint{ApprovalID: a.ID, Revision: a.Revision, Deliveries: true}
}
