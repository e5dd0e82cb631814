package deliveries_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/deliveries"
)

var slackBot = core.AccountRef{Channel: core.SurfaceSlack, Account: "T.A"}

// directory is a book of people with devices, in memory.
type directory struct {
	people   []core.Principal
	links    []core.Identity
	owners   []string
	sessions map[string][]core.Session
	open     bool
	broken   []core.BrokenRoute
	err      error
}

func (d *directory) BrokenRoutes(context.Context) ([]core.BrokenRoute, error) {
	return d.broken, d.err
}

// breaks marks a destination as broken for one more second.
func (d *directory) breaks(ref core.AccountRef, destination string) {
	d.broken = append(d.broken, core.BrokenRoute{
		Ref: ref, Destination: destination, Class: core.FailureGone, Failures: 1, BrokenAt: 500, RetryAt: 2_000,
	})
}

func (d *directory) ListPrincipals(context.Context) ([]core.Principal, error) {
	return slices.Clone(d.people), d.err
}

func (d *directory) IdentitiesOf(_ context.Context, ids ...string) ([]core.Identity, error) {
	var out []core.Identity
	for _, l := range d.links {
		if len(ids) == 0 || slices.Contains(ids, l.PrincipalID) {
			out = append(out, l)
		}
	}
	return out, d.err
}

func (d *directory) Owners(context.Context, string, string) ([]string, error) { return d.owners, d.err }

func (d *directory) SessionsOf(_ context.Context, id string) ([]core.Session, error) {
	return d.sessions[id], d.err
}

func (d *directory) BootstrapOpen(context.Context) (bool, error) { return d.open, d.err }

func (d *directory) Now(context.Context) (core.Millis, error) { return 1_000, d.err }

func planner(d *directory, c deliveries.RoutesConfig) *deliveries.Planner {
	n := 0
	return deliveries.NewPlanner(c, deliveries.RoutesDeps{
		People: d, Sessions: d, Codes: d, Clock: d, Broken: d, Logger: slog.New(slog.DiscardHandler),
		NewID: func() string { n++; return fmt.Sprintf("d%d", n) },
	})
}

func both(chats ...string) deliveries.RoutesConfig {
	return deliveries.RoutesConfig{Accounts: []deliveries.Account{{Ref: bot, Chats: chats}, {Ref: slackBot}}}
}

func link(who string, ref core.AccountRef, address string) core.Identity {
	return core.Identity{PrincipalID: who, Channel: ref.Channel, Account: ref.Account, DirectChat: address}
}

func planOf(t *testing.T, p *deliveries.Planner, a *core.Approval) approvals.Plan {
	t.Helper()
	plan, err := p.Plan(t.Context(), a)
	require.NoError(t, err)
	return plan
}

func destinations(plan []core.PlannedDelivery) []string {
	out := []string{}
	for _, d := range plan {
		out = append(out, string(d.Channel)+" "+d.Destination)
	}
	return out
}

// team is an admin, two reviewers, a viewer and somebody disabled.
func team() *directory {
	return &directory{
		people: []core.Principal{
			{ID: "admin", Role: core.RoleAdmin},
			{ID: "gone", Role: core.RoleAdmin, Disabled: true},
			{ID: "r1", Role: core.RoleReviewer},
			{ID: "r2", Role: core.RoleReviewer},
			{ID: "viewer", Role: core.RoleViewer},
		},
		links: []core.Identity{
			link("admin", bot, "10"), link("gone", bot, "11"), link("r1", bot, "12"), link("r1", slackBot, "D1"),
			link("r2", bot, "13"), link("viewer", bot, "14"),
		},
		owners: []string{"r1"},
	}
}

// Conformance 47, 48, 103, 104: everyone who may decide is told in every direct
// chat, and the listed chats are told, each address once.
func TestPlan(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change   func(d *directory)
		approval core.Approval
		chats    []string
		want     []string
	}{
		"owners and admins": {want: []string{"telegram person:admin", "telegram person:r1", "slack person:r1"}},
		"explicit reviewers": {
			approval: core.Approval{Reviewers: []string{"r2"}},
			want:     []string{"telegram person:admin", "telegram person:r2"},
		},
		"an empty list means admins only": {
			approval: core.Approval{Reviewers: []string{}}, want: []string{"telegram person:admin"},
		},
		"requester left out": {
			approval: core.Approval{RequestedBy: "r1", ExcludeRequester: true}, want: []string{"telegram person:admin"},
		},
		"listed chats, once each, and no direct chat twice": {
			chats: []string{"-5", "-5", "10", ""},
			want:  []string{"telegram person:admin", "telegram person:r1", "slack person:r1", "telegram chat:-5"},
		},
		"no direct chat, no row": {
			change: func(d *directory) { d.links = []core.Identity{link("admin", bot, "")} }, want: []string{},
		},
		"a bot that is not ours": {
			change: func(d *directory) {
				d.links = []core.Identity{link("admin", core.AccountRef{Channel: core.SurfaceTelegram, Account: "2"}, "10")}
			},
			want: []string{},
		},
		"a broken chat is left out while another works": {
			change: func(d *directory) { d.breaks(bot, "person:r1") },
			want:   []string{"telegram person:admin", "slack person:r1"},
		},
		"a broken chat is tried where it is the only one": {
			change: func(d *directory) { d.breaks(bot, "person:admin") },
			want:   []string{"telegram person:admin", "telegram person:r1", "slack person:r1"},
		},
		"a broken chat is tried again when its time has come": {
			change: func(d *directory) { d.breaks(bot, "person:r1"); d.broken[0].RetryAt = 1_000 },
			want:   []string{"telegram person:admin", "telegram person:r1", "slack person:r1"},
		},
		"a broken shared chat is left out": {
			change: func(d *directory) { d.breaks(bot, "chat:-5") }, chats: []string{"-5", "-6"},
			want: []string{"telegram person:admin", "telegram person:r1", "slack person:r1", "telegram chat:-6"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := team()
			if test.change != nil {
				test.change(d)
			}
			plan := planOf(t, planner(d, both(test.chats...)), &test.approval)
			require.Empty(t, cmp.Diff(test.want, destinations(plan.Deliveries)))
		})
	}
}

func TestPlannedRows(t *testing.T) {
	t.Parallel()
	d := &directory{people: []core.Principal{{ID: "admin", Role: core.RoleAdmin}}, links: []core.Identity{link("admin", bot, "10")}}
	plan := planOf(t, planner(d, both("-5")), &core.Approval{})
	want := []core.PlannedDelivery{
		{ID: "d1", Channel: bot.Channel, Account: bot.Account, Destination: "person:admin", PersonID: "admin"},
		{ID: "d2", Channel: bot.Channel, Account: bot.Account, Destination: "chat:-5", Address: "-5"},
	}
	require.Empty(t, cmp.Diff(want, plan.Deliveries))
}

func TestPageReachable(t *testing.T) {
	t.Parallel()
	live, over := core.Session{ExpiresAt: 2_000}, core.Session{ExpiresAt: 1_000}
	tests := map[string]struct {
		change func(d *directory)
		url    string
		want   bool
	}{
		"nobody signed in":                    {func(*directory) {}, "", false},
		"linked, without a public address":    {func(d *directory) { d.links = team().links }, "", false},
		"linked, with a public address":       {func(d *directory) { d.links = team().links }, "https://s", true},
		"only a viewer is linked":             {func(d *directory) { d.links = team().links[5:] }, "https://s", false},
		"a session that lasts":                {func(d *directory) { d.sessions["r1"] = []core.Session{over, live} }, "", true},
		"a session that is over":              {func(d *directory) { d.sessions["r1"] = []core.Session{over} }, "", false},
		"a session of somebody not entitled":  {func(d *directory) { d.sessions["r2"] = []core.Session{live} }, "", false},
		"a session of somebody disabled":      {func(d *directory) { d.sessions["gone"] = []core.Session{live} }, "", false},
		"the first admin is still to come":    {func(d *directory) { d.people, d.open = nil, true }, "", true},
		"the code lapsed and nobody is there": {func(d *directory) { d.people = nil }, "https://s", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := team()
			d.links, d.sessions = nil, map[string][]core.Session{}
			test.change(d)
			c := both()
			c.PublicURL = test.url
			require.Equal(t, test.want, planOf(t, planner(d, c), &core.Approval{}).PageReachable)
		})
	}
}

// R188: a denial for want of a route says how to fix it, and names nobody.
func TestHint(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change   func(d *directory)
		approval core.Approval
		config   deliveries.RoutesConfig
		want     string
	}{
		"can be asked":                 {config: both()},
		"nobody at all":                {func(d *directory) { d.people = nil }, core.Approval{}, both(), "sign in once with the link"},
		"the first admin is to come":   {func(d *directory) { d.people, d.links, d.open = nil, nil, true }, core.Approval{}, deliveries.RoutesConfig{}, "nobody has signed in yet"},
		"reviewers unknown":            {func(d *directory) { d.people = d.people[2:] }, core.Approval{Reviewers: []string{"x"}}, both(), "given reviewers"},
		"nobody signed in":             {func(d *directory) { d.links = nil }, core.Approval{}, both(), "sayso pair"},
		"linked to a bot that is gone": {func(*directory) {}, core.Approval{}, deliveries.RoutesConfig{}, "set public_url"},
		"push wanted, no messenger":    {func(d *directory) { d.open = true }, core.Approval{RequirePush: true}, deliveries.RoutesConfig{}, "no messenger is configured"},
		"push wanted, no chat":         {func(d *directory) { d.open, d.links = true, nil }, core.Approval{RequirePush: true}, both(), "without require_push"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := team()
			if test.change != nil {
				test.change(d)
			}
			hint := planOf(t, planner(d, test.config), &test.approval).Hint
			if test.want == "" {
				require.Empty(t, hint)
				return
			}
			require.Contains(t, hint, test.want)
		})
	}
}

func TestUnreadableDirectoryIsAnError(t *testing.T) {
	t.Parallel()
	d := team()
	d.err = errors.New("away")
	_, err := planner(d, both()).Plan(t.Context(), &core.Approval{})
	require.ErrorIs(t, err, d.err)
	for _, failed := range []core.Delivery{row("d", bot, "person:r1"), row("d", bot, "chat:-5")} {
		config := both()
		config.Rules = []deliveries.Rule{{To: deliveries.Targets{Chats: []deliveries.Chat{{Ref: bot, Address: "-5"}}}, Fallback: true}}
		_, err = planner(d, config).NextRoute(t.Context(), &core.Approval{}, &failed, nil)
		require.ErrorIs(t, err, d.err)
	}
}
