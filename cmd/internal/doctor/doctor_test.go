package doctor_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/cmd/internal/doctor"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/presentation"
)

var ref = core.AccountRef{Channel: core.SurfaceTelegram, Account: "99"}

const began = core.Millis(1_700_000_000_000)

// bot is an account that answers what it is told to.
type bot struct {
	found    []channels.Finding
	mended   []channels.Finding // What is found after Mend.
	mendErr  error
	isMended bool
	mendings []channels.Check
	sendErr  map[string]error
	hangs    bool // The platform takes every call and answers none.

	mu   sync.Mutex
	sent map[string]string // Address -> prompt ref of the button.
}

func (b *bot) Ref() core.AccountRef { return ref }

func (b *bot) Render(card presentation.Card) (channels.Rendered, error) {
	return channels.Rendered{Payload: card.Actions[0].PromptRef}, nil
}

func (b *bot) Send(ctx context.Context, address string, r channels.Rendered) (string, error) {
	if b.hangs {
		<-ctx.Done()
		return "", &channels.Error{Class: core.FailureAmbiguous, Op: "send", Detail: "no answer came", Err: ctx.Err()}
	}
	if err := b.sendErr[address]; err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent[address], _ = r.Payload.(string)
	return "message in " + address, nil
}

func (b *bot) Edit(context.Context, string, channels.Rendered) (core.DeliveryOutcome, error) {
	return core.OutcomeNone, errors.New("a doctor edits nothing")
}

func (b *bot) Run(context.Context, channels.Inbound) error { return nil }

func (b *bot) Examine(ctx context.Context) []channels.Finding {
	if b.hangs {
		<-ctx.Done()
	}
	if b.isMended {
		return b.mended
	}
	return b.found
}

func (b *bot) Mend(_ context.Context, check channels.Check) error {
	b.mendings = append(b.mendings, check)
	b.isMended = b.mendErr == nil
	return b.mendErr
}

// world is a store with people, and one account.
type world struct {
	*bot
	doctor  *doctor.Doctor
	seen    *doctor.Seen
	reg     *prometheus.Registry
	now     core.Millis
	people  []core.Principal
	links   []core.Identity
	routes  []core.BrokenRoute
	prompts map[string]core.Prompt // By ref.
	fault   error
}

func newWorld(t *testing.T, edits ...func(*doctor.Deps)) *world {
	t.Helper()
	w := &world{
		bot: &bot{
			found:   []channels.Finding{channels.Found(channels.CheckToken, "fine")},
			sendErr: map[string]error{}, sent: map[string]string{},
		},
		reg: prometheus.NewRegistry(), now: began, prompts: map[string]core.Prompt{},
	}
	var err error
	w.seen, err = doctor.NewSeen(func() time.Time { return w.now.Time() }, w.reg, ref)
	require.NoError(t, err)
	w.seen.Receives(ref)
	var ids atomic.Int64
	deps := doctor.Deps{
		Channels: []channels.Channel{w.bot}, Seen: w.seen, People: w, Prompts: w, Routes: w, Clock: w,
		NewID:  func() string { return "id-" + strconv.FormatInt(ids.Add(1), 10) },
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, edit := range edits {
		edit(&deps)
	}
	w.doctor = doctor.New(deps)
	return w
}

// link makes a person with a linked account; chat may be "".
func (w *world) link(id, chat string) {
	w.people = append(w.people, core.Principal{ID: id, Name: "Name of " + id})
	w.links = append(w.links, core.Identity{
		Realm: "telegram", ExternalID: id, PrincipalID: id, Channel: ref.Channel, Account: ref.Account, DirectChat: chat,
	})
}

func (w *world) Now(context.Context) (core.Millis, error) { return w.now, w.fault }
func (w *world) ListPrincipals(context.Context) ([]core.Principal, error) {
	return append([]core.Principal(nil), w.people...), w.fault
}

func (w *world) IdentitiesOf(context.Context, ...string) ([]core.Identity, error) {
	return w.links, nil
}
func (w *world) BrokenRoutes(context.Context) ([]core.BrokenRoute, error) { return w.routes, nil }

func (w *world) OpenPrompt(_ context.Context, p core.Prompt, life core.Millis) (core.Prompt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.ExpiresAt = w.now + life
	w.prompts[p.Ref] = p
	return p, nil
}

func (w *world) PlacePrompt(context.Context, string, string) error { return nil }

func (w *world) PromptByRef(_ context.Context, ref string) (core.Prompt, error) {
	p, ok := w.prompts[ref]
	if !ok || p.DoneAt != 0 || p.ExpiresAt.Reached(w.now) {
		return core.Prompt{}, core.ErrNotFound
	}
	return p, nil
}

func (w *world) PromptAt(context.Context, core.AccountRef, string) (core.Prompt, error) {
	return core.Prompt{}, core.ErrNotFound
}
func (w *world) FinishPrompt(context.Context, string) error { return nil }

// answered finishes the prompt of the card in a chat, as its click does.
func (w *world) answered(chat string) {
	p := w.prompts[w.sent[chat]]
	p.DoneAt = w.now
	w.prompts[p.Ref] = p
}

// verdicts sums a report up: check and person to verdict.
func verdicts(e api.Examination) map[string]api.Health {
	out := map[string]api.Health{}
	for _, f := range e.Findings {
		out[f.Check+" "+f.Person] = f.Verdict
	}
	return out
}

func find(t *testing.T, e api.Examination, check, person string) api.Finding {
	t.Helper()
	for _, f := range e.Findings {
		if f.Check == check && f.Person == person {
			return f
		}
	}
	require.Fail(t, "no finding", "%s of %q in %v", check, person, e.Findings)
	return api.Finding{}
}

// A card goes to every linked direct chat of enabled people; the finished prompt
// proves its click, for good.
func TestCardsProveTheWayBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.link("ann", "chat-ann")
	w.link("bob", "chat-bob")
	w.link("gone", "chat-gone")
	w.people[2].Disabled = true
	e, err := w.doctor.Examine(t.Context(), api.Examine{Cards: true})
	require.NoError(t, err)
	require.Equal(t, 2, e.Waiting)
	require.Len(t, w.sent, 2)
	p := w.prompts[w.sent["chat-ann"]]
	want := core.Prompt{
		Purpose: core.PromptTest, Channel: ref.Channel, Account: ref.Account, Chat: "chat-ann", Realm: "telegram",
		ExternalID: "ann", PrincipalID: "ann", ExpiresAt: began + core.PromptLife, ID: p.ID, Ref: core.ResolutionRef("prompt", p.ID),
	}
	require.Empty(t, cmp.Diff(want, p))
	require.Equal(t, api.HealthWaiting, find(t, e, doctor.CheckTestCard, "ann").Verdict)

	w.answered("chat-ann")
	e, err = w.doctor.Examination(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, 1, e.Waiting)
	require.Equal(t, map[string]api.Health{
		"service ": api.HealthOK, "accounts ": api.HealthOK, "token ": api.HealthOK, "receiving ": api.HealthOK,
		"last-click ": api.HealthOK, "test-card ann": api.HealthOK, "test-card bob": api.HealthWaiting,
	}, verdicts(e))

	// Once the prompts have run out the proof stands, and silence is no proof.
	w.now += core.PromptLife
	e, err = w.doctor.Examination(t.Context(), e.ID)
	require.NoError(t, err)
	require.Zero(t, e.Waiting)
	require.Equal(t, api.HealthOK, find(t, e, doctor.CheckTestCard, "ann").Verdict)
	require.Equal(t, api.HealthUnknown, find(t, e, doctor.CheckTestCard, "bob").Verdict)
}

func TestOnePersonAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.link("ann", "chat-ann")
	w.link("bob", "chat-bob")
	w.people = append(w.people, core.Principal{ID: "cem", Name: "Cem"}, core.Principal{ID: "off", Disabled: true})
	_, err := w.doctor.Examine(t.Context(), api.Examine{Person: "bob"})
	require.NoError(t, err)
	require.Contains(t, w.sent, "chat-bob")
	require.Len(t, w.sent, 1)
	e, err := w.doctor.Examine(t.Context(), api.Examine{Person: "cem"})
	require.NoError(t, err)
	f := find(t, e, doctor.CheckTestCard, "cem")
	require.Equal(t, api.HealthUnknown, f.Verdict)
	require.Contains(t, f.Fix, "sayso link cem")
	for _, who := range []string{"nobody", "off"} {
		_, err = w.doctor.Examine(t.Context(), api.Examine{Person: who})
		require.ErrorIs(t, err, core.ErrNotFound)
	}
	require.Len(t, w.sent, 1)
}

// Each way in which a card does not get through says what to do.
func TestCardsThatDoNotGetThrough(t *testing.T) {
	t.Parallel()
	for _, step := range []struct {
		class core.FailureClass
		want  api.Health
		fix   string
	}{
		{core.FailureGone, api.HealthFailed, "sayso link ann"},
		{core.FailureAuth, api.HealthFailed, "token"},
		{core.FailureRateLimited, api.HealthUnknown, "Wait a minute"},
		{core.FailureTemporary, api.HealthUnknown, "again"},
		{core.FailureAmbiguous, api.HealthUnknown, "again"},
	} {
		w := newWorld(t)
		w.link("ann", "chat-ann")
		w.sendErr["chat-ann"] = &channels.Error{Class: step.class, Op: "send", Detail: "why"}
		e, err := w.doctor.Examine(t.Context(), api.Examine{Cards: true})
		require.NoError(t, err)
		f := find(t, e, doctor.CheckTestCard, "ann")
		require.Equal(t, step.want, f.Verdict, step.class)
		require.Contains(t, f.Fix, step.fix, step.class)
		require.Zero(t, e.Waiting)
	}
}

// Links that lead nowhere, and an account that nobody is linked to, are told; without
// cards nobody is written to.
func TestLinksThatLeadNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.link("ann", "")
	w.link("bob", "chat-bob")
	w.links[1].Account = "another bot"
	e, err := w.doctor.Examine(t.Context(), api.Examine{})
	require.NoError(t, err)
	require.NotContains(t, verdicts(e), "test-card ann")
	require.Empty(t, w.sent)
	e, err = w.doctor.Examine(t.Context(), api.Examine{Cards: true})
	require.NoError(t, err)
	require.Contains(t, find(t, e, doctor.CheckTestCard, "ann").Detail, "without a direct chat")
	require.Contains(t, find(t, e, doctor.CheckTestCard, "bob").Detail, "not configured any more")

	w.people, w.links = nil, nil
	e, err = w.doctor.Examine(t.Context(), api.Examine{Cards: true})
	require.NoError(t, err)
	require.Contains(t, find(t, e, doctor.CheckTestCard, "").Fix, "sayso link")
	require.Empty(t, w.prompts)
}

func TestBrokenRoutesAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := core.AccountRef{Channel: core.SurfaceSlack, Account: "T.A"}
	w.routes = []core.BrokenRoute{
		{Ref: ref, Destination: "-100", Class: core.FailureGone, BrokenAt: began},
		{Ref: ref, Destination: "person:ann", PersonID: "ann", Class: core.FailureGone, BrokenAt: began},
		{Ref: other, Destination: "C1", Class: core.FailureGone, BrokenAt: began},
	}
	e, err := w.doctor.Examine(t.Context(), api.Examine{})
	require.NoError(t, err)
	want := []api.Finding{{
		Channel: ref.Channel, Account: ref.Account, Check: doctor.CheckRoute, Verdict: api.HealthFailed,
		Detail: "the chat -100 refuses cards since 2023-11-14 22:13:20 UTC (gone)",
	}}
	var got []api.Finding
	for _, f := range e.Findings {
		if f.Check == doctor.CheckRoute {
			got = append(got, f)
		}
	}
	require.Empty(t, cmp.Diff(want, got, cmpopts.IgnoreFields(api.Finding{}, "Fix")))
	require.NotEmpty(t, got[0].Fix)
}

func TestMending(t *testing.T) {
	t.Parallel()
	broken := channels.Failing(channels.CheckWebhook, "foreign", "Run it with --fix.")
	broken.Mendable = true
	w := newWorld(t)
	w.found = []channels.Finding{channels.Found(channels.CheckToken, ""), broken, channels.Failing(channels.CheckPermissions, "few", "Ask.")}
	w.mended = []channels.Finding{channels.Found(channels.CheckToken, ""), channels.Found(channels.CheckWebhook, "none"), w.found[2]}
	e, err := w.doctor.Examine(t.Context(), api.Examine{})
	require.NoError(t, err)
	require.Equal(t, api.HealthFailed, find(t, e, "webhook", "").Verdict)
	require.Empty(t, w.mendings, "nothing is changed unasked")

	w.mendErr = &channels.Error{Class: core.FailureTemporary, Op: "receive", Detail: "no answer came"}
	e, err = w.doctor.Examine(t.Context(), api.Examine{Fix: true})
	require.NoError(t, err)
	f := find(t, e, "webhook", "")
	require.Equal(t, "foreign; it could not be mended (receive: temporary: no answer came)", f.Detail)
	require.False(t, f.Mended)

	w.mendErr = nil
	e, err = w.doctor.Examine(t.Context(), api.Examine{Fix: true})
	require.NoError(t, err)
	require.True(t, find(t, e, "webhook", "").Mended)
	require.Equal(t, api.HealthFailed, find(t, e, "permissions", "").Verdict)
	require.Equal(t, []channels.Check{channels.CheckWebhook, channels.CheckWebhook}, w.mendings)
}

// What this process hears: whether it receives, and its last click, which also proves
// what a platform does not tell.
func TestWhatIsHeard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.found = append(w.found, channels.Untold(channels.CheckInteractivity, "nobody knows", "Press a button."))
	w.seen.Stopped(ref, &channels.Error{Class: core.FailureAuth, Op: "receive", Detail: "the token is refused"})
	e, err := w.doctor.Examine(t.Context(), api.Examine{})
	require.NoError(t, err)
	f := find(t, e, doctor.CheckReceiving, "")
	require.Equal(t, api.HealthFailed, f.Verdict)
	require.Equal(t, "receive: auth: the token is refused", f.Detail)
	require.Contains(t, f.Fix, "credentials")
	require.Equal(t, api.HealthUnknown, find(t, e, "interactivity", "").Verdict)
	require.Equal(t, "none since the service started, 2023-11-14 22:13:20 UTC", find(t, e, doctor.CheckLastClick, "").Detail)

	w.seen.Stopped(ref, errors.New("panic that repeats a secret"))
	e, err = w.doctor.Examine(t.Context(), api.Examine{})
	require.NoError(t, err)
	require.NotContains(t, find(t, e, doctor.CheckReceiving, "").Detail, "secret")

	w.seen.Receives(ref)
	w.now += 61_000
	require.Equal(t, "heard", w.seen.Inbound(inbound{}).Click(t.Context(), channels.Click{Account: ref}).Text)
	e, err = w.doctor.Examine(t.Context(), api.Examine{})
	require.NoError(t, err)
	require.Equal(t, api.HealthOK, find(t, e, doctor.CheckReceiving, "").Verdict)
	require.Equal(t, "2023-11-14 22:14:21 UTC", find(t, e, doctor.CheckLastClick, "").Detail)
	f = find(t, e, "interactivity", "")
	require.Equal(t, api.HealthOK, f.Verdict)
	require.Empty(t, f.Fix)
	families, err := w.reg.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	require.Equal(t, "sayso_inbound_last_click_timestamp_seconds", families[0].GetName())
	require.InDelta(t, float64(w.now)/1000, families[0].GetMetric()[0].GetGauge().GetValue(), 0.001)
}

// inbound hears nothing but clicks.
type inbound struct{ channels.Inbound }

func (inbound) Click(context.Context, channels.Click) channels.Answer {
	return channels.Answer{Text: "heard"}
}

// Old examinations are forgotten, so that asking often costs no memory, and a store
// that does not answer is an error and no verdict.
func TestExaminationsAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, err := w.doctor.Examine(t.Context(), api.Examine{})
	require.NoError(t, err)
	_, err = w.doctor.Examination(t.Context(), first.ID)
	require.NoError(t, err)
	for range 16 {
		_, err = w.doctor.Examine(t.Context(), api.Examine{})
		require.NoError(t, err)
	}
	_, err = w.doctor.Examination(t.Context(), first.ID)
	require.ErrorIs(t, err, core.ErrNotFound)
	w.fault = core.ErrUnavailable
	_, err = w.doctor.Examine(t.Context(), api.Examine{Cards: true})
	require.ErrorIs(t, err, core.ErrUnavailable)
}

// A platform that hangs takes its own time alone: the report comes within the minute
// that the operator's call may take, and says for everybody what became of them.
func TestAPlatformThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hangs = true
		for i := range 6 {
			w.link("p"+strconv.Itoa(i), "chat-"+strconv.Itoa(i))
		}
		start := time.Now()
		e, err := w.doctor.Examine(t.Context(), api.Examine{Cards: true})
		require.NoError(t, err)
		require.Less(t, time.Since(start), time.Minute)
		said := map[string]int{}
		for _, f := range e.Findings {
			if f.Check == doctor.CheckTestCard {
				require.Equal(t, api.HealthUnknown, f.Verdict)
				said[f.Detail]++
			}
		}
		require.Equal(t, map[string]int{
			"the platform did not answer: no answer came": 4, "time was up before the card could be sent": 2,
		}, said)
	})
}

// Where another replica may hear in the place of this one, silence here is no fault and
// is not told as if it were everybody's.
func TestWhatIsHeardAtOneOfSeveralReplicas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(d *doctor.Deps) { d.Shared = true })
	e, err := w.doctor.Examine(t.Context(), api.Examine{})
	require.NoError(t, err)
	receiving := find(t, e, doctor.CheckReceiving, "")
	require.Equal(t, api.HealthOK, receiving.Verdict)
	require.Equal(t, "here, or at another replica", receiving.Detail)
	for want, turn := range map[string][2]bool{
		"at this replica": {true, true}, "this replica stands by for another": {true, false}, "here, or at another replica": {},
	} {
		w := newWorld(t, func(d *doctor.Deps) {
			d.Shared, d.Turn = true, func(core.AccountRef) (taken, ours bool) { return turn[0], turn[1] }
		})
		e, err := w.doctor.Examine(t.Context(), api.Examine{})
		require.NoError(t, err)
		require.Equal(t, want, find(t, e, doctor.CheckReceiving, "").Detail)
	}
	require.Equal(t, "none at this replica since it started, 2023-11-14 22:13:20 UTC", find(t, e, doctor.CheckLastClick, "").Detail)
}
