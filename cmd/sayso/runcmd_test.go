package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
)

// claims is a service that refuses the first claims because the agent is paused.
func claims(t *testing.T, paused int32) (*runner, *bytes.Buffer) {
	t.Helper()
	var seen atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if seen.Add(1) > paused {
			_, _ = w.Write([]byte(`{}`))
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"title":"Conflict","status":409,"code":"agent_paused","detail":"this agent is paused"}`))
	}))
	t.Cleanup(s.Close)
	m, err := client.New(client.Config{BaseURL: s.URL, Bearer: "token", UserAgent: userAgent})
	require.NoError(t, err)
	told := &bytes.Buffer{}
	return &runner{c: &connection{env: environment{stderr: told}}, client: m, poll: time.Millisecond}, told
}

// R139: what was allowed waits for its agent to be resumed, and says so once.
func TestRunWaitsWhileItsAgentIsPaused(t *testing.T) {
	t.Parallel()
	r, told := claims(t, 3)
	require.NoError(t, r.claim(t.Context(), "id", api.Claim{}))
	require.Equal(t, 1, bytes.Count(told.Bytes(), []byte("the agent is paused")))
}

func TestRunCanBeStoppedWhileItsAgentIsPaused(t *testing.T) {
	t.Parallel()
	r, _ := claims(t, 1<<30)
	ctx, cancel := context.WithCancelCause(t.Context())
	r.poll = time.Hour
	go cancel(core.ErrRunAborted)
	require.ErrorIs(t, r.claim(ctx, "id", api.Claim{}), core.ErrRunAborted)
}
