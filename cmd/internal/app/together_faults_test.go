package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// trouble is a chat in which something goes wrong, and how its card ends there.
type trouble struct {
	on      core.Surface
	address string
	kind    fakes.FaultKind // "" where the chat itself changes.
	op      fakes.Op
	change  string // What happens to the chat once the card is there.
	outcome core.DeliveryOutcome
	class   core.FailureClass // Of a card that cannot tell the truth.
	again   time.Duration     // Earliest time of the second call after a fault.
	fault   *fakes.Fault
}

func (c *trouble) String() string {
	return fmt.Sprintf("%s %s: %s %s%s", c.on, c.address, c.op, c.kind, c.change)
}

// Pauses that nothing may cut short: what the platforms are scripted to ask for, and
// the shortest first backoff of the ledger.
const (
	askedPause   = time.Second
	firstBackoff = 500 * time.Millisecond
)

// troubles are all scripted faults, while a card is sent and while it is edited, and
// all changes of a chat, each on each platform in a chat of its own.
func troubles() []*trouble {
	kinds := []fakes.FaultKind{
		fakes.FaultRateLimit, fakes.FaultServerError, fakes.FaultUndecodable, fakes.FaultHollow, fakes.FaultHold,
		fakes.FaultResetBefore, fakes.FaultResetAfter, fakes.FaultReject,
	}
	var all []*trouble
	for _, on := range []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord} {
		n := 0
		add := func(c trouble) {
			n++
			c.on, c.address = on, map[core.Surface]string{
				core.SurfaceTelegram: strconv.FormatInt(-1_004_000_000_000-int64(n), 10),
				core.SurfaceSlack:    fmt.Sprintf("C0FAULT%02d", n), core.SurfaceDiscord: fmt.Sprintf("6000000000000000%02d", n),
			}[on]
			all = append(all, &c)
		}
		for _, kind := range kinds {
			send := trouble{kind: kind, op: fakes.OpSend, outcome: core.OutcomeReplaced, again: firstBackoff}
			edit := trouble{kind: kind, op: fakes.OpEdit, outcome: core.OutcomeReplaced, again: firstBackoff}
			if kind == fakes.FaultRateLimit {
				send.again, edit.again = askedPause, askedPause
			}
			if kind == fakes.FaultReject { // For good.
				send.outcome, send.class = core.OutcomeFailed, core.FailureRejected
				edit.outcome = core.OutcomeRetired
			}
			add(send)
			add(edit)
		}
		add(trouble{change: "message deleted", outcome: core.OutcomeRetired})
		add(trouble{change: "bot removed", outcome: core.OutcomeFailed, class: core.FailureGone})
		switch on {
		case core.SurfaceTelegram:
			add(trouble{change: "group migrated", outcome: core.OutcomeRetired})
		case core.SurfaceSlack:
			add(trouble{change: "archived", outcome: core.OutcomeFailed, class: core.FailureGone})
		default:
			add(trouble{change: "archived", outcome: core.OutcomeReplaced})
			add(trouble{change: "archived and locked", outcome: core.OutcomeFailed, class: core.FailureGone})
		}
	}
	return all
}

// found makes the chats and lists them as told of everything.
func found(all []*trouble) func(*config.Config, *town) {
	return func(c *config.Config, w *town) {
		for _, x := range all {
			switch x.on {
			case core.SurfaceTelegram:
				id, _ := strconv.ParseInt(x.address, 10, 64) // Made of a number.
				if x.change == "group migrated" {
					id += 1_004_000_000_000 // Only plain groups are upgraded.
					x.address = strconv.FormatInt(id, 10)
				}
				w.bot.AddGroup(id, "a chat")
				c.Telegram[0].Chats = append(c.Telegram[0].Chats, x.address)
			case core.SurfaceSlack:
				w.slack.AddChannel(x.address)
				c.Slack[0].Chats = append(c.Slack[0].Chats, x.address)
			default:
				if strings.HasPrefix(x.change, "archived") {
					w.discord.AddThread(x.address)
				} else {
					w.discord.AddChannel(x.address)
				}
				c.Discord[0].Chats = append(c.Discord[0].Chats, x.address)
			}
		}
	}
}

func (w *town) script(on core.Surface) *fakes.Script {
	return map[core.Surface]*fakes.Script{
		core.SurfaceTelegram: &w.bot.Script, core.SurfaceSlack: &w.slack.Script, core.SurfaceDiscord: &w.discord.Script,
	}[on]
}

// happen scripts the faults of one kind of call.
func (w *town) happen(all []*trouble, op fakes.Op) {
	for _, x := range all {
		if x.kind == "" || x.op != op {
			continue
		}
		f := fakes.Fault{Kind: x.kind, Op: op, Address: x.address}
		if x.kind == fakes.FaultRateLimit {
			f.Delay = askedPause
		}
		if x.kind == fakes.FaultReject {
			f.Times = -1
		}
		x.fault = w.script(x.on).Add(f)
	}
}

// change changes the chats themselves.
func (w *town) change(t *testing.T, all []*trouble, title string) {
	t.Helper()
	cards := w.cards(title)
	for _, x := range all {
		if x.change == "" {
			continue
		}
		at := slices.IndexFunc(cards, func(c card) bool { return c.on == x.on && c.Address == x.address })
		require.GreaterOrEqual(t, at, 0, x.String())
		locator, id := cards[at].Locator, int64(0)
		if x.on == core.SurfaceTelegram {
			var err error
			id, err = strconv.ParseInt(x.address, 10, 64)
			require.NoError(t, err)
		}
		switch string(x.on) + " " + x.change {
		case "telegram message deleted":
			require.NoError(t, w.bot.DeleteMessage(locator))
		case "slack message deleted":
			require.NoError(t, w.slack.Delete(locator))
		case "discord message deleted":
			require.NoError(t, w.discord.Delete(locator))
		case "telegram bot removed":
			w.bot.Change(id, func(c *fake.Chat) { c.Kicked = true })
		case "slack bot removed":
			w.slack.CloseChat(x.address)
		case "discord bot removed":
			w.discord.Remove(x.address)
		case "telegram group migrated":
			w.bot.Migrate(id, -1_005_000_000_001)
		case "slack archived":
			w.slack.Archive(x.address)
		case "discord archived", "discord archived and locked":
			w.discord.Archive(x.address, strings.HasSuffix(x.change, "locked"))
		default:
			require.Fail(t, "nobody knows how to do this", x.String())
		}
	}
}

// holding lists the chats whose call is kept waiting.
func holding(all []*trouble, op fakes.Op) []*trouble {
	return slices.DeleteFunc(slices.Clone(all), func(x *trouble) bool { return x.kind != fakes.FaultHold || x.op != op })
}

// letGo ends the waiting, once it has begun.
func letGo(t *testing.T, held []*trouble) {
	t.Helper()
	for _, x := range held {
		select {
		case <-x.fault.Hit():
			x.fault.Release()
		case <-time.After(patience):
			require.Fail(t, "the fault was never met", x.String())
		}
	}
}

// open counts the cards of an approval that are not closed, and those of them that
// show the record as it is.
func (w *town) open(t *testing.T, id string) (open, current int) {
	t.Helper()
	for _, d := range w.get(t, id).Deliveries {
		if d.State != core.DeliveryClosed {
			open++
			if d.State == core.DeliveryOpen && d.Current {
				current++
			}
		}
	}
	return open, current
}

// reach waits until so many cards are open and current, and so many are still behind.
func (w *town) reach(t *testing.T, id string, current, behind int) {
	t.Helper()
	require.Eventually(t, func() bool {
		open, good := w.open(t, id)
		return good == current && open-good == behind
	}, patience, 20*time.Millisecond)
}

// While the platforms do everything that they can do wrong, in chats side by side, the
// same answers race. Each card ends in the truth, or in a record of why it cannot, with
// what was sent instead; nothing is tried before its time; no chat that hangs or
// refuses holds up another one, nor the next question (conformance 104,
// 109, 113; field reports B, C).
func TestTogetherThroughFaults(t *testing.T) {
	t.Parallel()
	all := troubles()
	w := settle(t, found(all))
	chats := places + len(all)
	slow, refused := holding(all, fakes.OpSend), 3

	w.happen(all, fakes.OpSend)
	const title = "Through faults"
	asked := w.ask(t, about(title))
	w.reach(t, asked.ID, chats-refused-len(slow), len(slow))
	letGo(t, slow)
	w.reach(t, asked.ID, chats-refused, 0)

	w.happen(all, fakes.OpEdit)
	w.change(t, all, title)
	cards := slices.DeleteFunc(w.cards(title), func(c card) bool { return c.owner < 0 })
	form := w.form(t, asked.ID)
	attempts := []attempt{w.byPage(w.running, &asked, form, core.DecisionDeny), w.byAPI(t, w.running, &asked, core.DecisionAllowOnce)}
	for i := range cards {
		by := w.people[cards[i].owner]
		attempts = append(attempts, w.byClick(&cards[i], by, core.DecisionAllowOnce, cards[i].payload("Allow once")),
			w.byClick(&cards[i], by, core.DecisionDeny, cards[i].payload("Deny")))
	}
	answers := race(t, attempts)
	now := w.audited(t, asked.ID)
	agree(t, &now, answers)

	// The next question takes its way past the edits that hang.
	slow = holding(all, fakes.OpEdit)
	w.reach(t, asked.ID, 0, len(slow))
	const behind = "Behind them"
	next := w.ask(t, about(behind))
	require.Eventually(t, func() bool { return len(w.cards(behind)) >= places }, patience, 20*time.Millisecond)
	require.Equal(t, http.StatusSeeOther, w.post(t, "/approve/"+next.ID, decide(w.form(t, next.ID), "deny")).status)
	letGo(t, slow)
	w.converged(t, asked.ID)
	w.converged(t, next.ID)
	w.obeyed(t)
	w.inTime(t, all, title)
	w.ended(t, next.ID)

	records, ledger := w.kept(t)
	a, err := records.Approval(t.Context(), core.Lookup{ID: asked.ID})
	require.NoError(t, err)
	rows, err := ledger.DeliveriesOf(t.Context(), asked.ID)
	require.NoError(t, err)
	w.truthfulThrough(t, &a, rows, all)
}

// decide fills a form in.
func decide(form map[string][]string, decision string) map[string][]string {
	form["decision"] = []string{decision}
	return form
}

// truthfulThrough is truthful where some chats had trouble.
func (w *town) truthfulThrough(t *testing.T, a *core.Approval, rows []core.Delivery, all []*trouble) {
	t.Helper()
	var whole []core.Delivery
	seen := 0
	for i := range rows {
		d := &rows[i]
		at := slices.IndexFunc(all, func(x *trouble) bool {
			return x.on == d.Channel && "chat:"+x.address == d.Destination
		})
		if at < 0 {
			whole = append(whole, *d)
			continue
		}
		seen++
		x := all[at]
		require.Equal(t, core.DeliveryClosed, d.State, x.String())
		require.Equal(t, x.outcome, d.Outcome, "%s: %s %s", x, d.LastError, d.LastErrorText)
		switch d.Outcome {
		case core.OutcomeReplaced:
			whole = append(whole, *d)
		case core.OutcomeFailed:
			require.Equal(t, x.class, d.LastError, x.String())
		default:
			require.True(t, w.toldBeside(a, d), "%s: the truth stands beside the card", x)
		}
	}
	require.Equal(t, len(all), seen, "one row for each chat")
	require.Len(t, whole, len(rows)-len(all)+count(all, core.OutcomeReplaced))
	w.truthful(t, a, whole)
}

func count(all []*trouble, outcome core.DeliveryOutcome) int {
	n := 0
	for _, x := range all {
		if x.outcome == outcome {
			n++
		}
	}
	return n
}

// toldBeside reports whether a second message tells the outcome where the card cannot.
func (w *town) toldBeside(a *core.Approval, d *core.Delivery) bool {
	text := presentation.For(*a, core.Detail{}, presentation.Place{Zone: time.UTC, Delivery: d.ID}).Outcome.Text
	return slices.ContainsFunc(w.messages(d.Channel), func(m fakes.Message) bool {
		return m.Address == d.Address && m.Locator != d.Locator && len(m.Buttons) == 0 &&
			strings.Contains(m.Text, text) && strings.Contains(m.Text, a.Presentation.Title)
	})
}

func (w *town) messages(on core.Surface) []fakes.Message {
	switch on {
	case core.SurfaceTelegram:
		return w.bot.Messages()
	case core.SurfaceSlack:
		return w.slack.Messages()
	default:
		return w.discord.Messages()
	}
}

// inTime holds the requests of each chat with a fault against the time that they had to
// keep.
func (w *town) inTime(t *testing.T, all []*trouble, title string) {
	t.Helper()
	for _, x := range all {
		if x.kind == "" {
			continue
		}
		at := w.calls(x, title)
		if x.kind == fakes.FaultReject { // Slack is asked once more, in plain words.
			require.LessOrEqual(t, len(at), 2, "%s: what is refused for good is not repeated", x)
			continue
		}
		if x.kind == fakes.FaultHold {
			require.Len(t, at, 1, x.String())
			continue
		}
		require.Len(t, at, 2, x.String())
		require.GreaterOrEqual(t, at[1].Sub(at[0]), x.again, "%s: tried again before its time", x)
	}
}

// calls lists when the calls of the trouble's kind came to its chat about a title.
func (w *town) calls(x *trouble, title string) []time.Time {
	var at []time.Time
	edit := x.op == fakes.OpEdit
	switch x.on {
	case core.SurfaceTelegram:
		for _, c := range w.bot.Calls(map[bool]string{true: "editMessageText", false: "sendMessage"}[edit]) {
			if c.Params["chat_id"] == x.address && strings.Contains(c.Params["text"], title) {
				at = append(at, c.At)
			}
		}
	case core.SurfaceSlack:
		for _, c := range w.slack.Calls(map[bool]string{true: "chat.update", false: "chat.postMessage"}[edit]) {
			if c.Args["channel"] == x.address && strings.Contains(c.Args["text"]+c.Args["blocks"], title) {
				at = append(at, c.At)
			}
		}
	default:
		method := map[bool]string{true: http.MethodPatch, false: http.MethodPost}[edit]
		for _, c := range w.discord.Calls(method, "channels/"+x.address+"/messages") {
			if strings.Contains(c.Body, title) {
				at = append(at, c.At)
			}
		}
	}
	return at
}
