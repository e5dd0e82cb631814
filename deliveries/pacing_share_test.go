package deliveries_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// How far ahead the worker lets cards and final answers book.
const (
	cardHold  = 250 * time.Millisecond
	finalHold = 200 * time.Millisecond
)

// rows are calls of one kind that are there from a moment on. Each asks, comes back
// when it was told to, a little late, and leaves once.
type rows struct {
	n     int
	from  time.Duration
	final bool
	late  time.Duration
	once  bool // They never come back.
}

// left is one call that left.
type left struct {
	final     bool
	asked, at time.Duration
}

// crowd lets rows ask a pacer, in virtual time, until the given moment.
func crowd(b deliveries.Budget, until time.Duration, all ...rows) []left {
	type row struct {
		rows
		asked, due time.Duration
	}
	var queue []*row
	for _, r := range all {
		for range r.n {
			queue = append(queue, &row{r, r.from, r.from})
		}
	}
	var now time.Duration
	start := time.Unix(1_000_000, 0)
	p := deliveries.NewLocalPacer(map[core.Surface]deliveries.Budget{bot.Channel: b}, func() time.Time { return start.Add(now) })
	var out []left
	for len(queue) > 0 {
		r := slices.MinFunc(queue, func(a, b *row) int { return cmp.Compare(a.due, b.due) })
		if now = r.due; now > until {
			break
		}
		limit := cardHold
		if r.final {
			limit = finalHold
		}
		pause := p.Reserve(context.Background(), deliveries.Call{Account: bot, Address: "x", Final: r.final, Edit: r.final}, limit)
		if pause.Booked {
			out = append(out, left{r.final, r.asked, now + pause.Wait})
		}
		if pause.Booked || r.once {
			queue = slices.DeleteFunc(queue, func(o *row) bool { return o == r })
			continue
		}
		r.due = now + pause.Wait + r.late
	}
	slices.SortFunc(out, func(a, b left) int { return cmp.Compare(a.at, b.at) })
	return out
}

func interval(r deliveries.Rate) time.Duration { return r.Per / time.Duration(r.Events) }

// least is the time that n calls need at least.
func least(r deliveries.Rate, n int) time.Duration {
	return time.Duration(n-r.Burst) * interval(r)
}

func count(all []left, final bool) int {
	n := 0
	for _, l := range all {
		if l.final == final {
			n++
		}
	}
	return n
}

// everyRate runs f with the shipped rates, each as the only bucket of a budget: quick
// and slow ones, with large and without bursts.
func everyRate(t *testing.T, f func(t *testing.T, b deliveries.Budget, r deliveries.Rate)) {
	t.Helper()
	telegram, slack, discord := deliveries.TelegramBudget(), deliveries.SlackBudget(), deliveries.DiscordBudget()
	for name, b := range map[string]deliveries.Budget{
		"telegram account": {Account: telegram.Account},
		"telegram person":  {Group: telegram.Direct},
		"telegram group":   {Group: telegram.Group},
		"slack edits":      {Account: slack.Edits},
		"slack channel":    {Group: slack.Group},
		"discord account":  {Account: discord.Account},
		"discord channel":  {Group: discord.Group},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := b.Account
			if r.Events == 0 {
				r = b.Group
			}
			f(t, b, r)
		})
	}
}

func TestNoWindowHoldsMoreThanTheBudget(t *testing.T) {
	t.Parallel()
	everyRate(t, func(t *testing.T, b deliveries.Budget, r deliveries.Rate) {
		random := rand.New(rand.NewPCG(1, 2))
		var all []rows
		for range 40 {
			all = append(all, rows{
				n: 1 + random.IntN(10), from: time.Duration(random.IntN(100)) * interval(r),
				final: random.IntN(2) == 0, late: time.Duration(random.IntN(300)) * time.Millisecond,
				once: random.IntN(4) == 0,
			})
		}
		out := crowd(b, time.Hour, all...)
		require.NotEmpty(t, out)
		for i := range out {
			for j := i; j < len(out); j++ {
				most := r.Burst + int((out[j].at-out[i].at)/interval(r))
				require.LessOrEqual(t, j-i+1, most, "from %s to %s", out[i].at, out[j].at)
			}
		}
	})
}

// A burst of final answers alone has all of the budget, and so have cards alone.
func TestOneKindAloneHasTheWholeBudget(t *testing.T) {
	t.Parallel()
	everyRate(t, func(t *testing.T, b deliveries.Budget, r deliveries.Rate) {
		for _, final := range []bool{true, false} {
			out := crowd(b, time.Hour, rows{n: 200, final: final, late: 20 * time.Millisecond})
			require.Len(t, out, 200)
			require.LessOrEqual(t, out[199].at.Seconds(), 1.1*least(r, 200).Seconds())
		}
	})
}

// A card that comes while final answers wait leaves after the place that is free next,
// whenever it comes; a second one four places later.
func TestACardInABurstOfFinalAnswersWaitsForOneInterval(t *testing.T) {
	t.Parallel()
	everyRate(t, func(t *testing.T, b deliveries.Budget, r deliveries.Rate) {
		const late = 20 * time.Millisecond
		for part := range 5 {
			from := least(r, 40) + interval(r)*time.Duration(part)/5
			out := crowd(b, time.Hour, rows{n: 120, final: true, late: late}, rows{n: 2, from: from, late: late})
			require.Len(t, out, 122)
			n := time.Duration(1)
			for _, l := range out {
				if !l.final {
					require.LessOrEqual(t, l.at-l.asked, n*(interval(r)+late)+cardHold, "within %d places", n)
					n += 4
				}
			}
			require.LessOrEqual(t, out[121].at.Seconds(), 1.1*least(r, 122).Seconds(), "no place was lost by it")
		}
	})
}

// While both wait, cards have a quarter and final answers the rest; somewhat less of a
// quarter where rows come back later than half an interval, as in an account's bucket.
func TestAFloodOfBothIsShared(t *testing.T) {
	t.Parallel()
	everyRate(t, func(t *testing.T, b deliveries.Budget, r deliveries.Rate) {
		const late, places = 20 * time.Millisecond, 200
		out := crowd(b, places*interval(r), rows{n: 300, late: late}, rows{n: 300, final: true, late: late})
		require.GreaterOrEqual(t, len(out), places*95/100, "nothing is idle")
		require.GreaterOrEqual(t, count(out, true), places*70/100)
		require.GreaterOrEqual(t, count(out, false), places*18/100)
	})
}

// A final answer that comes into a flood of cards leaves next, or after one card.
func TestAFinalAnswerInAFloodOfCardsIsNotStarved(t *testing.T) {
	t.Parallel()
	everyRate(t, func(t *testing.T, b deliveries.Budget, r deliveries.Rate) {
		const late = 20 * time.Millisecond
		out := crowd(b, time.Hour, rows{n: 300, late: late}, rows{n: 1, from: least(r, 100), final: true, late: late})
		require.Len(t, out, 301)
		for _, l := range out {
			if l.final {
				require.LessOrEqual(t, l.at-l.asked, 2*(interval(r)+late)+cardHold)
			}
		}
	})
}

// Cards that are told to come back and never do (answered meanwhile, or a process died)
// cost final answers next to nothing.
func TestACardThatNeverComesBackHoldsUpNobody(t *testing.T) {
	t.Parallel()
	everyRate(t, func(t *testing.T, b deliveries.Budget, r deliveries.Rate) {
		out := crowd(b, time.Hour,
			rows{n: 300, final: true, late: 20 * time.Millisecond},
			rows{n: 5, from: least(r, 100), once: true})
		require.LessOrEqual(t, out[len(out)-1].at.Seconds(), 1.1*least(r, len(out)).Seconds())
	})
}
