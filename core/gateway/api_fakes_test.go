package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/gateway"
	"github.com/saysohq/sayso/core/people"
)

// fakeService answers each call with the function of its name; a call without one
// fails the test.
type fakeService struct {
	t                *testing.T
	released         chan struct{} // Closed when the waits of this replica end.
	releasing        sync.Once
	ask              func(core.Caller, approvals.Ask) (approvals.Asked, error)
	get              func(core.Caller, core.Lookup) (core.Approval, error)
	detail           func(core.Caller, core.Lookup) (core.Approval, core.Detail, error)
	wait             func(context.Context, core.Caller, approvals.WaitRequest) (core.Approval, error)
	list             func(core.Caller, core.ListQuery) (core.ListPage, error)
	resolve          func(approvals.Resolve) (approvals.Resolved, error)
	claim            func(core.Caller, approvals.Claim) (core.Approval, error)
	report           func(core.Caller, approvals.Report) (core.Approval, error)
	cancel           func(core.Caller, core.Lookup) (approvals.Resolved, error)
	denyMalformed    func(core.Caller, core.Lookup) (approvals.Resolved, error)
	registerInstance func(core.Caller, approvals.Registration) (core.Instance, error)
	abortRun         func(core.Caller, string) (core.Run, error)
	runStatus        func(core.Caller, string) (core.Run, error)
	reply            func(core.Caller, approvals.Reply) (approvals.Replied, error)
	dismiss          func(core.Caller, core.Lookup) (core.Approval, error)
	askAgain         func(core.Caller, core.Lookup) (core.Approval, error)
	claimUpdates     func(core.Caller, approvals.ClaimUpdates) (core.UpdateBatch, error)
	ackUpdates       func(c core.Caller, agent, token string) (int, error)
}

func (f *fakeService) called(ok bool) {
	f.t.Helper()
	if !ok {
		f.t.Error("the service was called although the edge should have refused")
		panic("unexpected call")
	}
}

func (f *fakeService) Ask(_ context.Context, c core.Caller, a approvals.Ask) (approvals.Asked, error) {
	f.called(f.ask != nil)
	return f.ask(c, a)
}

func (f *fakeService) Get(_ context.Context, c core.Caller, l core.Lookup) (core.Approval, error) {
	f.called(f.get != nil)
	return f.get(c, l)
}

func (f *fakeService) Detail(_ context.Context, c core.Caller, l core.Lookup) (core.Approval, core.Detail, error) {
	f.called(f.detail != nil)
	return f.detail(c, l)
}

func (f *fakeService) Await(ctx context.Context, c *core.Caller, w *approvals.WaitRequest) (*core.Approval, error) {
	f.called(f.wait != nil)
	a, err := f.wait(ctx, *c, *w)
	return &a, err
}

func (f *fakeService) Release() { f.releasing.Do(func() { close(f.released) }) }

func (f *fakeService) List(_ context.Context, c core.Caller, q core.ListQuery) (core.ListPage, error) {
	f.called(f.list != nil)
	return f.list(c, q)
}

func (f *fakeService) Resolve(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error) {
	f.called(f.resolve != nil)
	if r.ShownOf != nil {
		a, err := f.Get(ctx, r.Caller, r.Lookup)
		if err == nil {
			r.Shown, err = r.ShownOf(&a)
		}
		if err != nil {
			return approvals.Resolved{}, err
		}
	}
	return f.resolve(r)
}

func (f *fakeService) Claim(_ context.Context, c core.Caller, cl approvals.Claim) (core.Approval, error) {
	f.called(f.claim != nil)
	return f.claim(c, cl)
}

func (f *fakeService) Report(_ context.Context, c core.Caller, r approvals.Report) (core.Approval, error) {
	f.called(f.report != nil)
	return f.report(c, r)
}

func (f *fakeService) Cancel(_ context.Context, c core.Caller, l core.Lookup) (approvals.Resolved, error) {
	f.called(f.cancel != nil)
	return f.cancel(c, l)
}

func (f *fakeService) DenyMalformed(_ context.Context, c core.Caller, l core.Lookup) (approvals.Resolved, error) {
	f.called(f.denyMalformed != nil)
	return f.denyMalformed(c, l)
}

func (f *fakeService) RegisterInstance(_ context.Context, c core.Caller, r approvals.Registration) (core.Instance, error) {
	f.called(f.registerInstance != nil)
	return f.registerInstance(c, r)
}

func (f *fakeService) AbortRun(_ context.Context, c core.Caller, run string) (core.Run, error) {
	f.called(f.abortRun != nil)
	return f.abortRun(c, run)
}

func (f *fakeService) RunStatus(_ context.Context, c core.Caller, run string) (core.Run, error) {
	f.called(f.runStatus != nil)
	return f.runStatus(c, run)
}

func (f *fakeService) Reply(_ context.Context, c core.Caller, r approvals.Reply) (approvals.Replied, error) {
	f.called(f.reply != nil)
	return f.reply(c, r)
}

func (f *fakeService) Dismiss(_ context.Context, c core.Caller, l core.Lookup) (core.Approval, error) {
	f.called(f.dismiss != nil)
	return f.dismiss(c, l)
}

func (f *fakeService) AskAgain(_ context.Context, c core.Caller, l core.Lookup) (core.Approval, error) {
	f.called(f.askAgain != nil)
	return f.askAgain(c, l)
}

func (f *fakeService) ClaimUpdates(_ context.Context, c core.Caller, claim approvals.ClaimUpdates) (core.UpdateBatch, error) {
	f.called(f.claimUpdates != nil)
	return f.claimUpdates(c, claim)
}

func (f *fakeService) AckUpdates(_ context.Context, c core.Caller, agent, token string) (int, error) {
	f.called(f.ackUpdates != nil)
	return f.ackUpdates(c, agent, token)
}

// fakePeople knows three bearers. It answers each call with the function of its
// name, and with err where there is none.
type fakePeople struct {
	callers      map[string]core.Caller
	issueToken   func(core.Caller, people.NewToken) (people.IssuedToken, error)
	redeemPair   func(code string, d people.Device) (people.SignedIn, error)
	bootstrap    func(code, name string, d people.Device) (people.SignedIn, error)
	startPair    func(core.Caller, string, people.CodeForm) (people.IssuedCode, error)
	apply        func(core.Caller, people.Roster) ([]people.Change, error)
	changePerson func(core.Caller, core.ChangePrincipal) (core.Principal, error)
	linkIdentity func(core.Caller, core.Identity) error
	setOwners    func(core.Caller, string, string, []string) error
	endSession   func(core.Caller, string, string) error
	list         []people.Person
	tokens       []core.Token
	sessions     []core.Session
	err          error
}

func (f *fakePeople) Authenticate(_ context.Context, bearer string) (core.Caller, error) {
	if c, ok := f.callers[bearer]; ok {
		return c, nil
	}
	return core.Caller{}, core.ErrUnauthenticated
}

func (f *fakePeople) IssueToken(_ context.Context, by core.Caller, n people.NewToken) (people.IssuedToken, error) {
	if f.issueToken == nil {
		return people.IssuedToken{}, f.err
	}
	return f.issueToken(by, n)
}

func (f *fakePeople) RedeemPair(_ context.Context, code string, d people.Device) (people.SignedIn, error) {
	if f.redeemPair == nil {
		return people.SignedIn{}, f.err
	}
	return f.redeemPair(code, d)
}

func (f *fakePeople) RenewBootstrap(_ context.Context, by core.Caller, form people.CodeForm) (people.IssuedCode, error) {
	if !by.Operator || form != people.FormLink {
		return people.IssuedCode{}, core.ErrForbidden
	}
	return people.IssuedCode{Code: people.SecretOf("first-code"), ExpiresAt: 9}, f.err
}

func (f *fakePeople) RedeemBootstrap(_ context.Context, code, name string, d people.Device) (people.SignedIn, error) {
	if f.bootstrap == nil {
		return people.SignedIn{}, f.err
	}
	return f.bootstrap(code, name, d)
}

func (f *fakePeople) StartPair(_ context.Context, by core.Caller, id string, form people.CodeForm) (people.IssuedCode, error) {
	if f.startPair == nil {
		return people.IssuedCode{}, f.err
	}
	return f.startPair(by, id, form)
}

func (f *fakePeople) StartLink(context.Context, core.Caller, string, people.CodeForm) (people.IssuedCode, error) {
	return people.IssuedCode{Code: people.SecretOf("link-code"), ExpiresAt: 9}, f.err
}

func (f *fakePeople) Apply(_ context.Context, by core.Caller, r people.Roster) ([]people.Change, error) {
	if f.apply == nil {
		return nil, f.err
	}
	return f.apply(by, r)
}

func (f *fakePeople) PlanRoster(context.Context, core.Caller, people.Roster) ([]people.Change, error) {
	return nil, f.err
}

func (f *fakePeople) AddPerson(_ context.Context, _ core.Caller, n people.NewPerson) (core.Principal, error) {
	return core.Principal{ID: n.ID, Name: n.Name, Role: n.Role, Revision: 1}, f.err
}

func (f *fakePeople) ChangePerson(_ context.Context, by core.Caller, c core.ChangePrincipal) (core.Principal, error) {
	if f.changePerson == nil {
		return core.Principal{}, f.err
	}
	return f.changePerson(by, c)
}

func (f *fakePeople) ListPeople(context.Context, core.Caller) ([]people.Person, error) {
	return f.list, f.err
}

func (f *fakePeople) LinkIdentity(_ context.Context, by core.Caller, i core.Identity) error {
	if f.linkIdentity == nil {
		return f.err
	}
	return f.linkIdentity(by, i)
}

func (f *fakePeople) UnlinkIdentity(context.Context, core.Caller, string, string) error { return f.err }

func (f *fakePeople) Owners(context.Context, core.Caller, string, string) ([]string, error) {
	return nil, f.err
}

func (f *fakePeople) SetOwners(_ context.Context, by core.Caller, runtime, agent string, ids []string) error {
	if f.setOwners == nil {
		return f.err
	}
	return f.setOwners(by, runtime, agent, ids)
}

func (f *fakePeople) SessionsOf(context.Context, core.Caller, string) ([]core.Session, error) {
	return f.sessions, f.err
}

func (f *fakePeople) EndSession(_ context.Context, by core.Caller, id, session string) error {
	if f.endSession == nil {
		return f.err
	}
	return f.endSession(by, id, session)
}

func (f *fakePeople) ListTokens(context.Context, core.Caller) ([]core.Token, error) {
	return f.tokens, f.err
}

func (f *fakePeople) RevokeToken(context.Context, core.Caller, string) error { return f.err }

func (f *fakePeople) SignOut(context.Context, core.Caller) error { return f.err }

// fakeLedger has the rows of every approval.
type fakeLedger struct {
	rows []core.Delivery
	err  error
}

func (f *fakeLedger) DeliveriesOf(context.Context, string) ([]core.Delivery, error) {
	return f.rows, f.err
}

// clockAt is a deployment's clock that stands still.
type clockAt core.Millis

func (c clockAt) Now(context.Context) (core.Millis, error) { return core.Millis(c), nil }

// lockedBuffer is a log that many goroutines write.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// The bearers that fakePeople knows.
const (
	machineBearer  = "machine-bearer"
	reviewerBearer = "reviewer-bearer"
	adminBearer    = "admin-bearer"
)

const serverNow core.Millis = 1_800_000_000_000

// edge is a gateway over fakes.
type edge struct {
	service *fakeService
	people  *fakePeople
	set     *fakeSettings
	ledger  *fakeLedger
	views   *gateway.Views
	log     *lockedBuffer
	gateway *gateway.Gateway
	now     time.Time // The process clock; stands still.
}

func newEdge(t *testing.T, change ...func(*gateway.Config, *gateway.Deps)) *edge {
	t.Helper()
	e := &edge{set: &fakeSettings{}, service: &fakeService{t: t, released: make(chan struct{})}, ledger: &fakeLedger{}, views: newViews(t), log: &lockedBuffer{}, now: time.Now()}
	e.people = &fakePeople{callers: map[string]core.Caller{
		machineBearer:  {Token: &core.Token{ID: "t1", Runtime: "bot", Scopes: []core.Scope{core.ScopeRequest}}, Surface: core.SurfaceAPI},
		reviewerBearer: {Person: &core.Principal{ID: "bob", Name: "Bob", Role: core.RoleReviewer}, Surface: core.SurfacePage, Session: "s-bob"},
		adminBearer:    {Person: &core.Principal{ID: "alice", Name: "Alice", Role: core.RoleAdmin}, Surface: core.SurfaceCLI, Session: "s-alice"},
	}}
	cfg := gateway.Config{Hosts: []string{"example.com"}, RequestsPerSecond: 1, Burst: 1000}
	deps := gateway.Deps{
		Approvals: e.service, Ledger: e.ledger, People: e.people, Settings: e.set, Authenticator: e.people, Clock: clockAt(serverNow), Views: e.views,
		AgentText:   func(a core.Approval) string { return "agent hears " + string(a.Status) },
		RefusalText: func(_ core.Approval, refusal error) string { return "agent hears " + core.CodeOf(refusal) },
		UpdateText:  func(u core.Update) string { return "agent hears of " + string(u.Kind) },
		Ready:       func(context.Context) error { return nil },
		Logger:      slog.New(slog.NewJSONHandler(e.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now:         func() time.Time { return e.now },
	}
	for _, c := range change {
		c(&cfg, &deps)
	}
	g, err := gateway.New(cfg, deps)
	require.NoError(t, err)
	e.gateway = g
	return e
}

// do sends one request through the network's handler.
func (e *edge) do(t *testing.T, bearer, method, target, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	return serve(t, e.gateway.Handler(), bearer, method, target, body, change...)
}

func serve(t *testing.T, h http.Handler, bearer, method, target, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, target, content)
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-Request-Id", "fixed")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func decodeInto[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(w.Body)
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&v))
	return v
}

// requireProblem checks the form that every error has.
func requireProblem(t *testing.T, w *httptest.ResponseRecorder, status int, code string) api.Problem {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	p := decodeInto[api.Problem](t, w)
	require.Equal(t, code, p.Code)
	require.Equal(t, status, p.Status)
	require.Equal(t, http.StatusText(status), p.Title)
	require.Equal(t, "fixed", p.RequestID)
	require.NotEmpty(t, p.Detail)
	return p
}

// sampleApproval is a pending row of the runtime "bot".
func sampleApproval(id string) core.Approval {
	hash := core.HashOf([]byte("action"))
	return core.Approval{
		ID: id, Ref: core.ResolutionRef(core.KindPlugin, id), Kind: core.KindPlugin, Origin: core.OriginAsk,
		Runtime: "bot", Instance: "one", Epoch: 3, IdempotencyKey: "key-1",
		Operation:     core.Operation{ID: "op", Type: "mail.send", Tool: "mail", Name: "send"},
		ArgumentsHash: core.HashOf([]byte("arguments")), ActionHash: hash, Fingerprint: core.Fingerprint(hash),
		Class: core.ClassSend, ClassSource: "table",
		Presentation: core.Presentation{Kind: core.KindPlugin, Title: "Send a mail", Arguments: json.RawMessage(`{"to":"a@b"}`)},
		Offered:      []core.Decision{core.DecisionAllowOnce}, Trail: []core.TrailStep{{Step: "default", Verdict: "ask"}},
		Continuation: core.ContinuationLive, Agent: "helper", SessionKey: "secret-session", RunID: "run-1",
		Audience: []string{"secret-audience"}, RequestedBy: "carol", Reviewers: []string{"bob"},
		CreatedAt: serverNow - 5000, ExpiresAt: serverNow + 60_000, UpdatedAt: serverNow - 5000,
		Status: core.StatusPending, Grant: core.Grant{Execution: core.ExecutionNone}, Revision: 1, CardRevision: 1,
	}
}

// allowed is the sample, allowed once by Bob on the page.
func allowed(id string) core.Approval {
	a := sampleApproval(id)
	a.Status = core.StatusAllowed
	a.Resolution = core.Resolution{
		Decision: core.DecisionAllowOnce, Reason: core.ReasonUser, ResolvedAt: serverNow, AttemptID: "secret-attempt",
		ResolverKind: core.ResolverHuman, ResolverID: "bob-raw-id", ResolverName: "Bob", Surface: core.SurfacePage,
	}
	a.Grant = core.Grant{Execution: core.ExecutionUnclaimed, ClaimBy: serverNow + 600_000}
	a.Revision, a.CardRevision, a.UpdatedAt = 2, 2, serverNow
	return a
}
