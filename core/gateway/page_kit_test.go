package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/gateway"
	"github.com/saysohq/sayso/core/people"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/redact"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/core/store/sqlite"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// site is the page on the real service and the real store, behind the real server,
// with a clock that the test moves and answers that it can lose.
type site struct {
	t       *testing.T
	url     string // Of the listener, with the base path.
	base    string
	service *approvals.Service
	people  *people.Service
	rules   *settings.Service
	broken  *settingsFaults // The same, as the page has it.
	store   *sqlite.Store
	cfg     gateway.PageConfig // As served.
	views   *gateway.Views
	faults  *pageFaults
	agent   core.Caller
	first   string // The bootstrap code.
	admin   *visitor
	stop    func() // Stops the gateway and waits for its end.

	mu    sync.Mutex
	clock time.Time // Zero: the process clock.
	judge func(*policy.Verdict)
}

// Evaluate implements approvals.Evaluator: everything asks, as a test has it judged.
func (s *site) Evaluate(ctx context.Context, r policy.Request) (policy.Verdict, error) {
	v, err := policy.AskAlways{}.Evaluate(ctx, r)
	if a, err := s.store.ReadAgent(ctx, r.Runtime, r.Agent); err == nil {
		v.Generation = a.Generation
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.judge != nil {
		s.judge(&v)
	}
	return v, err
}

// judged has the next questions judged otherwise.
func (s *site) judged(judge func(*policy.Verdict)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.judge = judge
}

// siteOptions are what tests change of a site.
type siteOptions struct {
	base      string // "/base".
	publicURL string // Instead of an address made of base.
	secure    bool
	realTime  bool
	nobody    bool // No admin yet.
	check     time.Duration
}

func (s *site) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clock.IsZero() {
		return time.Now()
	}
	return s.clock
}

func (s *site) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = s.clock.Add(d)
}

func newSite(t *testing.T, o siteOptions) *site {
	t.Helper()
	s := &site{t: t, base: o.base}
	if !o.realTime {
		s.clock = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	}
	discard := slog.New(slog.DiscardHandler)
	store, err := sqlite.Open(t.Context(), sqlite.Config{
		Path: filepath.Join(t.TempDir(), "data", "sayso.db"), Now: s.now, Log: discard,
	})
	require.NoError(t, err)
	s.store = store
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s.background(store.Run)
	bus, text := local.New(), redact.New()
	s.people = people.New(people.Deps{
		Principals: store, Identities: store, Sessions: store, Tokens: store, Codes: store, Burner: store, Text: text, Log: discard,
	})
	s.service = approvals.New(approvals.Config{MaxPending: 100}, approvals.Deps{
		Store: store, Owners: store, People: store, Evaluator: s, Describer: text,
		Planner: pageOnly{}, Publisher: bus, Hints: bus, Observer: unobserved{}, Logger: discard,
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
	})
	s.background(s.service.Run)
	s.rules = settings.New(settings.Deps{
		Agents: store, Lives: store, Rules: store, Declines: store, Approvals: store, Owners: store, Clock: store, Publisher: bus, Text: text,
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() }, Logger: discard,
	})
	s.broken = &settingsFaults{Service: s.rules}
	s.faults = &pageFaults{Service: s.service}
	s.agent = core.Caller{Token: &core.Token{Runtime: "agents", Scopes: []core.Scope{core.ScopeRequest, core.ScopeRead}}}
	s.serve(o, discard)
	code, open, err := s.people.EnsureBootstrap(t.Context(), people.FormLink)
	require.NoError(t, err)
	require.True(t, open)
	s.first = code.Code.Reveal()
	if !o.nobody {
		s.admin = s.visitor()
		res := s.admin.post("/signin", url.Values{"code": {s.first}, "name": {"Ann"}})
		require.Equal(t, http.StatusSeeOther, res.status, res.body)
	}
	return s
}

func (s *site) serve(o siteOptions, log *slog.Logger) {
	l, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(s.t, err)
	origin := "http://" + l.Addr().String()
	s.url = origin + o.base
	public := o.publicURL
	if public == "" && o.base != "" {
		public = s.url
	}
	s.views, err = gateway.NewViews([]byte(strings.Repeat("v", gateway.MinViewKey)))
	require.NoError(s.t, err)
	g, err := gateway.New(gateway.Config{PublicURL: public}, gateway.Deps{
		Approvals: s.service, Ledger: s.store.Ledger(), People: s.people, Settings: s.rules, Authenticator: s.people, Clock: s.store,
		Views: s.views, AgentText: presentation.AgentText, RefusalText: presentation.RefusalText, UpdateText: presentation.UpdateText, Ready: func(context.Context) error { return nil },
		Logger: log, Now: time.Now,
	})
	require.NoError(s.t, err)
	forms, err := gateway.NewForms([]byte(strings.Repeat("f", 32)))
	require.NoError(s.t, err)
	renderer, err := web.New()
	require.NoError(s.t, err)
	deployment, err := s.store.Deployment(s.t.Context())
	require.NoError(s.t, err)
	s.cfg = gateway.PageConfig{Links: g.Links(), Deployment: deployment.ID, Secure: o.secure, CheckEvery: o.check}
	pages, err := gateway.NewPages(s.cfg, gateway.PageDeps{
		Approvals: s.faults, Authenticator: s.people, SignIns: s.people, NoAdmin: s.store.BootstrapOpen,
		Outcomes: s.service, Agents: s.broken, Pauses: s.broken, Rules: s.broken, Declines: s.rules, Sticky: func() time.Duration { return 10 * time.Minute },
		Name: func(context.Context, string) string { return "Rita" }, Clock: s.store, Views: s.views, Forms: forms,
		Renderer: renderer, Logger: log, Now: time.Now, Stopping: g.Stopping(),
	})
	require.NoError(s.t, err)
	g.Handle("/", pages.Handler())
	s.stop = s.background(func(ctx context.Context) error { return g.Run(ctx, gateway.Listener{Listener: l}) })
}

// background runs an actor until the test ends, or until it is stopped.
func (s *site) background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx) // It ends with its context.
	}()
	stop = func() {
		cancel()
		<-done
	}
	s.t.Cleanup(stop)
	return stop
}

// ask asks with whatever change makes to a plain command.
func (s *site) ask(change ...func(*approvals.Ask)) core.Approval {
	s.t.Helper()
	q := approvals.Ask{
		Kind: core.KindExec, Title: "Deploy build 42 to production", Agent: "deployer",
		Operation: approvals.AskOperation{
			ID: "op-1", Tool: "shell", Name: "run",
			Arguments: []byte(`{"argv":["kubectl","apply","-f","deploy.yaml"],"folder":"/srv/app","executable":"/usr/bin/kubectl"}`),
		},
	}
	for _, c := range change {
		c(&q)
	}
	asked, err := s.service.Ask(s.t.Context(), s.agent, q)
	require.NoError(s.t, err)
	return asked.Approval
}

// longPlugin asks for a tool call of about n bytes.
func longPlugin(n int) func(*approvals.Ask) {
	return func(q *approvals.Ask) {
		q.Kind, q.Title = core.KindPlugin, "Send the newsletter"
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "paragraph %05d of the letter\n", i)
		}
		q.Operation = approvals.AskOperation{ID: "op-2", Tool: "mail", Name: "send", Arguments: fmt.Appendf(nil, `{"to":"all@example.com","body":%q}`, b.String())}
	}
}

func (s *site) read(id string) core.Approval {
	s.t.Helper()
	a, err := s.service.Get(s.t.Context(), s.agent, core.Lookup{ID: id})
	require.NoError(s.t, err)
	return a
}

// person adds somebody and signs them in by the page.
func (s *site) person(name string, role core.Role) *visitor {
	s.t.Helper()
	p, err := s.people.AddPerson(s.t.Context(), core.Caller{Operator: true}, people.NewPerson{Name: name, Role: role})
	require.NoError(s.t, err)
	v := s.visitor()
	v.signIn(p.ID)
	return v
}

// own makes a person the owner of the agent that asks.
func (s *site) own(v *visitor) {
	s.t.Helper()
	require.NoError(s.t, s.people.SetOwners(s.t.Context(), core.Caller{Operator: true}, "agents", "deployer", []string{v.id}))
}

// pair issues a code for a person.
func (s *site) pair(id string) string {
	s.t.Helper()
	code, err := s.people.StartPair(s.t.Context(), core.Caller{Operator: true}, id, people.FormLink)
	require.NoError(s.t, err)
	return code.Code.Reveal()
}

// visitor is a browser without scripts.
type visitor struct {
	site   *site
	client *http.Client
	id     string // Of the person.
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (s *site) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &visitor{site: s, client: &http.Client{
		Jar: jar, Transport: transport, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (v *visitor) signIn(id string) {
	v.id = id
	res := v.post("/signin", url.Values{"code": {v.site.pair(id)}, "confirm": {"1"}})
	require.Equal(v.site.t, http.StatusSeeOther, res.status, res.body)
}

func (v *visitor) do(method, path string, form url.Values, header ...string) answer {
	v.site.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(v.site.t.Context(), method, v.site.url+path, body)
	require.NoError(v.site.t, err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := v.client.Do(req)
	require.NoError(v.site.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(v.site.t, err)
	return answer{status: res.StatusCode, header: res.Header, body: string(b)}
}

func (v *visitor) get(path string, header ...string) answer {
	v.site.t.Helper()
	return v.do(http.MethodGet, path, nil, header...)
}

func (v *visitor) post(path string, form url.Values, header ...string) answer {
	v.site.t.Helper()
	return v.do(http.MethodPost, path, form, header...)
}

// pathOf is the page of an approval below the base path.
func pathOf(a *core.Approval) string { return "/approve/" + url.PathEscape(a.ID) }

var (
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)
	stateOf     = regexp.MustCompile(`data-state="([a-z-]+)"`)
)

// form reads the hidden fields of the decision form, as a browser would send them.
func (a answer) form(decision core.Decision) url.Values {
	_, part, _ := strings.Cut(a.body, `<form id="decide"`)
	part, _, _ = strings.Cut(part, "</form>")
	f := url.Values{"decision": {string(decision)}}
	for _, m := range hiddenField.FindAllStringSubmatch(part, -1) {
		f.Set(m[1], m[2])
	}
	return f
}

// state is what the page says it shows.
func (a answer) state() string {
	if m := stateOf.FindStringSubmatch(a.body); m != nil {
		return m[1]
	}
	return ""
}

// pageFaults loses answers and readings on request.
type pageFaults struct {
	*approvals.Service

	mu      sync.Mutex
	resolve func(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error)
	detail  error
}

func (f *pageFaults) set(change func(*pageFaults)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *pageFaults) Resolve(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error) {
	f.mu.Lock()
	resolve := f.resolve
	f.mu.Unlock()
	if resolve != nil {
		return resolve(ctx, r)
	}
	return f.Service.Resolve(ctx, r)
}

func (f *pageFaults) Detail(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, core.Detail, error) {
	f.mu.Lock()
	err := f.detail
	f.mu.Unlock()
	if err != nil {
		return core.Approval{}, core.Detail{}, err
	}
	return f.Service.Detail(ctx, c, l)
}

// pageOnly plans no deliveries: everybody is asked on the page.
type pageOnly struct{}

func (pageOnly) Plan(context.Context, *core.Approval) (approvals.Plan, error) {
	return approvals.Plan{PageReachable: true}, nil
}

type unobserved struct{}

func (unobserved) Requested(*core.Approval, int) {}
func (unobserved) Raced(string)                  {}

// settingsFaults loses what is set for agents, or its answers, on request.
type settingsFaults struct {
	*settings.Service
	reads  atomic.Pointer[error]
	writes atomic.Pointer[error]
}

func lost(fault *atomic.Pointer[error]) error {
	if err := fault.Load(); err != nil {
		return *err
	}
	return nil
}

func (f *settingsFaults) Agent(ctx context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error) {
	if err := lost(&f.reads); err != nil {
		return settings.AgentView{}, err
	}
	return f.Service.Agent(ctx, c, runtime, agent)
}

func (f *settingsFaults) Rules(ctx context.Context, c core.Caller, q core.RuleQuery) ([]settings.RuleView, error) {
	if err := lost(&f.reads); err != nil {
		return nil, err
	}
	return f.Service.Rules(ctx, c, q)
}

func (f *settingsFaults) SetMode(ctx context.Context, c core.Caller, in settings.ModeChange) (settings.AgentView, error) {
	if err := lost(&f.writes); err != nil {
		return settings.AgentView{}, err
	}
	return f.Service.SetMode(ctx, c, in)
}

func (f *settingsFaults) RemoveRule(ctx context.Context, c core.Caller, id string) (settings.RuleView, error) {
	if err := lost(&f.writes); err != nil {
		return settings.RuleView{}, err
	}
	return f.Service.RemoveRule(ctx, c, id)
}
