package approvals_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/redact"
	"github.com/saysohq/sayso/core/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kit is a service on a real store, with a clock that the test moves.
type kit struct {
	t       *testing.T
	service *approvals.Service
	store   *sqlite.Store
	bus     *local.Bus
	policy  *scripted
	planner *planner
	seen    *observer
	faults  *faults
	shows   core.Describer
	jobs    approvals.Jobs
	hooks   approvals.Callbacks

	mu    sync.Mutex
	clock time.Time

	token core.Caller // Runtime "agents".
	admin core.Caller
}

func (k *kit) now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.clock
}

func (k *kit) advance(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clock = k.clock.Add(d)
}

func newKit(t *testing.T) *kit {
	t.Helper()
	k := &kit{
		t: t, bus: local.New(), policy: &scripted{}, planner: &planner{page: true}, seen: &observer{races: map[string]int{}},
		shows: redact.New(),
		clock: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
	}
	store, err := sqlite.Open(t.Context(), sqlite.Config{
		Path: filepath.Join(t.TempDir(), "data", "sayso.db"), Now: k.now, Log: slog.New(slog.DiscardHandler),
		Ended: approvals.NewEnds(k.seen, slog.New(slog.DiscardHandler)).Record,
	})
	require.NoError(t, err)
	k.store = store
	t.Cleanup(func() { require.NoError(t, store.Close()) }) // After Run, which the next line ends first.
	k.background(store.Run)
	k.faults = &faults{Store: k.store}
	k.service = k.build(approvals.Config{MaxPending: 20})
	k.token = core.Caller{Token: &core.Token{Runtime: "agents", Scopes: []core.Scope{core.ScopeRequest, core.ScopeRead}}}
	k.admin = k.person("ann", core.RoleAdmin)
	return k
}

// reread is a second service on the same store with another slow re-read.
func (k *kit) reread(d time.Duration) *approvals.Service {
	return k.build(approvals.Config{RereadEvery: d})
}

func (k *kit) build(cfg approvals.Config) *approvals.Service {
	return approvals.New(cfg, approvals.Deps{
		Jobs:  k.jobs,
		Store: k.faults, Owners: k.store, People: k.store, Evaluator: k.policy, Describer: k.shows,
		Planner: k.planner, Callbacks: k.hooks, Publisher: k.bus, Hints: k.bus, Observer: k.seen,
		Logger: slog.New(slog.DiscardHandler), NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	})
}

// background runs an actor until the test ends.
func (k *kit) background(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(k.t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx) // It ends with its context.
	}()
	k.t.Cleanup(func() {
		cancel()
		<-done
	})
}

func (k *kit) person(id string, role core.Role) core.Caller {
	k.t.Helper()
	p, err := k.store.AddPrincipal(k.t.Context(), core.Principal{ID: id, Name: "Name of " + id, Role: role})
	require.NoError(k.t, err)
	return core.Caller{Person: &p, Surface: core.SurfacePage, Session: "s-" + id}
}

// ask asks with whatever change makes to a plain question.
func (k *kit) ask(change ...func(*approvals.Ask)) core.Approval {
	k.t.Helper()
	asked, err := k.service.Ask(k.t.Context(), k.token, question(change...))
	require.NoError(k.t, err)
	return asked.Approval
}

func question(change ...func(*approvals.Ask)) approvals.Ask {
	q := approvals.Ask{
		Kind: core.KindPlugin, Title: "Send the invoice", Agent: "books",
		Operation: approvals.AskOperation{ID: "op-1", Tool: "mail", Name: "send", Arguments: []byte(`{"to":"bob@example.com"}`)},
	}
	for _, c := range change {
		c(&q)
	}
	return q
}

// answer is an admin's complete answer on a card that showed everything.
func (k *kit) answer(a *core.Approval, d core.Decision) approvals.Resolve {
	return approvals.Resolve{
		Caller: k.admin, Lookup: core.Lookup{ID: a.ID}, Kind: a.Kind, Decision: d,
		Shown: approvals.Shown{Complete: true, ActionHash: a.ActionHash},
	}
}

func (k *kit) resolve(r approvals.Resolve) approvals.Resolved {
	k.t.Helper()
	res, err := k.service.Resolve(k.t.Context(), r)
	require.NoError(k.t, err)
	return res
}

// read reads the record as it stands, past the service.
func (k *kit) read(id string) core.Approval {
	k.t.Helper()
	a, err := k.store.Approval(k.t.Context(), core.Lookup{ID: id})
	require.NoError(k.t, err)
	return a
}

// scripted is a policy with an answer, an error, or a change under way.
type scripted struct {
	verdict *policy.Verdict
	err     error
	calls   int
}

func (s *scripted) Evaluate(ctx context.Context, r policy.Request) (policy.Verdict, error) {
	s.calls++
	if s.err != nil {
		return policy.Verdict{}, s.err
	}
	if s.verdict != nil {
		return *s.verdict, nil
	}
	return policy.AskAlways{}.Evaluate(ctx, r)
}

// planner says whether anybody can be asked.
type planner struct {
	page bool
	rows []core.PlannedDelivery
}

func (p *planner) Plan(context.Context, *core.Approval) (approvals.Plan, error) {
	return approvals.Plan{PageReachable: p.page, Deliveries: p.rows, Hint: "sign in once"}, nil
}

// observer counts.
type observer struct {
	mu    sync.Mutex
	races map[string]int
	ended []core.Reason
}

func (o *observer) Requested(*core.Approval, int) {}

func (o *observer) Ended(a *core.Approval) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = append(o.ended, a.Reason)
}

func (o *observer) Raced(outcome string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.races[outcome]++
}

// faults loses answers of the store on request.
type faults struct {
	*sqlite.Store
	decide func(ctx context.Context, d core.Decide) (core.Decided, error)
	create func(ctx context.Context, n core.NewApproval) (core.Created, error)
	looked func(l core.Lookup)
}

func (f *faults) Approval(ctx context.Context, l core.Lookup) (core.Approval, error) {
	if f.looked != nil {
		f.looked(l)
	}
	return f.Store.Approval(ctx, l)
}

func (f *faults) Decide(ctx context.Context, d core.Decide) (core.Decided, error) {
	if f.decide != nil {
		return f.decide(ctx, d)
	}
	return f.Store.Decide(ctx, d)
}

func (f *faults) Create(ctx context.Context, n core.NewApproval) (core.Created, error) {
	if f.create != nil {
		return f.create(ctx, n)
	}
	return f.Store.Create(ctx, n)
}
