package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/redis"
	"github.com/saysohq/sayso/core/bus/redis/redistest"
)

const slowInterval = time.Hour

func call(name string, burst int) core.BudgetCall {
	return core.BudgetCall{
		Charges: []core.BudgetCharge{{Name: name, Interval: slowInterval, Burst: burst, CardEvery: 2 * slowInterval}},
		Gates:   []string{"gate of " + name},
		Grace:   time.Second,
	}
}

func budgets(t *testing.T, s redistest.Server, clock func() time.Time) *redis.Budgets {
	t.Helper()
	r := newBusWith(t, redis.Config{URL: s.URL(), Deployment: "d1", BudgetTimeout: soon}, clock)
	return r.runs(t).connects(t).Budgets()
}

func take(t *testing.T, b *redis.Budgets, c core.BudgetCall) core.BudgetAnswer {
	t.Helper()
	var answer core.BudgetAnswer
	require.Eventually(t, func() (ok bool) { // Only a bus that is not connected for a moment says no.
		var err error
		answer, err = b.Take(t.Context(), c)
		return err == nil
	}, soon, time.Millisecond)
	return answer
}

// Somebody empties the script cache, or writes into our keys: a bucket that says nothing
// is a full one.
func TestBudgetsSurviveWhatIsDoneToRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	b, c := budgets(t, s, nil), client(t, s)
	require.True(t, take(t, b, call("x", 1)).Taken)
	require.False(t, take(t, b, call("x", 1)).Taken)
	require.NoError(t, c.ScriptFlush(t.Context()).Err())
	require.False(t, take(t, b, call("x", 1)).Taken)

	b.Hold(t.Context(), "gate of x", time.Minute)
	for _, garbage := range []string{"", "x", "1 2 3", "1 2 3 4 5", "-1 -1 -1 -1", "1e99 1 1 1", strings.Repeat("9", 400) + " 1 1 1", "nan inf 0 0"} {
		for _, key := range c.Keys(t.Context(), "*").Val() {
			require.NoError(t, c.Set(t.Context(), key, garbage, 0).Err())
		}
		require.True(t, take(t, b, call("x", 1)).Taken, garbage)
		require.False(t, take(t, b, call("x", 1)).Taken, garbage)
	}
	for _, key := range c.Keys(t.Context(), "*").Val() {
		require.NoError(t, c.Del(t.Context(), key).Err())
		require.NoError(t, c.LPush(t.Context(), key, "a list").Err())
	}
	require.True(t, take(t, b, call("x", 1)).Taken)
}

// Nobody who reads Redis learns who is written to, and nothing stays for ever.
func TestBudgetKeysTellNothingAndEnd(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	b, c := budgets(t, s, nil), client(t, s)
	take(t, b, call("telegram secret-chat", 1))
	b.Hold(t.Context(), "gate of secret-chat", time.Hour)
	keys := c.Keys(t.Context(), "*").Val()
	require.Len(t, keys, 2)
	for _, key := range keys {
		require.NotContains(t, key, "secret")
		require.True(t, strings.HasPrefix(key, "sayso:{d1}:"), key)
		require.Positive(t, c.PTTL(t.Context(), key).Val())
	}
	held := call("y", 1)
	held.Gates = []string{"gate of secret-chat"}
	require.LessOrEqual(t, take(t, b, held).Wait, 5*time.Minute, "longer is the store's business")
}

// A Redis whose clock is hours behind that of the one before stops nothing.
func TestBudgetsWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	b := budgets(t, redistest.Start(t), func() time.Time { return now })
	c := call("x", 2)
	c.Charges[0].Interval, c.Charges[0].CardEvery = time.Second, 4*time.Second
	for range 5 {
		take(t, b, c)
	}
	now = now.Add(-10 * time.Hour)
	require.True(t, take(t, b, c).Taken)
	require.True(t, take(t, b, c).Taken)
	require.False(t, take(t, b, c).Taken)
}

func TestBudgetsAwayAreKnownAtOnce(t *testing.T) {
	t.Parallel()
	r := newBus(t, redis.Config{URL: "redis://127.0.0.1:1", Deployment: "d1"}) // It does not even run.
	_, err := r.Budgets().Take(t.Context(), call("x", 1))
	require.ErrorIs(t, err, core.ErrUnavailable)
	r.Budgets().Hold(t.Context(), "gate", time.Minute)
	require.InDelta(t, 1, r.figure(t, "sayso_budgets_calls_total"), 0)
	answer, err := r.Budgets().Take(t.Context(), core.BudgetCall{})
	require.NoError(t, err, "what costs nothing needs nobody")
	require.True(t, answer.Taken)
}
