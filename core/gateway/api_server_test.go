package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/gateway"
)

// running is a gateway on a loopback port.
type running struct {
	*edge
	address string
	stop    context.CancelFunc
	stopped chan error
}

func run(t *testing.T, e *edge) *running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{edge: e, address: l.Addr().String(), stop: cancel, stopped: make(chan error, 1)}
	go func() { r.stopped <- e.gateway.Run(ctx, gateway.Listener{Listener: l}) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-r.stopped)
	})
	return r
}

// send writes one request by hand and returns the connection.
func (r *running) send(t *testing.T, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", r.address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	return c
}

func (r *running) request(method, path string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", method, path, r.address, machineBearer)
}

func readAnswer(t *testing.T, c net.Conn) (status int, body string) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

// A stop ends long polls at once, each with the record as it is, and the drain
// then has nothing left to wait for.
func TestStopEndsLongPollsWithTheRecord(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(_ *gateway.Config, d *gateway.Deps) { d.Now = time.Now })
	waiting := make(chan struct{})
	e.service.wait = func(ctx context.Context, _ core.Caller, _ approvals.WaitRequest) (core.Approval, error) {
		close(waiting)
		select {
		case <-e.service.released:
			return sampleApproval("id-1"), nil
		case <-ctx.Done():
			return core.Approval{}, ctx.Err()
		}
	}
	r := run(t, e)
	c := r.send(t, r.request("GET", "/v1/approvals/id-1?wait=60s")+"\r\n")
	<-waiting
	r.stop()
	status, body := readAnswer(t, c)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"id":"id-1"`)
	err := <-r.stopped
	r.stopped <- err
	require.NoError(t, err)
	<-e.gateway.Stopping()
	requireProblem(t, e.do(t, "", http.MethodGet, "/readyz", ""), http.StatusServiceUnavailable, "unavailable")
	_, err = net.Dial("tcp", r.address)
	require.Error(t, err)
}

// The server's own time-outs must neither end a long poll nor look like a caller
// who went away.
func TestLongPollOutlivesTheServersTimeouts(t *testing.T) {
	t.Parallel()
	const short = 50 * time.Millisecond
	e := newEdge(t, func(c *gateway.Config, d *gateway.Deps) {
		c.Timeouts.Read, c.Timeouts.Write = short, short
		d.Now = time.Now
	})
	ended := make(chan error, 2)
	wait := func(ctx context.Context, _ core.Caller, _ approvals.WaitRequest) (core.Approval, error) {
		over := time.NewTimer(6 * short)
		defer over.Stop()
		select {
		case <-ctx.Done():
			ended <- context.Cause(ctx)
		case <-over.C:
			ended <- nil
		}
		return sampleApproval("id-1"), nil
	}
	e.service.wait = wait
	e.service.ask = func(core.Caller, approvals.Ask) (approvals.Asked, error) {
		return approvals.Asked{Approval: sampleApproval("id-1")}, nil
	}
	r := run(t, e)
	body := strings.ReplaceAll(strings.ReplaceAll(askBody, "\n", ""), "\t", "")
	for _, request := range []string{
		r.request("GET", "/v1/approvals/id-1?wait=10s") + "\r\n",
		r.request("POST", "/v1/approvals?wait=10s") + fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
	} {
		status, text := readAnswer(t, r.send(t, request))
		require.NoError(t, <-ended)
		require.Less(t, status, 300, text)
		require.Contains(t, text, `"id":"id-1"`)
	}
}

// A caller who goes away ends the wait.
func TestLongPollEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(_ *gateway.Config, d *gateway.Deps) { d.Now = time.Now })
	waiting, ended := make(chan struct{}), make(chan struct{})
	e.service.wait = func(ctx context.Context, _ core.Caller, _ approvals.WaitRequest) (core.Approval, error) {
		close(waiting)
		<-ctx.Done()
		close(ended)
		return core.Approval{}, ctx.Err()
	}
	r := run(t, e)
	c := r.send(t, r.request("GET", "/v1/approvals/id-1?wait=60s")+"\r\n")
	<-waiting
	require.NoError(t, c.Close())
	<-ended
}

// A body that never arrives is refused in time, and a connection that sends
// nothing is closed.
func TestSlowCallersAreCutOff(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(c *gateway.Config, d *gateway.Deps) {
		c.Timeouts.Read, c.Timeouts.ReadHeader = 100*time.Millisecond, 50*time.Millisecond
		d.Now = time.Now
	})
	r := run(t, e)
	c := r.send(t, r.request("POST", "/v1/approvals")+"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	status, body := readAnswer(t, c)
	require.Equal(t, http.StatusRequestTimeout, status, body)

	c = r.send(t, "GET /v1/me HTTP/1.1\r\n")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err := io.ReadAll(c)
	require.NoError(t, err)
}

// A connection that says nothing is not kept for ever, and headers are bounded.
func TestIdleAndGreedyCallersAreCutOff(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(c *gateway.Config, d *gateway.Deps) {
		c.Timeouts.Idle, c.Timeouts.Read, c.Timeouts.ReadHeader = 50*time.Millisecond, time.Hour, time.Hour
		d.Now = time.Now
	})
	r := run(t, e)
	c := r.send(t, "GET /healthz HTTP/1.1\r\nHost: "+r.address+"\r\n\r\n")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	all, err := io.ReadAll(c) // It ends with the connection.
	require.NoError(t, err)
	require.Contains(t, string(all), "200 OK")

	status, _ := readAnswer(t, r.send(t, r.request("GET", "/v1/me")+"X-Filler: "+strings.Repeat("a", 64<<10)+"\r\n\r\n"))
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, status)
}

// A request that outlasts the drain is cut, and the stop is still in order.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(c *gateway.Config, d *gateway.Deps) {
		c.Timeouts.Drain = 50 * time.Millisecond
		d.Now = time.Now
	})
	inside, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	e.service.get = func(core.Caller, core.Lookup) (core.Approval, error) {
		close(inside)
		<-release
		return core.Approval{}, core.ErrNotFound
	}
	r := run(t, e)
	r.send(t, r.request("GET", "/v1/approvals/id-1")+"\r\n")
	<-inside
	r.stop()
	err := <-r.stopped
	r.stopped <- err
	require.NoError(t, err)
}

// One listener that fails ends all, with its error.
func TestRunFailsWithItsListener(t *testing.T) {
	t.Parallel()
	good, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	broken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, broken.Close())
	err = newEdge(t).gateway.Run(t.Context(), gateway.Listener{Listener: good}, gateway.Listener{Listener: broken, Admin: true})
	require.ErrorIs(t, err, net.ErrClosed)
}
