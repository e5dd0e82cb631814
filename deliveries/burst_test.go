package deliveries_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// showAll opens a card in each of so many chats for each of so many approvals, with the
// budgets off, and decides on all of them with the given one on. It returns how many rows
// had been given back before.
func (h *harness) showAll(approvals, chats int, b deliveries.Budget) (released int) {
	h.t.Helper()
	id := func(i, c int) string { return fmt.Sprintf("a%03d-%03d", i, c) }
	h.cfg.Budgets = map[core.Surface]deliveries.Budget{core.SurfaceTelegram: {Account: deliveries.Rate{Events: 1_000, Per: time.Second}}}
	for i := range approvals {
		for c := range chats {
			h.store.ask(id(i, c), to(id(i, c), fmt.Sprint(c)))
		}
	}
	h.start()
	h.pass(time.Minute)
	h.stop()
	require.Len(h.t, h.channel.texts(), approvals*chats)
	h.cfg.Budgets[core.SurfaceTelegram] = b
	h.channel.latency = 80 * time.Millisecond
	for i := range approvals {
		for c := range chats {
			h.store.decide(id(i, c))
		}
	}
	released = len(h.store.releases)
	h.again()
	return released
}

// A burst of final answers into many chats takes the time that the budgets allow,
// whichever of them is the narrow one, and the ledger is not hammered meanwhile: rows
// that have no place are not even claimed.
func TestBurstTakesWhatTheBudgetsAllow(t *testing.T) {
	t.Parallel()
	telegram, slack, discord := deliveries.TelegramBudget(), deliveries.SlackBudget(), deliveries.DiscordBudget()
	for name, test := range map[string]struct {
		approvals, chats int
		budget           deliveries.Budget
		least            time.Duration
	}{
		"telegram's groups":  {30, 10, telegram, (30 - 5) * 4 * time.Second},
		"telegram's bot":     {3, 200, telegram, (600 - 3) * time.Second / 25},
		"slack's edits":      {20, 10, slack, (200 - 10) * 1500 * time.Millisecond},
		"discord's channels": {30, 10, discord, (30 - 1) * 1250 * time.Millisecond},
		"discord's bot":      {3, 200, discord, (600 - 5) * time.Second / 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				n := test.approvals * test.chats
				before := h.showAll(test.approvals, test.chats, test.budget)
				h.pass(test.least * 11 / 10)
				require.Equal(t, n, h.metric("sayso_deliveries_closed_total", "channel", "telegram", "outcome", "replaced"))
				require.Less(t, len(h.store.releases)-before, 8*n)
			})
		})
	}
}

// New cards that come into a burst of final answers, in chats full of them, leave with
// the next place of their chat or the one after it.
func TestNewCardsInABurst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		budget deliveries.Budget
		most   time.Duration
	}{
		"telegram": {deliveries.TelegramBudget(), 2 * 4 * time.Second},
		"slack":    {deliveries.SlackBudget(), 2 * time.Second},
		"discord":  {deliveries.DiscordBudget(), 2 * 1250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				const chats = 10
				h.store.slowClaims = 5 * time.Millisecond // So rows of one lane are at work while the other's are claimed.
				h.showAll(30, chats, test.budget)
				for i := range 4 {
					h.pass(21*time.Second + 300*time.Millisecond)
					asked, before := time.Now(), len(h.channel.made())
					for c := range chats {
						id := fmt.Sprintf("new%d-%d", i, c)
						h.store.ask(id, to(id, fmt.Sprint(c)))
						h.store.hint(id)
					}
					h.pass(20 * time.Second)
					sent := 0
					for _, c := range h.channel.made()[before:] {
						if c.op == "send" {
							sent++
							require.LessOrEqual(t, c.at.Sub(asked), test.most+time.Second/2, "card %d", sent)
						}
					}
					require.Equal(t, chats, sent)
				}
			})
		})
	}
}
