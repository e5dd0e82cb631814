package app_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// R112, R129: the answer is recorded first, then the callback is called; what was not
// taken is called again by the process that comes next, with the same id.
func TestCallbackIsCalledAfterARestart(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	calls := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
		calls <- r.Header.Get("webhook-id")
	}))
	t.Cleanup(server.Close)
	data := folder(t)
	hooks := func(c *config.Config, _ *fake.Server) {
		c.Callbacks = []config.Callbacks{{
			Runtime: "local", Hosts: []string{server.URL}, Networks: []string{"127.0.0.1/32"},
			Secret: "whsec_a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=",
		}}
	}
	first := start(t, data, hooks)
	first.signIn(t, "Ann")
	a := first.ask(t, `{"kind":"plugin","title":"Send it","callback_url":"`+server.URL+`/hook",
		"operation":{"tool":"mail","operation":"send","arguments":{"to":"ann@example.com"}}}`)
	require.Equal(t, core.StatusPending, a.Status)
	require.Empty(t, calls, "nothing has changed yet")
	send[api.Resolved](t, first, http.StatusOK, call{
		method: http.MethodPost, path: "/v1/approvals/" + a.ID + "/resolve", body: `{"kind":"plugin","decision":"deny"}`, bearer: first.bearer(t),
	})
	id := <-calls
	require.Equal(t, core.StatusDenied, first.get(t, a.ID).Status)
	require.NoError(t, first.stop())
	broken.Store(false)

	second := start(t, data, hooks)
	require.Equal(t, id, <-calls, "the same change has the same id")
	require.Equal(t, core.StatusDenied, second.get(t, a.ID).Status)
	require.NotContains(t, second.log.String(), server.URL)
}
