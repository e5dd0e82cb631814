package app_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	fakediscord "github.com/saysohq/sayso/channels/fakes/discord"
	fakeslack "github.com/saysohq/sayso/channels/fakes/slack"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/presentation"
)

// cardOf finds the card in one person's direct chat.
func (w *town) cardOf(t *testing.T, on core.Surface, title string, owner int) card {
	t.Helper()
	for _, c := range w.cards(title) {
		if c.on == on && c.owner == owner {
			return c
		}
	}
	require.Fail(t, "there is no such card", "%s on %s", title, on)
	return card{}
}

// One platform after the other takes its token back, and one person blocks the bot.
// What is left decides; the rest is recorded with its class and is not tried again
// before its time; the page is the last to go on (field reports C).
func TestTogetherWhenPlatformsGo(t *testing.T) {
	t.Parallel()
	w := settle(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	w.bot.Change(w.people[2].telegram, func(c *fake.Chat) { c.Blocked = true })
	platforms := []struct {
		on     core.Surface
		revoke func()
		cards  int
	}{
		{core.SurfaceTelegram, w.bot.Revoke, 3}, // Without the person who blocked the bot.
		{core.SurfaceSlack, w.slack.Revoke, 5},
		{core.SurfaceDiscord, w.discord.Revoke, 5},
	}
	for i, p := range platforms {
		title := "While " + string(p.on) + " goes"
		shown := 0
		for _, left := range platforms[i:] {
			shown += left.cards
		}
		a := w.ask(t, about(title))
		require.Eventually(t, func() bool {
			_, current := w.open(t, a.ID)
			return current == shown
		}, patience, 20*time.Millisecond, title)
		p.revoke()
		if i+1 < len(platforms) {
			c := w.cardOf(t, platforms[i+1].on, title, 0)
			told, err := w.click(ctx, &c, w.people[0], c.payload("Deny"))
			require.NoError(t, err)
			require.True(t, justNow(told), told)
		} else {
			require.Equal(t, http.StatusSeeOther, w.post(t, "/approve/"+a.ID, decide(w.form(t, a.ID), "deny")).status)
		}
		gone := map[core.Surface]bool{}
		for _, dead := range platforms[:i+1] {
			gone[dead.on] = true
		}
		w.leftBehind(t, a.ID, p.on, gone)
	}
	require.Equal(t, 1, strings.Count(w.log.String(), "route broken"), "the person who blocked the bot is reported once")
	for _, p := range platforms {
		require.Equal(t, 1, w.logged("credentials refused", string(p.on)), "tried again before its time on %s", p.on)
	}
	w.obeyed(t)
}

// leftBehind waits until all that can be told is told, and the platform that went last
// has refused our credentials; nothing of those that are gone is closed as if it had
// been told.
func (w *town) leftBehind(t *testing.T, id string, last core.Surface, gone map[core.Surface]bool) {
	t.Helper()
	var now api.Approval
	require.Eventually(t, func() bool {
		now = w.get(t, id)
		refused := 0
		for _, d := range now.Deliveries {
			switch {
			case d.Class == core.FailureAuth && d.Channel == last:
				refused++
			case !gone[d.Channel] && d.State != core.DeliveryClosed:
				return false
			}
		}
		return refused > 0
	}, patience, 20*time.Millisecond, "%s went", last)
	require.Equal(t, core.StatusDenied, now.Status)
	for _, d := range now.Deliveries {
		switch {
		case gone[d.Channel]:
			require.NotEqual(t, core.OutcomeReplaced, d.Outcome, "%s went", last)
		case d.Outcome == core.OutcomeFailed:
			require.Equal(t, core.FailureGone, d.Class, "%s went", last)
		default:
			require.Equal(t, core.OutcomeReplaced, d.Outcome, "%s went", last)
		}
	}
}

// logged counts the lines of the log that hold all of the words.
func (w *town) logged(words ...string) int {
	n := 0
	for line := range strings.Lines(w.log.String()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			n++
		}
	}
	return n
}

// pollBeside fetches updates with the bot's token, as a second service with it would.
func (w *town) pollBeside(t *testing.T) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.bot.URL()+"/bot"+w.bot.Token()+"/getUpdates", strings.NewReader("timeout=0"))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// expire presses "Deny with a note" on Slack and on Discord, and lets the time pass in
// which a dialog may be opened.
func (w *town) expire(ctx context.Context, t *testing.T, title string) {
	t.Helper()
	const label = "Deny with a note"
	hold := w.slack.Script.Add(fakes.Fault{Kind: fakes.FaultHold, Op: fakes.OpAnswer})
	on := w.cardOf(t, core.SurfaceSlack, title, 1)
	press, err := w.slack.Press(fakeslack.Press{User: w.people[1].slack, Message: on.Locator, Label: label})
	require.NoError(t, err)
	<-hold.Hit()
	require.Eventually(t, func() bool { return w.slack.Taken(press) }, patience, 10*time.Millisecond, "it is acknowledged all the same")
	w.slack.Clock.Advance(4 * time.Second)
	hold.Release()
	reply, err := w.slack.AwaitReply(ctx, press)
	require.NoError(t, err)
	require.Contains(t, reply.Text, "nothing was changed")

	hold = w.discord.Script.Add(fakes.Fault{Kind: fakes.FaultHold, Op: fakes.OpAnswer})
	on = w.cardOf(t, core.SurfaceDiscord, title, 1)
	_, err = w.discord.Press(fakediscord.Press{User: w.people[1].discord, Message: on.Locator, Label: label})
	require.NoError(t, err)
	<-hold.Hit()
	w.discord.Clock.Advance(4 * time.Second)
	hold.Release()
}

// storm breaks the receiving side of all three in every way that the fakes know.
func (w *town) storm(t *testing.T) {
	t.Helper()
	for _, kind := range []fakes.FaultKind{fakes.FaultHollow, fakes.FaultUndecodable, fakes.FaultServerError, fakes.FaultResetBefore} {
		w.bot.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpReceive})
	}
	w.pollBeside(t)
	for _, frame := range []string{"", "{", "null", "[]", `{"type":"interactive"}`, `{"op":null}`, `{"op":0,"t":"INTERACTION_CREATE","d":7}`} {
		w.slack.Raw(frame)
	}
	w.slack.Script.Add(fakes.Fault{Kind: fakes.FaultServerError, Op: fakes.OpReceive})
	w.slack.Script.Add(fakes.Fault{Kind: fakes.FaultRateLimit, Op: fakes.OpReceive, Delay: time.Second})
	w.slack.Refresh()
	w.slack.Cut()
	w.discord.Say(`{"op":0,"t":"INTERACTION_CREATE","d":7}`)
	w.discord.Say(`{"op":0,"t":"MESSAGE_CREATE","d":{}}`)
	w.discord.Script.Add(fakes.Fault{Kind: fakes.FaultServerError, Op: fakes.OpReceive})
	w.discord.Say("{")
}

// Dialogs that come too late decide nothing. Second pollers, undecodable updates and
// frames, and connections that break lose no decision and block nobody behind them. A
// decision whose answer is lost stands all the same, and the same press handed out
// again changes nothing (conformance 93, 99, 100; field reports D).
func TestTogetherThroughFaultsOfReceiving(t *testing.T) {
	t.Parallel()
	w := settle(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	const title = "Hard to hear"
	a := w.asked(t, title, places)
	w.expire(ctx, t, title)
	w.storm(t)
	w.listening(t)
	for _, on := range []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord} {
		c := w.cardOf(t, on, title, 2)
		told, err := w.click(ctx, &c, w.people[2], "nobody's button")
		require.NoError(t, err)
		require.Equal(t, presentation.AnswerNotOurs, told, "%s hears again", on)
	}
	require.Equal(t, core.StatusPending, w.get(t, a.ID).Status)

	lost := w.bot.Script.Add(fakes.Fault{Kind: fakes.FaultReject, Op: fakes.OpAnswer})
	onTelegram := w.cardOf(t, core.SurfaceTelegram, title, 0)
	press := fake.Press{User: w.people[0].telegram, Message: onTelegram.Locator, Data: onTelegram.payload("Deny")}
	query, err := w.bot.Press(press)
	require.NoError(t, err)
	<-lost.Hit()
	w.ended(t, a.ID)
	require.NoError(t, w.bot.Redeliver(query, press))
	again, err := w.bot.AwaitReply(ctx, query)
	require.NoError(t, err)
	require.Contains(t, again.Text, "You had already denied this")
	for _, on := range []core.Surface{core.SurfaceSlack, core.SurfaceDiscord} {
		told, err := w.say(ctx, on, w.people[1], "deny "+a.ID, map[string]string{"id": a.ID})
		require.NoError(t, err)
		require.Contains(t, told, "Already decided: denied by Ann on Telegram")
	}
	w.converged(t, a.ID)
	w.obeyed(t)
	records, ledger := w.kept(t)
	kept, err := records.Approval(t.Context(), core.Lookup{ID: a.ID})
	require.NoError(t, err)
	rows, err := ledger.DeliveriesOf(t.Context(), a.ID)
	require.NoError(t, err)
	w.truthful(t, &kept, rows)
}
