package deliveries_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/bus/redis"
	"github.com/saysohq/sayso/core/bus/redis/redistest"
	"github.com/saysohq/sayso/deliveries"
)

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Unix(1_700_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// steady asks shared budgets again when they are away for a moment: a machine that
// runs many tests at once is slow at times. Only a bus that is not connected says no,
// since the time-out of these tests is long; so nothing is charged twice.
type steady struct {
	t *testing.T
	core.Budgets
}

func (s steady) Take(ctx context.Context, c core.BudgetCall) (answer core.BudgetAnswer, err error) {
	require.Eventually(s.t, func() bool {
		answer, err = s.Budgets.Take(ctx, c)
		return err == nil
	}, 20*time.Second, time.Millisecond)
	return answer, err
}

// replica runs a bus for the life of the test.
func replica(t *testing.T, cfg redis.Config, budgetClock func() time.Time) *redis.Bus {
	t.Helper()
	metrics, err := redis.NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	b, err := redis.New(cfg, redis.Deps{
		Local: local.New(), Metrics: metrics, Logger: slog.New(slog.DiscardHandler), Now: time.Now, BudgetClock: budgetClock,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	require.Eventually(t, b.Connected, 20*time.Second, time.Millisecond)
	return b
}

// maker makes a pacer that goes by a clock.
type maker func(t *testing.T, b deliveries.Budget, c *clock) deliveries.Pacer

func makeLocal(_ *testing.T, b deliveries.Budget, c *clock) deliveries.Pacer {
	return deliveries.NewLocalPacer(map[core.Surface]deliveries.Budget{bot.Channel: b}, c.Now)
}

// makeShared makes pacers on one server, none of which knows of the others.
func makeShared(s redistest.Server) maker {
	return func(t *testing.T, b deliveries.Budget, c *clock) deliveries.Pacer {
		t.Helper()
		bus := replica(t, redis.Config{URL: s.URL(), Deployment: unique(), BudgetTimeout: 10 * time.Second}, c.Now)
		return deliveries.NewSharedPacer(map[core.Surface]deliveries.Budget{bot.Channel: b}, steady{t, bus.Budgets()}, c.Now)
	}
}

func unique() string { return strconv.FormatUint(rand.Uint64(), 36) }

// Every pacer passes the same suite, in virtual time.
func TestPacers(t *testing.T) {
	t.Parallel()
	scenarios := map[string]func(t *testing.T, make maker){
		"a burst, then a steady rate":         pacesBurst,
		"each bot and chat has its own":       pacesApart,
		"edits have a budget of their own":    pacesEdits,
		"no channel's documented limit":       pacesLimits,
		"what a platform holds is held":       pacesHold,
		"cards and final answers share":       pacesShare,
		"the rule is the same to the letter":  pacesAlike,
		"a channel without budget is no case": pacesNothing,
	}
	shared := makeShared(redistest.Start(t))
	for name, scenario := range scenarios {
		for kind, make := range map[string]maker{"local": makeLocal, "shared": shared} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				scenario(t, make)
			})
		}
	}
}

func pacesBurst(t *testing.T, make maker) {
	c := newClock()
	p := make(t, deliveries.Budget{Direct: deliveries.Rate{Events: 1, Per: time.Second, Burst: 3}}, c)
	call := deliveries.Call{Account: bot, Address: "x", Direct: true}
	for range 3 {
		require.Equal(t, deliveries.Pause{Booked: true}, p.Reserve(t.Context(), call, 0))
	}
	require.Equal(t, deliveries.Pause{Wait: time.Second, Chat: time.Second}, p.Reserve(t.Context(), call, 0))
	require.Equal(t, deliveries.Pause{Wait: time.Second, Booked: true, Chat: 2 * time.Second}, p.Reserve(t.Context(), call, time.Second))
	require.Equal(t, 2*time.Second, p.Reserve(t.Context(), call, 0).Wait, "a booking moves the next one")
	c.pass(10 * time.Second)
	for range 3 {
		require.True(t, p.Reserve(t.Context(), call, 0).Booked, "full again, and not more than full")
	}
	require.False(t, p.Reserve(t.Context(), call, 0).Booked)
}

func pacesApart(t *testing.T, make maker) {
	second := deliveries.Rate{Events: 1, Per: time.Second, Burst: 1}
	p := make(t, deliveries.Budget{Group: second}, newClock())
	for _, call := range []deliveries.Call{
		{Account: bot, Address: "x"}, {Account: bot, Address: "y"}, {Account: bot, Address: "x\x00"}, {Account: bot},
		{Account: core.AccountRef{Channel: bot.Channel, Account: "2"}, Address: "x"},
	} {
		require.True(t, p.Reserve(t.Context(), call, 0).Booked)
		require.False(t, p.Reserve(t.Context(), call, 0).Booked)
	}
	p = make(t, deliveries.Budget{Account: second, Group: second}, newClock())
	require.True(t, p.Reserve(t.Context(), deliveries.Call{Account: bot, Address: "x"}, 0).Booked)
	require.Equal(t, deliveries.Pause{Wait: time.Second, Lane: time.Second},
		p.Reserve(t.Context(), deliveries.Call{Account: bot, Address: "y"}, 0), "all chats of a bot spend its budget")
}

func pacesEdits(t *testing.T, make maker) {
	p := make(t, deliveries.SlackBudget(), newClock())
	booked := 0
	for i := range 30 {
		call := deliveries.Call{Account: bot, Address: strconv.Itoa(i), Edit: true, Final: true}
		if p.Reserve(t.Context(), call, 0).Booked {
			booked++
		}
	}
	require.Equal(t, 10, booked, "the burst of chat.update")
	require.True(t, p.Reserve(t.Context(), deliveries.Call{Account: bot, Address: "z"}, 0).Booked)
}

func pacesLimits(t *testing.T, make maker) {
	for name, test := range map[string]struct {
		budget       deliveries.Budget
		window, step time.Duration
		most         int
	}{
		"telegram group": {deliveries.TelegramBudget(), time.Minute, 250 * time.Millisecond, 20},
		"telegram bot":   {deliveries.Budget{Account: deliveries.TelegramBudget().Account}, time.Second, 5 * time.Millisecond, 30},
		"discord bot":    {deliveries.Budget{Account: deliveries.DiscordBudget().Account}, time.Second, 5 * time.Millisecond, 50},
		"discord chat":   {deliveries.DiscordBudget(), 5 * time.Second, 50 * time.Millisecond, 5},
	} {
		c := newClock()
		p := make(t, test.budget, c)
		booked := 0
		for range test.window / test.step {
			for p.Reserve(t.Context(), deliveries.Call{Account: bot, Address: "x"}, 0).Booked {
				booked++
			}
			c.pass(test.step)
		}
		require.LessOrEqual(t, booked, test.most, name)
		require.GreaterOrEqual(t, booked, test.most/2, name)
	}
}

func pacesHold(t *testing.T, make maker) {
	c := newClock()
	p := make(t, deliveries.Budget{Group: deliveries.Rate{Events: 1, Per: time.Second, Burst: 100}}, c)
	wait := func(address string) time.Duration {
		pause := p.Reserve(t.Context(), deliveries.Call{Account: bot, Address: address}, 250*time.Millisecond)
		require.Equal(t, pause.Wait == 0, pause.Booked)
		return pause.Wait
	}
	p.Hold(t.Context(), bot, "x", 3*time.Second)
	p.Hold(t.Context(), bot, "x", time.Second) // What is asked for is never shortened.
	require.Equal(t, 3*time.Second, wait("x"))
	require.Zero(t, wait("y"))
	c.pass(2900 * time.Millisecond)
	require.Equal(t, 100*time.Millisecond, wait("x"), "no call leaves early, were it but a little")
	c.pass(100 * time.Millisecond)
	require.Zero(t, wait("x"))

	p.Hold(t.Context(), bot, "", time.Minute)
	require.Equal(t, time.Minute, wait("x"))
	require.Equal(t, time.Minute, wait("y"), "the whole account")
	c.pass(time.Minute)
	require.Zero(t, wait("y"))
}

// While both wait a card has about every fourth place; whoever is alone has all.
func pacesShare(t *testing.T, make maker) {
	c := newClock()
	p := make(t, deliveries.Budget{Account: deliveries.Rate{Events: 20, Per: time.Second, Burst: 1}}, c)
	count := func(cards, finals bool) (n [2]int) {
		for range 10 * 20 * 5 {
			for i, asks := range []bool{finals, cards} { // Final answers are always first.
				call := deliveries.Call{Account: bot, Address: strconv.Itoa(i), Final: i == 0, Edit: i == 0}
				if asks && p.Reserve(t.Context(), call, 0).Booked {
					n[i]++
				}
			}
			c.pass(10 * time.Millisecond)
		}
		return n
	}
	both := count(true, true)
	require.InDelta(t, 200, both[0]+both[1], 3)
	require.InDelta(t, 50, both[1], 10, "a quarter")
	c.pass(time.Minute)
	require.InDelta(t, 200, count(false, true)[0], 3)
	c.pass(time.Minute)
	require.InDelta(t, 200, count(true, false)[1], 3)
}

// Whatever the calls, every pacer answers what the local one does.
func pacesAlike(t *testing.T, make maker) {
	random := rand.New(rand.NewPCG(7, 11))
	rate := func() deliveries.Rate {
		return deliveries.Rate{
			Events: []int{0, 1, 2, 4, 10}[random.IntN(5)], Per: time.Duration(1+random.IntN(8)) * 500 * time.Millisecond, Burst: random.IntN(6),
		}
	}
	for range 8 {
		c := newClock()
		b := deliveries.Budget{Account: rate(), Direct: rate(), Group: rate(), Edits: rate()}
		p, want := make(t, b, c), makeLocal(t, b, c)
		for step := range 250 {
			call := deliveries.Call{
				Account: bot, Address: strconv.Itoa(random.IntN(2)), Direct: random.IntN(3) == 0,
				Edit: random.IntN(2) == 0, Final: random.IntN(2) == 0,
			}
			if random.IntN(40) == 0 {
				d := time.Duration(random.IntN(3000)) * time.Millisecond
				p.Hold(t.Context(), bot, call.Address, d)
				want.Hold(t.Context(), bot, call.Address, d)
			}
			limit := []time.Duration{0, 200 * time.Millisecond, 250 * time.Millisecond, 2 * time.Second}[random.IntN(4)]
			require.Empty(t, cmp.Diff(want.Reserve(t.Context(), call, limit), p.Reserve(t.Context(), call, limit)),
				"step %d of %+v: %+v", step, b, call)
			c.pass(time.Duration(random.IntN(400)) * time.Millisecond)
		}
	}
}

func pacesNothing(t *testing.T, make maker) {
	p := make(t, deliveries.Budget{}, newClock())
	for _, account := range []core.AccountRef{bot, {Channel: core.SurfaceSlack, Account: "1"}} {
		for range 100 {
			require.Equal(t, deliveries.Pause{Booked: true}, p.Reserve(t.Context(), deliveries.Call{Account: account}, 0))
		}
	}
}
