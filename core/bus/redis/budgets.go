package redis

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/saysohq/sayso/core"
)

const (
	defaultBudgetTimeout = 50 * time.Millisecond
	// maxHold bounds a gate. What is leased longer than that asks the store again.
	maxHold = 5 * time.Minute
)

var (
	//go:embed budgets.lua
	takeSource string
	//go:embed hold.lua
	holdSource string
)

// Budgets are the send budgets of all replicas, kept in Redis and by its clock. They
// implement core.Budgets and are safe for concurrent use. Keys are digests: no chat
// and no account can be read in Redis.
type Budgets struct {
	bus     *Bus
	prefix  string
	timeout time.Duration
	clock   func() time.Time // Nil: Redis's own.
	breaker breaker
	take    *goredis.Script
	hold    *goredis.Script
}

func newBudgets(b *Bus, cfg Config) *Budgets {
	return &Budgets{
		bus: b, prefix: cfg.name(""), timeout: cmp.Or(cfg.BudgetTimeout, defaultBudgetTimeout), clock: b.deps.BudgetClock,
		take: goredis.NewScript(takeSource), hold: goredis.NewScript(holdSource),
	}
}

// Take implements core.Budgets in one round trip. A Redis that does not answer in time is
// left alone for a second.
func (b *Budgets) Take(ctx context.Context, c core.BudgetCall) (core.BudgetAnswer, error) {
	if len(c.Charges)+len(c.Gates) == 0 {
		return core.BudgetAnswer{Taken: true}, nil
	}
	keys := make([]string, 0, len(c.Charges)+len(c.Gates))
	args := make([]any, 0, 5+3*len(c.Charges))
	args = append(args, b.now(), micros(c.Limit), flag(c.Final), micros(c.Grace), len(c.Charges))
	for _, k := range c.Charges {
		keys = append(keys, b.key("b", k.Name))
		args = append(args, micros(k.Interval), k.Burst, micros(k.CardEvery))
	}
	for _, gate := range c.Gates {
		keys = append(keys, b.key("g", gate))
	}
	reply, err := b.run(ctx, b.take, keys, args)
	if err == nil && len(reply) != 2 && len(reply) != 2+2*len(c.Charges) {
		err = fmt.Errorf("%w: %d figures", errMalformed, len(reply))
	}
	if err != nil {
		b.bus.deps.Metrics.asked(resultAway)
		return core.BudgetAnswer{}, fmt.Errorf("ask shared budgets: %w: %w", core.ErrUnavailable, err)
	}
	b.bus.deps.Metrics.asked(resultShared)
	answer := core.BudgetAnswer{Taken: reply[0] == 1, Wait: duration(reply[1])}
	for pair := range slices.Chunk(reply[2:], 2) {
		answer.Waits = append(answer.Waits, core.BudgetWait{Call: duration(pair[0]), Anyone: duration(pair[1])})
	}
	return answer, nil
}

// Hold implements core.Budgets.
func (b *Budgets) Hold(ctx context.Context, gate string, d time.Duration) {
	// Best effort: who is not told here asks the store, or the platform tells him again.
	_, _ = b.run(ctx, b.hold, []string{b.key("g", gate)}, []any{b.now(), micros(min(d, maxHold))})
}

// Replicas implements core.Budgets.
func (b *Budgets) Replicas() int { return b.bus.Replicas() }

// run calls a script, unless Redis is known to be away. The time-out is the only
// thing that ends it: a caller that stops would leave open what was charged.
func (b *Budgets) run(ctx context.Context, s *goredis.Script, keys []string, args []any) ([]int64, error) {
	if !b.bus.Connected() || !b.breaker.allow(b.bus.deps.Now()) {
		return nil, errAway
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.timeout)
	defer cancel()
	cmd := s.Run(ctx, b.bus.client, keys, args...)
	err := cmd.Err()
	if b.breaker.done(b.bus.deps.Now(), err == nil) {
		b.tell(ctx, err)
	}
	if err != nil {
		return nil, fmt.Errorf("run script: %w", err)
	}
	return cmd.Int64Slice()
}

// tell logs that budgets are not shared any more, or are again.
func (b *Budgets) tell(ctx context.Context, err error) {
	if err == nil {
		b.bus.deps.Logger.LogAttrs(ctx, slog.LevelInfo, "send budgets are shared again")
		return
	}
	b.bus.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "send budgets are not shared: going on with a share of them", slog.Any("error", err))
}

// key names a budget or a gate without telling which.
func (b *Budgets) key(kind, name string) string {
	sum := sha256.Sum256([]byte(name))
	return b.prefix + kind + ":" + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// now is 0 for the clock of Redis.
func (b *Budgets) now() int64 {
	if b.clock == nil {
		return 0
	}
	return b.clock().UnixMicro()
}

func micros(d time.Duration) int64    { return max(d, 0).Microseconds() }
func duration(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}
