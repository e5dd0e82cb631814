package app_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	fakediscord "github.com/saysohq/sayso/channels/fakes/discord"
	fakeslack "github.com/saysohq/sayso/channels/fakes/slack"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// chat is a town and the time that one story in its chats has.
type chat struct {
	*town
	ctx context.Context
	t   *testing.T
}

func chats(t *testing.T) *chat {
	t.Helper()
	w := settle(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	t.Cleanup(cancel)
	return &chat{w, ctx, t}
}

// everything lists what a platform shows, also to one person alone.
func (c *chat) everything(on core.Surface) []fakes.Message {
	switch on {
	case core.SurfaceTelegram:
		return c.bot.Messages()
	case core.SurfaceSlack:
		return c.slack.Messages()
	default:
		return append(c.discord.Messages(), c.discord.Private()...)
	}
}

// sees waits for the newest message on a platform that holds all of these texts and has
// the button; "" for none at all.
func (c *chat) sees(on core.Surface, button string, texts ...string) fakes.Message {
	c.t.Helper()
	var found fakes.Message
	require.Eventually(c.t, func() bool {
		for _, m := range slices.Backward(c.everything(on)) {
			_, has := m.Button(button)
			lacks := func(text string) bool { return !strings.Contains(m.Text, text) }
			if !slices.ContainsFunc(texts, lacks) && (has || button == "" && len(m.Buttons) == 0) {
				found = m
				return true
			}
		}
		return false
	}, patience, 5e6, "nothing on %s with %q and %q", on, button, texts)
	return found
}

// tap presses a button and returns what the person was told beside the message.
func (c *chat) tap(on core.Surface, by member, m fakes.Message, label string) string {
	c.t.Helper()
	var press string
	var reply fakes.Reply
	var err error
	switch on {
	case core.SurfaceTelegram:
		if press, err = c.bot.Press(fake.Press{User: by.telegram, Message: m.Locator, Label: label}); err == nil {
			reply, err = c.bot.AwaitReply(c.ctx, press)
		}
	case core.SurfaceSlack:
		if press, err = c.slack.Press(fakeslack.Press{User: by.slack, Message: m.Locator, Label: label}); err == nil {
			reply, err = c.slack.AwaitReply(c.ctx, press)
		}
	default:
		if press, err = c.discord.Press(fakediscord.Press{User: by.discord, Message: m.Locator, Label: label}); err == nil {
			reply, err = c.discord.AwaitReply(c.ctx, press)
		}
	}
	require.NoError(c.t, err)
	return reply.Text
}

// surfaces are the three, in the order of their people: Ann on Telegram, Bea on Slack,
// Cem on Discord.
func surfaces() []core.Surface {
	return []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord}
}

// request asks for a fetch by an agent.
func request(title, address string) string {
	return fmt.Sprintf(`{"kind":"plugin","title":%q,"agent":"Claude","operation":{"tool":"WebFetch","arguments":{"url":%q}}}`, title, address)
}

// R51, R52, R75: on each messenger somebody changes the mode of an agent, somebody else's
// menu of before gets what it is now, and a rule that a card made is taken back.
func TestModesAndRulesInTheChats(t *testing.T) {
	t.Parallel()
	c := chats(t)
	a := c.shown(t, c.ask(t, request("Fetch the news", "https://news.example.com/a")))
	require.NotNil(t, a.AlwaysOffer)
	modes := []string{"Before everything", "Only money and deletes", "Before anything outside"}
	for i, on := range surfaces() {
		by, late := c.people[i], c.people[(i+1)%3]
		stale := surfaces()[(i+1)%3]
		for _, who := range []struct {
			on core.Surface
			by member
		}{{on, by}, {stale, late}} {
			_, err := c.say(c.ctx, who.on, who.by, "mode", nil)
			require.NoError(t, err)
		}
		shown, old := c.sees(on, modes[i], "Claude on local has the mode"), c.sees(stale, modes[i], "Claude on local has the mode")
		c.tap(on, by, shown, modes[i])
		c.sees(on, "", "Claude on local now has the mode “"+modes[i]+"”")
		c.tap(stale, late, old, modes[(i+1)%3]) // Which the menu had, or shows now.
		c.sees(stale, "Close", "Somebody else changed it meanwhile", "“"+modes[i]+"”")
	}

	card := c.sees(core.SurfaceSlack, "Always allow "+a.AlwaysOffer.Label, "Fetch the news", "Always covers")
	c.tap(core.SurfaceSlack, c.people[1], card, "Always allow "+a.AlwaysOffer.Label)
	for _, on := range surfaces() {
		c.sees(on, "", "Fetch the news", "Now allowed without asking", a.AlwaysOffer.Label)
	}
	unasked := send[api.Asked](t, c.running, http.StatusCreated, call{method: http.MethodPost, path: "/v1/approvals", body: request("Fetch more", "https://news.example.com/b")})
	require.Equal(t, api.VerdictAllow, unasked.Verdict, "the rule covers it")

	for i, on := range surfaces() {
		_, err := c.say(c.ctx, on, c.people[i], "rules", nil)
		require.NoError(t, err)
		list := c.sees(on, "Take back 1", "Claude on local may do without asking:", a.AlwaysOffer.Label, "by Bea", "used once")
		c.tap(on, c.people[i], list, "Take back 1")
		c.sees(on, "Yes, take it back", "Take back “"+a.AlwaysOffer.Label+"”?")
	}
	c.tap(core.SurfaceDiscord, c.people[2], c.sees(core.SurfaceDiscord, "Yes, take it back"), "Yes, take it back")
	c.sees(core.SurfaceDiscord, "", "Taken back: “"+a.AlwaysOffer.Label+"”.")
	c.tap(core.SurfaceTelegram, c.people[0], c.sees(core.SurfaceTelegram, "Yes, take it back"), "Yes, take it back")
	c.sees(core.SurfaceTelegram, "", "was taken back before, by Cem")
	asked := send[api.Asked](t, c.running, http.StatusCreated, call{method: http.MethodPost, path: "/v1/approvals", body: request("Fetch again", "https://news.example.com/c")})
	require.Equal(t, api.VerdictAsk, asked.Verdict, "the rule is gone with the next call")
	require.NotContains(t, c.log.String(), "Claude", "the log holds no content")
}

// K34: an action that was declined is declined without asking until somebody presses
// Re-open on any of its cards, on any messenger.
func TestDeclinedActionIsReopenedFromACard(t *testing.T) {
	t.Parallel()
	c := chats(t)
	for i, on := range surfaces() {
		address := fmt.Sprintf("https://example.com/%d", i)
		title := fmt.Sprintf("Fetch page %d", i)
		c.shown(t, c.ask(t, request(title, address)))
		card := c.sees(core.SurfaceTelegram, "Deny", title)
		c.tap(core.SurfaceTelegram, c.people[0], card, "Deny")
		settled := c.sees(on, "Re-open", title, "the same is declined unasked")
		again := send[api.Asked](t, c.running, http.StatusCreated, call{method: http.MethodPost, path: "/v1/approvals", body: request(title, address)})
		require.Equal(t, api.VerdictDeny, again.Verdict)
		require.Equal(t, core.ReasonStickyDecline, again.Approval.Reason)

		require.Contains(t, c.tap(on, c.people[i], settled, "Re-open"), "Re-opened by you, ")
		again = send[api.Asked](t, c.running, http.StatusCreated, call{method: http.MethodPost, path: "/v1/approvals", body: request(title, address)})
		require.Equal(t, api.VerdictAsk, again.Verdict)
	}
}

// mayHave asks, lets it be allowed and claimed, and reports that nobody knows what became
// of it.
func (c *chat) mayHave(title, address string) {
	c.t.Helper()
	a := c.shown(c.t, c.ask(c.t, request(title, address)))
	c.tap(core.SurfaceTelegram, c.people[0], c.sees(core.SurfaceTelegram, "Allow once", title), "Allow once")
	const token = "a-token-of-the-runner"
	path := "/v1/approvals/" + a.ID
	send[api.Answer](c.t, c.running, http.StatusOK, call{
		method: http.MethodPost, path: path + "/claim", body: encode(c.t, api.Claim{ActionHash: a.ActionHash, Token: token}),
	})
	send[api.Answer](c.t, c.running, http.StatusOK, call{
		method: http.MethodPost, path: path + "/outcome", body: encode(c.t, api.Report{Token: token, Outcome: core.ExecutionUnknown}),
	})
}

// updates claims what the agent has not heard of.
func (c *chat) updates(token string) []api.Update {
	c.t.Helper()
	return send[api.Updates](c.t, c.running, http.StatusOK, call{
		method: http.MethodPost, path: "/v1/agents/Claude/updates/claim", body: encode(c.t, api.ClaimUpdates{Token: token}),
	}).Updates
}

// R86, R108: what may have happened says so on every card and is dismissed on any of
// them; where a program listens it may be asked for again, behind a second yes that is
// for whoever pressed, and the program hears of it. Then every card says who did what.
func TestWhatMayHaveHappenedInTheChats(t *testing.T) {
	t.Parallel()
	c := chats(t)
	c.mayHave("Fetch quietly", "https://example.com/quiet")
	for i, on := range surfaces() {
		m := c.sees(on, "Dismiss", "Fetch quietly", "May have happened: allowed once by ")
		_, again := m.Button("Ask again")
		require.False(t, again, "no program listens")
		if i == 2 {
			require.Contains(t, c.tap(on, c.people[i], m, "Dismiss"), "Dismissed. ")
		}
	}
	for _, on := range surfaces() {
		c.sees(on, "", "Fetch quietly", "May have happened: ", "Dismissed by ")
	}

	require.Empty(t, c.updates("the-first-token-of-many"))
	for i, on := range surfaces() {
		title := fmt.Sprintf("Fetch page %d", i)
		c.mayHave(title, fmt.Sprintf("https://example.com/%d", i))
		card := c.sees(on, "Ask again", title, "May have happened: ")
		c.tap(on, c.people[i], card, "Ask again")
		asks := c.sees(on, "Yes, ask again", title, "It may have happened already, so look first.")
		c.tap(on, c.people[i], asks, "Yes, ask again")
		c.sees(on, "", "Asked for: the agent's program is told to make a new request.")
		for _, each := range surfaces() {
			c.sees(each, "Dismiss", title, "Asked for again by ")
		}
		heard := c.updates(fmt.Sprintf("another-token-of-many-%d", i))
		require.Len(t, heard, 1)
		require.Equal(t, core.UpdateKind("ask-again"), heard[0].Kind)
	}
}
