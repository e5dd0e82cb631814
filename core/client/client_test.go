package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
)

// never is a Sleep that fails the test: nothing should be attempted again.
func never(t *testing.T) func(context.Context, time.Duration) error {
	return func(context.Context, time.Duration) error {
		t.Error("the call was attempted again")
		return errors.New("no more")
	}
}

// atOnce is a Sleep that does not, and counts.
func atOnce(n *atomic.Int64) func(context.Context, time.Duration) error {
	return func(ctx context.Context, _ time.Duration) error {
		n.Add(1)
		return ctx.Err()
	}
}

func newClient(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	if cfg.Sleep == nil {
		cfg.Sleep = never(t)
	}
	c, err := client.New(cfg)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// request is what arrived.
type request struct {
	method, url string
	header      http.Header
	body        string
}

// wire is a server that remembers what arrived.
type wire struct {
	base string
	mu   sync.Mutex
	seen []request
}

// serve starts a server whose handler gets the number of the request, from 1.
func serve(t *testing.T, h func(w http.ResponseWriter, n int)) *wire {
	t.Helper()
	x := &wire{}
	s := httptest.NewServer(x.handler(h))
	t.Cleanup(s.Close)
	x.base = s.URL
	return x
}

func (x *wire) handler(h func(w http.ResponseWriter, n int)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		x.mu.Lock()
		x.seen = append(x.seen, request{method: r.Method, url: r.URL.String(), header: r.Header, body: string(body)})
		n := len(x.seen)
		x.mu.Unlock()
		h(w, n)
	})
}

func (x *wire) requests() []request {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.seen)
}

func answer(w http.ResponseWriter, status int, body string) {
	contentType := "application/json"
	if status >= 400 {
		contentType = "application/problem+json"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

const (
	pendingBody = `{"verdict":"ask","approval":{"id":"id-1","status":"pending","revision":1,"a_new_field":1}}`
	allowedBody = `{"verdict":"allow","approval":{"id":"id-1","status":"allowed","revision":2},"agent_text":"go"}`
)

func keyOf(t *testing.T, r request) string {
	t.Helper()
	var ask api.Ask
	require.NoError(t, json.Unmarshal([]byte(r.body), &ask))
	return ask.IdempotencyKey
}

func TestAskSendsABearerAndAKey(t *testing.T) {
	t.Parallel()
	x := serve(t, func(w http.ResponseWriter, _ int) { answer(w, http.StatusCreated, pendingBody) })
	c := newClient(t, client.Config{BaseURL: x.base + "/base/", Bearer: "token"})
	asked, err := c.Ask(t.Context(), api.Ask{Kind: core.KindExec}, 2*time.Second)
	require.NoError(t, err)
	require.Equal(t, api.VerdictAsk, asked.Verdict)
	require.Equal(t, "id-1", asked.Approval.ID)

	r := x.requests()[0]
	require.Equal(t, "/base/v1/approvals?wait=2s", r.url)
	require.Equal(t, "Bearer token", r.header.Get("Authorization"))
	require.Equal(t, "application/json", r.header.Get("Content-Type"))
	require.GreaterOrEqual(t, len(keyOf(t, r)), 22, "128 random bits")
	require.NotContains(t, r.body, "reviewers", "not given is not the same as empty")
}

// A lost answer must not become a second question: every attempt has the same key.
func TestAskRepeatsALostAnswerWithTheSameKey(t *testing.T) {
	t.Parallel()
	x := serve(t, func(w http.ResponseWriter, n int) {
		switch n {
		case 1:
			panic(http.ErrAbortHandler) // The connection breaks after the request arrived.
		case 2:
			answer(w, http.StatusServiceUnavailable, `{"code":"outcome_unknown","status":503}`)
		default:
			answer(w, http.StatusOK, allowedBody)
		}
	})
	var pauses atomic.Int64
	c := newClient(t, client.Config{BaseURL: x.base, Sleep: atOnce(&pauses)})
	asked, err := c.Ask(t.Context(), api.Ask{Kind: core.KindExec}, 0)
	require.NoError(t, err)
	require.Equal(t, api.VerdictAllow, asked.Verdict)
	seen := x.requests()
	require.Len(t, seen, 3)
	require.Equal(t, seen[0].body, seen[1].body)
	require.Equal(t, seen[0].body, seen[2].body)
	require.NotEmpty(t, keyOf(t, seen[0]))
	require.Equal(t, int64(2), pauses.Load())
}

// What is not harmless twice is attempted once, unless it never left.
func TestUnsafeCallsAreAttemptedOnce(t *testing.T) {
	t.Parallel()
	x := serve(t, func(http.ResponseWriter, int) { panic(http.ErrAbortHandler) })
	c := newClient(t, client.Config{BaseURL: x.base})
	_, err := c.IssueToken(t.Context(), api.IssueToken{Runtime: "bot"})
	require.ErrorIs(t, err, client.ErrUnreachable)
	require.ErrorIs(t, err, core.ErrOutcomeUnknown, "it may have been issued")
	require.Len(t, x.requests(), 1)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	var pauses atomic.Int64
	refused := newClient(t, client.Config{BaseURL: "http://" + address, Sleep: atOnce(&pauses), Patience: time.Second})
	_, err = refused.IssueToken(t.Context(), api.IssueToken{Runtime: "bot"})
	require.ErrorIs(t, err, client.ErrUnreachable)
	require.ErrorIs(t, err, core.ErrUnavailable, "nothing was issued")
	require.NotErrorIs(t, err, core.ErrOutcomeUnknown)
	require.NotZero(t, pauses.Load())
	require.NotContains(t, err.Error(), "/v1/tokens")
}

// A 429 did nothing, so anything may be asked again, after the stated delay.
func TestRateLimitsAreObeyed(t *testing.T) {
	t.Parallel()
	limited := func(w http.ResponseWriter, n int) {
		if n == 1 {
			w.Header().Set("Retry-After", "3")
			answer(w, http.StatusTooManyRequests, `{"code":"rate_limited","status":429}`)
			return
		}
		answer(w, http.StatusCreated, `{"bearer":"b"}`)
	}
	var slept time.Duration
	c := newClient(t, client.Config{BaseURL: serve(t, limited).base, Sleep: func(_ context.Context, d time.Duration) error {
		slept = d
		return nil
	}})
	issued, err := c.IssueToken(t.Context(), api.IssueToken{})
	require.NoError(t, err)
	require.Equal(t, "b", issued.Bearer)
	require.Equal(t, 3*time.Second, slept)

	// A delay beyond the caller's patience is the caller's to know.
	_, err = newClient(t, client.Config{BaseURL: serve(t, limited).base, Patience: time.Second}).IssueToken(t.Context(), api.IssueToken{})
	require.ErrorIs(t, err, core.ErrRateLimited)
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, 3*time.Second, e.RetryAfter)
}

// A wait goes on through the end of one process and the start of the next.
func TestWaitSurvivesARestart(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	x := &wire{}
	start := func(l net.Listener, body string) *http.Server {
		s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: x.handler(func(w http.ResponseWriter, _ int) {
			answer(w, http.StatusOK, body)
		})}
		go func() { _ = s.Serve(l) }()
		return s
	}
	old := start(l, pendingBody) // It stops: the wait ends early with the record as it is.
	pauses := 0
	c := newClient(t, client.Config{BaseURL: "http://" + address, Sleep: func(context.Context, time.Duration) error {
		switch pauses++; pauses {
		case 1:
			require.NoError(t, old.Close())
		case 4: // Three attempts met nobody.
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
			require.NoError(t, err)
			next := start(l, allowedBody)
			t.Cleanup(func() { _ = next.Close() })
		}
		return nil
	}})
	got, err := c.Wait(t.Context(), "bot:a/b")
	require.NoError(t, err)
	require.Equal(t, api.VerdictAllow, got.Verdict)
	require.Equal(t, "go", got.AgentText)
	require.Equal(t, 4, pauses)
	for _, r := range x.requests() {
		require.Equal(t, "/v1/approvals/bot:a%2Fb?wait=50s", r.url)
	}
}

func TestWaitEndsWithItsContextAndWithItsPatience(t *testing.T) {
	t.Parallel()
	x := serve(t, func(w http.ResponseWriter, _ int) { answer(w, http.StatusOK, pendingBody) })
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller left")
	c := newClient(t, client.Config{BaseURL: x.base, Sleep: func(ctx context.Context, _ time.Duration) error {
		cancel(gone)
		return ctx.Err()
	}})
	a, err := c.Wait(ctx, "id-1")
	require.ErrorIs(t, err, gone)
	require.Equal(t, core.StatusPending, a.Approval.Status)

	var pauses atomic.Int64
	c = newClient(t, client.Config{BaseURL: "http://127.0.0.1:1", Sleep: atOnce(&pauses), WaitPatience: time.Minute})
	_, err = c.Wait(t.Context(), "id-1")
	require.ErrorIs(t, err, client.ErrUnreachable)
	require.Greater(t, pauses.Load(), int64(10))
}

func TestErrorsAreTheErrorsOfCore(t *testing.T) {
	t.Parallel()
	var status int
	var body, contentType string
	x := serve(t, func(w http.ResponseWriter, _ int) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	c := newClient(t, client.Config{BaseURL: x.base})
	const problem = "application/problem+json"
	for _, test := range []struct {
		status            int
		contentType, body string
		want              error
		code              string
	}{
		{404, problem, `{"code":"not_found","status":404}`, core.ErrNotFound, "not_found"},
		{401, problem, `{"code":"unauthenticated"}`, core.ErrUnauthenticated, "unauthenticated"},
		{409, problem, `{"code":"already_claimed"}`, core.ErrAlreadyClaimed, "already_claimed"},
		{413, problem, `{"code":"too_large"}`, core.ErrInvalid, "too_large"},
		{418, problem, `{"code":"of_a_newer_version"}`, core.ErrInvalid, "of_a_newer_version"},
		{500, problem, `{"code":"internal"}`, core.ErrUnavailable, "internal"},
		{507, problem, `{"code":"storage_full"}`, core.ErrStorageFull, "storage_full"},
		{404, "text/html", `<h1>proxy</h1>`, core.ErrInvalid, client.CodeUnexpected},
		{500, problem, `{}`, core.ErrUnavailable, client.CodeUnexpected},
		{302, "text/html", ``, core.ErrInvalid, client.CodeUnexpected},
		{200, "text/html", `<h1>another program</h1>`, core.ErrInvalid, client.CodeUnexpected},
	} {
		status, body, contentType = test.status, test.body, test.contentType
		a, err := c.Claim(t.Context(), "id-1", api.Claim{})
		require.ErrorIs(t, err, test.want, test.body)
		require.Empty(t, a.Verdict)
		var e *client.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, test.code, e.Code)
		require.Equal(t, test.status, e.Status)
	}
	status, contentType = 422, problem
	body = `{"code":"invalid","detail":"invalid request","errors":[{"field":"kind","rule":"must be exec or plugin"}]}`
	_, err := c.Ask(t.Context(), api.Ask{}, 0)
	require.EqualError(t, err, "invalid: invalid request; kind: must be exec or plugin")
}

// A redirect would carry the bearer to a place that nobody configured.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(w http.ResponseWriter, _ int) { answer(w, http.StatusOK, allowedBody) })
	x := serve(t, func(w http.ResponseWriter, _ int) {
		w.Header().Set("Location", elsewhere.base)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	_, err := newClient(t, client.Config{BaseURL: x.base, Bearer: "token"}).Get(t.Context(), "id-1")
	require.Error(t, err)
	require.Empty(t, elsewhere.requests())
}

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]client.Config{
		"nothing":          {},
		"no scheme":        {BaseURL: "localhost:80"},
		"another scheme":   {BaseURL: "ftp://localhost"},
		"credentials":      {BaseURL: "https://a:b@localhost"},
		"query":            {BaseURL: "https://localhost?a"},
		"clear text":       {BaseURL: "http://ask.example.com", Bearer: "token"},
		"bearer of lines":  {BaseURL: "https://localhost", Bearer: "a\r\nX: y"},
		"a loopback's lie": {BaseURL: "http://localhost.example.com", Bearer: "token"},
	} {
		_, err := client.New(cfg)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "token", name)
	}
	for _, cfg := range []client.Config{
		{BaseURL: "http://localhost:80", Bearer: "token"},
		{BaseURL: "http://[::1]:80", Bearer: "token"},
		{BaseURL: "https://ask.example.com/base", Bearer: "token"},
		{BaseURL: "http://ask.example.com", Bearer: "token", AllowPlainHTTP: true},
		{Socket: "/run/sayso.sock"},
	} {
		_, err := client.New(cfg)
		require.NoError(t, err)
	}
}

func TestAdminSocket(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	x := &wire{}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: x.handler(func(w http.ResponseWriter, _ int) {
		answer(w, http.StatusOK, `{"operator":true}`)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	me, err := newClient(t, client.Config{Socket: socket}).Me(t.Context())
	require.NoError(t, err)
	require.True(t, me.Operator)
	require.Equal(t, "/v1/me", x.requests()[0].url)
	require.Empty(t, x.requests()[0].header.Get("Authorization"))
}

// An empty list is sent as one: "nobody but admins" is not "not given".
func TestEmptyListsTravel(t *testing.T) {
	t.Parallel()
	x := serve(t, func(w http.ResponseWriter, _ int) { answer(w, http.StatusOK, `{}`) })
	c := newClient(t, client.Config{BaseURL: x.base})
	_, err := c.Ask(t.Context(), api.Ask{Reviewers: []string{}}, 0)
	require.NoError(t, err)
	require.Contains(t, x.requests()[0].body, `"reviewers":[]`)
	require.NoError(t, c.SetOwners(t.Context(), "bot", "a", nil))
	require.JSONEq(t, `{"owners":[]}`, x.requests()[1].body)
}
