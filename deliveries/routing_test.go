package deliveries_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// general reads "<chat>/1" as "<chat>", and nothing but digits, a dash and a slash.
func general(address string) (string, bool) {
	if address == "" || strings.Trim(address, "-/0123456789") != "" {
		return "", false
	}
	return strings.TrimSuffix(address, "/1"), true
}

// routing is two bots with the given table.
func routing(rules ...deliveries.Rule) deliveries.RoutesConfig {
	return deliveries.RoutesConfig{Rules: rules, Accounts: []deliveries.Account{
		{Ref: bot, Chats: []string{"-9"}, Origins: []string{"-5", "-6/7"}, Canonical: general},
		{Ref: slackBot, Chats: []string{"C9"}},
	}}
}

func chats(addresses ...string) deliveries.Targets {
	var to deliveries.Targets
	for _, address := range addresses {
		to.Chats = append(to.Chats, deliveries.Chat{Ref: bot, Address: address})
	}
	return to
}

// Conformance 103, 104: origin, shared chats, direct chats, all of them, and each
// place once.
func TestRoutesPlan(t *testing.T) {
	t.Parallel()
	money := deliveries.Match{Classes: []core.Class{core.ClassMoney}}
	origin := deliveries.Targets{Origin: true}
	direct := []string{"telegram person:admin", "telegram person:r1", "slack person:r1"}
	tests := map[string]struct {
		rules   []deliveries.Rule
		class   core.Class
		session string
		change  func(d *directory)
		push    bool
		want    []string
	}{
		"the default where nothing fits": {
			rules: []deliveries.Rule{{Match: money, To: chats("-1")}},
			want:  append(append([]string{}, direct...), "telegram chat:-9", "slack chat:C9"),
		},
		"the first that fits wins": {
			rules: []deliveries.Rule{{Match: money, To: chats("-1")}, {To: chats("-2")}},
			class: core.ClassMoney, want: []string{"telegram chat:-1"},
		},
		"two spellings of one chat are one card": {
			rules: []deliveries.Rule{{To: chats("-1", "-1/1", "-1/2")}},
			want:  []string{"telegram chat:-1", "telegram chat:-1/2"},
		},
		"a named chat that is listed and the origin too is one card": {
			rules:   []deliveries.Rule{{To: deliveries.Targets{Listed: true, Origin: true, Chats: []deliveries.Chat{{Ref: bot, Address: "-9"}, {Ref: bot, Address: "-5"}}}}},
			session: "telegram:1:-5", want: []string{"telegram chat:-9", "telegram chat:-5", "slack chat:C9"},
		},
		"a direct chat that is named is one card": {
			rules: []deliveries.Rule{{To: deliveries.Targets{Approvers: true, Chats: chats("12").Chats}}}, want: direct,
		},
		"the page alone":                 {rules: []deliveries.Rule{{}}, want: []string{}},
		"the origin":                     {rules: []deliveries.Rule{{To: origin}}, session: "telegram:1:-5", want: []string{"telegram chat:-5"}},
		"a topic of an allowed chat":     {rules: []deliveries.Rule{{To: origin}}, session: "telegram:1:-5/3", want: []string{"telegram chat:-5/3"}},
		"an allowed topic":               {rules: []deliveries.Rule{{To: origin}}, session: "telegram:1:-6/7", want: []string{"telegram chat:-6/7"}},
		"another topic":                  {rules: []deliveries.Rule{{To: origin}}, session: "telegram:1:-6/8", want: []string{}},
		"a chat that begins alike":       {rules: []deliveries.Rule{{To: origin}}, session: "telegram:1:-55", want: []string{}},
		"an origin that is not allowed":  {rules: []deliveries.Rule{{To: origin}}, session: "telegram:1:-9", want: []string{}},
		"an origin of another bot":       {rules: []deliveries.Rule{{To: origin}}, session: "telegram:2:-5", want: []string{}},
		"an origin of no form":           {rules: []deliveries.Rule{{To: origin}}, session: "agent:main:chat", want: []string{}},
		"an origin without an address":   {rules: []deliveries.Rule{{To: origin}}, session: "telegram:1:", want: []string{}},
		"an origin that is no address":   {rules: []deliveries.Rule{{To: origin}}, session: "telegram:1:-5/x", want: []string{}},
		"an account without origins":     {rules: []deliveries.Rule{{To: origin}}, session: "slack:T.A:C9", want: []string{}},
		"no origin, and a fallback":      {rules: []deliveries.Rule{{To: origin, Fallback: true}}, session: "x", want: direct},
		"a fallback that is not needed":  {rules: []deliveries.Rule{{To: chats("-1"), Fallback: true}}, want: []string{"telegram chat:-1"}},
		"a broken chat with a fallback":  {rules: []deliveries.Rule{{To: chats("-1", "-2"), Fallback: true}}, change: brokenChat, want: append(append([]string{}, direct...), "telegram chat:-2")},
		"a broken chat without":          {rules: []deliveries.Rule{{To: chats("-1", "-2")}}, change: brokenChat, want: []string{"telegram chat:-2"}},
		"the only chat, and the page":    {rules: []deliveries.Rule{{To: chats("-1")}}, change: signedIn, want: []string{}},
		"the only chat, and no page":     {rules: []deliveries.Rule{{To: chats("-1")}}, change: brokenChat, want: []string{"telegram chat:-1"}},
		"the only chat of a wanted push": {rules: []deliveries.Rule{{To: chats("-1")}}, change: signedIn, push: true, want: []string{"telegram chat:-1"}},
		"a chat of a bot that is gone":   {rules: []deliveries.Rule{{To: deliveries.Targets{Chats: []deliveries.Chat{{Ref: core.AccountRef{Channel: "discord", Account: "1"}, Address: "1"}}}}}, want: []string{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := team()
			if test.change != nil {
				test.change(d)
			}
			plan := planOf(t, planner(d, routing(test.rules...)), &core.Approval{
				Class: test.class, SessionKey: test.session, RequirePush: test.push,
			})
			require.Empty(t, cmp.Diff(test.want, destinations(plan.Deliveries)))
		})
	}
}

func brokenChat(d *directory) { d.breaks(bot, "chat:-1") }

func signedIn(d *directory) {
	brokenChat(d)
	d.sessions = map[string][]core.Session{"r1": {{ExpiresAt: 2_000}}}
}

// One person's chats one after the other: the order of the rule, what is broken
// left out, each step a fixed time after the one before.
func TestEscalationPlan(t *testing.T) {
	t.Parallel()
	second := core.AccountRef{Channel: core.SurfaceDiscord, Account: "3"}
	tests := map[string]struct {
		order  []core.Surface
		change func(d *directory)
		want   []string
	}{
		"as ordered":            {order: []core.Surface{"slack", "telegram"}, want: []string{"slack+0", "telegram+60000", "discord+120000"}},
		"what is not listed":    {order: []core.Surface{"discord"}, want: []string{"discord+0", "telegram+60000", "slack+120000"}},
		"all at once":           {want: []string{"telegram+0", "slack+0", "discord+0"}},
		"without the broken":    {order: []core.Surface{"slack", "telegram"}, change: func(d *directory) { d.breaks(slackBot, "person:r1") }, want: []string{"telegram+0", "discord+60000"}},
		"a channel nobody uses": {order: []core.Surface{"cli", "slack"}, change: func(d *directory) { d.links = d.links[3:4] }, want: []string{"slack+0"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := team()
			d.links = append(d.links, link("r1", second, "D3"))
			if test.change != nil {
				test.change(d)
			}
			rule := deliveries.Rule{To: deliveries.Targets{Approvers: true}, Order: test.order, EscalateAfter: time.Minute}
			config := routing(rule)
			config.Accounts = append(config.Accounts, deliveries.Account{Ref: second})
			var got []string
			for _, row := range planOf(t, planner(d, config), &core.Approval{}).Deliveries {
				if row.PersonID == "r1" {
					got = append(got, fmt.Sprintf("%s+%d", row.Channel, row.After))
				}
			}
			require.Empty(t, cmp.Diff(test.want, got))
		})
	}
}

// K17, R188: a rule that reaches nobody says which rule it was about.
func TestRoutingHints(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule deliveries.Rule
		push bool
		want string
	}{
		"the origin is not allowed":    {rule: deliveries.Rule{To: deliveries.Targets{Origin: true}}, want: "list it under origins"},
		"the page alone, and a push":   {push: true, want: "on the page alone"},
		"the page that nobody reaches": {want: "on the page"},
	} {
		d := team()
		plan := planOf(t, planner(d, routing(test.rule)), &core.Approval{RequirePush: test.push, SessionKey: "telegram:1:-9"})
		require.Empty(t, plan.Deliveries, name)
		require.Contains(t, plan.Hint, test.want, name)
		require.NotContains(t, plan.Hint, "-9", name)
	}
}

// What a machine claims of its session is no authority, and never logged.
func TestUnusedOriginIsLoggedWithoutItsContent(t *testing.T) {
	t.Parallel()
	d, log := team(), &bytes.Buffer{}
	p := deliveries.NewPlanner(routing(deliveries.Rule{Name: "ops", To: deliveries.Targets{Origin: true}}), deliveries.RoutesDeps{
		People: d, Sessions: d, Codes: d, Clock: d, Broken: d, NewID: func() string { return "d" },
		Logger: slog.New(slog.NewJSONHandler(log, nil)),
	})
	planOf(t, p, &core.Approval{ID: "a-1", SessionKey: "telegram:1:-777"})
	require.Contains(t, log.String(), `"approval":"a-1","rule":"ops","reason":"not-listed"`)
	require.NotContains(t, log.String(), "777")
}
