package app_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/config"
)

const (
	workshop = int64(-1_002_000_000_000) // A forum; its topics are allowed as origins.
	topic    = 7
)

// routed is a table whose first rule asks where the work was started, with the
// default behind it.
func routed(c *config.Config, bot *fake.Server) {
	bot.AddGroup(workshop, "workshop")
	bot.AddTopic(workshop, topic)
	c.Telegram[0].Origins = []string{strconv.FormatInt(workshop, 10)}
	c.Routes = []config.Route{{
		Name: "workshop", Match: config.RouteMatch{Agent: []string{"books*"}}, To: []string{"origin"}, Fallback: "approvers",
	}}
}

// cards lists where the bot shows a text, in the order of showing.
func (r *running) cards(text string) []string {
	var places []string
	for _, m := range r.bot.Messages() {
		if strings.Contains(m.Text, text) {
			places = append(places, m.Address)
		}
	}
	return places
}

// Conformance 103, 106: the table of the configuration, from the request to the
// chats: the origin with its topic, direct messages where it cannot be used, and
// what no rule fits as before.
func TestRoutesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	r := start(t, folder(t), routed)
	r.signIn(t, "Ann")
	r.link(t)
	session := func(chat int64) string { return fmt.Sprintf("telegram:%d:%d/%d", r.bot.BotID(), chat, topic) }
	direct, shared, here := strconv.FormatInt(ann, 10), strconv.FormatInt(team, 10), fmt.Sprintf("%d/%d", workshop, topic)
	for _, step := range []struct {
		name, agent, session string
		before               func()
		want                 []string
	}{
		{name: "where it came from", agent: "books", session: session(workshop), want: []string{here}},
		{name: "a chat that is not allowed", agent: "books", session: session(team), want: []string{direct}},
		{
			name: "the bot was removed", agent: "books", session: session(workshop), want: []string{direct},
			before: func() { r.bot.Change(workshop, func(c *fake.Chat) { c.Kicked = true }) },
		},
		{name: "known to be broken", agent: "books-2", session: session(workshop), want: []string{direct}},
		{name: "another agent", agent: "mail", session: session(workshop), want: []string{direct, shared}},
	} {
		if step.before != nil {
			step.before()
		}
		r.ask(t, fmt.Sprintf(`{"kind":"plugin","title":%q,"agent":%q,"session_key":%q,"require_push":true,
			"operation":{"type":"tool.call","tool":"mail","operation":"send","arguments":{"step":%q}}}`,
			step.name, step.agent, step.session, step.name))
		require.Eventually(t, func() bool { return len(r.cards(step.name)) >= len(step.want) }, patience, 10*time.Millisecond, step.name)
		require.ElementsMatch(t, step.want, r.cards(step.name), step.name)
	}
	require.Equal(t, 1, strings.Count(r.log.String(), "route broken"))
	require.Equal(t, 1, strings.Count(r.log.String(), "origin chat not used"))
}
