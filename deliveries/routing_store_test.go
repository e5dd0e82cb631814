package deliveries_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/redact"
	"github.com/saysohq/sayso/core/store/sqlite"
	"github.com/saysohq/sayso/deliveries"
)

// deployment is the service, the planner and the worker on a real store, with two
// fake messengers and one admin who is linked in both.
type deployment struct {
	t        *testing.T
	store    *sqlite.Store
	service  *approvals.Service
	bus      *local.Bus
	telegram *messenger
	slack    *messenger

	mu    sync.Mutex
	shift time.Duration
}

func (d *deployment) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Add(d.shift)
}

// pass moves the deployment's clock on and lets the worker look again.
func (d *deployment) pass(by time.Duration) {
	d.mu.Lock()
	d.shift += by
	d.mu.Unlock()
	d.bus.Publish(context.Background(), core.Hint{})
}

// deploy runs everything under the given table until the test ends.
func deploy(t *testing.T, rules ...deliveries.Rule) *deployment {
	t.Helper()
	d := &deployment{t: t, bus: local.New(), telegram: newMessenger(bot), slack: newMessenger(slackBot)}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	d.store, err = sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "sayso.db"), Now: d.now, Log: quiet})
	require.NoError(t, err)
	id := func() string { return uuid.Must(uuid.NewV7()).String() }
	ledger := d.store.Ledger()
	planner := deliveries.NewPlanner(routing(rules...), deliveries.RoutesDeps{
		People: d.store, Sessions: d.store, Codes: d.store, Broken: d.store, Clock: d.store, NewID: id, Logger: quiet,
	})
	redactor := redact.New()
	d.service = approvals.New(approvals.Config{}, approvals.Deps{
		Store: d.store, Owners: d.store, People: d.store, Evaluator: policy.AskAlways{}, Describer: redactor,
		Planner: planner, Publisher: d.bus, Hints: d.bus, Observer: uncounted{}, Logger: quiet, NewID: id,
	})
	metrics, err := deliveries.NewMetrics(prometheus.NewRegistry(), core.SurfaceTelegram, core.SurfaceSlack)
	require.NoError(t, err)
	worker := deliveries.New(deliveries.Config{Name: "worker"}, deliveries.Deps{
		Store: ledger, Rows: ledger, Convergence: ledger, Records: d.store, People: d.store, Router: planner,
		Broken: d.store, Cards: d.store, Clock: d.store, Hints: d.bus, Publisher: d.bus, Channels: []channels.Channel{d.telegram, d.slack},
		Card: card, Metrics: metrics, Logger: quiet, Now: d.now,
	})
	ctx, cancel := context.WithCancel(context.Background())
	storing, stopStore := context.WithCancel(context.Background())
	var running, stored sync.WaitGroup
	stored.Go(func() { _ = d.store.Run(storing) })
	running.Go(func() { _ = worker.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		stopStore()
		stored.Wait()
		require.NoError(t, d.store.Close())
	})
	d.admit()
	return d
}

func (d *deployment) admit() {
	_, err := d.store.AddPrincipal(d.t.Context(), core.Principal{ID: "ann", Name: "Ann", Role: core.RoleAdmin})
	require.NoError(d.t, err)
	for _, i := range []core.Identity{
		{Realm: "telegram", ExternalID: "10", PrincipalID: "ann", Channel: bot.Channel, Account: bot.Account, DirectChat: "10"},
		{Realm: "slack:T", ExternalID: "U1", PrincipalID: "ann", Channel: slackBot.Channel, Account: slackBot.Account, DirectChat: "D1"},
	} {
		require.NoError(d.t, d.store.LinkIdentity(d.t.Context(), i))
	}
}

// signIn lets Ann reach the page.
func (d *deployment) signIn() {
	_, err := d.store.StartSession(d.t.Context(), core.Session{
		ID: "s", Hash: "h", PrincipalID: "ann", Kind: core.SessionBrowser,
	}, 7*24*60*60*1_000)
	require.NoError(d.t, err)
}

// ask asks as a machine does.
func (d *deployment) ask(edit func(*approvals.Ask)) approvals.Asked {
	d.t.Helper()
	ask := approvals.Ask{
		Kind: core.KindPlugin, Title: "Builder wants to send a message", Agent: "builder",
		Operation: approvals.AskOperation{Type: "tool.call", Tool: "mail", Name: "send", Arguments: []byte(`{}`)},
	}
	if edit != nil {
		edit(&ask)
	}
	token := &core.Token{ID: "t", Runtime: "ci", Scopes: []core.Scope{core.ScopeRequest}}
	asked, err := d.service.Ask(d.t.Context(), core.Caller{Token: token}, ask)
	require.NoError(d.t, err)
	return asked
}

func push(a *approvals.Ask) { a.RequirePush = true }

func (d *deployment) rows(id string) []core.Delivery {
	rows, err := d.store.Ledger().DeliveriesOf(d.t.Context(), id)
	require.NoError(d.t, err)
	return rows
}

// becomes waits until the rows of an approval are exactly these, by destination;
// the order is that of planning.
func (d *deployment) becomes(id string, want ...string) {
	d.t.Helper()
	var got []string
	require.Eventually(d.t, func() bool {
		got = nil
		for _, r := range d.rows(id) {
			state := string(r.State)
			if r.State == core.DeliveryClosed {
				state = string(r.Outcome)
			}
			got = append(got, string(r.Channel)+" "+r.Destination+" "+state)
		}
		return slices.Equal(got, want)
	}, 20*time.Second, 2*time.Millisecond, "%v", &got)
}

func (d *deployment) read(id string) core.Approval {
	a, err := d.store.Approval(d.t.Context(), core.Lookup{ID: id})
	require.NoError(d.t, err)
	return a
}

// refuses makes chats ones that are closed to the bot.
func (m *messenger) refuses(addresses ...string) {
	m.onSend(func(to, _ string) error {
		if slices.Contains(addresses, to) {
			return m.fails(core.FailureGone)
		}
		return nil
	})
}

type uncounted struct{}

func (uncounted) Requested(*core.Approval, int) {}
func (uncounted) Raced(string)                  {}

// Conformance 104: a chat that several routes lead to gets one card, also where
// only the platform's own news shows that two addresses are one chat.
func TestRoutesToOneChatAreOneCard(t *testing.T) {
	t.Parallel()
	rule := deliveries.Rule{To: deliveries.Targets{
		Approvers: true, Origin: true, Listed: true, Chats: append(chats("-5", "-5/1", "10", "-9").Chats, chats("-7").Chats...),
	}}
	d := deploy(t, rule)
	d.telegram.onSend(func(to, _ string) error {
		if to == "-7" {
			return &channels.Error{Class: core.FailureMoved, Address: "-5"}
		}
		return nil
	})
	d.slack.refuses("C9")
	asked := d.ask(func(a *approvals.Ask) { a.SessionKey = "telegram:1:-5" })
	d.becomes(asked.Approval.ID, "slack person:ann open", "telegram person:ann open",
		"telegram chat:-5 open", "telegram chat:-9 open", "telegram chat:-7 duplicate", "slack chat:C9 failed")
	again := d.ask(func(a *approvals.Ask) { a.SessionKey = "telegram:1:-5/1" })
	d.becomes(again.Approval.ID, "slack person:ann open", "telegram person:ann open",
		"telegram chat:-5 open", "telegram chat:-9 open", "telegram chat:-7 duplicate")
}

// Conformance 103, field reports C: a broken chat falls back to direct messages
// where its rule allows that, is left alone for a while, and is used again when it
// works.
func TestBrokenChatFallsBack(t *testing.T) {
	t.Parallel()
	d := deploy(t, deliveries.Rule{To: chats("-1"), Fallback: true, Order: []core.Surface{core.SurfaceTelegram}, EscalateAfter: time.Hour})
	d.telegram.refuses("-1")
	first := d.ask(push)
	d.becomes(first.Approval.ID, "telegram chat:-1 failed", "telegram person:ann open", "slack person:ann planned")
	second := d.ask(push)
	d.becomes(second.Approval.ID, "telegram person:ann open", "slack person:ann planned")
	require.Equal(t, core.StatusPending, d.read(first.Approval.ID).Status)

	d.pass(2 * time.Minute)
	third := d.ask(push)
	d.becomes(third.Approval.ID, "telegram chat:-1 failed", "telegram person:ann open", "slack person:ann planned")
	routes, err := d.store.BrokenRoutes(t.Context())
	require.NoError(t, err)
	require.Len(t, routes, 1)
	require.Equal(t, int64(2), routes[0].Failures)

	d.telegram.refuses()
	d.pass(10 * time.Minute)
	fourth := d.ask(push)
	d.becomes(fourth.Approval.ID, "telegram chat:-1 open")
	routes, err = d.store.BrokenRoutes(t.Context())
	require.NoError(t, err)
	require.Empty(t, routes)
}

// Conformance 103: without the rule's leave nobody else is told.
func TestBrokenChatWithoutFallback(t *testing.T) {
	t.Parallel()
	d := deploy(t, deliveries.Rule{To: chats("-1")})
	d.signIn()
	d.telegram.refuses("-1")
	asked := d.ask(nil)
	d.becomes(asked.Approval.ID, "telegram chat:-1 failed")
	require.Equal(t, core.StatusPending, d.read(asked.Approval.ID).Status, "the page remains")
	again := d.ask(nil)
	require.Empty(t, d.rows(again.Approval.ID))
	require.Equal(t, core.StatusPending, again.Approval.Status)
	require.Empty(t, d.slack.ops())
}

// K17, R188: where a push is required the page does not count, and a request whose
// routes are all broken is denied: when the last one fails, or at once where there
// is none.
func TestRequirePushWithBrokenRoutes(t *testing.T) {
	t.Parallel()
	pageOnly := deliveries.Rule{Match: deliveries.Match{Agents: []string{"silent"}}}
	d := deploy(t, pageOnly, deliveries.Rule{To: chats("-1", "-2")})
	d.signIn()
	d.telegram.refuses("-1", "-2")
	for range 2 { // Known to be broken or not: hearsay denies nobody.
		asked := d.ask(push)
		require.Equal(t, core.StatusPending, asked.Approval.Status)
		d.becomes(asked.Approval.ID, "telegram chat:-1 failed", "telegram chat:-2 failed")
		got := d.read(asked.Approval.ID)
		require.Equal(t, core.StatusDenied, got.Status)
		require.Equal(t, core.ReasonNoRoute, got.Reason)
	}
	d.telegram.refuses("-1")
	asked := d.ask(push)
	d.becomes(asked.Approval.ID, "telegram chat:-1 failed", "telegram chat:-2 open")
	require.Equal(t, core.StatusPending, d.read(asked.Approval.ID).Status)

	asked = d.ask(func(a *approvals.Ask) { a.Agent, a.RequirePush = "silent", true })
	require.Equal(t, core.ReasonNoRoute, asked.Approval.Reason, "at once")
	require.Contains(t, asked.Hint, "on the page alone")
	require.Empty(t, d.rows(asked.Approval.ID))
}

// One person's chats one after the other: the next when nobody answered, at once
// when the first fails, never when the answer came before.
func TestEscalation(t *testing.T) {
	t.Parallel()
	d := deploy(t, deliveries.Rule{
		To: deliveries.Targets{Approvers: true}, Order: []core.Surface{core.SurfaceSlack}, EscalateAfter: 5 * time.Minute,
	})
	silent, answered := d.ask(push), d.ask(push)
	for _, a := range []approvals.Asked{silent, answered} {
		d.becomes(a.Approval.ID, "slack person:ann open", "telegram person:ann planned")
	}
	ann, err := d.store.Principal(t.Context(), "ann")
	require.NoError(t, err)
	done, err := d.service.Resolve(t.Context(), approvals.Resolve{
		Caller: core.Caller{Person: &ann, Surface: core.SurfacePage},
		Lookup: core.Lookup{ID: answered.Approval.ID}, Kind: core.KindPlugin, Decision: core.DecisionDeny,
	})
	require.NoError(t, err)
	require.True(t, done.Applied)
	d.becomes(answered.Approval.ID, "slack person:ann replaced", "telegram person:ann skipped")
	require.Empty(t, d.telegram.ops())

	d.pass(5 * time.Minute)
	d.becomes(silent.Approval.ID, "slack person:ann open", "telegram person:ann open")

	d.slack.refuses("D1")
	failed := d.ask(push)
	d.becomes(failed.Approval.ID, "slack person:ann failed", "telegram person:ann open")
	next := d.ask(push)
	d.becomes(next.Approval.ID, "telegram person:ann open")
}
