package deliveries

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// Records reads what is to be shown.
type Records interface {
	// Approval reads one row after applying its deadline. Errors: core.ErrNotFound.
	Approval(ctx context.Context, l core.Lookup) (core.Approval, error)
	// Detail reads the redacted full text. Errors: core.ErrNotFound.
	Detail(ctx context.Context, id string) (core.Detail, error)
}

// People turns persons into chats and names, and knows their rights.
type People interface {
	// Principal reads one person. Errors: core.ErrNotFound.
	Principal(ctx context.Context, id string) (core.Principal, error)
	// IdentitiesOf lists the links of the given people.
	IdentitiesOf(ctx context.Context, principalIDs ...string) ([]core.Identity, error)
	// Owners lists the people who own an agent of a runtime.
	Owners(ctx context.Context, runtime, agent string) ([]string, error)
}

// Rows lists what was tried for an approval.
type Rows interface {
	// DeliveriesOf lists the rows of an approval in id order.
	DeliveriesOf(ctx context.Context, approvalID string) ([]core.Delivery, error)
}

// Router finds another way where a row failed for good.
type Router interface {
	// NextRoute plans what follows the failed row, whose LastError says why it failed,
	// beside the rows already tried; nothing is no error.
	NextRoute(ctx context.Context, a *core.Approval, failed *core.Delivery, tried []core.Delivery) (Next, error)
}

// CardFunc lays an approval out for a place.
type CardFunc func(a core.Approval, d core.Detail, p presentation.Place) presentation.Card

// Config holds the worker's figures. A zero field takes its default.
type Config struct {
	Name       string                  // Of this process, unique in the fleet: the holder of leases. Required.
	PublicURL  string                  // "" when none is configured.
	Zone       *time.Location          // Of the deployment; nil means UTC.
	Poll       time.Duration           // Longest time between two looks for due rows; default 1 s.
	SweepEvery time.Duration           // Between re-checks of the level-triggered rule; default 30 s.
	WatchEvery time.Duration           // Between readings of the convergence gauges; default 10 s.
	Slots      int                     // Calls at once, for each account and lane; default 8.
	Budgets    map[core.Surface]Budget // Send budgets; a channel without one is not paced.
	// Sticky is how long a person's decline answers the same action, by the policy in
	// force when a card is drawn (K34); nil where it never does.
	Sticky func() time.Duration
}

// Jobs runs what one replica of a fleet does at a time: leases.Runner.
type Jobs interface {
	// Hold runs the job whenever this replica may, until ctx ends.
	Hold(ctx context.Context, name string, job func(ctx context.Context, l core.Lease) error) error
}

// Listeners knows which runtimes would hear that a person asks for a new request; a store
// is one.
type Listeners interface {
	Listens(ctx context.Context, a *core.Approval) (bool, error)
}

// Deps are what the worker is made of. Listeners, Jobs, Alive, Pacer, Card and Jitter may
// be nil.
type Deps struct {
	Store       core.Deliveries
	Rows        Rows
	Convergence core.Convergence
	Records     Records
	People      People
	Router      Router
	Broken      core.Routes
	Cards       core.Cards
	Clock       core.Clock
	Hints       core.Subscriber
	Publisher   core.Publisher
	Jobs        Jobs // With several replicas: one of them sweeps. Nil: this one does.
	// Alive reports whether the other replicas still count on this worker (Presence); nil
	// where there are none.
	Alive    func() bool
	Channels []channels.Channel
	// Listeners is asked for final cards that could offer to ask again; nil: none does.
	Listeners Listeners
	Card      CardFunc // Default presentation.For.
	Pacer     Pacer    // Default NewLocalPacer(Config.Budgets, Now).
	Metrics   *Metrics
	Logger    *slog.Logger
	Now       func() time.Time // Arms timers; the record's times come from the store.
	Jitter    func() float64   // In [0,1); default from math/rand/v2.
}

// Worker drives every planned card to the truth. It is safe to run on any number
// of replicas at once: leases and fences in the store keep them apart.
type Worker struct {
	cfg     Config
	deps    Deps
	reach   core.Reachability
	served  map[core.AccountRef]channels.Channel
	slots   *slots
	chats   *queues
	blocks  *blocks
	wake    chan struct{} // Capacity 1: "look again".
	refused *refusals
	broken  *brokenRoutes

	round round

	mu     sync.Mutex
	offset time.Duration // The store's clock minus ours, as last seen.
}

// Timing that is not configuration: each follows from core's lease and timeout.
const (
	defaultPoll  = time.Second
	defaultSweep = 30 * time.Second
	defaultWatch = 10 * time.Second
	defaultSlots = 8
	minPause     = 10 * time.Millisecond // Between two looks, whatever the clocks say.
	writeTimeout = 10 * time.Second      // Of one write of a receipt.
	leaseMargin  = core.CallTimeout + 5*time.Second
)

// New wires a worker; it starts nothing.
func New(cfg Config, deps Deps) *Worker {
	orDefault(&cfg.Poll, defaultPoll)
	orDefault(&cfg.SweepEvery, defaultSweep)
	orDefault(&cfg.WatchEvery, defaultWatch)
	if cfg.Slots <= 0 {
		cfg.Slots = defaultSlots
	}
	if deps.Card == nil {
		deps.Card = presentation.For
	}
	if deps.Pacer == nil {
		deps.Pacer = NewLocalPacer(cfg.Budgets, deps.Now)
	}
	if deps.Alive == nil {
		deps.Alive = func() bool { return true }
	}
	if deps.Jitter == nil {
		deps.Jitter = randomJitter
	}
	w := &Worker{
		cfg:     cfg,
		deps:    deps,
		reach:   core.Reachability{PublicURL: cfg.PublicURL != ""},
		served:  make(map[core.AccountRef]channels.Channel, len(deps.Channels)),
		chats:   newQueues(max(1, cfg.Slots/2), deps.Now),
		blocks:  newBlocks(deps.Now),
		wake:    make(chan struct{}, 1),
		refused: newRefusals(),
		broken:  newBrokenRoutes(),
	}
	refs := make([]core.AccountRef, 0, len(deps.Channels))
	for _, c := range deps.Channels {
		refs = append(refs, c.Ref())
		w.served[c.Ref()] = c
	}
	w.slots = newSlots(refs, cfg.Slots, deps.Now)
	return w
}

func orDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}

// Run works until ctx ends and then drains: calls under way finish, bounded by
// their timeout, and their receipts are recorded; rows that wait are given back.
// It returns ctx's error.
func (w *Worker) Run(ctx context.Context) error {
	w.watchBroken(ctx) // What was reported before the restart is no news.
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.listen(ctx) })
	g.Go(func() error { return w.loop(ctx) })
	g.Go(func() error { return w.keepSweeping(ctx) })
	g.Go(func() error { return w.every(ctx, w.cfg.WatchEvery, w.watch) })
	return g.Wait()
}

// listen turns hints into wake-ups. A silent or broken bus costs speed only.
func (w *Worker) listen(ctx context.Context) error {
	for {
		err := w.deps.Hints.Subscribe(ctx, func(h core.Hint) {
			if h.Deliveries || h == (core.Hint{}) {
				w.lookAgain()
			}
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.deps.Logger.WarnContext(ctx, "hints lost: working at polling speed", slog.Any("error", err))
		if !pause(ctx, w.cfg.Poll) {
			return ctx.Err()
		}
	}
}

// lookAgain wakes the loop; wake-ups that meet collapse into one.
func (w *Worker) lookAgain() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// loop claims due rows and sleeps until the next one falls due, a hint comes, a
// slot is freed, or the poll is over.
func (w *Worker) loop(ctx context.Context) error {
	var turns sync.WaitGroup
	defer turns.Wait()
	w.readClock(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.wake:
		case <-timer.C:
		}
		timer.Reset(w.claim(ctx, &turns))
	}
}

// claim takes what there is room for and returns how long to sleep. Accounts with
// room in both lanes share one query, so an idle worker makes exactly one.
func (w *Worker) claim(ctx context.Context, turns *sync.WaitGroup) time.Duration {
	defer w.round.begin()()
	var next core.Millis
	for _, lane := range []core.DeliveryLane{core.LaneAny, core.LaneEdits, core.LaneCards} {
		for ctx.Err() == nil {
			accounts, limit := w.slots.room(lane, w.blocks)
			if limit == 0 {
				break
			}
			before := w.deps.Now()
			work, due, err := w.deps.Store.ClaimDue(ctx, core.ClaimDue{
				Worker: w.cfg.Name, Accounts: accounts, Limit: limit, Lane: lane, Lease: ceilMillis(core.DeliveryLease),
			})
			if err != nil {
				w.storeFailed(ctx, "claim deliveries", err)
				return w.cfg.Poll
			}
			next = earlier(next, due)
			for i := range work {
				w.start(ctx, turns, work[i], before)
			}
			if len(work) < limit {
				break
			}
		}
	}
	return max(w.slots.opens(w.untilNext(next)), minPause)
}

// start runs one leased row beside the others.
func (w *Worker) start(ctx context.Context, turns *sync.WaitGroup, work core.Work, claimed time.Time) {
	w.learnClock(work.Now)
	t := newTurn(w, work, claimed)
	release := w.slots.take(t.ref, laneOf(&work.Approval))
	t.join()
	turns.Go(func() {
		defer w.lookAgain()
		defer release()
		t.run(ctx)
	})
}

func laneOf(a *core.Approval) core.DeliveryLane {
	if a.Status.Terminal() {
		return core.LaneEdits
	}
	return core.LaneCards
}

// untilNext is how long to sleep before the row that falls due at next.
func (w *Worker) untilNext(next core.Millis) time.Duration {
	if next == 0 {
		return w.cfg.Poll
	}
	return min(max(next.Sub(w.storeNow()), minPause), w.cfg.Poll)
}

// storeNow estimates the deployment's clock. An error of it costs at most one poll.
func (w *Worker) storeNow() core.Millis {
	w.mu.Lock()
	defer w.mu.Unlock()
	return core.MillisOf(w.deps.Now().Add(w.offset))
}

func (w *Worker) learnClock(now core.Millis) {
	if now == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offset = now.Time().Sub(w.deps.Now())
}

func (w *Worker) readClock(ctx context.Context) {
	now, err := w.deps.Clock.Now(ctx)
	if err != nil {
		w.storeFailed(ctx, "read clock", err)
		return
	}
	w.learnClock(now)
}

// storeFailed reports a store that did not answer, unless we are stopping.
func (w *Worker) storeFailed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	w.deps.Logger.WarnContext(ctx, "store: "+what, slog.String("code", core.CodeOf(err)))
}

// every calls f at once and then at each interval until ctx ends.
func (w *Worker) every(ctx context.Context, interval time.Duration, f func(context.Context)) error {
	for {
		f(ctx)
		if !pause(ctx, interval) {
			return ctx.Err()
		}
	}
}

// pause waits for d and reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func earlier(a, b core.Millis) core.Millis {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}
