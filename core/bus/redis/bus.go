package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/saysohq/sayso/core"
)

// Local dispatches hints within this process.
type Local interface {
	core.Publisher
	core.Subscriber
}

// Config says which Redis connects the fleet, and as what. The zero value of an
// optional field takes its default.
type Config struct {
	// URL is redis://[user[:password]@]host[:port][/database], the same with rediss://
	// for TLS (1.2 and later, the server's certificate verified), or
	// unix://[user[:password]@]/path[?db=n]. It takes no other parameters. Required.
	URL string
	// Prefix begins the name of the channel and of every key; default "sayso". At most
	// 64 of the letters a-z, A-Z, digits and . _ : -
	Prefix string
	// Deployment is the identity of the deployment (core.Deployment's ID): those that
	// share a Redis hear nothing of each other. Required; at most 64 of the letters a-z,
	// A-Z, digits, _ and -
	Deployment string
	// Replicas is how many replicas share the budgets as long as Redis has not told;
	// default 2.
	Replicas int
	// BudgetTimeout is how long a caller waits for the shared budgets before it goes on
	// with a share of its own; default 50 ms.
	BudgetTimeout time.Duration
}

// Deps are what the bus is made of.
type Deps struct {
	Local   Local // Dispatches to the subscribers of this process, and is not published to by others.
	Metrics *Metrics
	Logger  *slog.Logger
	Now     func() time.Time // Arms timers and measures silence; no record's time comes from it.
	// BudgetClock is the clock of the shared budgets, for tests; nil takes that of Redis,
	// which is the same for all replicas.
	BudgetClock func() time.Time
}

// Bus is the bus of one replica of a fleet. It implements core.Publisher and
// core.Subscriber, and is safe for concurrent use.
type Bus struct {
	deps    Deps
	client  *goredis.Client
	channel string
	self    string // Names this process to the others; random, so new with each start.
	outbox  *outbox
	budgets *Budgets

	connected atomic.Bool
	replicas  atomic.Int64

	mu    sync.Mutex
	link  link
	peers *peers
	told  bool  // The log knows that Redis is gone.
	mute  error // Why the last message was not taken; nil when it was.
}

// New wires a bus; it starts nothing and connects nowhere. Errors: core.ErrInvalid
// with the field of Config at fault; none repeats the address or its password.
func New(cfg Config, deps Deps) (*Bus, error) {
	options, err := cfg.options()
	if err != nil {
		return nil, err
	}
	b := &Bus{
		deps:    deps,
		client:  goredis.NewClient(options),
		channel: cfg.name("hints"),
		self:    rand.Text(),
		outbox:  newOutbox(),
		peers:   newPeers(),
	}
	b.replicas.Store(int64(cmp.Or(cfg.Replicas, assumedReplicas)))
	b.budgets = newBudgets(b, cfg)
	return b, nil
}

// Publish hands the hints to the subscribers of this process at once and to the other
// replicas as soon as the network allows. It never waits for either: hints that the
// network does not take are dropped and counted, and the others are told to look at
// everything.
func (b *Bus) Publish(ctx context.Context, hints ...core.Hint) {
	b.deps.Local.Publish(ctx, hints...)
	b.deps.Metrics.dropped(b.outbox.add(hints))
}

// Subscribe calls fn for every hint of this and of the other replicas, one at a time,
// until ctx ends, and returns its error. A zero hint says that everything may have
// changed: first of all, whenever hints were or may have been lost, and every second
// while Redis cannot be reached.
func (b *Bus) Subscribe(ctx context.Context, fn func(core.Hint)) error {
	return b.deps.Local.Subscribe(ctx, fn)
}

// Budgets are the budgets that the replicas share.
func (b *Bus) Budgets() *Budgets { return b.budgets }

// Connected reports whether hints are heard now. A replica that is not connected works
// all the same, at polling speed: this is for whoever watches, not for readiness.
func (b *Bus) Connected() bool { return b.connected.Load() }

// Replicas is how many replicas there are, this one included, as last known.
func (b *Bus) Replicas() int { return int(b.replicas.Load()) }
