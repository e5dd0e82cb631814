package inforce

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/tables"
)

// Hint is what replicas tell each other when other tables are in force.
const Hint = "policy/tables"

// Config holds the paces. The zero value of a field takes its default.
type Config struct {
	// ReadEvery is how often the files are read whatever the file system tells: network
	// mounts tell nothing. Default 5 s.
	ReadEvery time.Duration
	// CompareEvery is how often the digest in force is compared without a hint. Default 1 s.
	CompareEvery time.Duration
	// Settle is how long a file that has changed must stay as it is before it counts.
	// Default 100 ms.
	Settle time.Duration
}

// Deps are what a Keeper is made of; all of it is required.
type Deps struct {
	Files     tables.Files
	Store     core.PolicyTables
	Publisher core.Publisher
	Hints     core.Subscriber
	Name      string // Of this replica, for people to read; at most core.MaxShortText bytes.
	Logger    *slog.Logger
	Now       func() time.Time
}

// Keeper holds the policy of this process. It is safe for concurrent use.
type Keeper struct {
	cfg    Config
	deps   Deps
	holder policy.Holder
	nudged chan struct{} // Capacity 1: "look at the files".

	looking  sync.Mutex      // One look at a time.
	read     tables.Snapshot // What was last compiled, good or bad.
	begun    bool            // Anything was read.
	untold   bool            // Our tables are new, and the store has not heard of them yet.
	agreed   int64           // The newest number that we agreed with.
	missed   string          // A digest that a look did not find in our files,
	missedAt time.Time       // and when that was.

	mu      sync.Mutex // Guards what Status tells.
	inForce core.TablesInForce
}

var _ policy.Source = (*Keeper)(nil)

// New wires a Keeper; it reads and starts nothing.
func New(cfg Config, deps Deps) *Keeper {
	if cfg.ReadEvery == 0 {
		cfg.ReadEvery = 5 * time.Second
	}
	if cfg.CompareEvery == 0 {
		cfg.CompareEvery = time.Second
	}
	if cfg.Settle == 0 {
		cfg.Settle = 100 * time.Millisecond
	}
	return &Keeper{cfg: cfg, deps: deps, nudged: make(chan struct{}, 1)}
}

// Start reads the files for the first time and puts them in force, if nobody has left
// them behind. Errors: those of tables.Snapshot.Compile, with all faults, and those of
// the store. That others are in force is no error: Ready says so.
func (k *Keeper) Start(ctx context.Context) error {
	k.looking.Lock()
	defer k.looking.Unlock()
	if err := k.readFiles(ctx); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	return k.agree(ctx, false)
}

// Look makes Run look at the files soon, whatever the file system tells.
func (k *Keeper) Look() {
	select {
	case k.nudged <- struct{}{}:
	default: // A look that has not begun is late enough for this one too.
	}
}

// LookNow looks at the files and at what is in force, and waits for it. What goes wrong
// stands in Status.
func (k *Keeper) LookNow(ctx context.Context) Status {
	k.looking.Lock()
	defer k.looking.Unlock()
	k.look(ctx)
	return k.Status()
}

// Current implements policy.Source.
func (k *Keeper) Current() *policy.Policy { return k.holder.Current() }

// Holding implements policy.Source: it looks at the files, at most once a second for a
// digest that is not among them, and waits for the look.
func (k *Keeper) Holding(ctx context.Context, digest string) *policy.Policy {
	if p := k.holder.Holding(ctx, digest); p != nil {
		return p
	}
	k.looking.Lock()
	defer k.looking.Unlock()
	if p := k.holder.Holding(ctx, digest); p != nil {
		return p
	}
	if k.missed == digest && k.deps.Now().Sub(k.missedAt) < k.cfg.CompareEvery {
		return nil
	}
	k.look(ctx)
	p := k.holder.Holding(ctx, digest)
	if p == nil {
		k.missed, k.missedAt = digest, k.deps.Now()
	}
	return p
}

// Adopt puts the files of this replica in force, also where they were left behind: a
// person says that they are the ones. Errors: why they were refused, and those of the
// store.
func (k *Keeper) Adopt(ctx context.Context) (Status, error) {
	k.looking.Lock()
	defer k.looking.Unlock()
	if err := k.readFiles(ctx); err != nil {
		return k.Status(), fmt.Errorf("policy: %w", err)
	}
	err := k.agree(ctx, true)
	return k.Status(), err
}

// look reads the files and compares. What goes wrong is logged, told by Status and
// tried again.
func (k *Keeper) look(ctx context.Context) {
	_ = k.readFiles(ctx) // Refused files change nothing, but what is in force may have.
	if err := k.agree(ctx, false); err != nil && ctx.Err() == nil {
		k.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "policy tables could not be compared: trying again", slog.Any("error", err))
	}
}

// readFiles compiles the files if they have changed. A file that is refused is told
// once, and again when it has changed. It returns nil where nothing has.
func (k *Keeper) readFiles(ctx context.Context) error {
	found := tables.Read(k.deps.Files)
	if k.begun && found.Same(k.read) {
		return k.holder.Status().Err
	}
	if k.begun {
		var err error
		if found, err = k.settled(ctx, found); err != nil {
			return err
		}
	}
	changed, err := k.holder.Reload(found.Compile)
	first := !k.begun
	k.read, k.begun = found, true
	switch {
	case err != nil && !first:
		k.deps.Logger.LogAttrs(ctx, slog.LevelError, "policy files refused: the tables in force stay", slog.Any("error", err))
	case changed && !first:
		k.deps.Logger.LogAttrs(ctx, slog.LevelInfo, "policy files read", slog.String("digest", k.Current().Digest()))
	}
	k.untold = k.untold || changed
	return err
}

// settles bounds how often a file that never stays the same is read again in one look.
const settles = 10

// settled reads until it reads the same twice. A file that changes all the time is
// taken as it is in the end: it is compiled whole or not at all.
func (k *Keeper) settled(ctx context.Context, found tables.Snapshot) (tables.Snapshot, error) {
	for range settles {
		select {
		case <-ctx.Done():
			return found, ctx.Err()
		case <-time.After(k.cfg.Settle):
		}
		again := tables.Read(k.deps.Files)
		if again.Same(found) {
			return found, nil
		}
		found = again
	}
	return found, nil
}

// agree compares our tables with those in force, and puts ours in force where they are
// new or a person says so. That others are in force is no error.
func (k *Keeper) agree(ctx context.Context, forced bool) error {
	ours := k.Current().Digest()
	is, err := k.deps.Store.TablesInForce(ctx)
	if err != nil {
		return err
	}
	if is.Digest != ours && (k.untold || forced) {
		if is, err = k.deps.Store.PutTables(ctx, core.PutTables{Digest: ours, Since: k.agreed, Forced: forced, By: k.deps.Name}); err != nil {
			return err
		}
		if is.Digest == ours {
			k.deps.Logger.LogAttrs(ctx, slog.LevelInfo, "policy tables are in force", slog.String("digest", ours), slog.Int64("number", is.Number))
			k.deps.Publisher.Publish(context.WithoutCancel(ctx), core.Hint{ApprovalID: Hint, Revision: is.Number})
		}
	}
	k.untold = false // Who was not taken has been told so.
	k.keep(ctx, is, is.Digest == ours)
	if is.Digest == ours {
		k.agreed = is.Number
	}
	return nil
}

// keep remembers what is in force, and tells of a change between agreeing and not.
func (k *Keeper) keep(ctx context.Context, is core.TablesInForce, agrees bool) {
	k.mu.Lock()
	before := k.inForce
	k.inForce = is
	k.mu.Unlock()
	if !agrees && before != is {
		k.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "other policy tables are in force: asking about everything, not ready",
			slog.String("in_force", is.Digest), slog.Int64("number", is.Number), slog.String("by", is.By))
	}
}
