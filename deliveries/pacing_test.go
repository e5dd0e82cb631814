package deliveries_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

func pacer(b deliveries.Budget) *deliveries.LocalPacer {
	return deliveries.NewLocalPacer(map[core.Surface]deliveries.Budget{bot.Channel: b}, time.Now)
}

func TestBurstThenSteadyRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pacer(deliveries.Budget{Direct: deliveries.Rate{Events: 1, Per: time.Second, Burst: 3}})
		c := deliveries.Call{Account: bot, Address: "x", Direct: true}
		for range 3 {
			require.Equal(t, deliveries.Pause{Booked: true}, p.Reserve(t.Context(), c, 0))
		}
		require.Equal(t, deliveries.Pause{Wait: time.Second, Chat: time.Second}, p.Reserve(t.Context(), c, 0))
		require.Equal(t, deliveries.Pause{Wait: time.Second, Booked: true, Chat: 2 * time.Second}, p.Reserve(t.Context(), c, time.Second))
		require.Equal(t, 2*time.Second, p.Reserve(t.Context(), c, 0).Wait, "a booking moves the next one")
		c.Address = "y"
		require.True(t, p.Reserve(t.Context(), c, 0).Booked, "another chat has its own budget")
		c.Address = "x"
		<-time.After(5 * time.Second)
		for range 3 {
			require.True(t, p.Reserve(t.Context(), c, 0).Booked, "full again, and not more than full")
		}
		require.False(t, p.Reserve(t.Context(), c, 0).Booked)
	})
}

func TestEditsWithABudgetOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pacer(deliveries.SlackBudget())
		booked := 0
		for i := range 100 {
			c := deliveries.Call{Account: bot, Address: string(rune('a' + i)), Edit: true, Final: true}
			if p.Reserve(t.Context(), c, 0).Booked {
				booked++
			}
		}
		require.Equal(t, 10, booked, "the burst of chat.update")
		require.True(t, p.Reserve(t.Context(), deliveries.Call{Account: bot, Address: "z"}, 0).Booked)
	})
}

func TestNoBudgetNoPacing(t *testing.T) {
	t.Parallel()
	p := deliveries.NewLocalPacer(nil, time.Now)
	for range 1000 {
		require.Equal(t, deliveries.Pause{Booked: true}, p.Reserve(t.Context(), deliveries.Call{Account: bot}, 0))
	}
}

func TestDocumentedLimitsAreKept(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		budget deliveries.Budget
		direct bool
		window time.Duration
		most   int
	}{
		"telegram group": {deliveries.TelegramBudget(), false, time.Minute, 20},
		"telegram bot":   {deliveries.Budget{Account: deliveries.TelegramBudget().Account}, true, time.Second, 30},
		"discord bot":    {deliveries.Budget{Account: deliveries.DiscordBudget().Account}, true, time.Second, 50},
		"discord chat":   {deliveries.DiscordBudget(), false, 5 * time.Second, 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := pacer(test.budget)
				booked := 0
				for end := time.Now().Add(test.window); time.Now().Before(end); <-time.After(time.Millisecond) {
					for p.Reserve(t.Context(), deliveries.Call{Account: bot, Address: "x", Direct: test.direct}, 0).Booked {
						booked++
					}
				}
				require.LessOrEqual(t, booked, test.most)
				require.GreaterOrEqual(t, booked, test.most/2)
			})
		})
	}
}
