package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/gateway"
)

// A long poll rests in front of the API: it counts once against its runtime's
// limit, waits once, and a bearer that ended meanwhile gets nothing.
func TestLongPollRests(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(c *gateway.Config, _ *gateway.Deps) { c.RequestsPerSecond, c.Burst = 0.1, 2 })
	waits := 0
	during := func() {}
	e.service.wait = func(context.Context, core.Caller, approvals.WaitRequest) (core.Approval, error) {
		waits++
		during()
		return sampleApproval("id-1"), nil
	}
	poll := func() int { return e.do(t, machineBearer, http.MethodGet, "/v1/approvals/id-1?wait=30s", "").Code }
	require.Equal(t, http.StatusOK, poll())
	during = func() { delete(e.people.callers, machineBearer) }
	require.Equal(t, http.StatusUnauthorized, poll(), "the second of two turns")
	require.Equal(t, 2, waits)
}

// What is wrong with a long poll is said by the operation, and nobody waits for it.
func TestLongPollRefusesBeforeItWaits(t *testing.T) {
	t.Parallel()
	e := newEdge(t) // A wait would fail the test.
	for target, status := range map[string]int{
		"/v1/approvals/id-1?wait=soon":                            http.StatusUnprocessableEntity,
		"/v1/approvals/id-1?wait=1s&wait=2s":                      http.StatusUnprocessableEntity,
		"/v1/approvals/id-1?wait=1s&revision=-1":                  http.StatusUnprocessableEntity,
		"/v1/approvals/id-1?wait=1s&unknown=1":                    http.StatusUnprocessableEntity,
		"/v1/approvals/id-1?wait=%zz":                             http.StatusBadRequest,
		"/v1/approvals/" + strings.Repeat("x", 2000) + "?wait=1s": http.StatusNotFound,
	} {
		w := e.do(t, machineBearer, http.MethodGet, target, "")
		require.Equal(t, status, w.Code, "%s: %s", target, w.Body)
	}
	require.Equal(t, http.StatusUnauthorized, e.do(t, "", http.MethodGet, "/v1/approvals/id-1?wait=1s", "").Code)
}

// A long poll that panics, in its wait or in the answer after it, is answered like
// any other call, and the log tells where it was.
func TestLongPollPanics(t *testing.T) {
	t.Parallel()
	for _, inWait := range []bool{true, false} {
		e := newEdge(t, func(_ *gateway.Config, d *gateway.Deps) {
			d.AgentText = func(core.Approval) string { panic("holds " + mark) }
		})
		e.service.wait = func(context.Context, core.Caller, approvals.WaitRequest) (core.Approval, error) {
			if inWait {
				panic("holds " + mark)
			}
			return sampleApproval("id-1"), nil
		}
		w := e.do(t, machineBearer, http.MethodGet, "/v1/approvals/id-1?wait=1s", "")
		requireProblem(t, w, http.StatusInternalServerError, "internal")
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.NotContains(t, e.log.String(), mark)
		require.Contains(t, e.log.String(), "rest_test.go", "where it happened is logged")
		require.Contains(t, e.log.String(), `"status":500`)
	}
}

// What comes after a wait is one whole answer, however long, and the connection
// stays for the next poll.
func TestLongPollsShareAConnection(t *testing.T) {
	t.Parallel()
	e := newEdge(t, func(_ *gateway.Config, d *gateway.Deps) {
		d.Now = time.Now
		d.AgentText = func(core.Approval) string { return strings.Repeat("long ", 10_000) }
	})
	e.service.wait = func(context.Context, core.Caller, approvals.WaitRequest) (core.Approval, error) {
		return sampleApproval("id-1"), nil
	}
	r := run(t, e)
	request := r.request("GET", "/v1/approvals/id-1?wait=60s") + "\r\n"
	c := r.send(t, request)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	answers := bufio.NewReader(c)
	for range 3 {
		resp, err := http.ReadResponse(answers, nil)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.EqualValues(t, len(body), resp.ContentLength)
		require.Greater(t, len(body), 50_000)
		require.NotEmpty(t, resp.Header.Get("X-Request-Id"))
		_, err = io.WriteString(c, request)
		require.NoError(t, err)
	}
}
