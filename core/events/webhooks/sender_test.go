package webhooks_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/events/webhooks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is the runtime's secret before its prefix and encoding.
var key = bytes.Repeat([]byte{7}, 32)

func secret() string { return "whsec_" + base64.StdEncoding.EncodeToString(key) }

func loopback() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} }

// queue is a store of nudges in memory: one is handed out until it is settled.
type queue struct {
	mu      sync.Mutex
	due     []core.Nudge
	settled chan core.SettleNudge
	err     error
}

func newQueue(due ...core.Nudge) *queue {
	return &queue{due: due, settled: make(chan core.SettleNudge, 100)}
}

func (q *queue) ClaimNudges(_ context.Context, c core.ClaimNudges) ([]core.Nudge, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(c.Limit, len(q.due))
	got := q.due[:n]
	q.due = q.due[n:]
	return got, q.err
}

func (q *queue) SettleNudge(_ context.Context, s core.SettleNudge) error {
	q.settled <- s
	return nil
}

func (q *queue) NudgeBacklog(context.Context) (int, core.Millis, error) { return 0, 0, nil }

// counter counts calls by their outcome.
type counter struct {
	mu    sync.Mutex
	calls map[string]int
}

func (c *counter) Called(outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[outcome]++
}

func nudge(url string) core.Nudge {
	const changed = core.Millis(1_800_000_000_000)
	return core.Nudge{
		ApprovalID: "bot:call 1", Ref: strings.Repeat("r", 43), Runtime: "bot", URL: url,
		Revision: 2, Since: changed, Fence: 3, Now: changed + 1_000,
	}
}

// send runs a sender until as many nudges are settled as are due, and returns those.
func send(t *testing.T, runtimes *webhooks.Runtimes, resolver *net.Resolver, due ...core.Nudge) []core.SettleNudge {
	t.Helper()
	q := newQueue(due...)
	log := &bytes.Buffer{}
	ctx, stop := context.WithCancel(t.Context())
	s := webhooks.New(webhooks.Deps{
		Store: q, Hints: local.New(), Runtimes: runtimes, Observer: &counter{}, Resolver: resolver,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	var got []core.SettleNudge
	for range due {
		got = append(got, <-q.settled)
	}
	stop()
	require.NoError(t, <-done)
	for _, n := range due {
		require.NotContains(t, log.String(), n.URL, "addresses are the runtime's own")
	}
	return got
}

func runtimes(t *testing.T, networks []netip.Prefix, hosts ...string) *webhooks.Runtimes {
	t.Helper()
	r, err := webhooks.NewRuntimes(map[string]webhooks.Runtime{"bot": {Hosts: hosts, Secret: secret(), Networks: networks}})
	require.NoError(t, err)
	return r
}

// A call is signed as Standard Webhooks has it and says ids only (R112, R129). The
// signature is computed here from the specification, not by the library that made it.
func TestCallIsSignedAndSaysIDsOnly(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 1)
	bodies := make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- r
		bodies <- body
	}))
	t.Cleanup(server.Close)
	n := nudge(server.URL + "/hook?run=1")
	got := send(t, runtimes(t, loopback(), server.URL), nil, n)
	require.Equal(t, []core.SettleNudge{{ApprovalID: n.ApprovalID, Fence: 3, Revision: 2}}, got)

	r, body := <-seen, <-bodies
	require.Equal(t, http.MethodPost, r.Method)
	require.Equal(t, "/hook?run=1", r.URL.String())
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
	require.Equal(t, "msg_"+n.Ref+"_2", id)
	require.Equal(t, "1800000001", at)
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	require.Equal(t, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)), r.Header.Get("webhook-signature"))
	var m webhooks.Message
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&m))
	require.Equal(t, webhooks.Message{
		Type: "approval.changed", Timestamp: n.Since.Time(),
		Data: webhooks.Changed{ApprovalID: n.ApprovalID, Runtime: "bot", Revision: 2},
	}, m)
}

// R56: whoever is called decides nothing. An answer that looks like a decision is one that
// took the call, and no more: the sender has nothing to decide with.
func TestAJudgeDecidesNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"verdict":"deny","decision":"allow-always"}`)
	}))
	t.Cleanup(server.Close)
	n := nudge(server.URL + "/judge")
	got := send(t, runtimes(t, loopback(), server.URL), nil, n)
	require.Equal(t, []core.SettleNudge{{ApprovalID: n.ApprovalID, Fence: 3, Revision: 2}}, got)
}

// What came of a call decides whether and when it is made again.
func TestAnswers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/taken", http.StatusTemporaryRedirect)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/busy":
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/busy/for/ever":
			w.Header().Set("Retry-After", "999999999999")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "/cut":
			panic(http.ErrAbortHandler)
		case "/huge":
			w.Header().Set("X-Huge", strings.Repeat("x", 64<<10))
			w.WriteHeader(http.StatusOK)
		case "/long":
			for range 1_000 {
				_, _ = w.Write(make([]byte, 1<<10))
			}
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(server.Close)
	list := runtimes(t, loopback(), server.URL)
	const minute, hour = core.Millis(60_000), core.Millis(3_600_000)
	for path, want := range map[string]struct {
		failure string
		min     core.Millis // Of the pause; 0 for none.
		max     core.Millis
	}{
		"/taken":         {},
		"/long":          {},
		"/moved":         {"redirect", 4_500, 5_500},
		"/broken":        {"status-500", 4_500, 5_500},
		"/cut":           {"no-connection", 4_500, 5_500},
		"/huge":          {"no-connection", 4_500, 5_500},
		"/busy":          {"status-429", 10 * minute, 10 * minute},
		"/busy/for/ever": {"status-503", hour, hour},
		"/gone":          {"gone", 0, 0},
	} {
		got := send(t, list, nil, nudge(server.URL+path))[0]
		require.Equal(t, want.failure, got.Error, path)
		require.GreaterOrEqual(t, got.RetryIn, want.min, path)
		require.LessOrEqual(t, got.RetryIn, want.max, path)
	}
	tired := nudge(server.URL + "/broken")
	tired.Attempts, tired.Now = 40, tired.Since+23*hour
	got := send(t, list, nil, tired)[0]
	require.GreaterOrEqual(t, got.RetryIn, hour-hour/10, "never more often, never more than an hour and a tenth")
	require.LessOrEqual(t, got.RetryIn, hour+hour/10)
	tired.Now = tired.Since + 24*hour
	require.Equal(t, core.SettleNudge{ApprovalID: tired.ApprovalID, Fence: 3, Revision: 2, Error: "status-500"}, send(t, list, nil, tired)[0])
}

// The operator's word counts when it is called, too: a host that was taken off the list
// is not called, and one that answers nobody does not hold the others up.
func TestListIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was called") }))
	t.Cleanup(server.Close)
	got := send(t, runtimes(t, loopback(), "hooks.example.com"), nil, nudge(server.URL))[0]
	require.Equal(t, "not-on-the-list", got.Error)
	require.Zero(t, got.RetryIn)
	stranger := nudge(server.URL)
	stranger.Runtime = "stranger"
	require.Equal(t, "not-on-the-list", send(t, runtimes(t, loopback(), server.URL), nil, stranger)[0].Error)
}

// A private address is refused at the connection, whatever name led to it, and nothing
// is sent there.
func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was called") }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		origin := "http://" + net.JoinHostPort(strings.Trim(host, "[]"), port)
		got := send(t, runtimes(t, nil, origin), nil, nudge(origin+"/"))[0]
		require.Equal(t, "address-refused", got.Error, host)
		require.NotZero(t, got.RetryIn, "a name may lead elsewhere later")
	}
}

// A stopped sender breaks its calls off, settles nothing it does not know, and leaves
// nothing behind.
func TestStopBreaksOff(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	q := newQueue(nudge(server.URL))
	ctx, stop := context.WithCancel(t.Context())
	s := webhooks.New(webhooks.Deps{
		Store: q, Hints: local.New(), Runtimes: runtimes(t, loopback(), server.URL), Observer: &counter{}, Logger: slog.New(slog.DiscardHandler),
	})
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	<-arrived
	stop()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("it did not stop")
	}
	require.Empty(t, q.settled)
}
