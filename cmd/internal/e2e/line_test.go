//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// line stands between the service and the messenger and can hold what passes: a
// request before it arrives, or an answer after the messenger has acted. What the
// line has taken it delivers, whether or not the sender still lives, as networks do.
type line struct {
	server *httptest.Server
	target string
	ctx    context.Context // Ends with the test.

	mu    sync.Mutex
	holds []*hold
}

// stage says which half of a call is held.
type stage string

const (
	requestHeld stage = "request" // The messenger has not acted yet.
	answerHeld  stage = "answer"  // The messenger has acted and nobody knows.
)

// hold catches the next call of a method.
type hold struct {
	method string
	stage  stage
	hit    chan struct{}
	pass   chan struct{}
}

func newLine(t *testing.T, target string) *line {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &line{target: target, ctx: ctx}
	l.server = httptest.NewServer(http.HandlerFunc(l.pass))
	t.Cleanup(func() {
		cancel()
		l.server.CloseClientConnections()
		l.server.Close()
	})
	return l
}

func (l *line) url() string { return l.server.URL }

// hold lets the next call of a method wait.
func (l *line) hold(method string, s stage) *hold {
	h := &hold{method: method, stage: s, hit: make(chan struct{}), pass: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds = append(l.holds, h)
	return h
}

// held waits until the call is there.
func (h *hold) held(w *world) {
	w.t.Helper()
	select {
	case <-h.hit:
	case <-w.ctx.Done():
		require.FailNow(w.t, "no call came", h.method)
	}
}

// release lets it go on.
func (h *hold) release() { close(h.pass) }

func (l *line) take(method string) *hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, h := range l.holds {
		if h.method == method {
			l.holds = append(l.holds[:i:i], l.holds[i+1:]...)
			close(h.hit)
			return h
		}
	}
	return nil
}

func (l *line) pass(w http.ResponseWriter, r *http.Request) {
	method := path.Base(r.URL.Path)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h := l.take(method)
	if h != nil && h.stage == requestHeld && !l.wait(h) {
		return
	}
	ctx := l.ctx
	if method == "getUpdates" { // A poll ends with its caller, as it does there.
		ctx = r.Context()
	}
	status, answer := l.forward(ctx, r, body)
	if h != nil && h.stage == answerHeld && !l.wait(h) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer) // The caller may be dead.
}

func (l *line) wait(h *hold) bool {
	select {
	case <-h.pass:
		return true
	case <-l.ctx.Done():
		return false
	}
}

func (l *line) forward(ctx context.Context, r *http.Request, body []byte) (int, []byte) {
	out, err := http.NewRequestWithContext(ctx, r.Method, l.target+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return http.StatusBadGateway, nil
	}
	out.Header.Set("Content-Type", r.Header.Get("Content-Type"))
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		return http.StatusBadGateway, nil
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return http.StatusBadGateway, nil
	}
	return resp.StatusCode, answer
}
