package webhooks

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

// The pace of calling.
const (
	batch    = 16               // Calls at a time.
	lease    = 30 * time.Second // Of a nudge: three times what a call takes at most.
	first    = 5 * time.Second  // Pause after the first call that failed; doubled each time.
	longest  = time.Hour        // Pause between two calls at most.
	giveUp   = 24 * time.Hour   // After the change.
	look     = time.Second      // Between two looks without a hint.
	shortest = 50 * time.Millisecond
)

// Observer counts calls; it must not block.
type Observer interface {
	// Called is told of each call: taken, failed or given-up.
	Called(outcome string)
}

// Outcomes of calls, as the observer counts them.
const (
	CallTaken   = "taken"
	CallFailed  = "failed"
	CallGivenUp = "given-up"
)

// Deps are what a sender is made of.
type Deps struct {
	Store    core.Nudges
	Hints    core.Subscriber
	Runtimes *Runtimes
	Observer Observer
	Logger   *slog.Logger
	Resolver *net.Resolver // Nil: the system's.
}

// Sender calls callbacks. It has no state: any number of replicas run one each.
type Sender struct{ deps Deps }

// New wires a sender; it starts nothing.
func New(deps Deps) *Sender { return &Sender{deps: deps} }

// Run calls what is due until ctx ends, and returns nil then. Calls under way are broken
// off; their nudges are due again once their lease has run out.
func (s *Sender) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	wake := make(chan struct{}, 1)
	var listening sync.WaitGroup
	listening.Go(func() { s.listen(ctx, wake) })
	defer listening.Wait()
	defer cancel()
	for ctx.Err() == nil {
		more, err := s.turn(ctx)
		if err != nil && ctx.Err() == nil {
			s.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "callbacks wait: due ones cannot be read", slog.Any("error", err))
		}
		if more && err == nil {
			continue
		}
		if !rest(ctx, shortest, nil) || !rest(ctx, look, wake) {
			break
		}
	}
	return nil
}

// listen turns hints into wake-ups that collapse into one.
func (s *Sender) listen(ctx context.Context, wake chan<- struct{}) {
	for ctx.Err() == nil {
		err := s.deps.Hints.Subscribe(ctx, func(core.Hint) {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
		if ctx.Err() != nil || !rest(ctx, look, nil) {
			return
		}
		s.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "hints lost: callbacks are called at polling speed", slog.Any("error", err))
	}
}

// rest waits for d, or until it is woken; false once ctx has ended.
func rest(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// turn calls one batch of what is due, and reports whether there may be more.
func (s *Sender) turn(ctx context.Context) (more bool, err error) {
	due, err := s.deps.Store.ClaimNudges(ctx, core.ClaimNudges{Limit: batch, Lease: core.Millis(lease.Milliseconds())})
	if err != nil {
		return false, err
	}
	var calls sync.WaitGroup
	for i := range due {
		calls.Go(func() { s.tell(ctx, &due[i]) })
	}
	calls.Wait()
	return len(due) == batch, nil
}

// tell makes one call and records what came of it. If the process dies in between, the
// lease runs out and the call is made again.
func (s *Sender) tell(ctx context.Context, n *core.Nudge) {
	a := s.call(ctx, n)
	if a.failure != "" && ctx.Err() != nil { // We broke it off.
		return
	}
	settled := core.SettleNudge{ApprovalID: n.ApprovalID, Fence: n.Fence, Revision: n.Revision, Error: a.failure}
	outcome := CallTaken
	if a.failure != "" {
		if outcome = CallFailed; a.final || n.Now.Sub(n.Since) >= giveUp {
			outcome = CallGivenUp
		} else {
			settled.RetryIn = core.Millis(max(a.after, pauseAfter(n.Attempts)).Milliseconds())
		}
	}
	s.deps.Observer.Called(outcome)
	if outcome == CallGivenUp {
		s.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "a callback is given up", slog.String("approval", n.ApprovalID),
			slog.String("runtime", n.Runtime), slog.String("reason", a.failure), slog.Int("attempts", n.Attempts+1))
	}
	if err := s.deps.Store.SettleNudge(ctx, settled); err != nil && ctx.Err() == nil {
		s.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "what came of a callback cannot be recorded: it is called again",
			slog.String("approval", n.ApprovalID), slog.Any("error", err))
	}
}

// pauseAfter is the pause after a failed call with so many before it, with a fifth of
// it left to chance, so that what failed together does not come back together.
func pauseAfter(attempts int) time.Duration {
	d := longest
	if attempts < 10 {
		d = min(first<<attempts, longest)
	}
	return d - d/10 + rand.N(d/5) //nolint:gosec // Nothing is guessed.
}
