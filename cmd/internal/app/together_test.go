package app_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/presentation"
)

// places is where a town shows each question: the direct chats of three people on three
// platforms, and five shared ones.
const places = 3*3 + 5

// given is one answer that somebody gave, and what they were told.
type given struct {
	by       member
	decision core.Decision
	told     string // By a messenger; "" elsewhere.
	won      bool   // It was told to be the one that decided.
	settled  bool   // The page or the API took it as an answer, the first or an equal one.
}

// attempt is a way to give one answer.
type attempt struct {
	way  string // "slack click", "page".
	give func(ctx context.Context) (given, error)
}

// ways are all ways to answer. Each leads one round, ahead of the others.
func ways() []string {
	return []string{
		"telegram click", "slack click", "discord click", "telegram command", "slack command", "discord command", "page", "API",
	}
}

// All three messengers, the page, the API and typed commands race on one approval with
// mixed and repeated answers. One wins; equal answers succeed; everybody is told the
// same outcome, person, place and time, and all cards end in that truth (conformance
// 91, 96, 97, 99, 104, 114; R27).
func TestTogether(t *testing.T) {
	t.Parallel()
	settle(t).together(t)
}

// The same where two replicas share the town: the page and the API of either, with
// forms of the other, and the messengers' answers at whichever hears them.
func TestTogetherOnAFleet(t *testing.T) {
	t.Parallel()
	w := settle(t, onFleet(t))
	w.join(t)
	w.together(t)
}

func (w *town) together(t *testing.T) {
	t.Helper()
	var ids []string
	rounds := len(ways()) + 4
	for round := range rounds {
		random := rand.New(rand.NewPCG(11, uint64(round))) // The same answers each time.
		title := fmt.Sprintf("Round %d of %d", round+1, rounds)
		a := w.asked(t, title, places)
		attempts := w.attempts(t, &a, w.cards(title), random)
		var answers []given
		if round < len(ways()) { // Or the fastest way would win every race.
			leader := slices.IndexFunc(attempts, func(a attempt) bool { return a.way == ways()[round] })
			answers = race(t, attempts[leader:leader+1])
			require.True(t, answers[0].won || answers[0].settled, ways()[round])
			attempts = slices.Delete(attempts, leader, leader+1)
		}
		answers = append(answers, race(t, attempts)...)
		w.ended(t, a.ID)
		w.converged(t, a.ID)
		now := w.audited(t, a.ID)
		agree(t, &now, answers)
		w.pageAgrees(t, &now)
		ids = append(ids, a.ID)
	}
	w.obeyed(t)
	records, ledger := w.kept(t)
	for _, id := range ids {
		a, err := records.Approval(t.Context(), core.Lookup{ID: id})
		require.NoError(t, err)
		rows, err := ledger.DeliveriesOf(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, rows, places, "one live delivery for each target")
		w.truthful(t, &a, rows)
	}
}

// asked asks and waits until every place shows it.
func (w *town) asked(t *testing.T, title string, want int) api.Approval {
	t.Helper()
	a := w.shown(t, w.ask(t, about(title)))
	require.Len(t, w.cards(title), want)
	return a
}

// audited reads the record as an admin does.
func (w *town) audited(t *testing.T, id string) api.Approval {
	t.Helper()
	return send[api.Answer](t, w.running, http.StatusOK, call{
		method: http.MethodGet, path: "/v1/approvals/" + url.PathEscape(id), bearer: w.bearer(t),
	}).Approval
}

// attempts makes many answers to one question, in a random order: on each card both
// decisions, by whoever sees it, some of them twice; both typed commands on each
// platform; both answers on the page, and over the API.
func (w *town) attempts(t *testing.T, a *api.Approval, cards []card, random *rand.Rand) []attempt {
	t.Helper()
	var all []attempt
	for i := range cards {
		c := &cards[i]
		by := w.people[max(c.owner, 0)]
		if c.owner < 0 {
			by = w.people[random.IntN(len(w.people))]
		}
		for label, d := range map[string]core.Decision{"Allow once": core.DecisionAllowOnce, "Deny": core.DecisionDeny} {
			payload := c.payload(label)
			require.NotEmpty(t, payload, "%s on %s", label, c.on)
			for range 1 + random.IntN(2) {
				all = append(all, w.byClick(c, by, d, payload))
			}
		}
	}
	for _, on := range []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord} {
		by := w.people[random.IntN(len(w.people))]
		all = append(all,
			w.byCommand(on, by, core.DecisionAllowOnce, "approve "+a.ID+" allow-once "+a.Fingerprint,
				map[string]string{"id": a.ID, "decision": "allow-once", "fingerprint": a.Fingerprint}),
			w.byCommand(on, by, core.DecisionDeny, "deny "+a.ID, map[string]string{"id": a.ID}))
	}
	form := w.form(t, a.ID)
	for _, d := range []core.Decision{core.DecisionAllowOnce, core.DecisionDeny} {
		for _, at := range w.replicas {
			all = append(all, w.byPage(at, a, form, d), w.byPage(at, a, form, d), w.byAPI(t, at, a, d))
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func (w *town) byClick(c *card, by member, d core.Decision, payload string) attempt {
	return attempt{string(c.on) + " click", func(ctx context.Context) (given, error) {
		told, err := w.click(ctx, c, by, payload)
		return given{by: by, decision: d, told: told, won: justNow(told)}, err
	}}
}

func (w *town) byCommand(on core.Surface, by member, d core.Decision, command string, options map[string]string) attempt {
	return attempt{string(on) + " command", func(ctx context.Context) (given, error) {
		told, err := w.say(ctx, on, by, command, options)
		return given{by: by, decision: d, told: told, won: justNow(told)}, err
	}}
}

// justNow reports whether a person was told that their own answer decided.
func justNow(told string) bool {
	return told == byCard || strings.HasPrefix(told, "You allowed") || strings.HasPrefix(told, "You denied")
}

func (w *town) byPage(at *running, a *api.Approval, form url.Values, d core.Decision) attempt {
	return attempt{"page", func(ctx context.Context) (given, error) {
		filled := url.Values{"decision": {string(d)}}
		maps.Copy(filled, form)
		got, err := at.try(ctx, call{method: http.MethodPost, path: "/approve/" + url.PathEscape(a.ID), body: filled.Encode()})
		if err == nil && got.status != http.StatusSeeOther && got.status != http.StatusOK {
			err = fmt.Errorf("the page answers with status %d", got.status)
		}
		return given{by: w.people[0], decision: d, settled: got.status == http.StatusSeeOther}, err
	}}
}

func (w *town) byAPI(t *testing.T, at *running, a *api.Approval, d core.Decision) attempt {
	t.Helper()
	body := encode(t, api.Resolve{Kind: a.Kind, Decision: d, ArgumentsHash: a.ArgumentsHash})
	bearer := w.bearer(t)
	return attempt{"API", func(ctx context.Context) (given, error) {
		got, err := at.try(ctx, call{method: http.MethodPost, path: "/v1/approvals/" + a.ID + "/resolve", bearer: bearer, body: body})
		if err != nil {
			return given{}, err
		}
		if got.status != http.StatusOK {
			return given{}, fmt.Errorf("the API answers with status %d: %s", got.status, got.body)
		}
		done, err := decoded[api.Resolved](got)
		return given{by: w.people[0], decision: d, won: done.Applied, settled: done.Applied || done.Idempotent}, err
	}}
}

// race lets all answers go at once, as far as the machine can.
func race(t *testing.T, attempts []attempt) []given {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answers, errs := make([]given, len(attempts)), make([]error, len(attempts))
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range attempts {
		all.Go(func() {
			<-begin
			answers[i], errs[i] = attempts[i].give(ctx)
		})
	}
	close(begin)
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return answers
}

// agree holds what everybody was told against the record.
func agree(t *testing.T, a *api.Approval, answers []given) {
	t.Helper()
	winners := 0
	where := map[core.Surface]string{
		core.SurfaceTelegram: "on Telegram", core.SurfaceSlack: "on Slack", core.SurfaceDiscord: "on Discord",
		core.SurfacePage: "on the page", // Also over the API, by the same session.
	}[a.Resolver.Surface]
	require.NotEmpty(t, where, "decided on a known surface: %s", a.Resolver.Surface)
	when := presentation.Clock(a.ResolvedAt, a.CreatedAt, time.UTC)
	what := map[core.Decision]string{core.DecisionAllowOnce: "allowed once", core.DecisionDeny: "denied"}[a.Decision]
	for _, g := range answers {
		if g.won {
			winners++
			require.Equal(t, a.Audit.ResolverID, g.by.id, "who was told to have decided did")
			require.Equal(t, a.Decision, g.decision)
		}
		if g.told == "" {
			require.Equal(t, a.Decision == g.decision, g.settled, "equal answers succeed, others do not")
			continue
		}
		who := a.Resolver.Name
		if g.by.id == a.Audit.ResolverID {
			who = "you"
		}
		switch again := g.by.id == a.Audit.ResolverID && g.decision == a.Decision; {
		case g.won:
		case again:
			require.Contains(t, g.told, "You had already", "an equal answer of the same person")
			require.Contains(t, g.told, when)
		default:
			require.Contains(t, g.told, "Already decided: "+what+" by "+who+" "+where+", "+when, "%s by %s", g.decision, g.by.name)
		}
	}
	if a.Resolver.Surface == core.SurfacePage {
		require.LessOrEqual(t, winners, 1, "the page itself redirects winners and equals alike")
	} else {
		require.Equal(t, 1, winners, "one wins")
	}
}

// pageAgrees reads the question on the page after its end.
func (w *town) pageAgrees(t *testing.T, a *api.Approval) {
	t.Helper()
	page := w.do(t, call{method: http.MethodGet, path: "/approve/" + url.PathEscape(a.ID)})
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, presentation.Clock(a.ResolvedAt, a.CreatedAt, time.UTC))
	if a.Audit.ResolverID != w.people[0].id {
		require.Contains(t, page.body, "by "+a.Resolver.Name)
	}
	require.NotContains(t, page.body, `<form id="decide"`)
}

// converged waits until nothing is left to be done for any card of the approval.
func (w *town) converged(t *testing.T, id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, d := range w.get(t, id).Deliveries {
			if d.State != core.DeliveryClosed {
				return false
			}
		}
		return true
	}, patience, 10*time.Millisecond)
}

// truthful holds each card of a decided approval against its record: the one that was
// answered says so, all others that it happened elsewhere, each with who, where and
// when, and none can be pressed any more.
func (w *town) truthful(t *testing.T, a *core.Approval, rows []core.Delivery) {
	t.Helper()
	type target struct {
		ref     core.AccountRef
		address string
	}
	seen := map[target]bool{}
	for i := range rows {
		d := &rows[i]
		require.Equal(t, core.DeliveryClosed, d.State)
		require.Equal(t, core.OutcomeReplaced, d.Outcome, "%s: %s", d.Address, d.LastErrorText)
		at := target{core.AccountRef{Channel: d.Channel, Account: d.Account}, d.Address}
		require.False(t, seen[at], "two cards at %s", d.Address)
		seen[at] = true
		m, ok := w.message(d.Channel, d.Locator)
		require.True(t, ok, "%s %s", d.Channel, d.Locator)
		w.tells(t, a, d, m.Text)
		require.False(t, asks(m))
		require.Empty(t, m.Pings)
	}
}

// tells holds one text against the record.
func (w *town) tells(t *testing.T, a *core.Approval, d *core.Delivery, text string) {
	t.Helper()
	place := presentation.Place{Zone: time.UTC, Delivery: d.ID, Person: d.PersonID}
	card := presentation.For(*a, core.Detail{}, place)
	require.Equal(t, d.ID != a.DeliveryID, card.Outcome.Elsewhere)
	require.Equal(t, d.ID != a.DeliveryID, strings.Contains(text, "Resolved elsewhere: "), "%s: %s", d.Address, text)
	require.Contains(t, text, card.Outcome.Text)
	require.Contains(t, text, a.Presentation.Title)
	require.Contains(t, text, a.ResolvedAt.Time().Format("15:04"))
	if d.PersonID != a.ResolverID {
		require.Contains(t, text, a.ResolverName)
	}
}
