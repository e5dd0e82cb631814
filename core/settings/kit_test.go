package settings_test

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
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/core/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kit is the service on a real store: the runtime "agents" with the agent "books", which
// belongs to olga and to vic, who only reads.
type kit struct {
	t        *testing.T
	store    *sqlite.Store
	service  *settings.Service
	asks     *approvals.Service
	defaults policy.Mode // Of the tables.
	hints    *hints

	mu    sync.Mutex
	clock time.Time

	machine, admin, owner, viewer, stranger core.Caller
}

func newKit(t *testing.T) *kit {
	t.Helper()
	k := &kit{t: t, defaults: policy.ModeOutside, hints: &hints{}, clock: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	store, err := sqlite.Open(t.Context(), sqlite.Config{
		Path: filepath.Join(t.TempDir(), "data", "sayso.db"), Now: k.now, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	k.store = store
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = store.Run(ctx) // It ends with its context.
	}()
	t.Cleanup(func() { cancel(); <-done })

	k.service = settings.New(k.deps())
	bus := local.New()
	k.asks = approvals.New(approvals.Config{}, approvals.Deps{
		Store: store, Owners: store, People: store, Evaluator: policy.AskAlways{}, Describer: redact.New(), Planner: page{},
		Publisher: bus, Hints: bus, Observer: deaf{}, Logger: slog.New(slog.DiscardHandler), NewID: newID,
	})
	k.machine = core.Caller{Token: &core.Token{Runtime: "agents", Scopes: []core.Scope{core.ScopeRequest, core.ScopeRead, core.ScopeAdmin}}}
	k.admin = k.person("ann", core.RoleAdmin)
	for _, id := range []string{"olga", "stan"} {
		k.person(id, core.RoleReviewer)
	}
	k.person("vic", core.RoleViewer)
	require.NoError(t, store.SetOwners(t.Context(), "agents", "books", []string{"olga", "vic"}))
	k.owner, k.viewer, k.stranger = k.again("olga"), k.again("vic"), k.again("stan")
	return k
}

func (k *kit) deps() settings.Deps {
	return settings.Deps{
		Agents: k.store, Lives: k.store, Rules: k.store, Declines: k.store, Approvals: k.store, Owners: k.store, Clock: k.store,
		Publisher: k.hints, Text: redact.New(), NewID: newID, Logger: slog.New(slog.DiscardHandler),
		DefaultMode: func() policy.Mode { return k.defaults },
	}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

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

func (k *kit) person(id string, role core.Role) core.Caller {
	k.t.Helper()
	_, err := k.store.AddPrincipal(k.t.Context(), core.Principal{ID: id, Name: "Name of " + id, Role: role})
	require.NoError(k.t, err)
	return k.again(id)
}

// again is the person as an edge authenticates them now.
func (k *kit) again(id string) core.Caller {
	k.t.Helper()
	p, err := k.store.Principal(k.t.Context(), id)
	require.NoError(k.t, err)
	return core.Caller{Person: &p, Surface: core.SurfacePage, Session: "s-" + id}
}

func terminal(c core.Caller) core.Caller {
	c.Surface = core.SurfaceCLI
	return c
}

// nobodies are callers who may change nothing, and what they are told.
func (k *kit) nobodies() map[string]struct {
	caller core.Caller
	want   error
} {
	disabled := *k.owner.Person
	disabled.Disabled = true
	return map[string]struct {
		caller core.Caller
		want   error
	}{
		"nobody":                  {core.Caller{}, core.ErrUnauthenticated},
		"operator":                {core.Caller{Operator: true}, core.ErrForbidden},
		"machine, admin scope":    {k.machine, core.ErrForbidden},
		"viewer who owns it":      {k.viewer, core.ErrForbidden},
		"reviewer without it":     {k.stranger, core.ErrNotFound},
		"owner who was disabled":  {core.Caller{Person: &disabled, Surface: core.SurfacePage}, core.ErrNotFound},
		"owner of an older right": {core.Caller{Person: stale(k.owner.Person), Surface: core.SurfacePage}, core.ErrNotFound},
	}
}

// stale is a person as they were before their rights changed.
func stale(p *core.Principal) *core.Principal {
	old := *p
	old.Revision--
	return &old
}

// declined is a call of the agent that the admin said no to.
func (k *kit) declined() core.Approval {
	k.t.Helper()
	asked := k.ask()
	done, err := k.asks.Resolve(k.t.Context(), approvals.Resolve{
		Caller: k.admin, Lookup: core.Lookup{ID: asked.ID}, Kind: asked.Kind, Decision: core.DecisionDeny,
	})
	require.NoError(k.t, err)
	return done.Approval
}

func (k *kit) ask() core.Approval {
	k.t.Helper()
	asked, err := k.asks.Ask(k.t.Context(), k.machine, approvals.Ask{
		Kind: core.KindPlugin, Title: "Send the invoice", Agent: "books",
		Operation: approvals.AskOperation{Tool: "mail", Name: "send", Arguments: []byte(`{"to":"bob@example.com"}`)},
	})
	require.NoError(k.t, err)
	return asked.Approval
}

// hints are what was published.
type hints struct {
	mu  sync.Mutex
	all []core.Hint
}

func (h *hints) Publish(_ context.Context, hints ...core.Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, hints...)
}

// take empties the list.
func (h *hints) take() []core.Hint {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.all
	h.all = nil
	return all
}

// page is a planner for whom somebody can always look at the page.
type page struct{}

func (page) Plan(context.Context, *core.Approval) (approvals.Plan, error) {
	return approvals.Plan{PageReachable: true}, nil
}

type deaf struct{}

func (deaf) Requested(*core.Approval, int) {}
func (deaf) Raced(string)                  {}
