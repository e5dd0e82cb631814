package deliveries_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

func TestOneCallAtATimeInEachChat(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.channel.latency = 50 * time.Millisecond
		for i := range 30 {
			id := fmt.Sprintf("a%02d", i)
			h.store.ask(id, to(id, fmt.Sprintf("chat-%d", i%3)))
		}
		h.start()
		h.pass(20 * time.Second)
		require.Len(t, h.channel.texts(), 30)
		require.False(t, h.channel.crowded, "never two calls at once in one chat")
		require.Equal(t, 3, h.channel.most, "different chats work side by side")
	})
}

func TestConcurrencyPerAccountIsBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.cfg.Slots = 4
		h.channel.latency = time.Second
		for i := range 20 {
			id := fmt.Sprintf("a%02d", i)
			h.store.ask(id, to(id, id))
		}
		h.start()
		h.pass(30 * time.Second)
		require.Len(t, h.channel.texts(), 20)
		require.Equal(t, 4, h.channel.most)
	})
}

// A chat that hangs holds half of the slots at most; an account that hangs holds
// none of another's.
func TestHangingChatHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.cfg.Slots = 4
		slack := core.AccountRef{Channel: core.SurfaceSlack, Account: "T"}
		other := newMessenger(slack)
		h.channels = append(h.channels, other)
		h.channel.onSend(func(address, _ string) error {
			if address == "hangs" {
				<-time.After(core.CallTimeout)
				return h.channel.fails(core.FailureAmbiguous)
			}
			return nil
		})
		for i := range 20 {
			h.store.ask(fmt.Sprintf("h%02d", i), to(fmt.Sprintf("h%02d", i), "hangs"))
		}
		h.store.ask("z", to("z", "works"),
			core.Delivery{ID: "s", Channel: slack.Channel, Account: "T", Destination: "chat:C", Address: "C"})
		h.start()
		h.pass(15 * time.Second)
		require.Equal(t, core.DeliveryOpen, h.store.row("s").State)
		require.Equal(t, core.DeliveryOpen, h.store.row("z").State)
		h.pass(5 * time.Minute)
		require.Equal(t, 0, h.metric("sayso_deliveries_leases_lost_total", "channel", "telegram"))
		require.False(t, h.store.row("h19").Unsettled, "waiting rows are given back before their lease runs out")
	})
}

// Field reports B: edits hours late behind a queue of updates. Terminal edits
// have slots of their own.
func TestFloodOfCardsDoesNotDelayTerminalEdits(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.cfg.Slots = 2
		h.open()
		h.channel.onSend(func(string, string) error {
			<-time.After(10 * time.Second)
			return nil
		})
		for i := range 50 {
			id := fmt.Sprintf("f%02d", i)
			h.store.ask(id, to(id, id))
		}
		h.store.hint("f00")
		h.pass(time.Second)
		h.store.decide("a")
		h.pass(100 * time.Millisecond)
		require.Equal(t, denied, h.channel.texts()[0])
	})
}

func TestFloodOfTerminalEditsDoesNotStarveNewCards(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.cfg.Slots = 2
		for i := range 50 {
			id := fmt.Sprintf("f%02d", i)
			h.store.ask(id, to(id, id))
		}
		h.start()
		h.pass(time.Second)
		h.channel.onEdit(func(string) (core.DeliveryOutcome, error) {
			<-time.After(10 * time.Second)
			return core.OutcomeReplaced, nil
		})
		for i := range 50 {
			h.store.decide(fmt.Sprintf("f%02d", i))
		}
		h.pass(time.Second)
		h.store.ask("new", to("new", "new"))
		h.store.hint("new")
		h.pass(100 * time.Millisecond)
		require.Equal(t, core.DeliveryOpen, h.store.row("new").State)
	})
}

// With budgets on, a burst into one group is spread below 20 messages in any
// minute, everything arrives, and the ledger is not hammered meanwhile.
func TestWorkerKeepsTheGroupBudget(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.cfg.Budgets = map[core.Surface]deliveries.Budget{core.SurfaceTelegram: deliveries.TelegramBudget()}
		for i := range 60 {
			id := fmt.Sprintf("a%02d", i)
			h.store.ask(id, to(id, "group"))
		}
		h.start()
		h.pass(5 * time.Minute)
		calls := h.channel.made()
		require.Len(t, calls, 60)
		for i := range calls {
			if i >= 20 {
				require.GreaterOrEqual(t, calls[i].at.Sub(calls[i-20].at), time.Minute, "20 in a minute")
			}
		}
		require.Less(t, len(h.store.releases), 40*60, "a few claims for each send, whatever waits")
	})
}

func TestDecisionIsShownWhileTheGroupBudgetIsSpent(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.cfg.Budgets = map[core.Surface]deliveries.Budget{core.SurfaceTelegram: deliveries.TelegramBudget()}
		h.open()
		for i := range 40 {
			id := fmt.Sprintf("f%02d", i)
			h.store.ask(id, to(id, "x"))
		}
		h.store.hint("f00")
		h.pass(10 * time.Second)
		h.store.decide("a")
		h.pass(10 * time.Second)
		require.Equal(t, denied, h.channel.texts()[0], "the newest truth goes before the waiting cards")
	})
}

// A burst into one chat is worked off at the chat's own pace: rows that found its
// queue full are back when it has room, and no sooner than they can be served.
func TestBurstIntoOneChatNeverIdles(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		for i := range 60 {
			id := fmt.Sprintf("a%02d", i)
			h.store.ask(id, to(id, "group"))
		}
		h.start()
		h.pass(5 * time.Minute)
		h.channel.latency = 20 * time.Millisecond
		before := len(h.store.releases)
		for i := range 60 {
			h.store.decide(fmt.Sprintf("a%02d", i))
		}
		h.pass(60 * 20 * time.Millisecond * 6 / 5)
		for i, text := range h.channel.texts() {
			require.Equal(t, denied, text, "message %d", i)
		}
		require.Less(t, len(h.store.releases)-before, 3*60, "seldom turned away twice")
		require.False(t, h.channel.crowded)
	})
}

// A new card in a chat that is busy with a burst of final answers leaves with the next
// place or the one after it, and the burst takes no longer than the budget allows.
func TestCardInAChatFullOfFinalAnswers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.cfg.Budgets = map[core.Surface]deliveries.Budget{core.SurfaceTelegram: deliveries.TelegramBudget()}
		for i := range 30 {
			id := fmt.Sprintf("a%02d", i)
			h.store.ask(id, to(id, "group"))
		}
		h.start()
		h.pass(10 * time.Minute)
		before := len(h.store.releases)
		for i := range 30 {
			h.store.decide(fmt.Sprintf("a%02d", i))
		}
		h.pass(21 * time.Second)
		h.store.ask("new", to("new", "group"))
		h.store.hint("new")
		h.pass(8 * time.Second)
		require.Equal(t, core.DeliveryOpen, h.store.row("new").State, "two intervals of a group")
		h.pass((31-5)*4*time.Second - 29*time.Second + time.Second)
		require.Equal(t, 30, h.metric("sayso_deliveries_closed_total", "channel", "telegram", "outcome", "replaced"))
		require.Less(t, len(h.store.releases)-before, 30*30, "a few claims for each edit, whatever waits")
	})
}

// Where all edits of an account wait for one budget, most rows are not even claimed,
// and new cards do not notice.
func TestSpentBudgetOfEditsShutsTheirLane(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.cfg.Budgets = map[core.Surface]deliveries.Budget{core.SurfaceTelegram: deliveries.SlackBudget()}
		for i := range 200 {
			id := fmt.Sprintf("a%03d", i)
			h.store.ask(id, to(id, id))
		}
		h.start()
		h.pass(time.Minute)
		before := len(h.store.releases)
		for i := range 200 {
			h.store.decide(fmt.Sprintf("a%03d", i))
		}
		for i := range 10 {
			h.pass(10 * time.Second)
			id := fmt.Sprintf("new%d", i)
			h.store.ask(id, to(id, id))
			h.store.hint(id)
			h.pass(10 * time.Millisecond)
			require.Equal(t, core.DeliveryOpen, h.store.row(id).State)
		}
		h.pass((200-10)*1500*time.Millisecond - 100*time.Second + time.Second)
		require.Equal(t, 200, h.metric("sayso_deliveries_closed_total", "channel", "telegram", "outcome", "replaced"))
		require.Less(t, len(h.store.releases)-before, 12*200, "a few claims for each edit, whatever waits")
	})
}

// Rows that hold their places already obey a refusal which another row meets: whoever
// has not left yet stays away as long as it says, edits and new cards alike.
func TestRefusalHoldsRowsThatHaveTheirPlace(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		const away = 7 * time.Second
		h.cfg.Budgets = map[core.Surface]deliveries.Budget{
			core.SurfaceTelegram: {Account: deliveries.Rate{Events: 25, Per: time.Second, Burst: 1}},
		}
		h.channel.latency = 10 * time.Millisecond
		for i := range 20 {
			id := fmt.Sprintf("a%02d", i)
			h.store.ask(id, to(id, id))
		}
		h.start()
		h.pass(10 * time.Second)
		var refused time.Time
		h.channel.onEdit(func(string) (core.DeliveryOutcome, error) {
			if refused.IsZero() {
				refused = time.Now()
				return core.OutcomeNone, &channels.Error{Class: core.FailureRateLimited, RetryAfter: away, Whole: true}
			}
			return core.OutcomeReplaced, nil
		})
		for i := range 20 {
			h.store.decide(fmt.Sprintf("a%02d", i))
		}
		for i := range 5 {
			id := fmt.Sprintf("new%d", i)
			h.store.ask(id, to(id, id))
		}
		h.pass(time.Minute)
		for _, c := range h.channel.made() {
			require.False(t, c.at.After(refused) && c.at.Before(refused.Add(away)), "%s %s after the refusal", c.op, c.at.Sub(refused))
		}
		require.Equal(t, core.DeliveryOpen, h.store.row("new4").State)
		require.Equal(t, 20, h.metric("sayso_deliveries_closed_total", "channel", "telegram", "outcome", "replaced"))
	})
}

// A bucket without a burst cannot make up for time that passes unused: rows come back
// before their place is free, so that the way back costs nothing.
func TestWayBackToAChatCostsNoPlace(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.cfg.Budgets = map[core.Surface]deliveries.Budget{core.SurfaceTelegram: deliveries.DiscordBudget()}
		h.channel.latency = 100 * time.Millisecond
		for i := range 40 {
			id := fmt.Sprintf("a%02d", i)
			h.store.ask(id, to(id, "chat"))
		}
		h.start()
		h.pass(2 * time.Minute)
		before := len(h.channel.made())
		for i := range 40 {
			h.store.decide(fmt.Sprintf("a%02d", i))
		}
		h.pass(time.Minute)
		calls := h.channel.made()[before:]
		require.Len(t, calls, 40)
		require.Equal(t, 39*1250*time.Millisecond, calls[39].at.Sub(calls[0].at))
	})
}

// The lanes take turns in a chat whose calls take long: a card waits for one final
// answer, not for all that are in front of it.
func TestLanesTakeTurnsInAChat(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		for i := range 20 {
			id := fmt.Sprintf("a%02d", i)
			h.store.ask(id, to(id, "chat"))
		}
		h.start()
		h.pass(time.Minute)
		h.channel.latency = time.Second
		for i := range 20 {
			h.store.decide(fmt.Sprintf("a%02d", i))
		}
		h.pass(1500 * time.Millisecond)
		h.store.ask("new", to("new", "chat"))
		h.store.hint("new")
		h.pass(2 * time.Second)
		require.Equal(t, core.DeliveryOpen, h.store.row("new").State)
	})
}
